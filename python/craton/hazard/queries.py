"""`craton hazard curve`, `map` and `disagg`: what a run has come to, as tables for a console, CSV or pictures."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from matplotlib.figure import Figure
from rich.table import Table

from craton.errors import UserError
from craton.hazard.curves.disaggregation import Disaggregation
from craton.hazard.curves.export import write_csv, write_curves_csv, write_maps_csv
from craton.hazard.report import pictures
from craton.hazard.results import Results
from craton.pages.figures import save_picture
from craton.pages.style import styled

__all__ = ["Answer", "curve", "disaggregation", "hazard_map"]

PERCENT = 100.0


@dataclass(frozen=True)
class Answer:
    """What a query found: a title and a table."""

    title: str
    columns: tuple[tuple[str, str, str], ...]
    """of each the heading for people, the key in JSON, the format of a value"""
    rows: list[tuple[Any, ...]]
    note: str = ""
    """why the waves do not resolve it"""
    filled: tuple[int, str] | None = None
    """of a disaggregation: how many of its finest bins have a share, and by what those are divided"""

    def table(self) -> Table:
        """The table, for a console."""
        below = [f"{self.filled[0]} filled bins of {self.filled[1]}"] if self.filled else []
        below += [f"not resolved: {self.note}"] if self.note else []
        table = Table(title=self.title, title_justify="left", caption="\n".join(below) or None, caption_justify="left")
        for heading, _, form in self.columns:
            table.add_column(heading, justify="right" if form else "left")
        for row in self.rows:
            table.add_row(*(format(value, form) for value, (_, _, form) in zip(row, self.columns, strict=True)))
        return table

    def to_dict(self) -> dict[str, Any]:
        """Title and rows, for JSON; rows as objects, null for a value that is not known or infinite."""
        keys = [key for _, key, _ in self.columns]
        rows = [
            [None if isinstance(value, float) and not math.isfinite(value) else value for value in row]
            for row in self.rows
        ]
        found: dict[str, Any] = {"title": self.title, "rows": [dict(zip(keys, row, strict=True)) for row in rows]}
        found |= {"filled_bins": self.filled[0]} if self.filled else {}
        return found | ({"note": f"not resolved: {self.note}"} if self.note else {})


def curve(results: Results, site: str | None, measure: str | None, output: Path | None) -> Answer:
    """The curve of one site (the first); `output` has that of one site, or of all (site None)."""
    name, chosen = results.checked(site, measure)
    curves = [one for one in results.curves(chosen) if site in (None, one.site)]
    probability = results.work.config.hazard.probabilities[0]
    _save(
        output,
        lambda path: write_curves_csv(path, results.sites, curves),
        lambda: pictures.curves_figure(curves, probability, by_site=True, title=chosen),
    )
    shown = next(one for one in curves if one.site == name)
    rows = zip(shown.levels.tolist(), shown.probability.tolist(), shown.annual_rates().tolist(), strict=True)
    columns = (
        ("level, g", "level_g", ".5g"),
        ("probability", "probability", ".6g"),
        ("per year", "annual_rate", ".6g"),
    )
    return Answer(f"{chosen} at {name}, {shown.years:g} years", columns, list(rows), shown.note)


def hazard_map(results: Results, measure: str | None, probability: float | None, output: Path | None) -> Answer:
    """The level at each site that has this probability."""
    _, chosen = results.checked(None, measure)
    wanted = _probability(results, probability)
    found = results.map(chosen, wanted)
    _save(
        output,
        lambda path: write_maps_csv(path, results.sites, [found]),
        lambda: pictures.map_figure(results, chosen, wanted),
    )
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
    return Answer(f"{chosen} exceeded with {wanted:g} in {found.years:g} years", columns, rows, found.note)


def disaggregation(
    results: Results,
    site: str | None,
    measure: str | None,
    probability: float | None,
    level: float | None,
    output: Path | None,
    *,
    epsilon: bool = False,
) -> Answer:
    """Shares of bins, the largest first, at a level or at the level of a probability.

    Bins are of source, magnitude and distance, or (epsilon) of magnitude, distance and epsilon. The answer also says how many of
    the latter are filled.
    """
    name, chosen = results.checked(site, measure)
    if probability is not None and level is not None:
        raise UserError("--probability with --level; allowed: one of them")
    if level is not None and not 0 < level < math.inf:
        raise UserError(f"--level {level:g}; allowed: above 0 g")
    if level is None:
        wanted = _probability(results, probability)
        level = results.curve(name, chosen).level_at(wanted)
        if not 0 < level < math.inf:
            raise UserError(
                f"no level of {chosen} at {name} has a probability of {wanted:g}; allowed: --level, or another probability"
            )
    found = results.disaggregation(name, chosen, level)
    rows, columns = _epsilon_rows(found) if epsilon else _source_rows(found)
    noted = [found.note] if found.note else []
    header = (*(key for _, key, _ in columns), *["note"] * bool(noted))
    _save(
        output,
        lambda path: write_csv(path, [header, *((*row, *noted) for row in rows)]),
        lambda: pictures.disaggregation_figure(found, f"{chosen} above {level:.3g} g at {name}"),
    )
    means = (
        f"mean M {found.mean_magnitude:.2f} at {1e-3 * found.mean_distance_m:.1f} km, epsilon {found.mean_epsilon:.2f}"
    )
    title = f"{chosen} above {level:.4g} g at {name}: {found.annual_rate:.4g} per year, {means}"
    finest = "magnitude, distance and epsilon" if found.epsilon_shares is not None else "magnitude and distance"
    return Answer(title, columns, rows, found.note, (found.filled_bins, finest))


Columns = tuple[tuple[str, str, str], ...]
PLACE = (("magnitude", "magnitude", ".2f"), ("distance, km", "distance_km", ".4g"))
SHARE = ("share, %", "share_percent", ".2f")


def _source_rows(found: Disaggregation) -> tuple[list[tuple[Any, ...]], Columns]:
    shares = sorted(found.bins(), key=lambda one: -one[3])
    rows = [(source, magnitude, distance_km, PERCENT * share) for magnitude, distance_km, source, share in shares]
    return rows, (("source", "source", ""), *PLACE, SHARE)


def _epsilon_rows(found: Disaggregation) -> tuple[list[tuple[Any, ...]], Columns]:
    shares = sorted(found.epsilon_bins(), key=lambda one: -one[4])
    rows = [(*place, PERCENT * share) for *place, share in shares]
    ends = (("epsilon from", "epsilon_from", ".2g"), ("to", "epsilon_to", ".2g"))
    return [tuple(row) for row in rows], (*PLACE, *ends, SHARE)


def _probability(results: Results, given: float | None) -> float:
    """The one that is given, else the first of the run."""
    if given is not None and not 0 < given < 1:
        raise UserError(f"--probability {given:g}; allowed: above 0, below 1")
    return results.work.config.hazard.probabilities[0] if given is None else given


def _save(output: Path | None, write: Callable[[Path], object], draw: Callable[[], Figure]) -> None:
    """Writes CSV or a picture, by the ending of the file's name."""
    if output is not None and output.suffix.lower() == ".csv":
        write(output)
    elif output is not None:
        with styled():
            save_picture(draw(), output)
