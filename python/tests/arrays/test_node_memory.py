"""Memory that ranks of a node share for reading: programs/node_arrays.py on 1 to 4 ranks, on one node and on two."""

import sys
from pathlib import Path

import pytest
from craton._launch import run_under_mpi

PROGRAM = Path(__file__).resolve().parents[1] / "programs" / "node_arrays.py"


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_one_rank_makes_it_and_all_see_it(ranks, capfd):
    code = run_under_mpi([str(PROGRAM)], ranks, program=[sys.executable])
    out, err = capfd.readouterr()
    assert code == 0, err
    assert "node arrays: ok" in out and "leaked" not in err
