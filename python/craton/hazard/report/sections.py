"""Parts of report.html, each drawn by a job as soon as it can be: what all sites have in common, and a section for each site.

They are HTML that needs nothing else, with its pictures; these are files too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure

from craton.hazard.curves.curves import HazardCurve
from craton.hazard.curves.disaggregation import Disaggregation
from craton.hazard.pipeline.beside_models import Beside
from craton.hazard.report import pictures
from craton.hazard.results import Chosen, Results
from craton.pages.figures import png, smallest
from craton.pages.page import Block, Columns, Details, Link, Links, Picture, Section, Table, Text, anchor, render_part
from craton.runs.files import replaced, write_text
from craton.runs.words import counted, range_text

__all__ = ["draw", "overview", "site_section", "written_picture"]


def overview(results: Results) -> list[Block]:
    """The map, a table of levels, curves of all sites. Writes its pictures.

    UserError for results that are not there, or not whole.
    """
    first, probability = results.imts[0], results.work.config.hazard.probabilities[0]
    drawn = written_picture(
        results,
        "map",
        pictures.map_figure(results, first, probability),
        f"{_noted(results, first)} that is exceeded with a probability of {probability:g} in "
        f"{results.work.config.forecast.years:g} years; between sites by linear interpolation, nothing outside them. "
        "Lines: the upper edges of the faults, dashed where they reach seen from above; contours: vs at the surface.",
        f"A map in km with {counted(len(results.names), 'site')} as dots, pale yellow (low) to dark red (high): {first} "
        f"{range_text([results.curve(name, first).level_at(probability) for name in results.names], 'g')}.",
        narrow=True,
    )
    units = Text("Levels in g by measure and probability.", muted=True)
    others = [name for name in results.names if name not in results.described]
    pictures_of_all: list[list[Block]] = [
        [drawn],
        *([_all_sites(results, first, probability)] if len(results.names) > 1 else []),
    ]
    tables: list[Block] = [_site_table(results, results.described)] if results.described else []
    if others:
        tables.append(Details(f"Levels at the {len(others)} sites of the map's grid", [_site_table(results, others)]))
    return [Columns(pictures_of_all), *tables, units]


def site_section(results: Results, name: str, beside: Beside) -> list[Block]:
    """A site: its curves, what makes them, the rupture that matters most and its seismograms. Writes its pictures.

    UserError for results that are not there, or not whole.
    """
    key, first, probability = anchor(name), results.imts[0], results.work.config.hazard.probabilities[0]
    curves = [results.curve(name, measure) for measure in results.imts]
    found, chosen = results.at_first_probability(name), results.chosen(name)
    drawn = written_picture(
        results,
        f"curves-{name}",
        pictures.curves_figure(curves, probability, title=f"site {name}"),
        "Probability of exceedance at least once.",
        f"{counted(len(curves), 'curve')} on logarithmic axes that fall from left to right; at a probability of {probability:g}: "
        f"{'; '.join(_level_words(curve, probability) for curve in curves)}.",
    )
    pairs: list[list[Block]] = [[Section("Curves", [drawn], f"curve-{key}", level=3)]]
    steps = [Link("map", "#map"), Link("→ curves", f"#curve-{key}")]
    if beside:
        steps.append(Link("→ beside ground-motion models", f"#models-{key}"))
        models = _models(results, name, probability, beside)
        pairs.append([Section("Beside ground-motion models", [models], f"models-{key}", level=3)])
    if found is not None:
        steps.append(Link("→ what makes them", f"#disaggregation-{key}"))
        shares = _disaggregation(results, name, first, probability, found)
        pairs.append([Section("What makes them", [shares], f"disaggregation-{key}", level=3)])
        ruptures = [_rupture_table(results, found)]
        pairs.append([Section("Ruptures with the largest shares", ruptures, f"ruptures-{key}", level=3)])
    if chosen is not None:
        steps += [Link("→ rupture", f"#rupture-{key}"), Link("→ seismogram", f"#seismogram-{key}")]
    blocks: list[Block] = [Links(steps), Columns(pairs)]
    if chosen is not None:
        blocks += _rupture(results, name, chosen)
    back = Links([Link("↑ back to the map", "#map")])
    return [Section(f"Site {name}", [*blocks, back], f"site-{key}")]


def _disaggregation(results: Results, name: str, first: str, probability: float, found: Disaggregation) -> Picture:
    sources = ", ".join(f"{source} {share:.0%}" for source, share in found.by_source().items() if share > 0)
    return written_picture(
        results,
        f"disaggregation-{name}",
        pictures.disaggregation_figure(found, f"{first} above {found.level:.3g} g"),
        f"Shares of the rate of exceeding {found.level:.3g} g of {_noted(results, first)} ({probability:g}), "
        f"{found.annual_rate:.3g} per year, by magnitude, distance and ε: how many standard deviations of ln(shaking) a variation "
        f"is above the mean of its rupture. {sources}. Mean magnitude {found.mean_magnitude:.2f}, distance "
        f"{1e-3 * found.mean_distance_m:.1f} km, ε {found.mean_epsilon:.2f}.",
        f"Columns over a plane of distance and magnitude, coloured by ε, as high as their share; {_largest_bin(found)}.",
    )


def _rupture(results: Results, name: str, chosen: Chosen) -> list[Block]:
    """The rupture that matters most, variation by variation, and its seismograms."""
    key, first = anchor(name), results.imts[0]
    slip: list[list[Block]] = [
        [
            written_picture(
                results,
                f"rupture-{name}-{which}",
                pictures.rupture_figure(chosen, which),
                f"Slip, onset times (white), hypocentre (star); {chosen.source}.",
                f"The rupture's surface unfolded, dark where it slips most: {float(np.max(part['slip_m'])):.2g} m.",
            )
        ]
        for which, part in chosen.variations.items()
    ]
    said = _noted(results, first)
    shaking = (f"{which}: {said} = {float(part['shaking_g']):.3g} g" for which, part in chosen.variations.items())
    motion = written_picture(
        results,
        f"seismogram-{name}",
        pictures.seismogram_figure(
            chosen,
            f"site {name}: {chosen.source} {chosen.number}, M {chosen.magnitude:.2f}",
            azimuth_deg=results.work.grid.azimuth_deg,
        ),
        f"Velocity by reciprocity; {', '.join(shaking)}.",
        f"A panel for each of {counted(len(chosen.directions), 'direction')}, with a line for each of "
        f"{counted(len(chosen.variations), 'variation')} about zero; the largest velocity is {_fastest(chosen):.2g} m/s.",
        narrow=True,
    )
    return [
        Section("The rupture that matters most", [Columns(slip)], f"rupture-{key}", level=3),
        Section("Its seismograms here", [motion], f"seismogram-{key}", level=3),
    ]


def _models(results: Results, name: str, probability: float, beside: Beside) -> Picture:
    first = results.imts[0]
    others = {
        model: one for model, found in beside.items() for one in found if (one.site, one.measure) == (name, first)
    }
    own, title = results.curve(name, first), f"{first} at {name}, beside ground-motion models"
    levels = "; ".join(_level_words(curve, probability, key) for key, curve in {"simulated": own, **others}.items())
    figure = pictures.curves_figure([own], probability, title=title, others=others)
    return written_picture(
        results,
        f"models-{name}",
        figure,
        "Solid: simulated earthquakes. Dashed: ground-motion models for the same forecast, through OpenQuake's hazardlib.",
        f"A solid curve and {counted(len(others), 'dashed one')} on logarithmic axes; at a probability of {probability:g}: "
        f"{levels}.",
        narrow=True,
    )


def _rupture_table(results: Results, found: Disaggregation) -> Table:
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
    return Table(["rupture", "magnitude", "per year", "variations", "share"], rows)


def _site_table(results: Results, names: Sequence[str]) -> Table:
    """A row for each of these sites, which leads to its section where it has one."""
    probabilities = results.work.config.hazard.probabilities
    columns = [f"{_noted(results, measure)}, {p:g}" for measure in results.imts for p in probabilities]
    rows: list[list[str | Link]] = []
    for name in names:
        curves = [results.curve(name, measure) for measure in results.imts]
        levels = [_level(curve.level_at(p)) for curve in curves for p in probabilities]
        shown = Link(name, f"#site-{anchor(name)}") if name in results.described else name
        rows.append([shown, *levels])
    return Table(["site", *columns], rows)


def _noted(results: Results, measure: str) -> str:
    """The name of a measure, and that it is not resolved where it is not."""
    return f"{measure} (not resolved)" if measure in results.unresolved else measure


def _level(value: float) -> str:
    if not np.isfinite(value):
        return "above the last level"
    return f"{value:.4g}" if value > 0 else "below the first level"


def _level_words(curve: HazardCurve, probability: float, name: str = "") -> str:
    """Which level has a probability, for readers who do not see the curve."""
    level = curve.level_at(probability)
    unit = " g" if np.isfinite(level) and level > 0 else ""
    return f"{name or curve.measure} {_level(level)}{unit}"


def _largest_bin(found: Disaggregation) -> str:
    """Where the highest column stands."""
    of_all = found.shares.sum(axis=2)
    if not of_all.any():
        return "there is none"
    m, d = np.unravel_index(int(np.argmax(of_all)), of_all.shape)
    magnitudes, distances_km = found.middles
    return f"the highest has {of_all[m, d]:.0%}, at magnitude {magnitudes[m]:.3g} and {distances_km[d]:.3g} km"


def _fastest(chosen: Chosen) -> float:
    return max(float(np.abs(part["velocity_m_s"]).max()) for part in chosen.variations.values())


def _all_sites(results: Results, first: str, probability: float) -> list[Block]:
    curves = results.curves(first)
    own = [curve for curve in curves if curve.site in results.described]
    figure = pictures.curves_figure(
        own or curves,
        probability,
        by_site=True,
        title=f"{first} at all sites",
        background=[curve for curve in curves if curve not in own] if own else (),
    )
    text = f"Hazard curves of {_noted(results, first)} at all sites; dotted: the probability of the map."
    reach = range_text([curve.level_at(probability) for curve in curves], "g")
    seen = (
        f"{counted(len(curves), 'curve')} on logarithmic axes, one for each site, {len(own)} of them coloured; at a probability of "
        f"{probability:g} they are {reach}."
    )
    return [written_picture(results, "curves", figure, text, seen, narrow=True)]


def draw(path: Path, part: Callable[[], Sequence[Block]]) -> Path:
    """Writes a part of the report as HTML, whole under its name or not at all. Throws what making it does."""
    write_text(path, render_part(part()))
    return path


def written_picture(
    results: Results, name: str, figure: Figure, description: str, seen: str, narrow: bool = False
) -> Picture:
    """A picture for the page; writes it to pictures/<name>.png, too, whole or not at all. seen: for those who do not see it."""
    results.folder.pictures.mkdir(exist_ok=True)
    with replaced(results.folder.pictures / f"{name}.png") as aside:
        aside.write_bytes(png(figure))
    return Picture(smallest(figure), description, seen, narrow)
