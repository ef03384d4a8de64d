"""What the hazard chain computes with: the surface of a rupture, the rupture with its rate, and the ways in which it may happen.

Positions are along the model's axes as the sources of craton.waves are: x (north, turned by the grid's azimuth), y (east), z
(down) in m. Strikes are clockwise from north whatever the azimuth: the map's north, which is true north at the map's origin and
differs from it elsewhere by the convergence of meridians. All arrays are of float64, their own copies, and cannot be written to.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton.errors import UserError

__all__ = ["Array", "Rupture", "Surface", "Variation"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Surface:
    """Subfaults in a grid, rows down dip and columns along strike: subfault r * columns + c is in row r (0 on top), column c."""

    positions: Array
    """(n, 3), m: x, y, z of the middles"""
    strike: Array
    """(n,), degrees clockwise from north"""
    dip: Array
    """(n,), degrees in [0, 90]"""
    rake: Array
    """(n,), degrees: of the slip of the hanging wall"""
    area: Array
    """(n,), m^2"""
    rows: int
    columns: int
    azimuth_deg: float = 0.0
    """of the x axis of the positions, clockwise from north"""

    def __post_init__(self) -> None:
        for name in ("rows", "columns"):
            _whole(self, "surface", name, 1)
        _number(self, "surface", "azimuth_deg", "degrees in [-360, 360]", lambda azimuth: abs(azimuth) <= 360)
        count = self.rows * self.columns
        _array(self, "surface", "positions", (count, 3))
        for name, allowed, good in (
            ("strike", "degrees in [-360, 360]", lambda a: np.abs(a) <= 360),
            ("dip", "degrees in [0, 90]", lambda a: (a >= 0) & (a <= 90)),
            ("rake", "degrees in [-360, 360]", lambda a: np.abs(a) <= 360),
            ("area", "above 0 m^2", lambda a: a > 0),
        ):
            _array(self, "surface", name, (count,), allowed, good)

    def __len__(self) -> int:
        return self.rows * self.columns

    @property
    def strike_from_x(self) -> Array:
        """(n,), degrees from the x axis towards y."""
        return self.strike - self.azimuth_deg

    def outside(self, low_m: ArrayLike, high_m: ArrayLike) -> NDArray[np.bool_]:
        """Which subfaults (n,) lie outside a volume, of its lowest and highest x, y, z."""
        low, high = np.asarray(low_m, float), np.asarray(high_m, float)
        return np.asarray(np.any((self.positions < low) | (self.positions > high), axis=1))


@dataclass(frozen=True, eq=False)
class Rupture:
    """An earthquake that a source may have."""

    source: str
    number: int
    """among its source's"""
    magnitude: float
    annual_rate: float
    """per year"""
    surface: Surface

    def __post_init__(self) -> None:
        if not isinstance(self.source, str) or not self.source:
            raise UserError(f"rupture: source = {self.source!r}; allowed: a name")
        _whole(self, f"rupture of '{self.source}'", "number", 0)
        where = f"rupture {self.number} of '{self.source}'"
        if not isinstance(self.surface, Surface):
            raise UserError(f"{where}: surface is a {type(self.surface).__name__}; allowed: a Surface")
        _number(self, where, "magnitude", "in [-5, 12]", lambda m: -5 <= m <= 12)
        _number(self, where, "annual_rate", "0 or more, and finite, per year", lambda rate: rate >= 0)

    @property
    def name(self) -> str:
        """Source and number, for messages."""
        return f"rupture {self.number} of '{self.source}'"


@dataclass(frozen=True, eq=False)
class Variation:
    """One way in which a rupture may happen: a value for each subfault of its surface."""

    rupture: int
    """its index in the forecast's list"""
    number: int
    """among its rupture's"""
    slip: Array
    """(n,), m, 0 or more"""
    onset: Array
    """(n,), s from the beginning of the rupture, 0 or more"""
    rise: Array
    """(n,), s, above 0: how long each subfault slips"""
    hypocentre: int
    """the subfault at which it begins"""
    seed: int
    """of the random numbers that it was made with"""

    def __post_init__(self) -> None:
        _whole(self, "variation", "rupture", 0)
        _whole(self, f"variation of rupture {self.rupture}", "number", 0)
        where = f"variation {self.number} of rupture {self.rupture}"
        shape = np.shape(self.slip)
        if len(shape) != 1 or not shape[0]:
            raise UserError(f"{where}: slip of shape {shape}; allowed: (n,), one number for each subfault")
        for name, allowed, good in (
            ("slip", "0 m or more", lambda a: a >= 0),
            ("onset", "0 s or more", lambda a: a >= 0),
            ("rise", "above 0 s", lambda a: a > 0),
        ):
            _array(self, where, name, shape, allowed, good)
        _whole(self, where, "hypocentre", 0)
        if self.hypocentre >= shape[0]:
            raise UserError(f"{where}: hypocentre = {self.hypocentre}; allowed: a subfault, 0 to {shape[0] - 1}")
        _whole(self, where, "seed", 0)

    def __len__(self) -> int:
        return len(self.slip)


def _array(
    of: Any,
    where: str,
    name: str,
    shape: tuple[int, ...],
    allowed: str = "finite numbers",
    good: Callable[[Array], NDArray[np.bool_]] | None = None,
) -> None:
    """Replaces a field by a read-only copy of it, checked."""
    try:
        found = np.array(getattr(of, name), dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise UserError(f"{where}: {name} is no array of numbers; allowed: shape {shape}, {allowed}") from None
    if found.shape != shape:
        raise UserError(f"{where}: {name} of shape {found.shape}; allowed: {shape}")
    right = np.isfinite(found)
    if good is not None:
        right &= good(found)
    if not right.all():
        at = np.unravel_index(int(np.argmin(right)), shape)
        raise UserError(f"{where}: {name} of subfault {int(at[0])} = {found[at]:g}; allowed: {allowed}, and finite")
    found.setflags(write=False)
    object.__setattr__(of, name, found)


def _whole(of: Any, where: str, name: str, least: int) -> None:
    found = getattr(of, name)
    if isinstance(found, bool | np.bool_) or not isinstance(found, int | np.integer) or found < least:
        raise UserError(f"{where}: {name} = {found!r}; allowed: a whole number, {least} or more")
    object.__setattr__(of, name, int(found))


def _number(of: Any, where: str, name: str, allowed: str, good: Callable[[float], bool]) -> None:
    found = getattr(of, name)
    try:
        value = float(found)
    except (TypeError, ValueError):
        value = math.nan
    if not (math.isfinite(value) and good(value)):
        raise UserError(f"{where}: {name} = {found!r}; allowed: {allowed}")
    object.__setattr__(of, name, value)
