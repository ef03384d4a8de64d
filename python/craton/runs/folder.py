"""The folder that a run leaves behind, and how its files are written.

Every file is written beside its final name and then renamed, so that a folder never holds half a file under a name that
somebody will read: a run that is killed leaves the last complete one. One run at a time uses a folder.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import shutil
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeVar

import h5py
import numpy as np

from craton.errors import UserError

if TYPE_CHECKING:  # a third of a second, which processes that talk to nobody need not wait
    from mpi4py import MPI

Result = TypeVar("Result")

ROOM_FOR_HEADERS = 1 << 16
"""Bytes that HDF5 needs beside the arrays, generously."""


class Folder:
    """A run's folder. What derives from it names the files."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = pathlib.Path(path)
        self._descriptor: int | None = None

    @property
    def files(self) -> tuple[pathlib.Path, ...]:
        """All that a run may write, whether it is there or not."""
        raise NotImplementedError

    @property
    def results(self) -> list[pathlib.Path]:
        """Those of the files that are there."""
        return [file for file in self.files if file.exists()]

    def make(self) -> None:
        """Makes the folder and sees that it can be written to."""
        try:
            self.path.mkdir(parents=True, exist_ok=True)
        except OSError as problem:
            raise UserError(
                f"output folder {self.path}: {problem.strerror or problem}; allowed: a folder that can be made"
            ) from problem
        if not os.access(self.path, os.W_OK | os.X_OK):
            raise UserError(f"output folder {self.path}: no permission to write; allowed: a folder of your own")

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
        """Keeps other runs out until `release`, or until this process ends, however it ends: the kernel sees to it."""
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
        for file in self.files:
            for left_behind in self.path.glob(f"{file.name}.*.new*"):
                left_behind.unlink(missing_ok=True)

    def _locked(self) -> int:
        """The lock file, open and locked."""
        while True:
            descriptor = os.open(self._lock_file, os.O_RDWR | os.O_CREAT, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                owner = os.read(descriptor, 200).decode(errors="replace") or "unknown"
                os.close(descriptor)
                raise UserError(
                    f"run folder {self.path} is in use by another run (pid {owner}); "
                    "allowed: another folder, or this one when that run has ended"
                ) from None
            except OSError:
                return descriptor  # a file system without locks
            with contextlib.suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), os.stat(self._lock_file)):
                    return descriptor
            os.close(descriptor)  # the run that held it has removed it meanwhile

    def release(self) -> None:
        """Lets other runs in."""
        if self._descriptor is not None:
            self._clear()
            self._lock_file.unlink(missing_ok=True)
            os.close(self._descriptor)
            self._descriptor = None

    @property
    def _lock_file(self) -> pathlib.Path:
        return self.path / ".lock"

    def _clear(self) -> None:
        """What a run that failed has left and nobody wants."""


@contextmanager
def reserved(comm: MPI.Comm, folder: Folder, check: Callable[[], None]) -> Iterator[None]:
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


def aside_of(path: pathlib.Path) -> pathlib.Path:
    """The name beside `path` that this process writes to."""
    return path.with_name(f"{path.name}.{os.getpid()}.new")


@contextmanager
def replaced(path: pathlib.Path) -> Iterator[pathlib.Path]:
    """Gives a name beside `path` to write to; renames it to `path` when the block ends well, else removes it."""
    aside = aside_of(path)
    try:
        yield aside
        with aside.open("rb+") as file:
            os.fsync(file.fileno())
        os.replace(aside, path)
    except OSError as problem:
        raise UserError(f"{path}: cannot be written: {problem.strerror or problem}") from problem
    finally:
        aside.unlink(missing_ok=True)


def check_room(path: pathlib.Path, size: int) -> None:
    """A UserError if the disk has no room for `size` bytes: its words are clearer than HDF5's."""
    free = shutil.disk_usage(path.parent).free
    if free < size + ROOM_FOR_HEADERS:
        raise UserError(f"{path}: needs {size + ROOM_FOR_HEADERS} bytes but {free} are free; allowed: a disk with room")


def write_hdf5(path: pathlib.Path, content: dict[str, Any], mode: str = "w") -> None:
    """Arrays become datasets ('group/name' makes groups); text and plain numbers become attributes of the file."""
    check_room(path, sum(value.nbytes for value in content.values() if isinstance(value, np.ndarray)))
    with h5py.File(path, mode) as file:
        for name, value in content.items():
            if isinstance(value, np.ndarray):
                file.create_dataset(name, data=value)
            else:
                file.attrs[name] = value


def read_hdf5(path: pathlib.Path, leave_out: tuple[str, ...] = ()) -> dict[str, Any]:
    """The inverse of write_hdf5; a UserError names the file that is missing or damaged."""
    content: dict[str, Any] = {}
    try:
        with h5py.File(path, "r") as file:

            def collect(name: str, item: Any) -> None:
                if isinstance(item, h5py.Dataset) and name not in leave_out:
                    content[name] = item[()]

            file.visititems(collect)
            content.update(file.attrs.items())
    except FileNotFoundError as problem:
        raise UserError(f"{path}: no such file") from problem
    except (OSError, RuntimeError, KeyError) as problem:
        raise UserError(f"{path}: not a complete HDF5 file ({problem})") from problem
    return content


def on_root(comm: MPI.Comm, work: Callable[[], Result]) -> Result:
    """Rank 0 does the work, every rank gets the result. If it fails all ranks raise: none waits for another."""
    outcome: tuple[Any, str | None, bool] = (None, None, False)
    failure: Exception | None = None
    if comm.rank == 0:
        try:
            outcome = (work(), None, False)
        except Exception as problem:
            failure = problem
            outcome = (None, str(problem), isinstance(problem, UserError))
    result, complaint, by_user = comm.bcast(outcome, root=0)
    if failure is not None:
        raise failure
    if complaint is not None:
        raise UserError(complaint) if by_user else RuntimeError(f"rank 0 failed: {complaint}")
    return result  # type: ignore[no-any-return]
