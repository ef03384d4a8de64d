"""Tasks and what comes after what. A task is done when its file is there; nothing else is kept about it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

from craton.described import Described

__all__ = ["Graph", "Task"]


@dataclass(frozen=True)
class Task:
    """A command that leaves the file `result`. It must write aside and rename, so that the file is whole once it is there."""

    name: str
    """of its own in a graph"""
    result: Path
    command: Callable[[], Sequence[str]]
    """Asked when the task begins: the words may depend on what an earlier run has left."""
    log: Path
    """where its output goes; its folder is made"""
    after: tuple[str, ...] = ()
    """names of the tasks that must be done before"""
    cores: int = 1
    """of all its ranks together"""
    ranks: int = 1
    """of MPI; a divisor of cores"""
    start_ranks: tuple[str, ...] = ()
    """Words after those of command that make it start its ranks itself, where no launcher of the engine does."""
    cost: float = 1.0
    """predicted s; weighs tasks against each other"""
    module: str = ""
    """Python module whose main(words) does it in a process that is forked with the module imported; "": a program."""
    shares_process: bool = False
    """Of a module: the process may have done other tasks before and may do others after it. For tasks of milliseconds that leave
    nothing behind in the module: a fork costs several."""
    kind: str = ""
    group: str = ""
    """kind and group go into the record as they are"""
    phase: int = 0
    """In a sequence a task begins when all of earlier phases have ended."""
    leading: bool = False
    """One of these is kept going before anything else: what all others wait for in the end."""

    def words(self) -> list[str]:
        """The command that does all of it, its ranks too."""
        return [*self.command(), *self.start_ranks]


class Graph(Described):
    """Tasks in their given order, with what each waits for. ValueError for a name given twice, an unknown name or a circle."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self.tasks = tuple(tasks)
        self.numbers = {task.name: number for number, task in enumerate(self.tasks)}
        """by name"""
        if len(self.numbers) < len(self.tasks):
            twice = next(task.name for number, task in enumerate(self.tasks) if self.numbers[task.name] != number)
            raise ValueError(f"two tasks are called '{twice}'; allowed: a name of its own for each")
        self.after = [self._numbers_after(task) for task in self.tasks]
        self.followers: list[list[int]] = [[] for _ in self.tasks]
        for number, before in enumerate(self.after):
            for one in before:
                self.followers[one].append(number)
        self.chain = self._chains()
        """predicted s from the beginning of each task to the end of the longest chain of tasks that wait for it"""

    def _facts(self) -> dict[str, object]:
        return {"tasks": len(self.tasks)}

    def done(self) -> list[bool]:
        """Looks which results are there."""
        return [task.result.is_file() for task in self.tasks]

    def _numbers_after(self, task: Task) -> list[int]:
        try:
            return [self.numbers[name] for name in task.after]
        except KeyError as unknown:
            raise ValueError(f"{task.name}: after {unknown}, which is no task") from None

    def _chains(self) -> list[float]:
        """From the last tasks to the first ones."""
        found = [task.cost for task in self.tasks]
        try:
            order = tuple(TopologicalSorter(dict(enumerate(self.after))).static_order())
        except CycleError as error:
            circle = self.tasks[error.args[1][0]].name
            raise ValueError(f"{circle}: waits for itself through others") from None
        for number in reversed(order):
            for one in self.after[number]:
                found[one] = max(found[one], self.tasks[one].cost + found[number])
        return found
