"""The ground's surface above and below z = 0: elevations of a file, a hill or a constant, at the columns of a grid's cells.

- NetCDF, classic or 4, also a grid of GMT: one field in m over longitude and latitude (GMT: x and y).
- ESRI ASCII grid (.asc): a header of ncols, nrows, xllcorner or xllcenter, yllcorner or yllcenter, cellsize and perhaps
  NODATA_value; then rows from the largest y down.
- Rows of x, y and elevation in any other file, of a regular mesh, in any order.

Elevations are in m, upwards, and linear between the points of a file.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.foreign_text import whole_number
from craton.seismology.files import numbered_rows, present
from craton.seismology.geometry.grid import Grid
from craton.seismology.ground.media import Constant, Layers, Material, Medium, Range, Subsamples
from craton.seismology.ground.media_files import read_map
from craton.seismology.ground.regular_mesh import LIMITS, read_table, regular_mesh

__all__ = ["LEAST_AIR", "BelowGround", "Elevation", "ElevationMap", "Topography", "gaussian_hill", "open_elevation"]

Array = NDArray[np.float64]
Elevation = Callable[[Grid, Array, Array], Array]
"""m, at x and y of a grid"""

LEAST_AIR = 3
"""Cells above the highest point, and of ground below the lowest (topography.hpp)."""
AIR = 4
"""Cells above the highest point where nothing says more."""
HIGHEST_M = 1e5
"""Above and below 0, of what is an elevation."""
MOST_VALUES = 2**31
ALLOWED = "a map of elevations in m: NetCDF, an ESRI ASCII grid (.asc), or rows of x, y and elevation"
HEADER = ("ncols", "nrows", "xllcorner", "xllcenter", "yllcorner", "yllcenter", "cellsize", "nodata_value")


@dataclass(frozen=True)
class Topography:
    """The surface of the ground in a grid."""

    surface_m: Array
    """(nx, ny): its depth below z = 0 at the middles of columns"""
    spacing_m: float
    z0_elevation_m: float
    """of z = 0"""

    @staticmethod
    def of(
        elevation: Elevation, grid: Grid, z0_elevation_m: float | None, where: str, layer_cells: int = 0
    ) -> Topography:
        """At the columns of a grid; z = 0 lies four cells above the highest, or at an elevation that is given.

        layer_cells: of absorbing sides, in which the surface goes on as where they begin, as the solver has it. UserError where
        less than three cells of air are left above the ground, or of ground below it.
        """
        x, y = (grid.axis(0, n) for n in grid.cells[:2])
        found = np.broadcast_to(elevation(grid, x[:, None], y[None, :]), (len(x), len(y)))
        if min(found.shape) > 2 * layer_cells:
            i, j = (np.clip(np.arange(n), layer_cells, n - 1 - layer_cells) for n in found.shape)
            found = found[np.ix_(i, j)]
        highest, lowest, h = float(found.max()), float(found.min()), grid.spacing_m
        z0 = highest + AIR * h if z0_elevation_m is None else z0_elevation_m
        made = Topography(np.ascontiguousarray(z0 - found), h, z0)
        if made.highest_top < LEAST_AIR:
            raise UserError(
                f"{where} z0_elevation_m = {z0:g} m, {made.highest_top} cells of air above the highest ground at {highest:.6g} "
                f"m; allowed: {highest + LEAST_AIR * h:.6g} m or more, {LEAST_AIR} cells of {h:g} m"
            )
        if made.lowest_top > grid.cells[2] - LEAST_AIR:
            deepest = z0 - grid.size_m[2]
            raise UserError(
                f"{where} the lowest ground is at {lowest:.6g} m, the grid's bottom at {deepest:.6g} m; allowed: {LEAST_AIR} cells "
                "of ground everywhere, so a larger [grid] size along z"
            )
        return made

    @cached_property
    def tops(self) -> NDArray[np.int64]:
        """Cells of air of each column, (nx, ny)."""
        # halves away from 0, as the solver rounds
        return np.floor(self.surface_m / self.spacing_m + 0.5).astype(np.int64)

    @property
    def highest_top(self) -> int:
        """Cells of air above the highest ground."""
        return int(self.tops.min())

    @property
    def lowest_top(self) -> int:
        """Cells of air above the lowest ground."""
        return int(self.tops.max())

    @property
    def highest_m(self) -> float:
        """Elevation of the highest column."""
        return self.z0_elevation_m - float(self.surface_m.min())

    @property
    def lowest_m(self) -> float:
        """Elevation of the lowest column."""
        return self.z0_elevation_m - float(self.surface_m.max())

    def air_fraction(self, grid: Grid) -> float:
        """Of the grid's cells."""
        return float(self.tops.mean()) / grid.cells[2]

    def facts(self) -> dict[str, float]:
        """Plain numbers of it."""
        return {
            "highest_ground_m": self.highest_m,
            "lowest_ground_m": self.lowest_m,
            "z0_elevation_m": self.z0_elevation_m,
            "cells_of_air": float(self.tops.sum()),
        }

    def depth_at(self, x: Array, y: Array) -> Array:
        """Of the surface below z = 0 at places in m: linear between the middles of columns, beyond them as at the last."""
        (i, p), (j, q) = (_between(at, self.spacing_m, n) for at, n in zip((x, y), self.surface_m.shape, strict=True))
        v, (nx, ny) = self.surface_m, self.surface_m.shape
        a, b = np.minimum(i + 1, nx - 1), np.minimum(j + 1, ny - 1)
        return np.asarray((1 - q) * ((1 - p) * v[i, j] + p * v[a, j]) + q * ((1 - p) * v[i, b] + p * v[a, b]))


def _between(at: Array, spacing: float, count: int) -> tuple[NDArray[np.int64], Array]:
    inside = np.clip(np.asarray(at, float) / spacing - 0.5, 0, count - 1)
    below = np.floor(inside)
    return below.astype(np.int64), inside - below


def gaussian_hill(height_m: float, radius_m: float, x_m: float, y_m: float, base_m: float = 0.0) -> Elevation:
    """Height exp(-(r / radius)^2) above a base, r the distance from its middle."""

    def elevation(_grid: Grid, x: Array, y: Array) -> Array:
        return np.asarray(base_m + height_m * np.exp(-((x - x_m) ** 2 + (y - y_m) ** 2) / radius_m**2))

    return elevation


@dataclass(frozen=True)
class ElevationMap:
    """Elevations in m over two axes, increasing; linear between them."""

    path: Path
    x: Array
    y: Array
    elevation_m: NDArray[np.float32]
    degrees: bool
    """whether the axes are longitude and latitude, or x and y of the grid in m"""
    outside: str = "refuse"

    def __call__(self, grid: Grid, x: Array, y: Array) -> Array:
        """At places of the grid. UserError outside the map, and where it has no number."""
        at = (np.asarray(x, float), np.asarray(y, float))
        if self.degrees:
            longitude, latitude = grid.lon_lat(*at)
            middle = 0.5 * (self.x[0] + self.x[-1])
            at = (longitude - 360 * np.round((longitude - middle) / 360), latitude)
        names = ("longitude", "latitude") if self.degrees else ("x", "y")
        (i, p), (j, q) = (
            self._near(name, points, one) for name, points, one in zip(names, (self.x, self.y), at, strict=True)
        )
        v = self.elevation_m.astype(float)
        found = (v[i, j] * (1 - q) + v[i, j + 1] * q) * (1 - p) + (v[i + 1, j] * (1 - q) + v[i + 1, j + 1] * q) * p
        if not (np.isfinite(found) & (np.abs(found) <= HIGHEST_M)).all():
            wrong = int(np.sum(~(np.abs(found) <= HIGHEST_M)))
            raise UserError(
                f"{self.path}: no elevation at {wrong} of {found.size} places of the grid; allowed: a number in [{-HIGHEST_M:g}, "
                f"{HIGHEST_M:g}] m everywhere in it"
            )
        return np.asarray(found, np.float64)

    def _near(self, name: str, points: Array, at: Array) -> tuple[NDArray[np.int64], Array]:
        low, high = float(np.min(at)), float(np.max(at))
        slack = 1e-9 * float(points[-1] - points[0])
        if self.outside != "nearest" and not (low >= points[0] - slack and high <= points[-1] + slack):
            raise UserError(
                f"{self.path}: {name} from {points[0]:g} to {points[-1]:g}, but the grid needs {low:g} to {high:g}; allowed: a map "
                'of all of the grid, or [topography] outside = "nearest"'
            )
        below = np.clip(np.searchsorted(points, at, side="right") - 1, 0, len(points) - 2)
        return below, np.clip((at - points[below]) / (points[below + 1] - points[below]), 0, 1)


def open_elevation(path: str | os.PathLike[str], *, degrees: bool, outside: str = "refuse") -> ElevationMap:
    """A map of elevations. degrees: its axes are longitude and latitude, else x and y of the grid in m.

    UserError for what is none. outside: "nearest" where the map goes on beyond its ends as at them.
    """
    path = present(path, ALLOWED)
    kind = path.suffix.lower()
    if kind in (".nc", ".nc4", ".cdf", ".grd"):
        if not degrees:
            raise UserError(
                f"{path}: NetCDF in m of the grid; allowed: longitude and latitude, with [grid] origin_lon_lat"
            )
        x, y, values = read_map(path)
        if len(x) < 2 or len(y) < 2:
            raise UserError(f"{path}: {len(x)} x {len(y)} points; allowed: two or more along each axis")
    elif kind == ".asc":
        x, y, values = _esri_grid(path, degrees)
    else:
        names = ("longitude", "latitude") if degrees else ("x", "y")
        allowed = f"{names[0]}, {names[1]} and elevation in m in each row"
        (x, y), (values,) = regular_mesh(path, read_table(path, {3: (0, 1, 2)}, allowed), names)
    return ElevationMap(path, x, y, values, degrees, outside)


def _esri_grid(path: Path, degrees: bool) -> tuple[Array, Array, NDArray[np.float32]]:
    """x, y, both increasing, and values (x, y); NaN where there is none."""
    allowed = "an ESRI ASCII grid: ncols, nrows, xllcorner, yllcorner, cellsize, then nrows rows of ncols numbers"
    header: dict[str, float] = {}
    rows: list[Array] = []
    for place, line, words in numbered_rows(path, allowed):
        name = words[0].lower()
        try:
            if not rows and name in HEADER and len(words) == 2 and name not in header:
                count = name in ("ncols", "nrows")
                header[name] = float(whole_number(words[1]) or 0) if count else float(words[1])
            else:
                rows.append(np.array(words, float))
                if len(rows[-1]) != header["ncols"] or len(rows) > header["nrows"]:
                    raise ValueError
        except (ValueError, KeyError, OverflowError):
            raise UserError(f"{place}: '{line}'; allowed: {allowed}") from None
    columns, lines = int(header.get("ncols", 0)), int(header.get("nrows", 0))
    if len(rows) != lines or columns < 2 or lines < 2 or columns * lines > MOST_VALUES:
        raise UserError(
            f"{path}: {len(rows)} rows of {columns} numbers, nrows {lines}; allowed: {allowed}, two or more of each"
        )
    side, axes = header.get("cellsize", math.nan), list[Array]()
    for letter, points in (("x", columns), ("y", lines)):
        corner, centre = header.get(f"{letter}llcorner"), header.get(f"{letter}llcenter")
        first = centre if centre is not None else math.nan if corner is None else corner + 0.5 * side
        axis = np.asarray(first + side * np.arange(points), np.float64)
        if not (side > 0 and np.isfinite(axis).all() and np.ptp(axis) > 0 and (np.diff(axis) > 0).all()):
            raise UserError(f"{path}: {letter} from {first:g} in steps of {side:g}; allowed: {allowed}")
        limit = LIMITS["longitude" if letter == "x" else "latitude"] if degrees else math.inf
        if np.abs(axis).max() > limit:
            raise UserError(
                f'{path}: {letter} from {axis[0]:g} to {axis[-1]:g}; allowed: degrees, or [topography] file_axes = "grid" '
                "for m of the grid"
            )
        axes.append(axis)
    values = np.array(rows)
    if "nodata_value" in header:
        values[values == header["nodata_value"]] = np.nan
    with np.errstate(over="ignore"):
        return axes[0], axes[1], np.flip(values, 0).T.astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class BelowGround(Medium):
    """Another medium whose depth counts from somewhere else than z = 0. Above depth 0 it goes on as there.

    Its rules have been applied by the other medium.
    """

    of: Medium
    topography: Topography
    depth_from: str = "ground"
    """"ground": the surface; "level": z = 0; "sea_level": elevation 0"""

    @staticmethod
    def around(medium: Medium, topography: Topography, depth_from: str) -> BelowGround:
        """A medium at depths that count from there."""
        return BelowGround(of=medium, topography=topography, depth_from=depth_from, water=medium.water)

    def raw(self, grid: Grid, x: Array, y: Array, z: Array) -> Material:
        """Material at x, y, z in m. UserError of the medium."""
        depth = z
        if self.depth_from == "ground":
            depth = z - self.topography.depth_at(x, y)
        elif self.depth_from == "sea_level":
            depth = z - self.topography.z0_elevation_m
        return self.of.at(grid, x, y, np.maximum(depth, 0.0))

    def range(self, grid: Grid, below: int = 0) -> Range:
        """Of flat media that of all their depths, else as it is in the grid."""
        return self.of.range(grid) if isinstance(self.of, Constant | Layers) else super().range(grid, below)

    def subsamples(self, grid: Grid) -> Subsamples:
        """Those of the medium, and at least two along each side where interfaces follow the ground."""
        a, b, c = self.of.subsamples(grid)
        if (a, b, c) == (1, 1, 1) or self.depth_from == "level":
            return a, b, c
        return max(a, 2), max(b, 2), max(min(c, 4), 2)


def with_sea_level(grid: Grid, topography: Topography) -> Grid:
    """The grid that knows where elevation 0 is."""
    return replace(grid, sea_level_m=topography.z0_elevation_m)
