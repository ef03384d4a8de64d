"""A process that has imported a module once and forks for each job: what a job of a second would else spend half of on imports.

    python -m craton.tasks.job_server MODULE

reads a line of JSON for each job from its standard input, {"words": [...], "log": "path"}, forks a process that calls
MODULE.main(words) with its output in that file, and answers on its standard output

    begun PID                           at once
    ended PID CODE CPU_S                code as in subprocess: -N for signal N

It ends, and its jobs with it, when its standard input does.
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

__all__ = ["JobServer", "ServedJob"]

SECONDS_TO_END = 5.0


# ------------------------------------------------------------------------------------------------------ who asks for jobs


class ServedJob:
    """A job of a server. `ended()` is (code, cpu seconds) once it has ended."""

    def __init__(self, server: JobServer, process: subprocess.Popen[bytes], pid: int) -> None:
        self.server, self.process, self.pid = server, process, pid

    def ended(self) -> tuple[int, float] | None:
        found = self.server.ended(self.pid)
        if found is None and self.process.poll() is not None:
            return -signal.SIGTERM, 0.0  # jobs end with their server
        return found


class JobServer:
    """The server as its parent sees it; it starts with the first job, or before it."""

    def __init__(self, module: str, environment: Mapping[str, str]) -> None:
        self.module, self.environment = module, dict(environment)
        self._process: subprocess.Popen[bytes] | None = None
        self._unread = b""
        self._begun: list[int] = []
        self._ended: dict[int, tuple[int, float]] = {}

    def start(self) -> None:
        """Without waiting for it to have imported its module. OSError if there is no process to be had."""
        if self._process is None or self._process.poll() is not None:
            self._start()

    def begin(self, words: Sequence[str], log: Path) -> ServedJob:
        """Waits until the server has imported its module. OSError if there is no server to be had."""
        self.start()
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(json.dumps({"words": list(words), "log": str(log)}).encode() + b"\n")
        self._process.stdin.flush()
        while not self._begun:
            if not self._read(wait=True):
                raise OSError(f"{self.module}: its server ended with code {self._process.wait()}")
        return ServedJob(self, self._process, self._begun.pop())

    def ended(self, pid: int) -> tuple[int, float] | None:
        """Once: its number may come back."""
        while self._read(wait=False):
            pass
        return self._ended.pop(pid, None)

    def close(self) -> None:
        if self._process is None:
            return
        assert self._process.stdin is not None
        with contextlib.suppress(OSError):
            self._process.stdin.close()
        try:
            self._process.wait(SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process = None

    def _start(self) -> None:
        self._unread = b""
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, self.module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=self.environment,
            start_new_session=True,
            preexec_fn=_die_with_parent,
        )

    def _read(self, wait: bool) -> bool:
        """Takes in what the server says; False if that is nothing."""
        if self._process is None or self._process.stdout is None:
            return False
        pipe = self._process.stdout.fileno()
        if not wait and not select.select([pipe], [], [], 0)[0]:
            return False
        found = os.read(pipe, 1 << 16)
        *lines, self._unread = (self._unread + found).split(b"\n")
        for line in lines:
            what, pid, *rest = line.split()
            if what == b"begun":
                self._begun.append(int(pid))
            else:
                self._ended[int(pid)] = (int(rest[0]), float(rest[1]))
        return bool(found)


# ------------------------------------------------------------------------------------------------------------- the server


def _serve(work: Callable[[Sequence[str]], None]) -> None:
    awake, wake = os.pipe()
    os.set_blocking(wake, False)
    os.set_blocking(awake, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake, warn_on_full_buffer=False)
    asked, jobs = b"", 0
    while True:
        ready, _, _ = select.select([0, awake], [], [])
        if awake in ready:
            with contextlib.suppress(BlockingIOError):
                os.read(awake, 1 << 12)
        while jobs:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if not pid:
                break
            jobs -= 1
            _say(f"ended {pid} {os.waitstatus_to_exitcode(status)} {usage.ru_utime + usage.ru_stime:.6f}")
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
                jobs += 1
                _say(f"begun {pid}")


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
