"""`craton hazard curve`, `map` and `disagg`: what a run has come to, as tables for a console, CSV or pictures."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.figure import Figure
from rich.table import Table

from craton.errors import UserError
from craton.hazard.curves.export import write_curves_csv, write_maps_csv
from craton.hazard.report import pictures
from craton.hazard.results import Results
from craton.pages.figures import save_picture
from craton.pages.style import styled
from craton.runs.files import replaced

__all__ = ["Answer", "curve", "disaggregation", "hazard_map"]

PERCENT = 100.0


@dataclass(frozen=True)
class Answer:
    """What a query found: a title and a table."""

    title: str
    columns: tuple[tuple[str, str, str], ...]
    """of each the heading for people, the key in JSON, the format of a value"""
    rows: list[tuple[Any, ...]]

    def table(self) -> Table:
        """For a console."""
        table = Table(title=self.title, title_justify="left")
        for heading, _, form in self.columns:
            table.add_column(heading, justify="right" if form else "left")
        for row in self.rows:
            table.add_row(*(format(value, form) for value, (_, _, form) in zip(row, self.columns, strict=True)))
        return table

    def to_dict(self) -> dict[str, Any]:
        """For JSON: title, and rows as objects; null for a value that is not known."""
        keys = [key for _, key, _ in self.columns]
        rows = [
            [None if isinstance(value, float) and math.isnan(value) else value for value in row] for row in self.rows
        ]
        return {"title": self.title, "rows": [dict(zip(keys, row, strict=True)) for row in rows]}


def curve(results: Results, site: str | None, measure: str | None, output: Path | None) -> Answer:
    """Of one site (the first), or as a file of one site or of all (site None)."""
    name, chosen = results.checked(site, measure)
    curves = [one for one in results.curves(chosen) if site is None or one.site == site]
    if output is not None:
        if output.suffix.lower() == ".csv":
            write_curves_csv(output, results.sites, curves)
        else:
            probability = results.work.config.hazard.probabilities[0]
            _save(lambda: pictures.curves_figure(curves, probability, by_site=True, title=chosen), output)
    shown = next(one for one in curves if one.site == name)
    rows = zip(shown.levels.tolist(), shown.probability.tolist(), shown.annual_rates().tolist(), strict=True)
    columns = (
        ("level, g", "level_g", ".5g"),
        ("probability", "probability", ".6g"),
        ("per year", "annual_rate", ".6g"),
    )
    return Answer(f"{chosen} at {name}, {shown.years:g} years", columns, list(rows))


def hazard_map(results: Results, measure: str | None, probability: float | None, output: Path | None) -> Answer:
    """The level at each site that has this probability."""
    _, chosen = results.checked(None, measure)
    wanted = results.work.config.hazard.probabilities[0] if probability is None else _probability(probability)
    found = results.map(chosen, wanted)
    if output is not None:
        if output.suffix.lower() == ".csv":
            write_maps_csv(output, results.sites, [found])
        else:
            _save(lambda: pictures.map_figure(results, chosen, wanted), output)
    rows = [
        (site.name, site.longitude_deg, site.latitude_deg, float(value))
        for site, value in zip(results.sites, found.values, strict=True)
    ]
    columns = (
        ("site", "site", ""),
        ("longitude", "longitude_deg", ".5f"),
        ("latitude", "latitude_deg", ".5f"),
        ("level, g", "level_g", ".5g"),
    )
    return Answer(f"{chosen} exceeded with {wanted:g} in {found.years:g} years", columns, rows)


def disaggregation(
    results: Results,
    site: str | None,
    measure: str | None,
    probability: float | None,
    level: float | None,
    output: Path | None,
) -> Answer:
    """Shares of bins, the largest first, at a level or at the level of a probability."""
    name, chosen = results.checked(site, measure)
    if probability is not None and level is not None:
        raise UserError("--probability with --level; allowed: one of them")
    if level is None:
        wanted = results.work.config.hazard.probabilities[0] if probability is None else _probability(probability)
        level = results.curves(chosen)[results.names.index(name)].level_at(wanted)
        if not (np.isfinite(level) and level > 0):
            raise UserError(
                f"no level of {chosen} at {name} has a probability of {wanted:g}; allowed: --level, or another probability"
            )
    elif not (np.isfinite(level) and level > 0):
        raise UserError(f"--level {level:g}; allowed: above 0 g")
    found = results.disaggregation(name, chosen, level)
    m = 0.5 * (found.magnitude_edges[1:] + found.magnitude_edges[:-1])
    d = 0.5e-3 * (found.distance_edges_m[1:] + found.distance_edges_m[:-1])
    order = sorted(np.argwhere(found.shares > 0).tolist(), key=lambda at: -found.shares[tuple(at)])
    rows = [(found.sources[k], float(m[i]), float(d[j]), PERCENT * float(found.shares[i, j, k])) for i, j, k in order]
    if output is not None:
        if output.suffix.lower() == ".csv":
            _write_csv(output, ["source", "magnitude", "distance_km", "share_percent"], rows)
        else:
            _save(lambda: pictures.disaggregation_figure(found, f"{chosen} above {level:.3g} g at {name}"), output)
    title = f"{chosen} above {level:.4g} g at {name}: {found.annual_rate:.4g} per year, mean M {found.mean_magnitude:.2f} at "
    columns = (
        ("source", "source", ""),
        ("magnitude", "magnitude", ".2f"),
        ("distance, km", "distance_km", ".4g"),
        ("share, %", "share_percent", ".2f"),
    )
    return Answer(f"{title}{1e-3 * found.mean_distance_m:.1f} km", columns, rows)


def _probability(value: float) -> float:
    if not 0 < value < 1:
        raise UserError(f"--probability {value:g}; allowed: above 0, below 1")
    return value


def _save(draw: Callable[[], Figure], output: Path) -> None:
    with styled():
        save_picture(draw(), output)


def _write_csv(path: Path, header: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    with replaced(path) as aside, aside.open("w", encoding="utf-8", newline="") as stream:
        csv.writer(stream, lineterminator="\n").writerows([header, *rows])
