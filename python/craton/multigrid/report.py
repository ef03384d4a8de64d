"""report.html of a multigrid run: convergence, levels, time, a slice of u."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton.multigrid.folder import MultigridFolder, MultigridRecord
from craton.pages.figures import Figures, new_figure
from craton.pages.page import (
    Block,
    Notice,
    Numbers,
    Page,
    Picture,
    Section,
    Table,
    Text,
    how_to_go_on,
    made_by,
    name_of,
    provenance,
    render,
    summary,
)
from craton.pages.style import ACCENT, COLOURS, MUTED, drawing
from craton.runs.files import write_text
from craton.runs.hdf5_files import opened_hdf5
from craton.runs.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["figures", "write_report"]

MOST_ELONGATED = 6
"""A slice longer than that for its width is drawn wider than it is."""


def write_report(folder: str | Path) -> Path:
    """Draws report.html from what a run has left in its folder; returns its path. Not collective.

    UserError where there is no run, or no whole solution.
    """
    place = MultigridFolder(folder)
    record = place.read_record()
    blocks: list[Block] = [
        _summary(record),
        _convergence(record),
        _slice(place, record),
        _levels(record),
        _times(record),
        _next(place, record),
        provenance(record),
    ]
    cells = " x ".join(map(str, record.cells))
    about = f"{cells} cells, {record.operator}, smoother {record.smoother}. {made_by(record.versions, record.started)}."
    write_text(place.report, render(Page(record.title, "a multigrid solution", about, blocks)))
    return place.report


def figures(folder: str | os.PathLike[str]) -> Figures:
    """Convergence and solution of a run. Not collective. UserError as write_report."""
    place = MultigridFolder(folder)
    record = place.read_record()
    return Figures(convergence=_residual_figure(record), solution=_middle(place, record)[0])


def _summary(record: MultigridRecord) -> Section:
    """What was solved, how it ended, how fast."""
    done = len(record.residuals) - 1
    how = counted(done, "cycle") + " after the F-cycle" if record.method == "cycles" else counted(done, "step")
    words: list[Block] = []
    if not record.converged:
        words.append(Notice(record.stopped_because, "Not converged:"))
    reached = "within" if record.converged else "not yet within"
    words.append(
        Text(
            f"The elliptic equation ({record.operator}) has been solved in {np.prod(record.cells):,} cells on "
            f"{len(record.levels)} levels of grids. After {how} the residual is {record.residuals[-1]:.2e} of the right-hand side, "
            f"{reached} the tolerance of {record.tolerance:g}."
        )
    )
    numbers = [
        (f"{record.residuals[-1]:.2e}", "relative residual"),
        (str(done), "cycles after the F-cycle" if record.method == "cycles" else "steps"),
        (f"{record.reached_s[-1]:.2f} s", "solve"),
        (f"{record.unknowns_per_s / 1e6:.3g} M/s", "unknowns, in the F-cycle"),
    ]
    return summary(words, Numbers(numbers))


def _next(place: MultigridFolder, record: MultigridRecord) -> Section:
    """Commands for this folder."""
    name = name_of(place.path)
    more = [] if record.converged else [("Go on with more cycles", f"craton multigrid resume {name} --cycles 100")]
    return how_to_go_on(
        [
            *more,
            ("Draw this page again", f"craton multigrid report {name}"),
            ("A configuration of your own, with every key explained", "craton multigrid template > my.toml"),
        ]
    )


def _convergence(record: MultigridRecord) -> Section:
    word = "cycle" if record.method == "cycles" else "step"
    rows = []
    for n, (residual, reached) in enumerate(zip(record.residuals, record.reached_s, strict=True)):
        factor = f"{residual / record.residuals[n - 1]:.3f}" if n and record.residuals[n - 1] > 0 else ""
        rows.append([f"{word} {n}" if n else "F-cycle", f"{residual:.3e}", factor, f"{reached:.3f}"])
    caption = (
        "Largest residual over the largest right-hand side, after the F-cycle and each cycle; dashed: the tolerance."
    )
    seen = (
        f"A line on a logarithmic scale: {record.residuals[0]:.1e} at the beginning, {record.residuals[-1]:.1e} after "
        f"{counted(len(rows) - 1, word)}; the tolerance is {record.tolerance:g}."
    )
    header = ["after", "relative residual", "factor", "reached (s)"]
    return Section(
        "Convergence",
        [Picture(_residual_figure(record), caption, seen), Table(header, rows)],
        id="convergence",
        menu="convergence",
    )


@drawing
def _residual_figure(record: MultigridRecord) -> Figure:
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(9.0, 3.0)
    axes = figure.subplots()
    axes.semilogy(np.maximum(record.residuals, 1e-17), "o-", color=ACCENT)
    axes.axhline(record.tolerance, color=MUTED, linestyle="--", linewidth=0.8)
    axes.set(xlabel="cycles after the F-cycle" if record.method == "cycles" else "steps", ylabel="relative residual")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    return figure


def _slice(place: MultigridFolder, record: MultigridRecord) -> Section:
    figure, z, values = _middle(place, record)
    seen = f"Red where u is positive, blue where it is negative; from {values.min():.3g} to {values.max():.3g}."
    picture = Picture(figure, f"u in the plane z = {z:.4g}.", seen, narrow=True)
    return Section("Solution", [picture], id="solution", menu="solution")


def _middle(place: MultigridFolder, record: MultigridRecord) -> tuple[Figure, float, NDArray[np.float64]]:
    """The solution in the plane in the middle of the last dimension: drawn, where that is, its values."""
    middle = record.cells[2] // 2
    with opened_hdf5(place.solution, "the solution of a run", wrong="cannot be read") as file:
        values = file["u"][:, :, middle]
        hx, hy, hz = file.attrs.get("spacing", [1 / max(record.cells)] * 3)
    return _slice_figure(values, (record.cells[0] * hx, record.cells[1] * hy)), (middle + 0.5) * hz, values


@drawing
def _slice_figure(values: NDArray[np.float64], lengths: tuple[float, float]) -> Figure:
    figure = new_figure(5.0, 4.2)
    axes = figure.subplots()
    largest = float(np.abs(values).max()) or 1.0
    image = axes.imshow(
        values.T,
        origin="lower",
        extent=(0, lengths[0], 0, lengths[1]),
        aspect="equal" if max(lengths) <= MOST_ELONGATED * min(lengths) else "auto",
        cmap="RdBu_r",
        vmin=-largest,
        vmax=largest,
    )
    axes.set(xlabel="x", ylabel="y")
    figure.colorbar(image, label="u")
    return figure


def _levels(record: MultigridRecord) -> Section:
    rows = [
        [str(at), " x ".join(map(str, row.cells)), str(row.box), " x ".join(map(str, row.boxes)), str(row.ranks)]
        for at, row in enumerate(record.levels)
    ]
    return Section(
        "Levels", [Table(["level", "cells", "side of a box", "boxes", "ranks"], rows)], id="levels", menu="levels"
    )


def _times(record: MultigridRecord) -> Section:
    phases = _phases(record)
    rows = [
        [str(at), *(f"{row.seconds.get(phase, 0.0):.3f}" for phase in phases)] for at, row in enumerate(record.levels)
    ]
    blocks: list[Block] = [Text(record.time_spent())]
    if phases:
        caption = (
            "Seconds of all cycles by level, of the rank that has spent most; ghost exchange has the waiting in it."
        )
        seen = f"A stacked bar for each of {len(rows)} levels; most of the time went into {phases[0]}."
        blocks += [Picture(_times_figure(record), caption, seen), Table(["level", *phases], rows)]
    return Section("Time", blocks, id="time", menu="time")


def _phases(record: MultigridRecord) -> list[str]:
    """Those that took any time, the longest first."""
    sums: dict[str, float] = {}
    for row in record.levels:
        for phase, seconds in row.seconds.items():
            sums[phase] = sums.get(phase, 0.0) + seconds
    return [phase for phase, seconds in sorted(sums.items(), key=lambda each: -each[1]) if seconds > 0]


@drawing
def _times_figure(record: MultigridRecord) -> Figure:
    figure = new_figure(9.0, 0.9 + 0.3 * len(record.levels))
    axes = figure.subplots()
    done = np.zeros(len(record.levels))
    for n, phase in enumerate(_phases(record)):
        seconds = np.array([row.seconds.get(phase, 0.0) for row in record.levels])
        axes.barh(np.arange(len(done)), seconds, left=done, color=COLOURS[n % len(COLOURS)], label=phase)
        done += seconds
    axes.set(xlabel="seconds", ylabel="level")
    axes.set_yticks(range(len(done)))
    axes.invert_yaxis()
    axes.legend(ncols=3)
    return figure
