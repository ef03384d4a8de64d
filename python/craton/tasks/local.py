"""Tasks as processes of this machine: programs, and functions in processes forked from one that has imported their module."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from collections.abc import Collection, Mapping, Sequence
from multiprocessing.connection import wait

from craton._mpi_folders import remove_abandoned
from craton._with_parent import die_with_parent
from craton.described import Described
from craton.tasks.backend import Ended
from craton.tasks.forked import JobServer
from craton.tasks.graph import Task

__all__ = ["LocalBackend"]

LOOK_EVERY_S = 0.02
SECONDS_TO_END = 5.0
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS")


class LocalBackend(Described):
    """A Backend. Each task is a process group of its own, which ends with this process, even if that ends by kill -9.

    BLAS has one thread in each; a program that wants more sets it itself.
    """

    def __init__(self, environment: Mapping[str, str] | None = None) -> None:
        """environment: of its processes; by default that of this one."""
        self._environment = dict(os.environ if environment is None else environment) | dict.fromkeys(ONE_THREAD, "1")
        self._programs: dict[str, _Program] = {}
        self._servers: dict[str, JobServer] = {}
        self._killed = False
        """a job was, whose process may not have been gone yet"""

    def _facts(self) -> dict[str, object]:
        return {"processes": "of this machine"}

    def prepare(self, tasks: Sequence[Task]) -> None:
        """Starts the servers of the tasks' modules: they import while the first programs run."""
        self.serve({task.module for task in tasks if task.module})

    def serve(self, modules: Collection[str]) -> None:
        """Starts the servers of modules."""
        for module in sorted(modules):
            self._server(module).start()

    def begin(self, task: Task, cores: Sequence[int]) -> None:  # noqa: ARG002 - a process does not keep to its cores
        """Begins task.words(). OSError for a program or a server that does not start."""
        if task.module:
            self._server(task.module).begin(task.name, task.words(), task.log, task.shares_process)
        else:
            self._programs[task.name] = _Program(task, self._environment)

    def ended(self, wait_s: float) -> list[Ended]:
        """Tasks that have ended since the last call. Waits for the first of them, up to wait_s."""
        found = self._ended()
        if not found and wait_s > 0:
            news = [one.news for one in self._programs.values()] + [one.news for one in self._servers.values()]
            known = [one for one in news if one is not None]
            wait(known, wait_s if len(known) == len(news) else min(wait_s, LOOK_EVERY_S))
            found = self._ended()
        return found

    def end(self) -> None:
        """Asks what still runs to end, and kills it after SECONDS_TO_END."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            for pid in self._pids():
                with contextlib.suppress(OSError):
                    os.killpg(pid, number)
            until = time.monotonic() + SECONDS_TO_END
            while self._pids() and time.monotonic() < until:
                self.ended(LOOK_EVERY_S)
        for server in self._servers.values():
            server.close()
        if self._killed:
            remove_abandoned()

    def _server(self, module: str) -> JobServer:
        if module not in self._servers:
            self._servers[module] = JobServer(module, self._environment)
        return self._servers[module]

    def _ended(self) -> list[Ended]:
        found = [ended for one in list(self._programs.values()) if (ended := one.ended()) is not None]
        for one in found:
            del self._programs[one.name]
        found += [one for server in self._servers.values() for one in server.ended()]
        if any(one.code < 0 for one in found):  # no later job may come that would do it
            remove_abandoned()
            self._killed = True
        return found

    def _pids(self) -> list[int]:
        served = (pid for server in self._servers.values() for pid in server.pids)
        return [*(one.process.pid for one in self._programs.values()), *served]


class _Program:
    """A task that is a program of its own."""

    def __init__(self, task: Task, environment: dict[str, str]) -> None:
        self.name = task.name
        with task.log.open("wb") as log:
            self.process = subprocess.Popen(
                task.words(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
                preexec_fn=die_with_parent,
            )
        self.news: int | None = None
        """a descriptor that can be read when it has ended; None where the system has none"""
        if hasattr(os, "pidfd_open"):
            with contextlib.suppress(OSError):
                self.news = os.pidfd_open(self.process.pid)

    def ended(self) -> Ended | None:
        pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
        if not pid:
            return None
        if self.news is not None:
            os.close(self.news)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return Ended(self.name, self.process.returncode, usage.ru_utime + usage.ru_stime)
