"""The state of a run, from what is in its folder: for the person who waits, and for scripts. Starts no MPI, changes nothing.

found = find_status(WavesFolder(directory))
found.rows["cells"] = "30 x 28 x 24"          # what the application has to add
console.print(found.table())                  # or: print(found.to_json())
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from craton.errors import UserError
from craton.runs.folder import RunFolder
from craton.runs.progress_file import Progress, read_progress
from craton.runs.record import Plain
from craton.runs.words import counted, duration, rate_text, size_text

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["STATES", "Status", "find_status"]

STATES = ("waiting", "running", "awaiting", "interrupted", "failed", "finished")
"""waiting: holds its folder and has not begun. awaiting: has ended until something from outside is there. interrupted: was killed;
failed: ended with an error. What awaits, was interrupted or has failed may be resumed."""


@dataclass
class Status(Plain):
    """What `craton APP status DIR` says. Seconds are of wall clock."""

    folder: str
    app: str
    state: str
    """One of STATES."""
    owner: str = ""
    """Its process, of a run under way or of one whose report is being drawn."""
    failure: str = ""
    phase: str = ""
    phases: list[str] = field(default_factory=list)
    """All of them, in their order."""
    where: str = ""
    """Which repetition of the phase, in words."""
    done: int = 0
    total: int = 0
    unit: str = ""
    saved: int | None = 0
    """The part of done that is in the checkpoint, where a resumption begins; None where the application has no checkpoints."""
    resume_options: str = ""
    """Options without which resuming would end as before."""
    rate: float = 0.0
    """Units per second of this session."""
    phase_s: float = 0.0
    spent_s: float = 0.0
    """Seconds of all sessions."""
    phase_left_s: float | None = None
    """Seconds left in this phase, at its rate so far."""
    left_s: float | None = None
    """Seconds left in the whole run, where the application can tell."""
    updated: str = ""
    """When the run last said where it is; UTC."""
    command: str = ""
    stopped_because: str = ""
    sessions: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, int] = field(default_factory=dict)
    """Names and bytes of what is on disk."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Facts that the application has noted in progress.json (ProgressFile.enter)."""
    rows: dict[str, Any] = field(default_factory=dict)
    """Lines that the application adds to the table: label, value."""

    def lines(self) -> list[tuple[str, str]]:
        """Label and text of each line of the table."""
        found = [("state", self.state + (f" (pid {self.owner})" if self.owner else ""))]
        if self.failure:
            found.append(("failed", self.failure))
        if self.state == "finished":
            found += [("stopped", self.stopped_because)] if self.stopped_because else []
        elif self.phase:
            found += self._where()
        if self.sessions:
            last = self.sessions[-1]
            found.append(
                (
                    "time spent",
                    f"{duration(self.spent_s)} in {counted(len(self.sessions), 'session')}, the last on "
                    f"{counted(last['ranks'], 'rank')} x {counted(last['threads'], 'thread')}",
                )
            )
        if self.left_s is not None and self.state == "running":
            found.append(("time left", f"about {duration(self.left_s)}"))
        found += [(label, str(value)) for label, value in self.rows.items()]
        on_disk = ", ".join(f"{name} {size_text(size)}" for name, size in self.files.items())
        found.append(("on disk", on_disk or "nothing"))
        if self.state in ("awaiting", "interrupted", "failed") and self.command:
            found.append(("to go on", f"craton {self.app} resume {self.folder} {self.resume_options}".rstrip()))
        return found

    def _where(self) -> list[tuple[str, str]]:
        """The lines about the phase of an unfinished run."""
        number = f" ({self.phases.index(self.phase) + 1} of {len(self.phases)})" if self.phase in self.phases else ""
        found = [("phase", f"{self.phase}{number}, for {duration(self.phase_s)}")]
        if self.where:
            found.insert(0, ("at", self.where))
        if self.total:
            text = f"{self.done} of {self.total} ({100 * self.done // self.total}%)"
            if self.rate > 0.0:
                text += f", {rate_text(self.rate, self.unit)}"
            if self.phase_left_s is not None:
                text += f", about {duration(self.phase_left_s)} left"
            found.append((self.unit or "done", text))
            if self.saved is not None:
                found.append(("checkpoint", f"{self.saved} {self.unit}" if self.saved else "none yet"))
        found.append(("as of", self.updated))
        return found

    def table(self) -> Table:
        """The table for a console."""
        from rich.table import Table

        table = Table(title=self.folder, title_justify="left", show_header=False)
        table.add_column(style="bold")
        table.add_column(overflow="fold")
        for label, text in self.lines():
            table.add_row(_plain(label), _plain(text))
        return table


def _plain(text: str) -> Any:
    """Without rich's markup: names of files may look like it."""
    from rich.text import Text

    return Text(text)


def find_status(folder: RunFolder[Any]) -> Status:
    """The status of the run in a folder. UserError where there is none."""
    folder.require()
    owner = folder.owner
    place = folder.unfinished
    if place is None:
        if owner is not None and not folder.record.is_file():
            return Status(str(folder.path), folder.app, "waiting", owner=owner)
        return _ended_status(folder, owner)
    try:
        progress = read_progress(place.progress)
    except UserError:
        if place.progress.exists():
            raise
        return find_status(folder)  # it has finished, or has moved, at this very moment
    found = _unfinished_status(folder, progress, owner)
    _add_files(found, place)
    return found


OF_PROGRESS = (
    *("command", "failure", "phase", "phases", "where", "done", "total", "unit", "saved", "rate", "phase_s", "spent_s"),
    *("updated", "facts"),
)
"""Attributes that a Status takes from the progress of a run."""


def _unfinished_status(folder: RunFolder[Any], progress: Progress, owner: str | None) -> Status:
    found = Status(
        str(folder.path),
        folder.app,
        "running" if owner is not None else "failed" if progress.failure else "interrupted",
        owner or "",
        sessions=[asdict(session) for session in progress.sessions],
        **{name: getattr(progress, name) for name in OF_PROGRESS},
    )
    if owner is not None:
        found.failure = ""
        if progress.updated:
            since = (datetime.now(UTC) - datetime.fromisoformat(progress.updated)).total_seconds()
            found.phase_s += max(since, 0.0)
            found.spent_s += max(since, 0.0)
    if progress.total and progress.rate > 0.0:
        found.phase_left_s = (progress.total - progress.done) / progress.rate
    return found


def _ended_status(folder: RunFolder[Any], owner: str | None) -> Status:
    """The status of a run that has left a record and no progress.json. owner: the process that still draws its report."""
    record = folder.read_record()
    found = Status(
        str(folder.path),
        folder.app,
        "finished" if record.finished else "interrupted",
        owner or "",
        command=record.command,
        stopped_because=record.stopped_because,
        spent_s=record.spent_s,
        sessions=[asdict(session) for session in record.sessions],
    )
    _add_files(found, folder)
    return found


def _add_files(found: Status, place: RunFolder[Any]) -> None:
    for file in (*place.results, *place.inputs, *place.working):
        try:
            size = _size(file)
        except FileNotFoundError:
            continue  # of a run under way
        found.files[str(file.relative_to(place.path))] = size


def _size(path: Any) -> int:
    """Bytes of a file, or of all files below a folder."""
    if path.is_dir():
        return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
    return int(path.stat().st_size)
