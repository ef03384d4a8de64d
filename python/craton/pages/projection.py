"""Where a place is on a map of the globe: Robinson's projection, coastlines, great circles. Numbers only; maps.py draws.

Latitudes on maps are geographic, as the coastlines'; those along a great circle are geocentric.

Nothing is downloaded: the projection's table is below and the coastlines are in coastlines.npz (Natural Earth, public domain;
tools/make_coastlines.py).
"""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterator
from functools import cache

import numpy as np
from numpy.typing import NDArray

f64 = NDArray[np.float64]

EARTH_RADIUS_M = 6371e3
"""Depths are counted from here, whether or not the solid Earth ends at the ocean floor."""

ROBINSON_LATITUDE_DEG = np.arange(0.0, 91.0, 5.0)
# fmt: off
ROBINSON = np.array([
    [
        1.0000, 0.9986, 0.9954, 0.9900, 0.9822, 0.9730, 0.9600, 0.9427, 0.9216, 0.8962,
        0.8679, 0.8350, 0.7986, 0.7597, 0.7186, 0.6732, 0.6213, 0.5722, 0.5322,
    ],
    [
        0.0000, 0.0620, 0.1240, 0.1860, 0.2480, 0.3100, 0.3720, 0.4340, 0.4958, 0.5571,
        0.6176, 0.6769, 0.7346, 0.7903, 0.8435, 0.8936, 0.9394, 0.9761, 1.0000,
    ],
])
# fmt: on
"""Robinson (1974): length of the parallel and its distance from the equator, at these latitudes."""


def robinson(longitude_deg: f64, latitude_deg: f64) -> tuple[f64, f64]:
    """Robinson's projection of longitudes relative to the map's central meridian."""
    length, height = (np.interp(np.abs(latitude_deg), ROBINSON_LATITUDE_DEG, column) for column in ROBINSON)
    return 0.8487 * np.radians(longitude_deg) * length, 1.3523 * np.sign(latitude_deg) * height


def relative_longitude(longitude_deg: f64 | float, centre_deg: float) -> f64:
    """Longitude from the central meridian, in [-180, 180)."""
    return (np.asarray(longitude_deg) - centre_deg + 180.0) % 360.0 - 180.0


def pieces_within_map(longitude_deg: f64, latitude_deg: f64, centre_deg: float) -> Iterator[f64]:
    """A line on the sphere as projected pieces, cut where it leaves the map at one side and returns at the other."""
    longitude = relative_longitude(longitude_deg, centre_deg)
    cuts = np.flatnonzero(np.abs(np.diff(longitude)) > 180.0) + 1
    points = np.stack(robinson(longitude, np.asarray(latitude_deg)), axis=1)
    yield from (piece for piece in np.split(points, cuts) if len(piece) > 1)


@cache
def coastlines() -> list[f64]:
    """Coastlines as (longitude, latitude) arrays in degrees."""
    with (importlib.resources.files("craton.pages") / "coastlines.npz").open("rb") as file:
        table = np.load(file)
        points = np.stack([table["longitude_tenths"], table["latitude_tenths"]], axis=1) / 10.0
        return np.split(points, table["offsets"][1:-1])


def outline() -> f64:
    """The map's edge as a closed polygon."""
    latitude = np.linspace(-90.0, 90.0, 181)
    right = np.stack(robinson(np.full_like(latitude, 180.0), latitude), axis=1)
    left = np.stack(robinson(np.full_like(latitude, -180.0), latitude[::-1]), axis=1)
    return np.concatenate([right, left])


def graticule_lines() -> Iterator[f64]:
    """Meridians and parallels every 30 degrees, relative to the central meridian."""
    latitude = np.linspace(-90.0, 90.0, 91)
    for longitude in range(-150, 151, 30):
        yield np.stack([np.full_like(latitude, longitude), latitude], axis=1)
    longitudes = np.linspace(-179.99, 179.99, 121)
    for parallel in range(-60, 61, 30):
        yield np.stack([longitudes, np.full_like(longitudes, parallel)], axis=1)


def cells(centre_deg: float, step_deg: float) -> tuple[f64, f64]:
    """Middles of a map's cells: geographic latitudes as a column, longitudes as a row from the map's left edge."""
    relative = np.arange(-180.0 + step_deg / 2, 180.0, step_deg)
    latitude = np.arange(-90.0 + step_deg / 2, 90.0, step_deg)
    return latitude[:, None], relative_longitude(relative + centre_deg, 0.0)[None, :]


def great_circle(latitude_deg: float, longitude_deg: float, azimuth_deg: float, angle_deg: f64) -> tuple[f64, f64]:
    """Points at signed angular distances from a point, along its azimuth (clockwise from north). Latitudes are geocentric."""
    latitude, azimuth, angle = np.radians(latitude_deg), np.radians(azimuth_deg), np.radians(angle_deg)
    sine = np.sin(latitude) * np.cos(angle) + np.cos(latitude) * np.sin(angle) * np.cos(azimuth)
    east = np.sin(azimuth) * np.sin(angle) * np.cos(latitude)
    north = np.cos(angle) - np.sin(latitude) * sine
    longitude = longitude_deg + np.degrees(np.arctan2(east, north))
    return np.degrees(np.arcsin(np.clip(sine, -1.0, 1.0))), relative_longitude(longitude, 0.0)
