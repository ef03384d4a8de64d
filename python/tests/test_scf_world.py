"""Hartree-Fock over several ranks is that of one process, in both deliveries: programs/scf_world.py."""

import json
import sys
from pathlib import Path

import pytest
from craton._launch import run_under_mpi
from scf_molecules import SMALL, molecule_of, needs_chemistry
from test_cli import craton

pytestmark = needs_chemistry

PROGRAM = Path(__file__).parent / "programs" / "scf_world.py"


@pytest.mark.parametrize(("ranks", "ranks_per_node"), [(1, None), (2, 1), (3, None), (4, 2)])
@pytest.mark.parametrize("more", [[], pytest.param(["all"], marks=pytest.mark.long)])
def test_a_world_has_the_results_of_a_process(ranks, ranks_per_node, more, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parent), prepend=":")
    code = run_under_mpi([str(PROGRAM), str(tmp_path), *more], ranks, ranks_per_node, program=[sys.executable])
    out, err = capfd.readouterr()
    assert code == 0, err
    assert out.count(": right") == 4


def test_the_command_on_ranks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    atoms = SMALL["CH4"].split("; ")
    (tmp_path / "m.xyz").write_text("\n".join([str(len(atoms)), "", *atoms]) + "\n")
    command = ("scf", "m.xyz", "--basis", "6-31g*", "--conv-tol", "1e-10", "--ranks", "2")
    done = craton(*command, "--json", "m.json", "--molden", "m.molden", "--cube", "density", "--checkpoint", "m.h5")
    assert (done.returncode, done.stderr) == (0, "")
    from craton.scf import RHF

    found = json.loads((tmp_path / "m.json").read_text())
    assert found["energy_hartree"] == pytest.approx(RHF(molecule_of(SMALL["CH4"]), "6-31g*").run().e_tot, abs=1e-8)
    assert "2 ranks of 1 thread" in done.stdout and "idle in all" in done.stdout
    assert {"m.molden", "m.density.cube", "m.h5"} <= {path.name for path in tmp_path.iterdir()}
    done = craton(*command, "--max-cycle", "2", "--restart", "m.h5")
    assert (done.returncode, done.stderr) == (0, "")
    done = craton(*command, "--max-cycle", "2")
    assert done.returncode == 3
    assert done.stderr.startswith("craton: not converged after 2 iterations") and done.stderr.count("\n") == 1
    done = craton(*command, "--charge", "1", "--method", "rhf")
    assert done.returncode == 2
    assert done.stderr.startswith("craton: error: RHF: 9 electrons") and done.stderr.count("\n") == 1
