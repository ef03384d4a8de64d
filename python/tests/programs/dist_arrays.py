"""DistArray and its linear algebra on as many ranks as the job has, against NumPy; started by test_dist_array.py.

mpiexec -n 3 python dist_arrays.py FOLDER
"""

import sys
import threading
from pathlib import Path

import craton
import h5py
import numpy as np
import pytest
from craton import linalg
from mpi4py import MPI

COMM = MPI.COMM_WORLD
DTYPES = ("float32", "float64", "complex64", "complex128", "int32", "int64")


def numbers(rng, shape, dtype):
    """Small whole numbers, so that sums and products are exact in every type."""
    values = rng.integers(-4, 5, shape)
    return (values + 1j * rng.integers(-4, 5, shape) if np.dtype(dtype).kind == "c" else values).astype(dtype)


def any_layout(rng, shape, ranks):
    """Tiles of 1 to 9, owners drawn; the same on every rank."""
    boundaries = []
    for extent in shape:
        cuts = [0]
        while cuts[-1] < extent:
            cuts.append(min(extent, cuts[-1] + int(rng.integers(1, 10))))
        boundaries.append(cuts)
    counts = [len(cuts) - 1 for cuts in boundaries]
    return {"boundaries": boundaries, "owners": rng.integers(0, ranks, counts)}


def any_rectangle(rng, shape):
    ends = [np.sort(rng.integers(0, extent + 1, 2)) for extent in shape]
    return tuple(slice(int(low), int(high)) for low, high in ends)


def layouts(world):
    for shape in [(40,), (23, 31), (5, 9, 7), (3, 4, 5, 6), (1, 1)]:
        rng = np.random.default_rng(sum(shape))
        for layout in [
            {},
            {"tiles": 4},
            {"tiles": 3, "grid": (1,) * (len(shape) - 1) + (world.size,)},
            any_layout(rng, shape, world.size),
        ]:
            for dtype in DTYPES:
                array = craton.DistArray(world, shape, dtype, **layout)
                assert array.shape == shape and array.dtype == np.dtype(dtype) and array.world is world
                assert array.size == np.prod(shape) and array.ndim == len(shape) and len(array) == shape[0]
                whole = numbers(rng, shape, dtype)
                covered = np.zeros(shape, int)
                for tile in array.local_tiles:
                    assert array.owners.ravel()[tile.number] == world.rank
                    assert tile.array.shape == covered[tile.slices].shape and not tile.array.any()
                    covered[tile.slices] += 1
                np.testing.assert_array_equal(COMM.allreduce(covered), 1)
                if world.rank == world.size - 1:
                    array[...] = whole
                array.sync()
                for tile in array.local_tiles:
                    np.testing.assert_array_equal(tile.array, whole[tile.slices])
                np.testing.assert_array_equal(array.gather(), whole)
                made = craton.DistArray.from_array(world, whole, **layout)
                np.testing.assert_array_equal(np.asarray(made), whole)
                made.sync()


def random_rectangles(world):
    """Every rank works on a reference of its own as well; who does an operation is drawn."""
    for shape in [(60,), (37, 29), (9, 8, 11), (4, 5, 3, 6)]:
        rng = np.random.default_rng(len(shape))
        for dtype in DTYPES:
            array = craton.DistArray(world, shape, dtype, **any_layout(rng, shape, world.size))
            reference = np.zeros(shape, dtype)
            for _ in range(25):
                kind = rng.integers(5)
                under_way = []
                for _ in range(int(rng.integers(1, 8)) if kind != 0 else 1):
                    where = any_rectangle(rng, shape)
                    block = numbers(rng, reference[where].shape, dtype)
                    strided = np.asfortranarray(np.repeat(block, 2, axis=-1))[..., ::2]
                    mine = int(rng.integers(world.size)) == world.rank
                    if kind == 0:
                        reference[where] = block
                        if mine:
                            array[where] = strided
                    elif kind == 1:
                        reference[where] += block
                        if mine:
                            array[where] += strided
                    elif kind == 2:
                        reference[where] -= block
                        if mine:
                            array[where] -= strided
                    elif kind == 3:
                        reference[where] += block
                        if mine:
                            under_way.append(array[where].start_accumulate(strided))
                            array[where].post_accumulate(0)
                    elif mine:
                        np.testing.assert_array_equal(array[where], reference[where])
                        out = np.full(strided.shape, 7, dtype, order="F")
                        assert array[where].get(out) is out
                        np.testing.assert_array_equal(out, reference[where])
                        under_way.append(array[where].start_get())
                for each in under_way:
                    each.wait()
                    assert each.test()
                array.sync()
            np.testing.assert_array_equal(array.gather(), reference)


def threads_of_all_ranks_add(world):
    array = craton.DistArray(world, (50, 40), "int64", tiles=7)
    whole = np.arange(2000).reshape(50, 40)

    def work():
        for _ in range(20):
            array[3:47, 5:] += whole[3:47, 5:]
            array[:, 2] += 1

    threads = [threading.Thread(target=work) for _ in range(3)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    array.sync()
    wanted = np.zeros_like(whole)
    wanted[3:47, 5:] += whole[3:47, 5:]
    wanted[:, 2] += 1
    np.testing.assert_array_equal(array.gather(), 60 * world.size * wanted)


def whole_arrays(world):
    rng = np.random.default_rng(8)
    for dtype in DTYPES:
        layout = any_layout(rng, (21, 21), world.size)
        a, b = numbers(rng, (21, 21), dtype), numbers(rng, (21, 21), dtype)
        da = craton.DistArray.from_array(world, a, **layout)
        db = craton.DistArray.from_array(world, b, **layout)
        np.testing.assert_array_equal((da + db).gather(), a + b)
        np.testing.assert_array_equal((da - db).gather(), a - b)
        np.testing.assert_array_equal((-da).gather(), -a)
        np.testing.assert_array_equal((2 * da).gather(), 2 * a)
        np.testing.assert_array_equal((da * np.int64(3)).gather(), 3 * a)
        assert da.dot(db) == np.vdot(a, b) and da.trace() == np.trace(a)
        assert da.norm("max") == np.abs(a).max()
        np.testing.assert_allclose(da.norm("one"), np.abs(a.astype(np.result_type(a, "float64"))).sum(), rtol=1e-14)
        np.testing.assert_allclose([da.norm(), da.norm("fro")], np.linalg.norm(a.ravel()), rtol=1e-7)
        dc = da.copy()
        dc += db
        dc -= da
        np.testing.assert_array_equal(dc.gather(), b)
        dc *= 3
        dc.add(2, da, -1, dc)
        np.testing.assert_array_equal(dc.gather(), 2 * a - 3 * b)
        dc.fill(4)
        np.testing.assert_array_equal(dc.gather(), 4)
        dc.copy_from(da)
        dc.copy_from(dc)
        other = dc.redistributed(tiles=5)
        np.testing.assert_array_equal(other.gather(), a)
        other.fill(0)
        other.copy_from(da)
        np.testing.assert_array_equal(other.gather(), a)
        np.testing.assert_array_equal(da.transpose().gather(), a.T)
        np.testing.assert_array_equal(da.transpose(other).gather(), a.T)
        dc.map(np.square)
        np.testing.assert_array_equal(dc.gather(), a * a)
        dc.map(np.multiply, db)
        np.testing.assert_array_equal(dc.gather(), a * a * b)
        dc.map(lambda block, where: np.arange(21)[where[0], None] * np.ones_like(block), places=True)
        np.testing.assert_array_equal(dc.gather(), np.arange(21)[:, None] * np.ones((1, 21)))
        like = da.like("float64")
        assert like.dtype == np.float64 and np.array_equal(like.owners, da.owners) and not like.gather().any()


def pieces_above_a_threshold(world):
    array = craton.DistArray(world, (30, 12), tiles=(10, 4))
    for tile in array.local_tiles:
        tile.array[...] = -tile.number
    array.sync()
    block, pieces = array[5:, :].get_above(4.5)
    whole = np.kron(-np.arange(9.0).reshape(3, 3), np.ones((10, 4)))
    np.testing.assert_array_equal(block, np.where(whole < -4.5, whole, 0)[5:])
    assert [(p.tile, p.norm, p.came) for p in pieces] == [(t, float(t), t > 4) for t in range(9)]
    assert pieces[0].low == (5, 0) and pieces[0].high == (10, 4)
    out = np.full((25,), 3.0)
    assert array[5:, 0].get_above(2.5, out)[0] is out
    np.testing.assert_array_equal(out, np.where(whole[5:, 0] < -2.5, whole[5:, 0], 3))
    array.sync()


def linear_algebra(world):
    rng = np.random.default_rng(4)
    for dtype in ("float32", "float64"):
        close = {"rtol": 0, "atol": 3e-4 if dtype == "float32" else 1e-11}
        a, b, c = (numbers(rng, shape, dtype) for shape in [(31, 22), (22, 17), (31, 17)])
        da, db, dc = (
            craton.DistArray.from_array(world, each, **any_layout(rng, each.shape, world.size)) for each in (a, b, c)
        )
        product = da @ db
        np.testing.assert_array_equal(product.gather(), a @ b)
        assert product.dtype == np.dtype(dtype)
        np.testing.assert_array_equal(product.boundaries[0], da.boundaries[0])
        np.testing.assert_array_equal(product.boundaries[1], db.boundaries[1])
        assert linalg.matmul(da, db, dc, alpha=2, beta=-1) is dc
        np.testing.assert_array_equal(dc.gather(), 2 * a @ b - c)
        np.testing.assert_array_equal(linalg.matmul(db, da, transpose_a=True, transpose_b=True).gather(), b.T @ a.T)
        np.testing.assert_array_equal(linalg.matmul(da, da, transpose_b=True).gather(), a @ a.T)

        for n in (1, 2, 47):
            root = rng.standard_normal((n, n))
            s = (root @ root.T / n + np.eye(n)).astype(dtype)
            exact = s.astype(float)
            for workers in ("auto", "one", "all"):
                ds = craton.DistArray.from_array(world, s, **any_layout(rng, s.shape, world.size))
                values, vectors = linalg.eigh(ds, workers)
                np.testing.assert_allclose(values, np.linalg.eigvalsh(exact), **close)
                np.testing.assert_allclose(linalg.eigvalsh(ds, workers), values, **close)
                v = vectors.gather().astype(float)
                np.testing.assert_allclose(v.T @ v, np.eye(n), **close)
                np.testing.assert_allclose(v * values @ v.T, exact, **close)
                assert np.array_equal(vectors.owners, ds.owners)
                elsewhere = craton.DistArray(world, s.shape, dtype, **any_layout(rng, s.shape, world.size))
                assert linalg.eigh(ds, workers, out=elsewhere)[1] is elsewhere
                there = elsewhere.gather().astype(float)  # ScaLAPACK's sums need not have the same order twice
                np.testing.assert_allclose(there.T @ there, np.eye(n), **close)
                np.testing.assert_allclose(there * values @ there.T, exact, **close)
                lower = linalg.cholesky(ds, workers)
                np.testing.assert_allclose(lower.gather(), np.linalg.cholesky(exact), **close)
                inverse = np.linalg.inv(np.linalg.cholesky(exact))
                np.testing.assert_allclose(linalg.triangular_inv(lower, True, workers).gather(), inverse, **close)
                upper = linalg.triangular_inv(lower.transpose(), workers=workers)
                np.testing.assert_allclose(upper.gather(), inverse.T, **close)
                x = linalg.inverse_sqrt(ds, workers=workers).gather().astype(float)
                np.testing.assert_allclose(x @ exact @ x, np.eye(n), **close)
                np.testing.assert_allclose(x, x.T, **close)
                np.testing.assert_array_equal(ds.gather(), s)

        for shape in ((1, 1), (1, 6), (6, 1), (29, 29), (35, 12), (12, 35)):
            a = rng.standard_normal(shape).astype(dtype)
            k = min(shape)
            da = craton.DistArray.from_array(world, a, **any_layout(rng, shape, world.size))
            for workers in ("auto", "one", "all"):
                q, r = (each.gather().astype(float) for each in linalg.qr(da, workers))
                np.testing.assert_allclose(q.T @ q, np.eye(k), **close)
                np.testing.assert_allclose(q @ r, a, **close)
                np.testing.assert_array_equal(np.tril(r, -1), 0)
                u, values, vt = linalg.svd(da, workers)
                np.testing.assert_allclose(values, np.linalg.svd(a.astype(float), compute_uv=False), **close)
                np.testing.assert_allclose(u.gather().astype(float) * values @ vt.gather().astype(float), a, **close)
                assert u.shape == (shape[0], k) and vt.shape == (k, shape[1])

        for n in (1, 2, 31):
            a = rng.standard_normal((n, n)) + 4 * np.roll(np.eye(n), 1, axis=1)
            s, b = a + a.T, a @ a.T + np.eye(n)
            ds, db = (
                craton.DistArray.from_array(world, each.astype(dtype), **any_layout(rng, each.shape, world.size))
                for each in (s, b)
            )
            for workers in ("auto", "one", "all"):
                values, vectors = linalg.eigh(ds, workers, b=db)
                x = vectors.gather().astype(float)
                np.testing.assert_allclose(x.T @ b @ x, np.eye(n), **close)
                np.testing.assert_allclose(x.T @ s @ x, np.diag(values), rtol=0, atol=10 * close["atol"])
            da = craton.DistArray.from_array(world, a.astype(dtype), **any_layout(rng, a.shape, world.size))
            factors = linalg.lu(da)
            rhs = rng.standard_normal((n, 3))
            np.testing.assert_allclose(a @ factors.solve(rhs[:, 0]), rhs[:, 0], rtol=0, atol=100 * close["atol"])
            for transposed in (False, True):
                columns = craton.DistArray.from_array(
                    world, rhs.astype(dtype), **any_layout(rng, rhs.shape, world.size)
                )
                assert factors.solve(columns, transposed) is None
                x = columns.gather().astype(float)
                np.testing.assert_allclose((a.T if transposed else a) @ x, rhs, rtol=0, atol=100 * close["atol"])
            np.testing.assert_allclose(factors.slogdet(), np.linalg.slogdet(a), rtol=0, atol=100 * close["atol"])
            np.testing.assert_array_equal(da.gather(), a.astype(dtype))


def elements(world):
    """Elements by their places are those of NumPy's advanced indexing; a counter gives no number twice."""
    for dtype in ("float64", "int32", "complex64"):
        whole = np.arange(23 * 17).reshape(23, 17).astype(dtype)
        rng = np.random.default_rng(5 + world.rank)
        a = craton.DistArray.from_array(world, whole, **any_layout(np.random.default_rng(5), whole.shape, world.size))
        rows, columns = rng.integers(-23, 23, (4, 5)), rng.integers(-17, 17, 5)
        np.testing.assert_array_equal(a.get_elements((rows, columns)), whole[rows, columns])
        assert a.get_elements((3, -1)) == whole[3, -1] and a.get_elements(([], [])).size == 0
        a.sync()
        twice = [1, 2, 1], [4, 4, 4]
        a.add_elements(twice, 3)
        a.sync()
        np.add.at(whole, twice, np.array(3 * world.size, dtype))
        np.testing.assert_array_equal(a.gather(), whole)
        mine = np.arange(world.rank, 23, world.size)
        a.put_elements((mine[:, None], np.arange(17)), mine[:, None])
        np.testing.assert_array_equal(a.gather(), np.arange(23)[:, None] * np.ones(17, dtype))
    counter = craton.DistArray(world, (world.size, 2), "int64")
    got = [counter.fetch_add((world.size - 1, 1)) for _ in range(20)]
    counter.sync()  # who waits in MPI does not poll for the others
    assert sorted(sum(COMM.allgather(got), [])) == list(range(20 * world.size))
    assert counter.gather()[-1, 1] == 20 * world.size
    for wrong, call in (
        ("get_elements: index 23 of dimension 0; allowed: 0 to 22", lambda: a.get_elements((23, 0))),
        ("1 arrays of indices; allowed: 2", lambda: a.get_elements([1, 2])),
        ("indices of dimension 1 are float64; allowed: integers", lambda: a.get_elements((1, 0.5))),
        ("broadcasts together", lambda: a.get_elements(([1, 2], [1, 2, 3]))),
        ("values of shape", lambda: a.put_elements(([1, 2], 0), [1, 2, 3])),
        ("complex128 values; allowed: int64", lambda: counter.add_elements((0, 0), 1j)),
        ("fetch_add: index -5 of dimension 1", lambda: counter.fetch_add((0, -7))),
    ):
        with pytest.raises(craton.UserError, match=wrong):
            call()
    a.sync()


def strides(world):
    """Slices of any step are those of NumPy, read, put and added to by all ranks."""
    rng = np.random.default_rng(19)
    for shape, dtype in (((40,), "float32"), ((23, 31), "int64"), ((6, 9, 5), "complex128")):
        whole = numbers(rng, shape, dtype)
        a = craton.DistArray.from_array(world, whole, **any_layout(rng, shape, world.size))
        for _ in range(6):
            key = tuple(slice(int(rng.integers(0, 4)), None, int(rng.integers(2, 5))) for _ in shape)
            backwards = (slice(None, None, -2), *key[1:])
            np.testing.assert_array_equal(a[key], whole[key])
            np.testing.assert_array_equal(a[backwards] + 1, whole[backwards] + 1)
            a.sync()
            a[key] += whole[key]
            a[backwards] -= 1
            whole[key] += world.size * whole[key]
            whole[backwards] -= np.array(world.size, dtype)
            np.testing.assert_array_equal(a.gather(), whole)
            if world.rank == 0:
                a[key] = 7
            whole[key] = 7
            np.testing.assert_array_equal(a.gather(), whole)
        one_row = (3, *[slice(None, None, 2)] * (len(shape) - 1)) if len(shape) > 1 else slice(20, 20, 3)
        assert a[one_row].shape == whole[one_row].shape
        np.testing.assert_array_equal(a[one_row], whole[one_row])
        a.sync()


def functions(world):
    """Every rank applies to random rectangles; each application counts once, on each element of its rectangle."""
    rng = np.random.default_rng(11)
    for shape, dtype in (((40,), "float64"), ((23, 31), "int64"), ((6, 9, 5), "complex128")):
        given = numbers(rng, shape, dtype)
        a = craton.DistArray.from_array(world, given, **any_layout(rng, shape, world.size))

        def add(piece, where, amount):
            assert piece.shape == tuple(each.stop - each.start for each in where)
            places = sum(np.ix_(*(np.arange(each.start, each.stop) for each in where)))
            piece += amount + places

        def negate(piece, where, argument):
            assert argument is None
            np.negative(piece, out=piece)

        adding, negating = a.register(add), a.register(negate)
        wanted = given.copy()
        places = sum(np.ix_(*map(np.arange, shape)))
        for n in range(60):
            low = [int(rng.integers(0, extent)) for extent in shape]
            key = tuple(slice(i, int(rng.integers(i, extent + 1))) for i, extent in zip(low, shape, strict=True))
            wanted[key] += n + places[key]
            if n % world.size == world.rank:
                a[key].apply(adding, n)
        a.sync()
        np.testing.assert_array_equal(a.gather(), wanted)
        if world.rank == world.size - 1:
            a[...].start_apply(negating).wait()
        a.sync()
        np.testing.assert_array_equal(a.gather(), -wanted)

        if world.rank == 0:
            a[...].apply(adding, "no number")
        with pytest.raises(craton.UserError, match=r"DistArray apply: rank \d: \w*Error"):
            a.sync()
        a.sync()  # told once
        for wrong in (craton.DistArray(world, 4).register(negate), 0):
            with pytest.raises(
                craton.UserError, match=r"DistArray apply: .*; allowed: what register\(\) of this array"
            ):
                a[...].apply(wrong)
        world.barrier()


def files(world, folder):
    rng = np.random.default_rng(5)
    for dtype in DTYPES:
        path = folder / f"{dtype}.h5"
        for shape in [(50,), (23, 31), (5, 9, 7)]:
            values = numbers(rng, shape, dtype)
            name = f"of_{len(shape)}"
            craton.DistArray.from_array(world, values, tiles=4).save(path, name, append=len(shape) > 1)
            loaded = craton.DistArray(world, shape, dtype, **any_layout(rng, shape, world.size))
            loaded.load(path, name)
            np.testing.assert_array_equal(loaded.gather(), values)
            if world.rank == 0:
                with h5py.File(path, "r") as file:
                    np.testing.assert_array_equal(file[name][...], values)
            COMM.Barrier()


def errors_of_all_ranks(world):
    """Every rank raises, none waits."""
    a = craton.DistArray(world, (10, 8))
    with pytest.raises(craton.UserError, match="owner of tile 1 is rank 77"):
        craton.DistArray(world, (4,), tiles=2, owners=[0, 77])
    with pytest.raises(craton.UserError, match="boundary 1 of dimension 0 is 0 after 0"):
        craton.DistArray(world, (4,), boundaries=[[0, 0, 4]])
    with pytest.raises(craton.UserError, match="10 x 8; allowed: square"):
        linalg.eigh(a)
    with pytest.raises(craton.UserError, match="eigh: b of a ConvergentMatrix"):
        linalg.eigh(craton.ConvergentMatrix(world, 8 * world.size, 8 * world.size, block=2), b=a)
    with pytest.raises(craton.UserError, match="LU: the array is 10 x 8; allowed: square"):
        linalg.lu(a)
    with pytest.raises(craton.UserError, match="the 8 x 8 matrix is singular"):
        linalg.lu(craton.DistArray(world, (8, 8)))
    with pytest.raises(craton.UserError, match="linalg: a DistArray of 1 dimensions; allowed: 2"):
        linalg.svd(craton.DistArray(world, (8,)))
    with pytest.raises(craton.UserError, match="qr: complex128 of 2 dimensions"):
        linalg.qr(craton.DistArray(world, (8, 8), complex))
    with pytest.raises(craton.UserError, match=r"\(10 x 8\) times \(10 x 8\)"):
        a @ a
    if world.size > 1:  # one rank asks for another layout
        with pytest.raises(craton.UserError, match="not the same on all"):
            craton.DistArray(world, (10, 8), tiles=4 if world.rank == 0 else 5)
    a.sync()


def main(folder):
    world = craton.World(COMM)
    layouts(world)
    random_rectangles(world)
    threads_of_all_ranks_add(world)
    whole_arrays(world)
    pieces_above_a_threshold(world)
    linear_algebra(world)
    elements(world)
    strides(world)
    functions(world)
    files(world, Path(folder))
    errors_of_all_ranks(world)
    world.quiesce()
    if world.rank == 0:
        print(f"arrays agree on {world.size} ranks of {world.node_count} nodes")


if __name__ == "__main__":
    main(sys.argv[1])
