"""Density blocks that screening spares: each that is not spared is fetched once. Hydrogen atoms; the last line says so."""

import craton
import numpy as np
from craton._launch import main_guard
from craton.scf import DistributedFock, Molecule, make_basis, open_libcint
from mpi4py import MPI

ATOMS, TOGETHER = 16, 4
"""An atom has one shell of one function: a block has 4 x 4 elements."""
ELEMENTS = 8 * TOGETHER**2
THRESHOLD, FAINT = 1e-4, 2.5e-5
"""FAINT times the largest integral decides nothing: the same quartets are computed with it as with zeros."""


def chain():
    """Close enough for all pairs of atoms to matter."""
    return Molecule.from_xyz_text("\n".join([str(ATOMS), "", *(f"H 0 0 {0.5 * n}" for n in range(ATOMS))]))


def density(fock, between):
    """Ones on the diagonal, and `between` two halves of the chain."""
    found = np.full((ATOMS, ATOMS), between)
    cuts = fock.boundaries[0]
    for first, last in zip(cuts[:-1], cuts[1:], strict=True):
        found[first:last, first:last] = np.eye(last - first)
    given = np.argsort(fock.function_order)
    return found[np.newaxis, given[:, None], given]


with main_guard():
    comm = MPI.COMM_WORLD
    world = craton.World(comm)
    fock = DistributedFock(
        world,
        open_libcint(),
        make_basis(chain(), "sto-3g"),
        THRESHOLD,
        strategy="static",
        functions_per_range=TOGETHER,
        buffer_bytes=1 << 26,  # nothing has to go and be fetched again
    )
    found = []
    for between in (0.0, FAINT):
        fock.build(density(fock, between))
        found.append((fock.statistics, fock.counts))
    (empty, empty_counts), (faint, faint_counts) = found
    assert empty_counts == faint_counts and empty["own_tasks"] == faint["own_tasks"] > 0
    fewer = (empty["spared_bytes"] - faint["spared_bytes"]) / ELEMENTS
    assert fewer > 0 and faint["fetched_bytes"] - empty["fetched_bytes"] == fewer * ELEMENTS
    blocks = comm.allreduce(fewer)
    if comm.rank == 0:
        print(f"{blocks:.0f} blocks less spared, as many fetched, on {comm.size} ranks of {world.node_count} nodes")
