"""Many jobs on the cores of a machine: what may run runs, at most so many at a time, and what failed holds up only what needs it.

A task is a command that leaves a file. It is done when that file is there under its name; who writes it must write aside and
rename. So a run may be ended at any moment, by kill -9 too, and the next one does what is missing and no more.

    records = run_tasks(tasks, cores=2, jobs=5)

The scheduler is one process that waits; its jobs end when it does.
"""

from __future__ import annotations

import contextlib
import math
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from craton._launch import _die_with_parent, _terminated_as_interrupt
from craton.errors import UserError
from craton.tasks.job_server import JobServer, ServedJob

__all__ = ["Outcome", "Task", "TaskRecord", "check_cores", "run_tasks", "utilisation"]

LOOK_EVERY_S = 0.02
SECONDS_TO_END = 5.0
ERROR = "craton: error: "


@dataclass(frozen=True)
class Task:
    """A command that leaves `result`."""

    name: str
    kind: str
    site: str
    phase: int
    """In a sequence a task begins when all of earlier phases have ended."""
    cores: int
    result: Path
    command: Callable[[], Sequence[str]]
    """Asked when it begins: it may depend on what an earlier run has left."""
    log: Path
    module: str = ""
    """Python module whose main(words) does it, in a process forked from one that has imported it; command gives those words."""
    after: tuple[str, ...] = ()
    cost: float = 1.0
    """Predicted, s, about: what goes first, and the progress bar, depend on it."""
    leading: bool = False
    """One of these is kept going before anything else: what all others wait for in the end."""


@dataclass
class TaskRecord:
    """What became of a task. Times in s from the beginning."""

    name: str
    kind: str
    site: str
    cores: list[int]
    """which"""
    begun_s: float
    ended_s: float = 0.0
    cpu_s: float = 0.0
    """user and system, all of its processes"""
    code: int = 0

    @property
    def seconds(self) -> float:
        return self.ended_s - self.begun_s


@dataclass
class Outcome:
    """Of a whole run."""

    records: list[TaskRecord] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    """a line each"""
    left: list[str] = field(default_factory=list)
    """not begun, because what they need failed"""
    seconds: float = 0.0


def utilisation(records: Sequence[TaskRecord], cores: int, seconds: float) -> tuple[float, float]:
    """Of all cores over the whole time: how much of it they were given to a job, and how much of it they computed."""
    whole = max(cores * seconds, 1e-9)
    return (
        sum(one.seconds * len(one.cores) for one in records) / whole,
        sum(one.cpu_s for one in records) / whole,
    )


def check_cores(tasks: Sequence[Task], cores: int) -> None:
    """UserError for a task that could never begin."""
    for task in tasks:
        if task.cores > cores:
            raise UserError(
                f"{task.name}: needs {task.cores} cores; allowed: {cores}, those of the run, or fewer ranks or threads"
            )


def run_tasks(
    tasks: Sequence[Task],
    *,
    cores: int,
    jobs: int,
    sequential: bool = False,
    progress: Callable[[Sequence[TaskRecord], Sequence[TaskRecord]], object] = lambda ended, running: None,
) -> Outcome:
    """Does those whose file is not there. Order: one leading task first, then others as they are given, then further leading ones;
    where that would make the leading ones end too late, those first on which most work waits, so that short tasks fill the cores to
    the last (list scheduling by the longest chain, Graham 1969). sequential: phase after phase. progress: called with what
    has ended and what runs. UserError for a task that needs more than all cores, before anything begins; KeyboardInterrupt, SIGTERM
    and SIGHUP end the jobs."""
    check_cores(tasks, cores)
    with _terminated_as_interrupt():
        run = _Run(tasks, cores, jobs, sequential)
        try:
            run.start_servers()
            while run.step():
                progress(run.outcome.records, run.running_records)
                time.sleep(LOOK_EVERY_S)
        finally:
            run.end()
        progress(run.outcome.records, [])
    return run.outcome


class _Run:
    def __init__(self, tasks: Sequence[Task], cores: int, jobs: int, sequential: bool) -> None:
        self.begun = time.monotonic()
        self.done = {task.name for task in tasks if task.result.is_file()}
        self.waiting = [task for task in tasks if task.name not in self.done]
        self.failed: set[str] = set()
        self.cores, self.free = cores, set(range(cores))
        self.chain = _chains(tasks)
        self.jobs, self.sequential = jobs, sequential
        self.environment = dict(os.environ) | {name: "1" for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")}
        modules = {task.module for task in self.waiting if task.module}
        self.servers = {name: JobServer(name, self.environment) for name in sorted(modules)}
        self.running: list[tuple[Task, TaskRecord, _Program | ServedJob]] = []
        self.outcome = Outcome()

    @property
    def now(self) -> float:
        return time.monotonic() - self.begun

    @property
    def running_records(self) -> list[TaskRecord]:
        return [record for _, record, _ in self.running]

    def start_servers(self) -> None:
        """Now: what they import they have by the time of their first job."""
        for server in self.servers.values():
            server.start()

    def step(self) -> bool:
        """Looks who has ended, begins what may; False when there is nothing left."""
        self._reap()
        while (task := self._next()) is not None:
            self._begin(task)
        self.outcome.seconds = self.now
        if self.running:
            return True
        self.outcome.left = [task.name for task in self.waiting]
        return False

    def _next(self) -> Task | None:
        if len(self.running) >= self.jobs:
            return None
        ready = [task for task in self.waiting if all(name in self.done for name in task.after)]
        if self.sequential:
            at = min((task.phase for task in self._hopeful()), default=0)
            ready = [task for task in ready if task.phase == at]
        elif self._no_slack():
            ready.sort(key=lambda task: -self.chain[task.name])
        elif any(task.leading for task, _, _ in self.running):
            ready.sort(key=lambda task: task.leading)
        else:
            ready.sort(key=lambda task: not task.leading)
        return next((task for task in ready if task.cores <= len(self.free)), None)

    def _no_slack(self) -> bool:
        """Whether leading tasks not yet begun, and what follows the last of them, take as long as all that is left on all cores:
        then anything else that went before them would leave cores idle in the end."""
        leading = [task for task in self.waiting if task.leading]
        if not leading:
            return True
        rounds = math.ceil(sum(task.cores for task in leading) / self.cores)
        longest = (rounds - 1) * max(task.cost for task in leading) + max(self.chain[task.name] for task in leading)
        left = sum(task.cost * task.cores for task in self.waiting)
        left += sum(max(0.0, task.cost - (self.now - at.begun_s)) * task.cores for task, at, _ in self.running)
        return longest >= left / self.cores

    def _hopeful(self) -> list[Task]:
        """Running, or waiting for nothing that has failed."""
        lost = set(self.failed)
        waiting = []
        for task in self.waiting:  # in an order in which tasks come after what they need
            if lost & set(task.after):
                lost.add(task.name)
            else:
                waiting.append(task)
        return [task for task, _, _ in self.running] + waiting

    def _begin(self, task: Task) -> None:
        self.waiting.remove(task)
        own = sorted(self.free)[: task.cores]
        self.free -= set(own)
        record = TaskRecord(task.name, task.kind, task.site, own, self.now)
        task.log.parent.mkdir(parents=True, exist_ok=True)
        job: _Program | ServedJob
        if task.module:
            job = self.servers[task.module].begin(task.command(), task.log)
        else:
            job = _Program(task, self.environment)
        self.running.append((task, record, job))

    def _reap(self) -> None:
        for running in list(self.running):
            task, record, job = running
            if (ended := job.ended()) is None:
                continue
            self.running.remove(running)
            record.code, record.cpu_s = ended
            record.ended_s = self.now
            self.free |= set(record.cores)
            self.outcome.records.append(record)
            if record.code == 0 and task.result.is_file():
                self.done.add(task.name)
            else:
                self.failed.add(task.name)
                self.outcome.failures.append(f"{task.name}: {_why(task, record.code)}")

    def end(self) -> None:
        """Of what still runs: asked to, then made to."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            for _, _, job in self.running:
                with contextlib.suppress(OSError):
                    os.killpg(job.pid, number)
            until = time.monotonic() + SECONDS_TO_END
            while self.running and time.monotonic() < until:
                self.running = [one for one in self.running if one[2].ended() is None]
                time.sleep(LOOK_EVERY_S)
        for server in self.servers.values():
            server.close()


class _Program:
    """A job that is a program of its own."""

    def __init__(self, task: Task, environment: dict[str, str]) -> None:
        with task.log.open("wb") as log:
            self.process = subprocess.Popen(
                list(task.command()),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
                preexec_fn=_die_with_parent,
            )
        self.pid = self.process.pid

    def ended(self) -> tuple[int, float] | None:
        """Once: code and cpu seconds."""
        pid, status, usage = os.wait4(self.pid, os.WNOHANG)
        if not pid:
            return None
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return self.process.returncode, usage.ru_utime + usage.ru_stime


def _chains(tasks: Sequence[Task]) -> dict[str, float]:
    """Predicted cost from the beginning of each task to the end of the longest chain of tasks that wait for it."""
    found: dict[str, float] = {}
    behind = dict.fromkeys((task.name for task in tasks), 0.0)
    for task in reversed(tasks):  # in an order in which tasks come after what they need
        found[task.name] = task.cost + behind[task.name]
        for name in task.after:
            behind[name] = max(behind.get(name, 0.0), found[task.name])
    return found


def _why(task: Task, code: int) -> str:
    """The line that the job said, else how it ended."""
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
