"""Boundary conditions, and the values that a user gives on the sides of a grid."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from craton.errors import UserError
from craton.solvers.multigrid.functions import Function, means
from craton.solvers.multigrid.values import Field, number, numbers

Robin = tuple[Literal["robin"], float, float]
"""What is given is a u + c beta du/dn, n outwards, for ("robin", a, c)."""
Boundary = Literal["dirichlet", "neumann", "periodic"] | Robin
Side = Boundary | tuple[Boundary, Boundary]
OnSide = float | ArrayLike | Function | None
"""What is given on a side: a number, an array of its faces, or a function of x, y, z."""
BoundaryValues = OnSide | Sequence[OnSide | tuple[OnSide, OnSide]]

KINDS = ("dirichlet", "neumann", "periodic")
PLAIN = (1.0, 0.0)


@dataclass(frozen=True)
class Sides:
    """Conditions on all sides, as the extension takes them: per dimension before the first cell and behind the last."""

    names: list[tuple[str, str]]
    robin: list[tuple[tuple[float, float], tuple[float, float]]]
    """a and c where the name is robin."""
    periodic: tuple[bool, bool, bool]

    @property
    def flat(self) -> tuple[bool, bool, bool]:
        """Per dimension whether no side fixes u."""
        x, y, z = (
            round_about
            or all(name == "neumann" or (name == "robin" and a == 0) for name, (a, _) in zip(names, pair, strict=True))
            for names, pair, round_about in zip(self.names, self.robin, self.periodic, strict=True)
        )
        return x, y, z


def sides(boundary: Boundary | Sequence[Side]) -> Sides:
    """The conditions that a user has given. UserError for what is none."""
    per_dimension: Any = [boundary] * 3 if isinstance(boundary, str) or is_robin(boundary) else boundary
    pairs: list[Any] = list(per_dimension) if isinstance(per_dimension, (list, tuple)) else []
    pairs = [pair if isinstance(pair, (list, tuple)) and not is_robin(pair) else (pair, pair) for pair in pairs]
    flat = [side for pair in pairs for side in pair]
    odd = [pair for pair in pairs if len(pair) != 2 or (pair[0] == "periodic") != (pair[1] == "periodic")]
    if len(pairs) != 3 or odd or any(not is_robin(side) and side not in KINDS for side in flat):
        raise UserError(
            f"multigrid: boundary = {boundary!r}; allowed: {', '.join(KINDS)}, ('robin', a, c), or three of them, each of "
            "which may be a pair, of which none is periodic"
        )
    periodic = [pair[0] == "periodic" for pair in pairs]

    def name(side: Any) -> str:
        return "robin" if is_robin(side) else "dirichlet" if side == "periodic" else str(side)

    def coefficients(side: Any) -> tuple[float, float]:
        if not is_robin(side):
            return PLAIN
        return number("a of a Robin side", side[1]), number("c of a Robin side", side[2])

    return Sides(
        [(name(before), name(behind)) for before, behind in pairs],
        [(coefficients(before), coefficients(behind)) for before, behind in pairs],
        (periodic[0], periodic[1], periodic[2]),
    )


def is_robin(side: Any) -> bool:
    """Whether it is ("robin", a, c); three words are three dimensions."""
    return (
        isinstance(side, (list, tuple))
        and len(side) == 3
        and isinstance(side[0], str)
        and side[0] == "robin"
        and not any(isinstance(each, (list, tuple)) or (isinstance(each, str) and each in KINDS) for each in side[1:])
    )


class SideValues:
    """Turns what a user gives on the sides of a grid into arrays of faces. averages: of functions, over faces."""

    def __init__(
        self,
        cells: tuple[int, int, int],
        spacing: tuple[float, float, float],
        periodic: tuple[bool, bool, bool],
        averages: bool,
    ) -> None:
        self.cells, self._spacing, self._periodic, self._averages = cells, spacing, periodic, averages

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
        what, allowed = f"values on {name}", f"a number, or {shape}"
        if callable(given):
            side = self._of_function(given, axis, end, what)
        else:
            side = numbers(given, f"{what} are no real numbers", allowed)
        if side.ndim == 0:
            side = np.broadcast_to(side, shape)
        if side.shape != shape:
            raise UserError(f"multigrid: {what} of shape {side.shape}; allowed: {allowed}")
        return np.ascontiguousarray(side.T).reshape(-1)

    def _of_function(self, of: Function, axis: int, end: int, what: str) -> Field:
        """At the centres of a side's faces, or averages over them."""
        centres: list[Field] = [
            np.array([end * n * h]) if d == axis else (np.arange(n, dtype=np.float64) + 0.5) * h
            for d, (n, h) in enumerate(zip(self.cells, self._spacing, strict=True))
        ]
        widths = [h if self._averages and d != axis else 0.0 for d, h in enumerate(self._spacing)]
        return means(of, centres, widths, what, without_axis=axis)
