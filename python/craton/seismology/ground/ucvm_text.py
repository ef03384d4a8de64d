"""A velocity model as UCVM's ucvm_query prints it, or any table of points, on a regular mesh of degrees and depths.

A row of ucvm_query (depth mode) has 17 columns: longitude, latitude, depth, and last the combined vp, vs and rho. Other tables have
longitude, latitude, depth, vp, vs, rho and perhaps qp, qs. Degrees, m, m/s and kg/m^3; # begins a comment. Rows are in any order.
Values between the points are linear, as of the other gridded models.
"""

from __future__ import annotations

import math
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.seismology.files import numbered_rows
from craton.seismology.ground.media import NAMES
from craton.seismology.ground.media_files import GriddedMedium, Variable

__all__ = ["open_ucvm_text"]

AXES = ("longitude", "latitude", "depth")
COLUMNS = {17: (0, 1, 2, 14, 15, 16), 6: tuple(range(6)), 8: tuple(range(8))}
"""Of longitude, latitude, depth, vp, vs, rho (qp, qs), by how many a row has."""
ALLOWED = "the 17 columns of ucvm_query, or longitude, latitude, depth, vp, vs, rho and perhaps qp, qs"


def open_ucvm_text(path: str | os.PathLike[str], *, outside: str = "refuse", **common: Any) -> GriddedMedium:
    """The model of a table. UserError for a row that is none, and where points lack or occur twice.

    outside: "nearest" where the file goes on beyond its ends as at them. common: settings of Medium.
    """
    path = Path(path)
    table = _table(path)
    points, index = zip(*(np.unique(table[:, column], return_inverse=True) for column in range(3)), strict=True)
    shape = tuple(len(axis) for axis in points)
    for name, axis, limit in zip(AXES, points, (360, 90, math.inf), strict=True):
        if len(axis) < 2 or not np.abs(axis).max() <= limit:
            raise UserError(
                f"{path}: {name} from {axis[0]:g} to {axis[-1]:g}; allowed: two or more values, degrees or m"
            )
    times = (
        np.bincount(np.ravel_multi_index(index, shape), minlength=math.prod(shape))
        if len(table) == math.prod(shape)
        else None
    )
    if times is None or times.max() > 1:
        raise UserError(
            f"{path}: {len(table)} points, of which {shape[0]} longitudes, {shape[1]} latitudes and {shape[2]} depths are "
            "different; allowed: a regular mesh, each longitude with each latitude and depth, once"
        )
    variables = {}
    for name, column in zip(NAMES, table.T[3:], strict=False):
        values = np.empty(shape, np.float32)
        values[index] = column
        variables[name] = (Variable(AXES, shape, {}, values.__getitem__), 1.0, (0, 1, 2))
    return GriddedMedium(
        path=path,
        axes=AXES,
        points=points,
        flipped=(False, False, False),
        variables=variables,
        outside=outside,
        **common,
    )


def _table(path: Path) -> NDArray[np.float64]:
    """(points, columns): longitude, latitude, depth, vp, vs, rho (qp, qs)."""
    rows: list[list[float]] = []
    for place, line, words in numbered_rows(path, ALLOWED):
        columns = COLUMNS.get(len(words), ())
        try:
            row = [float(words[column]) for column in columns]
        except ValueError:
            row = []
        if not row or (rows and len(row) != len(rows[0])) or not all(map(math.isfinite, row)):
            raise UserError(f"{place}: '{line}'; allowed: {ALLOWED}, in all rows alike")
        rows.append(row)
    if not rows:
        raise UserError(f"{path}: no rows; allowed: {ALLOWED}")
    return np.array(rows)
