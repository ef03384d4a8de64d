"""Kohn-Sham energies against pyscf's on the same grid, grids, functionals, and values of functions at points."""

import sys
from pathlib import Path

import numpy as np
import pytest
from craton._launch import run_under_mpi
from craton.errors import UserError
from scf_molecules import OPEN, SMALL, molecule_of, needs_chemistry, of_pyscf, water

pytestmark = needs_chemistry

CH2 = OPEN["CH2"][1]  # a triplet that has one lowest state: OH may lie either way on a grid


def grid_of_pyscf(mole, level=2):
    from craton.scf.functionals.grid import Grid
    from pyscf import dft

    grids = dft.gen_grid.Grids(mole)
    grids.level = level
    grids.build()
    return grids, Grid(np.ascontiguousarray(grids.coords.T), np.ascontiguousarray(grids.weights))


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        ("lda", "lda,vwn"),
        ("pbe", "pbe,pbe"),
        ("blyp", "b88,lyp"),
        ("b3lyp", "b3lyp"),
        ("pbe0", "pbe0"),
        ("gga_x_pbe + lda_c_pw", "pbe,pw"),
    ],
)
@pytest.mark.parametrize(("kind", "atoms", "multiplicity"), [("RKS", SMALL["H2O"], 1), ("UKS", CH2, 3)])
def test_energies_are_those_of_pyscf_on_the_same_grid(ours, theirs, kind, atoms, multiplicity):
    from craton import scf
    from pyscf import dft

    molecule = molecule_of(atoms, multiplicity=multiplicity)
    mole = of_pyscf(molecule, "6-31g*")
    grids, same = grid_of_pyscf(mole)
    known = getattr(dft, kind)(mole)
    known.xc, known.grids, known.conv_tol, known.small_rho_cutoff = theirs, grids, 1e-11, 0.0
    known.kernel()
    found = getattr(scf, kind)(molecule, "6-31g*").run(xc=ours, grid=same, conv_tol=1e-10, max_cycle=100, threads=2)
    assert found.converged
    assert found.e_tot == pytest.approx(known.e_tot, abs=1e-7)
    assert np.ravel(found.mo_energy) == pytest.approx(np.ravel(known.mo_energy), abs=1e-5)
    assert found.electrons == pytest.approx(molecule.electrons, abs=1e-3)


@pytest.mark.parametrize("name", ["HCN", "H2CO", "NH3"])
def test_b3lyp_of_more_molecules(name):
    from craton.scf import RKS
    from pyscf import dft

    molecule = molecule_of(SMALL[name])
    mole = of_pyscf(molecule, "cc-pvdz")
    grids, same = grid_of_pyscf(mole)
    known = dft.RKS(mole)
    known.xc, known.grids, known.conv_tol, known.small_rho_cutoff = "b3lyp", grids, 1e-11, 0.0
    found = RKS(molecule, "cc-pvdz").run(xc="b3lyp", grid=same, conv_tol=1e-10)
    assert found.e_tot == pytest.approx(known.kernel(), abs=1e-7)


def test_finer_grids_are_nearer_to_the_end():
    from craton.scf import RKS

    found = {
        name: RKS(water(), "6-31g*").run(xc="pbe", grid=name, conv_tol=1e-10) for name in ("coarse", "medium", "fine")
    }
    off = {name: abs(each.electrons - 10) for name, each in found.items()}
    assert off["coarse"] < 2e-2
    assert off["medium"] < 1e-4
    assert off["fine"] < 1e-5
    assert found["medium"].e_tot == pytest.approx(found["fine"].e_tot, abs=1e-5)


def test_a_grid_of_one_atom_integrates_gaussians():
    from craton.scf import Molecule
    from craton.scf.functionals.grid import becke_share, make_grid

    atom = Molecule(("He",), np.array([[0.1, -0.2, 0.3]]))
    grid = make_grid(atom)
    square = np.sum((grid.points_bohr - atom.positions_bohr.T) ** 2, axis=0)
    for exponent in (0.2, 3.0, 200.0):
        assert np.dot(grid.weights, np.exp(-exponent * square)) == pytest.approx((np.pi / exponent) ** 1.5, rel=1e-8)
    molecule = water()
    points = np.random.default_rng(2).normal(size=(50, 3)) * 2
    shares = [becke_share(molecule, points, n) for n in range(3)]
    assert np.sum(shares, axis=0) == pytest.approx(1)
    assert becke_share(molecule, molecule.positions_bohr, 1) == pytest.approx([0, 1, 0], abs=1e-6)


@pytest.mark.parametrize("basis", ["6-31g*", "cc-pvtz"])
def test_functions_at_points_are_those_of_the_plain_twin(basis):
    from craton._craton import FunctionValues
    from craton.scf import make_basis, placed_shells
    from craton.scf.functions import values

    molecule = molecule_of(SMALL["HCl"])
    made = make_basis(molecule, basis)
    points = np.random.default_rng(3).normal(size=(40, 3)) * 2
    shells = list(range(made.shell_count))
    plain = values(molecule, placed_shells(molecule, basis), points)
    found = FunctionValues(made).at(np.ascontiguousarray(points.T), shells)
    np.testing.assert_allclose(found[0].T, plain, rtol=0, atol=1e-12)
    with_slopes = FunctionValues(made).at(np.ascontiguousarray(points.T), shells[2:4], True)
    first = made.first_function
    assert np.array_equal(with_slopes[0], found[0][first[2] : first[4]])
    step = 1e-4
    for axis in range(3):
        ahead, behind = points.copy(), points.copy()
        ahead[:, axis] += step
        behind[:, axis] -= step
        by_difference = (
            values(molecule, placed_shells(molecule, basis), ahead)
            - values(molecule, placed_shells(molecule, basis), behind)
        ) / (2 * step)
        np.testing.assert_allclose(with_slopes[1 + axis].T, by_difference[:, first[2] : first[4]], rtol=0, atol=1e-6)
    with pytest.raises(UserError, match="points are 2 x 5; allowed: 3 x any number"):
        FunctionValues(made).at(np.zeros((2, 5)), [0])
    with pytest.raises(UserError, match="shell 999; allowed: 0 to"):
        FunctionValues(made).at(np.zeros((3, 5)), [999])


def test_parts_of_a_grid_are_the_whole():
    from craton.scf import RHF
    from craton.scf.functionals.grid import make_grid
    from craton.scf.functionals.integrals import Integrator
    from craton.scf.functionals.libxc import Functional

    calculation = RHF(water(), "6-31g*").run()
    grid, functional = make_grid(calculation.molecule, "coarse"), Functional("pbe", 1)
    density = [calculation.make_rdm1()]
    of = (calculation.molecule, calculation.shells, calculation.basis, grid)
    whole = Integrator(*of).integrated(density, functional)
    threads = Integrator(*of, threads=3).integrated(density, functional)
    assert (threads.energy, threads.electrons) == (whole.energy, whole.electrons)
    parts = [Integrator(*of, n, 3).integrated(density, functional) for n in range(3)]
    assert sum(each.energy for each in parts) == pytest.approx(whole.energy, abs=1e-12)
    assert np.sum([each.matrices[0] for each in parts], axis=0) == pytest.approx(whole.matrices[0], abs=1e-12)
    step, change = 1e-4, np.random.default_rng(4).normal(size=density[0].shape)
    change += change.T
    ahead, behind = (
        Integrator(*of).integrated([density[0] + sign * step * change], functional).energy for sign in (1, -1)
    )
    assert (ahead - behind) / (2 * step) == pytest.approx(np.vdot(whole.matrices[0], change), rel=1e-5)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nothing", "'nothing' is not in libxc; allowed: lda, svwn"),
        ("pbe; rm", "is not in libxc"),
        (
            "mgga_x_tpss",
            "mgga_x_tpss is a meta-GGA, range-separated or another; allowed: LDA, GGA and their global hybrids",
        ),
        ("hyb_gga_xc_wb97x_v", "range-separated"),
        ("x" * 5000, "is not in libxc"),
        ("", "is not in libxc"),
    ],
)
def test_functionals_that_are_not_there(name, said):
    from craton.scf import RKS

    with pytest.raises(UserError) as error:
        RKS(water(), "sto-3g").run(xc=name)
    assert said in str(error.value).replace('"', "'")
    assert len(str(error.value)) < 400


def test_what_density_functionals_have_not(monkeypatch):
    from craton.scf import RKS, stability
    from craton.scf.functionals.grid import make_grid

    calculation = RKS(water(), "sto-3g").run(xc="lda", grid="coarse")
    with pytest.raises(UserError, match="no gradients of density functionals; allowed: RHF, UHF and ROHF"):
        calculation.gradient()
    with pytest.raises(UserError, match="of RKS; allowed: of RHF and UHF"):
        stability(calculation)
    with pytest.raises(UserError, match="grid = huge; allowed: coarse, medium, fine, or a Grid"):
        RKS(water(), "sto-3g").run(grid="huge")
    with pytest.raises(UserError, match="grid 'huge'; allowed: coarse, medium, fine"):
        make_grid(water(), "huge")
    monkeypatch.setenv("CRATON_LIBXC", "/nowhere/libxc.so")
    with pytest.raises(UserError, match="libxc /nowhere/libxc.so: .*; allowed: the file of libxc 5 or newer"):
        RKS(water(), "sto-3g").run()
    monkeypatch.setenv("CRATON_LIBXC", "libm.so.6")
    with pytest.raises(UserError, match=r"libxc libm.so.6: .*; allowed: the file of libxc"):
        RKS(water(), "sto-3g").run()


@pytest.mark.parametrize(("ranks", "ranks_per_node"), [(1, None), (2, 1), (3, None)])
def test_all_ranks_have_the_energy_of_one_process(ranks, ranks_per_node, monkeypatch, capfd):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "support"), prepend=":")
    program = Path(__file__).parents[1] / "programs" / "scf_functionals.py"
    code = run_under_mpi([str(program)], ranks, ranks_per_node, program=[sys.executable])
    out, err = capfd.readouterr()
    assert code == 0, err
    assert out.count(": right") == 3, out + err
