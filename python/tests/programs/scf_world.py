"""Hartree-Fock over all ranks against one process; started by test_scf_world.py.

mpiexec -n 3 python scf_world.py FOLDER
"""

import sys
from contextlib import contextmanager
from pathlib import Path

import craton
import numpy as np
import pytest
from craton import UserError, _craton
from craton._launch import main_guard
from craton.scf import RHF, UHF, Checkpoint
from craton.scf.engines.distributed import DistributedAlgebra
from mpi4py import MPI
from scf_molecules import OPEN, SMALL, molecule_of, spread_over_ranks, water

COMM = MPI.COMM_WORLD
FOLDER = Path(sys.argv[1])
SIZE = 13


def triplet():
    return molecule_of(OPEN["CH2"][1], multiplicity=3)


def some_matrices(world, count):
    """In NumPy and over the ranks, of one layout of irregular tiles."""
    whole = np.random.default_rng(5).standard_normal((count, SIZE, SIZE))
    cuts, owners = [[0, 4, 5, SIZE], [0, 6, SIZE]], np.arange(6).reshape(3, 2) % world.size
    return whole, [craton.DistArray.from_array(world, each, boundaries=cuts, owners=owners) for each in whole]


def algebra(world):
    (a, b, _), (da, db, dc) = some_matrices(world, 3)
    ours = DistributedAlgebra()
    for left, right in ((False, False), (False, True), (True, False), (True, True)):
        ours.product(da, db, dc, transpose_a=left, transpose_b=right)
        np.testing.assert_allclose(dc.gather(), (a.T if left else a) @ (b.T if right else b), atol=1e-12)
    ours.transpose(da, dc)
    np.testing.assert_array_equal(dc.gather(), a.T)
    dc.fill(np.nan)
    ours.combine(dc, [(2.0, da), (-0.5, db)], identity=3.0)  # keep = 0: what it holds is not read
    np.testing.assert_allclose(dc.gather(), 2 * a - b / 2 + 3 * np.eye(SIZE), atol=1e-13)
    ours.combine(dc, [(1.0, db)], keep=-2.0)
    np.testing.assert_allclose(dc.gather(), -4 * a + 2 * b - 6 * np.eye(SIZE), atol=1e-13)
    ours.combine(dc, [], keep=0.5)
    np.testing.assert_allclose(dc.gather(), -2 * a + b - 3 * np.eye(SIZE), atol=1e-13)
    ours.combine(dc, [], identity=2.0)
    np.testing.assert_array_equal(dc.gather(), 2 * np.eye(SIZE))
    found = ours.inner([(da, db), (da, None), (db, db)])
    assert found == pytest.approx([(a * b).sum(), np.trace(a), (b * b).sum()], abs=1e-12)
    assert ours.inner([]) == []
    ours.combine(dc, [(1.0, da)])
    ours.transpose(da, db)
    ours.combine(dc, [(1.0, db)], keep=1.0)
    symmetric = a + a.T
    values = np.linalg.eigvalsh(symmetric)
    low, high = ours.spectrum_bounds(dc)
    radii = np.abs(symmetric).sum(axis=1) - np.abs(symmetric.diagonal())
    assert low == pytest.approx((symmetric.diagonal() - radii).min(), abs=1e-12) and low <= values[0]
    assert high == pytest.approx((symmetric.diagonal() + radii).max(), abs=1e-12) and high >= values[-1]


def eigenvectors_and_columns(world):
    (a,), (da,) = some_matrices(world, 1)
    ours = DistributedAlgebra()
    symmetric = a + a.T
    turned = da.like()
    ours.transpose(da, turned)
    ours.combine(da, [(1.0, turned)], keep=1.0)
    factors = np.append(np.zeros(4), np.append(np.arange(1.0, 8.0), np.zeros(2)))
    part = ours.scaled_columns(da, factors)
    np.testing.assert_allclose(part.gather(), (symmetric * factors)[:, 4:11])
    np.testing.assert_array_equal(ours.scaled_columns(da, np.zeros(SIZE)).gather(), np.zeros((SIZE, 1)))
    for limit in (0, SIZE):
        ours.whole_on_one_rank = limit
        values, vectors = ours.eigh(da)
        np.testing.assert_allclose(values, np.linalg.eigvalsh(symmetric), atol=1e-11)
        exact = np.linalg.eigh(symmetric)[1]
        for count in (0, 1, 5, SIZE):
            values, vectors = ours.eigh(da)
            ours.project_on_first(vectors, count, turned)
            np.testing.assert_allclose(turned.gather(), exact[:, :count] @ exact[:, :count].T, atol=1e-11)
            ours.give(vectors)
    assert ours.done_by_one(lambda whole: whole @ whole, da, turned)
    np.testing.assert_allclose(turned.gather(), symmetric @ symmetric, atol=1e-11)

    def fail(whole):
        raise UserError(f"met on rank {world.rank} with {len(whole)} rows")

    with pytest.raises(UserError, match=f"met on rank 0 with {SIZE} rows"):
        ours.done_by_one(fail, da, turned)
    ours.whole_on_one_rank = SIZE - 1
    assert not ours.done_by_one(fail, da, turned)


def work_arrays(world):
    """A matrix that was given back is taken again for the same layout alone."""
    _, (first, _) = some_matrices(world, 2)
    other = craton.DistArray(world, (SIZE, SIZE), tiles=5)
    ours = DistributedAlgebra()
    taken = ours.take(first)
    ours.give(taken)
    elsewhere = ours.take(other)
    assert elsewhere is not taken and ours.take(first) is taken
    narrow = ours.take(first, (SIZE, 5))
    assert narrow.shape == (SIZE, 5) and np.array_equal(narrow.boundaries[0], first.boundaries[0])
    with ours.work(narrow, 2) as [one, two]:
        assert one is not two and one.shape == two.shape == (SIZE, 5)
    again = ours.take(first, (SIZE, 5))
    assert again is one or again is two
    assert ours.take(first, (1, 1)).shape == (1, 1)


@contextmanager
def counted():
    """How many arrays are made, and how often the algebra lets all ranks meet."""
    counts = {"arrays": 0, "meetings": 0}
    kept = {name: getattr(DistributedAlgebra, name) for name in MEETINGS}
    make = _craton._dist_array

    def counting(name, call):
        def called(*arguments, **more):
            counts[name] += 1
            return call(*arguments, **more)

        return called

    try:
        _craton._dist_array = counting("arrays", make)
        for name, call in kept.items():
            setattr(DistributedAlgebra, name, counting("meetings", call))
        yield counts
    finally:
        _craton._dist_array = make
        for name, call in kept.items():
            setattr(DistributedAlgebra, name, call)


MEETINGS = ("product", "transpose", "inner", "eigh", "spectrum_bounds", "done_by_one", "project_on_first")
DIIS_SPACE = 3


def steady_state(world):
    """An iteration makes no arrays once DIIS is full, whatever the way to a density, and few until then."""
    for kind, molecule, way, whole in (
        (RHF, water(), "sp2", True),
        (RHF, water(), "diagonalisation", True),
        (RHF, water(), "canonical", False),
        (UHF, triplet(), "sp2", True),
    ):
        seen = []
        with counted() as counts, spread_over_ranks(not whole):
            calculation = kind(molecule, "sto-3g", world=world)
            calculation.callback = lambda _, counts=counts, seen=seen: seen.append(dict(counts))
            calculation.run(conv_tol=1e-10, diis_space=DIIS_SPACE, density_by=way)
        spins = 2 if kind is UHF else 1
        arrays = np.diff([each["arrays"] for each in seen])
        meetings = np.diff([each["meetings"] for each in seen])
        assert calculation.converged and len(arrays) > DIIS_SPACE + 2
        assert np.all(arrays[1:] <= 2 * spins), arrays
        assert np.all(arrays[DIIS_SPACE + 1 :] == 0), arrays
        assert seen[-1]["arrays"] < 40 * spins, seen[-1]
        if whole:
            # F' = X^T F X, F' P and its transpose, two sums, a projector, D = X P X^T and its transpose
            assert np.all(meetings <= 10 * spins), meetings


def energies(world):
    cases = [(RHF, water(), "6-31g*", "diagonalisation"), (UHF, triplet(), "sto-3g", "sp2")]
    cases += [(RHF, molecule_of(SMALL["H2"]), "sto-3g", "canonical")]  # fewer functions than some jobs have ranks
    cases += [(UHF, molecule_of("H 0 0 0"), "6-31g", "diagonalisation")]  # no electron of one spin
    for spread, (kind, molecule, basis, density_by) in zip((False, False, True, True), cases, strict=True):
        alone = kind(molecule, basis).run(conv_tol=1e-10)
        with spread_over_ranks(spread):
            found = kind(molecule, basis, world=world).run(conv_tol=1e-10, density_by=density_by)
        agree(found, alone)
    assert RHF(water(), "sto-3g", world=world).run(init_guess="core", level_shift=0.3).converged
    alone = RHF(water(), "6-31g*", cartesian=True).run(conv_tol=1e-10)
    with spread_over_ranks(True):
        agree(RHF(water(), "6-31g*", cartesian=True, world=world).run(conv_tol=1e-10), alone)


def agree(found, alone):
    assert found.converged and alone.converged
    assert found.e_tot == pytest.approx(alone.e_tot, abs=1e-9)
    assert np.array(found.mo_energy) == pytest.approx(alone.mo_energy, abs=1e-6)
    assert found.mulliken_charges() == pytest.approx(alone.mulliken_charges(), abs=1e-6)
    assert found.dipole_debye() == pytest.approx(alone.dipole_debye(), abs=1e-6)
    assert found.frontier() == pytest.approx(alone.frontier(), abs=1e-6)
    if isinstance(found, UHF):
        assert found.spin_square() == pytest.approx(alone.spin_square(), abs=1e-6)


def near_dependence(world):
    """Is left out: matrices among orthonormal functions are smaller than those of all functions."""
    for kind, molecule, basis, way, spread in (
        (RHF, water(), "aug-cc-pvdz", "diagonalisation", False),
        (RHF, water(), "6-31g", "sp2", True),
        (UHF, triplet(), "6-31g", "diagonalisation", False),
    ):
        dependence = 0.1 if basis == "6-31g" else 1e-2
        alone = kind(molecule, basis).run(conv_tol=1e-10, linear_dependence=dependence)
        with spread_over_ranks(spread):
            found = kind(molecule, basis, world=world).run(conv_tol=1e-10, linear_dependence=dependence, density_by=way)
        agree(found, alone)
        assert np.shape(found.mo_energy)[-1] < alone.basis.size
        channels = [found.mo_coeff] if kind is RHF else found.mo_coeff
        for coefficients in channels:
            c, overlap = coefficients.gather(), found.get_ovlp().gather()
            np.testing.assert_allclose(c.T @ overlap @ c, np.eye(c.shape[1]), atol=1e-9)


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
    with pytest.raises(UserError, match=r"w\.h5"):
        RHF(water(), "sto-3g", world=world).run(checkpoint=FOLDER / "no-such" / "w.h5")


def projections(world):
    """Another basis, geometry and kind begin where one process does."""
    moved = molecule_of("O 0 0 0; H 0 0.79 0.59; H 0 -0.75 0.55")
    RHF(water(), "6-31g", world=world).run(checkpoint=FOLDER / "from_RHF.h5")
    UHF(water(), "6-31g", world=world).run(checkpoint=FOLDER / "from_UHF.h5")
    for start, kind, molecule, basis in (
        (RHF, RHF, water(), "6-31g*"),
        (RHF, UHF, moved, "6-31g"),
        (UHF, RHF, water(), "sto-3g"),
        (UHF, UHF, moved, "sto-3g"),
    ):
        path = FOLDER / f"from_{start.__name__}.h5"
        begun = []
        for where, whole in ((None, True), (world, False)):
            calculation = kind(molecule, basis, world=where)
            calculation.conv_tol, calculation.max_cycle = 1e-10, 4
            calculation.kernel(Checkpoint.read(path, whole=whole))
            begun.append([each.energy for each in calculation.iterations])
        assert begun[1] == pytest.approx(begun[0], abs=1e-9)
        energy = kind(molecule, basis).run(conv_tol=1e-10).e_tot
        assert abs(begun[1][0] - energy) < 0.5 and abs(begun[1][-1] - energy) < 0.01
    with pytest.raises(UserError, match=r"checkpoint: of H2O, but the molecule is \w+; allowed: one of the same atoms"):
        RHF(molecule_of(SMALL["HF"]), "6-31g", world=world).kernel(Checkpoint.read(path, whole=False))


PARTS = (
    algebra,
    eigenvectors_and_columns,
    work_arrays,
    steady_state,
    energies,
    near_dependence,
    matrices,
    checkpoints,
    projections,
)


def main():
    world = craton.World(COMM)
    for part in PARTS:
        part(world)
        if COMM.rank == 0:
            print(f"{part.__name__}: right", flush=True)


if __name__ == "__main__":
    with main_guard():
        main()
