"""Ruptures from tables, as UCERF's are given out, and from OpenSHA's files of one rupture each.

A table is CSV with a line of column names; the order is free, lines that begin with # are left out:

    source          name (may be missing: the file's)
    rupture         number among its source's, 0 or more
    magnitude
    annual_rate     per year; or
    probability     0 to 1, below 1, in the time span that is given when the table is read
    rake, dip       degrees; the fault dips to the right of its trace
    upper_depth_km, lower_depth_km
    trace           "lon lat; lon lat; ..." in degrees along the rupture's top edge moved up to z = 0; or
    trace_m         "x y; x y; ..." in metres of the model

OpenSHA's files have one rupture each, as CyberShake's do. They begin with lines `Probability = `, `Magnitude = `, `GridSpacing = `
(km), `NumRows = `, `NumCols = ` in any order. A line for each point follows, row by row from the top: latitude, longitude, depth
(km), rake, dip, strike.
"""

from __future__ import annotations

import csv
import io
import math
import os
import re
from pathlib import Path

import numpy as np

from craton.errors import UserError
from craton.foreign_text import quoted, whole_number
from craton.hazard.forecast.faults import simple_fault
from craton.hazard.forecast.forecast import Forecast, annual_rate, checked_years
from craton.hazard.forecast.reading import located, number_of, text_of
from craton.hazard.forecast.rupture import Array, Rupture, Surface
from craton.seismology.geometry.grid import Grid

__all__ = ["read_opensha_rupture", "read_table"]

NEEDED = ("rupture", "magnitude", "rake", "dip", "upper_depth_km", "lower_depth_km")
RATES = ("annual_rate", "probability")
TRACES = ("trace", "trace_m")
ALL = ("source", *NEEDED, *RATES, *TRACES)
KEYS = ("Probability", "Magnitude", "GridSpacing", "NumRows", "NumCols")
HEADER = re.compile(r"^\s*(\w+)\s*=\s*(.*?)\s*$")
KM = 1e3


def read_table(
    path: str | os.PathLike[str], place: Grid | None = None, *, years: float = 1.0, spacing_m: float = 1000.0
) -> Forecast:
    """The ruptures of a table. years: time span of probabilities; spacing_m: side of subfaults, about. UserError names the line."""
    path = Path(path)
    checked_years(years)
    rows = _rows(path)
    columns = _columns(path, *rows[0])
    ruptures: list[Rupture] = []
    seen: dict[tuple[str, int], int] = {}
    for line, words in rows[1:]:
        if len(words) != len(columns):
            raise UserError(f"{path}:{line}: {len(words)} values; allowed: {len(columns)}, one for each column")
        one = _rupture(path, line, dict(zip(columns, words, strict=True)), place, years, spacing_m)
        key = (one.source, one.number)
        if key in seen:
            raise UserError(f"{path}:{line}: {one.name} again; allowed: once (it is in line {seen[key]})")
        seen[key] = line
        ruptures.append(one)
    if not ruptures:
        raise UserError(f"{path}: no ruptures below the names of columns; allowed: one line for each")
    return Forecast(tuple(ruptures))


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """The lines that count, with their numbers."""
    reader = csv.reader(io.StringIO(text_of(path, "a table of ruptures, in CSV")), skipinitialspace=True)
    found = []
    try:
        for words in reader:
            if words and not words[0].lstrip().startswith("#") and any(word.strip() for word in words):
                found.append((reader.line_num, [word.strip() for word in words]))
    except csv.Error as error:
        raise UserError(f"{path}:{reader.line_num}: {error}; allowed: CSV") from None
    if not found:
        raise UserError(f"{path}: an empty file; allowed: a line of column names ({', '.join(ALL)})")
    return found


def _columns(path: Path, line: int, names: list[str]) -> list[str]:
    for name in names:
        if name not in ALL:
            raise UserError(f"{path}:{line}: column {quoted(name)}; allowed: {', '.join(ALL)}")
        if names.count(name) > 1:
            raise UserError(f"{path}:{line}: column {quoted(name)} twice; allowed: once")
    for name in NEEDED:
        if name not in names:
            raise UserError(f"{path}:{line}: no column '{name}'; allowed: {', '.join(ALL)}")
    for either in (RATES, TRACES):
        if len(set(either) & set(names)) != 1:
            raise UserError(f"{path}:{line}: columns {' and '.join(either)}: both or neither; allowed: one of them")
    return names


def _rupture(path: Path, line: int, row: dict[str, str], place: Grid | None, years: float, spacing_m: float) -> Rupture:
    where = f"{path}:{line}"

    def number(name: str, low: float = -math.inf, high: float = math.inf, allowed: str = "a finite number") -> float:
        value = number_of(row[name])
        if not (math.isfinite(value) and low <= value <= high):
            raise UserError(f"{where}: {name} = {row[name][:40]}; allowed: {allowed}")
        return value

    rupture = whole_number(row["rupture"])
    if rupture is None:
        raise UserError(f"{where}: rupture = {row['rupture'][:40]}; allowed: a whole number, 0 or more")
    source = row.get("source", "") or path.stem
    if "probability" in row:
        rate = annual_rate(number("probability", allowed="0 to 1, below 1"), years, where)
    else:
        rate = number("annual_rate", 0, allowed="0 or more, per year")
    magnitude = number("magnitude", -5, 12, "-5 to 12")
    name = "trace" if "trace" in row else "trace_m"
    points = _points(where, name, row[name])
    with located(path, line):
        fault = simple_fault(
            source,
            upper_depth_m=number("upper_depth_km") * KM,
            lower_depth_m=number("lower_depth_km") * KM,
            dip_deg=number("dip"),
            rake_deg=number("rake"),
            trace_m=points if name == "trace_m" else None,
            trace_lon_lat=points if name == "trace" else None,
            place=place,
        )
        return Rupture(source, rupture, magnitude, rate, fault.surface(spacing_m))


def _points(where: str, name: str, text: str) -> Array:
    pairs = [pair.split() for pair in text.split(";") if pair.strip()]
    values = [[number_of(word) for word in pair] for pair in pairs]
    if len(values) < 2 or any(len(pair) != 2 for pair in values) or not np.isfinite(np.array(values)).all():
        raise UserError(f"{where}: {name} = '{text[:60]}'; allowed: two points or more, as in 'a b; a b'")
    return np.array(values)


def read_opensha_rupture(
    path: str | os.PathLike[str], place: Grid, *, source: str, number: int = 0, years: float = 1.0
) -> Rupture:
    """A rupture whose points become the middles of subfaults of GridSpacing squared. years: the time span of its probability."""
    path = Path(path)
    header: dict[str, float] = {}
    points: list[list[float]] = []
    last = 0
    for line, text in enumerate(text_of(path, "a rupture file of OpenSHA").splitlines(), 1):
        found = HEADER.match(text)
        if text.lstrip().startswith("#") or not text.strip():
            continue
        last = line
        if found and not points:
            header[found[1]] = number_of(found[2])
            continue
        values = [number_of(word) for word in text.split()]
        if len(values) != 6 or not np.isfinite(values).all():
            raise UserError(f"{path}:{line}: '{text.strip()[:60]}'; allowed: latitude longitude depth rake dip strike")
        points.append(values)
    for key in KEYS:
        if not math.isfinite(header.get(key, math.nan)):
            raise UserError(f"{path}: no number for {key}; allowed: {', '.join(KEYS)}, each = a number")
    rate = annual_rate(header["Probability"], years, str(path))
    rows, columns = int(header["NumRows"]), int(header["NumCols"])
    if min(rows, columns) < 1 or len(points) != rows * columns:
        raise UserError(f"{path}:{last}: {len(points)} points; allowed: {rows} x {columns}, as NumRows and NumCols say")
    with located(path):
        return Rupture(source, number, header["Magnitude"], rate, _gridded(np.array(points), header, place))


def _gridded(points: Array, header: dict[str, float], place: Grid) -> Surface:
    lat, lon, depth, rake, dip, strike = points.T
    x, y = place.x_y(lon, lat)
    return Surface(
        positions=np.column_stack([x, y, depth * KM]),
        strike=(strike + place.north_deg(x, y) + place.azimuth_deg) % 360,
        dip=dip,
        rake=rake,
        area=np.full(len(points), (header["GridSpacing"] * KM) ** 2),
        rows=int(header["NumRows"]),
        columns=int(header["NumCols"]),
        azimuth_deg=place.azimuth_deg,
    )
