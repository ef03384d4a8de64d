"""Arrays that one rank of a node makes and all of it read; two virtual nodes where there are four ranks.

mpiexec -n 4 python node_arrays.py
"""

import numpy as np
from craton import UserError, World
from craton.arrays.node_memory import made_once_per_node
from mpi4py import MPI

comm = MPI.COMM_WORLD
world = World(comm, ranks_per_node=2 if comm.size > 2 else 0)
share = made_once_per_node(world, comm)
made = []


def make():
    made.append(comm.rank)
    return np.arange(12.0).reshape(3, 4) + 100.0


first = share((3, 4), make)
assert np.array_equal(first, np.arange(12.0).reshape(3, 4) + 100.0)
makers = [rank for part in comm.allgather(made) for rank in part]
assert makers == list(range(0, comm.size, 2)), makers
second = share((5,), lambda: np.full(5, 7.0))
assert np.all(second == 7.0) and first[2, 3] == 111.0
assert np.array_equal(first @ np.ones(4), np.array([406.0, 422.0, 438.0]))


def wrong():
    raise UserError("length = 0; allowed: more")


try:
    share((2,), wrong)
    raise SystemExit("no error")
except UserError as error:
    assert str(error) == "length = 0; allowed: more", error
try:
    share((2,), lambda: 1 / 0)
    raise SystemExit("no error")
except (ZeroDivisionError, RuntimeError) as error:
    assert "division by zero" in str(error)
comm.Barrier()
if comm.rank == 0:
    print("node arrays: ok")
