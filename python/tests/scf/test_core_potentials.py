"""Effective core potentials against pyscf's: matrices, energies, gradients; on all ranks."""

import sys
from pathlib import Path

import numpy as np
import pytest
from craton._launch import run_under_mpi
from craton.errors import UserError
from scf_molecules import molecule_of, needs_chemistry

pytestmark = needs_chemistry

HEAVY = [
    ("I 0 0 0; H 0.1 0.2 1.60", 1, "def2-svp"),
    ("Ag 0 0 0; Cl 0 0.3 2.28", 1, "def2-svp"),
    ("Br 0 0 0; H 0 0.1 1.41", 1, "lanl2dz"),
    ("I 0 0 0; O 0 0.2 1.87", 2, "def2-svp"),
]


@pytest.mark.parametrize(("atoms", "multiplicity", "basis"), HEAVY)
def test_energies_and_gradients_are_those_of_pyscf(atoms, multiplicity, basis):
    from craton import scf
    from craton.scf.interchange.pyscf import to_mole
    from pyscf import scf as pyscf_scf

    kind = "RHF" if multiplicity == 1 else "UHF"
    molecule = molecule_of(atoms, multiplicity=multiplicity)
    theirs = getattr(pyscf_scf, kind)(to_mole(molecule, basis))
    theirs.conv_tol, theirs.conv_tol_grad, theirs.max_cycle = 1e-11, 1e-7, 100
    found = getattr(scf, kind)(molecule, basis).run(conv_tol=1e-11, conv_tol_grad=1e-7, max_cycle=100)
    np.testing.assert_allclose(found.get_hcore(), theirs.get_hcore(), rtol=0, atol=1e-6)
    assert found.molecule.electrons == theirs.mol.nelectron
    if kind == "UHF":  # whichever of its states the guess leads to
        theirs.kernel(np.array(found.make_rdm1()))
    else:
        theirs.kernel()
    assert found.e_tot == pytest.approx(theirs.e_tot, abs=1e-8)
    np.testing.assert_allclose(found.gradient(), theirs.nuc_grad_method().kernel(), rtol=0, atol=2e-7)
    assert found.dipole_debye() == pytest.approx(theirs.dip_moment(verbose=0), abs=1e-4)


def test_a_potential_of_pyscf_s_own_files():
    """The numbers of the Basis Set Exchange are those of pyscf's copy."""
    from craton.scf import RHF
    from pyscf import gto, scf

    mole = gto.M(atom="I 0 0 0; H 0 0 1.6", basis="def2-svp", ecp="def2-svp", verbose=0)
    theirs = scf.RHF(mole)
    theirs.conv_tol = 1e-11
    found = RHF(molecule_of("I 0 0 0; H 0 0 1.6"), "def2-svp").run(conv_tol=1e-11)
    assert found.e_tot == pytest.approx(theirs.kernel(), abs=1e-7)
    assert found.potentials["I"].electrons == 28
    assert list(found.potentials) == ["I"]


def test_the_derivative_of_a_potential_is_that_of_its_matrix():
    from craton.scf import RHF
    from craton.scf.basis_sets import atoms_of_functions
    from craton.scf.core_potentials import CorePotentials

    calculation = RHF(molecule_of("Ag 0 0 0; Cl 0 0.3 2.28"), "lanl2dz")

    def sum_of(of):
        every = (0, of.basis.shell_count)
        return float(np.vdot(density, CorePotentials(of.molecule, of.basis, of.potentials).block(every, every)))

    size = calculation.basis.size
    density = np.random.default_rng(1).normal(size=(size, size))
    density += density.T
    made = CorePotentials(calculation.molecule, calculation.basis, calculation.potentials)
    found = made.gradient(density, atoms_of_functions(calculation.shells), 2)
    step = 1e-3
    for coordinate in range(6):
        moved = []
        for sign in (1, -1):
            positions = calculation.molecule.positions_bohr.copy()
            positions.flat[coordinate] += sign * step
            moved.append(sum_of(calculation.moved(positions)))
        assert found.flat[coordinate] == pytest.approx((moved[0] - moved[1]) / (2 * step), rel=1e-5, abs=1e-4)
    a, b = (
        made.block((0, 3), (2, 9)),
        made.block((0, calculation.basis.shell_count), (0, calculation.basis.shell_count)),
    )
    first = calculation.basis.first_function
    np.testing.assert_allclose(a, b[first[0] : first[3], first[2] : first[9]], rtol=0, atol=1e-12)


def test_sets_without_orbitals_are_refused():
    from craton.scf import shells_of

    with pytest.raises(UserError, match="'lanl2dz ecp', element I: has no shells; allowed: basis sets of orbitals"):
        shells_of("lanl2dz ecp", {"I"})


def test_the_command_says_which_electrons_are_left_out(tmp_path):
    from command_line import craton

    (tmp_path / "hi.xyz").write_text("2\n\nI 0 0 0\nH 0 0 1.61\n")
    done = craton("scf", "run", "hi.xyz", "--basis", "def2-svp", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "26 electrons" in done.stdout
    assert "core potentials of I (28 electrons)" in done.stdout


@pytest.mark.parametrize(("ranks", "ranks_per_node"), [(2, 1), (3, None)])
def test_all_ranks_have_the_energy_of_one_process(ranks, ranks_per_node, monkeypatch, capfd):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "support"), prepend=":")
    program = Path(__file__).parents[1] / "programs" / "scf_core_potentials.py"
    code = run_under_mpi([str(program)], ranks, ranks_per_node, program=[sys.executable])
    out, err = capfd.readouterr()
    assert code == 0, err
    assert out.count(": right") == 1, out + err
