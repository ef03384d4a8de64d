"""Hartree-Fock: energies, Fock matrices against pyscf, and what is said of bad input."""

import numpy as np
import pytest
from craton._craton import FockBuilder, GaussianBasis
from craton.errors import UserError
from scf_molecules import WATER, benzene, needs_chemistry, of_pyscf, water


def random_symmetric(n, seed):
    half = np.random.default_rng(seed).standard_normal((n, n))
    return half + half.T


# ------------------------------------------------------------------------------------------------------------ energies


@needs_chemistry
@pytest.mark.parametrize("threads", [1, 2])
def test_energy_of_water(threads):
    from craton.scf import RHF

    found = RHF(water(), "cc-pvdz").run(conv_tol=1e-10, threads=threads)
    assert found.converged
    assert found.e_tot == pytest.approx(-76.0267986975, abs=1e-8)
    overlap = found.get_ovlp()
    assert np.vdot(found.make_rdm1(), overlap) == pytest.approx(10, abs=1e-10)
    assert found.mo_coeff.T @ overlap @ found.mo_coeff == pytest.approx(np.eye(24), abs=1e-10)
    assert found.mo_occ.tolist() == [2.0] * 5 + [0.0] * 19


@pytest.mark.long
@needs_chemistry
def test_energy_of_benzene():
    from craton.scf import RHF

    found = RHF(benzene(), "cc-pvdz").run(conv_tol=1e-10, threads=2)
    assert found.converged
    assert found.e_tot == pytest.approx(-230.7220822541, abs=1e-8)


@needs_chemistry
@pytest.mark.parametrize("name", ["sto-3g", "6-31g*", "def2-svp", "aug-cc-pvdz"])
def test_energies_orbitals_and_dipoles_are_pyscfs(name):
    from craton.scf import RHF
    from pyscf import scf as pyscf_scf

    molecule = water()
    theirs = pyscf_scf.RHF(of_pyscf(molecule, name))
    theirs.conv_tol = 1e-12
    theirs.kernel()
    found = RHF(molecule, name).run(conv_tol=1e-10)
    assert found.converged
    assert found.e_tot == pytest.approx(theirs.e_tot, abs=1e-8)
    assert found.mo_energy == pytest.approx(theirs.mo_energy, abs=1e-5)
    assert found.dipole_debye() == pytest.approx(theirs.dip_moment(verbose=0), abs=1e-4)


@needs_chemistry
def test_not_converging_is_a_state():
    from craton.scf import RHF

    found = RHF(water(), "sto-3g").run(max_cycle=2)
    assert not found.converged
    assert len(found.iterations) == 2


@needs_chemistry
def test_a_converged_density_is_a_start():
    from craton.scf import RHF

    found = RHF(water(), "sto-3g").run()
    again = RHF(water(), "sto-3g")
    assert again.kernel(found.make_rdm1()) == pytest.approx(found.e_tot, abs=1e-9)
    assert len(again.iterations) == 2 < len(found.iterations)


# ------------------------------------------------------------------------------------------------------------ matrices


@needs_chemistry
@pytest.mark.parametrize("name", ["def2-svp", "cc-pvtz"])  # to d and f functions
def test_matrices_are_pyscfs(name):
    from craton.scf import RHF

    molecule = water()
    ours, theirs = RHF(molecule, name), of_pyscf(molecule, name)
    n = ours.basis.size
    assert ours.get_ovlp() == pytest.approx(theirs.intor("int1e_ovlp"), abs=1e-12)
    core = theirs.intor("int1e_kin") + theirs.intor("int1e_nuc")
    assert ours.get_hcore() == pytest.approx(core, abs=1e-10)
    assert ours.basis.nuclear_repulsion == pytest.approx(theirs.energy_nuc(), abs=1e-12)
    density = random_symmetric(n, 3)
    repulsion = theirs.intor("int2e")
    coulomb = np.einsum("ijkl,kl->ij", repulsion, density)
    exchange = np.einsum("ijkl,jl->ik", repulsion, density)
    ours.direct_scf_tol = 1e-14
    assert core + ours.get_veff(density) == pytest.approx(core + coulomb - exchange / 2, abs=1e-10)


@needs_chemistry
def test_parts_of_matrices():
    from craton.scf import make_basis, open_libcint

    library, basis = open_libcint(), make_basis(water(), "def2-svp")
    first = basis.first_function
    whole = {"overlap": library.overlap, "kinetic": library.kinetic, "nuclear_attraction": library.nuclear_attraction}
    for rows, columns in (((2, 5), (0, 7)), ((0, 3), (4, basis.shell_count)), ((3, 3), (0, 1))):
        inside = np.s_[first[rows[0]] : first[rows[1]], first[columns[0]] : first[columns[1]]]
        for name, matrix in whole.items():
            assert np.array_equal(library.block(name, basis, rows, columns), matrix(basis)[inside])
        positions = library.position(basis)[(slice(None), *inside)]
        assert np.array_equal(library.block("position", basis, rows, columns), positions)
    with pytest.raises(UserError, match=r"shells 2 to 1; allowed: 0 to \d+"):
        library.block("overlap", basis, (2, 1), (0, 1))
    with pytest.raises(UserError, match=r"shells 0 to 99; allowed"):
        library.block("overlap", basis, (0, 1), (0, 99))
    with pytest.raises(UserError, match="integrals: 'nonesuch'; allowed: overlap"):
        library.block("nonesuch", basis, (0, 1), (0, 1))


@needs_chemistry
def test_g_functions_are_pyscfs():
    from craton.scf import RHF
    from pyscf import scf as pyscf_scf

    molecule = water()
    ours = RHF(molecule, "cc-pvqz")
    theirs = of_pyscf(molecule, "cc-pvqz")
    assert ours.get_ovlp() == pytest.approx(theirs.intor("int1e_ovlp"), abs=1e-12)
    ours.direct_scf_tol, ours.threads = 1e-14, 2
    density = random_symmetric(ours.basis.size, 4)
    coulomb, exchange = pyscf_scf.hf.get_jk(theirs, density)
    found = ours.get_jk(density)
    assert found[0] == pytest.approx(coulomb, abs=1e-9)
    assert found[1] == pytest.approx(exchange, abs=1e-9)


@needs_chemistry
@pytest.mark.parametrize("name", ["6-31g*", "cc-pvtz", "aug-cc-pvdz"])
def test_own_kernels_are_libcints(name):
    from craton.scf import make_basis, open_libcint

    basis = make_basis(benzene() if name == "6-31g*" else water(), name)
    density = random_symmetric(basis.size, 7)[None]
    ours, theirs = (
        FockBuilder(open_libcint(), basis, threshold=1e-14, own_kernels=own).build(density) for own in (True, False)
    )
    assert ours[0] == pytest.approx(theirs[0], abs=1e-10)
    assert ours[1] == pytest.approx(theirs[1], abs=1e-10)


@needs_chemistry
def test_spins_share_integrals():
    from craton.scf import make_basis, open_libcint

    basis = make_basis(water(), "sto-3g")
    builder = FockBuilder(open_libcint(), basis, threads=2)
    up, down = random_symmetric(basis.size, 5), random_symmetric(basis.size, 6)
    coulomb, exchange = builder.build(np.array([up, down]))
    counts = builder.counts
    for spin, density in enumerate((up, down)):
        alone = builder.build(density[None])
        assert exchange[spin] == pytest.approx(alone[1][0], abs=1e-12)
        coulomb = coulomb - alone[0]
    assert coulomb == pytest.approx(0, abs=1e-12)
    assert 0 < counts["quartets"] <= counts["unique_quartets"]


# ----------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["line 1", "number of atoms"]),
        ("two\n\nH 0 0 0\nH 0 0 1", ["line 1", "'two'"]),
        ("2\n\nH 0 0 0", ["1 lines", "allowed: 2"]),
        ("1\n\nXx 0 0 0", ["line 3", "'Xx'", "H to Og"]),
        ("1\n\nH 0 0", ["line 3", "'H 0 0'"]),
        ("1\n\nH 0 0 nan", ["line 3", "x, y, z"]),
        ("²\n\nH 0 0 0\nH 0 0 1", ["line 1", "'²'"]),
        (f"{5000 * '9'}\n\nH 0 0 0", ["line 1", "9...'"]),
        ("1\n\nH 0 0 1e200", ["line 3", "'H 0 0 1e200'", "up to 1e+06 Angstrom"]),
        ("2\n\nH 0 0 1e308\nH 0 0 -1e308", ["line 3", "up to 1e+06 Angstrom"]),
        (f"1\n\n{100000 * 'X'} 0 0 0", ["line 3", f"element '{60 * 'X'}...'", "H to Og"]),
    ],
)
def test_bad_xyz(text, parts):
    from craton.scf import Molecule

    with pytest.raises(UserError) as raised:
        Molecule.from_xyz_text(text, origin="some.xyz")
    assert all(part in str(raised.value) for part in ["some.xyz", *parts]) and len(str(raised.value)) < 200


def test_missing_xyz(tmp_path):
    from craton.scf import Molecule

    with pytest.raises(UserError, match=r"none\.xyz.*allowed: a readable XYZ file"):
        Molecule.from_xyz(tmp_path / "none.xyz")


@needs_chemistry
def test_unknown_basis_and_element():
    from craton.scf import RHF, Molecule

    with pytest.raises(UserError, match="basis set 'bbb.*does not exist|basis set 'bbb.*allowed") as caught:
        RHF(Molecule.from_xyz_text(WATER), 100000 * "b")
    assert len(str(caught.value)) < 400
    with pytest.raises(UserError, match="basis set 'nonesuch'.*does not exist"):
        RHF(water(), "nonesuch")
    with pytest.raises(UserError, match="'cc-pvdz', element U: .*not found"):
        RHF(Molecule.from_xyz_text("1\n\nU 0 0 0"), "cc-pvdz")


def test_odd_electrons():
    from craton.scf import RHF, Molecule

    with pytest.raises(UserError, match=r"9 electrons \(charge 1\); allowed: an even number"):
        RHF(Molecule.from_xyz_text(WATER, charge=1), "cc-pvdz")


def test_overlapping_atoms():
    with pytest.raises(UserError, match="nuclei 0 and 1 are 0 bohr apart; allowed: at least 0.05"):
        GaussianBasis(np.ones(2), np.zeros((2, 3)), [(0, 0, [1.0], [[1.0]])])


def test_bad_arrays():
    with pytest.raises(UserError, match=r"positions are 2 x 2; allowed: 2 x 3"):
        GaussianBasis(np.ones(2), np.zeros((2, 2)), [])
    with pytest.raises(UserError, match="shell 0 has 2 coefficients; allowed: 1"):
        GaussianBasis(np.ones(1), np.zeros((1, 3)), [(0, 0, [1.0], [[1.0, 2.0]])])


@needs_chemistry
def test_bad_density_and_settings():
    from craton.scf import RHF

    calculation = RHF(water(), "sto-3g")
    with pytest.raises(UserError, match="densities are 3 x 3; allowed: 7 x 7"):
        calculation.get_jk(np.eye(3))
    with pytest.raises(UserError, match="setting 'nonesuch'; allowed: .*conv_tol"):
        calculation.run(nonesuch=1)
    with pytest.raises(UserError, match="setting 'kernel'"):
        calculation.run(kernel=1)
    with pytest.raises(UserError, match="no orbitals"):
        calculation.make_rdm1()


def test_the_library_that_is_named(monkeypatch, tmp_path):
    from craton.scf import find_libcint, open_libcint

    monkeypatch.setenv("CRATON_LIBCINT", str(tmp_path / "libcint.so"))
    assert find_libcint() == str(tmp_path / "libcint.so")
    with pytest.raises(UserError, match=r"libcint\.so.*allowed: the file of libcint"):
        open_libcint()


def test_no_library(monkeypatch):
    from craton.scf import find_libcint

    monkeypatch.delenv("CRATON_LIBCINT", raising=False)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setattr("ctypes.util.find_library", lambda name: None)
    with pytest.raises(UserError, match=r"libcint: no such library.*craton\[chemistry\]"):
        find_libcint()
