"""A process that has imported a module once and forks for each job: what a job of a second would else spend half of on imports.

    python -m craton.tasks.forked MODULE

reads a line of JSON for each job from its standard input, {"job": 3, "words": [...], "log": "path"}, forks a process that calls
MODULE.main(words) with its output in that file, and answers on its standard output

    begun JOB PID
    ended JOB CODE CPU_S                code as in subprocess: -N for signal N

It ends, and its jobs with it, when its standard input does.

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
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import mpi4py

from craton._launch import _die_with_parent, main_guard
from craton.tasks.backend import Ended

__all__ = ["JobServer"]

SECONDS_TO_END = 5.0


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
            preexec_fn=_die_with_parent,
        )

    def begin(self, name: str, words: Sequence[str], log: Path) -> None:
        """Asks for a job, without waiting for it to begin. OSError if there is no server to be had."""
        self.start()
        assert self._process is not None and self._process.stdin is not None
        self._count += 1
        self._running[self._count] = name, None
        asked = {"job": self._count, "words": list(words), "log": str(log)}
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


def _serve(work: Callable[[Sequence[str]], None]) -> None:
    awake, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(awake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    asked: bytes = b""
    jobs: dict[int, int] = {}
    while True:
        ready, _, _ = select.select([0, awake], [], [])
        if awake in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(awake, 1 << 12)
        while jobs:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if not pid:
                break
            code, cpu_s = os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime
            _say(f"ended {jobs.pop(pid)} {code} {cpu_s:.6f}")
        if 0 in ready:
            found = os.read(0, 1 << 16)
            if not found:
                return
            *lines, asked = (asked + found).split(b"\n")
            for line in lines:
                job = json.loads(line)
                server, pid = os.getpid(), os.fork()
                if pid == 0:
                    _do(work, job, server)
                jobs[pid] = job["job"]
                _say(f"begun {job['job']} {pid}")


def _say(line: str) -> None:
    os.write(1, line.encode() + b"\n")


def _do(work: Callable[[Sequence[str]], None], job: Mapping[str, Any], server: int) -> None:
    """In the job's own process, which does not come back from here."""
    code = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.setsid()
        _die_with_parent()
        if os.getppid() != server:
            os._exit(1)
        log = os.open(job["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for own, to in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(own, to)
        with main_guard():
            work(job["words"])
        code = 0
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    finally:
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()
        os._exit(code)


if __name__ == "__main__":
    mpi4py.rc.initialize = False  # these processes talk to nobody
    _serve(importlib.import_module(sys.argv[1]).main)
