"""Windows with a packet of waves each, as observed and as predicted: for tests that need no theory."""

from __future__ import annotations

import numpy as np
from craton.tomography.data.catalogue import Events, Stations
from craton.tomography.data.observations import Observations
from craton.tomography.data.paths import PathTable

EVENTS, STATIONS, SAMPLES, STEP_S, PERIOD_S = 6, 8, 120, 10.0, 150.0
HALF_PERIOD_S = 0.5 * PERIOD_S
FILTER_S = (400.0, 250.0, 100.0, 80.0)


def table():
    zeros = np.zeros(EVENTS)
    events = Events(
        tuple(f"E{n}" for n in range(EVENTS)), ("2018-02-02T00:00:00",) * EVENTS, zeros, zeros, zeros, zeros, np.ones((EVENTS, 6)),
        ("",) * EVENTS,
    )  # fmt: skip
    stations = Stations(
        tuple(f"N.S{n}" for n in range(STATIONS)), np.zeros(STATIONS), np.zeros(STATIONS), np.zeros(STATIONS)
    )
    event, station = (part.ravel().astype(np.int64) for part in np.indices((EVENTS, STATIONS)))
    count = len(event)
    return PathTable(events, stations, event, station, np.zeros(count), np.full(count, SAMPLES), STEP_S)


def waves(shift_s=0.0):
    """A packet of waves for each window, in metres."""
    times = STEP_S * np.arange(SAMPLES) - shift_s
    one = np.exp(-(((times - 600.0) / 200.0) ** 2)) * np.cos(2 * np.pi * times / PERIOD_S)
    return np.tile(one, (EVENTS * STATIONS, 1))


def observations(predicted, noise=0.1, sigma=0.1):
    paths = table()
    observed = predicted + noise * np.random.default_rng(5).standard_normal(predicted.shape)
    return Observations(paths, observed.ravel(), np.full(len(paths), sigma), {"kind": "synthetic"})
