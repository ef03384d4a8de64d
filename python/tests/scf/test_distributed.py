"""Fock builds by several ranks are those of one, in both deliveries: programs/distributed_fock.py under Craton's launcher."""

import importlib.util
import sys
from pathlib import Path

import pytest
from craton._launch import run_under_mpi

PROGRAM = Path(__file__).resolve().parents[1] / "programs" / "distributed_fock.py"

pytestmark = pytest.mark.skipif(
    not (importlib.util.find_spec("pyscf") and importlib.util.find_spec("basis_set_exchange")),
    reason="the packages pyscf and basis_set_exchange are not installed (pip install craton[chemistry])",
)


@pytest.mark.parametrize(("ranks", "ranks_per_node"), [(1, None), (2, None), (2, 1), (3, 2), (4, None)])
def test_all_ranks_build_what_one_does(ranks, ranks_per_node, capfd):
    code = run_under_mpi([str(PROGRAM)], ranks, ranks_per_node=ranks_per_node, program=[sys.executable])
    nodes = 1 if ranks_per_node is None else -(-ranks // ranks_per_node)
    out, err = capfd.readouterr()
    assert code == 0, err
    assert f"distributed Fock matrices agree on {ranks} ranks of {nodes} nodes" in out
    assert "leaked" not in err
