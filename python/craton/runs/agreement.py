"""What ranks agree on: all get a result, or all raise. None waits for one that has failed."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from craton import _craton
from craton.errors import UserError

if TYPE_CHECKING:  # a third of a second, which processes that talk to nobody need not wait
    from mpi4py import MPI

__all__ = ["on_all", "on_root"]

Result = TypeVar("Result")


def on_root(comm: MPI.Comm, work: Callable[[], Result]) -> Result:
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
    result, complaint, by_user = comm.bcast(outcome, root=0)
    if failure is not None:
        raise failure
    if complaint is not None:
        raise UserError(complaint) if by_user else RuntimeError(f"rank 0 failed: {complaint}")
    return cast(Result, result)


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
