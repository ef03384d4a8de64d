"""A run from its first line to its last: the folder is reserved, progress.json kept, results take the place of earlier ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar

from craton.runs.agreement import Communicator, on_root
from craton.runs.folder import RunFolder, reserved
from craton.runs.progress_file import Progress, ProgressFile, Start, read_progress

__all__ = ["begun", "finished", "resumed", "take_place"]

Place = TypeVar("Place", bound=RunFolder[Any])


@contextmanager
def begun(
    comm: Communicator, folder: Place, start: Start, overwrite: bool = False, inputs: Mapping[str, str] | None = None
) -> Iterator[tuple[Place, ProgressFile]]:
    """A new run in a folder: gives (place, progress). Collective.

    `place`: where it writes, which is the folder itself, or one inside while the folder holds an earlier run; see take_place.
    `progress` says in progress.json where it is. `inputs`: setting, file: what the run reads. UserError on every rank for a folder
    that is in use, or holds results that may not be replaced.
    """

    def begin() -> tuple[Progress, str]:
        return Progress.of(start), str(folder.place_to_write().path)

    with (
        reserved(comm, folder, lambda: folder.check_new(overwrite, inputs)),
        _session(comm, folder, on_root(comm, begin)) as both,
    ):
        yield both


@contextmanager
def resumed(comm: Communicator, folder: Place, start: Start) -> Iterator[tuple[Place, ProgressFile]]:
    """Goes on with the unfinished run in a folder, on any number of ranks; as begun. Collective.

    start: as the run is now; what may not differ from its first start is checked before, with folder.check_resume.
    UserError on every rank where there is no run to go on with, or the folder is in use.
    """

    def begin() -> tuple[Progress, str]:
        place = folder.place_to_resume()
        progress = read_progress(place.progress)
        progress.resumed(start)
        return progress, str(place.path)

    with reserved(comm, folder, lambda: None), _session(comm, folder, on_root(comm, begin)) as both:
        yield both


@contextmanager
def _session(comm: Communicator, folder: Place, found: tuple[Progress, str]) -> Iterator[tuple[Place, ProgressFile]]:
    progress, path = found
    place = folder if path == str(folder.path) else type(folder)(path)
    with ProgressFile(progress, place.progress if comm.rank == 0 else None) as file:
        on_root(comm, lambda: file.enter(progress.phase or progress.phases[0], where=progress.where))
        yield place, file


def take_place(comm: Communicator, folder: Place, place: Place, progress: ProgressFile) -> Place:
    """Replaces the results of an earlier run from now on. Returns the folder, to which the run writes from here on. Collective.

    A run calls it as soon as it has results worth more than the earlier ones; `finished` does it at the latest.
    """
    on_root(comm, lambda: folder.adopt(place))
    if comm.rank == 0:
        progress.file = folder.progress
    return folder


def finished(comm: Communicator, folder: Place, place: Place, progress: ProgressFile, record: Any) -> None:
    """Ends the run: its results are in the folder, record.json with them, and working files are gone. Collective."""

    def write() -> None:
        record.sessions, record.finished = progress.sessions(), True
        folder.write_record(record)
        folder.discard_working()

    take_place(comm, folder, place, progress)
    on_root(comm, write)
    record.in_directory(folder.path)
    progress.file = None
