"""Where a run is, from what is in its folder: for the person who waits, and for scripts. Starts no MPI, changes nothing."""

from __future__ import annotations

import datetime
import fcntl
import os
import pathlib
from dataclasses import asdict, dataclass, field
from typing import Any

import h5py
import numpy as np

from craton.errors import UserError
from craton.runs.words import rate_text
from craton.tomography.inversion.folder import IterationRecord, RunFolder
from craton.tomography.inversion.iteration_state import linearised_at_of
from craton.tomography.inversion.progress_file import Progress, read_progress

DOING = {
    "set-up": "setting up",
    "data": "making or reading data",
    "assembly": "assembling the Hessian",
    "step": "solving for the step",
    "line search": "seeking the step's length",
    "finish": "predicting seismograms, writing the report",
}


@dataclass
class Status:
    """What `craton tomography status` says. Seconds are of wall clock."""

    folder: str
    state: str
    """running, ended (killed, or failed: it may be resumed) or finished."""
    owner: str = ""
    """Of a running one: its process."""
    phase: str = ""
    iteration: int = 0
    most_iterations: int = 0
    paths: int = 0
    paths_done: int = 0
    paths_saved: int = 0
    """In the checkpoint of the assembly: what a resumption would begin with."""
    paths_per_s: float = 0.0
    phase_s: float = 0.0
    spent_s: float = 0.0
    phase_left_s: float | None = None
    """What is left of the assembly, at its rate so far."""
    left_s: float | None = None
    """What is left if all iterations allowed are needed, at the speed of those before."""
    updated: str = ""
    stopped_because: str = ""
    sessions: list[dict[str, Any]] = field(default_factory=list)
    iterations: list[dict[str, Any]] = field(default_factory=list)
    files: dict[str, int] = field(default_factory=dict)
    """Names and bytes of what is on disk."""
    hessian_of_iteration: int | None = None

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    def to_text(self) -> str:
        """A few lines."""
        lines = [f"{self.folder}: {self.state}{f' (pid {self.owner})' if self.owner else ''}"]
        if self.state == "finished":
            lines.append(f"stopped: {self.stopped_because}")
        else:
            lines += self._where()
        if self.sessions:
            last = self.sessions[-1]
            lines.append(
                f"time spent: {duration(self.spent_s)} in {counted(len(self.sessions), 'session')}, "
                f"the last on {counted(last['ranks'], 'rank')} x {counted(last['threads'], 'thread')}"
            )
        if self.left_s is not None:
            lines.append(f"time left: about {duration(self.left_s)} if all iterations allowed are needed")
        for entry in self.iterations:
            it = IterationRecord(**entry)
            lines.append(
                f"model {it.iteration}: misfit {it.chi:.6g}, variance reduction {100 * it.variance_reduction:.2f}%"
                + (f", step {it.step_length:.3g}, assembly {duration(it.assemble_s)}" if it.iteration else "")
            )
        lines.append(
            "on disk: " + (", ".join(f"{name} {size_text(size)}" for name, size in self.files.items()) or "nothing")
        )
        if self.hessian_of_iteration is not None:
            lines.append(f"hessian.h5 is of iteration {self.hessian_of_iteration}")
        if self.state == "ended":
            lines.append(f"to go on: craton tomography resume {self.folder}")
        return "\n".join(lines)

    def _where(self) -> list[str]:
        """Of an unfinished run."""
        doing = DOING.get(self.phase, self.phase)
        lines = [f"iteration {self.iteration} of at most {self.most_iterations}: {doing}, for {duration(self.phase_s)}"]
        if self.phase == "assembly" and self.paths:
            percent = 100 * self.paths_done / self.paths
            lines.append(f"paths: {self.paths_done} of {self.paths} ({percent:.0f}%)")
            if self.paths_per_s > 0.0:
                lines[-1] += f", {rate_text(self.paths_per_s, 'paths')}"
            if self.phase_left_s is not None:
                lines[-1] += f", about {duration(self.phase_left_s)} left"
            lines.append(f"checkpoint: {self.paths_saved} paths" if self.paths_saved else "checkpoint: none yet")
        lines.append(f"as of {self.updated}")
        return lines


def find_status(directory: str | os.PathLike[str]) -> Status:
    """Of the run in a folder; a UserError where there is none."""
    folder = RunFolder(directory)
    if not folder.path.is_dir():
        raise UserError(f"run folder {folder.path}: no such folder; allowed: the folder of a run")
    place = folder.unfinished
    if place is None:
        return finished_status(folder)
    try:
        progress = read_progress(place.progress)
    except UserError:
        if place.progress.exists():
            raise
        return find_status(directory)  # it has finished, or has moved, at this very moment
    owner = owner_of(folder)
    found = Status(
        folder=str(directory),
        state="running" if owner is not None else "ended",
        owner=owner or "",
        phase=progress.phase,
        iteration=progress.iteration,
        most_iterations=progress.most_iterations,
        paths=progress.paths,
        paths_done=progress.paths_done,
        paths_saved=paths_saved(place),
        paths_per_s=progress.rate,
        phase_s=progress.phase_s,
        spent_s=progress.spent_s,
        updated=progress.updated,
        sessions=[asdict(session) for session in progress.sessions],
    )
    if owner is not None:
        since = datetime.datetime.now(datetime.UTC) - datetime.datetime.fromisoformat(progress.updated)
        found.phase_s += max(since.total_seconds(), 0.0)
        found.spent_s += max(since.total_seconds(), 0.0)
    if progress.phase == "assembly" and progress.rate > 0.0:
        found.phase_left_s = (progress.paths - progress.paths_done) / progress.rate
    add_files(found, place)
    found.left_s = time_left(progress, found)
    return found


def finished_status(folder: RunFolder) -> Status:
    """Of a run whose record says so."""
    record = folder.read_record()
    found = Status(
        folder=str(folder.path),
        state="finished" if record.finished else "ended",
        iteration=record.iterations[-1].iteration if record.iterations else 0,
        most_iterations=int(record.config.get("inversion", {}).get("max_iterations", 0)),
        paths=record.paths,
        stopped_because=record.stopped_because,
        sessions=record.sessions,
        spent_s=sum(float(session.get("seconds", 0.0)) for session in record.sessions),
    )
    add_files(found, folder)
    return found


def add_files(found: Status, place: RunFolder) -> None:
    """What is on disk, the models in the record, and whose Hessian there is."""
    for file in place.results:
        try:
            found.files[file.name] = file.stat().st_size
        except FileNotFoundError:
            continue  # of a run under way
    if place.record.is_file():
        found.iterations = [asdict(entry) for entry in place.read_record().iterations]
    at = linearised_at_of(place.hessian)
    found.hessian_of_iteration = None if at is None else at + 1


def time_left(progress: Progress, found: Status) -> float | None:
    """If all iterations allowed are needed: the mean of those done for each to come, and what the present assembly needs."""
    done = [entry for entry in found.iterations if entry["iteration"]]
    each = [entry["assemble_s"] + entry["solve_s"] + entry["misfit_s"] for entry in done]
    more = progress.most_iterations - progress.iteration
    if progress.phase == "finish":
        return None
    if each:
        typical = float(np.mean(each))
        assembly = float(np.mean([entry["assemble_s"] for entry in done]))
        here = {
            "assembly": found.phase_left_s if found.phase_left_s is not None else assembly,
            "step": 0.0,
            "line search": 0.0,
        }
        return more * typical + here.get(progress.phase, assembly) + (typical - assembly)
    if found.phase_left_s is not None:  # the first iteration: assemblies, which take most of the time
        return found.phase_left_s + more * progress.paths / progress.rate
    return None


def paths_saved(place: RunFolder) -> int:
    """In the checkpoint of the assembly, if there is one."""
    try:
        with h5py.File(place.checkpoint, "r") as file:
            runs = np.asarray(file["counted"], np.int64).reshape(-1, 2)
    except (OSError, RuntimeError, KeyError, ValueError):
        return 0
    return int(np.sum(runs[:, 1] - runs[:, 0] + 1))


def owner_of(folder: RunFolder) -> str | None:
    """The process that uses the folder, in words; None where none does."""
    lock = pathlib.Path(folder.path) / ".lock"
    try:
        with lock.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read(200).decode(errors="replace") or "unknown"
    except OSError:
        pass
    return None


def counted(number: int, what: str) -> str:
    """1, "rank" -> "1 rank"."""
    return f"{number} {what}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """3725.0 -> "1:02:05"; 3.25 -> "3.2 s"."""
    if seconds < 60.0:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    return (
        f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
        if whole >= 3600
        else f"{whole // 60}:{whole % 60:02d} min"
    )


def size_text(size: float) -> str:
    """1234567 -> "1.2 MB"."""
    for unit in ("B", "kB", "MB", "GB"):
        if size < 1000.0:
            return f"{size:.0f} {unit}" if unit == "B" or size >= 100.0 else f"{size:.1f} {unit}"
        size /= 1000.0
    return f"{size:.1f} TB"
