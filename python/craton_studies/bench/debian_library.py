"""Libraries of Debian's that benchmarks call through ctypes, where they are installed."""

from __future__ import annotations

import contextlib
import ctypes
import ctypes.util


def debian_library(name: str) -> ctypes.CDLL | None:
    """A library by its name without "lib", built with Open MPI; None where there is none, or where MPI is another."""
    from mpi4py import MPI

    file = ctypes.util.find_library(name)
    if file is None or "Open MPI" not in MPI.Get_library_version():
        return None
    with contextlib.suppress(OSError):
        return ctypes.CDLL(file, mode=ctypes.RTLD_GLOBAL)
    return None
