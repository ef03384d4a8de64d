"""`craton hazard in-situ`: what modules cost a wave run, as a table, and the map that one of them makes."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from rich.table import Table

from craton.hazard import in_situ
from craton.hazard.pictures import new_figure, styled
from craton.pictures import save_picture
from craton.waves.config import Config, load_config

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["loaded", "run"]


def loaded(path: Path) -> Config:
    return load_config(path)


def run(config: Config, comm: MPI.Comm, every: int, output: Path | None, console: Any) -> None:
    """Collective."""
    with tempfile.TemporaryDirectory(prefix="craton-in-situ-") as own:
        folder = Path(comm.bcast(own, root=0))
        costs, peak = in_situ.costs_of_modules(config, comm, folder, every=every)
    if console is None:
        return
    table = Table(title=f"{config.path.name}: {costs[0].steps} steps on {comm.size} ranks", title_justify="left")
    for column in ("modules", "steps, s", "more than without", "their own threads, s"):
        table.add_column(column, justify="left" if column == "modules" else "right")
    for cost in costs:
        more = 100 * (cost.seconds / costs[0].seconds - 1)
        table.add_row(cost.modules, f"{cost.seconds:.3f}", f"{more:+.1f}%", f"{cost.module_seconds:.3f}")
    console.print(table)
    if output is not None and peak is not None:
        _draw(config, peak, output)


def _draw(config: Config, peak: NDArray[np.float32], output: Path) -> None:
    with styled():
        figure = new_figure(6.4, 4.8)
        axes = figure.subplots()
        x, y = (1e-3 * size for size in config.size_m[:2])
        drawn = axes.imshow(100 * peak.T, origin="lower", extent=(0, y, 0, x), aspect="equal", cmap="magma_r")
        figure.colorbar(drawn, ax=axes, label="cm/s", shrink=0.8)
        axes.set(xlabel="east, km", ylabel="north, km", title="peak horizontal velocity at the surface")
        save_picture(figure, output)
