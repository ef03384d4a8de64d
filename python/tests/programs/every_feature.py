"""Every distributed thing that Python has, on as many ranks as the job has, against NumPy; started by test_many_ranks.py.

mpiexec -n 3 python every_feature.py FOLDER
"""

import sys
import threading
from pathlib import Path

import craton
import numpy as np
from craton import linalg
from mpi4py import MPI

COMM = MPI.COMM_WORLD
N = 60


def arrays_while_the_host_uses_mpi(world):
    """Three Python threads of every rank update seven arrays while the main thread calls mpi4py."""
    square = {"world": world, "rows": N, "cols": N, "block": 8}

    def multiply(into, arriving):
        into *= arriving

    made = {
        "float64": craton.ConvergentMatrix(**square, dtype="float64"),
        "complex64": craton.ConvergentMatrix(**square, dtype="complex64"),
        "largest": craton.ConvergentMatrix(**square, dtype="int64", merge="max"),
        "product": craton.ConvergentMatrix(**square, dtype="int64", merge=multiply, identity=1),
        "packed": craton.SymmetricMatrix(world, N, dtype="int64", block=8),
        "sums": craton.ReproducibleMatrix(**square, largest=1e4),
        "vector": craton.ConvergentVector(world, N, dtype="complex128"),
    }
    number = 30  # updates of all threads of all ranks

    def update(k):
        rng = np.random.default_rng(k)
        ix = np.sort(rng.choice(N, 12, replace=False))
        block = np.asfortranarray(rng.integers(0, 50, (12, 24)))[:, ::2]
        return ix, block, rng.standard_normal((12, 12))

    def work(first):
        for k in range(first, number, 3 * COMM.size):
            ix, block, real = update(k)
            made["float64"].update(block.astype(float), ix, ix[::-1])
            made["complex64"].update_trapezoid(1j * block.astype("complex64"), ix, ix, "lower", 1)
            made["largest"].update(block, ix, ix)
            made["product"].update(1 + block[:3] % 2, ix[:3], ix)
            made["packed"].update_symmetric(block + block.T, ix)
            made["sums"].update(real, ix, ix)
            made["vector"].update(1j * block[0], ix)

    team = [threading.Thread(target=work, args=(COMM.rank * 3 + t,)) for t in range(3)]
    with craton.ProgressThread(world) as progress:
        for thread in team:
            thread.start()
        for _ in range(20):
            assert COMM.allreduce(1) == COMM.size
        told = COMM.sendrecv(COMM.rank, dest=(COMM.rank + 1) % COMM.size, source=(COMM.rank - 1) % COMM.size)
        assert told == (COMM.rank - 1) % COMM.size and progress.running
        for thread in team:
            thread.join()
    for array in made.values():
        array.commit()

    full = {name: np.zeros((N, N), int) for name in ("float64", "lower", "packed")}
    full |= {"largest": np.full((N, N), np.iinfo(int).min), "product": np.ones((N, N), int)}
    vector, i = np.zeros(N, int), np.arange(N)
    fixed = np.zeros((N, N), int)
    for k in range(number):
        ix, block, real = update(k)
        full["float64"][np.ix_(ix, ix[::-1])] += block
        full["lower"][np.ix_(ix, ix)] += block * (ix[:, None] >= ix + 1)
        full["largest"][np.ix_(ix, ix)] = np.maximum(full["largest"][np.ix_(ix, ix)], block)
        full["product"][np.ix_(ix[:3], ix)] *= 1 + block[:3] % 2
        full["packed"][np.ix_(ix, ix)] += block + block.T
        fixed[np.ix_(ix, ix)] += np.rint(real / made["sums"].resolution).astype(int)
        vector[ix] += block[0]
    for name, wanted in (("float64", full["float64"]), ("largest", full["largest"]), ("product", full["product"])):
        mine = made[name].local
        assert np.array_equal(mine, wanted[np.ix_(made[name].local_rows_global, made[name].local_cols_global)]), name
    world.barrier()
    assert np.array_equal(made["complex64"].read_slice(i, i), 1j * full["lower"])
    assert np.array_equal(made["packed"].read_slice(i[::-1], i), full["packed"][::-1])
    assert np.array_equal(made["sums"].read_slice(i, i), fixed * made["sums"].resolution)
    assert made["largest"].read(3, 4) == full["largest"][3, 4]
    assert np.array_equal(made["float64"].read_block(5, 50, 20, 10), full["float64"][5:25, 50:])
    assert np.array_equal(made["vector"].gather(), 1j * vector)
    world.barrier()
    made["float64"].fill_lower()
    upper = np.triu(full["float64"])
    assert np.array_equal(made["float64"].read_slice(i, i), upper + np.triu(upper, 1).T)
    world.barrier()


def gram_and_linear_algebra(world):
    rng = np.random.default_rng(7)
    normal = craton.ConvergentMatrix(world, N, N, dtype="float64", block=8)
    half = craton.SymmetricMatrix(world, N, dtype="float64", block=8)
    reference = np.eye(N) * 0.1
    if COMM.rank == 0:
        normal.update_symmetric(reference, range(N))
    for k in range(4 * COMM.size):
        ix, panel = np.sort(rng.choice(N, 30, replace=False)), rng.standard_normal((20, 30))
        weights = rng.uniform(0.5, 2, 20)
        if k % COMM.size == COMM.rank:
            method = ("auto", "origin", "owner")[k % 3]
            normal.update_gram(
                [panel[:10], np.asfortranarray(panel[10:])], ix, [weights[:10], weights[10:]], method=method
            )
        reference[np.ix_(ix, ix)] += (panel.T * weights) @ panel
    normal.commit()
    half.compress(normal)
    copy = normal.copy_as_f64()
    rhs = rng.standard_normal(N)
    np.testing.assert_allclose(linalg.matvec(normal, rhs, symmetric=True), reference @ rhs, rtol=0, atol=1e-9)
    solution = np.linalg.solve(reference, rhs)
    ordered = linalg.OrderedSymmetric(half)
    np.testing.assert_allclose(ordered.matvec(rhs), reference @ rhs, rtol=0, atol=1e-9)
    np.testing.assert_allclose(ordered.factorise().solve(rhs), solution, rtol=0, atol=1e-8)
    for matrix in (normal, half):
        factor = craton.Cholesky(matrix)
        np.testing.assert_allclose(factor.solve(rhs), solution, rtol=0, atol=1e-8)
        np.testing.assert_allclose(factor.log_determinant(), np.linalg.slogdet(reference)[1], rtol=1e-10)
        np.testing.assert_allclose(factor.inverse_diagonal(), np.diag(np.linalg.inv(reference)), rtol=0, atol=1e-8)
    values, vectors = linalg.eigh(copy.copy_as_f64())
    np.testing.assert_allclose(values, np.linalg.eigvalsh(reference), rtol=0, atol=1e-8)
    copy.fill_lower()
    product = linalg.matmul(linalg.matmul(vectors, copy, transpose_a=True), vectors)
    np.testing.assert_allclose(product.diagonal(), values, rtol=0, atol=1e-8)
    inverse = linalg.inv(copy)
    inverse.fill_lower()
    i = range(N)
    np.testing.assert_allclose(inverse.read_slice(i, i), np.linalg.inv(reference), rtol=0, atol=1e-8)
    world.barrier()


def tasks_segments_and_neighbours(world):
    left, right = (COMM.rank - 1) % COMM.size, (COMM.rank + 1) % COMM.size
    segment = craton.Segment(world, 10 + COMM.rank, "float32")
    sync = craton.NeighbourSync(world)
    assert segment.size_of(right) == 10 + right
    with craton.ProgressThread(world):
        segment.rput(np.arange(20, dtype="float32").reshape(4, 5).T[::2, ::2], right, 1, strides=(1, 3))
        sync.signal([right])
        sync.wait([left])
        wanted = np.zeros(10 + COMM.rank, "float32")
        wanted[1:7] = np.arange(20).reshape(4, 5).T[::2, ::2].T.ravel()
        assert np.array_equal(segment.local, wanted), segment.local
        assert np.array_equal(segment.rget(right, 1, 6), wanted[1:7])
        world.barrier()  # a signal tells of the left neighbour's put alone; here all puts are read
        copies = [segment.start_rget(r, 2, (2, 2), strides=(3, 1)) for r in range(COMM.size)]
        for copy in copies:
            assert np.array_equal(copy.wait(), [[wanted[2], wanted[3]], [wanted[5], wanted[6]]])
        other = craton.Segment(world, 6, "float32")
        if COMM.rank == 0:  # between two others, where there are three
            segment.copy_to(1 % COMM.size, 1, other, 2 % COMM.size, shape=6).wait()
        world.barrier()
        if COMM.rank == 2:
            assert np.array_equal(other.local, wanted[1:7])
        view = segment.view(right)
        assert (view is None) != world.shares_memory_with(right)
        world.barrier()

        queue = craton.WorkQueue(world, np.linspace(1, 3, 200))
        done = np.zeros(200, int)
        own = queue.own

        def work():
            for task in queue:
                done[task] += 1

        team = [threading.Thread(target=work) for _ in range(2)]
        for thread in team:
            thread.start()
        for thread in team:
            thread.join()
        assert int(done.sum()) >= queue.stolen and 0 <= own[0] <= own[1] <= 200
        COMM.Allreduce(MPI.IN_PLACE, done)
        assert (done == 1).all()
        counter = craton.Counter(world, COMM.size - 1)
        taken = COMM.allgather([counter.fetch_add() for _ in range(50)])
        assert sorted(sum(taken, [])) == list(range(50 * COMM.size))
        world.barrier()


def durability(world, folder):
    def arrays():
        return (
            craton.ConvergentMatrix(world, N, N, dtype="int64", block=8),
            craton.SymmetricMatrix(world, N, dtype="float64", block=8),
            craton.ReproducibleMatrix(world, N, N, dtype="float32", largest=1e4, block=8),
        )

    path = str(folder / "work.h5")
    for attempt in range(2):
        checkpoint, made = craton.Checkpoint(world, path), arrays()
        for name, array in zip(("counts", "packed", "sums"), made, strict=True):
            checkpoint.add(name, array)
        found = checkpoint.resume()
        assert (found is None) == (attempt == 0)
        if attempt == 1:
            assert found == ({"round": 2, "misfit": 0.5}, "")
        left = checkpoint.missing(40)
        assert len(left) == (40 if attempt == 0 else 20)
        for k in left[COMM.rank : 20 : COMM.size]:
            with checkpoint.begin(int(k)) as new:
                assert new
                block = np.full((4, 4), k)
                made[0].update(block, range(k, k + 4), range(4))
                made[1].update_symmetric(block.astype(float), range(k, k + 4))
                made[2].update(block.astype("float32"), range(k, k + 4), range(4))
        checkpoint.save({"round": 2, "misfit": 0.5})
        checkpoint.close()
        world.barrier()
    wanted = np.zeros((N, N), int)
    square = np.zeros((N, N), int)
    for k in range(40):
        wanted[k : k + 4, :4] += k
        square[k : k + 4, k : k + 4] += k
    i = range(N)
    assert np.array_equal(made[0].read_slice(i, i), wanted) and np.array_equal(made[2].read_slice(i, i), wanted)
    assert np.array_equal(made[1].read_slice(i, i), square)
    made[0].save(str(folder / "matrix.h5"), "counts", hints={"striping_factor": "1"})
    other = craton.ConvergentMatrix(world, N, N, dtype="int64", block=(5, 9))
    other.load(str(folder / "matrix.h5"), "counts")
    assert np.array_equal(other.read_slice(i, i), wanted)
    world.barrier()


def sums_and_agreement(world):
    own = np.arange(6.0).reshape(2, 3) * (COMM.rank + 1)
    np.testing.assert_array_equal(world.sum(own), np.arange(6.0).reshape(2, 3) * COMM.size * (COMM.size + 1) / 2)
    assert world.sum([COMM.rank, True]).tolist() == [COMM.size * (COMM.size - 1) / 2, COMM.size]
    assert world.sum([]).shape == (0,)
    world.agree()
    try:
        world.agree("" if COMM.rank == 0 and COMM.size > 1 else f"words of rank {COMM.rank}")
    except craton.UserError as error:
        assert str(error) == f"words of rank {min(1, COMM.size - 1)}"
    else:
        raise AssertionError("no error")


def errors_on_every_rank(world):
    """A collective that fails fails everywhere, and the world goes on."""
    for provoke in (
        lambda: world.sum(np.ones(COMM.rank + 2)) if COMM.size > 1 else world.agree("words"),
        lambda: craton.ConvergentMatrix(world, 4, 4, block=64, grid=(COMM.size + 1, 1)),
        lambda: craton.Cholesky(craton.ConvergentMatrix(world, N, N, dtype="float64", block=8)),
        lambda: craton.WorkQueue(world, 3 if COMM.rank == 0 else 4) if COMM.size > 1 else craton.WorkQueue(world, -1),
    ):
        try:
            provoke()
        except craton.UserError:
            continue
        raise AssertionError("no error")
    world.barrier()


def main():
    world = craton.World(COMM, max_bytes_in_flight=1 << 20)
    arrays_while_the_host_uses_mpi(world)
    gram_and_linear_algebra(world)
    tasks_segments_and_neighbours(world)
    durability(world, Path(sys.argv[1]))
    sums_and_agreement(world)
    errors_on_every_rank(world)
    if COMM.rank == 0:
        rows = f", in rows of {world.ranks_per_row}" if world.ranks_per_row > 1 else ""
        print(f"every feature agrees on {COMM.size} ranks of {world.node_count} nodes{rows}")


main()
