"""`craton waves in-situ`: what modules cost a wave run, as a table, and the map that one of them makes."""

from __future__ import annotations

import csv
import tempfile
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from rich.table import Table

from craton.errors import UserError
from craton.pages.figures import new_figure, save_picture
from craton.pages.maps import label_axes
from craton.pages.style import styled
from craton.runs.files import replaced
from craton.seismology.wave_run.config import Config
from craton.seismology.wave_run.refinement import parts_of
from craton.waves import in_situ

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from mpi4py import MPI
    from rich.console import Console

__all__ = ["check_output", "peak_picture", "run"]

ENDINGS = (".csv", ".png", ".svg", ".pdf")


def check_output(output: Path | None) -> None:
    """UserError for a file of an unknown kind: now, and not after all runs."""
    if output is not None and output.suffix.lower() not in ENDINGS:
        raise UserError(f"--output {output}: ending '{output.suffix}'; allowed: {', '.join(ENDINGS)}")


def run(config: Config, comm: MPI.Comm, every: int, output: Path | None, console: Console | None) -> dict[str, Any]:
    """Collective: the costs as a table on the console, the map into a file; returns the figures, on rank 0."""
    with tempfile.TemporaryDirectory(prefix="craton-in-situ-") as own:
        folder = Path(comm.bcast(own, root=0))
        found = in_situ.costs_of_modules(config, comm, folder, every=every)
    if found.peak is None:
        return {}
    peak_m_s = float(found.peak.max())
    if console is not None:
        console.print(_table(config, comm.size, found.costs))
        console.print(
            f"peak horizontal velocity, every {every} steps: {100 * peak_m_s:.4g} cm/s at most; "
            f"in place and from files the same within {found.difference:.2g} of it",
            highlight=False,
            soft_wrap=True,
        )
    if output is not None and output.suffix.lower() == ".csv":
        _write(config, found.peak, output)
    elif output is not None:
        save_picture(peak_picture(config, found.peak), output)
    costs = [asdict(cost) for cost in found.costs]
    return {"costs": costs, "every": every, "peak_m_s": peak_m_s, "difference": found.difference}


def _table(config: Config, ranks: int, costs: list[in_situ.Cost]) -> Table:
    title = f"{config.path.name}: {costs[0].steps} steps on {ranks} rank{'' if ranks == 1 else 's'}"
    table = Table(title=title, title_justify="left")
    for column in ("modules", "steps, s", "of the solver's thread, s", "afterwards, s", "more than without"):
        table.add_column(column, justify="left" if column == "modules" else "right")
    for cost in costs:
        more = 100 * ((cost.seconds + cost.afterwards_s) / costs[0].seconds - 1)
        seconds = (cost.seconds, cost.module_seconds, cost.afterwards_s)
        table.add_row(cost.modules, *(f"{one:.3f}" for one in seconds), f"{more:+.1f}%")
    return table


def _write(config: Config, peak: in_situ.Map, output: Path) -> None:
    """Middles of cells."""
    h = config.grid.spacing_m
    with replaced(output) as aside, aside.open("w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(["x_m", "y_m", "peak_m_s"])
        for (j, i), value in np.ndenumerate(peak):
            writer.writerow([f"{(i + 0.5) * h:.10g}", f"{(j + 0.5) * h:.10g}", f"{value:.9g}"])


def peak_picture(config: Config, peak: in_situ.Map) -> Figure:
    """A map of the largest velocity. Without the absorbing sides, in which there is no ground."""
    boundary, h = config.boundary, 1e-3 * config.grid.spacing_m
    layer = parts_of(config)[0].layer_cells if boundary.absorbing != "none" else 0
    ground = peak[layer : peak.shape[0] - layer, layer : peak.shape[1] - layer]
    y, x = ((layer * h, (count - layer) * h) for count in peak.shape)
    with styled():
        figure = new_figure(6.4, 4.8)
        axes = figure.subplots()
        drawn = axes.imshow(100 * ground.T, origin="lower", extent=(*y, *x), aspect="equal", cmap="magma_r", vmin=0)
        figure.colorbar(drawn, ax=axes, label="cm/s", shrink=0.8)
        label_axes(axes, config.grid.azimuth_deg)
        axes.set_title("peak horizontal velocity at the surface")
    return figure
