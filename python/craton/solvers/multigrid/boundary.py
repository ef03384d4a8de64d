"""Boundary conditions, and the values that a user gives on the sides of a grid."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from craton.errors import UserError
from craton.solvers.multigrid.values import Field, numbers

Boundary = Literal["dirichlet", "neumann", "periodic"]
Side = Boundary | tuple[Boundary, Boundary]
OnSide = float | ArrayLike | Callable[[Field, Field, Field], ArrayLike] | None
"""What is given on a side: a number, an array of its faces, or a function of x, y, z."""
BoundaryValues = OnSide | Sequence[OnSide | tuple[OnSide, OnSide]]

KINDS = ("dirichlet", "neumann", "periodic")


def sides(boundary: Boundary | Sequence[Side]) -> tuple[list[tuple[str, str]], tuple[bool, bool, bool]]:
    """Per dimension: before the first cell and behind the last; and whether it is periodic."""
    per_dimension = [boundary] * 3 if isinstance(boundary, str) else boundary
    pairs = per_dimension if isinstance(per_dimension, (list, tuple)) else []
    pairs = [pair if isinstance(pair, (list, tuple)) else (pair, pair) for pair in pairs]
    flat = [side for pair in pairs for side in pair]
    odd = [pair for pair in pairs if len(pair) != 2 or (pair[0] == "periodic") != (pair[1] == "periodic")]
    if len(pairs) != 3 or odd or any(not isinstance(side, str) or side not in KINDS for side in flat):
        raise UserError(
            f"multigrid: boundary = {boundary!r}; allowed: {', '.join(KINDS)}, or three of them, each of which may be "
            "a pair of dirichlet and neumann"
        )
    periodic = [pair[0] == "periodic" for pair in pairs]
    named = [("dirichlet", "dirichlet") if pair[0] == "periodic" else (str(pair[0]), str(pair[1])) for pair in pairs]
    return named, (periodic[0], periodic[1], periodic[2])


class SideValues:
    """Turns what a user gives on the sides of a grid into arrays of faces. averages: of functions, over faces."""

    def __init__(self, cells: tuple[int, int, int], periodic: tuple[bool, bool, bool], averages: bool) -> None:
        self.cells, self._periodic, self._averages = cells, periodic, averages

    def arrays(self, given: BoundaryValues) -> list[tuple[Field, Field]]:
        """Values of both sides of each dimension, as the extension takes them."""
        if isinstance(given, (list, tuple)):
            three: list[Any] = list(given)
        else:
            three = [None if round_about else given for round_about in self._periodic]
        pairs = [tuple(each) if isinstance(each, (list, tuple)) else (each, each) for each in three]
        if len(pairs) != 3 or any(len(pair) != 2 for pair in pairs):
            raise UserError(
                f"multigrid: boundary_values of lengths {[len(pair) for pair in pairs]}; allowed: one for all sides, or three, "
                "each of which may be a pair"
            )
        return [(self._on_side(pair[0], axis, 0), self._on_side(pair[1], axis, 1)) for axis, pair in enumerate(pairs)]

    def _on_side(self, given: OnSide, axis: int, end: int) -> Field:
        """The lower of the side's dimensions fastest."""
        if given is None:
            return np.zeros(0)
        shape = tuple(n for d, n in enumerate(self.cells) if d != axis)
        name = f"the side {'behind the last' if end else 'before the first'} {'xyz'[axis]}"
        wrong, allowed = f"values on {name} are no real numbers", f"a number, or {shape}"
        if callable(given):
            side = self._face_means(given, axis, end, lambda values: numbers(values, wrong, allowed))
        else:
            side = numbers(given, wrong, allowed)
        if side.ndim == 0:
            side = np.broadcast_to(side, shape)
        if side.shape != shape:
            raise UserError(f"multigrid: values on {name} of shape {side.shape}; allowed: {allowed}")
        return np.ascontiguousarray(side.T).reshape(-1)

    def _face_means(
        self,
        of: Callable[[Field, Field, Field], ArrayLike],
        axis: int,
        end: int,
        checked: Callable[[ArrayLike], Field],
    ) -> Field:
        """A function at the centres of a side's faces, or by two points of Gauss along each of its dimensions."""
        h = 1.0 / max(self.cells)
        offsets = (-(12**-0.5), 12**-0.5) if self._averages else (0.0,)
        total: Any = 0.0
        for p in offsets:
            for q in offsets:
                shifts = iter((p, q))
                x = [
                    np.array([end * n * h]) if d == axis else (np.arange(n) + 0.5 + next(shifts)) * h
                    for d, n in enumerate(self.cells)
                ]
                grid = [np.squeeze(each, axis) for each in np.meshgrid(*x, indexing="ij")]
                total = total + checked(of(*grid)) / len(offsets) ** 2
        return np.asarray(total)
