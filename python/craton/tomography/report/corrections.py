"""What was found of earthquakes and stations, where they are unknowns."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from craton.pages.figures import new_figure
from craton.pages.page import Picture, Section, Table
from craton.pages.style import ACCENT, MUTED, SECOND, drawing
from craton.runs.words import counted
from craton.tomography.data.corrections import BY_NAME
from craton.tomography.results import Results

f64 = NDArray[np.float64]


def corrections_section(results: Results) -> Section | None:
    """A row and a panel for each kind; None without such unknowns."""
    record = results.record
    if results.corrections is None or not record.corrections:
        return None
    known = any(one.true_rms is not None for one in record.corrections)
    header = ["unknown", "of", "prior", "rms found", "largest"]
    header += ["rms of the errors", "rms left"] if known else []
    rows = []
    for one in record.corrections:
        row = [one.text, f"{one.number} {one.of}s", f"{one.prior:g} {one.unit}", f"{one.rms:.3g}"]
        row.append(f"{one.largest:.3g} ({one.largest_name})")
        if known:
            row += ["" if value is None else f"{value:.3g}" for value in (one.true_rms, one.left_rms)]
        rows.append(row)
    about = (
        "Found against wrong by, where the errors of the synthetic catalogues are known; a line marks equality."
        if known
        else "How often each size was found; the curve is what the prior expects."
    )
    sizes = ", ".join(f"{one.text} {one.rms:.3g} {one.unit}" for one in record.corrections)
    shape = "dots about a sloping line" if known else "bars with a bell curve"
    seen = f"{counted(len(rows), 'panel')}, {shape}; root mean squares of what was found: {sizes}."
    blocks = [Table(header, rows), Picture(corrections_figure(results), about, seen)]
    return Section("Earthquakes and stations", blocks, "corrections", "Earthquakes, stations")


@drawing
def corrections_figure(results: Results) -> Figure:
    """A panel for each kind of unknowns."""
    assert results.corrections is not None
    corrections, values = results.corrections
    errors = results.errors
    kinds = corrections.kinds
    figure = new_figure(10.0, 2.9 * -(-len(kinds) // 3))
    panels = figure.subplots(-(-len(kinds) // 3), min(3, len(kinds)), squeeze=False).ravel()
    for axes, kind in zip(panels, kinds, strict=False):
        found, unit = corrections.of(kind.name, values).ravel(), BY_NAME[kind.name].unit
        if errors is not None:
            wrong = errors[0].of(kind.name, errors[1]).ravel()
            reach = 1.05 * max(np.abs(wrong).max(), np.abs(found).max(), 1e-12)
            axes.plot([-reach, reach], [-reach, reach], color=MUTED, linewidth=0.8)
            axes.plot(wrong, found, ".", color=ACCENT, markersize=4, alpha=0.7)
            axes.set(xlabel=f"wrong by, {unit}", ylabel=f"found, {unit}")
        else:
            deviation = corrections.deviations[kind.name]
            reach = 1.05 * max(np.abs(found).max(), 3.0 * deviation)
            _, edges, _ = axes.hist(found, 30, (-reach, reach), color=ACCENT, alpha=0.7)
            at = np.linspace(-reach, reach, 200)
            density = np.exp(-0.5 * (at / deviation) ** 2) / (deviation * np.sqrt(2.0 * np.pi))
            axes.plot(at, len(found) * (edges[1] - edges[0]) * density, color=SECOND, linewidth=1.0)
            axes.set(xlabel=unit, ylabel="how many")
        axes.set_title(kind.text)
    for axes in panels[len(kinds) :]:
        axes.set_axis_off()
    return figure
