"""Optimised geometries and vibrations against pyscf's."""

import importlib.util
import itertools
from dataclasses import replace

import numpy as np
import pytest
from craton.errors import UserError
from scf_molecules import SMALL, benzene, molecule_of, needs_chemistry, of_pyscf, water

pytestmark = [
    needs_chemistry,
    pytest.mark.skipif(
        not importlib.util.find_spec("ase"), reason="the package ase is not installed (pip install craton[chemistry])"
    ),
]

ETHANOL = (
    "C -0.0187 1.4244 0.0213; C 0.0021 -0.0041 0.0020; O 1.3500 -0.4550 0.0010; H 1.3300 -1.4150 -0.0100; "
    "H -1.0470 1.7900 0.0300; H 0.5020 1.7900 0.9110; H 0.4900 1.8130 -0.8600; H -0.5010 -0.3670 0.9010; H -0.5130 -0.3870 -0.8850"
)


KNOWN_WATER = (0.94628588, 1.49757928)
"""O-H and H-H in Angstrom."""
KNOWN_ETHANOL = (
    (1.515482, 2.363861, 3.201326, 1.085659, 1.084297, 1.084297, 2.147679, 2.147680),
    (1.403960, 1.939774, 2.152747, 2.147812, 2.147811, 1.088529, 1.088529),
    (0.946941, 3.312234, 2.620204, 2.620202, 2.057067, 2.057067),
    (4.050809, 3.494510, 3.494508, 2.311804, 2.311803),
    (1.762644, 1.762644, 2.483808, 2.483807),
    (1.757232, 2.490910, 3.047845),
    (3.047844, 2.490911),
    (1.755442,),
)
"""Of each atom to those after it."""
KNOWN_BENZENE = {
    "CC": (1.386311, 2.401162, 2.772623),
    "CH": (1.075471, 2.137624, 3.375653, 3.848094),
    "HH": (2.461783, 4.263933, 4.923565),
}
"""Of an atom to the next along the ring, the next but one and so on; of a carbon to its own hydrogen first."""


def distances_angstrom(molecule):
    from craton.scf import BOHR_ANGSTROM

    apart = molecule.positions_bohr[:, None] - molecule.positions_bohr
    return BOHR_ANGSTROM * np.linalg.norm(apart, axis=-1)


def gradient_of_pyscf(molecule, basis):
    """At a geometry: 0 where pyscf's minimum is too."""
    from pyscf import scf

    theirs = scf.RHF(of_pyscf(molecule, basis))
    theirs.conv_tol, theirs.conv_tol_grad = 1e-12, 1e-8
    theirs.kernel()
    return theirs.nuc_grad_method().kernel()


@pytest.mark.parametrize(
    ("molecule", "basis"),
    [
        (water, "cc-pvdz"),
        (lambda: molecule_of(ETHANOL), "sto-3g"),
        pytest.param(lambda: molecule_of(ETHANOL), "6-31g*", marks=pytest.mark.long),
        pytest.param(benzene, "6-31g*", marks=pytest.mark.long),
    ],
)
def test_optimised_geometries_are_minima_of_pyscf(molecule, basis):
    from craton import scf

    told = []
    begun = scf.RHF(molecule(), basis)
    begun.threads = 2
    found = scf.optimise(begun, force=2e-6, callback=told.append)
    assert found.converged
    assert told == found.steps
    assert found.steps[-1].energy < found.steps[0].energy
    assert np.abs(gradient_of_pyscf(found.calculation.molecule, basis)).max() < 4e-6
    assert begun.mo_coeff is None  # the given one is left as it was


def test_water_has_the_known_geometry():
    """Of pyscf 2.14 with geomeTRIC 1.0.2, RHF/cc-pVDZ."""
    from craton import scf

    found = scf.optimise(scf.RHF(water(), "cc-pvdz"), force=1e-5)
    distances = distances_angstrom(found.calculation.molecule)
    assert distances[0, 1:] == pytest.approx(KNOWN_WATER[0], abs=1e-4)
    assert distances[1, 2] == pytest.approx(KNOWN_WATER[1], abs=1e-4)


@pytest.mark.long
def test_benzene_has_the_known_geometry():
    """Of pyscf 2.14 with geomeTRIC 1.0.2, RHF/6-31G*, largest force 1e-7 hartree per bohr. The default `force` is fine enough."""
    from craton import scf

    begun = scf.RHF(benzene(), "6-31g*")
    begun.threads = 2
    distances = distances_angstrom(scf.optimise(begun).calculation.molecule)
    for a, b in itertools.combinations(range(12), 2):
        kind = "CH"[a // 6] + "CH"[b // 6]
        steps = min((a - b) % 6, (b - a) % 6)
        known = KNOWN_BENZENE[kind][steps if kind == "CH" else steps - 1]
        assert distances[a, b] == pytest.approx(known, abs=1e-4), (a, b)


@pytest.mark.long
def test_ethanol_has_the_known_geometry():
    """Of the same programs and basis. Its groups turn with hardly any force, so the default `force` is not fine enough."""
    from craton import scf

    begun = scf.RHF(molecule_of(ETHANOL), "6-31g*")
    begun.threads = 2
    distances = distances_angstrom(scf.optimise(begun, force=2e-6).calculation.molecule)
    for a, known in enumerate(KNOWN_ETHANOL):
        assert distances[a, a + 1 :] == pytest.approx(known, abs=1e-4), a


def test_vibrations_of_water_are_those_of_pyscf():
    from craton import scf
    from pyscf import scf as pyscf_scf
    from pyscf.hessian import thermo

    found = scf.optimise(scf.RHF(water(), "6-31g*"), force=1e-6).calculation
    told = []
    modes = scf.vibrations(found, callback=lambda done, of: told.append((done, of)))
    assert told == [(n, 18) for n in range(1, 19)]
    theirs = pyscf_scf.RHF(of_pyscf(found.molecule, "6-31g*"))
    theirs.conv_tol = 1e-12
    theirs.kernel()
    known = thermo.harmonic_analysis(theirs.mol, theirs.Hessian().kernel())
    assert modes.frequencies_cm1 == pytest.approx(known["freq_wavenumber"], abs=0.5)
    assert modes.zero_point_hartree == pytest.approx(known["freq_wavenumber"].sum() / 2 / 219474.63, rel=1e-4)
    for mine, other in zip(modes.modes, known["norm_mode"], strict=True):
        assert abs(np.vdot(mine, other / np.linalg.norm(other))) == pytest.approx(1, abs=1e-4)


def test_molecules_on_a_line_turn_about_two_axes():
    from craton import scf

    carbon_dioxide = scf.optimise(scf.RHF(molecule_of(SMALL["CO2"]), "sto-3g"), force=1e-6).calculation
    modes = scf.vibrations(carbon_dioxide)
    assert len(modes.frequencies_cm1) == 4
    assert modes.frequencies_cm1[0] == pytest.approx(modes.frequencies_cm1[1], abs=0.1)  # it bends either way
    assert modes.intensities_km_mol[2] == pytest.approx(0, abs=1e-3)  # both bonds stretch: no dipole
    assert modes.intensities_km_mol[3] > 1


def test_a_saddle_has_an_imaginary_frequency():
    from craton import scf

    flat = molecule_of("N 0 0 0; H 0.98 0 0; H -0.49 0.8487 0; H -0.49 -0.8487 0")
    found = scf.optimise(scf.RHF(flat, "6-31g*"), force=1e-5).calculation  # by symmetry it stays flat
    modes = scf.vibrations(found)
    assert (modes.frequencies_cm1 < 0).sum() == 1
    assert modes.zero_point_hartree > 0


def test_settings_out_of_range():
    from craton import scf
    from craton.scf.geometry.masses import masses_of

    calculation = scf.RHF(water(), "sto-3g")
    with pytest.raises(UserError, match="force 0; allowed: a positive number of hartree per bohr"):
        scf.optimise(calculation, force=0)
    with pytest.raises(UserError, match="0 steps; allowed: at least 1"):
        scf.optimise(calculation, max_steps=0)
    with pytest.raises(UserError, match="steps of 0.2 bohr; allowed: above 0, below 0.1"):
        scf.vibrations(calculation, step_bohr=0.2)
    with pytest.raises(UserError, match=r"has not converged; allowed: after a run\(\) that does"):
        scf.vibrations(calculation)
    with pytest.raises(UserError, match="masses: Og; allowed: H to Lr"):
        masses_of(["H", "Og"])


def test_too_few_steps_are_no_error():
    from craton import scf

    stretched = water()
    found = scf.optimise(
        scf.RHF(replace(stretched, positions_bohr=1.1 * stretched.positions_bohr), "sto-3g"), max_steps=1
    )
    assert not found.converged
    assert len(found.steps) == 2


def test_the_calculator_of_ase():
    from ase.optimize import LBFGS
    from craton.scf import RHF
    from craton.scf.interchange.ase import HARTREE_EV, CratonCalculator, from_atoms, to_atoms

    atoms = to_atoms(water())
    assert np.abs(from_atoms(atoms).positions_bohr - water().positions_bohr).max() < 1e-12
    atoms.calc = CratonCalculator("6-31g*", conv_tol=1e-11)
    alone = RHF(water(), "6-31g*").run(conv_tol=1e-11, conv_tol_grad=1e-6)
    assert atoms.get_potential_energy() == pytest.approx(alone.e_tot * HARTREE_EV, abs=1e-7)
    assert atoms.get_forces() == pytest.approx(-alone.gradient() * HARTREE_EV / 0.52917721092, abs=1e-5)
    assert atoms.get_dipole_moment() * 4.803204 == pytest.approx(alone.dipole_debye(), abs=1e-5)
    assert atoms.get_charges() == pytest.approx(alone.mulliken_charges(), abs=1e-5)
    assert LBFGS(atoms, logfile=None).run(fmax=0.01, steps=30)


def test_the_calculator_with_a_functional():
    from craton.scf import RKS
    from craton.scf.interchange.ase import HARTREE_EV, CratonCalculator, to_atoms

    atoms = to_atoms(water())
    atoms.calc = CratonCalculator("sto-3g", xc="pbe", grid="coarse")
    alone = RKS(water(), "sto-3g").run(xc="pbe", grid="coarse", conv_tol_grad=1e-6)
    assert atoms.get_potential_energy() == pytest.approx(alone.e_tot * HARTREE_EV, abs=1e-7)
    assert atoms.get_charges() == pytest.approx(alone.mulliken_charges(), abs=1e-5)
    with pytest.raises(UserError, match="RKS: no gradients of density functionals"):
        atoms.get_forces()


def test_what_the_calculator_refuses():
    from ase import Atoms
    from craton.scf.interchange.ase import CratonCalculator, from_atoms

    with pytest.raises(UserError, match="method 'mp2'; allowed: rhf, uhf, rohf"):
        CratonCalculator("sto-3g", "mp2")
    with pytest.raises(UserError, match=r"periodic along .*; allowed: pbc = False"):
        from_atoms(Atoms("H2", positions=[[0, 0, 0], [0, 0, 0.74]], pbc=True, cell=[5, 5, 5]))
    with pytest.raises(UserError, match="0 atoms"):
        from_atoms(Atoms())
    atoms = Atoms("H2", positions=[[0, 0, 0], [0, 0, 0.74]])
    atoms.calc = CratonCalculator("sto-3g", unknown=1)
    with pytest.raises(UserError, match="setting 'unknown'; allowed: "):
        atoms.get_potential_energy()
    atoms.calc = CratonCalculator("sto-3g", max_cycle=1)
    with pytest.raises(UserError, match="not converged after 1 iterations"):
        atoms.get_potential_energy()
