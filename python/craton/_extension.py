"""The compiled extension: how it is loaded, and whether it fits the MPI library of mpi4py."""

from __future__ import annotations

import importlib
import os
import sys
from types import TracebackType
from typing import TYPE_CHECKING, Any

# NumPy first: it brings its own OpenBLAS, which detects the processor correctly and must not see the hint below.
import numpy as _numpy  # noqa: F401

__all__ = ["build_info", "check_mpi", "end_all_ranks_on_uncaught_exceptions", "extension", "openblas_core"]


def openblas_core() -> str | None:
    """The OpenBLAS kernel set that this processor can run, or None where OpenBLAS decides well by itself.

    OpenBLAS 0.3.21 (Debian 12), which the extension is linked against, knows Intel processors by model number. It takes younger
    ones for a Prescott of 2004 and runs SSE3 kernels on them, five times slower. The instruction set tells what it may use.
    """
    try:
        with open("/proc/cpuinfo", encoding="ascii", errors="replace") as stream:
            flags = next((set(line.split()) for line in stream if line.startswith("flags")), set())
    except OSError:
        return None
    if {"avx512f", "avx512dq", "avx512bw", "avx512vl"} <= flags:
        return "SkylakeX"
    if {"avx2", "fma"} <= flags:
        return "Haswell"
    return None


def _load() -> Any:
    """Loads the extension, with the hint for OpenBLAS in the environment just while its library starts up."""
    hint = None if "OPENBLAS_CORETYPE" in os.environ else openblas_core()
    if hint:
        os.environ["OPENBLAS_CORETYPE"] = hint
    try:
        return importlib.import_module("craton._craton")
    except ImportError as error:
        raise ImportError(
            f"craton's compiled extension cannot be loaded: {error}; build it with `pip install .` in the source folder"
        ) from error
    finally:
        # children may run on other processors (mpiexec from a login node): each decides for itself
        if hint:
            del os.environ["OPENBLAS_CORETYPE"]


if TYPE_CHECKING:
    from craton import _craton as extension
else:
    extension = _load()


def build_info() -> dict[str, str]:
    """version, commit, compiler, flags, build_type, mpi, blas, hdf5 of the extension. Not collective."""
    return dict(extension.build_info())


def check_mpi() -> None:
    """Starts MPI (mpi4py, with THREAD_MULTIPLE) and checks that it is the library the extension was built with. Not collective.

    ImportError where it is another, with the command that mends it.
    """
    from mpi4py import MPI

    ours = _first_line(extension.mpi_library_version())
    theirs = _first_line(MPI.Get_library_version())
    if ours != theirs:
        raise ImportError(
            f"craton was built with {ours!r} but mpi4py with {theirs!r}; both must use one MPI library: "
            "pip install --no-binary mpi4py --force-reinstall mpi4py"
        )


def end_all_ranks_on_uncaught_exceptions() -> None:
    """Makes an exception that nobody catches end the whole job with one line, so that no rank waits for one that is gone.

    Does nothing on a single rank, or where a program has its own hook.
    """
    from mpi4py import MPI

    if MPI.COMM_WORLD.size == 1 or sys.excepthook is not sys.__excepthook__:
        return

    def hook(_kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        from craton._launch import main_guard

        with main_guard():
            raise error.with_traceback(trace)

    sys.excepthook = hook


def _first_line(text: str) -> str:
    return text.strip("\0 \n").splitlines()[0].strip()
