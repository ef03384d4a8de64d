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
