"""A child process that reads a file first: HDF5 ends the process on some damaged ones, which must not be that of a run."""

from __future__ import annotations

import contextlib
import hashlib
import math
import os
import resource
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

LONGEST_S = 60.0
MEMORY = 1 << 29
"""Bytes that the child may take beyond twice the file's size: what a damaged file says of itself must not fill the machine."""
READS = 1 << 24
"""Bytes of each dataset that it reads: damage in what describes a dataset shows there, and files may be of any size."""

OF_NETCDF = (
    "CLASS",
    "NAME",
    "DIMENSION_LIST",
    "units",
    "axes",
    "_FillValue",
    "missing_value",
    "scale_factor",
    "add_offset",
)
"""Attributes that readers ask for by name: they may be read where the list of all cannot."""


READ = "CRATON_FILES_READ"
"""Set for the processes that this one starts: files that were read to their end, so that hundreds of them need not do it again."""
MOST_READ = 64


def survives(path: Path) -> None:
    """ValueError for a file that ends a process which reads it, or keeps it for a minute.

    A file is read once, not each time, and not by the processes that are started afterwards.
    """
    state = path.stat()
    facts = str(path.absolute()), state.st_mtime_ns, state.st_size, state.st_ino
    mark, known = hashlib.sha256(repr(facts).encode()).hexdigest()[:32], os.environ.get(READ, "").split()
    if mark not in known:
        _survives(*facts)
        os.environ[READ] = " ".join([*known, mark][-MOST_READ:])


@lru_cache(maxsize=1024)
def _survives(path: str, _modified: int, _size: int, _inode: int) -> None:
    # As a file of its own: to import the package would take longer than the reading.
    command = [sys.executable, "-P", __file__, path]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=LONGEST_S,
            env=environment,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise ValueError(f"HDF5 has not read it within {LONGEST_S:g} s") from None
    if done.returncode < 0:
        raise ValueError(f"HDF5 ends with {signal.Signals(-done.returncode).name} when it reads it")


def main(path: str) -> None:
    """Reads what a file has of each kind, whatever that raises: what counts is that the process ends by itself."""
    import h5py

    signal.alarm(math.ceil(LONGEST_S) + 1)  # ends it within HDF5 too, where whoever has started it was killed
    with contextlib.suppress(OSError):
        most = _address_space() + MEMORY + 2 * os.path.getsize(path)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))

    seen: set[int] = set()

    def visit(item: object) -> None:
        """What it is, then what it holds: one thing that cannot be read must not hide the others."""
        addresses = _some(lambda: [int(h5py.h5o.get_info(item.id).addr)])  # type: ignore[attr-defined]
        if seen.issuperset(addresses) and addresses:
            return
        seen.update(addresses)
        attributes = item.attrs  # type: ignore[attr-defined]
        for name in (*_some(lambda: list(attributes)), *OF_NETCDF):
            _some(lambda name=name: [attributes.get(name)])  # type: ignore[misc]
        if isinstance(item, h5py.Dataset):
            _some(lambda: [item[: max(1, READS // max(1, item.nbytes // item.shape[0]))] if item.shape else item[()]])
        elif isinstance(item, h5py.Group) and addresses:
            for name in _some(lambda: list(item)):
                for each in _some(lambda name=name: [item[name]]):  # type: ignore[misc]
                    visit(each)

    with contextlib.suppress(Exception), h5py.File(path, "r") as file:
        visit(file)


def _some(read: Callable[[], list[Any]]) -> list[Any]:
    """What a function reads; nothing where it cannot."""
    try:
        return read()
    except Exception:
        return []


def _address_space() -> int:
    """Bytes that this process has reserved already."""
    with open("/proc/self/statm", encoding="ascii") as numbers:
        return int(numbers.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


if __name__ == "__main__":
    main(sys.argv[1])
