"""Ruptures from files in the Standard Rupture Format, each with the slip that the file has: one rupture, one variation.

    forecast = read_srf_ruptures([("chino", "chino.srf", 1 / 500)], place)

Slip along the rake and across it make one slip with one rake. Of a subfault's slip rate its beginning and its length are kept: what
is between follows the slip function that seismograms are made with. Where the file does not know a subfault's rigidity it is
`rigidity_Pa`.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.hazard.forecast.faults import RIGIDITY_PA
from craton.hazard.forecast.forecast import Forecast
from craton.hazard.forecast.reading import located
from craton.hazard.forecast.rupture import Array, Rupture, Surface, Variation
from craton.hazard.forecast.surfaces import FIELDS, joined
from craton.seismology.geometry.grid import Grid
from craton.seismology.sources.srf import HDF5_MAGIC, Subfault, iterate_subfaults, read_planes

__all__ = ["read_srf_rupture", "read_srf_ruptures"]


def read_srf_ruptures(
    files: Iterable[tuple[str, str | os.PathLike[str], float]], place: Grid, *, rigidity_Pa: float = RIGIDITY_PA
) -> Forecast:
    """The forecast of some files: source, path and annual rate of each. Of a source's files the numbers go up from 0."""
    whole = Forecast(())
    for source, path, rate in files:
        number = whole.sources.count(source)
        rupture, variation = read_srf_rupture(
            path, place, source=source, annual_rate=rate, number=number, rigidity_Pa=rigidity_Pa
        )
        whole += Forecast((rupture,), (variation,))
    return whole


def read_srf_rupture(
    path: str | os.PathLike[str],
    place: Grid,
    *,
    source: str,
    annual_rate: float,
    number: int = 0,
    index: int = 0,
    rigidity_Pa: float = RIGIDITY_PA,
) -> tuple[Rupture, Variation]:
    """The rupture of a file, with the magnitude of the file's moment, and its slip. index: the rupture's in its forecast.

    The file's segments (PLANE) lie one after the other along strike, with as many rows each; a file without them is one row.
    UserError for a file that is not whole, that opens (slip 3), or does not slip.
    """
    path = Path(path)
    subfaults = list(iterate_subfaults(path))
    _check_opening(path, subfaults)
    along, across = (np.array([one.slips_m[d] for one in subfaults]) for d in (0, 1))
    slip = np.hypot(along, across)
    rake = _column(subfaults, "rake_deg") + np.degrees(np.arctan2(across, along))
    rigidity = np.array([one.mu or rigidity_Pa for one in subfaults])
    moment = math.fsum(rigidity * _column(subfaults, "area_m2") * slip)
    if not moment > 0:
        raise UserError(f"{path}: no subfault slips; allowed: a rupture that moves")
    surface, order = _surface(path, subfaults, rake, place)
    onset = _column(subfaults, "start_s")
    samples = np.array([max((len(rates) for rates in one.slip_rates_m_s), default=0) for one in subfaults])
    rise = np.maximum(samples, 1) * _column(subfaults, "sample_s")
    if onset.min() < 0:
        raise UserError(f"{path}: a subfault begins at {onset.min():g} s; allowed: 0 s or later")
    magnitude = (math.log10(moment) - 9.1) / 1.5
    first = int(np.argmin(np.where(slip > 0, onset, np.inf)[order]))
    with located(path):
        rupture = Rupture(source, number, magnitude, annual_rate, surface)
        return rupture, Variation(index, 0, slip[order], onset[order], rise[order], first, 0)


def _column(subfaults: list[Subfault], name: str) -> Array:
    return np.array([getattr(one, name) for one in subfaults])


def _check_opening(path: Path, subfaults: list[Subfault]) -> None:
    for number, one in enumerate(subfaults):
        if one.slips_m[2] != 0:
            raise UserError(
                f"{path}: subfault {number} opens by {one.slips_m[2]:g} m (slip 3); allowed: slip along the fault alone"
            )


def _surface(path: Path, subfaults: list[Subfault], rake: Array, place: Grid) -> tuple[Surface, NDArray[np.intp]]:
    """And of each of its subfaults the place in the file."""
    x, y = place.x_y(_column(subfaults, "longitude_deg"), _column(subfaults, "latitude_deg"))
    values: list[Array] = [
        np.column_stack([x, y, _column(subfaults, "depth_m")]),
        (_column(subfaults, "strike_deg") + place.north_deg(x, y) + place.azimuth_deg) % 360,
        _column(subfaults, "dip_deg"),
        180 - (180 - rake) % 360,
        _column(subfaults, "area_m2"),
    ]
    blocks, numbers = [], []
    with located(path):
        begin = 0
        for rows, columns in _segments(path, len(subfaults)):
            here = np.arange(begin, begin := begin + rows * columns)
            part = dict(zip(FIELDS, (value[here] for value in values), strict=True))
            blocks.append(Surface(**part, rows=rows, columns=columns, azimuth_deg=place.azimuth_deg))
            numbers.append(here.reshape(rows, columns))
        return joined(blocks), np.concatenate(numbers, axis=1).ravel()


def _segments(path: Path, count: int) -> list[tuple[int, int]]:
    """Rows and columns of each."""
    with path.open("rb") as stream:
        planes = [] if stream.read(4) == HDF5_MAGIC else read_planes(path)
    if not planes:
        return [(1, count)]
    shapes = [(one.down_dip, one.along_strike) for one in planes]
    if sum(rows * columns for rows, columns in shapes) != count:
        told = ", ".join(f"{rows} x {columns}" for rows, columns in shapes)
        raise UserError(f"{path}: {count} points in segments of {told}; allowed: as many points as the segments have")
    return shapes
