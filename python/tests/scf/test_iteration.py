"""The iteration: spins, guesses, densities without diagonalisation, what steadies it."""

import numpy as np
import pytest
from craton.errors import UserError
from craton.scf.engines.algebra import NumpyAlgebra
from craton.scf.engines.integral_memory import integral_bytes
from craton.scf.iteration.purification import purify
from scf_molecules import OPEN, molecule_of, needs_chemistry, of_pyscf, water

WATER_STO3G = -74.96292827082  # of pyscf 2.14


@needs_chemistry
def test_closed_shells_of_uhf_are_those_of_rhf():
    from craton.scf import RHF, UHF

    restricted = RHF(water(), "6-31g*").run(conv_tol=1e-10)
    found = UHF(water(), "6-31g*").run(conv_tol=1e-10)
    assert found.e_tot == pytest.approx(restricted.e_tot, abs=1e-9)
    assert found.spin_square() == pytest.approx((0, 1), abs=1e-6)
    assert found.make_rdm1().sum(axis=0) == pytest.approx(restricted.make_rdm1(), abs=1e-5)
    assert found.make_rdm1().shape == (2, 18, 18)
    assert found.mo_occ.sum(axis=1).tolist() == [5.0, 5.0]


@needs_chemistry
def test_integrals_in_memory_change_nothing():
    from craton.scf import UHF

    radical = molecule_of("O 0 0 0; H 0 0 0.97", multiplicity=2)
    found = [
        UHF(radical, "cc-pvdz").run(conv_tol=1e-10, threads=threads, integral_memory_mb=memory)
        for memory, threads in ((0, 1), (0.3, 2), (None, 2))  # none; a part of them; all
    ]
    assert [each.e_tot for each in found] == pytest.approx([found[0].e_tot] * 3, abs=1e-10)
    assert len({each.engine.quartets for each in found}) == 1


@needs_chemistry
@pytest.mark.parametrize(
    ("basis", "auxiliary"), [("cc-pvtz", None), ("cc-pvqz", None), ("6-31g*", "def2-universal-jkfit")]
)
def test_fitted_densities_have_the_energy_of_pyscf(basis, auxiliary):
    from craton.scf import RHF, UHF
    from pyscf import scf as pyscf_scf

    for kind, of_kind, molecule in (
        (RHF, pyscf_scf.RHF, water()),
        (UHF, pyscf_scf.UHF, molecule_of("O 0 0 0; H 0 0 0.97", multiplicity=2)),
    ):
        found = kind(molecule, basis).run(conv_tol=1e-11, df=True, auxbasis=auxiliary, threads=2)
        fitting = of_pyscf(molecule, found.auxbasis_name)._basis
        theirs = of_kind(of_pyscf(molecule, basis)).density_fit(auxbasis=fitting)
        theirs.conv_tol = 1e-11
        assert found.e_tot == pytest.approx(theirs.kernel(), abs=1e-8)
        exact = kind(molecule, basis).run(conv_tol=1e-11)
        assert found.e_tot == pytest.approx(exact.e_tot, abs=1e-4)
        assert found.e_tot != pytest.approx(exact.e_tot, abs=1e-7)


@needs_chemistry
def test_auxiliary_sets_are_chosen_by_basis_and_elements():
    from craton.scf import RHF
    from craton.scf.basis_sets import fitting_name

    assert fitting_name("cc-pVTZ", ["H", "O"]) == "cc-pvtz-jkfit"
    assert fitting_name("cc-pVTZ", ["Li", "H"]) == fitting_name("6-31g", ["C"]) == "def2-universal-jkfit"
    found = RHF(molecule_of("Li 0 0 0; H 0 0 1.6"), "cc-pvtz").run(df=True)
    assert found.converged and found.auxbasis_name == "def2-universal-jkfit"
    wide = {"He": [(1, [3.0, 2.0, 1.0, 0.5], np.eye(4).tolist())]}
    with pytest.raises(UserError, match=r"density fitting: a shell of 12 functions; allowed: 10"):
        RHF(molecule_of("He 0 0 0"), wide).run(df=True)


def test_fitting_functions_that_depend_on_each_other():
    from craton.scf.engines.fitting import metric_root

    vectors = np.linalg.qr(np.random.default_rng(3).normal(size=(6, 6)))[0]
    whole = vectors @ np.diag([3.0, 2.0, 1.0, 0.5, 0.2, 0.1]) @ vectors.T
    root = metric_root(whole)
    assert root.T @ root == pytest.approx(np.linalg.inv(whole), rel=1e-10, abs=1e-12)
    twice = np.block([[whole, whole], [whole, whole]])  # every function is there twice
    root = metric_root(twice - 1e-14 * np.eye(12))
    assert root.shape == (6, 12)
    assert root.T @ root == pytest.approx(np.linalg.pinv(twice, rcond=1e-10), rel=1e-8, abs=1e-8)


def test_memory_for_integrals():
    assert integral_bytes(0, 4) == 0
    assert integral_bytes(1.5, 4) == 1_500_000
    chosen = integral_bytes(None, 1)
    assert 0 <= chosen <= 4_000_000_000
    assert integral_bytes(None, 4) == chosen // 4


@needs_chemistry
def test_electrons_of_each_spin():
    from craton.scf import UHF

    found = UHF(molecule_of(OPEN["O2"][1], multiplicity=3), "sto-3g").run()
    overlap = found.get_ovlp()
    assert [np.vdot(each, overlap) for each in found.make_rdm1()] == pytest.approx([9, 7], abs=1e-9)
    assert found.occupied == (9, 7)


@needs_chemistry
def test_the_guess_has_the_atoms_of_pyscf():
    from craton.scf import open_libcint, placed_shells
    from craton.scf.iteration.guess import atomic_densities
    from pyscf.scf import atom_hf

    molecule = molecule_of("O 0 0 0; C 0 0 2; S 3 0 0; H 0 3 0; H 0 -3 0")
    found = atomic_densities(molecule, placed_shells(molecule, "def2-svp"), open_libcint())
    atoms = atom_hf.get_atm_nrhf(of_pyscf(molecule, "def2-svp"))
    for block, symbol in zip(found, molecule.symbols, strict=True):
        _, _, coefficients, occupations = atoms[symbol]
        assert block == pytest.approx((coefficients * occupations) @ coefficients.T, abs=2e-4)


def test_electrons_of_atoms():
    from craton.scf.iteration.guess import electrons_by_momentum

    assert electrons_by_momentum(1) == [1, 0, 0, 0]
    assert electrons_by_momentum(8) == [4, 4, 0, 0]
    assert electrons_by_momentum(26) == [8, 12, 6, 0]
    assert electrons_by_momentum(92) == [14, 30, 30, 18]
    assert all(sum(electrons_by_momentum(z)) == z for z in range(1, 119))


@needs_chemistry
def test_the_better_guess_takes_fewer_iterations():
    from craton.scf import RHF

    runs = [RHF(water(), "cc-pvdz").run(init_guess=guess) for guess in ("sad", "core")]
    assert runs[0].e_tot == pytest.approx(runs[1].e_tot, abs=1e-8)
    assert len(runs[0].iterations) < len(runs[1].iterations)
    assert abs(runs[0].iterations[0].energy - runs[0].e_tot) < 1 < abs(runs[1].iterations[0].energy - runs[1].e_tot)


@needs_chemistry
@pytest.mark.parametrize(
    "settings",
    [
        {"level_shift": 0.5},
        {"damp": 0.4, "diis_start_cycle": 6},
        {"damp": 0.3, "diis_space": 0},
        {"diis_space": 3},
        {"level_shift": 0.2, "density_by": "sp2"},
        {"threads": 2, "density_by": "canonical"},
    ],
)
def test_every_way_leads_to_the_same_energy(settings):
    from craton.scf import RHF

    found = RHF(water(), "sto-3g").run(conv_tol=1e-10, max_cycle=100, **settings)
    assert found.converged
    assert found.e_tot == pytest.approx(WATER_STO3G, abs=1e-9)


@needs_chemistry
def test_a_level_shift_is_gone_from_the_orbital_energies():
    from craton.scf import RHF

    plain, shifted = (RHF(water(), "sto-3g").run(conv_tol=1e-10, level_shift=shift) for shift in (0.0, 0.5))
    assert shifted.mo_energy == pytest.approx(plain.mo_energy, abs=1e-4)
    assert len(shifted.iterations) != len(plain.iterations)


@needs_chemistry
@pytest.mark.parametrize("method", ["canonical", "sp2"])
def test_no_diagonalisation_while_it_iterates(method, monkeypatch):
    from craton.scf import UHF

    calls = []
    eigh = NumpyAlgebra.eigh
    monkeypatch.setattr(NumpyAlgebra, "eigh", lambda self, a: calls.append(1) or eigh(self, a))
    found = UHF(molecule_of(OPEN["CH2"][1], multiplicity=3), "6-31g*").run(density_by=method)
    assert found.converged
    assert len(found.iterations) > 5
    assert len(calls) == 3  # of the overlap, and the orbitals of each spin at the end


# -------------------------------------------------------------------------------------------------------- purification


@pytest.mark.parametrize("method", ["canonical", "sp2"])
@pytest.mark.parametrize("occupied", [0, 1, 7, 20, 39, 40])
def test_purified_is_the_projector(method, occupied):
    rng = np.random.default_rng(occupied)
    vectors = np.linalg.qr(rng.standard_normal((40, 40)))[0]
    values = np.sort(rng.uniform(-20, 5, 40))
    values[occupied:] += 0.05  # a gap
    found = np.empty((40, 40))
    products = purify((vectors * values) @ vectors.T, occupied, method, NumpyAlgebra(), found)
    assert found == pytest.approx(vectors[:, :occupied] @ vectors[:, :occupied].T, abs=1e-9)
    assert (found == found.T).all()
    assert products <= 200


@pytest.mark.parametrize("method", ["canonical", "sp2"])
def test_no_gap_is_told(method):
    with pytest.raises(UserError, match=r"purification .*without a gap.*allowed: density_by = 'diagonalisation'"):
        purify(np.diag([-1.0, 0.0, 0.0, 1.0]), 2, method, NumpyAlgebra(), np.empty((4, 4)))


def test_bounds_of_the_spectrum():
    half = np.random.default_rng(3).standard_normal((30, 30))
    values = np.linalg.eigvalsh(half + half.T)
    low, high = NumpyAlgebra().spectrum_bounds(half + half.T)
    assert low <= values[0] and values[-1] <= high
    assert NumpyAlgebra().spectrum_bounds(np.diag([3.0, -2.0])) == (-2, 3)


# --------------------------------------------------------------------------------------------------------------- wrong


@needs_chemistry
@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("conv_tol", 0.0, "positive"),
        ("conv_tol_grad", -1.0, "positive"),
        ("max_cycle", 0, "at least 1"),
        ("init_guess", "minao", "sad, core"),
        ("diis_space", -1, "at least 0"),
        ("diis_start_cycle", 0, "at least 1"),
        ("level_shift", -0.1, "at least 0"),
        ("damp", 1.0, "less than 1"),
        ("density_by", "magic", "diagonalisation, canonical, sp2"),
        ("linear_dependence", 0.0, "positive"),
        ("checkpoint_every_s", -1.0, "at least 0 seconds"),
        ("integral_memory_mb", -0.5, "at least 0 MB, or None"),
    ],
)
def test_settings_out_of_range(name, value, allowed):
    from craton.scf import RHF

    with pytest.raises(UserError, match=rf"RHF: {name} = .*allowed: .*{allowed}"):
        RHF(water(), "sto-3g").run(**{name: value})


@needs_chemistry
def test_auxiliary_sets_that_do_not_fit():
    from craton.scf import RHF

    with pytest.raises(UserError, match=r"basis set 'cc-pvtz-jkfit2'.*did you mean cc-pVTZ-JKFIT"):
        RHF(water(), "cc-pvtz").run(df=True, auxbasis="cc-pvtz-jkfit2")
    with pytest.raises(UserError, match=r"density fitting: shells of l = 5; allowed: l up to 4"):
        RHF(molecule_of("He 0 0 0"), {"He": [(0, [1.0], [[1.0]]), (5, [1.0], [[1.0]])]}).run(df=True)


@needs_chemistry
def test_densities_of_the_wrong_shape():
    from craton.scf import UHF

    calculation = UHF(water(), "sto-3g")
    with pytest.raises(UserError, match="densities are 3 x 7 x 7; allowed: 2 x 7 x 7"):
        calculation.kernel(np.zeros((3, 7, 7)))


@needs_chemistry
def test_too_few_independent_functions():
    from craton.scf import RHF

    with pytest.raises(UserError, match="1 independent functions for 4 electrons; allowed: at least 2"):
        RHF(molecule_of("He 0 0 0; He 0 0 0.11"), {"He": [(0, [1e-3], [[1.0]])]}).run(linear_dependence=1e-3)


@needs_chemistry
@pytest.mark.parametrize("dependence", [1e-8, 1e-2])
def test_near_dependence_is_left_out(dependence):
    from craton.scf import RHF

    found = RHF(water(), "aug-cc-pvdz").run(linear_dependence=dependence)
    assert found.converged
    orbitals = found.mo_coeff.shape[1]
    assert orbitals == 41 if dependence == 1e-8 else orbitals < 41
    assert found.left_out == 41 - orbitals
    overlap = found.mo_coeff.T @ found.get_ovlp() @ found.mo_coeff
    assert overlap == pytest.approx(np.eye(orbitals), abs=1e-9)


@needs_chemistry
@pytest.mark.parametrize("atoms", ["C 0 0 0; C 0 0 1.21; H 0 0 -1.06", "N 0 0 0; O 0 1.10 0.47; O 0 -1.10 0.47"])
def test_spin_square_has_converged_too(atoms):
    """It is of first order in what the orbitals are off, the energy of second: with the root of conv_tol it was off by 9e-5."""
    from craton.scf import UHF

    molecule = molecule_of(atoms, multiplicity=2)
    found = UHF(molecule, "6-31g*").run()
    exact = UHF(molecule, "6-31g*").run(conv_tol_grad=1e-8)
    assert found.converged and exact.converged
    assert found.spin_square()[0] == pytest.approx(exact.spin_square()[0], abs=5e-6)
