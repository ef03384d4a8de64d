"""progress.json: where an unfinished run is, for `craton tomography status`, and what it was asked to do, for `resume`.

Written at the start of each phase, and every few seconds within one. What a run goes on from are its other files; this one only
has the configuration and tells of time. It goes when the run has finished.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import os
import pathlib
import socket
import time
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from craton.errors import UserError
from craton.runs.files import replaced

SECONDS_BETWEEN_WRITES = 2.0
PHASES = ("set-up", "data", "assembly", "step", "line search", "finish")
"""In their order. Iterations repeat the three in the middle."""


@dataclass
class Session:
    """One start of a run: the first, or a resumption."""

    started: str
    ranks: int
    threads: int
    at: str = ""
    """Where it went on from; empty for the first."""
    seconds: float = 0.0


@dataclass
class Progress:
    """What progress.json holds. Counts of paths are of the assembly, and of the latest model's misfit."""

    config: dict[str, Any]
    source: str
    """The configuration file, for error messages and the record's command."""
    command: str
    sessions: list[Session] = field(default_factory=list)
    phase: str = PHASES[0]
    iteration: int = 1
    """The one under way; the starting model is 0."""
    most_iterations: int = 1
    paths: int = 0
    paths_done: int = 0
    paths_before: int = 0
    """Of paths_done, those that an earlier session had done: they count in no rate."""
    paths_saved: int = 0
    """In the assembly's checkpoint."""
    phase_s: float = 0.0
    """Spent in this phase by this session."""
    saved_at: str = ""
    updated: str = ""
    pid: int = 0
    host: str = ""

    @property
    def spent_s(self) -> float:
        """By all sessions."""
        return sum(session.seconds for session in self.sessions)

    @property
    def rate(self) -> float:
        """Paths per second of this session in this phase; 0 where that is not known."""
        done = self.paths_done - self.paths_before
        return done / self.phase_s if self.phase_s > 0.0 and done > 0 else 0.0

    @classmethod
    def from_json(cls, text: str) -> Progress:
        """The inverse of json.dumps(asdict()); ValueError, KeyError or TypeError where the text is something else."""
        content = json.loads(text)
        known = {entry.name for entry in fields(cls)}
        content = {key: value for key, value in content.items() if key in known}
        content["sessions"] = [Session(**entry) for entry in content["sessions"]]
        return cls(**content)


def now() -> str:
    """UTC, to the second."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def read_progress(file: pathlib.Path) -> Progress:
    """progress.json, or a UserError that names it."""
    try:
        return Progress.from_json(file.read_text(encoding="utf-8"))
    except OSError as problem:
        raise UserError(
            f"{file}: {problem.strerror or problem}; allowed: the folder of a run that has not finished"
        ) from problem
    except (ValueError, KeyError, TypeError, AttributeError) as problem:
        raise UserError(f"{file}: not a run's progress ({problem})") from problem


class ProgressFile:
    """Rank 0's hand on progress.json; on the other ranks a notebook that nobody reads."""

    def __init__(self, progress: Progress, write: bool) -> None:
        self.progress, self._write = progress, write
        self.file: pathlib.Path | None = None
        """Where it is; it moves when a run takes the place of an earlier one."""
        self._session = self._phase = self._written = time.monotonic()
        self._earlier_s = progress.sessions[-1].seconds

    def enter(self, phase: str, iteration: int, done: int = 0, total: int = 0) -> None:
        """Begins a phase, with `done` paths from a checkpoint. On rank 0 a UserError where the disk is full."""
        found = self.progress
        found.phase, found.iteration = phase, iteration
        found.paths, found.paths_done, found.paths_before = total, done, done
        found.paths_saved = done
        self._phase = time.monotonic()
        self.save()

    def update(self, done: int, total: int) -> None:
        """Paths done of all. Written now and then; a disk that is full at the moment does not matter."""
        self.progress.paths_done, self.progress.paths = done, total
        if time.monotonic() - self._written > SECONDS_BETWEEN_WRITES:
            with contextlib.suppress(UserError):
                self.save()

    def checkpoint_saved(self, paths: int) -> None:
        """So many paths are safe."""
        self.progress.paths_saved, self.progress.saved_at = paths, now()
        with contextlib.suppress(UserError):
            self.save()

    def save(self) -> None:
        """Writes it, on rank 0, if it has a place."""
        found, moment = self.progress, time.monotonic()
        self._written = moment
        found.sessions[-1].seconds = self._earlier_s + moment - self._session
        found.phase_s = moment - self._phase
        found.updated, found.pid, found.host = now(), os.getpid(), socket.gethostname()
        if self._write and self.file is not None:
            with replaced(self.file) as aside:
                aside.write_text(json.dumps(asdict(found), indent=1, default=str) + "\n", encoding="utf-8")
