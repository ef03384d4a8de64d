"""A picture of who worked when, and who waited, while ranks built J and K."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton.pages.figures import new_figure
from craton.pages.style import ACCENT, COLOURS, LINE, SECOND, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Matrix = NDArray[np.float64]

MOST_ROWS = 96
"""Threads of ranks that are drawn."""
FINEST = 2000
"""Parts of the build's time: shorter pauses between tasks are not drawn."""
WORKING, WAITING = ACCENT, SECOND
PARTS = (
    ("integrals, and adding them up", ("compute_s",), WORKING),
    ("getting densities, adding sums, asking for tasks", ("get_s", "accumulate_s", "queue_s"), COLOURS[2]),
    ("waiting for the last", ("idle_s",), WAITING),
)
REST = ("before and after the tasks", LINE)


def busy_intervals(timeline: Matrix, thread: int, finest_s: float) -> list[tuple[float, float]]:
    """(begin, end) of a thread's tasks, in seconds; those with less than `finest_s` between them are one.

    Rows of the timeline: task, thread, begin, end, predicted cost.
    """
    rows = timeline[timeline[:, 1] == thread]
    found: list[tuple[float, float]] = []
    for begin, end in rows[np.argsort(rows[:, 2], kind="stable"), 2:4].tolist():
        if found and begin - found[-1][1] < finest_s:
            found[-1] = found[-1][0], max(end, found[-1][1])
        else:
            found.append((begin, end))
    return found


@drawing
def load_balance_figure(
    timelines: Sequence[Matrix], spent: Sequence[Mapping[str, float]], threads: int, title: str
) -> Figure:
    """The timeline of each rank in one build, and what it spent its time on in all builds.

    timelines: as busy_intervals takes them. spent: by the names of DistributedFock.statistics.
    """
    rows = [(rank, thread) for rank in range(len(timelines)) for thread in range(threads)]
    drawn = rows[:MOST_ROWS]
    ranks = min(len(spent), MOST_ROWS)
    heights = [1.2 + 0.22 * len(drawn), 1.4 + 0.22 * ranks]
    figure = new_figure(8, 0.8 + sum(heights))
    above, below = figure.subplots(2, 1, height_ratios=heights)
    figure.suptitle(title)
    _draw_build(above, timelines, drawn, len(rows))
    _draw_all(below, spent[:ranks])
    figure.legend(loc="outside lower center", ncols=2, fontsize=8, frameon=False)
    return figure


def _draw_build(plot: Axes, timelines: Sequence[Matrix], drawn: Sequence[tuple[int, int]], rows: int) -> None:
    last_s = max((float(each[:, 3].max()) for each in timelines if len(each)), default=0.0)
    for row, (rank, thread) in enumerate(drawn):
        busy = busy_intervals(timelines[rank], thread, last_s / FINEST)
        plot.barh(row, last_s, height=0.8, color=WAITING, linewidth=0)
        plot.broken_barh([(begin, end - begin) for begin, end in busy], (row - 0.4, 0.8), color=WORKING, linewidth=0)
    left = f", the first {len(drawn)} of {rows}" if rows > len(drawn) else ""
    plot.set_title(f"the longest build: tasks of each thread{left}", fontsize=10)
    plot.set_xlabel("seconds since the common start")
    plot.set_xlim(0, last_s or 1.0)
    several = any(thread for _, thread in drawn)
    names = [f"rank {rank}, thread {thread}" if several else f"rank {rank}" for rank, thread in drawn]
    _name_rows(plot, names)


def _draw_all(plot: Axes, spent: Sequence[Mapping[str, float]]) -> None:
    done = np.zeros(len(spent))
    for name, keys, colour in PARTS:
        seconds = np.array([sum(each[key] for key in keys) for each in spent])
        plot.barh(np.arange(len(spent)), seconds, left=done, height=0.8, color=colour, label=name, linewidth=0)
        done += seconds
    rest = np.maximum(np.array([each["build_s"] for each in spent]) - done, 0)
    plot.barh(np.arange(len(spent)), rest, left=done, height=0.8, color=REST[1], label=REST[0], linewidth=0)
    whole = max(sum(each["build_s"] for each in spent), 1e-9)
    idle = sum(each["idle_s"] for each in spent) / whole
    plot.set_title(f"all builds: {idle:.1%} of the time is waiting for the last", fontsize=10)
    plot.set_xlabel("seconds, mean of a rank's threads")
    _name_rows(plot, [f"rank {rank}" for rank in range(len(spent))])


def _name_rows(plot: Axes, names: Sequence[str]) -> None:
    plot.set_yticks(range(len(names)), names, fontsize=8)
    plot.set_ylim(len(names) - 0.5, -0.5)
