"""report.html of a hazard run: from the map to curves, to what makes them, to a rupture and to its seismogram (Cui et al. 2013,
figure 1). One file, which needs nothing else."""

from __future__ import annotations

import html
import io
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from craton.hazard import pictures
from craton.hazard.beside_models import Beside
from craton.hazard.disaggregation import Disaggregation
from craton.hazard.results import Results
from craton.hazard.run_folder import HazardRecord
from craton.report_pages import picture, style, table
from craton.run_folder import replaced

__all__ = ["write_report"]

DPI = 110


def write_report(results: Results, record: HazardRecord, beside: Beside) -> Path:
    """The page, and its pictures as files."""
    folder = results.folder
    folder.pictures.mkdir(exist_ok=True)
    with pictures.styled():
        body = "\n".join(_page(results, record, beside))
    page = (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(record.title)}: hazard by Craton</title><style>{style()}{OWN_STYLE}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )
    with replaced(folder.report) as aside:
        aside.write_text(page, encoding="utf-8")
    return folder.report


OWN_STYLE = """
nav { position: sticky; top: 0; background: var(--page); padding: .5rem 0; border-bottom: 1px solid var(--line); z-index: 2; }
nav a, .walk a { margin-right: 1rem; color: var(--accent); }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(420px, 1fr)); gap: 0 1rem; } h3 { margin: 1.4rem 0 .3rem; }
section { scroll-margin-top: 3rem; } h3 { scroll-margin-top: 3rem; }
"""


def _page(results: Results, record: HazardRecord, beside: Beside) -> list[str]:
    first, probability = results.imts[0], results.plan.config.hazard.probabilities[0]
    missing = (
        f'<p class="notice">Not finished: {html.escape(", ".join(results.missing))}. '
        f"{html.escape(' '.join(record.failures[:1]))}</p>"
        if results.missing
        else ""
    )
    return [
        f"<h1>{html.escape(record.title)}</h1>",
        f'<p class="muted">Craton {html.escape(record.versions.get("version", ""))}, started {html.escape(record.started)}.</p>',
        _navigation(results),
        missing,
        _cards(results, record),
        "<h2 id=map>Map</h2>",
        "<p>From a site on the map to its curves, from a curve to the ruptures that make it, from the rupture that matters most to "
        "its slip, and from there to the ground's motion at the site.</p>",
        _picture(
            results,
            "map",
            pictures.map_figure(results, first, probability),
            f"{first} that is exceeded with a probability of {probability:g} in {results.plan.config.forecast.years:g} years; "
            "between sites by linear interpolation, nothing outside them. Lines: the upper edges of the faults; contours: vs at "
            "the surface.",
        ),
        _site_table(results, first),
        *_all_sites(results, first, probability),
        *(part for site in results.names for part in _site(results, site, probability, beside)),
        "<h2 id=time>Where the time went</h2>",
        _picture(
            results,
            "timeline",
            pictures.timeline_figure(record),
            f"Jobs on {record.cores} cores. "
            f"{'Phase after phase' if record.schedule == 'sequential' else 'Sites in a pipeline'}: "
            f"{record.seconds:.1f} s"
            + (
                f"; {record.resumed} tasks were done by an earlier run and are not in the picture."
                if record.resumed
                else "."
            ),
        ),
        _tasks(record),
        "<h2>How to get this again</h2>",
        f"<pre>{html.escape(_portable(record.command))}</pre>",
        "<details><summary>Versions</summary>"
        + table(["what", "version"], [[a, b.splitlines()[0] if b else ""] for a, b in record.versions.items()])
        + "</details>",
    ]


def _navigation(results: Results) -> str:
    sites = "".join(f'<a href="#site-{_id(name)}">{html.escape(name)}</a>' for name in results.names)
    return f'<nav><a href="#map">Map</a>{sites}<a href="#time">Time</a></nav>'


def _cards(results: Results, record: HazardRecord) -> str:
    entries = [
        (f"{len(results.names)}", f"of {len(results.plan.config.sites)} sites finished"),
        (f"{record.variations:,}", f"variations of {record.ruptures:,} ruptures at each"),
        (f"{record.points:,}", "points of strain Green's tensors"),
        (
            f"{np.prod(record.cells):,}",
            f"cells, {record.steps:,} steps, {len(results.plan.config.green.directions)} runs for each site",
        ),
        (f"{record.seconds:.0f} s", f"on {record.cores} cores, {record.schedule}; {record.computed:.0%} computing"),
    ]
    return (
        '<div class="cards">'
        + "".join(f'<div class="card"><b>{a}</b>{html.escape(b)}</div>' for a, b in entries)
        + "</div>"
    )


def _site_table(results: Results, first: str) -> str:
    probabilities = results.plan.config.hazard.probabilities
    columns = [f"{measure}, {p:g}" for measure in results.imts for p in probabilities]
    curves = {measure: results.curves(measure) for measure in results.imts}
    rows = []
    for at, name in enumerate(results.names):
        levels = [curves[measure][at].level_at(p) for measure in results.imts for p in probabilities]
        cells = "".join(f"<td>{_level(level)}</td>" for level in levels)
        rows.append(f'<tr><td><a href="#site-{_id(name)}">{html.escape(name)}</a></td>{cells}</tr>')
    head = "".join(f"<th>{html.escape(column)}</th>" for column in ["site", *columns])
    table = f'<div class="scroll"><table><tr>{head}</tr>{"".join(rows)}</table></div>'
    return table + '<p class="muted">Levels in g by measure and probability.</p>'


def _level(value: float) -> str:
    if not np.isfinite(value):
        return "above the last level"
    return f"{value:.4g}" if value > 0 else "below the first level"


def _all_sites(results: Results, first: str, probability: float) -> list[str]:
    if len(results.names) < 2:
        return []
    figure = pictures.curves_figure(results.curves(first), probability, by_site=True, title=f"{first} at all sites")
    return [
        _picture(
            results,
            "curves",
            figure,
            f"Hazard curves of {first} at all sites; dotted: the probability of the map.",
            narrow=True,
        )
    ]


def _site(results: Results, name: str, probability: float, beside: Beside) -> list[str]:
    key, first = _id(name), results.imts[0]
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
        _picture(
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
            _picture(
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
                _picture(
                    results,
                    f"rupture-{name}-{which}",
                    pictures.rupture_figure(chosen, which),
                    f"Slip, onset times (white), hypocentre (star); {chosen.source}.",
                )
                for which in chosen.variations
            ),
            f'</div><h3 id="seismogram-{key}">Its seismograms here</h3>',
            _picture(
                results,
                f"seismogram-{name}",
                pictures.seismogram_figure(
                    chosen,
                    f"site {name}: {chosen.source} {chosen.number}, M {chosen.magnitude:.2f}",
                    azimuth_deg=results.plan.grid.azimuth_deg,
                ),
                "Velocity by reciprocity; "
                + ", ".join(
                    f"{which}: {first} = {float(part['shaking_g']):.3g} g" for which, part in chosen.variations.items()
                )
                + ".",
            ),
        ]
    return [*parts, '<p class="walk"><a href="#map">↑ back to the map</a></p></section>']


def _models(results: Results, name: str, probability: float, beside: Beside) -> str:
    first = results.imts[0]
    own = results.curves(first)[results.names.index(name)]
    others = {
        model: one for model, found in beside.items() for one in found if (one.site, one.measure) == (name, first)
    }
    figure = pictures.curves_figure(
        [own], probability, title=f"{first} at {name}, beside ground-motion models", others=others
    )
    return _picture(
        results,
        f"models-{name}",
        figure,
        "Solid: simulated earthquakes. Dashed: ground-motion models for the same forecast, through OpenQuake's hazardlib.",
        narrow=True,
    )


def _rupture_table(results: Results, found: Disaggregation) -> str:
    order = np.argsort(-found.ruptures, kind="stable")[:8]
    ruptures = results.plan.forecast.ruptures
    rows = [
        [
            f"{ruptures[i].source} {ruptures[i].number}",
            f"{ruptures[i].magnitude:.2f}",
            f"{ruptures[i].annual_rate:.3g}",
            str(results.plan.counts[i]),
            f"{100 * found.ruptures[i]:.1f}%",
        ]
        for i in order
        if found.ruptures[i] > 0
    ]
    return table(["rupture", "magnitude", "per year", "variations", "share"], rows)


def _tasks(record: HazardRecord) -> str:
    rows = [
        [
            task["name"],
            ", ".join(map(str, task["cores"])),
            f"{task['begun_s']:.1f}",
            f"{task['ended_s'] - task['begun_s']:.1f}",
            f"{task['cpu_s']:.1f}",
        ]
        for task in sorted(record.tasks, key=lambda task: task["begun_s"])
    ]
    return (
        "<details><summary>Every job</summary>"
        + table(["job", "cores", "begun, s", "took, s", "of processors, s"], rows)
        + "</details>"
    )


def _picture(results: Results, name: str, figure: Figure, description: str, narrow: bool = False) -> str:
    buffer = io.BytesIO()
    figure.savefig(buffer, format="png", dpi=DPI)
    (results.folder.pictures / f"{name}.png").write_bytes(buffer.getvalue())
    return picture(buffer.getvalue(), description, narrow=narrow)


def _id(name: str) -> str:
    """Of an element: names of sites have nothing that would have to be escaped."""
    return html.escape(name)


def _portable(command: str) -> str:
    """Without the folders of this computer."""
    return " ".join(Path(word).name if word.startswith("/") else word for word in command.split())
