"""What each rank spent its time on."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from craton.pages.figures import new_figure
from craton.pages.page import Details, Picture, Section, Table
from craton.pages.style import MUTED, drawing
from craton.runs.words import counted, range_text
from craton.tomography.folder import RunRecord
from craton.tomography.results import Results

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
MOST_RANKS = 32
"""That are drawn."""


def timing_section(results: Results) -> Section:
    """A bar for each rank; the parts of the assembly."""
    record = results.record
    text = (
        f"{counted(record.ranks, 'rank')} on {counted(record.nodes, 'node')}, "
        f"{counted(record.threads, 'worker thread')} per rank."
    )
    inside = Details("Inside the assembly, summed over the iterations", [assembly_table(record)])
    total: dict[str, float] = {}
    for phases in record.phase_s:
        for name, seconds in phases.items():
            total[name] = total.get(name, 0.0) + seconds
    most = max(total, key=lambda name: total[name], default="")
    ends = range_text([sum(phases.values()) for phases in record.phase_s], "s")
    share = f", {total[most] / sum(total.values()):.0%} of them {most}" if sum(total.values()) else ""
    seen = f"A stacked bar for each of {counted(len(record.phase_s), 'rank')}, {ends} long{share}."
    return Section("Where the time went", [Picture(timing_figure(results), text, seen), inside], "time", "Time")


@drawing
def timing_figure(results: Results) -> Figure:
    """Stacked bars: what each rank spent its time on."""
    ranks = results.record.phase_s
    figure = new_figure(10.0, 1.4 + 0.32 * min(len(ranks), MOST_RANKS))
    axes = figure.subplots()
    shown = ranks[:MOST_RANKS]
    places, left = range(len(shown)), np.zeros(len(shown))
    for name in dict.fromkeys([*PHASE_COLOURS, *(name for phases in ranks for name in phases)]):
        seconds = np.array([phases.get(name, 0.0) for phases in shown])
        if seconds.any():
            axes.barh(places, seconds, left=left, height=0.7, color=PHASE_COLOURS.get(name, MUTED), label=name)
            left += seconds
    axes.set_yticks(places, [f"rank {rank}" for rank in places])
    axes.invert_yaxis()
    axes.set_xlabel("wall-clock seconds")
    axes.set_title("time per phase", loc="left")
    figure.legend(loc="outside lower center", ncols=7, fontsize=8)
    return figure


def assembly_table(record: RunRecord) -> Table:
    """A row for each rank."""
    columns = {
        "panel_s": "seismograms and panels, s", "product_s": "products, s", "update_s": "updates, s",
        "poll_s": "handlers, s", "commit_s": "commit, s", "wall_s": "wall, s", "paths": "paths done", "updates": "updates made",
    }  # fmt: skip
    digits = {name: 0 if name in ("paths", "updates") else 2 for name in columns}
    rows = [
        [f"rank {rank}", *(f"{found.get(name, 0.0):.{places}f}" for name, places in digits.items())]
        for rank, found in enumerate(record.assembly_s)
    ]
    return Table(["assembly", *columns.values()], rows)
