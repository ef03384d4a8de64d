"""Figures of hazard: map, curves, disaggregation, rupture, seismogram, and what each core did. matplotlib figures of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.patheffects import withStroke
from numpy.typing import NDArray

from craton.errors import UserError
from craton.hazard.curves.curves import HazardCurve
from craton.hazard.curves.disaggregation import Disaggregation
from craton.hazard.folder import HazardRecord
from craton.hazard.forecast.surfaces import unfolded
from craton.hazard.results import Chosen, Results
from craton.pages.figures import new_figure
from craton.pages.maps import axis_names, label_axes
from craton.pages.style import ACCENT, COLOURS, INK, MUTED, SECOND, drawing

__all__ = [
    "curves_figure",
    "disaggregation_figure",
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


@drawing
def map_figure(results: Results, measure: str, probability: float) -> Figure:
    """A map of sites and faults, with the level by interpolation between three sites or more.

    y (east) to the right, x (north) up, km; where the grid is turned, its axes say so.
    """
    found = results.map(measure, probability)
    figure = new_figure(7.2, 5.4)
    axes = figure.subplots()
    low, high = results.work.volume_m
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
    _fault_traces(axes, results)
    at = 1e-3 * found.sites_m
    points = axes.scatter(at[:, 1], at[:, 0], c=values, s=90, edgecolor=INK, linewidth=1.2, zorder=4, **span)
    for name, (up, right), value in zip(results.names, at, values, strict=True):
        said = f"{name}\n{value:.3g} g" if np.isfinite(value) and value > 0 else f"{name}\n–"
        axes.annotate(said, (right, up), (8, 6), textcoords="offset points", fontsize=8.5, fontweight="bold")
    figure.colorbar(points, ax=axes, shrink=0.8, label=f"{measure}, g")
    axes.set(xlim=(1e-3 * low[1], 1e-3 * high[1]), ylim=(1e-3 * low[0], 1e-3 * high[0]), aspect="equal")
    label_axes(axes, results.work.grid.azimuth_deg)
    axes.set_title(f"{measure} exceeded with a probability of {probability:.3g} in {found.years:g} years")
    _hatch(figure, axes, found.note)
    return figure


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
        lines = axes.contour(1e-3 * y, 1e-3 * x, vs, 4, colors=MUTED, linewidths=0.7, alpha=0.8)
        axes.clabel(lines, fmt=lambda v: f"{v:.0f} m/s", fontsize=6.5)


def _fault_traces(axes: Axes, results: Results) -> None:
    seen: dict[str, Array] = {}
    for one in results.work.forecast.ruptures:
        surface = one.surface
        top = surface.positions.reshape(surface.rows, surface.columns, 3)[0]
        if len(top) > len(seen.get(one.source, ())):
            seen[one.source] = top
    for at, (name, top) in enumerate(seen.items()):
        x, y, _ = 1e-3 * top.T
        axes.plot(y, x, color=COLOURS[at % len(COLOURS)], linewidth=2.2, label=name, zorder=3)
    axes.legend(fontsize=8, loc="lower left")


@drawing
def curves_figure(
    curves: Sequence[HazardCurve],
    probability: float | None = None,
    *,
    by_site: bool = False,
    title: str = "",
    others: Mapping[str, HazardCurve] | None = None,
) -> Figure:
    """Curves of one site for several measures, or (by_site) of one measure at several sites. others: dashed, by their names."""
    figure = new_figure(6.4, 4.4)
    axes = figure.subplots()
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
    axes.set_ylim(max(1e-8, 0.5 * float(positive.min(initial=1.0))), 1.1)
    axes.set(xlabel="spectral acceleration, g", title=title)
    axes.set_ylabel(f"probability of exceedance in {curves[0].years:g} years")
    axes.grid(visible=True, which="major", color="#e3e8eb", linewidth=0.7)
    axes.legend(fontsize=8)
    return figure


@drawing
def disaggregation_figure(found: Disaggregation, title: str = "") -> Figure:
    """Shares by distance and magnitude, sources stacked."""
    figure = new_figure(6.4, 4.4)
    axes = figure.add_subplot(projection="3d")
    m, d = found.middles
    wide = 0.7 * np.array([1e-3 * np.diff(found.distance_edges_m)[0], np.diff(found.magnitude_edges)[0]])
    base = np.zeros((len(m), len(d)))
    for k, source in enumerate(found.sources):
        share = 100 * found.shares[:, :, k]
        i, j = np.nonzero(share > 0)
        if not len(i):
            continue
        colour = COLOURS[k % len(COLOURS)]
        axes.bar3d(d[j] - wide[0] / 2, m[i] - wide[1] / 2, base[i, j], *wide, share[i, j], color=colour, shade=True)
        axes.plot([], [], color=colour, linewidth=6, label=f"{source}: {share.sum():.0f}%")
        base += share
    axes.set(xlabel="distance, km", ylabel="magnitude", zlabel="share, %")
    axes.set_xlim(0, 1e-3 * float(found.distance_edges_m[-1]))
    lowest, highest = (float(found.magnitude_edges[end]) for end in (0, -1))
    axes.set_ylim(lowest, max(highest, lowest + 0.5))
    axes.view_init(elev=28, azim=-55)
    axes.set_title(title)
    axes.legend(fontsize=8, loc="upper left")
    _hatch(figure, axes, found.note)
    return figure


@drawing
def rupture_figure(chosen: Chosen, name: str) -> Figure:
    """Slip over the unfolded surface, and where the rupture is at each time. name: of one of its variations."""
    figure = new_figure(6.4, 2.9)
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
    axes.set(xlabel="along strike, km", ylabel="down dip, km")
    axes.set_title(
        f"{chosen.source} {chosen.number}, M {chosen.magnitude:.2f}: variation {int(part['number'])} ({name} shaking)"
    )
    return figure


def _step(values: Array) -> float:
    return float(values[1] - values[0]) if len(values) > 1 else 1.0


@drawing
def seismogram_figure(chosen: Chosen, title: str = "", *, azimuth_deg: float = 0.0) -> Figure:
    """Velocities of the chosen variations, a panel for each direction. azimuth_deg: of the x axis."""
    names = axis_names(azimuth_deg)
    figure = new_figure(9.0, 1.2 + 1.4 * len(chosen.directions))
    panels = np.ravel(figure.subplots(len(chosen.directions), 1, sharex=True, sharey=True))
    for n, (axes, direction) in enumerate(zip(panels, chosen.directions, strict=True)):
        for (name, part), colour in zip(chosen.variations.items(), (SECOND, ACCENT), strict=False):
            velocity = 100 * np.asarray(part["velocity_m_s"])[n]
            time, label = chosen.dt_s * np.arange(len(velocity)), f"{name} shaking: variation {int(part['number'])}"
            axes.plot(time, velocity, color=colour, linewidth=1.0, label=label)
        axes.set_ylabel(f"{names[direction]}, cm/s")
        axes.margins(x=0.01)
    panels[0].set_title(title)
    panels[0].legend(fontsize=8, loc="upper right", ncols=2)
    panels[-1].set_xlabel("s after the rupture begins")
    return figure


@drawing
def timeline_figure(record: HazardRecord) -> Figure:
    """What each core was given to, and for how much of it jobs computed."""
    figure = new_figure(10.0, 1.5 + 0.5 * min(record.cores, 16))
    axes = figure.subplots()
    for task in record.tasks:
        colour = KINDS.get(task["kind"], MUTED)
        seconds = task["ended_s"] - task["begun_s"]
        for core in task["cores"]:
            axes.barh(core, seconds, left=task["begun_s"], height=0.8, color=colour, edgecolor="white", linewidth=0.8)
        if seconds > 0.035 * record.jobs_s:
            said = task["site"] + (f" {task['name'][-1]}" if task["kind"] == "waves" else "")
            at = task["begun_s"] + seconds / 2, min(task["cores"])
            axes.text(*at, said, ha="center", va="center", fontsize=7, color="white", clip_on=True)
    for kind, colour in KINDS.items():
        axes.plot([], [], color=colour, linewidth=7, label=kind)
    axes.set_yticks(range(record.cores), [f"core {core}" for core in range(record.cores)])
    axes.invert_yaxis()
    axes.set(xlabel="s", xlim=(0, max(record.jobs_s, 1e-3)))
    axes.set_title(
        f"{record.schedule}: {record.jobs_s:.1f} s; {record.given:.0%} of cores given to jobs, {record.computed:.0%} computing"
    )
    figure.legend(loc="outside lower left", ncols=len(KINDS), fontsize=8)  # on narrow screens the right is out of sight
    return figure
