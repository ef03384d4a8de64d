"""What matrices, vectors and DistArrays do beyond updates, on as many ranks as the job has, against NumPy.

Started by test_python_api.py.

mpiexec -n 3 python array_operations.py
"""

import shutil
import sys
import tempfile

import craton
import numpy as np
import pytest
from mpi4py import MPI

COMM = MPI.COMM_WORLD
MATRIX_TYPES = ("float32", "float64", "complex64", "complex128", "int64")
ARRAY_TYPES = ("float32", "float64", "complex64", "complex128", "int32", "int64")


def numbers(rng, shape, dtype):
    """Small whole numbers, so that sums and products are exact in every type."""
    values = rng.integers(-4, 5, shape)
    return (values + 1j * rng.integers(-4, 5, shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def same(found, wanted, **close):
    found = found.gather() if hasattr(found, "gather") else found
    np.testing.assert_allclose(found, wanted, **({"rtol": 1e-6} | close))


def parts_of_matrices(world):
    """Every rank adds what its number says; who reads gets what NumPy has."""
    rng = np.random.default_rng(1)
    keys = [
        np.s_[3, 4],
        np.s_[2:9, 5:7],
        np.s_[::3, -2],
        np.s_[[1, 8, 12], 2:6],
        np.s_[[4, 0, -1], [2, 9]],
        np.s_[np.arange(17) % 2 == 0, :],
        np.s_[...],
        np.s_[5],
        np.s_[10:3, 2],
    ]
    for dtype in MATRIX_TYPES:
        m, whole = craton.ConvergentMatrix(world, (17, 14), dtype=dtype, block=(3, 2)), np.zeros((17, 14), dtype)
        for n, key in enumerate(keys):
            m[key] += 2
            m[key] -= 1
            where = np.ix_(*key) if isinstance(key, tuple) and all(isinstance(each, list) for each in key) else key
            block = numbers(rng, whole[where].shape, dtype)
            if n % world.size == world.rank:
                m[key] += block
            whole[where] += block + np.array(world.size, dtype)
        m.commit()
        for key in keys:
            where = np.ix_(*key) if isinstance(key, tuple) and all(isinstance(each, list) for each in key) else key
            assert m[key].shape == whole[where].shape
            same(m[key].get(), whole[where])
        same(m[3, 4] + 1, whole[3, 4] + 1)
        same(np.asarray(m), whole)
        same(m[np.ix_([1, 3], [2, 2, 5])], whole[np.ix_([1, 3], [2, 2, 5])])
        world.barrier()
        m[2:4, :] += np.arange(14).astype(dtype)  # broadcast, from all ranks
        m.commit()
        whole[2:4, :] += world.size * np.arange(14).astype(dtype)
        same(m, whole)


def parts_of_other_kinds(world):
    n = 13
    for dtype in ("float64", "complex64", "int64"):
        s, whole = craton.SymmetricMatrix(world, n, dtype=dtype, block=2), np.zeros((n, n), dtype)
        s[2, 7] += 3
        s[9, 1] += 4  # the mirror image
        s[0:3, 5:9] += 1
        square = np.add.outer(np.arange(3), np.arange(3)).astype(dtype)
        s[[4, 6, 11], [4, 6, 11]] += square
        s.commit()
        whole[2, 7] += 3
        whole[1, 9] += 4
        whole[0:3, 5:9] += 1
        whole[np.ix_([4, 6, 11], [4, 6, 11])] += np.triu(square)
        whole = world.size * (whole + np.triu(whole, 1).T)
        same(s, whole)
        same(np.asarray(s), whole)
        same(s[3:, [1, 12]], whole[3:, [1, 12]])
        assert s.T is s and s.sum() == whole.sum() and s.trace() == np.trace(whole)
        same(s.norm(), np.linalg.norm(whole))
        x = numbers(np.random.default_rng(2), n, dtype)
        same(s @ x, whole @ x)
        same(x @ s, x @ whole)
        assert s.dot(s) == np.vdot(whole, whole)
        s2 = s.copy()
        s2 *= 2
        same(s2, 2 * whole)
        s2.fill(5)
        same(s2, np.full((n, n), 5))
        same(craton.SymmetricMatrix.from_array(world, whole, block=2), whole)
        same(s.like("float32"), np.zeros((n, n)))
    r = craton.ReproducibleMatrix(world, (9, 7), largest=1e4, block=2)
    values = np.arange(63.0).reshape(9, 7)
    if world.rank == world.size - 1:
        r[:, :] += values
    r[3, 3] -= 1
    r.commit()
    values[3, 3] -= world.size
    same(r, values)
    same(np.asarray(r), values)
    assert (r.block, r.shape, r.size) == ((2, 2), (9, 7), 63)
    same(r.sum(), values.sum())
    same(r.norm("max"), 62)
    same(r @ np.ones(7), values.sum(1))
    same(r.T, values.T)
    same(r.copy(), values)
    same(craton.ReproducibleMatrix.from_array(world, values, largest=100), values)
    assert r.dot(r) == np.vdot(values, values) and r.like().largest == r.largest


def packed_sums(world):
    """Products added to a packed matrix, its triangle and its file, beside a full one and NumPy."""
    n, rng = 29, np.random.default_rng(6)
    for dtype in ("float32", "float64"):
        packed, full = craton.SymmetricMatrix(world, n, dtype, block=3), craton.ConvergentMatrix(world, n, n, dtype, 3)
        panel, weights = rng.integers(-3, 4, (5, 12)).astype(dtype), np.array([1, 4, 0, 9, 1], dtype)
        indices = rng.permutation(n)[:12]
        lateral, radial = rng.integers(-3, 4, 4).astype(dtype), rng.integers(-3, 4, (5, 3)).astype(dtype)
        for m in (packed, full):
            report = m.update_gram(panel, indices, weights)
            assert report.rank == 5
            m.update_kronecker(lateral, radial, indices, weights)
            m.commit()
            m.add_kronecker(np.arange(16.0).reshape(4, 4), np.arange(9.0).reshape(3, 3), 2.0, 13)
            m.commit()
        assert "update_gram of 12 columns" in packed.explain_gram(12, 5)
        packed.gram_wire_bytes_per_s = 2e9
        assert packed.gram_wire_bytes_per_s == 2e9
        full.fill_lower()
        whole = full.gather()
        same(packed, whole)
        found = np.zeros((n, n))
        for part in packed.triangle:
            at = np.ix_(part.rows, part.cols)
            elements = np.where(part.taken(), part.local, 0)
            found[at] += elements
            elements[part.rows[:, None] == part.cols] = 0  # or the mirror image would be there twice
            found[np.ix_(part.cols, part.rows)] += elements.T
        same(COMM.allreduce(found), whole)
        same(packed.copy("float64"), whole)
        assert packed.copy().dtype == packed.dtype and packed.copy("float64").dtype == np.float64
        if world.rank == 0:
            folder = tempfile.mkdtemp()
        file = COMM.bcast(f"{folder}/packed.h5" if world.rank == 0 else None)
        packed.save(file, "hessian")
        again = craton.SymmetricMatrix(world, n, dtype, block=3, grid=(world.size, 1))
        again.load(file, "hessian")
        same(again, whole)
        with pytest.raises(craton.UserError, match="its block is 3 but"):
            craton.SymmetricMatrix(world, n, dtype, block=4).load(file, "hessian")
        world.barrier()
        if world.rank == 0:
            shutil.rmtree(folder)
    with pytest.raises(craton.UserError, match="update_gram: a SymmetricMatrix of int64"):
        craton.SymmetricMatrix(world, n, "int64", 2).update_gram(np.ones((1, 1)), [0])
    with pytest.raises(craton.UserError, match="29 x 29; allowed: square matrices with merge 'add'"):
        craton.SymmetricMatrix(world, n, block=2, merge="max").update_gram(np.ones((1, 1)), [0])


def whole_matrices(world):
    rng = np.random.default_rng(3)
    for dtype in MATRIX_TYPES:
        a, b = numbers(rng, (11, 16), dtype), numbers(rng, (11, 16), dtype)
        m, other = (craton.ConvergentMatrix.from_array(world, each, block=(2, 3)) for each in (a, b))
        assert m.dtype == a.dtype and m.ndim == 2 and m.size == 176 and len(m) == 11
        same(m, a)
        same(m.T, a.T)
        same(m.copy(), a)
        same(m.like(), np.zeros(a.shape))
        assert m.sum() == a.sum() and m.dot(other) == np.vdot(a, b)
        same([m.norm(), m.norm("max"), m.norm("one")], [np.linalg.norm(a), np.abs(a).max(), np.abs(a).sum()])
        square = craton.ConvergentMatrix.from_array(world, a[:, :11], block=2)
        assert square.trace() == np.trace(a[:, :11])
        x, y = numbers(rng, 16, dtype), numbers(rng, 11, dtype)
        wide = np.result_type(dtype, "float64") if dtype != "int64" else np.dtype(dtype)
        for vector in (x, craton.ConvergentVector.from_array(world, x, block=3)):
            same(m @ vector, a @ x)
        same(y @ m, y @ a)
        if dtype in ARRAY_TYPES:
            same(m @ craton.DistArray.from_array(world, x), a @ x)
        if np.dtype(dtype).kind != "f":
            assert (m @ x).dtype == wide
        same(m @ (1j * x), a @ (1j * x))
        filled = m.copy()
        filled.fill(3)
        filled *= 2
        same(filled, np.full(a.shape, 6))
    single = craton.ConvergentMatrix.from_array(world, np.eye(12), dtype="float32", block=3)
    assert single.dtype == np.float32
    big = craton.ConvergentMatrix.from_array(world, np.full((8, 8), 2**55 + 1), block=2)
    assert big.sum() == 64 * (2**55 + 1)  # not to be had in float64


def vectors(world):
    rng = np.random.default_rng(4)
    for dtype in MATRIX_TYPES:
        a, b = numbers(rng, 29, dtype), numbers(rng, 29, dtype)
        v = craton.ConvergentVector.from_array(world, a, block=3)
        same(v, a)
        same(np.asarray(v), a)
        np.testing.assert_array_equal(a[v.local_indices_global], v.local)
        world.barrier()  # nobody updates while another still reads
        v[3:20:2] += b[3:20:2]
        v[[0, -1]] -= 5
        v[7] += 1
        v.commit()
        a[3:20:2] += world.size * b[3:20:2]
        a[[0, -1]] -= 5 * world.size
        a[7] += world.size
        same(v, a)
        same(v[4:9], a[4:9])
        assert v.sum() == a.sum() and v.dot(b) == np.vdot(a, b) and v @ b == a @ b and b @ v == b @ a
        assert v.dot(v) == np.vdot(a, a)
        same([v.norm(), v.norm("max"), v.norm("one")], [np.linalg.norm(a), np.abs(a).max(), np.abs(a).sum()])
        copy = v.copy()
        copy.scale(2)
        same(copy, 2 * a)
        copy.fill(1)
        same(copy, np.ones(29))
        same(v.like(), np.zeros(29))
        matrix = numbers(rng, (29, 4), dtype)
        same(v @ craton.ConvergentMatrix.from_array(world, matrix, block=1), a @ matrix)
        same(matrix.T @ v, matrix.T @ a)


def whole_arrays(world):
    rng = np.random.default_rng(5)
    for shape in ((37,), (13, 9), (5, 4, 6)):
        for dtype in ARRAY_TYPES:
            a, b = numbers(rng, shape, dtype), numbers(rng, shape, dtype) + np.array(9, dtype)
            da, db = (craton.DistArray.from_array(world, each, tiles=3) for each in (a, b))
            for found, wanted in (
                (da + db, a + b),
                (da - db, a - b),
                (da * db, a * b),
                (da / db, a / b),
                (db**2, b**2),
                (2 - da, 2 - a),
                (da + 1.5, a + 1.5),
                (1 / db, 1 / b),
                (-da, -a),
                (abs(da), abs(a)),
                (b * da, b * a),
                (da * b[..., :1], a * b[..., :1]),
                (np.float64(2) * da, np.float64(2) * a),
                (np.exp(da), np.exp(a)),
                (np.add(da, db), a + b),
                (da.conj(), a.conj()),
                (da.real, a.real),
                (da.imag, a.imag),
                (da.astype("complex128"), a.astype("complex128")),
                (da + da[...], 2 * a),
            ):
                same(found, wanted, rtol=2e-6)
                assert found.dtype == wanted.dtype
            assert da.sum() == a.sum() == np.sum(da)
            same(da.mean(), a.mean())
            for axis in (0, -1, (0, len(shape) - 1) if len(shape) > 1 else 0):
                same(da.sum(axis), a.sum(axis))
                same(np.mean(da, axis=axis), a.mean(axis), atol=1e-7)
            if np.dtype(dtype).kind != "c":
                assert da.max() == a.max() and da.min() == a.min() and da.max().dtype == np.dtype(dtype)
                same(np.maximum(da, 1), np.maximum(a, 1))
            dc, c = da.copy(), a.copy()
            dc += db
            dc *= 2
            dc -= a
            dc *= db
            c = ((c + b) * 2 - a) * b
            same(dc, c)
            if np.dtype(dtype).kind != "i":
                dc /= 4
                same(dc, c / 4)


def arrays_and_vectors(world):
    rng = np.random.default_rng(6)
    for dtype in ARRAY_TYPES:
        a, x, y = (numbers(rng, shape, dtype) for shape in ((13, 9), 9, 13))
        da = craton.DistArray.from_array(world, a, tiles=(4, 2))
        dx, dy = (craton.DistArray.from_array(world, each) for each in (x, y))
        same(da.T, a.T)
        same(da @ x, a @ x)
        same(y @ da, y @ a)
        same(np.matmul(y, da), y @ a)
        if dtype in MATRIX_TYPES:
            same(da @ craton.ConvergentVector.from_array(world, x, block=2), a @ x)
        for found, wanted in ((da @ dx, a @ x), (dy @ da, y @ a)):
            assert isinstance(found, craton.DistArray)
            same(found, wanted)
        assert dx @ dx == x @ x and dx @ x == x @ x and x @ dx == x @ x
    few = craton.DistArray.from_array(world, np.array([-3, -7]), tiles=1)  # fewer tiles than ranks
    assert few.max() == -3 and few.min() == -7


def errors_on_every_rank(world):
    a, m = craton.DistArray(world, (10, 8)), craton.ConvergentMatrix(world, 20, 20, block=2)
    with pytest.raises(craton.UserError, match="layout is another"):
        a + a.redistributed(tiles=2)
    with pytest.raises(craton.UserError, match="less: its result has bool elements"):
        assert a < 1
    with pytest.raises(craton.UserError, match="allowed: a vector of 20 numbers"):
        m @ np.ones(3)
    with pytest.raises(craton.UserError, match="kind = 'two'"):
        m.norm("two")
    with pytest.raises(craton.UserError, match="allowed: one world and layout"):
        m.dot(craton.ConvergentMatrix(world, 20, 20, block=1))
    a.sync()
    m.commit()


def main():
    world = craton.World(COMM)
    parts_of_matrices(world)
    parts_of_other_kinds(world)
    packed_sums(world)
    whole_matrices(world)
    vectors(world)
    whole_arrays(world)
    arrays_and_vectors(world)
    errors_on_every_rank(world)
    world.quiesce()
    if world.rank == 0:
        print(f"operations agree on {world.size} ranks of {world.node_count} nodes")


if __name__ == "__main__":
    sys.exit(main())
