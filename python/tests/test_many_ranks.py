"""The whole Python face on several ranks, in both deliveries: programs/every_feature.py under the package's own launcher."""

import sys
from pathlib import Path

import pytest
from craton._launch import run_under_mpi

PROGRAM = Path(__file__).resolve().parent / "programs" / "every_feature.py"


@pytest.mark.parametrize(("ranks", "ranks_per_node"), [(1, None), (2, None), (2, 1), (3, 2)])
def test_every_feature(ranks, ranks_per_node, tmp_path, capfd):
    code = run_under_mpi([str(PROGRAM), str(tmp_path)], ranks, ranks_per_node=ranks_per_node, program=[sys.executable])
    nodes = 1 if ranks_per_node is None else -(-ranks // ranks_per_node)
    out, err = capfd.readouterr()
    assert code == 0, err
    assert f"every feature agrees on {ranks} ranks of {nodes} nodes" in out
    assert "leaked" not in err
