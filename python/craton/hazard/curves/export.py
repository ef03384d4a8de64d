"""Curves and maps in files: CSV of our own, HDF5, and the form in which OpenQuake's engine exports its own.

CSV           curves: measure, years, site, longitude, latitude, level, probability; maps: longitude, latitude, and a column for
              each map
HDF5          curves/<measure>: levels (l), probability (sites, l), years; maps/<measure>/<n>: value (sites), probability, years;
              sites: name, longitude_deg, latitude_deg
OpenQuake     hazard_curve-mean-<measure>.csv and hazard_map-mean.csv: a line that begins with # and tells what is in the file, then
              lon,lat,depth,poe-<level>,... or lon,lat,<measure>-<probability>,...

A file gets its name once it is whole.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

from craton.errors import UserError
from craton.hazard.curves.curves import HazardCurve
from craton.hazard.curves.maps import HazardMap
from craton.runs.files import replaced
from craton.runs.hdf5_writing import written_hdf5

__all__ = [
    "Site",
    "read_curves_csv",
    "read_openquake_curves",
    "write_csv",
    "write_curves_csv",
    "write_hdf5",
    "write_maps_csv",
    "write_openquake_curves",
    "write_openquake_map",
]

CURVES = ("measure", "years", "site", "longitude_deg", "latitude_deg", "level", "probability")
"""Columns of a CSV of curves. Where a curve has a note, `note` comes after them."""


@dataclass(frozen=True)
class Site:
    """Where a curve is of."""

    name: str
    longitude_deg: float
    latitude_deg: float
    depth_m: float = 0.0


def write_curves_csv(path: str | os.PathLike[str], sites: Sequence[Site], curves: Iterable[HazardCurve]) -> Path:
    """Writes a line for each level of each curve; of sites by name. Where a curve has a note, all lines have one more column."""
    known = {site.name: site for site in sites}
    curves = list(curves)
    noted = any(curve.note for curve in curves)
    rows: list[Sequence[object]] = [(*CURVES, "note") if noted else CURVES]
    for curve in curves:
        if curve.site not in known:
            raise UserError(f"a curve of site '{curve.site}'; allowed: {', '.join(known) or 'none'}")
        site = known[curve.site]
        for point in zip(curve.levels.tolist(), curve.probability.tolist(), strict=True):
            note = [curve.note] * noted
            rows.append((curve.measure, curve.years, site.name, site.longitude_deg, site.latitude_deg, *point, *note))
    return write_csv(path, rows)


def read_curves_csv(path: str | os.PathLike[str], site: str | None = None) -> list[HazardCurve]:
    """The curves that write_curves_csv() has written, in its order; of one site, or of all. UserError names the line."""
    path, allowed = Path(path), "hazard curves as write_curves_csv() writes them"
    lines = _table(path, allowed)
    if not lines or tuple(lines[0]) not in (CURVES, (*CURVES, "note")):
        raise UserError(f"{path}:1: {','.join(lines[0]) if lines else 'nothing'}; allowed: {','.join(CURVES)}")
    found: dict[tuple[str, str, float], list[tuple[float, float]]] = {}
    notes: dict[tuple[str, str, float], str] = {}
    for line, row in enumerate(lines[1:], 2):
        try:
            measure, years, name, _, _, level, probability, *note = row
            if len(row) != len(lines[0]):
                raise ValueError
            if site in (None, name):
                key = name, measure, float(years)
                found.setdefault(key, []).append((float(level), float(probability)))
                notes[key] = "".join(note)
        except ValueError:
            raise UserError(f"{path}:{line}: {','.join(row)}; allowed: {allowed}") from None
    return [
        HazardCurve(name, measure, years, levels, probability, notes[name, measure, years])
        for (name, measure, years), points in found.items()
        for levels, probability in [np.array(points).T.copy()]
    ]


def write_maps_csv(path: str | os.PathLike[str], sites: Sequence[Site], maps: Sequence[HazardMap]) -> Path:
    """Writes a line for each site, with a column for each map."""
    _check_maps(sites, maps)
    header = ["site", "longitude_deg", "latitude_deg"]
    header += [
        f"{one.measure} of {one.probability:g} in {one.years:g} years"
        + (f" (not resolved: {one.note})" if one.note else "")
        for one in maps
    ]
    rows = [
        [site.name, site.longitude_deg, site.latitude_deg, *(float(one.values[i]) for one in maps)]
        for i, site in enumerate(sites)
    ]
    return write_csv(path, [header, *rows])


def write_hdf5(
    path: str | os.PathLike[str], sites: Sequence[Site], curves: Sequence[HazardCurve], maps: Sequence[HazardMap] = ()
) -> Path:
    """Writes all of them to one file. Of each measure there is a curve of every site, all with the same levels and time span."""
    _check_maps(sites, maps)
    of = {measure: _by_site(sites, curves, measure) for measure in dict.fromkeys(one.measure for one in curves)}
    with replaced(Path(path)) as aside, written_hdf5(aside) as file:
        file["sites/name"] = [site.name for site in sites]
        file["sites/longitude_deg"] = np.array([site.longitude_deg for site in sites], float)
        file["sites/latitude_deg"] = np.array([site.latitude_deg for site in sites], float)
        for measure, found in of.items():
            group = file.create_group(f"curves/{measure}")
            group["levels"] = found[0].levels
            group["probability"] = np.array([one.probability for one in found])
            group.attrs["years"] = found[0].years
            if found[0].note:
                group.attrs["note"] = f"not resolved: {found[0].note}"
        for number, one in enumerate(maps):
            group = file.create_group(f"maps/{one.measure}/{number}")
            group["value"] = one.values
            group.attrs["probability"], group.attrs["years"] = one.probability, one.years
            if one.note:
                group.attrs["note"] = f"not resolved: {one.note}"
    return Path(path)


def write_openquake_curves(
    folder: str | os.PathLike[str],
    sites: Sequence[Site],
    curves: Sequence[HazardCurve],
    *,
    calculation: int | None = None,
) -> list[Path]:
    """Writes hazard_curve-mean-SA(3.0).csv for each measure, with _<calculation> before the ending where one is given."""
    written = []
    for measure in dict.fromkeys(one.measure for one in curves):
        found = _by_site(sites, curves, measure)
        header = ["lon", "lat", "depth", *(f"poe-{level:.7f}" for level in found[0].levels)]
        rows = [
            [*_degrees(site), f"{site.depth_m / 1e3:.5f}", *(f"{value:.6E}" for value in curve.probability)]
            for site, curve in zip(sites, found, strict=True)
        ]
        path = Path(folder) / f"hazard_curve-mean-{measure}{_tail(calculation)}"
        written.append(_openquake(path, found[0].years, header, rows, f"imt='{measure}'", *_not_resolved(found)))
    return written


def write_openquake_map(
    folder: str | os.PathLike[str], sites: Sequence[Site], maps: Sequence[HazardMap], *, calculation: int | None = None
) -> Path:
    """Writes hazard_map-mean.csv: all measures and probabilities of one time span."""
    _check_maps(sites, maps)
    if not maps or any(one.years != maps[0].years for one in maps):
        raise UserError(f"{len(maps)} maps of different time spans, or none; allowed: maps of one time span")
    header = ["lon", "lat", *(f"{one.measure}-{one.probability:g}" for one in maps)]
    rows = [[*_degrees(site), *(f"{one.values[i]:.6E}" for one in maps)] for i, site in enumerate(sites)]
    told = _not_resolved(maps)
    return _openquake(Path(folder) / f"hazard_map-mean{_tail(calculation)}", maps[0].years, header, rows, *told)


def read_openquake_curves(path: str | os.PathLike[str]) -> tuple[list[Site], list[HazardCurve]]:
    """Hazard curves as the engine exports them, or as written here; sites are named by their number. UserError names the line."""
    path = Path(path)
    lines = _table(path, "hazard curves as OpenQuake exports them")
    told = dict(pair.strip().partition("=")[::2] for pair in (lines[0][-1].split(",") if lines else []))
    header = lines[1] if len(lines) > 1 else []
    poes = [at for at, name in enumerate(header) if name.startswith("poe-")]
    if not ({"imt", "investigation_time"} <= told.keys() and {"lon", "lat"} <= set(header) and poes):
        raise UserError(
            f"{path}: no lines of what it tells and of lon, lat, poe-...; allowed: OpenQuake's hazard curves"
        )
    sites, curves = [], []
    measure = told["imt"].strip("'")
    try:
        years, levels = float(told["investigation_time"]), np.array([float(header[at][4:]) for at in poes])
        for number, words in enumerate(lines[2:]):
            lon, lat = (float(words[header.index(name)]) for name in ("lon", "lat"))
            values = np.array([float(words[at]) for at in poes])
            sites.append(Site(str(number), lon, lat))
            curves.append(HazardCurve(str(number), measure, years, levels, values))
    except (ValueError, IndexError):
        raise UserError(
            f"{path}:{len(sites) + 3}: a value that is none, or too few; allowed: {len(header)} numbers"
        ) from None
    return sites, curves


def _not_resolved(shown: Sequence[HazardCurve | HazardMap]) -> list[str]:
    """What the first line says of measures that the waves do not resolve."""
    measures = dict.fromkeys(one.measure for one in shown if one.note)
    return [f"not_resolved='{' '.join(measures)}'"] if measures else []


def _table(path: Path, allowed: str) -> list[list[str]]:
    """The lines of a CSV file."""
    try:
        return list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UserError(f"{path}: cannot be read: {error}; allowed: {allowed}") from None


def _degrees(site: Site) -> tuple[str, str]:
    return f"{site.longitude_deg:.5f}", f"{site.latitude_deg:.5f}"


def _tail(calculation: int | None) -> str:
    return ".csv" if calculation is None else f"_{calculation}.csv"


def _openquake(path: Path, years: float, header: list[str], rows: list[list[str]], *more: str) -> Path:
    """As many fields in the first line as in the others, so that every reader of CSV takes it."""
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S")
    told = ["generated_by='craton'", f"start_date='{now}'", "kind='mean'", f"investigation_time={years!r}", *more]
    lead = "#" + "," * (len(header) - 1)
    return write_csv(path, [header, *rows], f'{lead}"{", ".join(told)}"\n')


def write_csv(path: str | os.PathLike[str], rows: Iterable[Sequence[object]], lead: str = "") -> Path:
    """Writes rows of values below some text, whole or not at all. UserError where the file cannot be written."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    with replaced(Path(path)) as aside:
        aside.write_text(lead + text.getvalue(), encoding="utf-8", newline="")
    return Path(path)


def _by_site(sites: Sequence[Site], curves: Sequence[HazardCurve], measure: str) -> list[HazardCurve]:
    """In the sites' order."""
    of = {one.site: one for one in curves if one.measure == measure}
    missing = [site.name for site in sites if site.name not in of]
    if missing:
        raise UserError(f"{measure}: no curve of site '{missing[0]}'; allowed: a curve of every site")
    found = [of[site.name] for site in sites]
    if any(one.years != found[0].years or not np.array_equal(one.levels, found[0].levels) for one in found):
        raise UserError(f"{measure}: curves of different levels or time spans; allowed: the same for every site")
    return found


def _check_maps(sites: Sequence[Site], maps: Sequence[HazardMap]) -> None:
    for one in maps:
        if len(one.values) != len(sites):
            raise UserError(f"a map of {len(one.values)} sites; allowed: the {len(sites)} that are named")
