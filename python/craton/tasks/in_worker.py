"""What a worker of an engine does for a task: runs it as a process, ends it when a later run takes over, tells how it ended.

A worker may live on after the process that sent it a task, if that was killed. Two things keep a task from being done twice at the
same time. Each run leaves a word of its own in a file that all workers read (Lease). A worker whose word is an old one, or gone,
ends its task; the next run gives it time to. And a task's log is locked while the task runs, so that the next run's worker waits
until it has ended, on file systems whose locks reach other nodes.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shlex
import signal
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import IO

from craton._launch import environment_of_a_program
from craton.tasks.backend import Ended
from craton.tasks.graph import Task
from craton.tasks.local import SECONDS_TO_END, LocalBackend

__all__ = ["LEASE", "Lease", "Sent", "revoke", "run_sent"]

LOOK_EVERY_S = 0.5
PREFIX = "PARSL_MPI_PREFIX"
"""Parsl: the launcher, with its options, by which a task of several nodes starts its ranks"""
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""Of a file system without locks."""


@dataclass(frozen=True)
class Lease:
    """Which run the tasks of a folder belong to: the last that has written its word."""

    file: Path
    word: str

    def take(self) -> None:
        """Makes this run the one. Waits for what workers of a killed one still do."""
        revoke(self.file.parent)
        self.file.parent.mkdir(parents=True, exist_ok=True)
        aside = self.file.with_suffix(".new")
        aside.write_text(self.word, encoding="utf-8")
        aside.rename(self.file)

    def is_over(self) -> bool:
        """Whether this run has ended, or another one has taken over. A file that cannot be read just now says nothing."""
        try:
            return self.file.read_text(encoding="utf-8") != self.word
        except FileNotFoundError:
            return True
        except OSError:
            return False


LEASE = "run"
"""Name of its file."""


def revoke(folder: Path, *, wait: bool = True) -> None:
    """Takes the word of a run away: workers that still do its tasks end them. wait: for as long as that takes, if there was one."""
    try:
        (folder / LEASE).unlink()
    except FileNotFoundError:
        return
    if wait:
        time.sleep(LOOK_EVERY_S + SECONDS_TO_END)


@dataclass(frozen=True)
class Sent:
    """A task on its way to a worker: what of it can travel."""

    name: str
    words: tuple[str, ...]
    log: Path
    module: str
    next_modules: frozenset[str]
    """Of tasks that may follow on the same worker."""
    shares_process: bool
    by_launcher: bool
    """Its ranks are started by the launcher that the engine names; else the words start them."""
    settings: frozenset[tuple[str, str]]
    """of the environment, for the task"""
    lease: Lease


def run_sent(sent: Sent, parsl_resource_specification: object = None) -> Ended:  # noqa: ARG001 - Parsl hands it on
    """Does the task in a process of this machine. Called by a worker, one task at a time."""
    begun = time.monotonic()
    with _locked_log(sent) as log:
        if log is None or sent.lease.is_over():
            return Ended(sent.name, -signal.SIGTERM, why=TAKEN_OVER)
        backend = _backend(sent.settings, sent.by_launcher)
        try:
            backend.serve(sent.next_modules)
            backend.begin(_task(sent), [])
        except OSError as problem:
            return Ended(sent.name, 127, why=f"cannot begin: {problem}", host=socket.gethostname())
        while not (found := backend.ended(LOOK_EVERY_S)):
            if sent.lease.is_over():
                backend.end()
                _backend.cache_clear()
                return Ended(sent.name, -signal.SIGTERM, why=TAKEN_OVER)
    (one,) = found
    return Ended(one.name, one.code, one.cpu_s, one.why, seconds=time.monotonic() - begun, host=socket.gethostname())


TAKEN_OVER = "another run has taken over"


@lru_cache
def _backend(settings: frozenset[tuple[str, str]], by_launcher: bool) -> LocalBackend:
    """Of this worker: its servers have imported what the next tasks need.

    Unless a launcher starts the ranks of its tasks, they are no part of the job that the worker may be a part of.
    """
    own = dict(os.environ) if by_launcher else environment_of_a_program(on_this_node=True)
    return LocalBackend(own | dict(settings))


def _task(sent: Sent) -> Task:
    words = list(sent.words)
    if sent.by_launcher:
        words = [*shlex.split(os.environ.get(PREFIX, "")), *words]
    return Task(
        sent.name,
        result=sent.log,
        log=sent.log,
        command=lambda: words,
        module=sent.module,
        shares_process=sent.shares_process,
    )


@contextlib.contextmanager
def _locked_log(sent: Sent) -> Iterator[IO[bytes] | None]:
    """Waits while another worker still does the same task. None if this run is over before that has ended."""
    sent.log.parent.mkdir(parents=True, exist_ok=True)  # this node may not have seen it yet
    pause = 0.01
    with sent.log.open("ab") as log:
        while True:
            try:
                fcntl.flock(log, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if sent.lease.is_over():
                    yield None
                    return
                time.sleep(pause)
                pause = min(2 * pause, LOOK_EVERY_S)
            except OSError as problem:
                if problem.errno not in NO_LOCKS:
                    raise
                break
        yield log
