"""The ground's upper few hundred metres from Vs30, the mean speed of S waves over the first 30 m.

Ely, Jordan, Small and Maechling (2010), "A Vs30-derived near-surface seismic velocity model", AGU Fall Meeting, S51A-1907; it is
also the taper of UCVM's elygtl. Between the surface and a transition depth zT (350 m), with z = depth / zT, and VsT and VpT of the
model at zT:

    vs = f(z) VsT + g(z) Vs30          f = z + b (z - z^2)
    vp = f(z) VpT + g(z) P(Vs30)       g = a - a z + c (z^2 + 2 sqrt(z) - 3 z)
    rho = R(vp)                        a = 1/2, b = 2/3, c = 3/2

P is Brocher's (2005) vp of vs, R his form of the Nafe-Drake relation. At the surface vs is half of Vs30. Quality factors stay the
model's own, or follow the rules from the new velocities.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.seismology.files import present
from craton.seismology.geometry.grid import Grid
from craton.seismology.ground.media import Material, Medium, Subsamples
from craton.seismology.ground.media_files import read_map
from craton.seismology.ground.regular_mesh import read_table, regular_mesh

__all__ = ["NearSurface", "Vs30Map", "brocher_vp", "ely_taper", "nafe_drake_rho", "open_vs30"]

Array = NDArray[np.float64]
A, B, C = 1 / 2, 2 / 3, 3 / 2
BROCHER = (0.9409, 2.0947, -0.8206, 0.2683, -0.0251)
"""Of vs in km/s, from the constant up (Brocher 2005, eq. 9)."""
NAFE_DRAKE = (0.0, 1.6612, -0.4721, 0.0671, -0.0043, 0.000106)
"""Of vp in km/s, to g/cm^3 (Brocher 2005, eq. 1)."""
FINEST = 4
"""Parts of a cell along z, at least: the square root is steep."""
SLOWEST, FASTEST = 50.0, 4000.0
"""m/s, of what is a Vs30."""
ALLOWED = "longitude, latitude and Vs30 in m/s in each row"


def brocher_vp(vs_m_s: Array) -> Array:
    """Vp in m/s of vs in m/s."""
    return np.asarray(1e3 * np.polynomial.polynomial.polyval(1e-3 * vs_m_s, BROCHER))


def nafe_drake_rho(vp_m_s: Array) -> Array:
    """Density in kg/m^3 of vp in m/s."""
    return np.asarray(1e3 * np.polynomial.polynomial.polyval(1e-3 * vp_m_s, NAFE_DRAKE))


def ely_taper(part: Array) -> tuple[Array, Array]:
    """Weights f of the model at the transition depth and g of Vs30, at parts 0 to 1 of that depth."""
    return part + B * (part - part**2), A - A * part + C * (part**2 + 2 * np.sqrt(part) - 3 * part)


@dataclass(frozen=True)
class Vs30Map:
    """Vs30 in m/s over longitudes and latitudes, increasing; linear between them."""

    path: Path
    longitude_deg: Array
    latitude_deg: Array
    vs30_m_s: NDArray[np.float32]
    outside: str = "refuse"

    def __call__(self, grid: Grid, x: Array, y: Array) -> Array:
        """At places of the grid. UserError outside the map, and where it has no number."""
        longitude, latitude = grid.lon_lat(x, y)
        middle = 0.5 * (self.longitude_deg[0] + self.longitude_deg[-1])
        longitude = longitude - 360 * np.round((longitude - middle) / 360)
        (i, p), (j, q) = self._near("longitude", longitude), self._near("latitude", latitude)
        v = self.vs30_m_s
        found = (v[i, j] * (1 - q) + v[i, j + 1] * q) * (1 - p) + (v[i + 1, j] * (1 - q) + v[i + 1, j + 1] * q) * p
        if not (np.isfinite(found) & (found >= SLOWEST) & (found <= FASTEST)).all():
            raise UserError(
                f"{self.path}: Vs30 from {found.min():g} to {found.max():g} in the grid; allowed: {_range()}"
            )
        return np.asarray(found, np.float64)

    def _near(self, name: str, at: Array) -> tuple[NDArray[np.int64], Array]:
        points = getattr(self, f"{name}_deg")
        low, high = float(np.min(at)), float(np.max(at))
        if self.outside != "nearest" and not (low >= points[0] and high <= points[-1]):
            raise UserError(
                f"{self.path}: {name} from {points[0]:g} to {points[-1]:g}, but the grid needs {low:g} to {high:g}; allowed: a map "
                'of all of the grid, or [media] outside = "nearest"'
            )
        below = np.clip(np.searchsorted(points, at, side="right") - 1, 0, len(points) - 2)
        return below, np.clip((at - points[below]) / (points[below + 1] - points[below]), 0, 1)


def open_vs30(path: str | os.PathLike[str], *, outside: str = "refuse") -> Vs30Map:
    """A map: NetCDF, also a grid of GMT, with one field over longitude and latitude; or rows of a regular mesh.

    UserError for what is none. outside: "nearest" where the map goes on beyond its ends as at them.
    """
    path = present(path, "a map of Vs30: NetCDF, or rows of longitude, latitude and Vs30")
    if path.suffix.lower() in (".nc", ".nc4", ".cdf", ".grd"):
        longitude, latitude, values = read_map(path)
    else:
        (longitude, latitude), (values,) = regular_mesh(
            path, read_table(path, {3: (0, 1, 2)}, ALLOWED), ("longitude", "latitude")
        )
    return Vs30Map(path, longitude, latitude, values, outside)


@dataclass(frozen=True, kw_only=True)
class NearSurface(Medium):
    """Another medium, with the taper above the transition depth. Water stays as it is."""

    below: Medium
    vs30: Callable[[Grid, Array, Array], Array]
    """m/s, at x and y of a grid"""
    depth_m: float = 350.0

    def raw(self, grid: Grid, x: Array, y: Array, z: Array) -> Material:
        """Material at x, y, z in m. UserError of the medium below and of the map."""
        own = self.below.raw(grid, x, y, z)
        if not float(np.min(z)) < self.depth_m:
            return own
        deep = self.below.raw(grid, x, y, np.full((1,) * np.ndim(z), self.depth_m))
        f, g = ely_taper(np.clip(z / self.depth_m, 0, 1))
        vs30 = self.vs30(grid, x, y)
        new = (z < self.depth_m) & (own.vs > 0) & (deep.vs > 0)
        vp = np.where(new, f * deep.vp + g * brocher_vp(vs30), own.vp).astype(np.float32)
        vs = np.where(new, f * deep.vs + g * vs30, own.vs).astype(np.float32)
        rho = np.where(new, nafe_drake_rho(vp.astype(float)), own.rho).astype(np.float32)
        return Material(vp, vs, rho, own.qp, own.qs)

    def subsamples(self, grid: Grid) -> Subsamples:
        """Those of the medium below, and more along z."""
        a, b, c = self.below.subsamples(grid)
        return a, b, max(c, FINEST)


def constant_vs30(vs30_m_s: float) -> Callable[[Grid, Array, Array], Array]:
    """The same everywhere."""
    return lambda _grid, x, y: np.full(np.broadcast_shapes(np.shape(x), np.shape(y)), float(vs30_m_s))


def _range() -> str:
    return f"{SLOWEST:g} to {FASTEST:g} m/s everywhere in it"
