"""Where the motion is recorded: stations with names, and lists of points without (millions of them).

- Stations in .csv: a header with name and x_m, y_m (z_m), or longitude_deg, latitude_deg (depth_m); other columns are left alone.
- Stations in .xml: StationXML through ObsPy, at the surface.
- Points in .npy: an array (n, 3) of x, y, z in m. In .h5: a dataset position_m of that shape.
- Points in other files: rows of x y z in m as text. Or as the AWP codes have it: the count alone on the first line, then cells
  counted from 1 (k = 1: the surface).
"""

from __future__ import annotations

import csv
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.foreign_text import begins_a_formula, quoted, whole_number
from craton.runs.hdf5_files import opened_hdf5
from craton.seismology.files import present, read_by_obspy, readable
from craton.seismology.geometry.grid import Grid
from craton.seismology.ground.topography import Topography

Array = NDArray[np.float64]
COLUMNS = (("x_m", "y_m", "z_m"), ("longitude_deg", "latitude_deg", "depth_m"))
ALSO = {
    **dict.fromkeys(("longitude", "lon"), "longitude_deg"),
    **dict.fromkeys(("latitude", "lat"), "latitude_deg"),
    **dict.fromkeys(("station", "code"), "name"),
}
"""What other programs call columns, in any case."""


@dataclass(frozen=True)
class Receivers:
    """names (n) and positions (n, 3) in m."""

    names: tuple[str, ...]
    position_m: Array

    def __len__(self) -> int:
        return len(self.names)


def read_stations(path: str | os.PathLike[str], grid: Grid) -> Receivers:
    """The stations of a table or of StationXML.

    UserError names the row: a column that is missing, what is no number, NaN, a place outside the grid, a name given twice.
    """
    path = present(path, "a list of receivers")
    names, position = _station_xml(path, grid) if path.suffix.lower() == ".xml" else _station_csv(path, grid)
    return _named(names, position, grid, str(path))


def stations_from_list(rows: Sequence[Sequence[float | str]], grid: Grid, where: str = "stations") -> Receivers:
    """The stations of rows of name, x, y (and z) in m, as [receivers] stations has them. UserError as of read_stations."""
    places = [[*row[1:], 0.0][:3] for row in rows]
    return _named([str(row[0]) for row in rows], np.array(places, float).reshape(-1, 3), grid, where)


def read_points(path: str | os.PathLike[str], grid: Grid) -> Array:
    """The points of a file: (n, 3), m. UserError names the row."""
    path = present(path, "a list of receivers")
    kind = path.suffix.lower()
    if kind == ".npy":
        with readable(path, "a NumPy array (n, 3)", ""):
            position = np.asarray(np.load(path, allow_pickle=False), dtype=np.float64)
    elif kind in (".h5", ".hdf5"):
        with opened_hdf5(path, "an HDF5 file with position_m (n, 3)", wrong="cannot be read") as file:
            position = np.asarray(file["position_m"], dtype=np.float64)
    else:
        position = _points_text(path, grid)
    if position.ndim != 2 or position.shape[1] != 3 or not len(position):
        raise UserError(f"{path}: an array of shape {position.shape}; allowed: (n, 3), x, y, z in m of each point")
    check_points(position, grid, str(path))
    return position


def check_points(position: Array, grid: Grid, where: str, names: Sequence[str] = ()) -> None:
    """UserError for the first point that is not finite, or outside the grid."""
    inside = "inside the grid: x in [0, {:g}], y in [0, {:g}], z in [0, {:g}] m".format(*grid.size_m)
    finite = np.isfinite(position).all(axis=1)
    for wrong, allowed in ((~finite, "finite x, y and z"), (~grid.contains(*position.T), inside)):
        if wrong.any():
            at = int(np.argmax(wrong))
            x, y, z = position[at]
            named = f" ({names[at]})" if names else ""
            raise UserError(
                f"{where}: receiver {at + 1}{named} at (x, y, z) = ({x:.6g}, {y:.6g}, {z:.6g}) m, and "
                f"{int(wrong.sum()) - 1} others; allowed: {allowed}"
            )


def below_ground(stations: Receivers, topography: Topography, grid: Grid, where: str) -> Receivers:
    """Stations whose depths count from the ground's surface, which may be below z = 0. UserError as of check_points."""
    x, y, depth = stations.position_m.T
    position = np.column_stack([x, y, topography.depth_at(x, y) + depth])
    check_points(position, grid, where, stations.names)
    return Receivers(stations.names, position)


def _named(names: Sequence[str], position: Array, grid: Grid, where: str) -> Receivers:
    if not names:
        raise UserError(f"{where}: no stations; allowed: one or more")
    seen: set[str] = set()
    for name in names:
        if name in seen or not name:
            raise UserError(
                f"{where}: station '{name}' {'twice' if name else 'without a name'}; allowed: a name of its own for each"
            )
        if begins_a_formula(name):
            raise UserError(f"{where}: station {quoted(name)}; allowed: a name that does not begin with =, +, - or @")
        seen.add(name)
    check_points(position, grid, where, names)
    return Receivers(tuple(names), position)


def _station_csv(path: Path, grid: Grid) -> tuple[list[str], Array]:
    with readable(path, "a CSV table of stations"), path.open(encoding="utf-8-sig", newline="") as stream:
        rows = [row for row in csv.reader(stream) if row and not row[0].lstrip().startswith("#")]
    header = [cell.strip() for cell in rows[0]] if rows else []
    known = [ALSO.get(cell.lower(), cell) for cell in header]
    header = [
        cell if named in header or known.count(named) > 1 else named for cell, named in zip(header, known, strict=True)
    ]
    columns = next((c for c in COLUMNS if {"name", *c[:2]} <= set(header)), None)
    if columns is None:
        found = quoted(", ".join(header), 80) if header else "none"
        raise UserError(
            f"{path}: columns {found}; allowed: name and x_m, y_m (z_m), or longitude_deg, latitude_deg (depth_m)"
        )
    names, places = [], []
    for number, row in enumerate(rows[1:], 1):
        cells = dict(zip(header, (cell.strip() for cell in row), strict=False))
        names.append(cells.get("name", ""))
        places.append([_number(path, number, c, cells.get(c, "0" if c == columns[2] else "")) for c in columns])
    position = np.array(places, float).reshape(-1, 3)
    if columns is COLUMNS[1] and len(position):
        for at, (lon, lat, _) in enumerate(position):
            if not (abs(lon) <= 360 and abs(lat) <= 90):
                raise UserError(f"{path}: station {names[at]} at longitude {lon:g}, latitude {lat:g}; allowed: degrees")
        position[:, 0], position[:, 1] = grid.x_y(position[:, 0], position[:, 1])
    return names, position


def _number(path: Path, row: int, column: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UserError(f"{path}: station {row}: {column} = '{text}'; allowed: a finite number") from None


def _station_xml(path: Path, grid: Grid) -> tuple[list[str], Array]:
    inventory = read_by_obspy("read_inventory", path, "StationXML")
    found = [(f"{net.code}.{sta.code}", sta.longitude, sta.latitude) for net in inventory for sta in net]
    found = list(dict.fromkeys(found))  # epochs of one station
    x, y = grid.x_y([row[1] for row in found], [row[2] for row in found])
    return [row[0] for row in found], np.column_stack([x, y, np.zeros(len(found))])


def _points_text(path: Path, grid: Grid) -> Array:
    with readable(path, "rows of x y z in m", ""), path.open(encoding="utf-8") as stream:
        first = stream.readline().split()
        if not first and not stream.read(1):
            raise ValueError("an empty file")
        count = whole_number(first[0]) if len(first) == 1 else None
        rows = np.loadtxt(path, dtype=np.float64, skiprows=int(count is not None), ndmin=2)
    if count is None:
        return rows
    if rows.shape != (count, 3) or not np.array_equal(rows, np.round(rows)):
        raise UserError(
            f"{path}: {len(rows)} rows of {rows.shape[1]} numbers after the count {count}; allowed: {count} rows of three "
            "whole numbers, cells counted from 1"
        )
    return np.asarray((rows - np.array([0.5, 0.5, 1])) * grid.spacing_m)
