"""Functions of x, y, z that a user gives: their values at points, or averages over cells and faces."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from craton.errors import UserError
from craton.solvers.multigrid.values import Field, numbers

Function = Callable[[Field, Field, Field], ArrayLike]
"""Takes and gives arrays; a number stands for an array of it."""
Part = tuple[slice, slice, slice]


def means(
    of: Function, centres: Sequence[Field], widths: Sequence[float], what: str, *, without_axis: int | None = None
) -> Field:
    """A function's averages over cells round a grid of centres; by two points of Gauss along each dimension whose width is not 0.

    without_axis: the function gets arrays of the two other dimensions. UserError, which names `what`, for values that are no real
    numbers or of another shape.
    """
    shape = tuple(len(along) for d, along in enumerate(centres) if d != without_axis)
    allowed = f"a number, or {shape}"
    total: Any = 0.0
    offsets = [(-width / 12**0.5, width / 12**0.5) if width else (0.0,) for width in widths]
    shifts = list(product(*offsets))
    for shift in shifts:
        points = [along + off for along, off in zip(centres, shift, strict=True)]
        grid = list(np.meshgrid(*points, indexing="ij"))
        if without_axis is not None:
            grid = [np.squeeze(each, without_axis) for each in grid]
        values = numbers(of(*grid), f"{what} are no real numbers", allowed)
        if values.shape not in ((), shape):
            raise UserError(f"multigrid: {what} of shape {values.shape}; allowed: {allowed}")
        total = total + values / len(shifts)
    return np.broadcast_to(np.asarray(total), shape)


def in_cells(of: Function, part: Part, spacing: Sequence[float], averages: bool, what: str) -> Field:
    """A function at the centres of a part's cells, or its averages over them."""
    centres: list[Field] = [
        (np.arange(cells.start, cells.stop, dtype=np.float64) + 0.5) * h for cells, h in zip(part, spacing, strict=True)
    ]
    return means(of, centres, spacing if averages else (0.0,) * 3, what)


class FacesOfFunction:
    """A function on the faces normal to an axis, at their centres or averaged over them, where faces of a part are asked for."""

    def __init__(
        self, of: Function, axis: int, cells: Sequence[int], spacing: Sequence[float], averages: bool, what: str
    ) -> None:
        self._of, self._axis, self._spacing, self._averages, self._what = of, axis, spacing, averages, what
        self.shape = tuple(n + (d == axis) for d, n in enumerate(cells))
        self.dtype = np.dtype(np.float64)

    def __getitem__(self, part: Part) -> Field:
        beside = [0.0 if d == self._axis else 0.5 for d in range(3)]
        centres: list[Field] = [
            (np.arange(faces.start, faces.stop, dtype=np.float64) + off) * h
            for faces, off, h in zip(part, beside, self._spacing, strict=True)
        ]
        widths = [h if self._averages and d != self._axis else 0.0 for d, h in enumerate(self._spacing)]
        return means(self._of, centres, widths, self._what)
