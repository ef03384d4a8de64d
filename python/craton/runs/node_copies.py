"""Vectors that every rank reads, in memory once for each node: made in parts by all ranks, or by rank 0."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from craton.arrays.node_memory import first_of_node
from craton.arrays.segment import Segment
from craton.runs.agreement import share

if TYPE_CHECKING:
    from craton._craton import World

__all__ = ["NodeCopies"]

f64 = NDArray[np.float64]

MOST_AT_ONCE = 1 << 27
"""Elements of a broadcast: MPI counts in 31 bits."""


class NodeCopies:
    """Vectors of float64 that every rank reads: one copy for each node, read-only.

    The ranks of a node make neighbouring parts, so that nodes exchange whole ones. Each vector lives as long as somebody on the
    node refers to it. One of these serves a whole job: its communicator is never freed.
    """

    def __init__(self, world: World, comm: MPI.Comm) -> None:
        """Collective over comm, which has the world's ranks."""
        self.world, self.comm = world, comm
        self._maker = first_of_node(world)
        of_ranks = np.array(comm.allgather(self._maker))
        self._place = int(np.sum(of_ranks < self._maker) + np.sum(of_ranks[: comm.rank] == self._maker))
        self._ranks_before = np.append(0, np.cumsum(np.unique(of_ranks, return_counts=True)[1]))
        self._makers = comm.Split(0 if comm.rank == self._maker else MPI.UNDEFINED, comm.rank)

    def part(self, total: int) -> tuple[int, int]:
        """The contiguous part of range(total) that falls to this rank: first, and one more than the last. Not collective."""
        return share(total, self.comm.size, self._place)

    def of_parts(self, mine: f64, offsets: NDArray[np.int64]) -> f64:
        """Collective, blocking: the parts of all ranks, one after the other.

        mine: elements of this rank's items, part(len(offsets) - 1). offsets: where each item's begin, and the end.
        """
        if self.comm.size == 1:
            return _read_only(mine.view())
        items = len(offsets) - 1
        seen = self._memory(int(offsets[-1]))
        begin, end = offsets[list(self.part(items))]
        seen[begin:end] = mine
        self.world.barrier()
        if self._makers != MPI.COMM_NULL and self._makers.size > 1:
            bounds = offsets[[share(items, self.comm.size, int(rank))[0] for rank in self._ranks_before]]
            for maker, (first, last) in enumerate(pairwise(bounds.tolist())):
                self._send(seen[first:last], maker)
        self.world.barrier()
        return _read_only(seen)

    def of_root(self, values: f64 | None) -> f64:
        """Collective, blocking: the values that rank 0 has."""
        if self.comm.size == 1:
            assert values is not None
            return _read_only(values.view())
        seen = self._memory(self.comm.bcast(None if values is None else len(values)))
        if self.comm.rank == 0:
            seen[...] = values
        if self._makers != MPI.COMM_NULL and self._makers.size > 1:
            self._send(seen, 0)
        self.world.barrier()
        return _read_only(seen)

    def _send(self, seen: f64, maker: int) -> None:
        """Collective over the first ranks of nodes: what one of them has, to all."""
        for first in range(0, len(seen), MOST_AT_ONCE):
            self._makers.Bcast(seen[first : first + MOST_AT_ONCE], root=maker)

    def _memory(self, length: int) -> f64:
        """Of the node."""
        memory = Segment(self.world, length if self.comm.rank == self._maker else 0)
        seen = memory.view(self._maker)
        assert seen is not None, "ranks of a node share memory"
        return seen


def _read_only(values: f64) -> f64:
    values.flags.writeable = False
    return values
