"""Cartesian functions, 6 of a d shell: matrices, energies and gradients against pyscf's with cart = True, files, bad input."""

import json

import numpy as np
import pytest
from command_line import craton
from craton._craton import FockBuilder
from craton.errors import UserError
from scf_molecules import OPEN, SMALL, WATER, molecule_of, needs_chemistry, of_pyscf, water

pytestmark = needs_chemistry

TIGHT = {"conv_tol": 1e-11, "conv_tol_grad": 1e-8, "direct_scf_tol": 1e-14}


def random_symmetric(size):
    found = np.random.default_rng(7).standard_normal((size, size))
    return found + found.T


def theirs_of(molecule, basis):
    mole = of_pyscf(molecule, basis)
    mole.cart = True
    return mole


@pytest.mark.parametrize("name", ["6-31g*", "cc-pvtz", "cc-pv5z"])
def test_functions_at_points_and_their_norms(name):
    from craton._craton import FunctionValues
    from craton.scf import functions, make_basis, open_libcint, placed_shells
    from craton.scf.files.function_order import norms

    molecule, points = water(), np.random.default_rng(1).uniform(-4, 4, (200, 3))
    shells, basis = placed_shells(molecule, name, True), make_basis(molecule, name, True)
    mole = theirs_of(molecule, name)
    wanted = mole.eval_gto("GTOval_cart", points)
    assert basis.cartesian and basis.size == mole.nao_cart()
    assert functions.values(molecule, shells, points) == pytest.approx(wanted, abs=1e-11)
    kernels = FunctionValues(basis).at(np.ascontiguousarray(points.T), list(range(basis.shell_count)))
    np.testing.assert_allclose(kernels[0].T, wanted, rtol=0, atol=1e-11)
    overlap = open_libcint().overlap(basis)
    assert overlap == pytest.approx(mole.intor("int1e_ovlp"), abs=1e-12)
    assert norms(shells) ** 2 == pytest.approx(overlap.diagonal(), abs=1e-12)


def test_spherical_functions_are_sums_of_cartesian_ones():
    from craton.scf.functions import angular_values, harmonics, harmonics_of_powers

    points = np.random.default_rng(2).normal(size=(30, 3))
    for momentum in range(6):
        found = angular_values(momentum, points, True) @ harmonics_of_powers(momentum)
        assert found == pytest.approx(harmonics(momentum, points), abs=1e-10 * np.abs(found).max())


@pytest.mark.parametrize("name", ["6-31g*", "cc-pvtz", "cc-pvqz"])  # g functions are left to libcint beside f and g
def test_own_kernels_are_libcints(name):
    from craton.scf import make_basis, open_libcint
    from pyscf import scf

    basis = make_basis(water(), name, True)
    density = random_symmetric(basis.size)[None]
    ours, library = (
        FockBuilder(open_libcint(), basis, threshold=1e-14, own_kernels=own).build(density) for own in (True, False)
    )
    assert ours[0] == pytest.approx(library[0], abs=1e-10)
    assert ours[1] == pytest.approx(library[1], abs=1e-10)
    if name == "cc-pvtz":
        coulomb, exchange = scf.hf.get_jk(theirs_of(water(), name), density[0])
        assert ours[0] == pytest.approx(coulomb, abs=1e-9)
        assert ours[1][0] == pytest.approx(exchange, abs=1e-9)


@pytest.mark.parametrize(
    ("kind", "atoms", "multiplicity", "basis"),
    [
        ("RHF", SMALL["H2O"], 1, "6-31g*"),
        ("RHF", SMALL["HCl"], 1, "cc-pvtz"),
        ("UHF", OPEN["CH2"][1], 3, "6-31g*"),
        ("ROHF", OPEN["CH2"][1], 3, "6-31g*"),
    ],
)
def test_energies_and_gradients_are_pyscfs(kind, atoms, multiplicity, basis):
    from craton import scf
    from pyscf import scf as pyscf_scf

    molecule = molecule_of(atoms, multiplicity=multiplicity)
    ours = getattr(scf, kind)(molecule, basis, cartesian=True).run(**TIGHT)
    theirs = getattr(pyscf_scf, kind)(theirs_of(molecule, basis))
    theirs.conv_tol, theirs.conv_tol_grad = 1e-11, 1e-7
    theirs.kernel()
    assert ours.e_tot == pytest.approx(theirs.e_tot, abs=1e-8)
    assert ours.gradient() == pytest.approx(theirs.nuc_grad_method().kernel(), abs=1e-6)
    assert ours.e_tot < getattr(scf, kind)(molecule, basis).run(**TIGHT).e_tot  # which has fewer functions
    moved = ours.moved(molecule.positions_bohr)
    assert moved.cartesian and moved.basis.size == ours.basis.size
    first = ours.iterations[0].energy
    assert abs(first - ours.e_tot) < 1.0  # atoms' densities are a guess for these functions too


def test_fitted_densities_and_functionals_are_pyscfs():
    from craton import scf
    from craton.scf.functionals.grid import Grid
    from pyscf import dft
    from pyscf import scf as pyscf_scf

    molecule, basis = water(), "6-31g*"
    auxiliary = {
        symbol: [[each[0], *([a, *(row[p] for row in each[2])] for p, a in enumerate(each[1]))] for each in some]
        for symbol, some in scf.shells_of("def2-universal-jkfit", set(molecule.symbols)).items()
    }
    theirs = pyscf_scf.RHF(theirs_of(molecule, basis)).density_fit(auxbasis=auxiliary)
    theirs.conv_tol = 1e-11
    fitted = scf.RHF(molecule, basis, cartesian=True).run(df=True, **TIGHT)
    assert fitted.e_tot == pytest.approx(theirs.kernel(), abs=1e-7)
    grids = dft.gen_grid.Grids(theirs_of(molecule, basis))
    grids.level = 1
    grids.build()
    known = dft.RKS(theirs_of(molecule, basis), xc="b3lyp")
    known.grids, known.conv_tol, known.small_rho_cutoff = grids, 1e-11, 0.0
    ours = scf.RKS(molecule, basis, cartesian=True)
    ours.grid = Grid(np.ascontiguousarray(grids.coords.T), np.ascontiguousarray(grids.weights))
    assert ours.run(xc="b3lyp", conv_tol=1e-10).e_tot == pytest.approx(known.kernel(), abs=1e-7)


def test_pyscf_gets_and_gives_them():
    from craton import scf
    from craton.scf.interchange.pyscf import from_mean_field, from_mole, to_mean_field
    from pyscf import scf as pyscf_scf

    calculation = scf.RHF(water(), "6-31g*", cartesian=True).run(**TIGHT)
    theirs = to_mean_field(calculation)
    assert theirs.energy_tot(theirs.make_rdm1()) == pytest.approx(calculation.e_tot, abs=1e-9)
    back = from_mean_field(pyscf_scf.RHF(theirs.mol))
    assert back.cartesian
    assert back.kernel(theirs.make_rdm1()) == pytest.approx(calculation.e_tot, abs=1e-8)
    with pytest.raises(UserError, match=r"Cartesian functions; allowed: with cartesian = True"):
        from_mole(theirs.mol)
    with pytest.raises(UserError, match=r"spherical functions; allowed: with cartesian = False"):
        from_mole(of_pyscf(water(), "6-31g*"), cartesian=True)


def test_molden_files(tmp_path):
    from craton.scf import RHF, write_molden
    from pyscf.tools import molden

    for molecule, basis in ((water(), "6-31g*"), (water(), "cc-pvqz")):
        calculation = RHF(molecule, basis, cartesian=True).run()
        write_molden(calculation, tmp_path / "m.molden")
        assert "[6D]" in (tmp_path / "m.molden").read_text()
        theirs, energies, coefficients, *_ = molden.load(str(tmp_path / "m.molden"))
        assert theirs.cart
        assert energies == pytest.approx(calculation.mo_energy, abs=1e-10)
        points = np.random.default_rng(3).uniform(-3, 3, (50, 3))
        mine = theirs_of(molecule, basis).eval_gto("GTOval_cart", points) @ calculation.mo_coeff
        assert theirs.eval_gto("GTOval_cart", points) @ coefficients == pytest.approx(mine, abs=1e-7)


def test_formatted_checkpoint_files(tmp_path):
    """As Gaussian: types 2 and 3, xx yy zz xy xz yz, each function of norm 1."""
    from craton.scf import RHF
    from craton.scf.interchange.fchk import _fields, read_fchk, write_fchk

    for basis in ("6-31g*", "cc-pvqz"):
        calculation = RHF(water(), basis, cartesian=True).run()
        write_fchk(calculation, tmp_path / "a.fchk")
        back = read_fchk(tmp_path / "a.fchk")
        again = RHF(water(), basis, cartesian=True)
        assert again.kernel(back) == pytest.approx(calculation.e_tot, abs=1e-7)
        assert len(again.iterations) <= 4
    calculation = RHF(water(), "6-31g*", cartesian=True).run()
    write_fchk(calculation, tmp_path / "a.fchk")
    text = (tmp_path / "a.fchk").read_text()
    fields = _fields(text.splitlines())
    assert fields["Pure/Cartesian d shells"] == 1
    d = list(fields["Shell types"]).index(2)
    first = sum({0: 1, 1: 3}[each] for each in fields["Shell types"][:d])
    size = calculation.basis.size
    coefficients = fields["Alpha MO coefficients"].reshape(size, size)
    norms = np.sqrt([4 * np.pi / 5] * 3 + [4 * np.pi / 15] * 3)
    ours = calculation.mo_coeff[np.array([0, 3, 5, 1, 2, 4]) + first]
    np.testing.assert_allclose(coefficients[:, first : first + 6].T, ours * norms[:, None], atol=1e-7)


@pytest.mark.parametrize(
    ("basis", "said"),
    [("6-31g*", "19 functions, but shells of 18"), ("cc-pvtz", "some shells are pure, some Cartesian")],
)
def test_formatted_checkpoints_of_other_kinds(basis, said, tmp_path):
    """One d shell is said to be pure."""
    from craton.scf import RHF
    from craton.scf.interchange.fchk import read_fchk, write_fchk

    write_fchk(RHF(water(), basis, cartesian=True).run(), tmp_path / "a.fchk")
    before, after = (tmp_path / "a.fchk").read_text().split("Shell types", 1)
    head, numbers = after.split("\n", 1)
    numbers = numbers.replace("           2", "          -2", 1)
    (tmp_path / "b.fchk").write_text(f"{before}Shell types{head}\n{numbers}")
    with pytest.raises(UserError, match=said):
        read_fchk(tmp_path / "b.fchk")


def test_checkpoints_and_another_kind_of_functions(tmp_path):
    from craton.scf import RHF, Checkpoint

    RHF(water(), "6-31g*", cartesian=True).run(checkpoint=tmp_path / "c.h5")
    found = Checkpoint.read(tmp_path / "c.h5")
    assert all(each.cartesian for each in found.shells)
    again = RHF(water(), "6-31g*", cartesian=True)
    again.kernel(found)
    assert len(again.iterations) <= 3
    larger = RHF(water(), "cc-pvtz", cartesian=True)
    larger.kernel(found)
    assert larger.converged
    with pytest.raises(UserError, match="checkpoint: of Cartesian functions, but the calculation has spherical ones"):
        RHF(water(), "6-31g*").kernel(found)


def test_the_command(tmp_path):
    from craton.scf import RHF

    (tmp_path / "water.xyz").write_text(WATER)
    found = craton("scf", "check", "water.xyz", "--basis", "6-31g*", "--cartesian", cwd=tmp_path)
    assert "6-31g* (Cartesian)" in found.stdout and "19 functions" in found.stdout
    done = craton("scf", "run", "water.xyz", "--basis", "6-31g*", "--cartesian", "--json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    wanted = RHF(water(), "6-31g*", cartesian=True).run().e_tot
    assert json.loads(done.stdout)["energy_hartree"] == pytest.approx(wanted, abs=1e-8)
    wrong = craton(
        "scf",
        "run",
        "water.xyz",
        "--basis",
        "cc-pvdz",
        "--start",
        "water-run/orbitals.h5",
        "--directory",
        "b",
        cwd=tmp_path,
    )
    assert wrong.returncode == 2
    assert "of Cartesian functions, but the calculation has spherical ones" in wrong.stderr
