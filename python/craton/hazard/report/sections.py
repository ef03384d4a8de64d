"""Parts of report.html that are drawn as soon as they can be, each a job beside others of the run: what all sites have in common,
and a section for each site. HTML that needs nothing else, with its pictures; these are files too."""

from __future__ import annotations

import html
import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from craton.hazard.curves.disaggregation import Disaggregation
from craton.hazard.pipeline.beside_models import Beside
from craton.hazard.report import pictures
from craton.hazard.results import Results
from craton.pages.page import picture, table
from craton.pages.style import styled
from craton.runs.files import replaced

__all__ = ["draw", "element_id", "overview", "site_section", "written_picture"]

DPI = 110


def overview(results: Results) -> str:
    """The map, a table of levels, curves of all sites. Writes its pictures. UserError for results that are not there, or not
    whole."""
    first, probability = results.imts[0], results.work.config.hazard.probabilities[0]
    drawn = written_picture(
        results,
        "map",
        pictures.map_figure(results, first, probability),
        f"{first} that is exceeded with a probability of {probability:g} in {results.work.config.forecast.years:g} years; "
        "between sites by linear interpolation, nothing outside them. Lines: the upper edges of the faults; contours: vs at "
        "the surface.",
    )
    return "\n".join([drawn, _site_table(results), *_all_sites(results, first, probability)])


def site_section(results: Results, name: str, beside: Beside) -> str:
    """From the curves of a site of the results to what makes them, to the rupture that matters most and its seismograms. Writes its
    pictures. UserError for results that are not there, or not whole."""
    key, first, probability = element_id(name), results.imts[0], results.work.config.hazard.probabilities[0]
    at = results.names.index(name)
    curves = [results.curves(measure)[at] for measure in results.imts]
    found, chosen = results.at_first_probability(name), results.chosen(name)
    steps = [("curve", "curves"), *([("disaggregation", "what makes them")] if found else [])]
    steps += [("rupture", "rupture"), ("seismogram", "seismogram")] if chosen else []
    parts = [
        f'<section id="site-{key}"><h2>Site {html.escape(name)}</h2>',
        '<p class="walk"><a href="#map">map</a>'
        + "".join(f'<a href="#{step}-{key}">→ {said}</a>' for step, said in steps)
        + "</p>",
        f'<div class="pair"><div><h3 id="curve-{key}">Curves</h3>',
        written_picture(
            results,
            f"curves-{name}",
            pictures.curves_figure(curves, probability, title=f"site {name}"),
            "Probability of exceedance at least once.",
        ),
        "</div>",
    ]
    if found is not None:
        parts += [
            f'<div><h3 id="disaggregation-{key}">What makes them</h3>',
            written_picture(
                results,
                f"disaggregation-{name}",
                pictures.disaggregation_figure(found, f"{first} above {found.level:.3g} g"),
                f"Shares of the rate of exceeding {found.level:.3g} g ({probability:g}), {found.annual_rate:.3g} per year. "
                f"Mean magnitude {found.mean_magnitude:.2f}, mean distance {1e-3 * found.mean_distance_m:.1f} km.",
            ),
            "</div>",
        ]
    parts.append("</div>")
    if beside:
        parts.append(_models(results, name, probability, beside))
    if found is not None:
        parts.append(_rupture_table(results, found))
    if chosen is not None:
        parts += [
            f'<h3 id="rupture-{key}">The rupture that matters most</h3><div class="pair">',
            *(
                written_picture(
                    results,
                    f"rupture-{name}-{which}",
                    pictures.rupture_figure(chosen, which),
                    f"Slip, onset times (white), hypocentre (star); {chosen.source}.",
                )
                for which in chosen.variations
            ),
            f'</div><h3 id="seismogram-{key}">Its seismograms here</h3>',
            written_picture(
                results,
                f"seismogram-{name}",
                pictures.seismogram_figure(
                    chosen,
                    f"site {name}: {chosen.source} {chosen.number}, M {chosen.magnitude:.2f}",
                    azimuth_deg=results.work.grid.azimuth_deg,
                ),
                "Velocity by reciprocity; "
                + ", ".join(
                    f"{which}: {first} = {float(part['shaking_g']):.3g} g" for which, part in chosen.variations.items()
                )
                + ".",
            ),
        ]
    return "\n".join([*parts, '<p class="walk"><a href="#map">↑ back to the map</a></p></section>'])


def _models(results: Results, name: str, probability: float, beside: Beside) -> str:
    first = results.imts[0]
    own = results.curves(first)[results.names.index(name)]
    others = {
        model: one for model, found in beside.items() for one in found if (one.site, one.measure) == (name, first)
    }
    figure = pictures.curves_figure(
        [own], probability, title=f"{first} at {name}, beside ground-motion models", others=others
    )
    return written_picture(
        results,
        f"models-{name}",
        figure,
        "Solid: simulated earthquakes. Dashed: ground-motion models for the same forecast, through OpenQuake's hazardlib.",
        narrow=True,
    )


def _rupture_table(results: Results, found: Disaggregation) -> str:
    order = np.argsort(-found.ruptures, kind="stable")[:8]
    ruptures = results.work.forecast.ruptures
    rows = [
        [
            f"{ruptures[i].source} {ruptures[i].number}",
            f"{ruptures[i].magnitude:.2f}",
            f"{ruptures[i].annual_rate:.3g}",
            str(results.work.counts[i]),
            f"{100 * found.ruptures[i]:.1f}%",
        ]
        for i in order
        if found.ruptures[i] > 0
    ]
    return table(["rupture", "magnitude", "per year", "variations", "share"], rows)


def _site_table(results: Results) -> str:
    probabilities = results.work.config.hazard.probabilities
    columns = [f"{measure}, {p:g}" for measure in results.imts for p in probabilities]
    curves = {measure: results.curves(measure) for measure in results.imts}
    rows = []
    for at, name in enumerate(results.names):
        levels = [curves[measure][at].level_at(p) for measure in results.imts for p in probabilities]
        cells = "".join(f"<td>{_level(level)}</td>" for level in levels)
        rows.append(f'<tr><td><a href="#site-{element_id(name)}">{html.escape(name)}</a></td>{cells}</tr>')
    head = "".join(f"<th>{html.escape(column)}</th>" for column in ["site", *columns])
    whole = f'<div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>'
    return whole + '<p class="muted">Levels in g by measure and probability.</p>'


def _level(value: float) -> str:
    if not np.isfinite(value):
        return "above the last level"
    return f"{value:.4g}" if value > 0 else "below the first level"


def _all_sites(results: Results, first: str, probability: float) -> list[str]:
    if len(results.names) < 2:
        return []
    figure = pictures.curves_figure(results.curves(first), probability, by_site=True, title=f"{first} at all sites")
    return [
        written_picture(
            results,
            "curves",
            figure,
            f"Hazard curves of {first} at all sites; dotted: the probability of the map.",
            narrow=True,
        )
    ]


def draw(path: Path, part: Callable[[], str]) -> Path:
    """Writes a part of the report, whole under its name or not at all. Throws what making it does."""
    with styled():
        text = part()
    with replaced(path) as aside:
        aside.write_text(text, encoding="utf-8")
    return path


def written_picture(results: Results, name: str, figure: Figure, description: str, narrow: bool = False) -> str:
    """For the page, and pictures/<name>.png, whole or not at all."""
    results.folder.pictures.mkdir(exist_ok=True)
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    with replaced(results.folder.pictures / f"{name}.png") as aside:
        aside.write_bytes(buffer.getvalue())
    return picture(buffer.getvalue(), description, narrow=narrow)


def element_id(name: str) -> str:
    """Of an element: names of sites have nothing that would have to be escaped."""
    return html.escape(name)
