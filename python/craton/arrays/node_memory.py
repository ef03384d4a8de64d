"""Arrays that every rank of a node reads and one of them makes, in memory that the node's ranks share."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from craton.arrays.segment import Segment
from craton.errors import UserError

if TYPE_CHECKING:
    from craton._craton import World

__all__ = ["Sharing", "first_of_node", "made_alone", "made_once_per_node"]

f64 = NDArray[np.float64]
Sharing = Callable[[tuple[int, ...], Callable[[], f64]], f64]
"""(shape, make): the array of that shape that make() returns, on every rank."""


def made_alone(_shape: tuple[int, ...], make: Callable[[], f64]) -> f64:
    """Each rank makes its own. Not collective."""
    return make()


def made_once_per_node(world: World, comm: MPI.Comm) -> Sharing:
    """The lowest rank of each node makes it, the others wait and see the same memory, which must not be written to afterwards.

    Collective over comm, which has the world's ranks, at each call; blocking. What make() raises anywhere all ranks raise.
    """

    def share(shape: tuple[int, ...], make: Callable[[], f64]) -> f64:
        maker = first_of_node(world)
        memory = Segment(world, int(np.prod(shape)) if world.rank == maker else 0)
        complaint: tuple[str, bool] | None = None
        failure: Exception | None = None
        if world.rank == maker:
            try:
                memory.local.reshape(shape)[...] = make()
            except Exception as problem:
                failure, complaint = problem, (str(problem), isinstance(problem, UserError))
        complaints = [found for found in comm.allgather(complaint) if found is not None]
        if failure is not None:
            raise failure
        if complaints:
            text, by_user = complaints[0]
            raise UserError(text) if by_user else RuntimeError(f"another rank failed: {text}")
        seen = memory.view(maker)
        assert seen is not None, "ranks of a node share memory"
        seen = seen.reshape(shape)
        seen.flags.writeable = False
        return seen

    return made_alone if comm.size == 1 else share


def first_of_node(world: World) -> int:
    """The lowest rank of this rank's node. Not collective."""
    return next(rank for rank in range(world.size) if world.shares_memory_with(rank))
