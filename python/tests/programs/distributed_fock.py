"""J and K of two spins by all ranks beside those of one FockBuilder: ethene, 6-31g*. Its last line says so."""

import craton
import numpy as np
from craton._craton import FockBuilder
from craton._launch import main_guard
from craton.errors import UserError
from craton.scf import DistributedFock, Molecule, make_basis, open_libcint
from mpi4py import MPI


def ethene():
    carbons = [f"C 0.0 0.0 {z:g}" for z in (0.667, -0.667)]
    hydrogens = [f"H 0.0 {y:g} {z:g}" for y in (0.922, -0.922) for z in (1.237, -1.237)]
    return Molecule.from_xyz_text("\n".join(["6", "ethene", *carbons, *hydrogens]))


def expect_user_error(action, words):
    try:
        action()
    except UserError as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"no UserError with '{words}'")


with main_guard():
    comm = MPI.COMM_WORLD
    world = craton.World(comm)
    library, basis = open_libcint(), make_basis(ethene(), "6-31g*")
    half = np.random.default_rng(11).standard_normal((2, basis.size, basis.size))
    spins = half + half.transpose(0, 2, 1)
    coulomb, exchange = comm.bcast(FockBuilder(library, basis, 1e-12).build(spins) if comm.rank == 0 else None)
    for strategy, room in (
        ("static", 0),
        ("counter", 1),
        ("stealing", 0),
    ):  # 1 byte: everything is fetched and made again
        fock = DistributedFock(world, library, basis, 1e-12, 2, strategy, buffer_bytes=room)
        found = fock.build(spins)
        # sums of the same numbers in another order
        assert np.abs(found[0] - coulomb).max() < 1e-12 * np.abs(coulomb).max(), strategy
        assert np.abs(found[1] - exchange).max() < 1e-12 * np.abs(exchange).max(), strategy
        done = comm.allreduce(fock.statistics["own_tasks"] + fock.statistics["stolen_tasks"])
        assert done == fock.tasks, (done, fock.tasks)
        assert sorted(fock.function_order) == list(range(basis.size))
    (rows, columns), size = fock.boundaries, comm.size
    starts = set(fock.basis.first_function.tolist())
    assert starts.issuperset(rows) and starts.issuperset(columns)
    done = fock.timeline
    assert len(done) == fock.statistics["own_tasks"] + fock.statistics["stolen_tasks"]
    assert np.all(done[:, 3] >= done[:, 2]) and np.all(done[:, 1] < 2)
    assert (len(rows) - 1) * (len(columns) - 1) == size and rows[0] == 0 and rows[-1] == basis.size
    # the same from and into arrays over the ranks
    given = [fock.scatter(spin) for spin in spins]
    elsewhere = given[1].redistributed(tiles=7)
    over_ranks = fock.build([given[0], elsewhere])
    assert np.abs(fock.gather(over_ranks[0]) - coulomb).max() < 1e-12 * np.abs(coulomb).max()
    assert (
        np.abs(np.array([fock.gather(each) for each in over_ranks[1]]) - exchange).max()
        < 1e-12 * np.abs(exchange).max()
    )
    assert np.array_equal(fock.gather(given[0]), spins[0])  # densities stay what they are
    expect_user_error(lambda: fock.build_into(given[:1], given[0], over_ranks[1][:1]), "allowed: each once")
    expect_user_error(
        lambda: fock.build_into([given[0].like("int64")], over_ranks[0], over_ranks[1][:1]), "of int64; allowed"
    )
    expect_user_error(lambda: fock.scatter(spins[0][1:]), f"{basis.size - 1} x {basis.size}; allowed")
    expect_user_error(
        lambda: DistributedFock(world, library, basis, strategy="luck"), "allowed: static, counter, stealing"
    )
    expect_user_error(lambda: DistributedFock(world, library, basis, 0.0), "threshold 0; allowed: above 0")
    expect_user_error(lambda: DistributedFock(world, library, basis, threads=0), "0 threads; allowed: at least 1")
    expect_user_error(lambda: fock.build(spins[0]), "2 dimensions; allowed: 3")
    expect_user_error(
        lambda: fock.build(spins[:, 1:]), f"{basis.size - 1} x {basis.size}; allowed: {basis.size} x {basis.size}"
    )
    expect_user_error(lambda: basis.reordered([0, 0]), "allowed: a permutation")
    nodes = world.node_count
    if comm.rank == 0:
        print(f"distributed Fock matrices agree on {size} ranks of {nodes} nodes")
