"""Seismograms beside the data, and how well each path is fitted."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from craton.pages.figures import new_figure
from craton.pages.page import Picture, Section
from craton.pages.style import ACCENT, SECOND, drawing
from craton.runs.words import counted, range_text
from craton.tomography.report.drawing import draw_traces, traces
from craton.tomography.results import Results, waveform_reduction


def fits_section(results: Results) -> Section:
    """Seismograms of a finished run."""
    some = (
        "Best, median and worst fits of the final model; each trace is scaled by the data's largest value. Percentages: "
        "1 − ‖d − g‖² / ‖d‖² of the starting and of the final model."
    )
    every = "The same percentage of every path, by number of paths and by epicentral distance."
    by_name = "One path by name: craton tomography fit."
    reduction = 100 * waveform_reduction(results, "final")
    least, middle, best = np.quantile(reduction, (0.0, 0.5, 1.0))
    lines = (
        f"Six panels with three lines each, data, starting model and final model: fits of {best:.0f}% (best), {middle:.0f}% "
        f"(median) and {least:.0f}% (worst)."
    )
    before = np.median(100 * waveform_reduction(results, "initial"))
    far = results.observations.paths.distance_deg()
    median = (
        f"Left: bars of {counted(len(reduction), 'path')} by their fit, median {before:.0f}% of the starting and {middle:.0f}% of "
        f"the final model. Right: a dot for each path, at distances {range_text(far, '°')}."
    )
    pictures = [
        Picture(waveform_figure(results), some, lines),
        Picture(fits_figure(results), f"{every} {by_name}", median),
    ]
    return Section("Waveforms", pictures, "waveforms", "Waveforms")


@drawing
def waveform_figure(results: Results) -> Figure:
    """Two of the best, of the middling and of the worst fits."""
    table = results.observations.paths
    reduction, before = waveform_reduction(results, "final"), waveform_reduction(results, "initial")
    order = np.argsort(reduction)
    last = len(order) - 1
    middle = last // 2, min(last // 2 + 1, last)
    rows = {"best": (last, max(last - 1, 0)), "median": middle, "worst": (min(1, last), 0)}
    figure = new_figure(10.0, 6.6)
    axes = figure.subplots(3, 2)
    distance, names = table.distance_deg(), ("data", "starting model", "final model")
    for line, (kind, ranks) in enumerate(rows.items()):
        for place, rank in zip(axes[line], ranks, strict=True):
            path = int(order[rank])
            event, station = table.events.name[table.event[path]], table.stations.name[table.station[path]]
            time_s, seismograms = traces(results, path)
            scale = np.max(np.abs(seismograms[0])) or 1.0
            draw_traces(place, time_s, [values / scale for values in seismograms], names)
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
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    return figure


@drawing
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
