"""progress.json: where an unfinished run is, for `craton APP status`, and what it was asked to do, for `craton APP resume`.

It is written at the start of each phase, and every few seconds within one. What a run goes on from are its other files; this one
only has the configuration and tells of time. It goes when the run has finished.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from craton.errors import UserError
from craton.runs.files import read_json, strict_json, write_json
from craton.runs.record import Session, command_line, now, rebuilt

__all__ = ["Progress", "ProgressFile", "Start", "read_progress"]

SECONDS_BETWEEN_WRITES = 2.0


@dataclass(frozen=True)
class Start:
    """What a run is asked to do, when it is started or resumed."""

    app: str
    configuration: dict[str, Any]
    """All of it, with defaults, as JSON takes it."""
    source: str
    """The configuration file, for error messages."""
    phases: Sequence[str]
    """Names in their order; a run may go through some several times."""
    ranks: int = 1
    threads: int = 1
    command: str = field(default_factory=command_line)

    def session(self, at: str = "") -> Session:
        """A session that begins now. at: where it goes on."""
        return Session(now(), self.ranks, self.threads, at)


@dataclass
class Progress:
    """The content of progress.json."""

    app: str
    configuration: dict[str, Any]
    source: str
    command: str
    """The command that first started the run."""
    phases: list[str]
    sessions: list[Session] = field(default_factory=list)
    phase: str = ""
    where: str = ""
    """Which repetition of the phase, in words: "iteration 2 of at most 5"."""
    done: int = 0
    total: int = 0
    """0 where a phase is not counted."""
    unit: str = ""
    """What done and total count: "paths", "steps"."""
    before: int = 0
    """The part of done that earlier sessions did; it counts in no rate."""
    saved: int = 0
    """The part of done that is in a checkpoint."""
    saved_at: str = ""
    phase_s: float = 0.0
    """Seconds that this session has spent in the phase."""
    updated: str = ""
    pid: int = 0
    host: str = ""
    failure: str = ""
    """Why the run failed; empty for one that goes on, or was killed."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Whatever the application notes."""

    @property
    def spent_s(self) -> float:
        """Seconds of all sessions."""
        return sum(session.seconds for session in self.sessions)

    @property
    def rate(self) -> float:
        """Units per second of this session in this phase; 0 where that is not known."""
        done = self.done - self.before
        return done / self.phase_s if self.phase_s > 0.0 and done > 0 else 0.0

    @property
    def at(self) -> str:
        """Repetition and phase, in words."""
        return ", ".join(part for part in (self.where, self.phase) if part)

    @classmethod
    def of(cls, start: Start) -> Self:
        """The progress of a run that begins anew."""
        configuration = json.loads(strict_json(start.configuration))
        return cls(
            start.app, configuration, start.source, start.command, list(start.phases), sessions=[start.session()]
        )

    def resumed(self, start: Start) -> None:
        """Begins a session; settings that may be others are from now on those of `start`."""
        self.sessions.append(start.session(self.at))
        self.configuration = json.loads(strict_json(start.configuration))
        self.failure = ""


def read_progress(file: Path) -> Progress:
    """progress.json, or a UserError that names it."""
    what, allowed = "a run's progress", "the folder of a run that has not finished"
    content = read_json(file, what, allowed)
    try:
        if not content["sessions"]:
            raise ValueError("no session")
        return rebuilt(Progress, content)
    except (ValueError, KeyError, TypeError) as problem:
        raise UserError(f"{file}: not {what} ({problem}); allowed: {allowed}") from None


class ProgressFile:
    """Rank 0's hand on progress.json; on the other ranks a notebook that nobody reads.

    As a context it notes why the run failed, if it does: an exception's text.
    """

    def __init__(self, progress: Progress, file: Path | None) -> None:
        """file: None on ranks other than 0. It moves when a run takes the place of an earlier one."""
        self.progress, self.file = progress, file
        self._session = self._phase = self._written = time.monotonic()
        self._earlier_s = progress.sessions[-1].seconds

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if isinstance(error, Exception):
            self.progress.failure = str(error) if isinstance(error, UserError) else f"{type(error).__name__}: {error}"
            self._save_if_possible()

    def enter(
        self, phase: str, *, where: str = "", done: int = 0, total: int = 0, unit: str = "", **facts: Any
    ) -> None:
        """Begins a phase, with `done` of `total` units from a checkpoint. facts: of the application, kept until they change.

        On rank 0 UserError where the file cannot be written. Not collective: begin phases that matter with on_root.
        """
        found = self.progress
        found.phase, found.where, found.unit = phase, where, unit
        found.total, found.done, found.before, found.saved = total, done, done, done
        found.facts.update(facts)
        self._phase = time.monotonic()
        self.save()

    def update(self, done: int, total: int | None = None) -> None:
        """Units done. Written now and then; a disk that is full at the moment does not matter."""
        found = self.progress
        found.done = done
        found.total = found.total if total is None else total
        if time.monotonic() - self._written > SECONDS_BETWEEN_WRITES:
            self._save_if_possible()

    def saved(self, count: int) -> None:
        """Notes how many units are in a checkpoint."""
        self.progress.saved, self.progress.saved_at = count, now()
        self._save_if_possible()

    def sessions(self) -> list[Session]:
        """All of them, with their seconds up to now: for the record."""
        self._count_time()
        return self.progress.sessions

    def save(self) -> None:
        """Writes it, on rank 0."""
        found = self.progress
        self._written = self._count_time()
        found.updated, found.pid, found.host = now(), os.getpid(), socket.gethostname()
        if self.file is not None:
            write_json(self.file, asdict(found))

    def _save_if_possible(self) -> None:
        with contextlib.suppress(UserError):
            self.save()

    def _count_time(self) -> float:
        moment = time.monotonic()
        self.progress.sessions[-1].seconds = self._earlier_s + moment - self._session
        self.progress.phase_s = moment - self._phase
        return moment
