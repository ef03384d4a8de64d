"""What begins tasks and tells that they ended: processes of this machine (local.py), or an engine (parsl_backend.py)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from craton.tasks.graph import Task

__all__ = ["Backend", "Ended"]


@dataclass(frozen=True)
class Ended:
    """How a task ended."""

    name: str
    code: int
    """0: well; -N: by signal N"""
    cpu_s: float = 0.0
    """user and system, of all its processes"""
    why: str = ""
    """what went wrong, where the task's own output cannot say it"""
    seconds: float | None = None
    """that it ran; None: from begin to ended"""
    host: str = ""
    """where it ran, if not here"""


class Backend(Protocol):
    """One thread of one process calls it."""

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Called once, with the tasks that may begin: what takes time before the first of them can start now.

        UserError if it cannot run them.
        """

    def begin(self, task: Task, cores: Sequence[int]) -> None:
        """Begins task.command() with its output in task.log, without waiting for it. cores: numbers of the task's own cores.

        OSError or UserError if it cannot begin: then it has failed, and others go on.
        """

    def ended(self, wait_s: float) -> Sequence[Ended]:
        """Tasks that have ended since the last call, each once. Waits for the first of them, up to wait_s.

        UserError if there is no backend any more.
        """

    def end(self) -> None:
        """Ends all tasks that still run, and what the backend keeps for them."""
