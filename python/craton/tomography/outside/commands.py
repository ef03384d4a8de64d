"""The commands of an outside solver: processes of this machine, or tasks of an engine (craton.tasks).

One that has ended well is marked, and never started again for the same model.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from craton.errors import UserError
from craton.runs.words import counted
from craton.tasks import Engine, Task, run_tasks
from craton.tasks.in_worker import revoke
from craton.tasks.marked import run_marked, words_for
from craton.tasks.run import TaskRecord

__all__ = ["Command", "check_engine", "run_here", "run_on_engine"]

TELL_EVERY_S = 60.0
ENGINE = "engine"
"""Folder, in a model's, for what an engine keeps."""


@dataclass(frozen=True)
class Command:
    """A command for one earthquake, or for all that are missing."""

    event: str
    """"" for all"""
    words: Sequence[str]
    marks: Sequence[Path]
    """made when it has ended well"""

    @property
    def name(self) -> str:
        """Of its task, and of its log."""
        return self.event or "all"

    def failed(self, problem: str, log: Path) -> UserError:
        """For one that did not end well."""
        of = f" for event {self.event}" if self.event else ""
        return UserError(
            f"[synthetics] command{of}: {problem}; allowed: a command that ends with 0 (what it printed: {log}); `craton "
            "tomography resume` starts what is missing"
        )


def check_engine(engine: Engine, cores: int) -> None:
    """UserError for an engine that cannot be used, or none of whose workers has so many cores."""
    if engine.name != "local" and cores > engine.task_cores:
        raise UserError(
            f"[synthetics] cores = {cores}: workers of {engine.parsl_config} have at most {engine.task_cores}; allowed: 1 to "
            f"{engine.task_cores}"
        )


def run_here(commands: Sequence[Command], begin_in: Path, folder: Path, together: int) -> None:
    """Runs them on this machine, so many at a time; what they print goes to folder/solver.log. UserError for the first that fails.

    An engine that was killed with an earlier session ends what it still does here.
    """
    revoke(folder / ENGINE)
    log = folder / "solver.log"
    with log.open("ab") as output, ThreadPoolExecutor(together) as pool:
        found = pool.map(lambda one: run_marked(one.words, begin_in, one.marks, output), commands)
        for one, problem in zip(commands, found, strict=True):
            if problem:
                raise one.failed(problem, log)


def run_on_engine(
    commands: Sequence[Command],
    begin_in: Path,
    folder: Path,
    engine: Engine,
    cores: int,
    together: int,
    say: Callable[[str], None],
) -> None:
    """Runs them where the engine does, so many at a time, of so many cores each; what they print goes to folder/solver/NAME.log.

    The engine starts, and ends with the last of them. All see the same file system. UserError for the first that fails, and for an
    engine that does not start.
    """
    tasks = {one.name: _task(one, begin_in, folder.absolute(), cores) for one in commands}
    outcome = run_tasks(
        list(tasks.values()),
        cores=engine.cores,
        jobs=together,
        backend=engine.backend(folder / ENGINE),
        progress=_Progress(len(tasks), say),
    )
    for one in commands:
        said = f"{one.name}: "
        for line in outcome.failures:
            if line.startswith(said):
                raise one.failed(line.removeprefix(said), tasks[one.name].log)


def _task(command: Command, begin_in: Path, folder: Path, cores: int) -> Task:
    words = words_for(command.words, begin_in, command.marks)
    log = folder / "solver" / f"{command.name}.log"
    return Task(
        command.name, command.marks[0].absolute(), lambda: words, log, cores=cores, module="craton.tasks.marked"
    )


class _Progress:
    """Tells now and then how many commands have ended."""

    def __init__(self, commands: int, say: Callable[[str], None]) -> None:
        self.commands, self.say, self.told = commands, say, time.monotonic()

    def __call__(self, ended: Sequence[TaskRecord], running: Sequence[TaskRecord]) -> None:
        if time.monotonic() < self.told + TELL_EVERY_S:
            return
        self.told = time.monotonic()
        self.say(
            f"outside solver: {len(ended)} of {counted(self.commands, 'command')} ended, {len(running)} sent or running"
        )
