"""Total energies of small molecules in several basis sets, beside pyscf's."""

import numpy as np
import pytest
from scf_molecules import BASES, KNOWN, OPEN, SMALL, energy_of_pyscf, known, molecule_of, needs_chemistry, of_pyscf

SHORT = [("NH3", "sto-3g"), ("CO", "6-31g*"), ("HCl", "def2-svp"), ("H2", "cc-pvtz"), ("HF", "aug-cc-pvdz")]
CASES = [
    pytest.param(name, basis, id=f"{name}-{basis}", marks=() if (name, basis) in SHORT else pytest.mark.long)
    for basis in BASES
    for name in SMALL
]


@needs_chemistry
@pytest.mark.parametrize("density_by", ["diagonalisation", "canonical", "sp2"])
@pytest.mark.parametrize(("name", "basis"), CASES)
def test_energy_is_pyscfs(name, basis, density_by):
    from craton.scf import RHF

    found = RHF(molecule_of(SMALL[name]), basis).run(conv_tol=1e-10, density_by=density_by, threads=2)
    assert found.converged
    assert found.e_tot == pytest.approx(energy_of_pyscf(name, basis), abs=1e-8)


@needs_chemistry
@pytest.mark.long
@pytest.mark.parametrize("density_by", ["diagonalisation", "sp2"])
@pytest.mark.parametrize("name", ["water8", "decane"])
def test_energies_of_larger_molecules_are_known(name, density_by):
    from craton.scf import RHF

    found = RHF(known(name), "cc-pvdz").run(conv_tol=1e-10, density_by=density_by, threads=2)
    assert found.converged
    assert found.e_tot == pytest.approx(KNOWN[name], abs=1e-8)


@needs_chemistry
@pytest.mark.parametrize("basis", ["6-31g*", pytest.param("aug-cc-pvdz", marks=pytest.mark.long)])
@pytest.mark.parametrize("name", OPEN)
def test_energy_of_open_shells_is_pyscfs(name, basis):
    from craton.scf import UHF
    from pyscf import scf

    multiplicity, atoms = OPEN[name]
    molecule = molecule_of(atoms, multiplicity=multiplicity)
    theirs = scf.UHF(of_pyscf(molecule, basis))
    theirs.conv_tol, theirs.conv_tol_grad = 1e-11, 1e-6
    theirs.kernel()
    found = UHF(molecule, basis).run(conv_tol=1e-10, threads=2)
    assert theirs.converged and found.converged
    assert found.e_tot == pytest.approx(theirs.e_tot, abs=1e-8)
    assert found.spin_square() == pytest.approx(theirs.spin_square(), abs=1e-5)
    for ours, wanted, occupied in zip(found.mo_energy, theirs.mo_energy, found.occupied, strict=True):
        assert ours[:occupied] == pytest.approx(np.sort(wanted)[:occupied], abs=1e-4)
    assert found.dipole_debye() == pytest.approx(theirs.dip_moment(verbose=0), abs=1e-3)
