"""report.html: one file that shows what an inversion did, for reading without anything else at hand.

Pictures are embedded, styles are inline, nothing is fetched. Everything comes from the run folder, so a report can be
made again at any time (`write_report`).
"""

from __future__ import annotations

import html
import json
import pathlib
import shlex
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from craton.errors import UserError
from craton.pages import maps
from craton.pages import page as report_pages
from craton.pages.figures import new_figure, png
from craton.pages.maps import place_text, rounded_limit, velocity_bar
from craton.pages.style import ACCENT, INK, MUTED, OBSERVED, SECOND, SETTINGS
from craton.runs.files import replaced
from craton.seismology.geometry.latitudes import geocentric_deg, geographic_deg
from craton.tomography.data.observations import (
    QUIETEST_TRACE,
    PathTable,
    geocentric_vectors,
)
from craton.tomography.inversion.folder import RunFolder, RunRecord
from craton.tomography.prior.gaussian import unit_vectors
from craton.tomography.report import drawing
from craton.tomography.report.drawing import Arc, arc_through
from craton.tomography.results import Results, read_results, waveform_reduction

if TYPE_CHECKING:
    from craton._craton import ModelBasis

f64 = NDArray[np.float64]

PHASE_COLOURS = {
    "modes": "#8c98a0",
    "kernels": "#a3b0b8",
    "prior": "#d7dee2",
    "set-up": "#b8c4cc",
    "data": "#7fa7bf",
    "paths": "#a9c6d6",
    "assemble": "#0b6e99",
    "factorise": "#d9822b",
    "misfit": "#6aa57a",
    "save": "#9a7fb5",
    "waveforms": "#c7a252",
    "resolution": "#5b7f95",
}
GALLERY_DEPTHS_KM = (50.0, 150.0, 250.0, 400.0, 550.0, 700.0, 900.0, 1300.0, 1700.0, 2100.0, 2500.0, 2850.0)
SECTION_HALF_ANGLE_DEG = 60.0


def write_report(path: str | pathlib.Path) -> pathlib.Path:
    """Makes report.html from the other files of a run folder."""
    folder = RunFolder(path)
    if not folder.path.is_dir():
        raise UserError(f"run folder {folder.path}: no such folder; allowed: the folder of a run")
    page = render(read_results(folder))
    with replaced(folder.report) as aside:
        aside.write_text(page, encoding="utf-8")
    return folder.report


# ------------------------------------------------------------------------------------------------------------- figures


def sampled_limit(results: Results) -> float:
    """One limit for every map and section of the report."""
    latitude, longitude = np.asarray(results.basis.latitude_deg), np.asarray(results.basis.longitude_deg)
    return rounded_limit(
        *(
            results.basis.evaluate(
                model, latitude, longitude, np.full(len(latitude), maps.EARTH_RADIUS_M - 1e3 * depth)
            )
            for _, model in results.shown
            for depth in results.map_depths_km
        )
    )


def model_maps(results: Results) -> Figure:
    """Rows of depths, input beside output."""
    depths, shown, limit = results.map_depths_km, results.shown, sampled_limit(results)
    figure = new_figure(4.9 * len(shown) + 0.2, 2.45 * len(depths) + 0.6)
    axes = np.atleast_2d(figure.subplots(len(depths), len(shown), squeeze=False))
    for row, depth in enumerate(depths):
        for column, (name, model) in enumerate(shown):
            mesh = maps.field_on_map(axes[row, column], results.basis, model, depth, results.centre_deg, limit)
            maps.draw_globe(axes[row, column], results.centre_deg)
            axes[row, column].set_title(f"{name}, {depth:.0f} km", loc="left", pad=2.0)
    velocity_bar(figure, mesh, axes)
    return figure


def section_figure(results: Results) -> Figure:
    """The mantle along a great circle through the plume."""
    plume, shown, limit = results.plume, results.shown, sampled_limit(results)
    arc = section_arc(plume)
    figure = new_figure(10.0, 2.75)
    places = figure.subplots(1, 1 + len(shown), width_ratios=(*(1.0 for _ in shown), 0.55))
    axes, locator = places[:-1], places[-1]
    for place, (name, model) in zip(axes, shown, strict=True):
        mesh = maps.field_on_section(
            place, results.basis, model, (arc.latitude_deg, arc.longitude_deg), arc.angle_deg, limit
        )
        place.set_title(f"{name}: through {plume['name']}")
    maps.draw_globe(locator, results.centre_deg, coast_colour=MUTED)
    on_map = geographic_deg(arc.latitude_deg), arc.longitude_deg
    maps.draw_arc(locator, *on_map, results.centre_deg, colors=ACCENT, linewidths=2.0)
    star(locator, results)
    locator.set_title("where it lies")
    velocity_bar(figure, mesh, axes)
    return figure


def section_arc(plume: dict[str, Any]) -> Arc:
    """The great circle of the cross-section."""
    place = float(plume["latitude"]), float(plume["longitude"])
    return arc_through(place, section_azimuth(plume), SECTION_HALF_ANGLE_DEG)


def section_caption(results: Results) -> str:
    """Where the cross-section lies."""
    plume, half = results.plume, SECTION_HALF_ANGLE_DEG
    arc = section_arc(plume)
    chosen = [0, len(arc.angle_deg) // 2, -1]
    latitude, longitude = geographic_deg(arc.latitude_deg)[chosen], arc.longitude_deg[chosen]
    start, middle, end = (place_text(*place) for place in zip(latitude, longitude, strict=True))
    what = "Input and output" if results.target is not None else "The recovered model"
    return (
        f"{what} from the core to the surface along the great circle through {plume['name']} ({middle}), {half:.0f}° to "
        f"either side: from {start} to {end}, left to right, in the azimuth {section_azimuth(plume):.0f}° at the middle."
    )


def section_azimuth(plume: dict[str, Any]) -> float:
    """A direction that is not along the checkerboard's own lines."""
    return 60.0 if plume["latitude"] >= 0.0 else 120.0


def star(axes: Axes, results: Results) -> None:
    plume = results.plume
    maps.draw_points(
        axes, np.array([plume["latitude"]]), np.array([plume["longitude"]]), results.centre_deg,
        marker="*", s=110, c="#ffd34d", edgecolors=INK, linewidths=0.8, zorder=6,
    )  # fmt: skip


def coverage_figure(results: Results) -> Figure:
    """How much path length each place has seen, with earthquakes and stations; the paths themselves; the upper half."""
    table = results.observations.paths
    figure = new_figure(10.0, 3.3)
    (left, right), (scale, legend) = figure.subplots(2, 2, height_ratios=(1.0, 0.06))
    step = 2.0
    latitude, longitude = np.broadcast_arrays(*maps.cells(results.centre_deg, step))
    places, coverage = (geocentric_deg(latitude).ravel(), longitude.ravel()), np.asarray(results.model["coverage"])
    nearest = nearest_knot(results.basis, *places)
    smooth = smoothed_coverage(results.basis, coverage, *places).reshape(latitude.shape)
    mesh = maps.mesh_on_map(left, smooth, step, "YlGnBu", 0.0, float(np.quantile(smooth, 0.99)))
    maps.draw_globe(left, results.centre_deg)
    left.set_title("path coverage (sum of path-average weights)", loc="left")
    figure.colorbar(mesh, cax=scale, orientation="horizontal", extend="max").outline.set_visible(False)
    scale.set_box_aspect(0.035)
    covered = (coverage > np.median(coverage))[nearest].reshape(latitude.shape)
    maps.mesh_on_map(right, np.where(covered, 0.25, 0.0), step, "Blues", 0.0, 1.0)
    maps.draw_globe(right, results.centre_deg, coast_colour=MUTED)
    draw_some_paths(right, results)
    events, stations = table.events, table.stations
    maps.draw_points(
        right, stations.latitude_deg[table.station_rows], stations.longitude_deg[table.station_rows],
        results.centre_deg,
        marker="^", s=14, c=ACCENT, linewidths=0.0, label=f"{len(table.station_rows)} stations",
    )  # fmt: skip
    maps.draw_points(
        right, events.latitude_deg[table.event_rows], events.longitude_deg[table.event_rows], results.centre_deg,
        marker="*", s=42, c=SECOND, edgecolors=INK, linewidths=0.4, label=f"{len(table.event_rows)} earthquakes",
    )  # fmt: skip
    legend.set_axis_off()
    legend.legend(*right.get_legend_handles_labels(), loc="upper center", ncols=2, fontsize=9)
    right.set_title("earthquakes, stations, paths (tint: upper half)", loc="left")
    return figure


def nearest_knot(basis: ModelBasis, latitude_deg: f64, longitude_deg: f64) -> NDArray[np.int64]:
    """Of places at geocentric latitudes."""
    knots = unit_vectors(np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg))
    return np.argmax(unit_vectors(latitude_deg, longitude_deg) @ knots.T, axis=1)


def smoothed_coverage(basis: ModelBasis, coverage: f64, latitude_deg: f64, longitude_deg: f64) -> f64:
    """The knots' coverage, averaged with the splines as weights, at geocentric latitudes."""
    offsets, knots, values = basis.lateral_weights(latitude_deg, longitude_deg)
    total = np.add.reduceat(values * coverage[knots], offsets[:-1])
    return total / np.add.reduceat(values, offsets[:-1])


def draw_some_paths(axes: Axes, results: Results, at_most: int = 300) -> None:
    table = results.observations.paths
    chosen = np.unique(np.linspace(0, len(table) - 1, min(at_most, len(table))).astype(int))
    for path in chosen:
        maps.draw_arc(
            axes, *path_on_map(table, path), results.centre_deg, colors=INK, linewidths=0.35, alpha=0.18, zorder=3
        )


def path_on_map(table: PathTable, path: int) -> tuple[f64, f64]:
    """Geographic latitudes and longitudes from the event to the station, the way that the window's waves have come:
    along the great circle of the forward problem, which is one of geocentric latitudes."""
    event, station = table.event[path], table.station[path]
    start, end = geocentric_vectors(
        np.array([table.events.latitude_deg[event], table.stations.latitude_deg[station]]),
        np.array([table.events.longitude_deg[event], table.stations.longitude_deg[station]]),
    )
    distance = float(np.arctan2(np.linalg.norm(np.cross(start, end)), start @ end))
    onwards = (end - np.cos(distance) * start) / np.sin(distance)
    angle = np.linspace(0.0, distance if table.arc[path] == "minor" else distance - 2.0 * np.pi, 61)[:, None]
    points = np.cos(angle) * start + np.sin(angle) * onwards
    latitude = np.degrees(np.arcsin(np.clip(points[:, 2], -1.0, 1.0)))
    return geographic_deg(latitude), np.degrees(np.arctan2(points[:, 1], points[:, 0]))


def waveform_figure(results: Results) -> Figure:
    """Two of the best, of the middling and of the worst fits."""
    table = results.observations.paths
    reduction, before = waveform_reduction(results, "final"), waveform_reduction(results, "initial")
    order = np.argsort(reduction)
    last = len(order) - 1
    rows = {
        "best": (last, max(last - 1, 0)),
        "median": (last // 2, min(last // 2 + 1, last)),
        "worst": (min(1, last), 0),
    }
    figure = new_figure(10.0, 6.6)
    axes = figure.subplots(3, 2)
    offsets, distance = table.offsets, table.distance_deg()
    for line, (kind, ranks) in enumerate(rows.items()):
        for place, rank in zip(axes[line], ranks, strict=True):
            path = int(order[rank])
            part = slice(offsets[path], offsets[path + 1])
            event, station = table.events.name[table.event[path]], table.stations.name[table.station[path]]
            time = table.t_first_s[path] + table.sample_interval_s * np.arange(table.samples[path])
            scale = np.max(np.abs(results.observations.observed[part])) or 1.0
            for values, style in (
                (
                    results.observations.observed[part],
                    {"color": OBSERVED, "linewidth": 2.2, "alpha": 0.8, "label": "data"},
                ),
                (
                    results.model["waveforms/initial"][part],
                    {"color": SECOND, "linewidth": 1.0, "linestyle": "--", "label": "starting model"},
                ),
                (results.model["waveforms/final"][part], {"color": ACCENT, "linewidth": 1.2, "label": "final model"}),
            ):
                place.plot(time, values / scale, **style)
            place.set_title(
                f"{kind}: {event} to {station}, {table.component[path]}, {distance[path]:.0f}°, fit "
                f"{100 * before[path]:.0f}% → {100 * reduction[path]:.0f}%",
                fontsize=8.5, fontweight="normal", loc="left",
            )  # fmt: skip
            place.set_yticks([])
            place.spines["left"].set_visible(False)
            place.margins(x=0.01)
    for place in axes[-1]:
        place.set_xlabel("seconds after the origin time")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3)
    return figure


def gallery_figure(results: Results) -> Figure:
    """The recovered model at many depths, on one colour scale."""
    bottom_m, top_m = results.basis.radial_knots_m[0], results.basis.radial_knots_m[-1]
    depths = [depth for depth in GALLERY_DEPTHS_KM if bottom_m <= maps.EARTH_RADIUS_M - 1e3 * depth <= top_m]
    fields = results.fields
    cells = maps.cells(results.centre_deg, 2.0)
    values = {name: [fields.percent(name, *cells, np.float64(depth)) for depth in depths] for name in fields.parameters}
    return drawing.map_gallery(values, depths, "", results.centre_deg, 3)


def profiles_figure(results: Results) -> Figure:
    """The recovered model against depth below the place of the cross-section, and a quarter of the way round from there."""
    plume, fields = results.plume, results.fields
    there = (float(plume["latitude"]), float(maps.relative_longitude(plume["longitude"], 0.0)))
    other = (there[0], float(maps.relative_longitude(np.float64(there[1] + 90.0), 0.0)))
    return drawing.profile(fields, [there, other]).figure


def fits_figure(results: Results) -> Figure:
    """How well each path is fitted, before and after, and against its distance."""
    before, after = (100.0 * waveform_reduction(results, name) for name in ("initial", "final"))
    figure = new_figure(10.0, 3.0)
    left, right = figure.subplots(1, 2)
    bins = np.linspace(-100.0, 100.0, 41)
    left.hist(np.clip(before, -100.0, 100.0), bins, color=SECOND, alpha=0.6, label="starting model")
    left.hist(np.clip(after, -100.0, 100.0), bins, color=ACCENT, alpha=0.7, label="final model")
    left.set(title="paths by fit", xlabel="variance reduction, % (below -100 at the left end)", ylabel="paths")
    left.legend(fontsize=8, loc="upper left")
    right.plot(results.observations.paths.distance_deg(), after, ".", color=ACCENT, markersize=3, alpha=0.6)
    right.set(title="fit of the final model by distance", xlabel="distance, degrees", ylabel="variance reduction, %")
    right.set_ylim(max(-100.0, float(after.min()) - 5.0), 102.0)
    return figure


def misfit_figure(results: Results) -> Figure:
    """Equation 1 and the variance reduction, per iteration."""
    iterations = results.record.iterations
    index = [entry.iteration for entry in iterations]
    figure = new_figure(10.0, 3.0)
    left, right = figure.subplots(1, 2)
    left.semilogy(index, [entry.chi_data for entry in iterations], "o-", color=ACCENT, label="data")
    positive = [(entry.iteration, entry.chi_prior) for entry in iterations if entry.chi_prior > 0]
    if positive:
        left.semilogy(*zip(*positive, strict=True), "s--", color=SECOND, label="prior")
    left.axhline(
        0.5 * results.record.samples, color=MUTED, linewidth=0.9, linestyle=":", label="expected of pure noise, N/2"
    )
    left.legend(fontsize=8)
    left.set(title="misfit (equation 1)", xlabel="iteration")
    reduction = [100 * entry.variance_reduction for entry in iterations]
    right.plot(index, reduction, "o-", color=ACCENT)
    for place, value in zip(index, reduction, strict=True):
        right.annotate(
            f"{value:.1f}", (place, value), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=8
        )
    ceiling = 100 * results.noise_ceiling
    if ceiling > 0.0:
        label = f"noise ceiling, {ceiling:.1f}: what is left is noise"
        right.axhline(ceiling, color=MUTED, linewidth=0.9, linestyle=":", label=label)
        right.legend(fontsize=8, loc="lower right")
    right.set(title="variance reduction, %", xlabel="iteration", ylim=(min(0.0, *reduction) - 2.0, 112.0))
    for axes in (left, right):
        axes.set_xticks(index)
    return figure


def correlation_figure(results: Results) -> Figure:
    """Correlation with the target by depth."""
    found = results.record.correlation
    assert found is not None
    figure = new_figure(4.8, 3.6)
    axes = figure.subplots()
    axes.plot(found.by_depth, found.depth_km, "o-", color=ACCENT)
    axes.set(title="output against input, upper half of coverage", xlabel="correlation of dlnVs", ylabel="depth, km")
    axes.set_xlim(min(0.5, min(found.by_depth) - 0.05), 1.03)
    axes.invert_yaxis()
    return figure


def timing_figure(results: Results) -> Figure:
    """Stacked bars: what each rank spent its time on."""
    ranks = results.record.phase_s
    figure = new_figure(10.0, 1.4 + 0.32 * min(len(ranks), 32))
    axes = figure.subplots()
    names = list(dict.fromkeys([*PHASE_COLOURS, *(name for phases in ranks for name in phases)]))
    shown = ranks[:32]
    left = np.zeros(len(shown))
    for name in names:
        seconds = np.array([phases.get(name, 0.0) for phases in shown])
        if seconds.any():
            axes.barh(
                range(len(shown)), seconds, left=left, height=0.7, color=PHASE_COLOURS.get(name, MUTED), label=name
            )
            left += seconds
    axes.set_yticks(range(len(shown)), [f"rank {rank}" for rank in range(len(shown))])
    axes.invert_yaxis()
    axes.set_xlabel("wall-clock seconds")
    axes.set_title("time per phase", loc="left")
    figure.legend(loc="outside lower center", ncols=7, fontsize=8)
    return figure


# ---------------------------------------------------------------------------------------------------------------- page


def picture(figure: Figure, description: str, narrow: bool = False) -> str:
    return report_pages.picture(png(figure), description, narrow=narrow)


def cards(results: Results) -> str:
    record = results.record
    last = record.iterations[-1]
    assemble = sum(entry.assemble_s for entry in record.iterations)
    entries = [
        (f"{100 * last.variance_reduction:.1f}%", f"variance reduction after {counted(last.iteration, 'iteration')}"),
        *(
            [(f"{record.correlation.overall:.3f}", "correlation with the input, upper half of coverage")]
            if record.correlation
            else []
        ),
        (f"{record.paths}", f"paths: {record.events} earthquakes, {record.stations} stations"),
        (
            f"{results.basis.size}",
            f"parameters: {record.lateral_knots} knots × {record.radial_knots} radial"
            + (" × dlnVs and dlnxi" if results.basis.parameters == 2 else ""),
        ),
        (
            f"{assemble:.1f} s",
            f"assembling Hessians on {counted(record.ranks, 'rank')} × {counted(record.threads, 'thread')}",
        ),
    ]
    return (
        '<div class="cards">'
        + "".join(f'<div class="card"><b>{html.escape(a)}</b>{html.escape(b)}</div>' for a, b in entries)
        + "</div>"
    )


def statement(results: Results) -> str:
    """Where the data come from: the first thing a reader must know."""
    attributes = results.observations.attributes
    origin = html.escape(str(attributes.get("origin", "unknown")))
    if results.target is None:
        made = "<b>The observed data are synthetic.</b> They were" if attributes.get("kind") == "synthetic" else "Data:"
        return f'<p class="notice">{made} read from a file; their origin: {origin}.</p>'
    percent = 100 * float(attributes.get("noise_fraction", 0))
    nact = results.record.config.get("theory", {}).get("kind", "pava") != "pava"
    theory = "mode sums with coupled branches, NACT" if nact else "path-average mode sums"
    return (
        '<p class="notice"><b>The observed data are synthetic.</b> They are seismograms of the input model, computed '
        f"with the same theory as the inversion ({theory}) on the same spline basis, plus Gaussian noise whose "
        f"standard deviation is {percent:g}% of each trace's rms (seed {attributes.get('seed')}). A trace weaker than "
        f"{100 * QUIETEST_TRACE:g}% of its event's median gets the noise of a trace of that strength. The inversion "
        "knows the noise's standard deviation. The earthquakes and stations are real places; the Earth in this report "
        "is not. What it shows is how well these paths can resolve a known model, not what the mantle looks like.</p>"
    )


def iteration_table(record: RunRecord) -> str:
    rows = [
        [
            str(entry.iteration), f"{entry.chi_data:.6g}", f"{entry.chi_prior:.6g}",
            f"{100 * entry.variance_reduction:.2f}%", f"{100 * entry.residual_reduction:.2f}%",
            f"{entry.step_length:g}" if entry.iteration else "",
            f"{entry.assemble_s:.2f}" if entry.iteration else "", f"{entry.solve_s:.2f}" if entry.iteration else "",
            f"{entry.paths_per_s:.0f}" if entry.iteration else "",
        ]
        for entry in record.iterations
    ]  # fmt: skip
    return report_pages.table(
        [
            "iteration",
            "χ data",
            "χ prior",
            "variance reduction",
            "residual reduction",
            "step",
            "assemble, s",
            "solve, s",
            "paths/s",
        ],
        rows,
    )


def assembly_table(record: RunRecord) -> str:
    columns = {
        "panel_s": "seismograms and panels, s", "product_s": "products, s", "update_s": "updates, s",
        "poll_s": "handlers, s", "commit_s": "commit, s", "wall_s": "wall, s", "paths": "paths done", "updates": "updates made",
    }  # fmt: skip
    rows = [
        [
            f"rank {rank}",
            *(
                f"{seconds.get(name, 0.0):.0f}" if name in ("paths", "updates") else f"{seconds.get(name, 0.0):.2f}"
                for name in columns
            ),
        ]
        for rank, seconds in enumerate(record.assembly_s)
    ]
    return report_pages.table(["assembly", *columns.values()], rows)


def render(results: Results) -> str:
    """The whole page."""
    record = results.record
    with matplotlib.rc_context(SETTINGS):
        body = "\n".join(sections(results))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{html.escape(record.title)}: a Craton inversion</title><style>{report_pages.style()}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def sections(results: Results) -> list[str]:
    from craton.tomography.report.posterior import posterior_section

    record = results.record
    side_by_side = results.target is not None
    what = "Input (left) and output (right)" if side_by_side else "The recovered model"
    versions = {name: text.splitlines()[0] if text else "" for name, text in record.versions.items()}
    parts = [
        f"<h1>{html.escape(record.title)}</h1>",
        f'<p class="muted">Craton {html.escape(versions.get("version", ""))}, started '
        f"{html.escape(record.started)}; {html.escape(how_it_ended(results))}.</p>",
        statement(results),
        cards(results),
        "<h2>Misfit per iteration</h2>",
        picture(
            misfit_figure(results),
            "Misfit of equation 1 on a logarithmic scale, and variance reduction, per iteration. The noise ceiling is the "
            "variance reduction of a model that leaves exactly the noise, 1 − N / Σ(d/σ)² with N samples.",
        ),
        iteration_table(record),
        '<p class="muted">Variance reduction is relative to the data, 1 − ‖d − g(m)‖² / ‖d‖²; residual reduction '
        "is relative to the starting model, 1 − ‖d − g(m)‖² / ‖d − g(m⁰)‖². Both are weighted by the "
        "data's uncertainty.</p>",
        "<h2>Model</h2>",
        picture(
            model_maps(results),
            f"{what}: dlnVs relative to {record.config['earth']['model']}, one colour scale throughout. "
            "Coastlines: Natural Earth.",
        ),
        picture(
            section_figure(results),
            section_caption(results),
        ),
        "<h2>Depth slices and profiles</h2>",
        picture(
            gallery_figure(results),
            f"The recovered model at {len(GALLERY_DEPTHS_KM)} depths, one colour scale. Any other depth: "
            "craton tomography slice; any great circle: craton tomography section.",
        ),
        picture(
            profiles_figure(results),
            f"The recovered model below {results.plume['name']} and 90° east of there; right, beside the reference Earth's "
            "speed. Dotted: 410 and 660 km.",
            narrow=True,
        ),
    ]
    if record.correlation is not None:
        found = record.correlation
        parts.append(picture(
            correlation_figure(results),
            f"Correlation of the output with the input (filtered to the same basis) at the {found.knots} lateral knots "
            f"whose path coverage is above the median: {found.overall:.3f} over all depths together, from "
            f"{found.depth_km[0]:.0f} to {found.depth_km[-1]:.0f} km; {found.all_knots:.3f} at all knots. "
            "It is low at depths where the input itself is close to zero.",
            narrow=True,
        ))  # fmt: skip
    parts += posterior_section(results, results.folder)
    if results.finished:
        parts += [
            "<h2>Path coverage</h2>",
            picture(
                coverage_figure(results),
                "Left: sum over all paths of the path-average weight of each lateral knot. Right: earthquakes, stations "
                "and up to 300 of the paths; tinted where the coverage is above its median.",
            ),
            "<h2>Waveforms</h2>",
            picture(
                waveform_figure(results),
                "Best, median and worst fits of the final model; each trace is scaled by the data's largest value. "
                "Percentages: 1 − ‖d − g‖² / ‖d‖² of the starting and of the final model.",
            ),
            picture(
                fits_figure(results),
                "The same percentage of every path, by number of paths and by epicentral distance. One path by name: "
                "craton tomography fit.",
            ),
        ]
    parts += kernel_section(results)
    parts += [
        "<h2>Where the time went</h2>",
        picture(
            timing_figure(results),
            f"{counted(record.ranks, 'rank')} on {counted(record.nodes, 'node')}, "
            f"{counted(record.threads, 'worker thread')} per rank.",
        ),
        "<details><summary>Inside the assembly, summed over the iterations</summary>"
        + assembly_table(record)
        + "</details>",
        "<h2>How to get this again</h2>",
        f"<pre>{html.escape(portable_command(record.command))}</pre>",
        "<details><summary>Configuration</summary><pre>"
        + html.escape(json.dumps(portable(record.config), indent=1))
        + "</pre></details>",
        "<details><summary>Versions</summary>"
        + report_pages.table(["what", "version"], [[name, text] for name, text in versions.items()])
        + "</details>",
    ]
    return parts


def kernel_section(results: Results) -> list[str]:
    """Of a run with NACT: a figure for each component; a line where they cannot be drawn."""
    from craton.tomography.theory.plane_kernels import draw
    from craton.tomography.theory.typical_kernels import kernels_of_windows

    if results.record.config.get("theory", {}).get("kind", "pava") == "pava":
        return []
    title = "<h2>What a seismogram sees</h2>"
    try:
        found = kernels_of_windows(results.record.config, results.observations, "record.json")
    except UserError as problem:
        return [
            title,
            f'<p class="muted">No sensitivities: {html.escape(str(problem))}. Any other: craton tomography kernel.</p>',
        ]
    parts = [title, f"<p>{KERNEL_TEXT}</p>"]
    for pair in found:
        first = pair[0]
        parts.append(picture(
            draw(pair),
            f"{COMPONENT_TEXT[first.component]} of {first.title}, {first.distance_deg:.0f}° away, in the run's band "
            "and window, for the reference Earth. Top: the seismogram, with the moments that the columns below are "
            "of. Blue: faster rock there moves the seismogram up at that moment; red: down. Dashed: 410 and 660 km.",
        ))  # fmt: skip
    return parts


COMPONENT_TEXT = {"Z": "Vertical motion", "R": "Radial motion", "T": "Transverse motion"}
KERNEL_TEXT = (
    "What a change of dlnVs at each point below the path does to the seismogram at one moment, as a part of its "
    "largest motion. Of each component one window: of those near the median distance, one toward which its earthquake "
    "radiates well. Path averages (PAVA, upper row) let a wave see each depth the same all along the path: at late "
    "times the fundamental mode, a surface wave, which sees the upper mantle; earlier, sums of overtones, which reach "
    "deeper. Coupled overtones (NACT, lower row, the theory of this run) interfere along the path as body waves do: "
    "sensitivity follows the S waves where they dive, turn and come up again, in zones as wide as the waves are long. "
    "Near source and station and from zone to zone the sign alternates: there, what is scattered arrives out of phase."
)


def how_it_ended(results: Results) -> str:
    record = results.record
    if record.finished:
        return f"stopped because {record.stopped_because}"
    last = record.iterations[-1].iteration if record.iterations else 0
    return (
        f"unfinished: this is what was saved up to iteration {last}; path coverage and waveforms are computed at the end "
        "of a run"
    )


def portable_command(command: str) -> str:
    """The command without the absolute folders of the computer it ran on."""
    words = (pathlib.PurePath(word) for word in shlex.split(command))
    return shlex.join(word.name if word.is_absolute() else str(word) for word in words)


def counted(number: int, word: str) -> str:
    return f"{number} {word}" if number == 1 else f"{number} {word}s"


def portable(config: dict[str, Any]) -> dict[str, Any]:
    """The configuration without the absolute folders of the computer it ran on."""

    def shorten(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: shorten(entry) for key, entry in value.items()}
        if isinstance(value, str) and pathlib.PurePath(value).is_absolute():
            return pathlib.PurePath(value).name
        return value

    return shorten(config)
