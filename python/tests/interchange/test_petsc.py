"""DistArray and ConvergentMatrix to PETSc's Mat and back, on several ranks (programs/petsc_matrices.py)."""

import sys
from pathlib import Path

import craton
import pytest
from craton._launch import run_under_mpi
from mpi4py import MPI

PROGRAM = Path(__file__).resolve().parents[1] / "programs" / "petsc_matrices.py"


@pytest.mark.parametrize(("ranks", "ranks_per_node"), [(1, None), (2, None), (3, None), (2, 1), (4, 2)])
def test_matrices_go_to_petsc_and_back(ranks, ranks_per_node, capfd):
    pytest.importorskip("petsc4py")
    code = run_under_mpi([str(PROGRAM)], ranks, ranks_per_node=ranks_per_node, program=[sys.executable])
    out, err = capfd.readouterr()
    assert code == 0, err
    assert f"matrices agree on {ranks} ranks" in out


def test_without_petsc4py(monkeypatch):
    from craton.arrays.interchange.petsc import from_mat, to_mat

    monkeypatch.setitem(sys.modules, "petsc4py", None)
    world = craton.World(MPI.COMM_SELF)
    for call in (lambda: to_mat(craton.DistArray(world, (2, 2))), lambda: from_mat(world, None)):
        with pytest.raises(
            craton.UserError, match="petsc4py is not installed; allowed: apt-get install python3-petsc4py"
        ) as caught:
            call()
        assert "\n" not in str(caught.value)
