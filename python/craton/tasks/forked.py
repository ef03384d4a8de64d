"""A process that has imported a module once and forks for each job: what a job of a second would else spend half of on imports.

    python -m craton.tasks.forked MODULE

reads a line of JSON for each job from its standard input, {"job": 3, "words": [...], "log": "path", "shares": false}, forks a
process that calls MODULE.main(words) with its output in that file, and answers on its standard output

    begun JOB PID
    ended JOB CODE CPU_S                code as in subprocess: -N for signal N

It ends, and its jobs with it, when its standard input does. A job that shares its process goes to one that has done such jobs
before, and is forked only where all of these are busy.

Why not multiprocessing's forkserver: each of its processes imports the program's main module again. Under the craton command a job
takes 62 ms there from its beginning to its end (best 56), and 8.5 ms here (best 5.5): medians of 40 jobs in turn that create an
empty file, with SciPy imported (`craton bench tasks`). In a program without a main module it is 8.5 ms there (best 7.3) and 8.0 ms
here (best 6.6). It has one list of modules for the whole process, and does not tell the CPU time of a job that was killed.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import resource
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mpi4py

from craton._launch import main_guard
from craton._with_parent import die_with_parent
from craton.tasks.backend import Ended

__all__ = ["JobServer"]

SECONDS_TO_END = 5.0
JOBS_OF_A_PROCESS = 1000
"""That share one, at most: what they leave behind does not grow for ever."""


# ------------------------------------------------------------------------------------------------------ who asks for jobs


class JobServer:
    """The server as its parent sees it; it starts with the first job, or before it."""

    def __init__(self, module: str, environment: Mapping[str, str]) -> None:
        self.module, self.environment = module, dict(environment)
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""
        self._count = 0
        self._running: dict[int, tuple[str, int | None]] = {}
        """by number: name, and pid once it has begun"""

    @property
    def pids(self) -> list[int]:
        """Process ids of the jobs that have begun, and have not ended as far as ended() has told."""
        return [pid for _, pid in self._running.values() if pid is not None]

    @property
    def news(self) -> int | None:
        """A descriptor that can be read when the server has something to tell."""
        return self._process.stdout.fileno() if self._process is not None and self._process.stdout is not None else None

    def start(self) -> None:
        """Starts the server, without waiting for its imports. OSError if there is no process to be had."""
        if self._process is not None:
            return
        self._unread = b""
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, self.module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.environment,
            start_new_session=True,
            preexec_fn=_of_this_parent,
        )

    def begin(self, name: str, words: Sequence[str], log: Path, shares_process: bool = False) -> None:
        """Asks for a job, without waiting for it to begin. OSError if there is no server to be had."""
        self.start()
        assert self._process is not None and self._process.stdin is not None
        self._count += 1
        self._running[self._count] = name, None
        asked = {"job": self._count, "words": list(words), "log": str(log), "shares": shares_process}
        with contextlib.suppress(BrokenPipeError):  # the server has ended: ended() tells so
            self._process.stdin.write(json.dumps(asked).encode() + b"\n")
            self._process.stdin.flush()

    def ended(self) -> list[Ended]:
        """Jobs that have ended since the last call. All of them end with their server; the next job starts another one."""
        found: list[Ended] = []
        while (news := self.news) is not None and select.select([news], [], [], 0)[0]:
            said = os.read(news, 1 << 16)
            if not said:
                code = self._stopped()
                why = f"{self.module}: its server ended with code {code}"
                found += [Ended(name, -signal.SIGTERM, why=why) for name, _ in self._running.values()]
                self._running.clear()
                break
            *lines, self._unread = (self._unread + said).split(b"\n")
            for line in lines:
                what, number, *rest = line.split()
                if what == b"begun":
                    self._running[int(number)] = self._running[int(number)][0], int(rest[0])
                else:
                    name, _ = self._running.pop(int(number))
                    found.append(Ended(name, int(rest[0]), float(rest[1])))
        return found

    def close(self) -> None:
        """Ends the server, and its jobs with it."""
        if self._process is not None:
            self._stopped()

    def _stopped(self) -> int:
        """Its code."""
        process, self._process = self._process, None
        assert process is not None and process.stdin is not None and process.stdout is not None
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            process.kill()
        process.stdout.close()
        return process.wait()


# ------------------------------------------------------------------------------------------------------------- the server


class _Server:
    """Answers the parent's requests."""

    def __init__(self, work: Callable[[Sequence[str]], None]) -> None:
        self.work = work
        self.awake, wake = os.pipe()
        os.set_blocking(wake, False)
        os.set_blocking(self.awake, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
        self.jobs: dict[int, int] = {}
        """by pid of the process that does it"""
        self.shared: dict[int, _Shared] = {}
        """by the descriptor that tells that a job of a shared process has ended"""
        self.idle: list[_Shared] = []

    def serve(self) -> None:
        """Until the parent has no more."""
        asked = b""
        while True:
            ready, _, _ = select.select([0, self.awake, *self.shared], [], [])
            for one in ready:
                if one in self.shared:
                    self._hear(self.shared[one])
            if self.awake in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(self.awake, 1 << 12)
                self._bury()
            if 0 in ready:
                found = os.read(0, 1 << 16)
                if not found:
                    return
                *lines, asked = (asked + found).split(b"\n")
                for line in lines:
                    self._begin(line)

    def _begin(self, line: bytes) -> None:
        job = json.loads(line)
        if job["shares"]:
            process = self.idle.pop() if self.idle else self._fork_shared()
            pid = process.pid
            process.ask(line)
        else:
            server, pid = os.getpid(), os.fork()
            if pid == 0:
                self._close_shared()
                _do_alone(self.work, job, server)
        self.jobs[pid] = job["job"]
        _say(f"begun {job['job']} {pid}")

    def _fork_shared(self) -> _Shared:
        (hears, ask), (told, tells) = os.pipe(), os.pipe()
        server, pid = os.getpid(), os.fork()
        if pid == 0:
            os.close(ask)
            os.close(told)
            self._close_shared()
            _do_many(self.work, hears, tells, server)
        os.close(hears)
        os.close(tells)
        os.set_blocking(told, False)
        process = self.shared[told] = _Shared(pid, ask, told)
        return process

    def _close_shared(self) -> None:
        """In a process of a job: the pipes of others."""
        for one in self.shared.values():
            os.close(one.asks)
            os.close(one.told)

    def _hear(self, process: _Shared) -> None:
        """A line for each job that it has done. Nothing: it has died, and SIGCHLD says how."""
        said = b""
        with contextlib.suppress(BlockingIOError):
            said = os.read(process.told, 1 << 12)
        for line in said.splitlines():
            _say(f"ended {self.jobs.pop(process.pid)} {line.decode()}")
            process.jobs += 1
            process.cpu_s += float(line.split()[1])
            if process.jobs < JOBS_OF_A_PROCESS:
                self.idle.append(process)
            else:
                self._forget(process)

    def _bury(self) -> None:
        """Processes that have ended."""
        while self.jobs or self.shared:
            try:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if not pid:
                break
            cpu_s = usage.ru_utime + usage.ru_stime
            for process in [one for one in self.shared.values() if one.pid == pid]:
                self._hear(process)  # what it has said before
                cpu_s = max(0.0, cpu_s - process.cpu_s)
                self._forget(process)
            if pid in self.jobs:
                code = os.waitstatus_to_exitcode(status)
                _say(f"ended {self.jobs.pop(pid)} {code} {cpu_s:.6f}")

    def _forget(self, process: _Shared) -> None:
        if self.shared.pop(process.told, None) is None:
            return
        if process in self.idle:
            self.idle.remove(process)
        os.close(process.asks)  # it ends when it reads that
        os.close(process.told)


@dataclass
class _Shared:
    """A process that does one job after the other, as the server sees it."""

    pid: int
    asks: int
    told: int
    jobs: int = 0
    cpu_s: float = 0.0
    """of these"""

    def ask(self, line: bytes) -> None:
        with contextlib.suppress(BrokenPipeError):  # it has just died: SIGCHLD tells
            os.write(self.asks, line + b"\n")


def _say(line: str) -> None:
    os.write(1, line.encode() + b"\n")


def _do_alone(work: Callable[[Sequence[str]], None], job: Mapping[str, Any], server: int) -> None:
    """In the job's own process, which does not come back from here."""
    code = 1
    try:
        _leave_server(server)
        code = _do(work, job)
    finally:
        os._exit(code)


def _do_many(work: Callable[[Sequence[str]], None], hears: int, tells: int, server: int) -> None:
    """In a process that does what it reads, line by line, and tells how each ended. It does not come back from here."""
    try:
        _leave_server(server)
        with os.fdopen(hears, "rb") as lines:
            for line in lines:
                before = _cpu_s()
                code = _do(work, json.loads(line))
                os.write(tells, f"{code} {_cpu_s() - before:.6f}\n".encode())
    finally:
        os._exit(0)


def _of_this_parent() -> None:
    """In the server before it is Python. Interrupts wait for its imports, which would end with a traceback."""
    die_with_parent()
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _leave_server(server: int) -> None:
    """Makes this process a group of its own that ends with the server."""
    signal.set_wakeup_fd(-1)
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.setsid()
    die_with_parent()
    if os.getppid() != server:
        os._exit(1)


def _do(work: Callable[[Sequence[str]], None], job: Mapping[str, Any]) -> int:
    """One job, with its output in its log. Its code."""
    try:
        log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for own, to in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(own, to)
        for own in (nothing, log):
            os.close(own)
        with main_guard():
            work(job["words"])
        return 0
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # main_guard lets nothing else through; before it, a log that cannot be opened
        return 1
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()


def _cpu_s() -> float:
    """Of this process and those that it has waited for."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in used)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # an interrupt ends the server without a word; who asks for jobs tells
    mpi4py.rc.initialize = False  # these processes talk to nobody
    _Server(importlib.import_module(sys.argv[1]).main).serve()
