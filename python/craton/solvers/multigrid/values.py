"""Numbers and arrays that a user gives, checked in one line."""

from __future__ import annotations

from collections.abc import Sequence
from types import NoneType
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton.errors import UserError

Field = NDArray[np.float64]
Faces = tuple[Field, Field, Field]


def to_be_cut(field: ArrayLike, what: str, allowed: str) -> Field:
    """An array of numbers, or what gives parts of one by slices, such as a dataset of an HDF5 file: only what is wanted is read."""
    kind = getattr(getattr(field, "dtype", None), "kind", "")
    if kind in ("f", "i", "u") and hasattr(field, "shape"):
        return cast(Field, field)
    return numbers(field, f"{what} is no array of real numbers", allowed)


def numbers(given: ArrayLike, wrong: str, allowed: str) -> Field:
    """UserError (what is wrong, what is allowed) unless they are, and real."""
    try:
        values = np.asarray(given)
        of_objects = values.dtype.kind == "O" and not any(
            isinstance(v, (complex, str, bytes, NoneType)) for v in values.flat
        )
        if values.dtype.kind in "fiub" or of_objects:
            return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        pass
    raise UserError(f"multigrid: {wrong}; allowed: {allowed}")


def number(name: str, given: Any, allowed: str = "a number") -> float:
    """UserError unless it is one, and real."""
    found = numbers(given, f"{name} = {given!r}", allowed)
    if found.ndim != 0:
        raise UserError(f"multigrid: {name} = {given!r}; allowed: {allowed}")
    return float(found)


def whole_number(name: str, given: Any) -> int:
    """UserError unless it is a whole number, and one that the extension takes."""
    found = number(name, given, "a whole number")
    if not (abs(found) < 2**31 and found == int(found)):
        raise UserError(f"multigrid: {name} = {given!r}; allowed: a whole number")
    return int(found)


def spacing_of(given: Any, cells: tuple[int, int, int]) -> tuple[float, float, float]:
    """Sides of a cell along x, y, z; without any the longest dimension has length 1. UserError unless all are above 0."""
    if given is None:
        return (1.0 / max(1, *cells),) * 3
    allowed = "a number above 0, or three"
    found = numbers(given, f"spacing = {given!r}", allowed)
    if found.shape not in ((), (3,)) or not np.all((found > 0) & np.isfinite(found)):
        raise UserError(f"multigrid: spacing = {given!r}; allowed: {allowed}")
    x, y, z = (float(h) for h in np.broadcast_to(found, 3))
    return x, y, z


def triple(cells: int | Sequence[int]) -> tuple[int, int, int]:
    """Cells along x, y, z from three numbers, or from one for a cube. UserError for anything else."""
    if np.ndim(cells) == 0:
        n = whole_number("cells", cells)
        return n, n, n
    if np.shape(cells) != (3,):
        raise UserError(f"multigrid: cells = {cells!r}; allowed: a whole number, or three")
    x, y, z = (whole_number("cells", n) for n in cast(Sequence[int], cells))
    return x, y, z
