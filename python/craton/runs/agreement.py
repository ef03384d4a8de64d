"""What ranks agree on: all get a result, or all raise. None waits for one that has failed."""

from __future__ import annotations

import time
import traceback
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

from craton._extension import extension as _craton
from craton.errors import UserError

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["ALONE", "Communicator", "on_all", "on_root", "on_some"]

Result = TypeVar("Result")

PAUSE_GROWS_BY_S, LONGEST_PAUSE_S = 1e-5, 2e-3
"""Between two looks at whether rank 0 is done: what waits briefly loses little, what waits long uses no core."""


class Communicator(Protocol):
    """What a run wants of ranks: mpi4py's Comm, or ALONE. To import mpi4py takes a third of a second, and starts MPI."""

    @property
    def rank(self) -> int:
        """This process's."""

    @property
    def size(self) -> int:
        """Ranks in all."""

    def bcast(self, obj: Any, root: int = 0) -> Any:
        """Collective: rank root's object on every rank."""

    def Ibarrier(self) -> Any:
        """Collective: a request that is done when every rank has called this."""


class _Alone:
    rank, size = 0, 1

    def bcast(self, obj: Any, root: int = 0) -> Any:
        assert root == 0
        return obj

    def Ibarrier(self) -> Any:
        raise NotImplementedError("one rank waits for nobody")


ALONE: Communicator = _Alone()
"""The communicator of a process that talks to nobody and starts no MPI."""


def on_root(comm: Communicator, work: Callable[[], Result]) -> Result:
    """Collective: rank 0 does the work, every rank gets the result: one rank on the file system instead of thousands.

    If it fails all ranks raise: UserError where rank 0 raised one; else rank 0 its own exception, the others RuntimeError.
    The result must be picklable.
    """
    outcome: tuple[Any, str | None, bool] = (None, None, False)
    failure: Exception | None = None
    if comm.rank == 0:
        try:
            outcome = (work(), None, False)
        except Exception as problem:
            failure = problem
            outcome = (None, str(problem), isinstance(problem, UserError))
    if comm.size > 1:
        _wait_for_all(comm)
    result, complaint, by_user = comm.bcast(outcome, root=0)
    if failure is not None:
        raise failure
    if complaint is not None:
        raise UserError(complaint) if by_user else RuntimeError(f"rank 0 failed: {complaint}")
    return cast(Result, result)


def on_some(comm: MPI.Comm, ranks: int, work: Callable[[int], Result]) -> list[Result]:
    """Collective: the first ranks do a share each; rank 0 gets them all, the other ranks an empty list.

    ranks: how many, 1 to the size of comm. work(rank) returns the share of a rank, picklable. If one fails all ranks raise: its own
    rank the exception, the others UserError or MemoryError where it is one, else RuntimeError with the traceback of that rank.
    """
    share, failure = None, None
    if comm.rank < ranks:
        try:
            share = work(comm.rank)
        except Exception as problem:
            failure = problem
    if comm.size > 1:
        _wait_for_all(comm)
    complaint = None if failure is None else _for_others(failure, comm.rank)
    found = comm.gather((share, complaint)) or []
    first = comm.bcast(next((why for _, why in found if why is not None), None), root=0)
    if failure is not None:
        raise failure
    if first is not None:
        kind, text = first
        raise kind(text)
    return [cast(Result, each) for each, _ in found[:ranks]]


def _for_others(failure: Exception, rank: int) -> tuple[type[Exception], str]:
    """What ranks raise of a failure of one of them: an exception that can be pickled, and its text."""
    if isinstance(failure, UserError):
        return UserError, str(failure)
    if isinstance(failure, MemoryError):
        return MemoryError, str(failure)
    return (
        RuntimeError,
        f"rank {rank} failed: {type(failure).__name__}: {failure}\n{''.join(traceback.format_exception(failure))}",
    )


def _wait_for_all(comm: Communicator) -> None:
    """A barrier in which ranks sleep. In those of MPI they keep a core busy, and rank 0 may draw a report for seconds."""
    arrived, pause_s = comm.Ibarrier(), 0.0
    while not arrived.Test():
        time.sleep(pause_s)
        pause_s = min(pause_s + PAUSE_GROWS_BY_S, LONGEST_PAUSE_S)


def on_all(world: _craton.World, work: Callable[[], Result], who: str = "") -> Result:
    """Collective: every rank does its work and gets its own result. A UserError of one rank is raised on all.

    who: where the work calls functions of the user: any exception of theirs is then raised on all, as a UserError that begins
    with `who` and names the rank. Without it other exceptions are bugs and leave this function as they are.
    """
    result, failure, cause = None, "", None
    try:
        result = work()
    except UserError as error:
        failure, cause = str(error), error.__cause__
    except Exception as error:
        if not who:
            raise
        cause = error
        what = " ".join(f"{type(error).__name__}: {error}".split())
        failure = f"{who}: {what} on rank {world.rank}; allowed: arguments and functions that work on every rank"
    try:
        _craton.agree(world, failure)
    except UserError as told:
        raise told from cause
    return cast(Result, result)


def share(total: int, size: int, rank: int) -> tuple[int, int]:
    """The contiguous part of range(total) that falls to a rank: first, and one more than the last."""
    return total * rank // size, total * (rank + 1) // size
