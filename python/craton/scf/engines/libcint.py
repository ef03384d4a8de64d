"""Where libcint is."""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
from pathlib import Path

from craton._craton import IntegralLibrary
from craton.errors import UserError


def find_libcint() -> str:
    """What CRATON_LIBCINT names, else the copy inside the pyscf package (which is not imported), else the system's.

    UserError where there is none.
    """
    named = os.environ.get("CRATON_LIBCINT")
    if named:
        return named
    pyscf = importlib.util.find_spec("pyscf")
    for folder in (pyscf.submodule_search_locations or []) if pyscf else []:
        for inside in ("lib/deps/lib/libcint.so", "lib/libcint.so"):
            if (Path(folder) / inside).exists():
                return str(Path(folder) / inside)
    system = ctypes.util.find_library("cint")
    if system:
        return system
    raise UserError(
        "libcint: no such library is installed; allowed: pip install craton[chemistry], or CRATON_LIBCINT=/path/to/libcint.so"
    )


def open_libcint(path: str | None = None) -> IntegralLibrary:
    """The integral library at `path`, or the one that find_libcint finds. UserError where that is not one."""
    return IntegralLibrary(path or find_libcint())
