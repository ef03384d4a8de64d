"""The whole Python face on several ranks, in both deliveries: programs/every_feature.py under the package's own launcher."""

import sys
import textwrap
from pathlib import Path

import pytest
from craton._launch import run_under_mpi

PROGRAM = Path(__file__).resolve().parents[1] / "programs" / "every_feature.py"


@pytest.mark.parametrize(("ranks", "ranks_per_node"), [(1, None), (2, None), (2, 1), (3, 2)])
def test_every_feature(ranks, ranks_per_node, tmp_path, capfd):
    code = run_under_mpi([str(PROGRAM), str(tmp_path)], ranks, ranks_per_node=ranks_per_node, program=[sys.executable])
    nodes = 1 if ranks_per_node is None else -(-ranks // ranks_per_node)
    out, err = capfd.readouterr()
    assert code == 0, err
    assert f"every feature agrees on {ranks} ranks of {nodes} nodes" in out
    assert "leaked" not in err


def test_every_feature_where_small_updates_go_in_two_hops(tmp_path, capfd, monkeypatch):
    monkeypatch.setenv("CRATON_RANKS_PER_ROW", "2")
    assert run_under_mpi([str(PROGRAM), str(tmp_path)], 4, ranks_per_node=1, program=[sys.executable]) == 0
    assert "every feature agrees on 4 ranks of 4 nodes, in rows of 2" in capfd.readouterr().out


IN_TWO_HOPS = textwrap.dedent("""
    import craton
    import numpy as np
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    for ranks_per_row, handed_on in ((1, False), (2, True), ("node", True)):
        world = craton.World(comm, ranks_per_node=2, ranks_per_row=ranks_per_row)
        assert world.ranks_per_row == (1 if ranks_per_row == 1 else 2)
        vector = craton.ConvergentVector(world, 40, block=1)
        vector.update(np.ones(40), np.arange(40))
        vector.commit()
        assert np.array_equal(vector.gather(), np.full(40, float(comm.size)))
        assert (comm.allreduce(world.stats()["messages_handed_on"]) > 0) == handed_on
""")


def test_ranks_in_rows_hand_small_updates_on(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(IN_TWO_HOPS)
    assert run_under_mpi([str(script)], 4, program=[sys.executable]) == 0


FAILING_MERGE = textwrap.dedent("""
    import craton
    from mpi4py import MPI
    def merge(into, arriving):
        raise ValueError("not today")
    world = craton.World(MPI.COMM_WORLD)
    matrix = craton.ConvergentMatrix(world, 20, 20, block=4, merge=merge, identity=0)
    if world.rank == 0:
        matrix.update(1.0, *next((0, j) for j in range(20) if matrix.layout.owner(0, j) == 1))
    matrix.commit()
""")


def test_a_merge_that_fails_for_an_update_from_another_node_ends_the_job(tmp_path, capfd):
    script = tmp_path / "program.py"
    script.write_text(FAILING_MERGE)
    assert run_under_mpi([str(script)], 2, ranks_per_node=1, program=[sys.executable]) != 0
    assert "failed on a message from rank 0: merge: the function raised ValueError: not today" in capfd.readouterr().err
