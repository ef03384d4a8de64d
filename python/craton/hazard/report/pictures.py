"""Figures of hazard: map, curves, disaggregation, rupture, seismogram, and what each core did. matplotlib figures of their own."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from matplotlib.ticker import MaxNLocator
from numpy.typing import NDArray

from craton.errors import UserError
from craton.hazard.curves.curves import HazardCurve
from craton.hazard.curves.disaggregation import EPSILON_EDGES, Disaggregation
from craton.hazard.folder import HazardRecord
from craton.hazard.forecast.rupture import Surface
from craton.hazard.forecast.surfaces import nodes_of, unfolded
from craton.hazard.results import Chosen, Results, read_results
from craton.pages.figures import Figures, new_figure
from craton.pages.maps import axis_names, label_axes
from craton.pages.projection import coastlines
from craton.pages.style import ACCENT, COLOURS, INK, LINE, MUTED, SECOND, drawing

__all__ = [
    "curves_figure",
    "disaggregation_figure",
    "figures",
    "map_figure",
    "rupture_figure",
    "seismogram_figure",
    "timeline_figure",
]

Array = NDArray[np.float64]
KINDS = {"waves": "#0b6e99", "measures": "#d9822b", "curves": "#6aa57a", "pictures": "#9a7fb5"}
SHADING = "YlOrRd"
HATCHED_PART = 0.6
"""Below a curve that is not resolved, down to this part of it."""
PIXELS = 160
"""Of a map's longer side."""
MAP_INCHES = 6.2
ROOM_KM_PER_KM = 0.2
"""Of a map's right edge, that the name of a site takes."""
COASTS_KM = 200.0
"""Wide a region must be for coastlines: theirs are known to some 10 km."""
EPSILON_COLOURS = ("#2c5f9e", "#6a9fd0", "#b5d3ea", "#f6e3a8", "#f2b35b", "#e0703a", "#a3262a")
"""Of the bins of epsilon, from the usual to the rare."""


def figures(folder: str | os.PathLike[str]) -> Figures:
    """Map and curves of the first measure, its disaggregation at each described site, and the timeline of the jobs. Not collective.

    UserError where no site is finished.
    """
    results = read_results(folder)
    measure, probability = results.imts[0], results.work.config.hazard.probabilities[0]
    curves = [results.curve(name, measure) for name in results.described or results.names]
    found = Figures(
        map=map_figure(results, measure, probability),
        curves=curves_figure(curves, probability, by_site=True, title=measure),
    )
    for name in results.described:
        if (shares := results.at_first_probability(name)) is not None:
            found[f"disaggregation, {name}"] = disaggregation_figure(
                shares, f"{name}: {measure} above {shares.level:.3g} g"
            )
    found["timeline"] = timeline_figure(results.folder.read_record())
    return found


@drawing
def map_figure(results: Results, measure: str, probability: float) -> Figure:
    """A map of sites and faults, with the level by interpolation between three sites or more.

    y (east) to the right, x (north) up, km; where the grid is turned, its axes say so. It shows what sites and faults span.
    """
    found = results.map(measure, probability)
    low, high = _shown(results)
    high_m, wide_m = high - low
    figure = new_figure(MAP_INCHES, float(np.clip(0.8 * MAP_INCHES * high_m / wide_m + 1.3, 3.2, 7.5)))
    axes = figure.subplots()
    x, y = (np.linspace(low[d], high[d], PIXELS) for d in (0, 1))
    _media_outline(axes, results)
    values = found.values
    highest = float(np.nanmax(values)) * 1.02 if np.any(values > 0) else 1.0
    span: dict[str, Any] = {"vmin": 0.0, "vmax": highest, "cmap": SHADING}
    try:
        between = found.at(*np.meshgrid(x, y, indexing="ij"), kind="linear")
        extent = (1e-3 * y[0], 1e-3 * y[-1], 1e-3 * x[0], 1e-3 * x[-1])
        axes.imshow(between, origin="lower", extent=extent, aspect="equal", alpha=0.85, **span)
    except UserError:  # fewer than three sites, or on a line: they alone are drawn
        pass
    _coastlines(axes, results)
    _fault_traces(axes, results)
    at, described = 1e-3 * found.sites_m, np.array([name in results.described for name in results.names])
    points = axes.scatter(
        at[:, 1], at[:, 0], c=values, s=np.where(described, 70, 22), edgecolor=INK, linewidth=0.9, zorder=4, **span
    )
    for name, (up, right), value, named in zip(results.names, at, values, described, strict=True):
        if named:
            _name_site(axes, f"{name}\n{_level_text(value)}", up, right, 1e-3 * high[1])
    figure.colorbar(points, ax=axes, shrink=0.8, label=f"{measure}, g")
    axes.set(xlim=(1e-3 * low[1], 1e-3 * high[1]), ylim=(1e-3 * low[0], 1e-3 * high[0]), aspect="equal")
    label_axes(axes, results.work.grid.azimuth_deg)
    axes.set_title(f"{measure}, probability {probability:.3g} in {found.years:g} years")
    figure.legend(loc="outside lower left", ncols=4, fontsize=8)
    _hatch(figure, axes, found.note)
    return figure


def _shown(results: Results) -> tuple[Array, Array]:
    """Lowest and highest x, y, m, of what a map shows: sites and faults, with a margin; not beyond the absorbing sides."""
    surfaces = [one.surface.positions[:, :2] for one in results.work.forecast.ruptures]
    every = np.concatenate([results.sites_m[:, :2], *surfaces])
    low, high = every.min(axis=0), every.max(axis=0)
    margin = 0.05 * float(np.max(high - low)) + results.work.grid.spacing_m
    within = [bound[:2] for bound in results.work.volume_m]
    return np.maximum(low - margin, within[0] - margin), np.minimum(high + margin, within[1] + margin)


def _level_text(value: float) -> str:
    return f"{value:.3g} g" if np.isfinite(value) and value > 0 else "\u2013"


def _name_site(axes: Axes, said: str, up: float, right: float, edge: float) -> None:
    """Beside its place; to the left of it near the map's right edge, so that nothing is cut off."""
    left_of = edge - right < ROOM_KM_PER_KM * edge
    offset, side = ((-7, 5), "right") if left_of else ((7, 5), "left")
    drawn = axes.annotate(
        said, (right, up), offset, textcoords="offset points", ha=side, fontsize=8.0, fontweight="bold", zorder=6
    )
    drawn.set_path_effects([withStroke(linewidth=2.0, foreground="white")])


def _hatch(figure: Figure, axes: Axes, note: str) -> None:
    """Over a picture of what the waves do not resolve, with the reason. Nothing without a note."""
    if not note:
        return
    over: dict[str, Any] = {"transform": axes.transAxes, "zorder": 10}
    figure.add_artist(
        Rectangle(
            (0, 0), 1, 1, fill=False, hatch="//", edgecolor=MUTED, alpha=0.6, linewidth=0.0, gid="unresolved", **over
        )
    )
    said = figure.text(0.98, 0.97, f"not resolved: {note}", ha="right", va="top", fontsize=8.5, color=INK, **over)
    said.set_bbox({"facecolor": "white", "edgecolor": MUTED, "linewidth": 0.6, "pad": 3})


def _media_outline(axes: Axes, results: Results) -> None:
    """Where the ground at the surface is slow: contours of vs."""
    grid = results.work.grid
    n = [min(cells, PIXELS) for cells in grid.cells[:2]]
    x, y = ((np.arange(k) + 0.5) * size / k for k, size in zip(n, grid.size_m[:2], strict=True))
    gx, gy = np.meshgrid(x, y, indexing="ij")
    vs = results.work.surface_vs(gx.ravel(), gy.ravel()).reshape(gx.shape)
    if np.ptp(vs) > 0.05 * vs.max():
        lines = axes.contour(1e-3 * y, 1e-3 * x, vs, 2, colors=INK, linewidths=0.6, alpha=0.7)
        for label in axes.clabel(lines, fmt=lambda v: f"{v:.0f} m/s", fontsize=6.5):
            label.set_path_effects([withStroke(linewidth=1.5, foreground="white")])


def _fault_traces(axes: Axes, results: Results) -> None:
    """The upper edge of a source, solid, as far as its ruptures reach, and where its largest surface reaches, seen from above."""
    edges: dict[str, dict[tuple[float, ...], Array]] = {}
    largest: dict[str, Surface] = {}
    ruptures = results.work.forecast.ruptures
    highest_m: dict[str, float] = {}
    for one in ruptures:
        depth_m = float(nodes_of(one.surface)[0, :, 2].min())
        highest_m[one.source] = min(depth_m, highest_m.get(one.source, np.inf))
    for one in ruptures:
        surface = one.surface
        if len(surface) > len(largest.get(one.source, ())):
            largest[one.source] = surface
        top = 1e-3 * nodes_of(surface)[0]
        if 1e3 * top[:, 2].min() > highest_m[one.source] + 1:  # a rupture that stays below
            continue
        known = edges.setdefault(one.source, {})
        for pair in zip(top, top[1:], strict=False):
            known.setdefault(tuple(np.round(np.concatenate(pair), 2)), np.array(pair)[:, 1::-1])
    for at, (name, surface) in enumerate(largest.items()):
        colour, nodes = COLOURS[at % len(COLOURS)], 1e-3 * nodes_of(surface)
        round_it = np.concatenate([nodes[0], nodes[1:, -1], nodes[-1, -2::-1], nodes[-2:0:-1, 0]])
        axes.fill(round_it[:, 1], round_it[:, 0], facecolor=colour, alpha=0.1, zorder=2)
        axes.fill(round_it[:, 1], round_it[:, 0], fill=False, edgecolor=colour, linewidth=0.8, linestyle="--", zorder=3)
        axes.add_collection(LineCollection(list(edges[name].values()), colors=colour, linewidths=2.2, zorder=3))
        axes.plot([], [], color=colour, linewidth=2.2, label=name)


def _coastlines(axes: Axes, results: Results) -> None:
    """Where the region is large enough for those that there are."""
    size = max(results.work.grid.size_m[:2])
    if 1e-3 * size < COASTS_KM:
        return
    lon, lat = results.work.grid.lon_lat(*(0.5 * side for side in results.work.grid.size_m[:2]))
    reach = size / 111e3 + 1
    for line in coastlines():
        apart = (line[:, 0] - lon + 180) % 360 - 180
        near = (np.abs(line[:, 1] - lat) < reach) & (np.abs(apart) * np.cos(np.radians(lat)) < reach)
        cuts = np.flatnonzero(np.diff(near)) + 1
        for piece, inside in zip(np.split(line, cuts), np.split(near, cuts), strict=True):
            if inside[0] and len(piece) > 1:
                x, y = results.work.grid.x_y(piece[:, 0], piece[:, 1])
                axes.plot(1e-3 * y, 1e-3 * x, color=INK, linewidth=0.8, zorder=2, gid="coastline")


@drawing
def curves_figure(
    curves: Sequence[HazardCurve],
    probability: float | None = None,
    *,
    by_site: bool = False,
    title: str = "",
    others: Mapping[str, HazardCurve] | None = None,
    background: Sequence[HazardCurve] = (),
) -> Figure:
    """Curves of one site for several measures, or (by_site) of one measure at several sites.

    others: dashed, by their names; background: thin, without a name.
    """
    figure = new_figure(5.6, 4.6)
    axes = figure.subplots()
    for curve in background:
        some = curve.probability > 0
        axes.loglog(curve.levels[some], curve.probability[some], color=LINE, linewidth=0.8, zorder=1)
    if background:
        axes.plot([], [], color=LINE, linewidth=1.5, label="sites of the map")
    for at, curve in enumerate(curves):
        shown, name = curve.probability > 0, curve.site if by_site else curve.measure
        colour, levels, probability_of = COLOURS[at % len(COLOURS)], curve.levels[shown], curve.probability[shown]
        if curve.note:
            name = f"{name}: not resolved, {curve.note}"
            below = HATCHED_PART * probability_of
            band = axes.fill_between(
                levels, below, probability_of, facecolor="none", edgecolor=colour, hatch="////", linewidth=0
            )
            band.set_gid("unresolved")
        style = ":" if curve.note else "-"
        axes.loglog(levels, probability_of, color=colour, linewidth=1.8, linestyle=style, label=name)
    for at, (name, curve) in enumerate((others or {}).items(), len(curves)):
        colour = COLOURS[at % len(COLOURS)]
        axes.loglog(curve.levels, curve.probability, color=colour, linewidth=1.2, linestyle="--", label=name)
    if probability is not None:
        axes.axhline(probability, color=MUTED, linewidth=0.9, linestyle=":")
        place, within = (0.995, probability), ("axes fraction", "data")
        axes.annotate(f"{probability:g}", place, xycoords=within, ha="right", va="bottom", fontsize=8)
    positive = np.concatenate([curve.probability[curve.probability > 0] for curve in curves] or [np.ones(1)])
    lowest = max(1e-8, 0.5 * float(positive.min(initial=1.0)))
    axes.set_ylim(lowest, 1.1)
    _within(axes, [*curves, *(others or {}).values(), *background], lowest)
    axes.set(xlabel="spectral acceleration, g", title=title)
    axes.set_ylabel(f"probability of exceedance in {curves[0].years:g} years")
    axes.grid(visible=True, which="major", color="#e3e8eb", linewidth=0.7)
    figure.legend(loc="outside lower left", ncols=2, fontsize=8)
    return figure


def _within(axes: Axes, curves: Sequence[HazardCurve], lowest: float) -> None:
    """Levels from where the first curve begins to fall to where the last one leaves the picture below."""
    begins = [curve.levels[curve.probability > 0.98 * curve.probability.max()][-1] for curve in curves]
    ends = [curve.levels[curve.probability > lowest][-1] for curve in curves if np.any(curve.probability > lowest)]
    if ends and min(begins) < max(ends):
        axes.set_xlim(min(begins) / 2, 2 * max(ends))


@drawing
def disaggregation_figure(found: Disaggregation, title: str = "") -> Figure:
    """Shares by distance and magnitude: bars of epsilon one upon the other; of sources, where epsilon is not known."""
    figure = new_figure(5.6, 4.9)
    axes = figure.add_subplot(projection="3d")
    m, d = found.middles
    wide = 0.7 * np.array([1e-3 * np.diff(found.distance_edges_m)[0], np.diff(found.magnitude_edges)[0]])
    if found.epsilon_shares is None:
        stacked, colours = found.shares, [COLOURS[k % len(COLOURS)] for k in range(len(found.sources))]
        names = [f"{name}: {share:.0%}" for name, share in zip(found.sources, found.shares.sum((0, 1)), strict=True)]
    else:
        stacked, colours, names = found.epsilon_shares, list(EPSILON_COLOURS), epsilon_names()
    tops = 100 * np.cumsum(stacked, axis=2)
    i, j, k = np.nonzero(stacked)
    height = 100 * stacked[i, j, k]
    # one collection: its faces hide each other as they should
    axes.bar3d(
        d[j] - wide[0] / 2,
        m[i] - wide[1] / 2,
        tops[i, j, k] - height,
        *wide,
        height,
        color=[colours[one] for one in k],
        shade=True,
        zsort="average",
    )
    for colour, name in zip(colours, names, strict=True):
        axes.plot([], [], color=colour, linewidth=6, label=name)
    axes.set(xlabel="distance, km", ylabel="magnitude", zlabel="share, %")
    axes.set_xlim(0, 1e-3 * float(found.distance_edges_m[-1]))
    lowest, highest = (float(found.magnitude_edges[end]) for end in (0, -1))
    axes.set_ylim(lowest, max(highest, lowest + 0.5))
    axes.set_zlim(0, 1.05 * float(tops.max(initial=1e-9)))
    axes.view_init(elev=28, azim=-55)
    axes.set_box_aspect((1.3, 1, 0.85), zoom=0.9)
    axes.set_title(title)
    figure.legend(loc="outside lower center", ncols=4, fontsize=7.5, columnspacing=1.2, handlelength=1.2)
    _hatch(figure, axes, found.note)
    return figure


def epsilon_names() -> list[str]:
    """Of the bins of epsilon, as a legend has them."""
    edges = EPSILON_EDGES
    between = [f"{a:g} to {b:g}" for a, b in zip(edges[1:-2], edges[2:-1], strict=True)]
    return [f"\u03b5 below {edges[1]:g}", *between, f"above {edges[-2]:g}"]


@drawing
def rupture_figure(chosen: Chosen, name: str) -> Figure:
    """Slip over the unfolded surface, and where the rupture is at each time. name: of one of its variations."""
    figure = new_figure(5.6, 3.0)
    axes = figure.subplots()
    part = chosen.variations[name]
    shape = (chosen.rows, chosen.columns)
    along, down = (1e-3 * at for at in unfolded(chosen.positions_m, *shape))
    along, down = along + 0.5 * _step(along), down + 0.5 * _step(down)
    slip, onset = (np.asarray(part[key]).reshape(shape) for key in ("slip_m", "onset_s"))
    half = 0.5 * np.array([_step(along), _step(down)])
    extent = (along[0] - half[0], along[-1] + half[0], down[-1] + half[1], down[0] - half[1])
    drawn = axes.imshow(slip, extent=extent, aspect="equal", cmap="magma_r", vmin=0)
    if min(shape) > 1 and np.ptp(onset) > 0:
        lines = axes.contour(along, down, onset, 7, colors="white", linewidths=0.9)
        labels = axes.clabel(lines, fmt="%.1f s", fontsize=7)
        for label in labels:
            label.set_path_effects([withStroke(linewidth=1.5, foreground=INK)])
    row, column = divmod(int(part["hypocentre"]), chosen.columns)
    axes.plot(along[column], down[row], marker="*", markersize=13, color="#49c7f5", markeredgecolor=INK)
    figure.colorbar(drawn, ax=axes, label="slip, m", shrink=0.8)
    axes.yaxis.set_major_locator(MaxNLocator(4, integer=True))
    axes.set(xlabel="along strike, km", ylabel="down dip, km")
    axes.set_title(
        f"{chosen.source} {chosen.number}, M {chosen.magnitude:.2f}: {name} shaking, variation {int(part['number'])}"
    )
    return figure


def _step(values: Array) -> float:
    return float(values[1] - values[0]) if len(values) > 1 else 1.0


@drawing
def seismogram_figure(chosen: Chosen, title: str = "", *, azimuth_deg: float = 0.0) -> Figure:
    """Velocities of the chosen variations, a panel for each direction. azimuth_deg: of the x axis."""
    names = axis_names(azimuth_deg)
    figure = new_figure(6.2, 1.5 + 1.4 * len(chosen.directions))
    panels = np.ravel(figure.subplots(len(chosen.directions), 1, sharex=True, sharey=True))
    for n, (axes, direction) in enumerate(zip(panels, chosen.directions, strict=True)):
        for (name, part), colour in zip(chosen.variations.items(), (SECOND, ACCENT), strict=False):
            velocity = 100 * np.asarray(part["velocity_m_s"])[n]
            time, label = chosen.dt_s * np.arange(len(velocity)), f"{name} shaking: variation {int(part['number'])}"
            axes.plot(time, velocity, color=colour, linewidth=1.0, label=label)
        axes.set_ylabel(f"{names[direction]}, cm/s")
        axes.margins(x=0.01)
    panels[0].set_title(title)
    panels[-1].set_xlabel("s after the rupture begins")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower left", ncols=2, fontsize=8)
    return figure


@drawing
def timeline_figure(record: HazardRecord) -> Figure:
    """What each core was given to, and for how much of it jobs computed."""
    figure = new_figure(6.2, 1.6 + 0.5 * min(record.cores, 16))
    axes = figure.subplots()
    for task in record.tasks:
        colour = KINDS.get(task["kind"], MUTED)
        seconds = task["ended_s"] - task["begun_s"]
        for core in task["cores"]:
            axes.barh(core, seconds, left=task["begun_s"], height=0.8, color=colour, edgecolor="white", linewidth=0.8)
        if seconds > 0.08 * record.jobs_s:
            said = task["site"] + (f" {task['name'][-1]}" if task["kind"] == "waves" else "")
            at = task["begun_s"] + seconds / 2, min(task["cores"])
            axes.text(*at, said, ha="center", va="center", fontsize=7, color="white", clip_on=True)
    for kind, colour in KINDS.items():
        axes.plot([], [], color=colour, linewidth=7, label=kind)
    axes.set_yticks(range(record.cores), [f"core {core}" for core in range(record.cores)])
    axes.invert_yaxis()
    axes.set(xlabel="s", xlim=(0, max(record.jobs_s, 1e-3)))
    axes.set_title(
        f"{record.schedule}: {record.jobs_s:.1f} s; {record.given:.0%} given to jobs, {record.computed:.0%} computing"
    )
    figure.legend(loc="outside lower left", ncols=len(KINDS), fontsize=8)
    return figure
