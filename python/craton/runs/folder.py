"""The folder that a run leaves behind. An application names its files; one run at a time uses a folder.

    class WavesFolder(RunFolder[WavesRecord]):
        app, record_type = "waves", WavesRecord
        seismograms = RunFile("seismograms.h5")
        stations = RunFile("stations.csv", "input")
        checkpoint = RunFile("checkpoint.h5", "working")

While a run goes on there is also progress.json; with it and the working files `craton APP resume` goes on where a run was ended. A
run that is to replace the results of an earlier one writes to a folder inside (.next-run) until it has results of its own, so that
a run that fails early costs nothing.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import pathlib
import re
import socket
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar, Generic, Literal, Self, TypeVar, overload

from craton.described import Described
from craton.errors import UserError
from craton.runs.agreement import Communicator, on_root
from craton.runs.files import read_json, remove, strict_json, write_text, writing_to
from craton.runs.progress_file import Progress, read_progress
from craton.runs.record import Record

__all__ = ["Folder", "RunFile", "RunFolder", "reserved"]


LOOK_S = 0.1
GOES_WITH_RUNS = (".err", ".log", ".out", ".sbatch", ".sh", ".toml")
"""Endings of files that a user or a batch system puts beside results."""
"""Seconds for which those who only look at a folder may lock it."""


class Folder(Described):
    """A folder that a command fills: locked while it does. What derives from it names the files."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = pathlib.Path(path)
        self._descriptor: int | None = None

    def _facts(self) -> dict[str, object]:
        names = [file.name for file in self.results]
        return {"path": self.path, "holds": ", ".join(names) or "no results"}

    @property
    def files(self) -> tuple[pathlib.Path, ...]:
        """All that a run may write, whether it is there or not."""
        raise NotImplementedError

    @property
    def results(self) -> list[pathlib.Path]:
        """The files that are there."""
        return [file for file in self.files if file.exists()]

    def make(self) -> None:
        """Makes the folder and sees that it can be written to. UserError where it cannot."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise UserError(
                f"output folder {self.path}: {problem.strerror or problem}; allowed: a folder that can be made"
            ) from problem
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise UserError(f"output folder {self.path}: no permission to write; allowed: a folder of your own")

    def require(self, allowed: str = "the folder of a run") -> None:
        """UserError where there is no such folder. A configuration's file is often typed in its place."""
        if self.path.is_file():
            beside = self.path.with_name(f"{self.path.stem}-run")
            raise UserError(f"run folder {self.path}: is a file; allowed: {allowed}, such as {beside}")
        if not self.path.is_dir():
            raise UserError(f"run folder {self.path}: no such folder; allowed: {allowed}")

    def check(self, overwrite: bool, inputs: Mapping[str, str] | None = None) -> None:
        """Results are a UserError unless `overwrite`; what the run reads (`inputs`: setting, file) must not be among them."""
        present = self.results
        if present and not overwrite:
            raise UserError(
                f"output folder {self.path}: {present[0].name} is there already; "
                "allowed: another folder, or --overwrite"
            )
        for setting, name in (inputs or {}).items():
            if os.path.exists(name) and any(os.path.samefile(name, file) for file in present):
                raise UserError(
                    f"{setting} = {name} is among the results in the output folder {self.path}, which this run would "
                    "replace; allowed: another output folder, or a copy of the file elsewhere"
                )

    # -------------------------------------------------------------------------------------------------- one run at a time

    def lock(self) -> None:
        """Keeps other runs out until `release`, or until this process ends, however it ends: the kernel sees to it.

        UserError where another run has it.
        """
        try:
            descriptor = self._locked()
            with contextlib.suppress(OSError):  # a full disk: the lock holds, only its owner is not named
                os.ftruncate(descriptor, 0)
                os.write(descriptor, f"{os.getpid()} on {socket.gethostname()}".encode())
        except OSError as problem:
            raise UserError(
                f"{self._lock_file}: {problem.strerror or problem}; allowed: a folder of your own"
            ) from problem
        self._descriptor = descriptor
        self._drop_half_written()

    def _drop_half_written(self) -> None:
        for file in self.files:
            for left_behind in file.parent.glob(f"{file.name}.[0-9]*.new*"):
                remove(left_behind)

    def _locked(self) -> int:
        """The lock file, open and locked."""
        until = time.monotonic() + LOOK_S
        while True:
            descriptor = os.open(self._lock_file, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = os.read(descriptor, 200).decode(errors="replace") or "unknown"
                os.close(descriptor)
                if time.monotonic() < until:  # somebody may only be looking: see `owner`
                    time.sleep(0.01)
                    continue
                raise self._in_use(owner) from None
            except OSError:
                return descriptor  # a file system without locks
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(self._lock_file)):
                    return descriptor
            os.close(descriptor)  # the run that held it has removed it meanwhile

    def _in_use(self, owner: str) -> UserError:
        return UserError(
            f"run folder {self.path} is in use by another run (pid {owner}); "
            "allowed: another folder, or this one when that run has ended"
        )

    @property
    def owner(self) -> str | None:
        """The process that uses the folder, as "123 on host"; None where none does. Changes nothing."""
        with contextlib.suppress(OSError), self._lock_file.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
            except BlockingIOError:
                return file.read(200).decode(errors="replace") or "unknown"
        return None

    def release(self) -> None:
        """Lets other runs in."""
        if self._descriptor is not None:
            # In a folder that has become read-only both stay, and the lock goes all the same.
            with contextlib.suppress(OSError, UserError):
                self._clear()
            with contextlib.suppress(OSError):
                self._lock_file.unlink()
            os.close(self._descriptor)
            self._descriptor = None

    @property
    def _lock_file(self) -> pathlib.Path:
        return self.path / ".lock"

    def _clear(self) -> None:
        """Removes what a failed run has left and nobody wants."""


@contextmanager
def reserved(comm: Communicator, folder: Folder, check: Callable[[], None]) -> Iterator[None]:
    """Collective: makes the folder and keeps other runs out of it; `check` may refuse it on rank 0."""

    def enter() -> None:
        folder.make()
        folder.lock()
        check()

    try:
        on_root(comm, enter)
        yield
    finally:
        folder.release()


# ------------------------------------------------------------------------------------------------------- the folder of a run

Kind = Literal["result", "input", "working"]
RecordType = TypeVar("RecordType", bound=Record)


class RunFile:
    """A file, or a folder, of a run: as an attribute of a RunFolder it is its path.

    - "result": what the run is for; a folder that has one is not written to without --overwrite.
    - "input": what is written before anything is computed, such as config.toml; alone it is no result.
    - "working": what only an unfinished run needs, with all that begins with its name (checkpoint.h5.layers); removed at the end.
    """

    def __init__(self, name: str, kind: Kind = "result") -> None:
        self.name, self.kind = name, kind

    @overload
    def __get__(self, folder: None, owner: type[Folder]) -> Self: ...

    @overload
    def __get__(self, folder: Folder, owner: type[Folder]) -> pathlib.Path: ...

    def __get__(self, folder: Folder | None, owner: type[Folder]) -> Self | pathlib.Path:
        return self if folder is None else folder.path / self.name


class RunFolder(Folder, Generic[RecordType]):
    """The folder of a run of an application, which sets `app` and `record_type` and names its files as RunFile."""

    app: ClassVar[str]
    record_type: type[RecordType]

    config = RunFile("config.toml", "input")
    report = RunFile("report.html")
    record = RunFile("record.json")
    progress = RunFile("progress.json", "working")

    @classmethod
    def named(cls, kind: Kind) -> list[str]:
        """Names of the files of a kind: the application's own, then those of all."""
        found: dict[str, RunFile] = {}
        for one in cls.__mro__:
            for name, item in vars(one).items():
                if isinstance(item, RunFile):
                    found.setdefault(name, item)
        return [item.name for item in found.values() if item.kind == kind]

    def more_results(self) -> list[pathlib.Path]:
        """Results that are there and have no name of their own, such as one for each iteration."""
        return []

    @property
    def results(self) -> list[pathlib.Path]:
        """Results that are there."""
        return self._there("result") + [file for file in self.more_results() if file.exists()]

    @property
    def working(self) -> list[pathlib.Path]:
        """Working files that are there; progress.json last."""
        names = sorted(self.named("working"), key=lambda name: name == self.progress.name)
        found = [file for name in names for file in sorted(self.path.glob(f"{name}*")) if file.is_file()]
        return [file for file in found if not re.search(r"\.[0-9]+\.new", file.name)]

    @property
    def inputs(self) -> list[pathlib.Path]:
        """Input files that are there."""
        return self._there("input")

    def _there(self, kind: Kind) -> list[pathlib.Path]:
        return [file for file in (self.path / name for name in self.named(kind)) if file.exists()]

    @property
    def files(self) -> tuple[pathlib.Path, ...]:
        """All that a run may write, whether it is there or not."""
        names = (*self.named("result"), *self.named("input"), *self.named("working"))
        return (*(self.path / name for name in names), *self.more_results())

    @property
    def worth_resuming(self) -> bool:
        """Whether an unfinished run has left something to go on from."""
        return any(file != self.progress for file in self.working)

    def check_new(self, overwrite: bool, inputs: Mapping[str, str] | None = None) -> None:
        """UserError for the results of another run, finished or not, unless they may be replaced.

        inputs: setting, file: what the run reads must not be among the results.
        """
        place = self.unfinished
        if place is None and not self.record.is_file() and (own := self._of_others()):
            raise UserError(
                f"output folder {self.path}: holds {own[0]}, but no run; allowed: an empty or new folder, or that of a run with "
                "--overwrite (or move it away)"
            )
        if place is not None and not overwrite:
            go_on = f"`craton {self.app} resume {self.path}`, " if place.worth_resuming else ""
            raise UserError(
                f"output folder {self.path}: holds a run that has not finished; allowed: {go_on}another folder, or --overwrite"
            )
        self.check(overwrite, inputs)

    def _of_others(self) -> list[str]:
        """Names in a folder without a run that no run has left: they are the user's. Hidden ones and GOES_WITH_RUNS apart.

        A run would write among them, and take away folders, and files that it knows by their ending, as results of an earlier run.
        """
        if self.path.joinpath("config.toml").is_file():  # a run whose record was lost
            return []
        ours = {name for kind in ("result", "input", "working") for name in self.named(kind)}
        return sorted(
            entry.name
            for entry in self.path.iterdir()
            if not entry.name.startswith(".")
            and entry.suffix not in GOES_WITH_RUNS
            and (entry.is_dir() or not any(entry.name == name or entry.name.startswith(f"{name}.") for name in ours))
        )

    # -------------------------------------------------------------------------------------------------- unfinished runs

    @property
    def unfinished(self) -> Self | None:
        """The folder with the files of an unfinished run: this one, or one inside until it takes an earlier run's place."""
        inside = type(self)(self._inside)
        return next((place for place in (inside, self) if place.progress.is_file()), None)

    def to_resume(self) -> Progress:
        """The progress and configuration of the unfinished run in this folder. Changes nothing; not collective.

        UserError where there is no folder, no run, one that has finished, or one that is going on.
        """
        allowed = "allowed: the folder of a run that has not finished"
        self.require("the folder of a run that has not finished")
        if (owner := self.owner) is not None:
            raise self._in_use(owner)
        place = self.unfinished
        if place is not None:
            return read_progress(place.progress)
        if self.record.is_file() and self.read_record().finished:
            raise UserError(f"run folder {self.path}: its run has finished; {allowed}")
        raise UserError(f"run folder {self.path}: no {self.progress.name} to go on from; {allowed}")

    def check_resume(
        self,
        given: Mapping[str, Any],
        source: str,
        free: Sequence[tuple[str, str]] = (),
        filled: Callable[[Any], Mapping[str, Any]] = lambda known: known,
    ) -> None:
        """UserError where `given`, a configuration, differs from that of the unfinished run in a setting that may not.

        `free`: settings that may differ, as (table, key); (table, "*") is the whole table. `source`: the file of `given`.
        `filled`: gives the run's configuration the settings that versions before did not know.
        """
        known, given = (
            json.loads(strict_json(one)) for one in (filled(self.to_resume().configuration), given)
        )  # no tuples
        for table in sorted(given.keys() | known.keys()):
            ours, theirs = (_table(one.get(table)) for one in (given, known))
            for key in sorted(ours.keys() | theirs.keys()):
                if ours.get(key) != theirs.get(key) and not {(table, key), (table, "*")} & set(free):
                    name = f"[{table}] {key}" if key else table
                    raise UserError(
                        f"{source}: {name} = {ours.get(key, 'missing')}; allowed: {theirs.get(key, 'missing')}, as the "
                        f"run in {self.path} has it, or another folder"
                    )

    def place_to_resume(self) -> Self:
        """The same as `unfinished`, with what a killed process left half written cleared away.

        UserError where there is no run to resume.
        """
        self._finish_adopting()
        place = self.unfinished
        if place is None:
            raise UserError(
                f"run folder {self.path}: no {self.progress.name} to go on from; allowed: the folder of a run that has not finished"
            )
        place._drop_half_written()
        return place

    def discard_working(self) -> None:
        """Removes working files; progress.json goes last, because without it nothing would clear the rest away."""
        for file in self.working:
            remove(file)

    def discard(self) -> None:
        """Removes all that a run may have written, but for what it read."""
        for file in (*self.results, *self.working):
            remove(file)

    # ------------------------------------------------------------------------------------------ in place of earlier results

    def _clear(self) -> None:
        """Keeps a run that has computed something, however it failed, for `resume`. One that has not leaves nothing."""
        if not self.results and self.working == [self.progress]:
            self.progress.unlink(missing_ok=True)
        inside = type(self)(self._inside)
        if not inside.worth_resuming and not inside._adopting.is_file():
            remove(self._inside)

    @property
    def _inside(self) -> pathlib.Path:
        return self.path / ".next-run"

    def place_to_write(self) -> Self:
        """The folder itself; or, while it holds anything of an earlier run, an empty one inside."""
        self._finish_adopting()
        remove(self._inside)
        if not self.results and not self.working:
            return self
        with writing_to(self.path):
            self._inside.mkdir()
        return type(self)(self._inside)

    def adopt(self, place: Self) -> None:
        """Puts what `place` holds where the earlier run's files are; those without a successor go first."""
        if place.path.resolve() == self.path.resolve():  # one may be relative
            return
        names = [str(file.relative_to(place.path)) for file in (*place.results, *place.inputs, *place.working)]
        write_text(place._adopting, "\n".join(names))
        self._finish_adopting()

    @property
    def _adopting(self) -> pathlib.Path:
        """In the folder inside: the list of files that are on their way out of it."""
        return self.path / "adopting"

    def _finish_adopting(self) -> None:
        """Moves what is on its way out of the folder inside, also what a killed process did not come to. May be done again."""
        inside = type(self)(self._inside)
        if not inside._adopting.is_file():
            return
        names = inside._adopting.read_text(encoding="utf-8").split("\n")
        for file in (self.report, self.record, *self.results, *self.working):
            if str(file.relative_to(self.path)) not in names:
                remove(file)
        with writing_to(self.path):
            for name in names:
                if (inside.path / name).exists():
                    if (self.path / name).is_dir():
                        remove(self.path / name)
                    os.replace(inside.path / name, self.path / name)
        remove(inside.path)

    # ------------------------------------------------------------------------------------------------------------ the record

    def write_record(self, record: RecordType) -> None:
        """Replaces record.json. UserError where it cannot be written."""
        write_text(self.record, record.to_json() + "\n")

    def read_record(self) -> RecordType:
        """record.json, or a UserError that names it: missing, damaged, or not of this application."""
        wrote = f"what `craton {self.app} run` wrote"
        if not self.record.exists():
            if self.path.is_file():
                self.require()
            raise UserError(
                f"{self.record}: No such file or directory; allowed: the folder of a run of `craton {self.app} run` that has ended"
            )
        content = read_json(self.record, "a run's record", wrote)
        if isinstance(content, dict) and content.get("app", self.app) != self.app:
            raise UserError(f"{self.record}: the record of a run of `craton {content['app']}`; allowed: {wrote}")
        try:
            return self.record_type.from_dict(content).in_directory(self.path)
        except (ValueError, KeyError, TypeError) as problem:
            raise UserError(f"{self.record}: not a run's record ({problem}); allowed: {wrote}") from None


def _table(value: Any) -> dict[str, Any]:
    """A table of a configuration; what is none is as one with a nameless key."""
    if isinstance(value, dict):
        return value
    return {} if value is None else {"": value}
