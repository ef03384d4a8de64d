"""Seismograms of an AxiSEM database whose strains are read where spectral elements have them best.

The database holds displacements of axisymmetric elements, polynomials of degree N. Instaseis differentiates them. What a derivative
is wrong by goes, within an element, like the Legendre polynomial P_N of the coordinate along which it is taken. It vanishes at the
N points of Gauss and is largest at the element's edges (Barlow 1976, doi:10.1002/nme.1620100202; Zienkiewicz & Zhu 1992,
doi:10.1002/nme.1620330702). The database of 100 s has elements of 220 km below the surface and of 146 km along it. So, with nothing
but the database itself:

- Along the surface strains are read at points of Gauss of several elements and interpolated between them. The Earth of a database
  is spherical: nothing is discontinuous that way.
- With depth they are too: a known amount of P_N is taken off. At the free surface no traction is, so what it shows there of M_rr,
  M_rt and M_rp must vanish, and is the error itself.

Latitudes are geocentric. Not taken off: derivatives with depth of sources below the first element, and the displacement's own error
within an element, which is a ninth of N = 4's.
"""

from __future__ import annotations

from collections.abc import Callable

import instaseis
import numpy as np
from numpy.polynomial.legendre import Legendre
from numpy.typing import NDArray

Array = NDArray[np.float64]

COMPONENTS = "ZRT"
MOMENT_NAMES = ("m_rr", "m_tt", "m_pp", "m_rt", "m_rp", "m_tp")
POINTS = 8  # of Gauss, of the interpolation along the surface: two elements


def place_along(lat_deg, lon_deg, distance_rad, azimuth_rad):
    """Latitude and longitude in degrees, so far away in that direction; on a sphere."""
    a = np.radians(lat_deg)
    b = np.arcsin(np.sin(a) * np.cos(distance_rad) + np.cos(a) * np.sin(distance_rad) * np.cos(azimuth_rad))
    step = np.arctan2(
        np.sin(azimuth_rad) * np.sin(distance_rad) * np.cos(a), np.cos(distance_rad) - np.sin(a) * np.sin(b)
    )
    return np.degrees(b), (lon_deg + np.degrees(step) + 180) % 360 - 180


def way_to(lat_deg, lon_deg, other_lat_deg, other_lon_deg):
    """Distance and azimuth from the first place to the second, in radians; on a sphere."""
    a, b, east = np.radians(lat_deg), np.radians(other_lat_deg), np.radians(other_lon_deg - lon_deg)
    toward = np.cos(a) * np.sin(b) - np.sin(a) * np.cos(b) * np.cos(east)
    beside = np.cos(b) * np.sin(east)
    along = np.sin(a) * np.sin(b) + np.cos(a) * np.cos(b) * np.cos(east)
    return np.arctan2(np.hypot(beside, toward), along), np.arctan2(beside, toward)


def seismograms(database, lat, lon, depth_m, moment, station_lat, station_lon) -> Array:
    """(3, samples): Z, R, T as Instaseis reads them, in m."""
    source = instaseis.Source(lat, lon, depth_m, **dict(zip(MOMENT_NAMES, moment, strict=True)))
    receiver = instaseis.Receiver(station_lat, station_lon)
    record = database.get_seismograms(
        source, receiver, tuple(COMPONENTS), remove_source_shift=False, return_obspy_stream=False
    )
    return np.array([record[each] for each in COMPONENTS], dtype=float)


class RecoveredStrains:
    """The same with the strains of the elements recovered."""

    def __init__(self, database) -> None:
        self._database = database
        mesh = database.meshes.pz.f["Mesh"]
        s, z = mesh["mesh_S"][:], mesh["mesh_Z"][:]
        radius, angle = np.hypot(s, z), np.degrees(np.arctan2(s, z))
        degree = int(mesh["npol"].shape[0]) - 1
        self._error = Legendre.basis(degree)
        surface = np.isclose(radius, radius.max())
        self._thickness_m = np.ptp(np.unique(np.round(radius))[-degree - 1 :])
        edges = np.unique(np.round(angle[surface], 6))[::degree]
        widths = np.diff(edges)
        self._gauss_deg = (edges[:-1, None] + widths[:, None] * (1 + self._error.roots()) / 2).ravel()
        first, second = mesh["mesh_lambda"][:][surface].mean(), mesh["mesh_mu"][:][surface].mean()
        self._sideways = first / (first + 2 * second)
        """What M_tt and M_pp have to be beside M_rr = 1, for a source that does nothing at a free surface."""

    def _with_depth(self, lat, lon, depth_m, moment, station_lat, station_lon) -> Array:
        read: Callable[..., Array] = seismograms
        found = read(self._database, lat, lon, depth_m, moment, station_lat, station_lon)
        if depth_m >= self._thickness_m:
            return found
        rr, _, _, rt, rp, _ = moment
        without_motion = (rr, self._sideways * rr, self._sideways * rr, rt, rp, 0.0)
        wrong = read(self._database, lat, lon, 0.0, without_motion, station_lat, station_lon)
        return found - self._error(1 - 2 * depth_m / self._thickness_m) * wrong

    def seismograms(self, lat, lon, depth_m, moment, station_lat, station_lon) -> Array:
        """(3, samples): Z, R, T in m."""
        distance, azimuth = way_to(lat, lon, station_lat, station_lon)
        degrees = np.degrees(distance)
        first = np.searchsorted(self._gauss_deg, degrees) - POINTS // 2
        near = self._gauss_deg[first : first + POINTS]
        found = 0.0
        for at in range(POINTS):
            others = np.delete(near, at)
            weight = np.prod((degrees - others) / (near[at] - others))
            station = place_along(lat, lon, np.radians(near[at]), azimuth)
            found = found + weight * self._with_depth(lat, lon, depth_m, moment, *station)
        return found
