"""Where a shared library of the field is, that Craton opens at run time."""

from __future__ import annotations

import ctypes.util
import importlib.util
import os
from collections.abc import Sequence
from pathlib import Path

from craton.errors import UserError


def find_library(name: str, variable: str, inside_pyscf: Sequence[str], system: str) -> str:
    """What an environment variable names, else the copy inside the pyscf package (which is not imported), else the system's.

    inside_pyscf: paths there; system: the name without lib and .so. UserError where there is none.
    """
    named = os.environ.get(variable)
    if named:
        return named
    pyscf = importlib.util.find_spec("pyscf")
    for folder in (pyscf.submodule_search_locations or []) if pyscf else []:
        for inside in inside_pyscf:
            if (Path(folder) / inside).exists():
                return str(Path(folder) / inside)
    if found := ctypes.util.find_library(system):
        return found
    raise UserError(
        f"{name}: no such library is installed; allowed: pip install 'craton[chemistry]', or {variable}=/path/to/{name}.so"
    )
