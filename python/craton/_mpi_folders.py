"""Folders for the files that Open MPI keeps while a job runs, so that none is left of one that was killed.

Open MPI puts sockets below TMPDIR and memory that ranks share below /dev/shm, and takes them away when a job ends well. Here each
job has folders of its own, which go with it whatever its end; and a job takes away those of jobs whose launcher was killed itself.
So has a command that runs on one rank, without a launcher.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from craton._craton import remove_at_exit

__all__ = ["folders_until_exit", "own_folders", "remove_abandoned"]

PREFIX = f"craton-mpi-{os.uname().nodename}-"
"""With the host's name: hosts may share a folder for temporary files, and not its locks."""
LOCK = "in-use"
SECONDS_TO_REMOVE = 2.0
"""Ranks that lose their mpiexec may still write into a folder while it is removed."""
SHARED_MEMORY = Path("/dev/shm")


@contextlib.contextmanager
def own_folders(elsewhere: bool = False) -> Iterator[dict[str, str]]:
    """Settings of Open MPI 4 and 5 that name folders of this job on this machine, which are there within the block.

    elsewhere: the job has other machines too, for which the settings would not do: then there are none.
    """
    settings, made = _made_folders() if not elsewhere else ({}, [])
    try:
        yield settings
    finally:
        for folder, lock in made:
            _remove(folder)
            os.close(lock)


def folders_until_exit() -> dict[str, str]:
    """The same settings for a process that is no launcher's: its folders go when it has ended, after MPI."""
    settings, made = _made_folders()
    for folder, _ in made:  # held until the process is gone
        remove_at_exit(str(folder))
    return settings


def remove_abandoned() -> None:
    """Takes away what processes of this user on this host have left that were killed, as the next job does anyway."""
    for place in (Path(tempfile.gettempdir()), SHARED_MEMORY):
        _remove_abandoned(place)


def _made_folders() -> tuple[dict[str, str], list[tuple[Path, int]]]:
    """Settings, and the folders that they name, with the locks that this process has on them."""
    settings: dict[str, str] = {}
    made: list[tuple[Path, int]] = []
    for names, place in (
        (("OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base"), Path(tempfile.gettempdir())),
        (("OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"), SHARED_MEMORY),
    ):
        if any(name in os.environ for name in names):
            continue
        _remove_abandoned(place)
        if (found := _made_folder(place)) is not None:
            made.append(found)
            settings |= dict.fromkeys(names, str(found[0]))
    return settings, made


def _made_folder(place: Path) -> tuple[Path, int] | None:
    """A new folder, with the lock that this process has on it; None where none can be made."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
    except OSError:
        return None
    try:
        # Held before it has the name that others look for.
        lock = os.open(folder / f"{LOCK}.new", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.rename(folder / f"{LOCK}.new", folder / LOCK)
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        return None
    return folder, lock


def _remove(folder: Path) -> None:
    """With what is in it; the lock last, so that a later job finds the folder if something is still being written into it."""
    until = time.monotonic() + SECONDS_TO_REMOVE
    while True:
        late = time.monotonic() > until  # what has come in the time that a removal takes gets one more
        with contextlib.suppress(OSError):
            for path in folder.iterdir():
                if path.is_dir():
                    shutil.rmtree(path, ignore_errors=True)
                elif path.name != LOCK:
                    path.unlink(missing_ok=True)
            if {path.name for path in folder.iterdir()} <= {LOCK}:  # without it, where something came just before rmdir
                (folder / LOCK).unlink(missing_ok=True)
                folder.rmdir()
        if not folder.exists() or late:
            return
        time.sleep(0.01)


def _remove_abandoned(place: Path) -> None:
    """What launchers of this user on this host have left that were killed."""
    with contextlib.suppress(OSError):
        for folder in place.glob(f"{PREFIX}*"):
            with contextlib.suppress(OSError):
                if folder.stat().st_uid != os.geteuid() or not (folder / LOCK).is_file():
                    continue  # another's, or one that is being made
                lock = os.open(folder / LOCK, os.O_RDWR | os.O_CLOEXEC)
                try:
                    fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    _remove(folder)
                finally:
                    os.close(lock)
