"""What a Python program may leave out when it starts a run: the ranks, and where they print."""

from __future__ import annotations

from typing import TYPE_CHECKING

from craton.runs.notebook import console_or_notebook

if TYPE_CHECKING:
    from mpi4py import MPI
    from rich.console import Console

__all__ = ["ranks_and_console"]


def ranks_and_console(comm: MPI.Comm | None, console: Console | None) -> tuple[MPI.Comm, Console | None]:
    """All ranks where none are named; and the notebook's console, on rank 0, where there is a notebook and no other console."""
    from mpi4py import MPI  # starts MPI

    comm = comm or MPI.COMM_WORLD
    return comm, console_or_notebook(comm, console)
