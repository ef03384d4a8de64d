"""Tables of points that make a regular mesh: rows of a text file, in any order."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.seismology.files import numbered_rows

__all__ = ["read_table", "regular_mesh"]

LIMITS = {"longitude": 360.0, "latitude": 90.0}


def read_table(path: Path, columns: Mapping[int, Sequence[int]], allowed: str) -> NDArray[np.float64]:
    """(rows, columns). columns: which ones count, by how many a row has. UserError names the row that cannot be one."""
    rows: list[list[float]] = []
    for place, line, words in numbered_rows(path, allowed):
        try:
            row = [float(words[column]) for column in columns.get(len(words), ())]
        except ValueError:
            row = []
        if not row or (rows and len(row) != len(rows[0])) or not all(map(math.isfinite, row)):
            raise UserError(f"{place}: '{line}'; allowed: {allowed}, in all rows alike")
        rows.append(row)
    if not rows:
        raise UserError(f"{path}: no rows; allowed: {allowed}")
    return np.array(rows)


def regular_mesh(
    path: Path, table: NDArray[np.float64], axes: Sequence[str]
) -> tuple[list[NDArray[np.float64]], list[NDArray[np.float32]]]:
    """The axes, increasing, and the fields of the columns after theirs. UserError where points lack or occur twice."""
    found = [np.unique(table[:, column], return_inverse=True) for column in range(len(axes))]
    points, index = [axis for axis, _ in found], tuple(at for _, at in found)
    shape = tuple(map(len, points))
    for name, axis in zip(axes, points, strict=True):
        if len(axis) < 2 or not np.abs(axis).max() <= LIMITS.get(name, math.inf):
            raise UserError(
                f"{path}: {name} from {axis[0]:g} to {axis[-1]:g}; allowed: two or more values, degrees or m"
            )
    # Before anything of that shape is made: points of no mesh at all would need the cube of their number.
    if len(table) != math.prod(shape) or np.bincount(np.ravel_multi_index(index, shape)).max() > 1:
        counts = " x ".join(f"{count} {name}s" for count, name in zip(shape, axes, strict=True))
        raise UserError(
            f"{path}: {len(table)} points, but {counts}; allowed: a regular mesh, each with each of the others, once"
        )
    fields = []
    for column in table.T[len(axes) :]:
        values = np.empty(shape, np.float32)
        values[index] = column
        fields.append(values)
    return points, fields
