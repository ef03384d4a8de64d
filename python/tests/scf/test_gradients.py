"""Gradients against differences of energies and pyscf's; restricted open shells against pyscf's."""

import sys
from pathlib import Path

import numpy as np
import pytest
from craton._launch import run_under_mpi
from craton.errors import UserError
from scf_molecules import OPEN, SMALL, molecule_of, needs_chemistry, of_pyscf, water

pytestmark = needs_chemistry

TIGHT = {"conv_tol": 1e-11, "conv_tol_grad": 1e-8, "direct_scf_tol": 1e-14, "max_cycle": 100}
STEP_BOHR = 1e-3
PROGRAM = Path(__file__).parents[1] / "programs" / "scf_gradients.py"


def turned(molecule):
    """The same off all axes, so that no force is 0 by symmetry."""
    from dataclasses import replace

    rotation = np.linalg.qr(np.random.default_rng(5).normal(size=(3, 3)))[0]
    moved = molecule.positions_bohr @ rotation.T
    moved[-1] += [0.05, -0.03, 0.02]
    return replace(molecule, positions_bohr=moved)


def kind_of(name):
    from craton import scf

    return getattr(scf, name)


def differences(calculation, step_bohr=STEP_BOHR):
    """Central differences of energies, of the fourth order in the step."""
    positions = calculation.molecule.positions_bohr
    density = calculation.make_rdm1()
    found = np.zeros_like(positions)
    for coordinate in range(positions.size):
        energies = []
        for steps in (-2, -1, 1, 2):
            moved = positions.copy()
            moved.flat[coordinate] += steps * step_bohr
            energies.append(calculation.moved(moved).kernel(density))
        found.flat[coordinate] = np.dot([1, -8, 8, -1], energies) / (12 * step_bohr)
    return found


@pytest.mark.parametrize(
    ("kind", "atoms", "multiplicity", "basis"),
    [
        ("RHF", SMALL["H2O"], 1, "6-31g*"),
        ("RHF", SMALL["H2CO"], 1, "sto-3g"),
        ("UHF", OPEN["OH"][1], 2, "cc-pvdz"),
        ("ROHF", OPEN["CH2"][1], 3, "6-31g*"),
    ],
)
def test_gradients_are_differences_of_energies(kind, atoms, multiplicity, basis):
    calculation = kind_of(kind)(turned(molecule_of(atoms, multiplicity=multiplicity)), basis).run(**TIGHT)
    gradient = calculation.gradient()
    assert np.abs(gradient).max() > 1e-3
    assert np.abs(gradient.sum(axis=0)).max() < 1e-8  # nothing pushes the whole
    assert np.abs(gradient - differences(calculation)).max() < 1e-7


@pytest.mark.parametrize("name", [*SMALL])
def test_gradients_of_closed_shells_are_those_of_pyscf(name):
    from craton.scf import RHF
    from pyscf import scf

    molecule = turned(molecule_of(SMALL[name]))
    theirs = scf.RHF(of_pyscf(molecule, "cc-pvdz"))
    theirs.conv_tol, theirs.conv_tol_grad = 1e-12, 1e-8
    theirs.kernel()
    found = RHF(molecule, "cc-pvdz").run(**TIGHT, threads=2).gradient()
    assert found == pytest.approx(theirs.nuc_grad_method().kernel(), abs=2e-7)


@pytest.mark.parametrize(
    ("kind", "name", "basis"), [(k, n, b) for k in ("UHF", "ROHF") for n, b in (("OH", "cc-pvtz"), ("NO2", "6-31g*"))]
)
def test_energies_and_gradients_of_open_shells_are_those_of_pyscf(kind, name, basis):
    from pyscf import scf

    multiplicity, atoms = OPEN[name]
    molecule = turned(molecule_of(atoms, multiplicity=multiplicity))
    found = kind_of(kind)(molecule, basis).run(**TIGHT)
    theirs = getattr(scf, kind)(of_pyscf(molecule, basis))
    theirs.conv_tol, theirs.conv_tol_grad, theirs.max_cycle = 1e-12, 1e-8, 100
    theirs.kernel()
    assert found.e_tot == pytest.approx(theirs.e_tot, abs=1e-9)
    assert found.gradient() == pytest.approx(theirs.nuc_grad_method().kernel(), abs=2e-7)


@pytest.mark.parametrize("name", [*OPEN])
def test_restricted_open_shells_have_the_energy_and_orbitals_of_pyscf(name):
    from craton.scf import ROHF
    from pyscf import scf

    multiplicity, atoms = OPEN[name]
    molecule = molecule_of(atoms, multiplicity=multiplicity)
    found = ROHF(molecule, "6-31g*").run(conv_tol=1e-11, conv_tol_grad=1e-7)
    theirs = scf.ROHF(of_pyscf(molecule, "6-31g*"))
    theirs.conv_tol = 1e-11
    assert found.converged
    assert found.e_tot == pytest.approx(theirs.kernel(), abs=1e-8)
    assert sorted(set(found.mo_occ)) in ([0, 1], [0, 1, 2])
    assert found.mo_occ.sum() == molecule.electrons
    assert found.spin_square()[1] == multiplicity
    up, down = found.make_rdm1()
    overlap = found.get_ovlp()
    assert np.trace(up @ overlap) - np.trace(down @ overlap) == pytest.approx(multiplicity - 1)
    assert up @ overlap @ down == pytest.approx(down, abs=1e-8)  # closed orbitals are among those of spin up


def test_a_closed_shell_is_the_same_restricted_or_open():
    from craton.scf import RHF, ROHF

    closed = RHF(water(), "6-31g*").run(**TIGHT)
    opened = ROHF(water(), "6-31g*").run(**TIGHT)
    assert opened.e_tot == pytest.approx(closed.e_tot, abs=1e-10)
    assert opened.mo_energy == pytest.approx(closed.mo_energy, abs=1e-6)
    assert opened.gradient() == pytest.approx(closed.gradient(), abs=1e-8)


def test_threads_do_not_change_a_gradient():
    from craton.scf import RHF

    calculation = RHF(water(), "6-31g*").run()
    density = calculation.make_rdm1()
    engine = calculation.engine
    weighted = density @ calculation.get_hcore() @ density
    found = []
    for threads in (1, 2, 3):
        engine._threads = threads
        found.append(engine.gradient([density], weighted, 0.5))
    assert np.array_equal(found[0], found[1])
    assert np.array_equal(found[0], found[2])


def test_no_gradient_without_convergence_or_with_fitting():
    from craton.scf import RHF

    with pytest.raises(UserError, match=r"there are no orbitals; allowed: after run\(\)"):
        RHF(water(), "sto-3g").gradient()
    with pytest.raises(
        UserError, match=r"not converged \(orbital gradient .*\); allowed: after a run\(\) that converges"
    ):
        RHF(water(), "sto-3g").run(max_cycle=2).gradient()
    with pytest.raises(UserError, match="no gradient of fitted densities; allowed: df = False"):
        RHF(water(), "6-31g*").run(df=True).gradient()
    with pytest.raises(UserError, match="positions are 2 x 3; allowed: 3 x 3"):
        RHF(water(), "sto-3g").moved(np.zeros((2, 3)))


@pytest.mark.parametrize(("ranks", "ranks_per_node"), [(1, None), (2, 1), (3, None)])
def test_all_ranks_have_the_gradient_of_one_process(ranks, ranks_per_node, monkeypatch, capfd):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "support"), prepend=":")
    code = run_under_mpi([str(PROGRAM)], ranks, ranks_per_node, program=[sys.executable])
    out, err = capfd.readouterr()
    assert code == 0, err
    assert out.count(": right") == 4, out + err
