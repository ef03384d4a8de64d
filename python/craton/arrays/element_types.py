"""Element types of the distributed arrays, and the extension's class for each."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from craton._extension import extension as _craton
from craton.errors import UserError

SUFFIXES = {"float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128", "int64": "i64"}
REAL = ("float32", "float64")


def checked_dtype(kind: str, dtype: DTypeLike, allowed: tuple[str, ...]) -> str:
    """The dtype's name; UserError for one that `kind` of array does not have."""
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    if name not in allowed:
        names = ", ".join(f"'{each}'" for each in allowed[:-1])
        raise UserError(f"{kind}: dtype = {name!r}; allowed: {names} or '{allowed[-1]}'")
    return name


def core_class(kind: str, dtype: DTypeLike, allowed: tuple[str, ...] = tuple(SUFFIXES)) -> Any:
    """The extension's class for a kind of array and a dtype: _craton.ConvergentMatrix_f64."""
    return getattr(_craton, f"{kind}_{SUFFIXES[checked_dtype(kind, dtype, allowed)]}")
