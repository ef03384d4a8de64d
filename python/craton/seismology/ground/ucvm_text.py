"""A velocity model as UCVM's ucvm_query prints it, or any table of points, on a regular mesh of degrees and depths.

A row of ucvm_query (depth mode) has 17 columns: longitude, latitude, depth, and last the combined vp, vs and rho. Other tables have
longitude, latitude, depth, vp, vs, rho and perhaps qp, qs. Degrees, m, m/s and kg/m^3; # begins a comment. Rows are in any order.
Values between the points are linear, as of the other gridded models.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from craton.seismology.ground.media import NAMES
from craton.seismology.ground.media_files import GriddedMedium, Variable
from craton.seismology.ground.regular_mesh import read_table, regular_mesh

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
    points, fields = regular_mesh(path, read_table(path, COLUMNS, ALLOWED), AXES)
    variables = {
        name: (Variable(AXES, values.shape, {}, values.__getitem__), 1.0, (0, 1, 2))
        for name, values in zip(NAMES, fields, strict=False)
    }
    return GriddedMedium(
        path=path,
        axes=AXES,
        points=tuple(points),
        flipped=(False, False, False),
        variables=variables,
        outside=outside,
        **common,
    )
