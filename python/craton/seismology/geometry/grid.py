"""The solver's grid as the user gives it: size, spacing, and where it lies on the Earth.

Cells of side h; x, y, z in m from the grid's corner of lowest x, y and z: x towards `azimuth_deg` (0: north), y 90 degrees
clockwise of it (east), z down from the surface. Arrays over cells are indexed [i, j, k] and lie in memory with i fastest, as the
kernels' fields do.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton._craton import best_process_grid, brick_of
from craton.errors import UserError
from craton.seismology.geometry.projection import Projection

Array = NDArray[np.float64]

THINNEST = 4
"""Cells that a brick has along each side at least (array::thinnest_brick)."""


@dataclass(frozen=True)
class Box:
    """Cells first <= (i, j, k) < last."""

    first: tuple[int, int, int]
    last: tuple[int, int, int]

    @property
    def shape(self) -> tuple[int, int, int]:
        """Cells along x, y and z."""
        a, b, c = (max(high - low, 0) for low, high in zip(self.first, self.last, strict=True))
        return a, b, c

    @property
    def cells(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    def grown(self, width: int) -> Box:
        """By so many cells on every side, beyond the grid too."""
        i, j, k = self.first
        p, q, r = self.last
        return Box((i - width, j - width, k - width), (p + width, q + width, r + width))

    def __str__(self) -> str:
        return " x ".join(f"[{low}, {high})" for low, high in zip(self.first, self.last, strict=True))


@dataclass(frozen=True)
class Grid:
    """cells, side of a cell in m, and, where places are given in degrees, the projection about its origin."""

    cells: tuple[int, int, int]
    spacing_m: float
    projection: Projection | None = None
    azimuth_deg: float = 0.0
    """of the x axis, clockwise from north at the projection's origin"""
    origin_m: tuple[float, float] = (0.0, 0.0)
    """x and y of the projection's origin"""
    sea_level_m: float = 0.0
    """z of elevation 0, from which depths of catalogues and faults count"""

    @property
    def size_m(self) -> tuple[float, float, float]:
        """Lengths along x, y and z, m."""
        a, b, c = (n * self.spacing_m for n in self.cells)
        return a, b, c

    @property
    def box(self) -> Box:
        """All cells."""
        return Box((0, 0, 0), self.cells)

    def contains(self, x: ArrayLike, y: ArrayLike, z: ArrayLike) -> NDArray[np.bool_]:
        """Its outer faces included; False for NaN."""
        along = zip((x, y, z), self.size_m, strict=True)
        return np.asarray(np.all([(np.asarray(at) >= 0) & (np.asarray(at) <= size) for at, size in along], axis=0))

    def x_y(self, longitude_deg: ArrayLike, latitude_deg: ArrayLike) -> tuple[Array, Array]:
        """X and y in m of degrees. UserError where the grid has no place on the Earth."""
        east, north = self._placed().forward(longitude_deg, latitude_deg)
        sine, cosine = self._azimuth()
        return north * cosine + east * sine + self.origin_m[0], east * cosine - north * sine + self.origin_m[1]

    def lon_lat(self, x: ArrayLike, y: ArrayLike) -> tuple[Array, Array]:
        """Longitude and latitude in degrees of x and y in m: the inverse of x_y."""
        along, across = np.asarray(x, float) - self.origin_m[0], np.asarray(y, float) - self.origin_m[1]
        sine, cosine = self._azimuth()
        return self._placed().inverse(along * sine + across * cosine, along * cosine - across * sine)

    def _azimuth(self) -> tuple[float, float]:
        """Its sine and cosine."""
        return math.sin(math.radians(self.azimuth_deg)), math.cos(math.radians(self.azimuth_deg))

    def north_deg(self, x: ArrayLike, y: ArrayLike) -> Array:
        """The direction of true north at (x, y), in degrees from the x axis towards y.

        Without a place on the Earth it is that of the grid's azimuth everywhere.
        """
        shape = np.broadcast_shapes(np.shape(x), np.shape(y))
        if self.projection is None:
            return np.full(shape, -self.azimuth_deg)
        return self.projection.north_deg(*self.lon_lat(x, y)) - self.azimuth_deg

    def check_inside(self, position_m: Array, name: Callable[[int], str]) -> None:
        """UserError for the first of some points, (n, 3), that lies outside. name: what the error calls a point."""
        outside = ~self.contains(*position_m.T)
        if outside.any():
            at = int(np.argmax(outside))
            (x, y, z), (a, b, c) = position_m[at], self.size_m
            raise UserError(
                f"{name(at)} at (x, y, z) = ({x:.6g}, {y:.6g}, {z:.6g}) m, outside the grid; "
                f"allowed: x in [0, {a:g}], y in [0, {b:g}], z in [0, {c:g}] m"
            )

    def axis(self, first: int, last: int, subsamples: int = 1) -> Array:
        """Along any axis, the middles of the parts of cells first .. last - 1, each cut into `subsamples`; m."""
        return (first + (np.arange((last - first) * subsamples) + 0.5) / subsamples) * self.spacing_m

    def facts(self) -> dict[str, Any]:
        """What a file made for this grid must remember of it: positions in it mean nothing on another."""
        place = self.projection
        return {
            "spacing_m": self.spacing_m,
            "cells": list(self.cells),
            "azimuth_deg": self.azimuth_deg,
            "origin_m": list(self.origin_m),
            "projection": "" if place is None else type(place).__name__,
            "origin_lon_lat": [] if place is None else [place.longitude_deg, place.latitude_deg],
            **({"sea_level_m": self.sea_level_m} if self.sea_level_m else {}),
        }

    def _placed(self) -> Projection:
        if self.projection is None:
            raise UserError(
                "the grid has no place on the Earth; allowed: x, y and z in m, or [grid] origin_lon_lat = [lon, lat]"
            )
        return self.projection


def decompose(cells: tuple[int, int, int], ranks: int, fixed: tuple[int, int, int] = (0, 0, 0)) -> tuple[int, int, int]:
    """px, py, pz of `ranks` bricks with the least area between them, none thinner than THINNEST cells.

    Among equals it has the fewest cuts along x, whose rows are whole in memory. fixed: numbers that are given, 0 where free.
    UserError where there are none.
    """
    try:
        a, b, c = best_process_grid(cells, ranks, fixed)
    except UserError:
        raise UserError(
            f"{ranks} ranks for {' x '.join(map(str, cells))} cells; allowed: a number that bricks of {THINNEST} cells a side or "
            "more can be made for"
        ) from None
    return a, b, c


def bricks(cells: tuple[int, int, int], parts: tuple[int, int, int], multiples_of: int = 1) -> Iterator[Box]:
    """Bricks in their order, x fastest, as the solver cuts them: sizes along a dimension differ by one cell at most.

    multiples_of: cells along x and y at whose multiples they are cut.
    """
    for rank in range(math.prod(parts)):
        (i, j, k), (p, q, r) = brick_of(cells, parts, rank, multiples_of=(multiples_of, multiples_of, 1))
        yield Box((i, j, k), (p, q, r))
