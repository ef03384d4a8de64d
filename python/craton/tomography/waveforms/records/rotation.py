"""Components from channels of any orientation: a component is the linear combination of channels that points along it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from craton.seismology.geometry.latitudes import geocentric_deg
from craton.tomography.data.catalogue import Events, Stations
from craton.tomography.data.paths import geocentric_vectors

f64 = NDArray[np.float64]
Place = tuple[float, float]
"""Geographic latitude and longitude, degrees."""

LARGEST_MISS = 0.02
"""Length of what is left of a unit vector: a direction that is off by 1.1 degrees."""
LARGEST_WEIGHT = 3.0
"""Nearly parallel channels would have to be subtracted from each other, noise and all."""
SMALLEST_WEIGHT = 1e-6


def channel_vector(azimuth_deg: float, dip_deg: float) -> f64:
    """Unit vector (up, north, east); azimuth clockwise from north, dip down from horizontal, as in SEED."""
    azimuth, dip = np.radians(azimuth_deg), np.radians(dip_deg)
    return np.array([-np.sin(dip), np.cos(dip) * np.cos(azimuth), np.cos(dip) * np.sin(azimuth)])


def component_vector(component: str, back_azimuth_deg: float) -> f64:
    """Unit vector (up, north, east) of Z (up), N, E, R (away from the source) or T (to the right of R).

    T is clockwise about the source, seen from above. The back azimuth is that of the source at the station, clockwise from north.
    """
    toward = np.radians(back_azimuth_deg)
    return {
        "Z": np.array([1.0, 0.0, 0.0]),
        "N": np.array([0.0, 1.0, 0.0]),
        "E": np.array([0.0, 0.0, 1.0]),
        "R": np.array([0.0, -np.cos(toward), -np.sin(toward)]),
        "T": np.array([0.0, np.sin(toward), -np.cos(toward)]),
    }[component]


def channel_weights(vectors: Sequence[f64], wanted: f64) -> f64 | None:
    """Weight of each channel in the component, or None where the channels do not span it well.

    The smallest weights that solve sum_c w_c v_c = wanted. Two horizontal channels make any horizontal component; three that
    are independent make every component.
    """
    if not vectors:
        return None
    matrix = np.stack(vectors, axis=1)
    weights = np.linalg.lstsq(matrix, wanted, rcond=1e-3)[0]
    if np.linalg.norm(matrix @ weights - wanted) > LARGEST_MISS or np.max(np.abs(weights)) > LARGEST_WEIGHT:
        return None
    weights[np.abs(weights) < SMALLEST_WEIGHT] = 0.0
    return np.asarray(weights)


def place_of(table: Events | Stations, row: int) -> Place:
    """Geographic latitude and longitude of an event or a station, degrees."""
    return float(table.latitude_deg[row]), float(table.longitude_deg[row])


def distance_deg(event: Place, station: Place) -> float:
    """Epicentral distance, along the great circle of geocentric latitudes that the forward problem uses."""
    a, b = geocentric_vectors(*np.transpose([event, station]))
    return float(np.degrees(np.arccos(np.clip(a @ b, -1.0, 1.0))))


def back_azimuth_deg(event: Place, station: Place) -> float:
    """Azimuth of the event at the station, clockwise from north, along the same great circle."""
    a, b = np.radians(geocentric_deg(np.array([event[0], station[0]])))
    longitude = np.radians(event[1] - station[1])
    east = np.sin(longitude) * np.cos(a)
    north = np.cos(b) * np.sin(a) - np.sin(b) * np.cos(a) * np.cos(longitude)
    return float(np.degrees(np.arctan2(east, north)) % 360.0)
