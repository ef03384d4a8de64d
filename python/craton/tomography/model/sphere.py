"""Points on the sphere."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from craton.tomography.config.values import EARTH_RADIUS_KM as EARTH_RADIUS_KM

f64 = NDArray[np.float64]


def unit_vectors(latitude_deg: f64, longitude_deg: f64) -> f64:
    """Points on the unit sphere, shape (n, 3)."""
    latitude, longitude = np.radians(latitude_deg), np.radians(longitude_deg)
    return np.stack(
        [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)], axis=1
    )


def even_points(count: int) -> tuple[f64, f64]:
    """Latitudes and longitudes of `count` evenly spread points (a Fibonacci spiral)."""
    index = np.arange(count) + 0.5
    latitude_deg = np.degrees(np.arcsin(1.0 - 2.0 * index / count))
    longitude_deg = (np.degrees(index * np.pi * (1.0 + np.sqrt(5.0))) + 180.0) % 360.0 - 180.0
    return latitude_deg, longitude_deg
