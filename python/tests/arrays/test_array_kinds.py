"""Every kind of distributed array from Python, on one rank, against NumPy; test_many_ranks.py has the same on several."""

import gc
import sys
import threading
import weakref
from pathlib import Path

import craton
import numpy as np
import pytest
from mpi4py import MPI

DTYPES = ["float32", "float64", "complex64", "complex128", "int64"]


@pytest.fixture(scope="module")
def world():
    return craton.World(MPI.COMM_SELF)


def numbers(shape, dtype, seed=0):
    """Small whole numbers, so that sums are exact in every type."""
    rng = np.random.default_rng(seed)
    values = rng.integers(-9, 10, shape).astype(dtype)
    return values + 1j * rng.integers(-9, 10, shape) if np.dtype(dtype).kind == "c" else values


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_every_way_to_add(world, dtype):
    matrix = craton.ConvergentMatrix(world, 20, 20, dtype=dtype, block=(6, 4))
    assert matrix.dtype == np.dtype(dtype) and matrix.block == (6, 4) and matrix.world is world
    reference = np.zeros((20, 20), dtype)
    block = numbers((7, 5), dtype).astype(dtype)
    rows, cols = np.array([3, 3, 0, 19, 7, 8, 2]), np.array([1, 5, 5, 0, 17])
    matrix.update(block, rows, cols)
    np.add.at(reference, np.ix_(rows, cols), block)
    matrix.update(5, 2, np.int32(4))
    reference[2, 4] += 5
    square = numbers((6, 6), dtype, 1).astype(dtype)
    square = square + square.T
    ascending = np.array([1, 4, 5, 11, 12, 18])
    matrix.update_symmetric(square, ascending)
    reference[np.ix_(ascending, ascending)] += np.triu(square)
    i, j = np.indices((20, 20))
    for side, offset, taken in (("upper", 2, i <= j + 2), ("lower", -3, i >= j - 3)):
        whole = numbers((20, 20), dtype, 2).astype(dtype)
        matrix.update_trapezoid(whole, range(20), range(20), side, offset)
        reference += whole * taken
    matrix.commit()
    np.testing.assert_array_equal(matrix.local, reference)
    np.testing.assert_array_equal(matrix.read_slice([3, 0], range(20)), reference[[3, 0]])
    np.testing.assert_array_equal(matrix.read_block(4, 2, 5, 9), reference[4:9, 2:11])
    assert matrix.read_slice([3], [0]).dtype == np.dtype(dtype) and matrix.read(3, 5) == reference[3, 5]
    np.testing.assert_array_equal(matrix.diagonal(), np.diag(reference))
    matrix.scale(2)
    matrix.fill_lower()
    upper = 2 * np.triu(reference)
    np.testing.assert_array_equal(matrix.local, upper + np.triu(upper, 1).T)
    matrix.reset()
    assert not matrix.local.any()


@pytest.mark.parametrize("dtype", DTYPES)
def test_blocks_of_any_strides_are_read_where_they_lie(world, dtype):
    big = numbers((40, 60), dtype).astype(dtype)
    big.flags.writeable = False
    unaligned = np.frombuffer(b"x" + big.tobytes(), np.uint8)[1:].view(dtype).reshape(big.shape)
    record = np.zeros((4, 5), [("byte", "i1"), ("value", dtype)])
    record["value"] = big[:4, :5]
    views = {
        "Fortran": np.asfortranarray(big),
        "slice": big[3:20:2, 5:31:3],
        "reversed": big[::-3, ::-1],
        "transposed": big.T[7:40],
        "row repeated": np.broadcast_to(big[2], (6, 60)),
        "one element": big[5:6, 9:10],
        "not aligned": unaligned,
        "field of records": record["value"],
        "list": big[:3, :2].real.astype(int).tolist(),
    }
    for name, view in views.items():
        rows, cols = np.shape(view)
        matrix = craton.ConvergentMatrix(world, rows, cols, dtype=dtype, block=16)
        matrix.update(view, np.arange(rows), np.arange(cols))
        matrix.commit()
        np.testing.assert_array_equal(matrix.local, view, err_msg=name)


def peak_of_resident_set_kib(reset=False):
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0])


def test_no_copy_of_a_large_block_is_made(world):
    """The peak of the resident set rises by less than half of a block when a sliced one in Fortran order is added."""
    n = 3000
    block = np.asfortranarray(np.ones((n, 2 * n)))[:, ::2]  # 72 MB of elements
    matrix = craton.ConvergentMatrix(world, n, n, dtype="float64", block=256)
    matrix.update(block[:, :64], np.arange(n), np.arange(64))  # what is needed once
    matrix.local[...] = 0
    before = peak_of_resident_set_kib(reset=True)
    matrix.update(block, np.arange(n), np.arange(n))
    matrix.commit()
    assert peak_of_resident_set_kib() - before < 36_000
    assert (matrix.local == 1).all()
    before = peak_of_resident_set_kib(reset=True)
    np.ascontiguousarray(block)  # what the measure says of a copy
    assert peak_of_resident_set_kib() - before > 60_000


def test_local_outlives_the_name_of_its_matrix(world):
    matrix = craton.ConvergentMatrix(world, 5, 5, dtype="int64")
    view = matrix.local
    del matrix
    gc.collect()
    view[...] = 3
    assert view.sum() == 75


@pytest.mark.parametrize("dtype", ["float32", "float64", "int64"])
def test_smallest_and_largest(world, dtype):
    for merge, ufunc in (("min", np.minimum), ("max", np.maximum), (np.minimum, np.minimum)):
        matrix = craton.ConvergentMatrix(world, 12, 12, dtype=dtype, block=5, merge=merge)
        reference = matrix.local.copy()
        assert (reference == reference[0, 0]).all() and abs(float(reference[0, 0])) > 1e18
        for seed in range(4):
            block = numbers((6, 6), dtype, seed)
            rows = np.random.default_rng(seed).permutation(12)[:6]
            matrix.update(block, rows, rows)
            reference[np.ix_(rows, rows)] = ufunc(reference[np.ix_(rows, rows)], block)
        matrix.commit()
        np.testing.assert_array_equal(matrix.local, reference)


@pytest.mark.parametrize("dtype", DTYPES)
def test_merges_written_in_python(world, dtype):
    def multiply(into, arriving):
        assert into.dtype == arriving.dtype == np.dtype(dtype) and into.shape == arriving.shape
        assert into.flags.writeable and not arriving.flags.writeable
        into *= arriving

    for arguments in ({"merge": multiply, "identity": 1}, {"merge": np.multiply}):
        matrix = craton.ConvergentMatrix(world, 9, 9, dtype=dtype, block=4, **arguments)
        team = [
            threading.Thread(target=matrix.update, args=(np.full((9, 9), 2, dtype), range(9), range(9)))
            for _ in range(5)
        ]
        for thread in team:
            thread.start()
        for thread in team:
            thread.join()
        matrix.commit()
        assert (matrix.local == 32).all()
        matrix.reset()
        assert (matrix.local == 1).all()


def test_a_merge_that_knows_its_matrix_is_collected(world):
    class Marker:
        pass

    def life():
        marker = Marker()
        known = []

        def merge(into, arriving):
            assert known and marker
            into += arriving

        known.append(craton.ConvergentMatrix(world, 4, 4, merge=merge, identity=0))
        known.append(craton.SymmetricMatrix(world, 4, merge=merge, identity=0))
        known[0].update(1.0, 2, 2)
        known[0].commit()
        assert known[0].read(2, 2) == 1
        return weakref.ref(marker)

    marker = life()
    gc.collect()
    assert marker() is None


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_update_gram(world, dtype):
    n, k = 50, 8
    rng = np.random.default_rng(3)
    tolerance = {"rtol": 0, "atol": 2e-4 if dtype == "float32" else 1e-12}
    indices = np.sort(rng.choice(80, n, replace=False))
    panel = rng.standard_normal((k, n)).astype(dtype)
    weights = rng.uniform(0.5, 2, k).astype(dtype)
    matrix = craton.ConvergentMatrix(world, 80, 80, dtype=dtype, block=16)

    def committed():
        matrix.commit()
        result = matrix.local[np.ix_(indices, indices)]
        assert np.count_nonzero(matrix.local) == n * (n + 1) // 2
        matrix.reset()
        return result

    plain = np.triu(panel.T.astype(float) @ panel)
    weighted = np.triu((panel.T.astype(float) * weights) @ panel)
    report = matrix.update_gram(panel, indices)
    assert (report.samples, report.rank) == (k, k) and "rank=8" in repr(report)
    np.testing.assert_allclose(committed(), plain, **tolerance)
    matrix.update_gram(np.asfortranarray(panel), indices, weights, method="owner")
    np.testing.assert_allclose(committed(), weighted, **tolerance)
    doubled = np.repeat(np.repeat(panel, 2, 0), 2, 1)[::2, ::2]
    report = matrix.update_gram([doubled, panel], indices, [None, np.repeat(weights, 2)[::2]], method="origin")
    assert report.samples == 2 * k
    np.testing.assert_allclose(committed(), plain + weighted, **tolerance)
    low_rank = (rng.standard_normal((40, 3)) @ rng.standard_normal((3, n))).astype(dtype)
    report = matrix.update_gram(low_rank, indices, tolerance=1e-5, always_compress=True)
    assert report.samples == 40 and report.rank == 3
    exact = low_rank.T.astype(float) @ low_rank
    assert np.abs(committed() - np.triu(exact)).max() <= 2e-5 * np.trace(exact)

    lateral, radial = rng.standard_normal(10).astype(dtype), rng.standard_normal((k, 5)).astype(dtype)
    expanded = np.einsum("a,ti->tai", lateral, radial).reshape(k, 50).astype(float)
    matrix.update_kronecker(lateral, radial, indices, weights)
    np.testing.assert_allclose(committed(), np.triu((expanded.T * weights) @ expanded), **tolerance)

    text = matrix.explain_gram(4060, 150, tolerance=1e-3)
    assert "4060 columns, 150 samples" in text and "owner" in text and "origin" in text
    matrix.gram_wire_bytes_per_s = 2.5e9
    assert matrix.gram_wire_bytes_per_s == 2.5e9 and "wire 2.50 GB/s" in matrix.explain_gram(4060, 150)


def test_errors_of_update_gram(world):
    matrix = craton.ConvergentMatrix(world, 10, 10, dtype="float64")
    panel, indices = np.ones((3, 2)), [4, 5]
    with pytest.raises(craton.UserError, match="method is 'best'; allowed: 'auto', 'origin' or 'owner'"):
        matrix.update_gram(panel, indices, method="best")
    with pytest.raises(craton.UserError, match="tolerance is -"):
        matrix.update_gram(panel, indices, tolerance=-1)
    with pytest.raises(craton.UserError, match="an empty list of panels"):
        matrix.update_gram([], indices)
    with pytest.raises(craton.UserError, match="weights for 1 panels of 2"):
        matrix.update_gram([panel, panel], indices, [np.ones(3)])
    with pytest.raises(
        craton.UserError, match="update_gram: weights: float32 array of shape .*; allowed: a one-dimensional float64"
    ):
        matrix.update_gram(panel, indices, np.ones(3, np.float32))
    with pytest.raises(craton.UserError, match="update_gram"):
        matrix.update_gram(panel, indices, -np.ones(3))
    with pytest.raises(craton.UserError, match="update_gram"):
        matrix.update_gram(panel, [4, 10])
    with pytest.raises(craton.UserError, match="gram_wire_bytes_per_s is 0"):
        matrix.gram_wire_bytes_per_s = 0
    for other in (
        craton.ConvergentMatrix(world, 10, 11, dtype="float64"),
        craton.ConvergentMatrix(world, 10, 10, dtype="float64", merge="max"),
    ):
        with pytest.raises(
            craton.UserError, match="update_gram: the matrix is 10 x 1[01]; allowed: square matrices with merge 'add'"
        ):
            other.update_gram(panel, indices)
    matrix.commit()
    assert not matrix.local.any()


def test_other_element_types_are_refused_not_converted(world):
    matrix = craton.ConvergentMatrix(world, 4, 4, dtype="float64")
    vector = craton.ConvergentVector(world, 4, dtype="int64")
    for wrong in (np.ones((2, 2), np.float32), np.ones((2, 2), int), np.ones((2, 2), ">f8"), np.ones((2, 2), complex)):
        with pytest.raises(
            craton.UserError, match=r"block: \S+ array of shape \(2, 2\); allowed: a two-dimensional float64 array"
        ):
            matrix.update(wrong, [0, 1], [0, 1])
        with pytest.raises(craton.UserError, match="update_symmetric: block: "):
            matrix.update_symmetric(wrong, [0, 1])
    for wrong in (np.ones(2), np.ones((2, 2, 2)), "text", [[1, "x"]]):
        with pytest.raises(craton.UserError, match="allowed: a two-dimensional float64 array"):
            matrix.update(wrong, [0, 1], [0, 1])
    with pytest.raises(
        craton.UserError, match="vector update: values: float64 array .* allowed: a one-dimensional int64"
    ):
        vector.update(np.ones(2), [0, 1])
    with pytest.raises(craton.UserError, match="update: value: 'x'; allowed: a float64 number"):
        matrix.update("x", 0, 0)
    with pytest.raises(craton.UserError, match="update: col: 1.5; allowed: an integer"):
        matrix.update(1.0, 0, 1.5)
    with pytest.raises(craton.UserError, match="row"):
        matrix.update(1.0, 4, 0)
    with pytest.raises(craton.UserError, match="side is 'left'; allowed: 'upper' or 'lower'"):
        matrix.update_trapezoid(np.ones((1, 1)), [0], [0], "left")
    with pytest.raises(craton.UserError, match="scale: factor: 'a'"):
        matrix.scale("a")
    matrix.commit()
    assert not matrix.local.any()


def test_errors_of_constructors(world):
    with pytest.raises(craton.UserError, match="dtype = 'int32'; allowed: 'float32', .* or 'int64'"):
        craton.ConvergentMatrix(world, 4, 4, dtype="int32")
    with pytest.raises(craton.UserError, match="ReproducibleMatrix: dtype = 'int64'; allowed: 'float32' or 'float64'"):
        craton.ReproducibleMatrix(world, 4, 4, dtype="int64", largest=1)
    with pytest.raises(craton.UserError, match="dtype = 'nothing'"):
        craton.ConvergentVector(world, 4, dtype="nothing")
    with pytest.raises(craton.UserError, match="merge is 'min' for complex64 elements; allowed: 'add' or a function"):
        craton.ConvergentMatrix(world, 4, 4, dtype="complex64", merge="min")
    with pytest.raises(
        craton.UserError, match="merge is 'mean' for float64 elements; allowed: 'add', 'min', 'max' or a function"
    ):
        craton.SymmetricMatrix(world, 4, merge="mean")
    with pytest.raises(craton.UserError, match="a function without an identity"):
        craton.ConvergentMatrix(world, 4, 4, merge=lambda into, arriving: None)
    with pytest.raises(craton.UserError, match="identity: 0.5; allowed: a int64 number"):
        craton.ConvergentMatrix(world, 4, 4, dtype="int64", merge=np.multiply, identity=0.5)
    for kind in (craton.ConvergentMatrix, craton.SymmetricMatrix):
        shape = (4, 4) if kind is craton.ConvergentMatrix else (4,)
        with pytest.raises(craton.UserError, match="block"):
            kind(world, *shape, block=0)
        with pytest.raises(craton.UserError, match="process grid 2 x 2 on 1 ranks|2 process columns"):
            kind(world, *shape, grid=(2, 2))
    with pytest.raises(craton.UserError, match="largest"):
        craton.ReproducibleMatrix(world, 4, 4, largest=float("nan"))


def test_an_exception_in_a_merge_is_one_line(world):
    def merge(into, arriving):
        raise ValueError("two\nlines")

    matrix = craton.ConvergentMatrix(world, 4, 4, merge=merge, identity=0)
    with pytest.raises(craton.UserError, match="^merge: the function raised ValueError: two lines$"):
        matrix.update(1.0, 0, 0)
    matrix.commit()  # no lock is left held
    assert matrix.read(0, 0) == 0


@pytest.mark.parametrize("dtype", DTYPES)
def test_symmetric_storage(world, dtype):
    n = 37
    packed = craton.SymmetricMatrix(world, n, dtype=dtype, block=5)
    full = craton.ConvergentMatrix(world, n, n, dtype=dtype, block=5)
    assert packed.shape == (n, n) and packed.order == n and packed.block == 5 and packed.dtype == np.dtype(dtype)
    assert packed.packed.shape == (45, 20) and packed.world is world  # 8 blocks a side, the last partial
    for seed in range(5):
        block = np.asfortranarray(numbers((9, 9), dtype, seed).astype(dtype))
        ix = np.random.default_rng(seed).permutation(n)[:9]
        for matrix in (packed, full):
            matrix.update_symmetric((block + block.T)[:, :], np.sort(ix))
        packed.update(block, ix, ix[::-1])
        full.update_trapezoid(block, ix, ix[::-1], "upper")
    packed.commit()
    full.commit()
    upper = np.triu(full.local)
    whole = upper + np.triu(upper, 1).T
    np.testing.assert_array_equal(packed.read_slice(range(n), range(n)), whole)
    np.testing.assert_array_equal(packed.diagonal(), np.diag(whole))
    assert packed.read(3, 30) == packed.read(30, 3) == whole[3, 30]
    np.testing.assert_array_equal(packed.to_matrix().local, upper)
    np.testing.assert_array_equal(packed.to_matrix(fill_lower=True).local, whole)
    packed.scale(3)
    packed.expand(full)
    np.testing.assert_array_equal(full.local, 3 * upper)
    packed.reset()
    assert not packed.to_matrix().local.any()
    packed.compress(full)
    np.testing.assert_array_equal(packed.to_matrix().local, 3 * upper)
    with pytest.raises(craton.UserError, match="expand"):
        packed.expand(craton.ConvergentMatrix(world, n + 1, n + 1, dtype=dtype))
    with pytest.raises(craton.UserError, match=f"out of range; allowed: 0 to {n - 1}"):
        packed.update_symmetric(np.ones((1, 1), dtype), [n])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_reproducible_sums(world, dtype):
    rng = np.random.default_rng(5)
    updates = [(rng.standard_normal((6, 6)).astype(dtype), np.sort(rng.permutation(20)[:6])) for _ in range(40)]
    matrices = [craton.ReproducibleMatrix(world, 20, 20, dtype=dtype, largest=200.0, block=6) for _ in range(2)]
    for matrix, order in zip(matrices, (updates, updates[::-1]), strict=True):
        for block, indices in order:
            matrix.update(block[:, ::-1], indices, indices)
            matrix.update_symmetric(block + block.T, indices)
        matrix.commit()
    first, second = (matrix.read_slice(range(20), range(20)) for matrix in matrices)
    assert first.tobytes() == second.tobytes() and first.dtype == np.dtype(dtype)
    exact = np.zeros((20, 20), int)
    matrix = matrices[0]
    assert matrix.largest >= 200 and 0 < matrix.resolution < 1e-15 * 200 and matrix.shape == (20, 20)
    for block, indices in updates:
        symmetric = (block + block.T).astype(dtype)
        exact[np.ix_(indices, indices)] += np.rint(block[:, ::-1] / matrix.resolution).astype(int)
        exact[np.ix_(indices, indices)] += np.triu(np.rint(symmetric / matrix.resolution).astype(int))
    np.testing.assert_array_equal(matrix.sums.local, exact)
    assert matrix.sums.dtype == np.int64
    copy = matrix.to_matrix()
    np.testing.assert_array_equal(copy.local, first)
    assert copy.dtype == np.dtype(dtype) and matrix.read(3, 4) == first[3, 4]
    for wrong in (np.nan, np.inf, 1e9):
        with pytest.raises(craton.UserError, match="update"):
            matrix.update(np.full((1, 1), wrong, dtype), [0], [0])
    matrix.reset()
    assert not matrix.sums.local.any()
    for _ in range(5):
        matrix.update(np.full((1, 1), 199, dtype), [0], [0])
    with pytest.raises(craton.UserError, match="largest"):
        matrix.commit()


@pytest.mark.parametrize("dtype", DTYPES)
def test_vectors(world, dtype):
    vector = craton.ConvergentVector(world, 30, block=7, dtype=dtype)
    values = numbers(12, dtype).astype(dtype)
    reference = np.zeros(30, dtype)
    for view, indices in ((values, range(12)), (values[::-2], [5, 5, 0, 29, 7, 1])):
        vector.update(view, indices)
        np.add.at(reference, np.asarray(indices), view)
    vector.commit()
    np.testing.assert_array_equal(vector.gather(), reference)
    np.testing.assert_array_equal(vector.local, reference)
    assert (
        vector.dtype == np.dtype(dtype)
        and vector.size == 30
        and vector.block == 7
        and vector.gather().dtype == vector.dtype
    )
    with pytest.raises(craton.UserError, match="out of range"):
        vector.update(values, range(20, 32))
    vector.reset()
    assert not vector.gather().any()


def test_arrays_are_freed(world):
    """Matrix, gram updater and view: no cycle keeps memory."""
    before = len(gc.get_objects())
    for _ in range(50):
        matrix = craton.ConvergentMatrix(world, 200, 200, dtype="float64")
        matrix.local[0, 0] = 1
        craton.SymmetricMatrix(world, 100).to_matrix()
    del matrix
    gc.collect()
    assert len(gc.get_objects()) - before < 50
    assert sys.getrefcount(world) < 300


@pytest.mark.parametrize("kind", [craton.ConvergentMatrix, craton.SymmetricMatrix, craton.ReproducibleMatrix])
def test_an_upper_triangle_alone_in_c_order_is_refused(world, kind):
    draw = np.random.default_rng(4).normal(size=(50, 50))
    whole, indices = draw + draw.T, np.arange(50)
    shape = (50,) if kind is craton.SymmetricMatrix else (50, 50)
    more = {"largest": 1e3} if kind is craton.ReproducibleMatrix else {}
    matrix = kind(world, *shape, **more)
    with pytest.raises(
        craton.UserError, match=r"update_symmetric: block: elements \[\d+, \d+\] and .* differ; allowed: "
    ):
        matrix.update_symmetric(np.triu(whole), indices)
    matrix.commit()
    assert not np.asarray(matrix.gather()).any()
    matrix.update_symmetric(np.asfortranarray(np.triu(whole)), indices)  # the triangle that is read
    matrix.commit()
    np.testing.assert_allclose(np.triu(np.asarray(matrix.gather())), np.triu(whole), atol=1e-9)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
def test_a_product_that_rounding_makes_unsymmetric_is_taken(world, dtype):
    draw = np.random.default_rng(5).normal(size=(400, 60))
    columns = np.linalg.qr(draw)[0].astype(dtype)  # of the product nothing but rounding is beside the diagonal
    block = np.ascontiguousarray(columns.T @ columns)
    block[np.tril_indices(60, -1)] *= -1
    matrix = craton.ConvergentMatrix(world, 60, 60, dtype)
    matrix.update_symmetric(block, np.arange(60))
    matrix.commit()


def test_whole_numbers_and_what_is_no_number_are_compared_too(world):
    largest, least = np.iinfo(np.int64).max, np.iinfo(np.int64).min
    whole = craton.ConvergentMatrix(world, 2, 2, "int64")
    whole.update_symmetric(np.array([[1, largest], [largest, 1]]), [0, 1])
    with pytest.raises(craton.UserError, match=r"elements \[0, 1\] and \[1, 0\] differ"):
        whole.update_symmetric(np.array([[1, largest], [least, 1]]), [0, 1])
    real = craton.ConvergentMatrix(world, 2, 2)
    real.update_symmetric(np.array([[1.0, np.nan], [np.nan, 1.0]]), [0, 1])
    real.commit()
