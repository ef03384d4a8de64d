"""Folders for the files that Open MPI keeps while a job runs, so that none is left of one that was killed.

Open MPI puts sockets below TMPDIR and memory that ranks share below /dev/shm, and takes them away when a job ends well. Here each
job has folders of its own, which go with it whatever its end; and a job takes away those of jobs whose launcher was killed itself.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

__all__ = ["own_folders"]

PREFIX = f"craton-mpi-{os.uname().nodename}-"
"""With the host's name: hosts may share a folder for temporary files, and not its locks."""
LOCK = "in-use"
SHARED_MEMORY = Path("/dev/shm")


@contextlib.contextmanager
def own_folders(elsewhere: bool = False) -> Iterator[dict[str, str]]:
    """Settings of Open MPI 4 and 5 that name folders of this job on this machine, which are there within the block.

    elsewhere: the job has other machines too, for which the settings would not do: then there are none.
    """
    with contextlib.ExitStack() as stack:
        settings: dict[str, str] = {}
        for names, place in (
            (("OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base"), Path(tempfile.gettempdir())),
            (("OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"), SHARED_MEMORY),
        ):
            if elsewhere or any(name in os.environ for name in names):
                continue
            if (folder := stack.enter_context(_folder(place))) is not None:
                settings |= dict.fromkeys(names, str(folder))
        yield settings


@contextlib.contextmanager
def _folder(place: Path) -> Iterator[Path | None]:
    """A new folder that this process holds; None where none can be made."""
    _remove_abandoned(place)
    try:
        folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir=place))
    except OSError:
        yield None
        return
    try:
        # Held before it has the name that others look for.
        with _held(folder / f"{LOCK}.new"):
            os.rename(folder / f"{LOCK}.new", folder / LOCK)
            yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextlib.contextmanager
def _held(lock: Path) -> Iterator[bool]:
    """A lock, which is free again when its holder is gone. False where another process has it."""
    file = os.open(lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            yield False
        else:
            yield True
    finally:
        os.close(file)


def _remove_abandoned(place: Path) -> None:
    """What launchers of this user on this host have left that were killed."""
    with contextlib.suppress(OSError):
        for folder in place.glob(f"{PREFIX}*"):
            with contextlib.suppress(OSError):
                if folder.stat().st_uid != os.geteuid() or not (folder / LOCK).is_file():
                    continue  # another's, or one that is being made
                with _held(folder / LOCK) as abandoned:
                    if abandoned:
                        shutil.rmtree(folder, ignore_errors=True)
