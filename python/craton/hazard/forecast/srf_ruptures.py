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
from craton.hazard.forecast.places import Array, Place
from craton.hazard.forecast.rupture import Rupture, Surface, Variation
from craton.hazard.forecast.surfaces import joined
from craton.seismology.sources.srf import HDF5_MAGIC, Subfault, iterate_subfaults, read_planes

__all__ = ["read_srf_rupture", "read_srf_ruptures"]


def read_srf_ruptures(
    files: Iterable[tuple[str, str | os.PathLike[str], float]], place: Place, *, rigidity_Pa: float = RIGIDITY_PA
) -> Forecast:
    """files: source, path and annual rate of each; of a source's files the numbers go up from 0."""
    ruptures: list[Rupture] = []
    variations: list[Variation] = []
    numbers: dict[str, int] = {}
    for source, path, rate in files:
        number = numbers.get(source, 0)
        numbers[source] = number + 1
        rupture, variation = read_srf_rupture(
            path, place, source=source, annual_rate=rate, number=number, index=len(ruptures), rigidity_Pa=rigidity_Pa
        )
        ruptures.append(rupture)
        variations.append(variation)
    return Forecast(tuple(ruptures), tuple(variations))


def read_srf_rupture(
    path: str | os.PathLike[str],
    place: Place,
    *,
    source: str,
    annual_rate: float,
    number: int = 0,
    index: int = 0,
    rigidity_Pa: float = RIGIDITY_PA,
) -> tuple[Rupture, Variation]:
    """The magnitude is that of the file's moment. index: the rupture's in its forecast. The file's segments (PLANE) lie one after
    the other along strike, with as many rows each; a file without them is one row. UserError for a file that is not whole, that
    opens (slip 3), or does not slip.
    """
    path = Path(path)
    subfaults = list(iterate_subfaults(path))
    _check_opening(path, subfaults)
    along, across = (np.array([one.slips_m[d] for one in subfaults]) for d in (0, 1))
    slip = np.hypot(along, across)
    rake = np.array([one.rake_deg for one in subfaults]) + np.degrees(np.arctan2(across, along))
    rigidity = np.array([one.mu or rigidity_Pa for one in subfaults])
    moment = math.fsum(rigidity * np.array([one.area_m2 for one in subfaults]) * slip)
    if not moment > 0:
        raise UserError(f"{path}: no subfault slips; allowed: a rupture that moves")
    surface, order = _surface(path, subfaults, rake, place)
    onset = np.array([one.start_s for one in subfaults])
    rise = np.array([max((len(rates) for rates in one.slip_rates_m_s), default=0) * one.sample_s for one in subfaults])
    rise = np.where(rise > 0, rise, [one.sample_s for one in subfaults])
    if onset.min() < 0:
        raise UserError(f"{path}: a subfault begins at {onset.min():g} s; allowed: 0 s or later")
    magnitude = (math.log10(moment) - 9.1) / 1.5
    try:
        rupture = Rupture(source, number, magnitude, annual_rate, surface)
        moving = np.where(slip > 0, onset, np.inf)[order]
        first = int(np.argmin(moving))
        return rupture, Variation(index, 0, slip[order], onset[order], rise[order], first, 0)
    except UserError as error:
        raise UserError(f"{path}: {error}") from None


def _check_opening(path: Path, subfaults: list[Subfault]) -> None:
    for number, one in enumerate(subfaults):
        if one.slips_m[2] != 0:
            raise UserError(
                f"{path}: subfault {number} opens by {one.slips_m[2]:g} m (slip 3); allowed: slip along the fault alone"
            )


def _surface(path: Path, subfaults: list[Subfault], rake: Array, place: Place) -> tuple[Surface, NDArray[np.intp]]:
    """And of each of its subfaults the place in the file."""
    lon, lat = (np.array([getattr(one, name) for one in subfaults]) for name in ("longitude_deg", "latitude_deg"))
    x, y = place.x_y(lon, lat)
    positions = np.column_stack([x, y, [one.depth_m for one in subfaults]])
    strike = (np.array([one.strike_deg for one in subfaults]) + place.north_deg(x, y) + place.azimuth_deg) % 360
    dip, area = (np.array([getattr(one, name) for one in subfaults]) for name in ("dip_deg", "area_m2"))
    blocks, numbers = [], []
    try:
        begin = 0
        for rows, columns in _segments(path, len(subfaults)):
            here = slice(begin, begin + rows * columns)
            begin = here.stop
            blocks.append(
                Surface(
                    positions[here],
                    strike[here],
                    dip[here],
                    180 - (180 - rake[here]) % 360,
                    area[here],
                    rows,
                    columns,
                    place.azimuth_deg,
                )
            )
            numbers.append(np.arange(here.start, here.stop).reshape(rows, columns))
        return joined(blocks), np.concatenate(numbers, axis=1).ravel()
    except UserError as error:
        raise UserError(str(error) if str(error).startswith(f"{path}") else f"{path}: {error}") from None


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
