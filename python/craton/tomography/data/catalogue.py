"""Tables of earthquakes and stations: CSV with a '#' header that explains the columns; every value is checked.

An error names the file, the line, the event or station, the value and what is allowed.
"""

from __future__ import annotations

import csv
import math
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.foreign_text import begins_a_formula, quoted

__all__ = ["Events", "Stations", "read_events", "read_stations"]

MOMENT_COLUMNS = ("Mrr_Nm", "Mtt_Nm", "Mpp_Nm", "Mrt_Nm", "Mrp_Nm", "Mtp_Nm")
EVENT_COLUMNS = (
    *("name", "origin_time", "latitude_deg", "longitude_deg", "depth_km", "half_duration_s"),
    *MOMENT_COLUMNS,
    "region",
)
STATION_COLUMNS = ("name", "latitude_deg", "longitude_deg", "elevation_m")


@dataclass(frozen=True)
class Events:
    """Point sources. Latitudes are geographic; the moment tensor's axes are r (up), t (south), p (east)."""

    name: tuple[str, ...]
    origin_time: tuple[str, ...]
    """ISO 8601, UTC"""
    latitude_deg: NDArray[np.float64]
    longitude_deg: NDArray[np.float64]
    depth_km: NDArray[np.float64]
    half_duration_s: NDArray[np.float64]
    moment_tensor_Nm: NDArray[np.float64]
    """n x 6: rr, tt, pp, rt, rp, tp"""
    region: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.name)


@dataclass(frozen=True)
class Stations:
    """Receivers. Latitudes are geographic."""

    name: tuple[str, ...]
    latitude_deg: NDArray[np.float64]
    longitude_deg: NDArray[np.float64]
    elevation_m: NDArray[np.float64]

    def __len__(self) -> int:
        return len(self.name)


def read_events(path: str | os.PathLike[str], maximum: int = 0) -> Events:
    """All events of a table, or its first `maximum`. UserError for a table that is not usable as it stands."""
    rows = _rows(Path(path), EVENT_COLUMNS, "event")
    for row in rows:
        if not any(row.numbers[column] for column in MOMENT_COLUMNS):
            raise row.wrong("the moment tensor is all zeros", "at least one component that is not zero, in N m")
        if not _is_utc(row.texts["origin_time"]):
            what = f"origin_time = {row.texts['origin_time'] or 'nothing'}"
            raise row.wrong(what, "a date and time in UTC as ISO 8601 writes them, 2018-02-02T11:37:53.3")
    columns = _columns(rows, maximum)
    moments = np.stack([columns.pop(column) for column in MOMENT_COLUMNS], axis=1)
    return Events(moment_tensor_Nm=moments, **columns)


def read_stations(path: str | os.PathLike[str], maximum: int = 0) -> Stations:
    """All stations of a table, or its first `maximum`. UserError for a table that is not usable as it stands."""
    return Stations(**_columns(_rows(Path(path), STATION_COLUMNS, "station"), maximum))


TEXT_COLUMNS = frozenset({"name", "origin_time", "region"})
OPTIONAL_COLUMNS = frozenset({"region"})
NUMBER = re.compile(r"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][-+]?[0-9]+)?")
RANGES = {
    "latitude_deg": (-90.0, 90.0, "degrees"),
    "longitude_deg": (-180.0, 360.0, "degrees"),
    "depth_km": (0.0, 800.0, "km"),
    "half_duration_s": (0.0, 300.0, "s"),
    "elevation_m": (-12000.0, 9000.0, "m"),
    **{column: (-1e25, 1e25, "N m") for column in MOMENT_COLUMNS},
}


@dataclass(frozen=True)
class _Row:
    where: str
    texts: dict[str, str]
    numbers: dict[str, float]

    def wrong(self, what: str, allowed: str) -> UserError:
        return UserError(f"{self.where}: {what}; allowed: {allowed}")


def _rows(path: Path, columns: Sequence[str], kind: str) -> list[_Row]:
    lines = _table_lines(path)
    header_line, header_text = next(lines, (0, ""))
    header = _cells(header_text, f"{path}:{header_line or 1}")
    for column in columns:
        if header.count(column) > 1:
            raise UserError(f"{path}:{header_line}: column '{column}' appears twice; allowed: each column once")
        if column not in header and column not in OPTIONAL_COLUMNS:
            raise UserError(
                f"{path}:{header_line or 1}: column '{column}' is missing; allowed: a first row {','.join(columns)}"
            )
    rows: list[_Row] = []
    seen: dict[str, int] = {}
    for number, text in lines:
        where = f"{path}:{number}"
        cells = _cells(text, where)
        if len(cells) != len(header):
            raise UserError(f"{where}: {len(cells)} values; allowed: {len(header)}, one per column")
        row = dict(zip(header, cells, strict=True))
        name = row["name"]
        if not name:
            raise UserError(f"{where}: the {kind} has no name; allowed: a name that no other {kind} has")
        if name in seen:
            raise UserError(
                f"{where}: {kind} '{name}' appears twice, first on line {seen[name]}; allowed: each name once"
            )
        if begins_a_formula(name):
            raise UserError(f"{where}: {kind} {quoted(name)}; allowed: a name that does not begin with =, +, - or @")
        seen[name] = number
        where = f"{where}: {kind} '{name}'"
        texts = {column: row.get(column, "") for column in columns if column in TEXT_COLUMNS}
        numbers = {column: _number(row[column], column, where) for column in columns if column not in TEXT_COLUMNS}
        rows.append(_Row(where, texts, numbers))
    if not rows:
        raise UserError(f"{path}: no {kind}s in it; allowed: at least one row below the column names")
    return rows


def _table_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Line numbers and text of the lines that are neither empty nor comments."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; allowed: a CSV table") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}; allowed: a readable CSV table") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text at byte {error.start}; allowed: a CSV table") from None
    for number, line in enumerate(text.split("\n"), start=1):
        if line.strip() and not line.lstrip().startswith("#"):
            yield number, line


def _cells(line: str, where: str) -> list[str]:
    """The values of one row; a quoted value may hold commas, but does not go on in the next line."""
    odd = next((letter for letter in line if (letter < " " and letter != "\t") or letter == "\x7f"), None)
    if odd is not None:
        raise UserError(f"{where}: holds the control character {odd!r}; allowed: a CSV table of plain text")
    try:
        return [cell.strip() for cell in next(csv.reader([line], strict=True), [])]
    except csv.Error as error:
        what = "a quote is not closed" if "unexpected end" in str(error) else str(error)
        raise UserError(f"{where}: {what}; allowed: values separated by commas, each in both quotes or none") from None


def _is_utc(text: str) -> bool:
    try:
        time = datetime.fromisoformat(text)
    except ValueError:
        return False
    return not time.utcoffset()


def _number(text: str, column: str, where: str) -> float:
    low, high, unit = RANGES[column]
    value = float(text) if NUMBER.fullmatch(text) else math.nan
    if not low <= value <= high:  # also false for NaN
        raise UserError(f"{where}: {column} = {text or 'nothing'}; allowed: a number in [{low:g}, {high:g}] {unit}")
    return value


def _columns(rows: Sequence[_Row], maximum: int) -> dict[str, Any]:
    """Columns by name, texts as tuples and numbers as arrays: of the first `maximum` rows, or of all for 0."""
    chosen = rows[: maximum or None]
    texts = {name: tuple(row.texts[name] for row in chosen) for name in chosen[0].texts}
    return texts | {name: np.array([row.numbers[name] for row in chosen]) for name in chosen[0].numbers}
