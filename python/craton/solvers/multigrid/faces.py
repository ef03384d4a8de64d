"""Beta on faces from beta in cells."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from craton.errors import UserError
from craton.solvers.multigrid.values import Faces, Field, numbers


def faces_of_cells(values: ArrayLike, periodic: Sequence[bool] = (False, False, False)) -> Faces:
    """Beta on faces from beta in cells, shape (nx, ny, nz): harmonic means of two cells, which keep the flux through a jump right.

    On the grid's boundary it is the cell's own value, or round a periodic dimension the mean of both ends'. UserError unless all
    are positive.
    """
    cells = numbers(values, "beta of cells is no array of real numbers", "one of three dimensions")
    faces = []
    if cells.ndim != 3 or not cells.size:
        raise UserError(f"multigrid: beta of cells of shape {cells.shape}; allowed: three dimensions")
    if np.shape(periodic) != (3,):
        raise UserError(f"multigrid: periodic = {periodic!r}; allowed: three of True or False")
    for axis in range(3):
        width = [(1, 1) if d == axis else (0, 0) for d in range(3)]
        padded = np.pad(cells, width, mode="wrap" if periodic[axis] else "edge")
        faces.append(harmonic_means(padded, axis))
    return faces[0], faces[1], faces[2]


def harmonic_means(cells: Field, axis: int) -> Field:
    """Harmonic means of neighbours along an axis, one less than there are. UserError unless all are positive."""
    if not np.all((cells > 0) & np.isfinite(cells)):
        wrong = cells[~((cells > 0) & np.isfinite(cells))][0]
        raise UserError(f"multigrid: beta of a cell = {wrong:g}; allowed: positive and finite")
    n = cells.shape[axis]
    low = np.take(cells, range(n - 1), axis=axis)
    high = np.take(cells, range(1, n), axis=axis)
    return 2.0 / (1.0 / low + 1.0 / high)
