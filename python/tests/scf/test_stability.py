"""Curvatures of the energy against pyscf's, and energies that fall from saddles."""

import numpy as np
import pytest
from craton.errors import UserError
from scf_molecules import OPEN, molecule_of, needs_chemistry, of_pyscf, water

pytestmark = needs_chemistry

TIGHT = {"conv_tol": 1e-11, "conv_tol_grad": 1e-7, "max_cycle": 100}


def all_curvatures(calculation, triplet):
    """Eigenvalues of A + B from all integrals of pyscf over the orbitals of a restricted calculation."""
    from pyscf import ao2mo

    occupied = int((calculation.mo_occ > 0).sum())
    c, e = calculation.mo_coeff, calculation.mo_energy
    mol = of_pyscf(calculation.molecule, "6-31g*")
    whole = ao2mo.restore(1, ao2mo.kernel(mol, c), len(e))
    o, v = slice(0, occupied), slice(occupied, None)
    found = -np.einsum("abij->aibj", whole[v, v, o, o]) - np.einsum("ajbi->aibj", whole[v, o, v, o])
    if not triplet:
        found = found + 4 * whole[v, o, v, o]
    size = found.shape[0] * found.shape[1]
    found = found.reshape(size, size) + np.diag(np.subtract.outer(e[v], e[o]).ravel())
    return np.linalg.eigvalsh(found)


def test_curvatures_are_the_lowest_of_the_whole_hessian():
    from craton.scf import RHF, stability

    calculation = RHF(water(), "6-31g*").run(**TIGHT)
    found = stability(calculation)
    assert found.stable
    assert found.internal == pytest.approx(all_curvatures(calculation, False)[0], rel=1e-3)
    assert found.external == pytest.approx(all_curvatures(calculation, True)[0], rel=1e-3)


def test_a_stretched_bond_breaks_into_open_shells():
    from craton.scf import RHF, UHF, stability

    stretched = molecule_of("H 0 0 0; H 0 0 2.0")
    closed = RHF(stretched, "6-31g*").run(**TIGHT)
    found = stability(closed)
    assert not found.stable
    assert found.external < -0.01 < found.internal
    opened = UHF(stretched, "6-31g*")
    opened.kernel(found.begin)
    assert opened.converged
    assert opened.e_tot < closed.e_tot - 0.05
    assert opened.spin_square()[0] > 0.5
    assert stability(opened).stable


def test_unrestricted_orbitals_on_a_saddle():
    from craton.scf import UHF, stability

    stretched = molecule_of("H 0 0 0; H 0 0 2.0")
    saddle = UHF(stretched, "6-31g*").run(**TIGHT)  # the guess has both spins alike, and so they stay
    found = stability(saddle)
    assert found.external is None
    assert found.internal < -0.01
    better = UHF(stretched, "6-31g*")
    better.kernel(found.begin)
    assert better.e_tot < saddle.e_tot - 0.05
    assert stability(UHF(molecule_of(OPEN["CH2"][1], multiplicity=3), "6-31g*").run(**TIGHT)).stable


def test_atoms_with_nothing_to_turn():
    from craton.scf import UHF, stability

    assert stability(UHF(molecule_of("H 0 0 0", multiplicity=2), "sto-3g").run()).stable


def test_what_has_no_stability():
    from craton.scf import RHF, ROHF, stability

    with pytest.raises(UserError, match="of ROHF; allowed: of RHF and UHF"):
        stability(ROHF(molecule_of(OPEN["OH"][1], multiplicity=2), "sto-3g").run())
    with pytest.raises(UserError, match="has not converged; allowed: after a"):
        stability(RHF(water(), "sto-3g").run(max_cycle=1))
