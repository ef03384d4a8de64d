"""Fock builds by several ranks are those of one, in both deliveries: programs/distributed_fock.py under Craton's launcher."""

import importlib.util
import sys
from pathlib import Path

import pytest
from craton._launch import run_under_mpi

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
PROGRAM = PROGRAMS / "distributed_fock.py"

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


def test_what_is_spared_would_have_been_fetched_once(capfd):
    """By messages: so what is fetched and what is spared add up to what would travel without sparing."""
    program = str(PROGRAMS / "spared_densities.py")
    code = run_under_mpi([program], 4, ranks_per_node=1, program=[sys.executable])
    out, err = capfd.readouterr()
    assert code == 0, err
    assert "blocks less spared, as many fetched, on 4 ranks of 4 nodes" in out
