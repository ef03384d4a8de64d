"""Seismograms of a user's own: for each earthquake a folder such as `craton waves run` leaves, or a file of any format of ObsPy.

A file has velocities in m/s, free of the instrument. Channels end in Z, N, E (up, north, east) or in 1 and 2 (the grid's x and y).
Stations are those of [receivers], as STATION or NETWORK.STATION. What is not there, is 0, or does not cover the wave run is left
out.
"""

from __future__ import annotations

import glob
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.regional.study import Study
from craton.seismology.files import read_by_obspy
from craton.seismology.wave_run.folder import WavesFolder
from craton.seismology.wave_run.results import read_seismograms

__all__ = ["recorded"]

f64 = NDArray[np.float64]
complex128 = NDArray[np.complex128]

ENDINGS = (".mseed", ".msd", ".sac", ".gse", ".gse2", ".slist", ".segy")
"""Of files of ObsPy's formats."""
TURNED_DEG = 0.1
COVERED = 0.99
"""Part of a run's length that a record must have."""


def recorded(study: Study, folder: Path) -> complex128:
    """(window, frequency): transforms of recorded velocities; NaN where there is no record.

    UserError for an earthquake without a folder or a file, for a file that ObsPy does not read, and where nothing at all is found.
    """
    found = np.full((len(study.pairings), len(study.frequencies_hz)), np.nan, np.complex128)
    for event, one in enumerate(study.config.events):
        waves = WavesFolder(folder / one.name)
        file = next(
            (path for path in sorted(folder.glob(f"{glob.escape(one.name)}.*")) if path.suffix.lower() in ENDINGS), None
        )
        if waves.seismograms.is_file():
            _of_run(study, event, waves, found)
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


def _of_run(study: Study, event: int, waves: WavesFolder, found: complex128) -> None:
    """Fills the windows of an earthquake from a folder of `craton waves run`."""
    run = read_seismograms(waves)
    if abs(run.azimuth_deg - study.config.grid.azimuth_deg) > TURNED_DEG:
        raise UserError(
            f"{waves.seismograms}: x at {run.azimuth_deg:g} degrees from north; allowed: {study.config.grid.azimuth_deg:g}, as "
            "[grid] azimuth_deg has it"
        )
    rows = {name: at for at, name in enumerate(run.names)}
    for number, one in enumerate(study.pairings):
        name = study.receivers.names[one.station]
        if one.event == event and name in rows:
            samples = run.velocity[rows[name], "xyz".index(one.component)].astype(np.float64)
            transform = _transform(study, samples, run.first_time_s, run.dt_s, f"{waves.seismograms}: station {name}")
            if transform is not None:
                found[number] = transform


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
        traces = {trace.stats.channel[-1:]: trace for trace in stream if _is_of(trace, name)}
        axes = _along_grid(study, station, traces, begins_s, file)
        for number, one in own:
            if one.component in axes:
                found[number] = axes[one.component]


def _is_of(trace: Any, name: str) -> bool:
    return name in (trace.stats.station, f"{trace.stats.network}.{trace.stats.station}")


def _along_grid(
    study: Study, station: int, traces: dict[str, Any], begins_s: float, file: Path
) -> dict[str, complex128]:
    """Transforms along x, y and z (down) of traces by the last letter of their channel."""
    known = {}
    for letter, trace in traces.items():
        if not np.ma.is_masked(trace.data):
            first_s = float(trace.stats.starttime.timestamp) - begins_s
            samples = np.asarray(trace.data, np.float64)
            known[letter] = _transform(study, samples, first_s, float(trace.stats.delta), f"{file}: {trace.id}")
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


def _transform(study: Study, samples: f64, first_s: float, step_s: float, where: str) -> complex128 | None:
    """Of a record, from the beginning of the wave run to its end.

    None for one that does not cover it, is 0, or has no number. UserError for samples too far apart for the filter.
    """
    f4 = study.config.data.filter_hz[3]
    if step_s > 0.5 / f4:
        raise UserError(f"{where}: a sample every {step_s:g} s; allowed: {0.5 / f4:.3g} s or less, for {f4:g} Hz")
    times_s = first_s + step_s * np.arange(len(samples))
    inside = (times_s >= -0.5 * step_s) & (times_s <= study.config.time.duration_s)
    used = samples[inside]
    if (
        len(used) * step_s < COVERED * study.config.time.duration_s - step_s
        or not np.isfinite(used).all()
        or not used.any()
    ):
        return None
    turned = step_s * np.exp(-2j * np.pi * np.outer(times_s[inside], study.frequencies_hz))
    return np.asarray(used @ turned, np.complex128)
