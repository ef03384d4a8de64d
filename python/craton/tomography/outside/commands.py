"""The commands of an outside solver: processes of this machine, or tasks of an engine (craton.tasks).

Each is started again until it has left its mark; one that ended well is never started again for the same model.
"""

from __future__ import annotations

import subprocess
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from craton._launch import _die_with_parent, environment_of_a_program
from craton.errors import UserError
from craton.runs.words import counted
from craton.tasks import Engine, Task, run_tasks
from craton.tasks.run import TaskRecord

__all__ = ["Command", "run_here", "run_on_engine"]

TELL_EVERY_S = 60.0

MARKED = """
cd "$1" || exit
mark=$2
shift 2
"$@" || exit
: > "$mark"
"""
"""For sh: a folder to begin in, the mark that a command ended well, its words."""


@dataclass(frozen=True)
class Command:
    """A command for one earthquake, or for all that are missing."""

    event: str
    """"" for all"""
    words: Sequence[str]
    marks: Sequence[Path]
    """made when it has ended well"""

    @property
    def of(self) -> str:
        """For messages: "" for all."""
        return f" for event {self.event}" if self.event else ""


def run_here(commands: Sequence[Command], begin_in: Path, log: Path, together: int) -> None:
    """Runs them on this machine, so many at a time; what they print goes to the log. UserError for the first that fails."""
    with log.open("ab") as output, ThreadPoolExecutor(together) as pool:
        found = pool.map(lambda one: _run(one, begin_in, output), commands)
        for one, problem in zip(commands, found, strict=True):
            if problem:
                raise _failed(one.of, problem, log)


def _run(command: Command, begin_in: Path, output: IO[bytes]) -> str:
    """Why it has failed; "" where it has not."""
    try:
        done = subprocess.run(
            command.words, cwd=begin_in, env=environment_of_a_program(), stdin=subprocess.DEVNULL, stdout=output,
            stderr=subprocess.STDOUT, check=False, preexec_fn=_die_with_parent,
        )  # fmt: skip
    except OSError as problem:
        return f"{problem.filename}: {problem.strerror}"
    if done.returncode:
        return f"ended with {done.returncode}"
    for mark in command.marks:
        mark.touch()
    return ""


def run_on_engine(
    commands: Sequence[Command],
    begin_in: Path,
    folder: Path,
    engine: Engine,
    cores: int,
    together: int,
    say: Callable[[str], None],
) -> None:
    """Runs them where the engine does, so many at a time, of so many cores each; what they print goes to folder/solver/.

    The engine starts, and ends with the last of them. All see the same file system. UserError for the first that fails, for an
    engine that does not start, and where no worker has so many cores.
    """
    logs = folder.absolute() / "solver"
    tasks = {one.event: _task(one, begin_in, logs, cores) for one in commands}
    engine.check(list(tasks.values()), engine.cores)
    outcome = run_tasks(
        list(tasks.values()),
        cores=engine.cores,
        jobs=together,
        backend=engine.backend(folder / "engine"),
        progress=_Progress(len(tasks), say),
    )
    for one in commands:
        if one.marks[0].is_file():
            for mark in one.marks[1:]:
                mark.touch()
    if outcome.failures:
        name, _, problem = outcome.failures[0].partition(": ")
        event = name if name in tasks else ""
        raise _failed(
            f" for event {event}" if event else "", problem.partition("; its output")[0], logs / f"{event or 'all'}.log"
        )


def _task(command: Command, begin_in: Path, logs: Path, cores: int) -> Task:
    mark = command.marks[0].absolute()
    words = ["sh", "-c", MARKED, "sh", str(begin_in), str(mark), *command.words]
    return Task(command.event or "solver", mark, lambda: words, logs / f"{command.event or 'all'}.log", cores=cores)


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


def _failed(of: str, problem: str, log: Path) -> UserError:
    return UserError(
        f"[synthetics] command{of}: {problem}; allowed: a command that ends with 0 (what it printed: {log}); `craton tomography "
        "resume` starts what is missing"
    )
