"""What the sites of a run have come to: curves, maps, disaggregations, in files and for reports.

results = read_results("basin-run")
results.curves("SA(3.0)")                     # a HazardCurve for each finished site
results.map("SA(3.0)", 0.02)                  # a HazardMap
write_files(results)                          # HDF5, CSV, and CSV as OpenQuake's
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from craton.described import Described
from craton.errors import UserError
from craton.hazard.config import load_config
from craton.hazard.curves.curves import HazardCurve
from craton.hazard.curves.disaggregation import Disaggregation
from craton.hazard.curves.export import (
    Site,
    write_csv,
    write_curves_csv,
    write_hdf5,
    write_maps_csv,
    write_openquake_curves,
    write_openquake_map,
)
from craton.hazard.curves.maps import HazardMap, hazard_map
from craton.hazard.folder import HazardFolder
from craton.hazard.pipeline.post_processing import WRITTEN, disaggregated, imt, read_measures, shaking_of
from craton.hazard.pipeline.work import Work
from craton.runs.hdf5_files import opened_hdf5

__all__ = ["Chosen", "Results", "read_results", "write_files"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Chosen:
    """The rupture that matters most at a site, and variations of it (median, largest): slip and motion."""

    source: str
    number: int
    magnitude: float
    index: int
    rows: int
    columns: int
    dt_s: float
    directions: str
    positions_m: Array
    """(n, 3)"""
    variations: dict[str, dict[str, Any]]
    """slip_m, onset_s, velocity_m_s (direction, time), number, hypocentre, shaking_g"""


@dataclass(frozen=True, repr=False)
class Results(Described):
    """What the finished sites of a run have come to."""

    work: Work
    folder: HazardFolder
    names: tuple[str, ...]
    """finished"""

    def _facts(self) -> dict[str, object]:
        sites = f"{', '.join(self.described) or len(self.names)}" + (
            f"; missing: {', '.join(self.missing)}" if self.missing else ""
        )
        return {
            "sites": f"{len(self.names)} finished: {sites}",
            "measures": ", ".join(self.imts),
            "folder": self.folder.path,
        }

    @property
    def missing(self) -> list[str]:
        """Names of the sites that are not finished."""
        return [site.name for site in self.work.config.all_sites if site.name not in self.names]

    @property
    def described(self) -> tuple[str, ...]:
        """The finished ones of [[site]]: each has a section of the report."""
        own = {site.name for site in self.work.config.sites}
        return tuple(name for name in self.names if name in own)

    @property
    def sites(self) -> list[Site]:
        """The finished ones."""
        return [site for site in self.work.sites if site.name in self.names]

    @property
    def sites_m(self) -> Array:
        """(n, 3): x, y, z of the finished sites."""
        known = zip(self.work.config.all_sites, self.work.position_m, strict=True)
        return np.array([at for site, at in known if site.name in self.names])

    @property
    def imts(self) -> tuple[str, ...]:
        """Measures of shaking; the one that is looked at first is the first."""
        return tuple(imt(period) for period in self.work.config.periods_s)

    @property
    def unresolved(self) -> dict[str, str]:
        """Measures that the waves do not resolve, and why."""
        return {imt(period): why for period in self.work.config.periods_s if (why := self.work.note(period))}

    def checked(self, site: str | None = None, measure: str | None = None) -> tuple[str, str]:
        """A site and a measure of those that there are; by default the first. UserError for others."""
        for what, value, known in (("site", site, self.names), ("measure", measure, self.imts)):
            if value is not None and value not in known:
                raise UserError(f"{what} {value}; allowed: {', '.join(known)}")
        return site or self.names[0], measure or self.imts[0]

    def curves(self, measure: str) -> list[HazardCurve]:
        """The curve of each finished site."""
        return [self.curve(name, measure) for name in self.names]

    def curve(self, site: str, measure: str) -> HazardCurve:
        """The curve of one finished site."""
        if site not in self._curves:
            self._curves[site] = self._read_curves(site)
        return self._curves[site][measure]

    @cached_property
    def _curves(self) -> dict[str, dict[str, HazardCurve]]:
        """By site and measure, as far as they have been asked for: a file is opened once for all its curves."""
        return {}

    def _read_curves(self, site: str) -> dict[str, HazardCurve]:
        with self._file(site) as file:
            years = float(file.attrs["years"])
            return {
                measure: HazardCurve(
                    site,
                    measure,
                    years,
                    group["levels"][()],
                    group["probability"][()],
                    self.work.note(float(group.attrs["period_s"])),
                )
                for measure, group in ((measure, file[f"curves/{measure}"]) for measure in self.imts)
            }

    def all_curves(self) -> list[HazardCurve]:
        """The curve of each measure and each finished site."""
        return [curve for measure in self.imts for curve in self.curves(measure)]

    def map(self, measure: str, probability: float) -> HazardMap:
        """The map of the finished sites."""
        return hazard_map(self.curves(measure), self.sites_m, probability)

    def maps(self) -> list[HazardMap]:
        """The map of each measure and each probability of the configuration."""
        return [self.map(measure, p) for measure in self.imts for p in self.work.config.hazard.probabilities]

    def disaggregation(self, site: str, measure: str, level: float) -> Disaggregation:
        """Shares at any level, g, from the measures of all variations. UserError where none exceeds it."""
        found = read_measures(self.folder.finished(site), "measures")
        periods_s = found.measures.periods_s.tolist()
        column = [imt(period) for period in periods_s].index(measure)
        with self._file(site) as file:
            distance = file["ruptures/distance_m"][()]
        shares = disaggregated(self.work, found.rupture, shaking_of(self.work, found)[:, column], distance, level)
        return replace(shares, note=self.work.note(periods_s[column]))

    def at_first_probability(self, site: str) -> Disaggregation | None:
        """Shares of the first measure, at the level that has the first probability; None where the curve has no such level."""
        with self._file(site) as file:
            if "disaggregation" not in file:
                return None
            group = file["disaggregation"]
            level = float(group.attrs["level"])
            if "epsilon_shares" in group:
                arrays = ("magnitude_edges", "distance_edges_m", "shares", "epsilon_shares", "ruptures")
                numbers = ("level", "annual_rate", "mean_magnitude", "mean_distance_m", "mean_epsilon")
                known: dict[str, Any] = {name: group[name][()] for name in arrays}
                known |= {name: float(group.attrs[name]) for name in numbers}
                known["sources"] = tuple(group["sources"].asstr()[()].tolist())
                return Disaggregation(**known, note=self.work.note(self.work.config.periods_s[0]))
        return self.disaggregation(site, self.imts[0], level)  # of an older run

    def chosen(self, site: str) -> Chosen | None:
        """The rupture that matters most at a site; None where no level has the first probability."""
        with self._file(site) as file:
            if "rupture" not in file:
                return None
            group = file["rupture"]
            variations = {
                name: {key: part[key][()] for key in part} | dict(part.attrs)
                for name, part in group.items()
                if isinstance(part, h5py.Group)
            }
            facts = {
                name: value.item() if isinstance(value, np.generic) else value for name, value in group.attrs.items()
            }
            return Chosen(**facts, positions_m=group["positions_m"][()], variations=variations)

    def _file(self, site: str) -> AbstractContextManager[h5py.File]:
        return opened_hdf5(self.folder.finished(site), WRITTEN)


def read_results(folder: HazardFolder | str | os.PathLike[str], work: Work | None = None) -> Results:
    """The results that the finished sites of a run have left in its folder. Not collective. UserError where none is finished."""
    folder = folder if isinstance(folder, HazardFolder) else HazardFolder(folder)
    folder.require()
    if not folder.config.is_file():
        raise UserError(f"{folder.config}: no such file; allowed: the folder of a run of `craton hazard run`")
    work = work or Work.of(load_config(folder.config))
    names = tuple(site.name for site in work.config.all_sites if folder.finished(site.name).is_file())
    if not names:
        raise UserError(
            f"{folder.path}: no site is finished; allowed: a run that has come so far, `craton hazard resume {folder.path}` goes on"
        )
    return Results(work, folder, names)


def write_files(results: Results) -> list[Path]:
    """Writes hazard.h5, curves.csv, maps.csv, disaggregation.csv and more of all finished sites; returns these four."""
    folder, sites = results.folder, results.sites
    curves, maps = results.all_curves(), results.maps()
    folder.openquake.mkdir(exist_ok=True)
    write_openquake_curves(folder.openquake, sites, curves)
    write_openquake_map(folder.openquake, sites, maps)
    shares = [(site, found) for site in results.names if (found := results.at_first_probability(site)) is not None]
    write_csv(folder.epsilon, _epsilon_shares(results, shares))
    return [
        write_hdf5(folder.hdf5, sites, curves, maps),
        write_curves_csv(folder.curves, sites, curves),
        write_maps_csv(folder.maps, sites, maps),
        write_csv(folder.disaggregation, _shares(results, shares)),
    ]


def _epsilon_shares(results: Results, shares: Sequence[tuple[str, Disaggregation]]) -> list[list[str]]:
    """A row for each bin of magnitude, distance and epsilon that has a share."""
    rows = [["site", "measure", "level_g", "magnitude", "distance_km", "epsilon_from", "epsilon_to", "share"]]
    for site, found in shares:
        for magnitude, distance_km, low, high, share in found.epsilon_bins():
            bounds = [f"{magnitude:.6g}", f"{distance_km:.6g}", f"{low:g}", f"{high:g}"]
            rows.append([site, results.imts[0], f"{found.level:.9g}", *bounds, f"{share:.9g}"])
    return rows


def _shares(results: Results, shares: Sequence[tuple[str, Disaggregation]]) -> list[list[str]]:
    """A row for each bin that has a share, at the first probability."""
    note = results.work.note(results.work.config.periods_s[0])
    rows = [
        [
            "site",
            "measure",
            "level_g",
            "annual_rate",
            "source",
            "magnitude",
            "distance_km",
            "share",
            *["note"] * bool(note),
        ]
    ]
    for site, found in shares:
        noted = [found.note] if found.note else []
        first = [site, results.imts[0], f"{found.level:.9g}", f"{found.annual_rate:.9g}"]
        for magnitude, distance_km, source, share in found.bins():
            rows.append([*first, source, f"{magnitude:.6g}", f"{distance_km:.6g}", f"{share:.9g}", *noted])
    return rows
