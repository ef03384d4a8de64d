"""On any number of ranks: a World and a matrix of craton go through craton_studies' extension and are those of craton."""

import sys
from pathlib import Path

import craton
import numpy as np
from craton.errors import UserError
from craton_studies.extension import extension as studies
from mpi4py import MPI

SIDE, UPDATE_SIDE, UPDATES = 1024, 128, 12

loaded = {line.split()[-1] for line in Path("/proc/self/maps").read_text().splitlines() if "/_craton." in line}
assert len(loaded) == 1, loaded

for ranks_per_node in (0, 1):
    world = craton.World(MPI.COMM_WORLD, ranks_per_node)
    matrix = craton.ConvergentMatrix(world, SIDE, SIDE, dtype=np.float32)
    core = matrix._core
    studies.add_updates(world, core, UPDATE_SIDE, 0, UPDATES)
    if world.size > 1:
        assert sum(MPI.COMM_WORLD.allgather(world.stats()["messages_executed"])) > 0 or ranks_per_node == 0
    whole = matrix.read_block(0, 0, SIDE, SIDE)
    upper = np.triu(whole)
    assert studies.sum_of_matrix(np.ascontiguousarray(upper.T)) == studies.expected_sum(SIDE, UPDATE_SIDE, 0, UPDATES)
    by_hand = np.zeros((SIDE, SIDE), np.float32)
    for number in range(UPDATES):
        indices, block = studies.update(SIDE, UPDATE_SIDE, 0, number)
        by_hand[np.ix_(indices, indices)] += block
    assert np.array_equal(upper, np.triu(by_hand))
    # both extensions throw one UserError, and the matrix goes on living in craton
    try:
        studies.add_updates(world, core, UPDATE_SIDE + 1, 0, UPDATES)
    except UserError as error:
        assert "multiple of 16" in str(error)
    else:
        raise AssertionError("an update of 129 rows was accepted")
    matrix.update(np.ones((1, 1), np.float32), [0], [1])
    matrix.commit()
    assert matrix.read(0, 1) == whole[0, 1] + world.size
    for other in (np.float64, np.int64):
        try:
            studies.add_updates(world, craton.ConvergentMatrix(world, 64, 64, dtype=other)._core, 16, 0, 1)
        except TypeError:
            continue
        raise AssertionError(f"a matrix of {other} was taken for one of float32")
    world.barrier()
if MPI.COMM_WORLD.rank == 0:
    print(f"shared on {MPI.COMM_WORLD.size} ranks")
sys.stdout.flush()
