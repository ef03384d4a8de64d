"""How often the data have a path: windows whose earthquakes and stations lie close together tell the same of the Earth.

Windows of one component, arc and phase are redundant where both ends lie within a distance of each other. Each weighs 1 / n where n
windows, itself included, are so close (as in Li & Romanowicz 1996, doi:10.1029/96JB01306).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton.tomography.model.sphere import EARTH_RADIUS_KM, unit_vectors

if TYPE_CHECKING:
    from craton.tomography.data.paths import PathTable

f64 = NDArray[np.float64]


def redundancy(paths: PathTable, within_km: float) -> f64:
    """Per window, how many windows are as close to it as that, itself included. Straight distances; depths of sources count."""
    events, stations = paths.events, paths.stations
    depth_km = np.asarray(events.depth_km, float)[:, None]
    sources = (EARTH_RADIUS_KM - depth_km) * unit_vectors(events.latitude_deg, events.longitude_deg)
    receivers = EARTH_RADIUS_KM * unit_vectors(stations.latitude_deg, stations.longitude_deg)
    near_events, near_stations = (close(places, within_km) for places in (sources, receivers))
    found = np.empty(len(paths))
    kinds = np.array([f"{c}|{a}|{p}" for c, a, p in zip(paths.component, paths.arc, paths.phase, strict=True)])
    for kind in np.unique(kinds):
        rows = np.flatnonzero(kinds == kind)
        there = np.zeros((len(sources), len(receivers)))
        np.add.at(there, (paths.event[rows], paths.station[rows]), 1.0)
        found[rows] = (near_events @ there @ near_stations)[paths.event[rows], paths.station[rows]]
    return found


def close(places: f64, within_km: float) -> f64:
    """1 where two places are within a distance, else 0."""
    squares = np.sum(places**2, axis=1)
    apart = squares[:, None] + squares[None, :] - 2.0 * places @ places.T
    near = np.asarray(apart <= within_km**2)
    np.fill_diagonal(near, val=True)
    return near.astype(float)
