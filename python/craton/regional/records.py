"""Seismograms of a user's own: for each earthquake a folder such as `craton waves run` leaves, or a file of any format of ObsPy.

A file has velocities in m/s, free of the instrument. Channels end in Z, N, E (up, north, east) or in 1 and 2 (the grid's x and y).
Stations are those of [receivers], as STATION or NETWORK.STATION. What is not there is left out.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.regional.config import CorrectionsConfig
from craton.regional.corrections import Corrections
from craton.regional.observations import predicted_windows
from craton.regional.study import Study
from craton.seismology.files import read_by_obspy
from craton.seismology.wave_run.folder import WavesFolder
from craton.seismology.wave_run.results import read_seismograms

__all__ = ["recorded"]

f64 = NDArray[np.float64]
complex128 = NDArray[np.complex128]

COVERED = 0.99
"""Part of a run's length that a record must have."""


def recorded(study: Study, folder: Path) -> complex128:
    """(window, frequency): transforms of recorded velocities; NaN where there is no record.

    UserError for an earthquake without a folder or a file, for a file that ObsPy does not read, and where nothing at all is found.
    """
    found = np.full((len(study.pairings), len(study.frequencies_hz)), np.nan, np.complex128)
    none = Corrections(CorrectionsConfig(), 0, 0)
    for event, one in enumerate(study.config.events):
        waves = WavesFolder(folder / one.name)
        file = next((path for path in sorted(folder.glob(f"{one.name}.*")) if path.is_file()), None)
        if waves.seismograms.is_file():
            predicted_windows(
                study, event, read_seismograms(waves), str(waves.path), none, np.zeros(0), found, missing=True
            )
        elif file is not None:
            _of_file(study, event, file, found)
        else:
            raise UserError(
                f"{folder}: nothing of [[event]] {one.name}; allowed: {one.name}.mseed, or {one.name}/seismograms.h5 "
            )
    if not np.isfinite(found).any():
        raise UserError(
            f"{folder}: no record of {study.receivers.names[0]} or another station of [receivers]; allowed: records by their names"
        )
    return found


def _of_file(study: Study, event: int, file: Path, found: complex128) -> None:
    """Fills the windows of an earthquake from a file."""
    given = study.config.events[event].time_utc
    if not given:
        raise UserError(
            f"{file}: when its earthquake was is not known; allowed: [[event]] {study.config.events[event].name} with time_utc"
        )
    stream = read_by_obspy("read", file, "seismograms in a format of ObsPy, such as MiniSEED")
    begins_s = datetime.fromisoformat(given).replace(tzinfo=UTC).timestamp() - study.origin_s(event)  # t = 0 of the run
    for station, name in enumerate(study.receivers.names):
        own = [
            (number, one) for number, one in enumerate(study.pairings) if (one.event, one.station) == (event, station)
        ]
        axes = _along_grid(
            study, station, {trace.stats.channel[-1:]: trace for trace in stream if _is_of(trace, name)}, begins_s
        )
        for number, one in own:
            if one.component in axes:
                found[number] = axes[one.component]


def _is_of(trace: Any, name: str) -> bool:
    return name in (trace.stats.station, f"{trace.stats.network}.{trace.stats.station}")


def _along_grid(study: Study, station: int, traces: dict[str, Any], begins_s: float) -> dict[str, complex128]:
    """Transforms along x, y and z (down) of traces by the last letter of their channel."""
    known = {letter: _transform(study, trace, begins_s) for letter, trace in traces.items()}
    of = {letter: values for letter, values in known.items() if values is not None}
    found = {}
    if "Z" in of:
        found["z"] = -of["Z"]
    if "N" in of and "E" in of:
        x, y, _ = study.receivers.position_m[station]
        north = np.radians(float(study.setup.grid.north_deg(x, y)))
        found["x"] = np.cos(north) * of["N"] - np.sin(north) * of["E"]
        found["y"] = np.sin(north) * of["N"] + np.cos(north) * of["E"]
    elif "1" in of and "2" in of:
        found["x"], found["y"] = of["1"], of["2"]
    return found


def _transform(study: Study, trace: Any, begins_s: float) -> complex128 | None:
    """Of a trace, from the beginning of the wave run to its end; None for one that does not cover it, or has no number."""
    samples, step_s = np.asarray(trace.data, np.float64), float(trace.stats.delta)
    times_s = float(trace.stats.starttime.timestamp) - begins_s + step_s * np.arange(len(samples))
    inside = (times_s >= -0.5 * step_s) & (times_s <= study.config.time.duration_s)
    if np.ma.is_masked(trace.data) or inside.sum() * step_s < COVERED * study.config.time.duration_s - step_s:
        return None
    if not np.isfinite(samples[inside]).all():
        return None
    turned = step_s * np.exp(-2j * np.pi * np.outer(times_s[inside], study.frequencies_hz))
    return np.asarray(samples[inside] @ turned, np.complex128)
