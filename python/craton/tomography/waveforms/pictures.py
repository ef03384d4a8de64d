"""Pictures of what became of the data: a record section with its windows, and the reasons for what was left out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from craton.pages.figures import new_figure
from craton.pages.style import OBSERVED, SECOND, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from craton.tomography.waveforms.picking import DrawnTrace
    from craton.tomography.waveforms.preparation import Preparation

MOST_TRACES = 60
"""On one component; the ones drawn are spread evenly over the distances."""
MOST_DRAWN = 1.5
"""Synthetic amplitudes are cut at so many times the observed ones: one wrong response must not spoil the picture."""
ACCEPTED, REJECTED = "#1b7837", "#bdbdbd"


@drawing
def record_section_figure(prepared: Preparation) -> Figure:
    """Observed (black) and synthetic (orange) by distance, one panel per component; accepted windows are green."""
    components = list(dict.fromkeys(trace.component for trace in prepared.traces))
    figure = new_figure(7.0 * len(components), 9.0)
    for panel, component in enumerate(components):
        axes = figure.add_subplot(1, len(components), panel + 1)
        traces = sorted((t for t in prepared.traces if t.component == component), key=lambda t: t.distance_deg)
        if len(traces) > MOST_TRACES:
            traces = [traces[i] for i in np.linspace(0, len(traces) - 1, MOST_TRACES).round().astype(int)]
        _section(axes, prepared, component, traces)
    return figure


def _section(axes: Axes, prepared: Preparation, component: str, traces: list[DrawnTrace]) -> None:
    interval_s = prepared.table.sample_interval_s
    spread = max(traces[-1].distance_deg - traces[0].distance_deg, 1.0) if traces else 1.0
    height = max(0.6 * spread / max(len(traces), 1), 0.5)
    windows: dict[tuple[int, int], list[Any]] = {}
    for window in prepared.table.windows:
        if window.component == component:
            windows.setdefault((window.event, window.station), []).append(window)
    end_s = 0.0
    for trace in traces:
        scale = height / max(float(np.max(np.abs(trace.observed.samples))), 1e-30)
        times = interval_s * np.arange(trace.observed.first, trace.observed.end)
        axes.plot(times, trace.distance_deg + scale * trace.observed.samples, color=OBSERVED, lw=0.7)
        end_s = max(end_s, float(times[-1]))
        if trace.synthetic is not None:
            shown = scale * trace.synthetic[: max(trace.observed.end, 0)]
            shown = trace.distance_deg + np.clip(shown, -MOST_DRAWN * height, MOST_DRAWN * height)
            axes.plot(interval_s * np.arange(len(shown)), shown, color=SECOND, lw=0.6)
        for window in windows.get((trace.event, trace.station), ()):
            if window.samples:
                span_s = [window.t_first_s, window.t_first_s + (window.samples - 1) * interval_s]
                low, high = trace.distance_deg - height, trace.distance_deg + height
                colour = ACCEPTED if window.accepted else REJECTED
                axes.fill_between(span_s, low, high, color=colour, alpha=0.25, lw=0)
        axes.annotate(
            prepared.table.stations.name[trace.station], (1.0, trace.distance_deg),
            xycoords=("axes fraction", "data"), fontsize=6, va="center",
        )  # fmt: skip
    axes.set(
        xlabel="seconds after the centroid time", ylabel="epicentral distance, degrees", title=f"component {component}"
    )
    axes.set_xlim(right=end_s)
    axes.text(
        0.01, 0.005, "black: observed, orange: synthetic; green: accepted window, grey: rejected",
        transform=axes.transAxes, fontsize=7,
    )  # fmt: skip


@drawing
def reasons_figure(prepared: Preparation) -> Figure:
    """Bars: how often each reason was given, and how many windows were accepted."""
    counts = {("window", "accepted"): len(prepared.table.accepted), **prepared.ledger.counts()}
    labels = [f"{stage}: {code}" for stage, code in counts]
    figure = new_figure(8.0, 1.2 + 0.3 * len(counts))
    axes = figure.add_subplot()
    colours = [ACCEPTED if key == ("window", "accepted") else REJECTED for key in counts]
    bars = axes.barh(labels, list(counts.values()), color=colours)
    axes.bar_label(bars, padding=3, fontsize=8)
    axes.invert_yaxis()
    axes.set(xlabel="how often", title="what was left out, and why")
    axes.margins(x=0.1)
    return figure
