"""Writing HDF5 files on a disk that may become full.

HDF5 writes also when it lets go of an object. Where the disk then refuses, h5py has nobody to tell: it prints a traceback, and a
later call may crash inside HDF5. So HDF5 here writes through Python, is never told of a failure, and the failure is raised when the
file is closed.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import h5py

if TYPE_CHECKING:
    from typing_extensions import Buffer

__all__ = ["written_hdf5"]


@contextmanager
def written_hdf5(path: Path, mode: str = "w") -> Iterator[h5py.File]:
    """An open file, new with mode "w", or one that is there, to be changed, with "r+". Not collective.

    OSError where the file system refuses anything, at the latest when the block ends. Use it inside `replaced`, which makes a
    UserError of it and removes what was written.
    """
    with path.open("w+b" if mode == "w" else "r+b", buffering=0) as file:
        kept = _Silent(file)
        try:
            with h5py.File(kept, mode) as content:
                yield content
        except Exception as found:
            if kept.problem is None or found is kept.problem:
                raise
            raise kept.problem from None
        if kept.problem is not None:
            raise kept.problem


class _Silent(io.RawIOBase):
    """A file of which nobody learns that it fails. After a failure nothing is written any more; what is missing reads as zeros."""

    def __init__(self, file: io.FileIO) -> None:
        super().__init__()
        self.file = file
        self.problem: OSError | None = None

    def seek(self, offset: int, whence: int = 0) -> int:
        return self.file.seek(offset, whence)

    def tell(self) -> int:
        return self.file.tell()

    def readinto(self, buffer: Buffer) -> int:
        view, done = memoryview(buffer).cast("B"), 0
        try:
            while done < len(view) and (found := self.file.readinto(view[done:])):
                done += found
        except OSError as problem:
            self.problem = self.problem or problem
        view[done:] = bytes(len(view) - done)
        return len(view)

    def write(self, data: Buffer) -> int:
        view, done = memoryview(data).cast("B"), 0
        try:
            while done < len(view) and self.problem is None:
                done += self.file.write(view[done:]) or 0
        except OSError as problem:
            self.problem = problem
        return len(view)

    def truncate(self, size: int | None = None) -> int:
        try:
            return self.file.truncate(size)
        except OSError as problem:
            self.problem = self.problem or problem
            return size or 0

    def flush(self) -> None:
        """Nothing is kept back."""
