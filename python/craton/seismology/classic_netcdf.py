"""Classic NetCDF files, which SciPy reads."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from scipy.io import netcdf_file

__all__ = ["is_classic", "mapped", "variables"]


class _Bounded(io.FileIO):
    """Reads no further than its end: SciPy asks for as many bytes as the header says, and Python makes room for them first."""

    def read(self, size: int | None = -1) -> bytes:
        """As of any file."""
        left = max(0, os.fstat(self.fileno()).st_size - self.tell())
        return super().read(left if size is None or size < 0 else min(size, left)) or b""


class _Mapped(netcdf_file):  # type: ignore[misc]
    """Its variables are views of the mapped file, which goes with the last of them; closing earlier would complain."""

    def close(self) -> None:
        pass

    __del__ = close


def is_classic(path: Path) -> bool:
    """Whether a file begins as one. OSError as of open()."""
    with path.open("rb") as stream:
        return stream.read(3) == b"CDF"


@contextmanager
def variables(path: Path) -> Iterator[Mapping[str, Any]]:
    """The variables, read into memory. What SciPy raises for a damaged file, which may be anything."""
    with _Bounded(path, "rb") as stream, netcdf_file(stream, "r", mmap=False) as file:
        yield file.variables


def mapped(path: Path) -> Mapping[str, Any]:
    """The variables, of which only what is asked for is read. Raises as above."""
    found: Mapping[str, Any] = _Mapped(_Bounded(path, "rb"), "r", mmap=True, maskandscale=False).variables
    return found
