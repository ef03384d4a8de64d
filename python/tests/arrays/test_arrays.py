"""The arrays from Python: against NumPy, from threads, and on several ranks through mpiexec."""

import subprocess
import sys
import textwrap
import threading

import craton
import numpy as np
import pytest
from craton._launch import run_under_mpi
from hypothesis import given, settings
from hypothesis import strategies as st
from mpi4py import MPI


@pytest.fixture(scope="module")
def world():
    return craton.World(MPI.COMM_SELF)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 60), st.integers(1, 60), st.integers(1, 17), st.data())
def test_update_is_indexed_addition(rows, cols, block, data):
    world = craton.World(MPI.COMM_SELF)
    matrix = craton.ConvergentMatrix(world, rows, cols, dtype="float64", block=block)
    reference = np.zeros((rows, cols))
    for _ in range(3):
        ix = np.array(data.draw(st.lists(st.integers(0, rows - 1), min_size=1, max_size=20)))
        jx = np.array(data.draw(st.lists(st.integers(0, cols - 1), min_size=1, max_size=20)))
        update = np.arange(ix.size * jx.size, dtype=float).reshape(ix.size, jx.size)
        np.add.at(reference, np.ix_(ix, jx), update)
        matrix.update(update, ix, jx)
    matrix.commit()
    np.testing.assert_array_equal(matrix.local, reference)
    np.testing.assert_array_equal(matrix.read_slice(np.arange(rows), np.arange(cols)), reference)


def test_local_is_a_view_in_fortran_order(world):
    matrix = craton.ConvergentMatrix(world, 10, 6, dtype="float32", block=4)
    assert matrix.dtype == np.float32 and matrix.shape == (10, 6) and matrix.block == (4, 4) and matrix.grid == (1, 1)
    assert matrix.local.flags.f_contiguous
    matrix.local[3, 2] = 7
    assert matrix.read(3, 2) == 7
    np.testing.assert_array_equal(matrix.local_rows_global, np.arange(10))


def test_threads_update_at_once(world):
    matrix = craton.ConvergentMatrix(world, 100, 100, dtype="float64")
    indices = np.arange(100)
    ones = np.ones((100, 100))

    def work():
        for _ in range(50):
            matrix.update_symmetric(ones, indices)

    team = [threading.Thread(target=work) for _ in range(4)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    matrix.commit()
    np.testing.assert_array_equal(matrix.local, np.triu(np.full((100, 100), 200.0)))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_cholesky_solves(world, dtype):
    n = 90
    rng = np.random.default_rng(1)
    root = rng.standard_normal((n, n))
    a = root @ root.T / n + np.eye(n)
    matrix = craton.ConvergentMatrix(world, n, n, dtype=dtype, block=16)
    matrix.update_symmetric(a.astype(dtype), np.arange(n))
    matrix.commit()
    b = rng.standard_normal(n)
    x = craton.Cholesky(matrix).solve(b)
    np.testing.assert_allclose(x, np.linalg.solve(a, b), rtol=0, atol=1e-4 if dtype == "float32" else 1e-12)


def test_save_is_readable_by_h5py_in_global_order(world, tmp_path):
    h5py = pytest.importorskip("h5py")
    matrix = craton.ConvergentMatrix(world, 30, 20, dtype="float32", block=8)
    matrix.local[...] = np.arange(600).reshape(30, 20)
    matrix.save(str(tmp_path / "m.h5"), "a", symmetric=False)
    with h5py.File(tmp_path / "m.h5") as file:
        np.testing.assert_array_equal(file["a"][...], np.arange(600).reshape(30, 20))
        assert file["a"].dtype == np.float32 and file["a"].attrs["storage"] in ("full", b"full")


def test_errors_say_what_is_allowed(world):
    with pytest.raises(craton.UserError, match=r"rows\[0\] = 10 is out of range; allowed: 0 to 9"):
        craton.ConvergentMatrix(world, 10, 10).update(np.ones((1, 1)), np.array([10]), np.array([0]))
    with pytest.raises(craton.UserError, match="process grid 2 x 2 on 1 ranks"):
        craton.ConvergentMatrix(world, 10, 10, grid=(2, 2))
    with pytest.raises(craton.UserError, match="ranks_per_node is -1"):
        craton.World(MPI.COMM_SELF, ranks_per_node=-1)


def test_indices_are_integers_of_any_kind(world):
    matrix = craton.ConvergentMatrix(world, 10, 10, dtype="float64")
    one = np.ones((1, 1))
    for index in (np.array([3], np.int32), np.array([3], np.uint8), [3], np.arange(10)[3::20]):
        matrix.update(one, index, index)
    matrix.commit()
    assert matrix.read(3, 3) == 4
    for wrong in (np.array([3.7]), np.array([[3]]), np.array([True])):
        with pytest.raises(craton.UserError, match="allowed: a one-dimensional array of integers"):
            matrix.update(one, wrong, [3])
        with pytest.raises(craton.UserError, match="allowed: a one-dimensional array of integers"):
            matrix.update_symmetric(one, wrong)


def test_what_cannot_be_is_refused(world):
    with pytest.raises(craton.UserError, match="MPI_COMM_NULL"):
        craton.World(MPI.COMM_NULL)
    with pytest.raises(craton.UserError, match="GiB available"):
        craton.ConvergentMatrix(world, 1 << 20, 1 << 20)
    with pytest.raises(craton.UserError, match="elements of a vector on one rank"):
        craton.ConvergentVector(world, 1 << 62)


AFTER_THE_END = textwrap.dedent("""
    import numpy as np
    from mpi4py import MPI
    import craton
    matrix = craton.ConvergentMatrix(craton.World(MPI.COMM_WORLD), 10, 10)
    MPI.Finalize()
    matrix.commit()
""")


def test_use_after_mpi_has_ended_is_an_error_not_a_crash(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(AFTER_THE_END)
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "UserError: commit or quiesce: MPI has been finalised" in done.stderr


def test_counter_counts(world):
    counter = craton.Counter(world)
    assert [counter.fetch_add() for _ in range(3)] == [0, 1, 2]
    assert counter.read() == 3
    counter.reset()
    assert counter.read() == 0


PROGRAM = textwrap.dedent("""
    import numpy as np
    from mpi4py import MPI
    import craton
    world = craton.World(MPI.COMM_WORLD)
    matrix = craton.ConvergentMatrix(world, 200, 200, dtype="float64", block=16)
    vector = craton.ConvergentVector(world, 200)
    rng = np.random.default_rng(world.rank)
    for _ in range(30):
        ix = np.sort(rng.choice(200, 40, replace=False))
        matrix.update_symmetric(np.ones((40, 40)), ix)
        vector.update(np.ones(40), ix)
    matrix.commit(); vector.commit()
    reference = np.zeros((200, 200)); gradient = np.zeros(200)
    for rank in range(world.size):
        rng = np.random.default_rng(rank)
        for _ in range(30):
            ix = np.sort(rng.choice(200, 40, replace=False))
            reference[np.ix_(ix, ix)] += 1; gradient[ix] += 1
    mine = np.triu(reference)[np.ix_(matrix.local_rows_global, matrix.local_cols_global)]
    assert np.array_equal(matrix.local, mine) and np.array_equal(vector.gather(), gradient)
    assert np.array_equal(matrix.diagonal(), np.diag(reference))
    messages = MPI.COMM_WORLD.allreduce(world.stats()["messages_sent"])
    assert (messages > 0) == (world.node_count > 1), messages
    world.barrier()
""")


@pytest.mark.parametrize(
    ("ranks", "ranks_per_node"), [(1, None), (2, None), (3, None), (4, None), (2, 1), (4, 1), (4, 2)]
)
def test_ranks_agree_with_numpy(ranks, ranks_per_node, tmp_path):
    script = tmp_path / "program.py"
    script.write_text(PROGRAM)
    assert run_under_mpi([str(script)], ranks, ranks_per_node=ranks_per_node, program=[sys.executable]) == 0


def test_an_uncaught_exception_on_one_rank_ends_the_job(tmp_path, capfd):
    script = tmp_path / "program.py"
    script.write_text(
        textwrap.dedent("""
            import numpy as np
            from mpi4py import MPI
            import craton
            world = craton.World(MPI.COMM_WORLD)
            matrix = craton.ConvergentMatrix(world, 500, 500)
            if world.rank == 1:
                matrix.update(np.ones((1, 1)), np.array([500]), np.array([0]))
            matrix.commit()
        """)
    )
    assert run_under_mpi([str(script)], 3, program=[sys.executable]) == 2
    lines = [line for line in capfd.readouterr().err.splitlines() if "craton: error:" in line]
    assert len(lines) == 1 and "rank 1: update: rows[0] = 500 is out of range; allowed: 0 to 499" in lines[0]
