"""craton.linalg on one rank against NumPy; test_many_ranks.py has it on several."""

import subprocess
import sys

import craton
import numpy as np
import pytest
from craton import linalg
from helpers import environment_without_mpi
from mpi4py import MPI

N = 47


@pytest.fixture(scope="module")
def world():
    return craton.World(MPI.COMM_SELF)


@pytest.fixture(params=["float32", "float64"])
def dtype(request):
    return request.param


def close(dtype):
    return {"rtol": 0, "atol": 3e-4 if dtype == "float32" else 1e-11}


def definite(dtype, n=N):
    root = np.random.default_rng(n).standard_normal((n, n))
    return (root @ root.T / n + np.eye(n)).astype(dtype)


def matrix_of(world, values, block=8):
    matrix = craton.ConvergentMatrix(world, *values.shape, dtype=values.dtype, block=block)
    matrix.update(values, range(values.shape[0]), range(values.shape[1]))
    matrix.commit()
    return matrix


def symmetric_of(world, values, packed):
    if packed:
        matrix = craton.SymmetricMatrix(world, len(values), dtype=values.dtype, block=8)
    else:
        matrix = craton.ConvergentMatrix(world, *values.shape, dtype=values.dtype, block=8)
    matrix.update_symmetric(values, range(len(values)))
    matrix.commit()
    return matrix


def test_an_ordered_copy_multiplies_and_solves(dtype):
    world = craton.World(MPI.COMM_SELF)
    a = definite(dtype, 300)  # two tiles
    x = np.random.default_rng(3).standard_normal(300)
    ordered = linalg.OrderedSymmetric(symmetric_of(world, a, packed=True), threads=2)
    del world  # the copy keeps it, though not the matrix
    product = a.astype(float) @ x
    np.testing.assert_allclose(ordered.matvec(x), product, rtol=0, atol=1e-3 if dtype == "float32" else 1e-11)
    assert ordered.factorise() is ordered
    np.testing.assert_allclose(ordered.solve(product), x, **close(dtype))
    with pytest.raises(craton.UserError, match=r"matvec: the matrix is factored; allowed: before factorise\(\)"):
        ordered.matvec(x)
    with pytest.raises(craton.UserError, match="the vector has 3 elements; allowed: 300"):
        ordered.solve([1, 2, 3])


def test_an_ordered_copy_is_of_a_real_symmetric_matrix(world):
    whole = craton.SymmetricMatrix(world, 5, dtype="int64", block=8)
    with pytest.raises(craton.UserError, match="OrderedSymmetric"):
        linalg.OrderedSymmetric(whole)
    with pytest.raises(craton.UserError, match="threads"):
        linalg.OrderedSymmetric(symmetric_of(world, definite("float64"), packed=True), threads=0)


@pytest.mark.parametrize("packed", [False, True], ids=["full", "packed"])
def test_cholesky(world, dtype, packed):
    a = definite(dtype)
    exact = a.astype(float)
    rhs = np.random.default_rng(2).standard_normal((N, 3)).astype(dtype)
    factor = craton.Cholesky(symmetric_of(world, a, packed))
    np.testing.assert_allclose(factor.solve(rhs[:, 1]), np.linalg.solve(exact, rhs[:, 1]), **close(dtype))
    columns = matrix_of(world, rhs)
    assert factor.solve(columns) is None
    np.testing.assert_allclose(columns.local, np.linalg.solve(exact, rhs), **close(dtype))
    np.testing.assert_allclose(factor.log_determinant(), np.linalg.slogdet(exact)[1], rtol=1e-5)
    np.testing.assert_allclose(factor.inverse_diagonal(), np.diag(np.linalg.inv(exact)), **close(dtype))
    for call in (factor.solve, factor.solve_factor, factor.solve_transposed_factor):
        with pytest.raises(craton.UserError, match="solve"):
            call(rhs[:, 1])
    np.testing.assert_allclose(
        linalg.solve(symmetric_of(world, a, packed), [1] * N), np.linalg.solve(exact, np.ones(N)), **close(dtype)
    )
    inverse = linalg.inv(symmetric_of(world, a, packed))
    upper = inverse.to_matrix().local if packed else np.triu(inverse.local)
    np.testing.assert_allclose(upper, np.triu(np.linalg.inv(exact)), **close(dtype))
    np.testing.assert_allclose(
        linalg.log_determinant(symmetric_of(world, a, packed)), np.linalg.slogdet(exact)[1], rtol=1e-5
    )
    np.testing.assert_allclose(
        linalg.inverse_diagonal(symmetric_of(world, a, packed)), np.diag(np.linalg.inv(exact)), **close(dtype)
    )


@pytest.mark.parametrize("packed", [False, True], ids=["full", "packed"])
def test_halves_of_a_solution(world, dtype, packed):
    """U^-T b and U^-1 b, of a vector and of columns; U is the upper triangular factor."""
    a = definite(dtype)
    upper = np.linalg.cholesky(a.astype(float)).T
    rhs = np.random.default_rng(2).standard_normal((N, 3)).astype(dtype)
    factor = craton.Cholesky(symmetric_of(world, a, packed))
    for call, triangle in ((factor.solve_transposed_factor, upper.T), (factor.solve_factor, upper)):
        wanted = np.linalg.solve(triangle, rhs.astype(float))
        np.testing.assert_allclose(call(rhs[:, 1]), wanted[:, 1], **close(dtype))
        columns = matrix_of(world, rhs)
        assert call(columns) is None
        np.testing.assert_allclose(columns.local, wanted, **close(dtype))


def test_a_kronecker_product_in_a_diagonal_block(world, dtype):
    outer, inner = np.arange(4.0).reshape(2, 2), np.arange(9.0).reshape(3, 3)
    matrix = craton.ConvergentMatrix(world, 10, 10, dtype=dtype, block=4)
    matrix.add_kronecker(outer, inner, 2.0, 3)
    wanted = np.zeros((10, 10))
    wanted[3:9, 3:9] = np.triu(2.0 * np.kron(outer, inner))
    np.testing.assert_array_equal(matrix.local, wanted)
    with pytest.raises(
        craton.UserError, match=r"add_kronecker: factors 2 x 2 and 3 x 3 at 5 of a 10 x 10 matrix; allowed"
    ):
        matrix.add_kronecker(outer, inner, 1.0, 5)


@pytest.mark.parametrize("packed", [False, True], ids=["full", "packed"])
def test_eigenproblem(world, dtype, packed):
    a = definite(dtype)
    exact = np.linalg.eigvalsh(a.astype(float))
    np.testing.assert_allclose(linalg.eigvalsh(symmetric_of(world, a, packed)), exact, **close(dtype))
    values, vectors = linalg.eigh(symmetric_of(world, a, packed))
    np.testing.assert_allclose(values, exact, **close(dtype))
    v = vectors.local.astype(float)
    np.testing.assert_allclose(v.T @ v, np.eye(N), **close(dtype))
    np.testing.assert_allclose(v * values @ v.T, a, **close(dtype))
    assert vectors.dtype == np.dtype(dtype)


@pytest.mark.parametrize("lower", [False, True])
def test_triangular_inverse(world, dtype, lower):
    a = definite(dtype)
    a += np.triu(a) if lower else np.tril(a)
    matrix = matrix_of(world, a)
    assert linalg.triangular_inv(matrix, lower=lower) is matrix
    triangle, other = (np.tril, np.triu) if lower else (np.triu, np.tril)
    np.testing.assert_allclose(triangle(matrix.local), np.linalg.inv(triangle(a).astype(float)), **close(dtype))
    k = 1 if lower else -1
    np.testing.assert_array_equal(other(matrix.local, k), other(a, k))


def test_products_with_vectors(world, dtype):
    a = np.random.default_rng(4).standard_normal((N, 30)).astype(dtype)
    matrix, x, y = matrix_of(world, a), np.arange(30.0), np.arange(N, dtype="float32")[::-1]
    np.testing.assert_allclose(linalg.matvec(matrix, x), a.astype(float) @ x, rtol=0, atol=close(dtype)["atol"] * 10)
    np.testing.assert_allclose(
        linalg.matvec(matrix, y, transpose=True), a.T.astype(float) @ y, rtol=0, atol=close(dtype)["atol"] * 10
    )
    b = definite(dtype)
    for packed in (False, True):
        product = linalg.matvec(symmetric_of(world, b, packed), y, symmetric=True)
        np.testing.assert_allclose(product, b.astype(float) @ y, rtol=0, atol=close(dtype)["atol"] * 10)


def test_products_of_matrices(world, dtype):
    rng = np.random.default_rng(6)
    a, b = rng.standard_normal((N, 30)).astype(dtype), rng.standard_normal((30, 21)).astype(dtype)
    da, db = matrix_of(world, a), matrix_of(world, b, block=(8, 8))
    wanted = a.astype(float) @ b
    product = linalg.matmul(da, db)
    assert product.shape == (N, 21) and product.dtype == np.dtype(dtype)
    np.testing.assert_allclose(product.local, wanted, **close(dtype))
    assert linalg.matmul(da, db, product, alpha=2, beta=-1) is product
    np.testing.assert_allclose(product.local, wanted, **close(dtype))
    np.testing.assert_allclose(
        linalg.matmul(db, da, transpose_a=True, transpose_b=True).local, wanted.T, **close(dtype)
    )
    s = definite(dtype)
    left = s.astype(float) @ a
    for packed in (False, True):
        symmetric = symmetric_of(world, s, packed)
        np.testing.assert_allclose(linalg.matmul(symmetric, da, symmetric="a").local, left, **close(dtype))
    transposed = matrix_of(world, np.ascontiguousarray(a.T))
    for packed in (False, True):
        symmetric = symmetric_of(world, s, packed)
        np.testing.assert_allclose(linalg.matmul(transposed, symmetric, symmetric="b").local, left.T, **close(dtype))


def test_errors(world):
    whole = craton.ConvergentMatrix(world, 4, 4, dtype="int64")
    with pytest.raises(
        craton.UserError, match="cholesky: ConvergentMatrix of int64 elements; allowed: ConvergentMatrix or"
    ):
        craton.Cholesky(whole)
    for call in (linalg.eigh, linalg.eigvalsh, linalg.triangular_inv, linalg.inv):
        with pytest.raises(craton.UserError, match="of int64 elements"):
            call(whole)
    with pytest.raises(craton.UserError, match="matvec: ndarray of float64 elements"):
        linalg.matvec(np.eye(3), np.ones(3))
    negative = matrix_of(world, -np.eye(5))
    with pytest.raises(craton.UserError, match="not positive definite"):
        craton.Cholesky(negative)
    single, double = matrix_of(world, np.eye(5, dtype="float32")), matrix_of(world, np.eye(5))
    half = symmetric_of(world, np.eye(5), True)
    with pytest.raises(craton.UserError, match="matmul: float32 times float64; allowed: one element type"):
        linalg.matmul(single, double)
    with pytest.raises(craton.UserError, match="out is float32; allowed: float64"):
        linalg.matmul(double, double, single)
    with pytest.raises(craton.UserError, match="both factors are symmetric"):
        linalg.matmul(half, half)
    with pytest.raises(craton.UserError, match="transposed factor beside a symmetric one"):
        linalg.matmul(half, double, transpose_b=True)
    with pytest.raises(craton.UserError, match="beta = 1.0 without out"):
        linalg.matmul(double, double, beta=1.0)
    with pytest.raises(craton.UserError, match="triangular_inv: a SymmetricMatrix; allowed: a ConvergentMatrix"):
        linalg.triangular_inv(half)
    for wrong in (np.ones(6), np.ones((5, 1))):
        with pytest.raises(craton.UserError):
            linalg.matvec(double, wrong)
        with pytest.raises(craton.UserError):
            craton.Cholesky(matrix_of(world, np.eye(5))).solve(wrong)
    with pytest.raises(craton.UserError):
        linalg.matmul(double, matrix_of(world, np.eye(6)))
    with pytest.raises(craton.UserError):
        linalg.matmul(double, double, double)
    with pytest.raises(craton.UserError, match="zero"):
        linalg.triangular_inv(matrix_of(world, np.diag([1.0, 0.0, 1.0])))
    with pytest.raises(craton.UserError):
        linalg.eigh(craton.ConvergentMatrix(world, 5, 4, dtype="float64"))


LIMITED = """
import resource
import craton
import numpy as np
from mpi4py import MPI

world = craton.World(MPI.COMM_SELF)
matrix = craton.SymmetricMatrix(world, 200, block=32)
matrix.update_symmetric(np.eye(200), np.arange(200))
matrix.commit()
pages = int(open("/proc/self/statm").read().split()[0])
resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + (16 << 20),) * 2)
print(craton.Cholesky(matrix).solve(np.ones(200)).sum())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_process_at_its_limit_of_addresses_multiplies():
    """OpenBLAS 0.3.21 would ask for its memory for ever."""
    done = subprocess.run(
        [sys.executable, "-c", LIMITED],
        env=environment_without_mpi(OPENBLAS_NUM_THREADS="1"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "200.0\n"), done.stderr
