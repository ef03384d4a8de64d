"""Runs of solvers that iterate until they converge: what options say instead of a file, and the end of a run.

A run that has not converged has results all the same. It ends as one that failed, so that it may be resumed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from craton.runs.agreement import Communicator, on_root
from craton.runs.folder import RunFolder
from craton.runs.progress_file import ProgressFile
from craton.runs.record import Record
from craton.runs.running import finished, take_place
from craton.runs.words import counted, duration

__all__ = ["IterativeRecord", "end_run", "with_options"]


@dataclass(kw_only=True, repr=False)
class IterativeRecord(Record):
    """The record of a solver that iterates."""

    converged: bool

    def time_spent(self) -> str:
        """In words, with sessions, ranks and threads: a sentence."""
        sessions = counted(len(self.sessions), "session")
        workers = f"{counted(self.ranks, 'rank')} of {counted(self.threads, 'thread')}"
        return f"{duration(self.spent_s)} in {sessions}, on {workers}."


RecordType = TypeVar("RecordType", bound=IterativeRecord)


def with_options(raw: Mapping[str, Any], options: Mapping[tuple[str, str], Any] | None) -> dict[str, Any]:
    """A configuration as TOML gave it, with the options of a command line: (table, key) -> value. None leaves the file's value."""
    found = dict(raw)
    for (table, key), value in (options or {}).items():
        known = found.get(table, {})
        if value is not None and isinstance(known, dict):
            found[table] = known | {key: str(value.absolute()) if isinstance(value, Path) else value}
    return found


def end_run(
    comm: Communicator,
    folder: RunFolder[RecordType],
    place: RunFolder[RecordType],
    progress: ProgressFile,
    record: RecordType,
    *,
    phase: str,
    done: int,
    unit: str,
) -> None:
    """Collective: the results, and the record with them, are in the folder from now on.

    phase, done, unit: where progress.json says that a run is that has not converged. It keeps its checkpoint.
    """
    record.started = progress.progress.sessions[0].started
    record.in_directory(folder.path)
    if record.converged:
        return finished(comm, folder, place, progress, record)
    take_place(comm, folder, place, progress)

    def write() -> None:
        record.sessions = progress.sessions()
        progress.progress.failure = record.stopped_because
        folder.write_record(record)
        progress.enter(phase, done=done, total=done, unit=unit)

    return on_root(comm, write)
