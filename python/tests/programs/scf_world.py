"""Hartree-Fock over all ranks against one process; started by test_scf_world.py.

mpiexec -n 3 python scf_world.py FOLDER [all]
"""

import sys
from pathlib import Path

import craton
import numpy as np
import pytest
from craton import UserError
from craton.scf import RHF, UHF, Checkpoint
from craton.scf.algebra import NumpyAlgebra
from craton.scf.distributed_engine import DistributedAlgebra
from mpi4py import MPI
from scf_molecules import OPEN, SMALL, molecule_of, water

COMM = MPI.COMM_WORLD
FOLDER = Path(sys.argv[1])
WAYS = ("diagonalisation", "canonical", "sp2")


def algebra(world):
    rng = np.random.default_rng(5)
    half = rng.standard_normal((13, 13))
    values = half + half.T
    ours, numpys = DistributedAlgebra(), NumpyAlgebra()
    cuts = [[0, 4, 5, 13], [0, 6, 13]]
    made = craton.DistArray.from_array(world, values, boundaries=cuts, owners=np.arange(6).reshape(3, 2) % world.size)
    assert ours.spectrum_bounds(made) == pytest.approx(numpys.spectrum_bounds(values), abs=1e-12)
    np.testing.assert_allclose(ours.plus_identity(made, 2.5).gather(), numpys.plus_identity(values, 2.5))
    np.testing.assert_allclose(ours.scaled_columns(made, np.arange(13.0)).gather(), values * np.arange(13.0))
    turned = ours.transposed(made @ made @ made)
    np.testing.assert_allclose(turned.gather(), (values @ values @ values).T, atol=1e-11)
    assert np.array_equal(turned.owners, made.owners)
    assert ours.trace(made) == pytest.approx(np.trace(values))
    assert ours.dot(made, turned) == pytest.approx(np.vdot(values, (values @ values @ values).T))


def energies(world):
    triplet = molecule_of(OPEN["CH2"][1], multiplicity=3)
    cases = [(RHF, water(), "6-31g*", "diagonalisation"), (UHF, triplet, "sto-3g", "sp2")]
    cases += [(RHF, molecule_of(SMALL["H2"]), "sto-3g", "canonical")]  # fewer functions than some jobs have ranks
    if sys.argv[2:] == ["all"]:
        cases += [(RHF, molecule_of(SMALL[name]), "cc-pvdz", way) for name in SMALL for way in WAYS]
        cases += [(UHF, triplet, "6-31g*", way) for way in WAYS]
    for kind, molecule, basis, density_by in cases:
        alone = kind(molecule, basis).run(conv_tol=1e-10)
        found = kind(molecule, basis, world=world).run(conv_tol=1e-10, density_by=density_by)
        assert found.converged
        assert found.e_tot == pytest.approx(alone.e_tot, abs=1e-9)
        assert np.array(found.mo_energy) == pytest.approx(alone.mo_energy, abs=1e-6)
        assert found.mulliken_charges() == pytest.approx(alone.mulliken_charges(), abs=1e-6)
        assert found.dipole_debye() == pytest.approx(alone.dipole_debye(), abs=1e-6)
        assert found.frontier() == pytest.approx(alone.frontier(), abs=1e-6)
        if kind is UHF:
            assert found.spin_square() == pytest.approx(alone.spin_square(), abs=1e-6)
    assert RHF(water(), "sto-3g", world=world).run(init_guess="core", level_shift=0.3).converged


def matrices(world):
    """In their own order, which is a permutation; orbitals come in the order of the basis."""
    alone = RHF(molecule_of(SMALL["CH4"]), "6-31g").run(conv_tol=1e-11)
    found = RHF(molecule_of(SMALL["CH4"]), "6-31g", world=world).run(conv_tol=1e-11)
    order = found.function_order
    assert sorted(order) == list(range(alone.basis.size))
    inside = np.ix_(order, order)
    np.testing.assert_allclose(found.get_ovlp().gather(), alone.get_ovlp()[inside], atol=1e-13)
    np.testing.assert_allclose(found.get_hcore().gather(), alone.get_hcore()[inside], atol=1e-11)
    np.testing.assert_allclose(found.make_rdm1().gather(), alone.make_rdm1()[inside], atol=1e-6)
    occupied = found.orbitals(0, 5)
    np.testing.assert_allclose(2 * occupied @ occupied.T, alone.make_rdm1(), atol=1e-6)
    density = np.random.default_rng(2).standard_normal((alone.basis.size,) * 2)
    density = density + density.T
    coulomb, exchange = found.get_jk(density)
    wanted = alone.get_jk(density)
    np.testing.assert_allclose(coulomb.gather(), wanted[0][inside], atol=1e-9)
    np.testing.assert_allclose(exchange.gather(), wanted[1][inside], atol=1e-9)
    world.barrier()


def checkpoints(world):
    for kind in (RHF, UHF):
        path = FOLDER / f"{kind.__name__}.h5"
        cut = kind(water(), "6-31g", world=world).run(conv_tol=1e-10, max_cycle=4, checkpoint=path)
        assert not cut.converged
        alone = kind(water(), "6-31g")
        alone.conv_tol = 1e-10
        energy = alone.kernel(Checkpoint.read(path))  # one process reads what many have written
        again = kind(water(), "6-31g", world=world)
        again.conv_tol = 1e-10
        assert again.kernel(Checkpoint.read(path, whole=False)) == pytest.approx(energy, abs=1e-9)
        assert again.iterations[0].energy == pytest.approx(alone.iterations[0].energy, abs=1e-9)
        with pytest.raises(UserError, match="another molecule, geometry or state; allowed: the same with a world"):
            kind(water(), "sto-3g", world=world).kernel(Checkpoint.read(path, whole=False))
    with pytest.raises(UserError, match=r"w\.h5"):
        RHF(water(), "sto-3g", world=world).run(checkpoint=FOLDER / "no-such" / "w.h5")
    with pytest.raises(
        UserError, match="eigenvalues of the overlap down to .*allowed: linear_dependence below it, or no world"
    ):
        RHF(water(), "6-31g", world=world).run(linear_dependence=0.1)


def main():
    world = craton.World(COMM)
    for part in (algebra, energies, matrices, checkpoints):
        part(world)
        if COMM.rank == 0:
            print(f"{part.__name__}: right", flush=True)


if __name__ == "__main__":
    main()
