"""Where on the Earth the model lies, as forecasts in degrees need it. `craton.seismology.geometry.grid.Grid` is a Place."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["Array", "Place"]

Array = NDArray[np.float64]


class Place(Protocol):
    """Longitude and latitude, degrees, to the model's x (north, but for the grid's azimuth) and y (east), m, and back."""

    def x_y(self, longitude_deg: ArrayLike, latitude_deg: ArrayLike) -> tuple[Array, Array]:
        """M"""

    def lon_lat(self, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        """Degrees: the inverse of x_y."""

    @property
    def azimuth_deg(self) -> float:
        """Of the x axis, clockwise from the map's north."""

    def north_deg(self, x: ArrayLike, y: ArrayLike) -> Array:
        """The direction of true north at (x, y), in degrees from the x axis towards y."""
