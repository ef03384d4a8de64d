"""Runs the tasks of a graph: what may begin begins, and what failed holds up only what needs it.

    outcome = run_tasks(tasks, cores=2, jobs=5)

A task that is done by its file is not done again. A run may be ended at any moment, by kill -9 too; the next one does what is
missing and no more. The caller's process waits; the tasks end when it does.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from craton._launch import _terminated_as_interrupt
from craton.errors import UserError
from craton.tasks.backend import Backend, Ended
from craton.tasks.graph import Graph, Task
from craton.tasks.local import LocalBackend
from craton.tasks.schedule import Schedule

__all__ = ["Outcome", "TaskRecord", "check_cores", "run_tasks", "utilisation"]

WAIT_S = 0.1
"""The longest time between two calls of progress."""
ERROR = "craton: error: "
CANNOT_BEGIN = 127
"""The code of a task whose command could not be started, as a shell has it."""


@dataclass
class TaskRecord:
    """What became of a task. Times in s from the beginning."""

    name: str
    kind: str
    group: str
    cores: list[int]
    """which"""
    begun_s: float
    ended_s: float = 0.0
    cpu_s: float = 0.0
    """user and system, all of its processes"""
    code: int = 0
    host: str = ""
    """where an engine ran it"""

    @property
    def seconds(self) -> float:
        """Seconds from its beginning to its end."""
        return self.ended_s - self.begun_s


@dataclass
class Outcome:
    """What became of a whole run."""

    records: list[TaskRecord] = field(default_factory=list)
    """in the order in which tasks ended"""
    failures: list[str] = field(default_factory=list)
    """a line each"""
    left: list[str] = field(default_factory=list)
    """names of tasks that were not begun, because what they need failed"""
    seconds: float = 0.0


Progress = Callable[[Sequence[TaskRecord], Sequence[TaskRecord]], object]


def utilisation(records: Iterable[TaskRecord], cores: int, seconds: float) -> tuple[float, float]:
    """Parts of all cores over the whole time: that in which they were given to a task, and that in which they computed."""
    whole = max(cores * seconds, 1e-9)
    given = [(one.seconds * len(one.cores), one.cpu_s) for one in records]
    return sum(core_s for core_s, _ in given) / whole, sum(cpu_s for _, cpu_s in given) / whole


def check_cores(tasks: Iterable[Task], cores: int) -> None:
    """Refuses a task that could never begin. UserError."""
    for task in tasks:
        if task.cores > cores:
            raise UserError(
                f"{task.name}: needs {task.cores} cores; allowed: {cores}, those of the run, or fewer ranks or threads"
            )


def run_tasks(
    tasks: Sequence[Task] | Graph,
    *,
    cores: int,
    jobs: int,
    sequential: bool = False,
    backend: Backend | None = None,
    progress: Progress = lambda _ended, _running: None,
) -> Outcome:
    """Does tasks whose file is not there, in the order that Schedule gives them, at most `jobs` at a time on `cores` cores.

    sequential: phase after phase. backend: what runs them; processes of this machine by default. progress: called with the
    records of what has ended, which grow, and of what runs. UserError for a task that needs more than all cores, ValueError for
    tasks that are no graph, before anything begins. KeyboardInterrupt, SIGTERM and SIGHUP end the tasks.
    """
    graph = tasks if isinstance(tasks, Graph) else Graph(tasks)
    check_cores(graph.tasks, cores)
    with _terminated_as_interrupt():
        run = _Run(graph, Schedule(graph, cores, jobs, sequential=sequential), backend or LocalBackend())
        try:
            run.prepare()
            while run.begin():
                progress(run.outcome.records, list(run.running.values()))
                run.wait()
        finally:
            run.backend.end()
        progress(run.outcome.records, [])
    return run.outcome


def _remove_half_written(results: Iterable[Path]) -> None:
    """What writers that were killed, or lost their folder, have left beside results that are not there (runs/files.py)."""
    names: dict[Path, set[str]] = {}
    for result in results:
        names.setdefault(result.parent, set()).add(result.name)
    for folder, wanted in names.items():
        for left in folder.glob("*.*.new"):
            if left.name.rsplit(".", 2)[0] in wanted:
                with contextlib.suppress(OSError):
                    left.unlink()


class _Run:
    def __init__(self, graph: Graph, schedule: Schedule, backend: Backend) -> None:
        self.graph, self.schedule, self.backend = graph, schedule, backend
        self.outcome = Outcome()
        self.running: dict[str, TaskRecord] = {}
        self.begun = time.monotonic()

    @property
    def now(self) -> float:
        return time.monotonic() - self.begun

    def prepare(self) -> None:
        waiting = [self.graph.tasks[number] for number in self.schedule.waiting()]
        _remove_half_written([task.result for task in waiting])
        self.backend.prepare(waiting)

    def begin(self) -> bool:
        """What may begin; False when there is nothing left that runs."""
        while (found := self.schedule.next(self.now)) is not None:
            task, cores = found
            self.running[task.name] = TaskRecord(task.name, task.kind, task.group, cores, self.now)
            try:
                task.log.parent.mkdir(parents=True, exist_ok=True)
                self.backend.begin(task, cores)
            except (OSError, UserError) as problem:
                self._settle(Ended(task.name, CANNOT_BEGIN, why=f"cannot begin: {problem}"))
        self.outcome.seconds = self.now
        self.outcome.left = [self.graph.tasks[number].name for number in sorted(self.schedule.lost)]
        return bool(self.running)

    def wait(self) -> None:
        """Waits for what ends next."""
        for one in self.backend.ended(WAIT_S):
            self._settle(one)

    def _settle(self, ended: Ended) -> None:
        record = self.running.pop(ended.name)
        record.code, record.cpu_s, record.ended_s, record.host = ended.code, ended.cpu_s, self.now, ended.host
        if ended.seconds is not None:  # else time in an engine's queue would count
            record.begun_s = max(record.begun_s, record.ended_s - ended.seconds)
        self.outcome.records.append(record)
        task = self.graph.tasks[self.graph.numbers[ended.name]]
        done = ended.code == 0 and task.result.is_file()
        if not done:
            self.outcome.failures.append(f"{task.name}: {ended.why or _why(task, ended.code)}")
        self.schedule.ended(ended.name, done=done)


def _why(task: Task, code: int) -> str:
    """The line that the task said, else how it ended."""
    try:
        lines = task.log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    said = [line.removeprefix(ERROR) for line in lines if line.startswith(ERROR)]
    if said:
        return said[0]
    if code < 0:
        return f"ended by {signal.Signals(-code).name}; its output: {task.log}"
    return f"ended with code {code} and left no {task.result.name}; its output: {task.log}"
