"""Pictures of an inversion: depth slices, sections, fits of windows, the misfit's fall, where the data say something."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from craton.pages.figures import Figures, new_figure
from craton.pages.style import ACCENT, INK, MUTED, OBSERVED, SECOND, drawing
from craton.regional.comparison import target_at_knots
from craton.regional.measurements import Misfit
from craton.regional.results import Results, read_results
from craton.regional.study import Pairing
from craton.regional.windows import Window

__all__ = ["figures", "fits_figure", "misfit_figure", "resolution_figure", "sections_figure", "slices_figure"]

f64 = NDArray[np.float64]

COLOURS = "RdBu"
PIXELS = 80
"""Along the longer side of a slice."""
MOST_SLICES, MOST_WINDOWS = 4, 12
SMOOTHER = 8
"""Points of a line for each sample."""
LABELS = {"vp": "dln vp", "vs": "dln vs", "rho": "dln ρ"}
ROWS = {"target": "target", "found": "found"}


def figures(folder: str | os.PathLike[str]) -> Figures:
    """Misfit, slices, sections and resolution of each parameter, and fits. Not collective. UserError as of read_results."""
    results = read_results(folder)
    found = Figures(misfit=misfit_figure(results))
    for name in results.parameters:
        found[f"slices-{name}"] = slices_figure(results, name)
        found[f"sections-{name}"] = sections_figure(results, name)
        if results.deviation is not None:
            found[f"resolution-{name}"] = resolution_figure(results, name)
    found["fits"] = fits_figure(results)
    return found


def fields_of(results: Results, parameter: str) -> dict[str, f64]:
    """The target, where there is one, and the model, at knots (x, y, z), in percent."""
    number, shape = results.parameters.index(parameter), results.study.knots.counts
    found = {"found": 100 * results.change[number]}
    if results.study.config.is_synthetic:
        target = results.study.parts(target_at_knots(results.study))[number]
        found = {"target": 100 * target.reshape(shape), **found}
    return found


def shown_depths(results: Results) -> list[int]:
    """Numbers of the knots' depths that are shown, from the top down."""
    count = results.study.knots.counts[2]
    return sorted({round(at) for at in np.linspace(0, count - 1, min(MOST_SLICES, count))})


def colour_limit(fields: Sequence[f64]) -> float:
    """Percent at the ends of the colours."""
    largest = max(float(np.abs(field).max()) for field in fields)
    return float(f"{largest:.1g}") if largest > 0 else 1.0


@drawing
def slices_figure(results: Results, parameter: str) -> Figure:
    """Depth slices, a column for each depth; hatched where the data do not resolve the model."""
    fields, depths = fields_of(results, parameter), shown_depths(results)
    limit, resolved = colour_limit(list(fields.values())), results.resolved
    figure = new_figure(2.1 * len(depths) + 0.7, 2.3 * len(fields) + 0.3)
    axes = figure.subplots(len(fields), len(depths), squeeze=False, sharex=True, sharey=True)
    for row, (name, values) in zip(axes, fields.items(), strict=True):
        for axis, depth in zip(row, depths, strict=True):
            shade = _slice(axis, results, values, depth, limit)
            if name == "found" and resolved is not None:
                _hatch(axis, results, resolved[results.parameters.index(parameter)], depth)
            _marks(axis, results)
            axis.set_title(f"{name}, {results.study.knots.axes_m[2][depth] / 1e3:.3g} km")
    for axis in axes[:, 0]:
        axis.set_ylabel("north, km")
    for axis in axes[-1]:
        axis.set_xlabel("east, km")
    figure.colorbar(shade, ax=axes, label=f"{LABELS[parameter]}, %", shrink=0.8)
    return figure


def _slice(axis: Axes, results: Results, values: f64, depth: int, limit: float):  # type: ignore[no-untyped-def]
    """Draws values (x, y, z) of knots at a depth; gives what a colour bar needs."""
    knots = results.study.knots
    x, y = (np.linspace(a[0], a[-1], PIXELS) for a in (knots.x_m, knots.y_m))
    points = np.stack([*np.meshgrid(x, y, indexing="ij"), np.full((PIXELS, PIXELS), knots.axes_m[2][depth])], axis=-1)
    field = knots.field(values.ravel(), points.reshape(-1, 3)).reshape(PIXELS, PIXELS)
    axis.set_aspect("equal")
    return axis.pcolormesh(y / 1e3, x / 1e3, field, cmap=COLOURS, vmin=-limit, vmax=limit, rasterized=True)


def _hatch(axis: Axes, results: Results, resolved: NDArray[np.bool_], depth: int) -> None:
    """Over the cells of knots that are not resolved."""
    x, y, _ = results.study.knots.axes_m
    unknown = ~resolved[:, :, depth]
    if unknown.any() and len(x) > 1 and len(y) > 1:
        axis.contourf(
            y / 1e3,
            x / 1e3,
            unknown.astype(float),
            levels=[0.5, 1.5],
            colors="none",
            hatches=["////"],
            extend="neither",
        )


def _marks(axis: Axes, results: Results) -> None:
    """Stations and earthquakes from above."""
    stations, sources = results.study.receivers.position_m / 1e3, results.study.sources_m / 1e3
    axis.scatter(stations[:, 1], stations[:, 0], marker="^", s=10, c=INK, linewidths=0)
    axis.scatter(sources[:, 1], sources[:, 0], marker="*", s=22, c="white", edgecolors=INK, linewidths=0.5)


@drawing
def sections_figure(results: Results, parameter: str) -> Figure:
    """Vertical sections along north and along east, through the largest change that was found."""
    fields, knots = fields_of(results, parameter), results.study.knots
    limit = colour_limit(list(fields.values()))
    i, j, _ = np.unravel_index(int(np.argmax(np.abs(fields["found"]))), knots.counts)
    at = {0: float(knots.axes_m[1][j]), 1: float(knots.axes_m[0][i])}
    figure = new_figure(8.6, 1.7 * len(fields) + 0.4)
    axes = figure.subplots(len(fields), 2, squeeze=False, sharey=True)
    z = np.linspace(0.0, knots.z_m[-1], PIXELS)
    for row, (name, values) in zip(axes, fields.items(), strict=True):
        for along, axis in enumerate(row):
            line = np.linspace(
                knots.x_m[0] if along == 0 else knots.y_m[0], (knots.x_m if along == 0 else knots.y_m)[-1], PIXELS
            )
            points = np.empty((PIXELS, PIXELS, 3))
            points[..., along], points[..., 1 - along], points[..., 2] = line[:, None], at[along], z[None, :]
            field = knots.field(values.ravel(), points.reshape(-1, 3)).reshape(PIXELS, PIXELS)
            shade = axis.pcolormesh(
                line / 1e3, z / 1e3, field.T, cmap=COLOURS, vmin=-limit, vmax=limit, rasterized=True
            )
            axis.set_ylim(z[-1] / 1e3, 0.0)
            axis.set_aspect("equal")
            across = "east" if along == 0 else "north"
            axis.set_title(f"{name}, {across} {at[along] / 1e3:.3g} km")
    for axis, name in zip(axes[-1], ("north", "east"), strict=True):
        axis.set_xlabel(f"{name}, km")
    for axis in axes[:, 0]:
        axis.set_ylabel("depth, km")
    figure.colorbar(shade, ax=axes, label=f"{LABELS[parameter]}, %", shrink=0.8)
    return figure


@drawing
def resolution_figure(results: Results, parameter: str) -> Figure:
    """What part of the standard deviation before data and prior leave, depth by depth."""
    assert results.deviation is not None
    left = (
        results.deviation
        / np.array([results.study.config.strength(one) for one in results.parameters])[:, None, None, None]
    )
    number, depths = results.parameters.index(parameter), shown_depths(results)
    figure = new_figure(2.1 * len(depths) + 0.7, 2.6)
    axes = figure.subplots(1, len(depths), squeeze=False, sharey=True)[0]
    x, y, z = results.study.knots.axes_m
    for axis, depth in zip(axes, depths, strict=True):
        shade = axis.pcolormesh(
            y / 1e3, x / 1e3, left[number][:, :, depth], cmap="viridis_r", vmin=0, vmax=1, rasterized=True
        )
        axis.set_aspect("equal")
        axis.set_title(f"{z[depth] / 1e3:.3g} km")
        axis.set_xlabel("east, km")
        _marks(axis, results)
    axes[0].set_ylabel("north, km")
    figure.colorbar(shade, ax=axes, label="error left", shrink=0.8)
    return figure


@drawing
def misfit_figure(results: Results) -> Figure:
    """2 chi / N of the data by wave runs: 1 where they fit as their noise lets them."""
    figure = new_figure(4.4, 2.8)
    axis = figure.subplots()
    done = results.record.iterations
    fits = [2 * one.chi_data / results.record.samples for one in done]
    axis.semilogy([one.simulations for one in done], fits, "o-", color=ACCENT)
    for one, fit in zip(done, fits, strict=True):
        axis.annotate(f"{fit:.3g}", (one.simulations, fit), xytext=(4, 4), textcoords="offset points", fontsize=8)
    axis.axhline(1.0, color=MUTED, linewidth=0.8, linestyle="--")
    axis.set_xlabel("wave runs")
    axis.set_ylabel("2 χ / N of the data")
    return figure


def shown_windows(results: Results) -> list[Pairing]:
    """Windows from the worst fit at the start to the best, evenly."""
    study = results.study
    misfit = Misfit(study, results.data)
    used = [one for one in study.pairings if misfit.uses(one)]
    worst = sorted(used, key=lambda one: -float(np.mean(misfit.residual_of(one, results.first.samples) ** 2)))
    return [
        worst[at] for at in sorted({round(at) for at in np.linspace(0, len(worst) - 1, min(MOST_WINDOWS, len(worst)))})
    ]


@drawing
def fits_figure(results: Results) -> Figure:
    """Observed samples of some windows beside those of the starting model and of the last one."""
    shown = shown_windows(results)
    rows = -(-len(shown) // 3)
    figure = new_figure(9.0, 1.5 * rows + 0.4)
    axes = figure.subplots(rows, min(3, len(shown)), squeeze=False).ravel()
    for axis, one in zip(axes, shown, strict=False):
        observed, fine = results.data.observed[one.samples], finer(one.window)
        scale = float(np.abs(observed).max()) or 1.0
        for by, colour, name in ((results.first, SECOND, "start"), (results.last, ACCENT, "found")):
            axis.plot(fine.times_s, results.motion(by, one, fine) / scale, color=colour, linewidth=1.0, label=name)
        axis.plot(one.window.times_s, observed / scale, ".", color=OBSERVED, markersize=3, label="observed")
        name = f"{results.study.config.events[one.event].name}, {results.study.receivers.names[one.station]} {one.component}"
        axis.set_title(name, fontsize=8)
        axis.set_yticks([])
    for axis in axes[len(shown) :]:
        axis.set_visible(False)
    for axis in axes[max(0, len(shown) - 3) : len(shown)]:
        axis.set_xlabel("s")
    axes[0].legend(loc="lower right", fontsize=7)
    return figure


def finer(window: Window) -> Window:
    """The same window with samples for a smooth line."""
    return replace(window, step_s=window.step_s / SMOOTHER)


def unresolved_part(results: Results) -> float:
    """Of all knots, those that the data do not resolve."""
    return 1.0 if results.resolved is None else float(np.mean(~results.resolved))
