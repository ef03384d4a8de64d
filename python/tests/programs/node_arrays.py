"""Arrays that one rank of a node makes and all of it read; two virtual nodes where there are four ranks.

mpiexec -n 4 python node_arrays.py
"""

import numpy as np
from craton import UserError, World
from craton.arrays.node_memory import made_once_per_node
from craton.runs.node_copies import NodeCopies
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

nodes = NodeCopies(world, comm)
offsets = np.array([0, 3, 3, 10, 11, 20, 26])  # elements of six items, one of which has none
first, last = nodes.part(6)
assert sum(comm.allgather(last - first)) == 6
for times in (1.0, 2.0):
    whole = nodes.of_parts(times * np.arange(offsets[first], offsets[last]), offsets)
    assert np.array_equal(whole, times * np.arange(26.0)), whole
    assert comm.size == 1 or not whole.flags.writeable
told = nodes.of_root(np.linspace(0.0, 1.0, 7) if comm.rank == 0 else None)
assert np.array_equal(told, np.linspace(0.0, 1.0, 7)) and np.array_equal(whole, 2.0 * np.arange(26.0))
assert nodes.of_root(np.empty(0) if comm.rank == 0 else None).size == 0
# One copy for each node: what the first rank of a node writes the others see.
if comm.size > 1:
    whole.flags.writeable = True
    maker = next(rank for rank in range(world.size) if world.shares_memory_with(rank))
    if comm.rank == maker:
        whole[0] = 100.0 + maker
    comm.Barrier()
    assert whole[0] == 100.0 + maker
comm.Barrier()
if comm.rank == 0:
    print("node arrays: ok")
