"""A Hessian without its corrections, of several ranks, beside NumPy's; rank 0 prints what differs by how much, as JSON."""

from __future__ import annotations

import json

import numpy as np
from craton import SymmetricMatrix, World
from craton._launch import main_guard
from craton.errors import UserError
from craton.tomography.stored.marginal import without_corrections
from mpi4py import MPI

with main_guard():
    comm = MPI.COMM_WORLD
    world, size, more = World(comm), 75, 11
    random = np.random.default_rng(5)
    root = random.standard_normal((200, size))
    whole, gradient = root.T @ root, random.standard_normal(size)
    values, precision = random.standard_normal(more), random.uniform(1.0, 2.0, more)
    matrix = SymmetricMatrix(world, size, dtype="float64", block=4)
    if comm.rank == comm.size - 1:
        matrix.update_symmetric(whole, range(size))
    matrix.commit()
    found, own, change = without_corrections(matrix, gradient, values, precision, 5, world, comm)
    first = size - more
    inverse = np.linalg.inv(whole[first:, first:] + np.diag(precision))
    force = gradient[first:] - precision * values
    expected = whole[:first, :first] - whole[:first, first:] @ inverse @ whole[first:, :first]
    apart = {
        "hessian": float(
            np.abs(found.read_slice(range(first), range(first)) - expected).max() / np.abs(expected).max()
        ),
        "gradient": float(np.abs(own - gradient[:first] + whole[:first, first:] @ inverse @ force).max()),
        "chi": abs(change - 0.5 * float(values @ (precision * values) - force @ inverse @ force)),
    }
    world.barrier()
    apart["ranks"] = float(np.ptp(comm.allgather(float(own[0]))))
    matrix.packed.local[...] = -matrix.packed.local
    try:
        without_corrections(matrix, gradient, values, precision, 5, world, comm)
        apart["refused"] = ""
    except UserError as problem:
        apart["refused"] = str(problem)
    assert len(set(comm.allgather(apart["refused"]))) == 1
    if comm.rank == 0:
        print(json.dumps(apart))
