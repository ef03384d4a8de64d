"""What the sites of a run have come to: curves, maps, disaggregations, in files and for reports.

results = read_results("basin-run")
results.curves("SA(3.0)")                     # a HazardCurve for each finished site
results.map("SA(3.0)", 0.02)                  # a HazardMap
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import h5py
import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.hazard.config import load_config
from craton.hazard.curves.curves import HazardCurve
from craton.hazard.curves.disaggregation import Disaggregation, disaggregate
from craton.hazard.curves.export import Site
from craton.hazard.curves.maps import HazardMap, hazard_map
from craton.hazard.folder import HazardFolder
from craton.hazard.pipeline.post_processing import GRAVITY, imt, read_measures
from craton.hazard.pipeline.work import Work

__all__ = ["Chosen", "Results", "read_results"]

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
    positions_m: Array
    dt_s: float
    directions: str
    variations: dict[str, dict[str, Any]]
    """slip_m, onset_s, velocity_m_s (direction, time), number, hypocentre, shaking_g"""


@dataclass(frozen=True)
class Results:
    """Of the finished sites of a run."""

    work: Work
    folder: HazardFolder
    names: tuple[str, ...]
    """finished"""

    @property
    def missing(self) -> list[str]:
        """Names of the sites that are not finished."""
        return [site.name for site in self.work.config.sites if site.name not in self.names]

    @property
    def sites(self) -> list[Site]:
        """The finished ones."""
        return [site for site in self.work.sites if site.name in self.names]

    @property
    def sites_m(self) -> Array:
        """(n, 3): x, y, z of the finished sites."""
        known = zip(self.work.config.sites, self.work.position_m, strict=True)
        return np.array([at for site, at in known if site.name in self.names])

    @property
    def imts(self) -> tuple[str, ...]:
        """The one that is looked at first, first."""
        return tuple(imt(period) for period in self.work.config.periods_s)

    def checked(self, site: str | None = None, measure: str | None = None) -> tuple[str, str]:
        """Of those that there are; by default the first."""
        names, measures = {one: one for one in self.names}, {one: one for one in self.imts}
        for what, value, known in (("site", site, names), ("measure", measure, measures)):
            if value is not None and value not in known:
                raise UserError(f"{what} {value}; allowed: {', '.join(known)}")
        return site or self.names[0], measure or self.imts[0]

    def curves(self, measure: str) -> list[HazardCurve]:
        """Of each finished site."""
        found = []
        for name in self.names:
            with _opened(self.folder.finished(name)) as file:
                group = file[f"curves/{measure}"]
                found.append(
                    HazardCurve(
                        name, measure, float(file.attrs["years"]), group["levels"][()], group["probability"][()]
                    )
                )
        return found

    def all_curves(self) -> list[HazardCurve]:
        """Of each measure and each finished site."""
        return [curve for measure in self.imts for curve in self.curves(measure)]

    def map(self, measure: str, probability: float) -> HazardMap:
        """Of the finished sites."""
        return hazard_map(self.curves(measure), self.sites_m, probability)

    def maps(self) -> list[HazardMap]:
        """Of each measure and each probability of the configuration."""
        return [self.map(measure, p) for measure in self.imts for p in self.work.config.hazard.probabilities]

    def disaggregation(self, site: str, measure: str, level: float) -> Disaggregation:
        """At any level, from the measures of all variations."""
        found = read_measures(self.folder.finished(site), "measures")
        column = list(found.measures.periods_s).index(period_of(measure))
        shaking = getattr(found.measures, self.work.config.measures.shaking)[:, column] / GRAVITY
        count = len(self.work.forecast.ruptures)
        above = np.bincount(found.rupture, shaking > level, count) / np.bincount(found.rupture, minlength=count)
        with _opened(self.folder.finished(site)) as file:
            distance = file["ruptures/distance_m"][()]
        wanted = self.work.config.hazard
        return disaggregate(
            self.work.forecast,
            above,
            distance,
            level,
            magnitude_width=wanted.magnitude_width,
            distance_width_m=1e3 * wanted.distance_width_km,
        )

    def at_first_probability(self, site: str) -> Disaggregation | None:
        """Of the first measure, at the level that has the first probability; None where the curve has no such level."""
        with _opened(self.folder.finished(site)) as file:
            if "disaggregation" not in file:
                return None
            level = float(file["disaggregation"].attrs["level"])
        return self.disaggregation(site, self.imts[0], level)

    def chosen(self, site: str) -> Chosen | None:
        """The rupture that matters most at a site; None where no level has the first probability."""
        with _opened(self.folder.finished(site)) as file:
            if "rupture" not in file:
                return None
            group = file["rupture"]
            facts = dict(group.attrs)
            variations = {
                name: {key: part[key][()] for key in part} | dict(part.attrs)
                for name, part in group.items()
                if isinstance(part, h5py.Group)
            }
            return Chosen(
                str(facts["source"]),
                int(facts["number"]),
                float(facts["magnitude"]),
                int(facts["index"]),
                int(facts["rows"]),
                int(facts["columns"]),
                group["positions_m"][()],
                float(facts["dt_s"]),
                str(facts["directions"]),
                variations,
            )


def period_of(measure: str) -> float:
    """SA(3.0) -> 3.0."""
    return float(measure.removeprefix("SA(").removesuffix(")"))


def read_results(folder: HazardFolder | str | os.PathLike[str], work: Work | None = None) -> Results:
    """What the finished sites of a run have left in its folder. Not collective. UserError where no site is finished."""
    folder = folder if isinstance(folder, HazardFolder) else HazardFolder(folder)
    if not folder.config.is_file():
        raise UserError(f"{folder.config}: no such file; allowed: the folder of a run of `craton hazard run`")
    work = work or Work.of(load_config(folder.config))
    names = tuple(site.name for site in work.config.sites if folder.finished(site.name).is_file())
    if not names:
        raise UserError(
            f"{folder.path}: no site is finished; allowed: a run that has come so far, `craton hazard resume {folder.path}` goes on"
        )
    return Results(work, folder, names)


@contextmanager
def _opened(path: Path) -> Iterator[h5py.File]:
    try:
        file = h5py.File(path, "r")
    except FileNotFoundError:
        raise UserError(f"{path}: no such file; allowed: what craton hazard run has written to its end") from None
    except OSError as problem:
        raise UserError(f"{path}: not a complete HDF5 file: {' '.join(str(problem).split())}") from None
    with file:
        yield file
