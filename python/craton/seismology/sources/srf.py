"""Finite faults in the Standard Rupture Format, versions 1.0 and 2.0 (Graves 2006, 2014).

    2.0
    PLANE 1
     lon lat nstk ndip len_km wid_km
     strike dip dtop_km shyp_km dhyp_km
    POINTS n
     lon lat dep_km strike dip area_cm2 tinit_s dt_s [vs_cm/s den_g/cm3]
     rake slip1_cm nt1 slip2_cm nt2 slip3_cm nt3
     nt1 + nt2 + nt3 slip rates in cm/s

vs and den are in version 2.0 alone, -1 where they are not known. Slip 1 is along the rake, 2 along the rake plus 90 degrees, 3
along the fault's normal. Here all is in SI. The same content as an HDF5 file: datasets longitude_deg, latitude_deg, depth_m,
strike_deg, dip_deg, rake_deg, area_m2, start_s (n) and slip_rate_m_s (n, samples), perhaps vs_m_s and density_kg_m3 (n), the
attribute sample_s.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import astuple, dataclass
from itertools import pairwise
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.foreign_text import quoted, whole_number
from craton.runs.files import replaced
from craton.runs.hdf5_files import opened_hdf5
from craton.seismology.files import readable

Array = NDArray[np.float64]
HDF5_MAGIC = b"\x89HDF"
HDF5_NEEDED = ("longitude_deg", "latitude_deg", "depth_m", "strike_deg", "dip_deg", "rake_deg", "area_m2", "start_s")
ROWS = 256
"""Subfaults of an HDF5 file that are read at a time."""


@dataclass(frozen=True)
class Plane:
    """One segment of a fault: its header, as the file has it (km, degrees)."""

    longitude_deg: float
    latitude_deg: float
    along_strike: int
    down_dip: int
    length_km: float
    width_km: float
    strike_deg: float
    dip_deg: float
    top_km: float
    hypocentre_strike_km: float
    hypocentre_dip_km: float


@dataclass(frozen=True)
class Subfault:
    """One point of a fault. slip_rates: along the rake, the rake plus 90 degrees, and the normal; any may be empty."""

    longitude_deg: float
    latitude_deg: float
    depth_m: float
    strike_deg: float
    dip_deg: float
    rake_deg: float
    area_m2: float
    start_s: float
    sample_s: float
    slip_rates_m_s: tuple[NDArray[np.float32], NDArray[np.float32], NDArray[np.float32]]
    slips_m: tuple[float, float, float] = (0.0, 0.0, 0.0)
    vs_m_s: float = -1.0
    density_kg_m3: float = -1.0

    @property
    def mu(self) -> float | None:
        """Pa; None where the file does not know it."""
        known = self.vs_m_s > 0 and self.density_kg_m3 > 0
        return self.density_kg_m3 * self.vs_m_s**2 if known else None


class _Lines:
    """The words of a file's lines that are not comments, with the number of the line for messages."""

    def __init__(self, path: Path) -> None:
        self.path, self.number = path, 0
        with readable(path, "an SRF file"):
            self._stream = path.open(encoding="utf-8", errors="replace")

    def __enter__(self) -> _Lines:
        return self

    def __exit__(self, *_: object) -> None:
        self._stream.close()

    def next(self) -> list[str]:
        """Empty at the end."""
        for line in self._stream:
            self.number += 1
            words = line.split()
            if words and not words[0].startswith("#"):
                return words
        return []

    def wrong(self, what: str, allowed: str) -> UserError:
        return UserError(f"{self.path}:{self.number}: {what}; allowed: {allowed}")

    def numbers(self, words: list[str], count: int, what: str) -> list[float]:
        try:
            found = [float(word) for word in words]
        except ValueError:
            found = []
        if len(found) != count or not np.isfinite(found).all():
            raise self.wrong(f"'{' '.join(words)[:60] or 'the end of the file'}'", f"{count} finite numbers: {what}")
        return found

    def whole(self, word: str, what: str) -> int:
        number = whole_number(word)
        if number is None:
            raise self.wrong(f"{what} {quoted(word)}", "a whole number")
        return number


def iterate_subfaults(path: str | os.PathLike[str]) -> Iterator[Subfault]:
    """The subfaults of an SRF file or of the HDF5 form, which the file's first bytes tell apart.

    One subfault is in memory at a time (of HDF5, some hundred). UserError names the line or the dataset.
    """
    path = Path(path)
    with readable(path, "an SRF file, or its HDF5 form"), path.open("rb") as stream:
        magic = stream.read(4)
    return iterate_hdf5(path) if magic == HDF5_MAGIC else iterate_srf(path)


def iterate_srf(path: str | os.PathLike[str]) -> Iterator[Subfault]:
    """One subfault after the other. UserError names the line."""
    with _Lines(Path(path)) as lines:
        version = _version(lines)
        count = 0
        while words := lines.next():
            if words[0] == "PLANE":
                _planes(lines, words)
            elif words[0] == "POINTS" and len(words) == 2:
                for _ in range(lines.whole(words[1], "POINTS")):
                    count += 1
                    yield _subfault(lines, version)
            else:
                raise lines.wrong(f"'{' '.join(words)[:60]}'", "PLANE n or POINTS n")
        if not count:
            raise lines.wrong("no points", "POINTS n and n subfaults")


def read_planes(path: str | os.PathLike[str]) -> list[Plane]:
    """The headers of the segments, without the points."""
    with _Lines(Path(path)) as lines:
        _version(lines)
        words = lines.next()
        return _planes(lines, words) if words and words[0] == "PLANE" else []


def write_srf(path: str | os.PathLike[str], subfaults: Iterable[Subfault], planes: Iterable[Plane] = ()) -> None:
    """Writes version 2.0, in one block of points; under its name once it is whole.

    The subfaults are counted first, so a generator is kept in memory. UserError where the file cannot be written.
    """
    rows, planes = list(subfaults), list(planes)
    with replaced(Path(path)) as aside, aside.open("w", encoding="ascii") as stream:
        stream.write("2.0\n" + (f"PLANE {len(planes)}\n" if planes else ""))
        for plane in planes:
            words = [repr(value) for value in astuple(plane)]
            stream.write(f"{' '.join(words[:6])}\n{' '.join(words[6:])}\n")
        stream.write(f"POINTS {len(rows)}\n")
        stream.writelines(map(_written, rows))


def iterate_hdf5(path: str | os.PathLike[str]) -> Iterator[Subfault]:
    """The subfaults of the HDF5 form, some rows at a time. UserError for what is missing or of another shape."""
    path = Path(path)
    with opened_hdf5(path, "a whole HDF5 file", wrong="cannot be read") as file:
        yield from _hdf5_rows(path, file)


def _hdf5_rows(path: Path, file: h5py.File) -> Iterator[Subfault]:
    for name in (*HDF5_NEEDED, "slip_rate_m_s"):
        if name not in file:
            raise UserError(f"{path}: no dataset {name}; allowed: {', '.join(HDF5_NEEDED)}, slip_rate_m_s")
    sample = float(file.attrs.get("sample_s", 0))
    if not sample > 0:
        raise UserError(f"{path}: attribute sample_s = {sample:g}; allowed: above 0 s")
    rates = file["slip_rate_m_s"]
    if rates.ndim != 2 or any(file[name].shape != rates.shape[:1] for name in HDF5_NEEDED):
        raise UserError(
            f"{path}: slip_rate_m_s of shape {rates.shape}; allowed: (subfaults, samples), and one of each other value"
        )
    none = np.empty(0, np.float32)
    for first in range(0, rates.shape[0], ROWS):
        rows = slice(first, first + ROWS)
        block = np.asarray(rates[rows], dtype=np.float32)
        columns = [np.asarray(file[name][rows], float) for name in HDF5_NEEDED]
        vs, density = (
            np.asarray(file[name][rows], float) if name in file else np.full(len(block), -1.0)
            for name in ("vs_m_s", "density_kg_m3")
        )
        if not (np.isfinite(block).all() and all(np.isfinite(column).all() for column in columns)):
            raise UserError(f"{path}: subfaults {first} to {first + len(block) - 1} hold NaN; allowed: finite numbers")
        for number, row in enumerate(zip(*columns, strict=True)):
            slip = float(block[number].sum(dtype=float)) * sample
            yield Subfault(  # type: ignore[misc]  # the first fields are HDF5_NEEDED, in their order
                *row,
                sample_s=sample,
                slip_rates_m_s=(block[number], none, none),
                slips_m=(slip, 0.0, 0.0),
                vs_m_s=float(vs[number]),
                density_kg_m3=float(density[number]),
            )


def _version(lines: _Lines) -> float:
    words = lines.next()
    if len(words) != 1 or words[0] not in ("1.0", "2.0"):
        raise lines.wrong(f"version '{' '.join(words)[:40]}'", "1.0 or 2.0, alone on the first line of an SRF file")
    return float(words[0])


def _planes(lines: _Lines, words: list[str]) -> list[Plane]:
    if len(words) != 2:
        raise lines.wrong(f"'{' '.join(words)[:60]}'", "PLANE n")
    found = []
    for _ in range(lines.whole(words[1], "PLANE")):
        a = lines.numbers(lines.next(), 6, "lon lat nstk ndip len_km wid_km")
        b = lines.numbers(lines.next(), 5, "strike dip dtop_km shyp_km dhyp_km")
        found.append(Plane(a[0], a[1], int(a[2]), int(a[3]), a[4], a[5], *b))
    return found


def _subfault(lines: _Lines, version: float) -> Subfault:
    what = "lon lat dep stk dip area tinit dt" + (" vs den" if version == 2 else "")
    lon, lat, depth, strike, dip, area, start, sample, *rock = lines.numbers(
        lines.next(), 10 if version == 2 else 8, what
    )
    if not (area > 0 and sample > 0):
        raise lines.wrong(f"area = {area:g} cm^2, dt = {sample:g} s", "above 0")
    if not (abs(lat) <= 90 and abs(lon) <= 360):
        raise lines.wrong(f"lon = {lon:g}, lat = {lat:g}", "degrees")
    rake, *slips = lines.numbers(lines.next(), 7, "rake slip1 nt1 slip2 nt2 slip3 nt3")
    counts = slips[1::2]
    if any(n < 0 or n != int(n) for n in counts):
        raise lines.wrong(f"nt = {counts}", "whole numbers of samples")
    rates = _rates(lines, int(sum(counts)))
    ends = np.cumsum([0, *counts]).astype(int)
    vs, density = rock or (-1.0, -1.0)
    along, across, opening = (rates[a:b] for a, b in pairwise(ends))
    slip_1, slip_2, slip_3 = (slip * 1e-2 for slip in slips[0::2])
    rock = [vs * 1e-2 if vs > 0 else -1.0, density * 1e3 if density > 0 else -1.0]
    return Subfault(
        lon, lat, depth * 1e3, strike, dip, rake, area * 1e-4, start, sample,
        (along, across, opening), (slip_1, slip_2, slip_3), *rock,
    )  # fmt: skip


def _rates(lines: _Lines, count: int) -> NDArray[np.float32]:
    """m/s; over as many lines as it takes."""
    words: list[str] = []
    while len(words) < count:
        more = lines.next()
        if not more:
            raise lines.wrong(f"the file ends after {len(words)} of {count} slip rates", "a whole file")
        words += more
    if len(words) != count:
        raise lines.wrong(f"{len(words)} slip rates", f"{count} finite numbers")
    try:
        rates = np.array(words, dtype=float) * 1e-2
    except ValueError:
        rates = np.array([np.nan])
    if not np.isfinite(rates).all():
        raise lines.wrong("a slip rate that is no finite number", f"{count} finite numbers")
    return rates.astype(np.float32)


def _written(one: Subfault) -> str:
    head = (one.longitude_deg, one.latitude_deg, one.depth_m * 1e-3, one.strike_deg, one.dip_deg)
    tail = (one.area_m2 * 1e4, one.start_s, one.sample_s)
    rock = (one.vs_m_s * 1e2 if one.vs_m_s > 0 else -1.0, one.density_kg_m3 * 1e-3 if one.density_kg_m3 > 0 else -1.0)
    lines = [" ".join(f"{value:.9g}" for value in (*head, *tail, *rock))]
    slips = [f"{slip * 1e2:.9g} {len(rates)}" for slip, rates in zip(one.slips_m, one.slip_rates_m_s, strict=True)]
    lines.append(f"{one.rake_deg:.9g} {' '.join(slips)}")
    for rates in one.slip_rates_m_s:
        words = [f"{float(rate) * 1e2:.9g}" for rate in rates]
        lines += [" ".join(words[at : at + 6]) for at in range(0, len(words), 6)]
    return "\n".join(lines) + "\n"
