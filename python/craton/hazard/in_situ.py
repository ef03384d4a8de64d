"""Hazard inside a wave run: modules that look at the fields while the solver goes on (Cui et al. 2013, section VII.B).

    peak = PeakVelocity(config.cells)
    simulation.watch(peak, ("vx", "vy"), every=5, high=(nx, ny, 1))     # the surface
    simulation.advance(simulation.steps)
    simulation.finish()
    peak.gathered(comm)                                                 # (ny, nx), m/s, on rank 0

The writer of strain Green's tensors ([sgt]) is such a module too. `craton hazard in-situ` runs the same waves without modules, with
each, and with both, and says what they cost.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import craton
from craton.errors import UserError
from craton.waves.command import in_place_gb_s
from craton.waves.config import Config
from craton.waves.simulation import Simulation

if TYPE_CHECKING:
    from pathlib import Path

    from mpi4py import MPI

__all__ = ["Cost", "PeakVelocity", "costs_of_modules"]

Fields = dict[str, NDArray[np.float32]]


class PeakVelocity:
    """The largest horizontal speed so far, m/s, of each cell of the surface that this rank has. Called on a thread of its own."""

    def __init__(self, cells: tuple[int, int, int]) -> None:
        self.shape = (cells[1], cells[0])
        self.peak: NDArray[np.float32] | None = None
        self.first = (0, 0)
        self.calls = 0

    def __call__(self, _step: int, _time_s: float, fields: Fields, first: tuple[int, int, int]) -> None:
        vx, vy = fields["vx"], fields["vy"]
        if not vx.size:
            return
        speed = np.hypot(vx[0], vy[0])
        if self.peak is None:
            self.peak, self.first = speed, (first[1], first[0])
        else:
            np.maximum(self.peak, speed, out=self.peak)
        self.calls += 1

    def gathered(self, comm: MPI.Comm) -> NDArray[np.float32] | None:
        """Collective: (y, x) of the whole surface on rank 0, None elsewhere."""
        parts = comm.gather((self.first, self.peak), root=0)
        if parts is None:
            return None
        whole = np.zeros(self.shape, np.float32)
        for (j, i), part in parts:
            if part is not None:
                whole[j : j + part.shape[0], i : i + part.shape[1]] = part
        return whole


@dataclass(frozen=True)
class Cost:
    """Of a run with some modules: seconds of wall clock of its steps, and of the modules' own threads."""

    modules: str
    seconds: float
    module_seconds: float
    steps: int


def costs_of_modules(
    config: Config, comm: MPI.Comm, folder: Path, *, every: int, repeats: int = 2
) -> tuple[list[Cost], NDArray[np.float32] | None]:
    """Collective: the waves of a configuration with [sgt] points without modules, with each and with both, best of some repeats, in
    turns; and the map of peak velocity (rank 0). Files of the tensors are written into folder and removed again."""
    if not config.sgt.points:
        raise config.wrong(
            "[sgt] points is missing; allowed: a file of points, for the module that writes their strains"
        )
    if every < 1:
        raise UserError(f"every {every} steps; allowed: 1 or more")
    craton.check_mpi()
    in_place_gb_s(config.run.threads)  # pages and clocks are warm
    kinds = {"none": (False, False), "SGT writer": (True, False), "peak velocity": (False, True), "both": (True, True)}
    best: dict[str, Cost] = {}
    peak = None
    for _ in range(repeats):
        for name, (tensors, peaks) in kinds.items():
            cost, found = _timed(config, comm, folder, name, tensors, every if peaks else 0)
            peak = found if found is not None else peak
            if name not in best or cost.seconds < best[name].seconds:
                best[name] = cost
    return list(best.values()), peak


def _timed(
    config: Config, comm: MPI.Comm, folder: Path, name: str, tensors: bool, every: int
) -> tuple[Cost, NDArray[np.float32] | None]:
    simulation = Simulation(config, craton.World(comm, 0), comm)
    path, peak = folder / "in-situ-sgt.h5", PeakVelocity(config.cells)
    nx, ny, _ = config.cells
    if tensors:
        points = np.ascontiguousarray(simulation.setup.sgt_points, np.float64)
        when = simulation.schedule(config.sgt.every, "[sgt]")
        simulation.run.write_strains(str(path), when, points, {}, min(config.sgt.aggregate or 64, when.samples), 0, {})
    if every:
        simulation.watch(peak, ("vx", "vy"), every, high=(nx, ny, 1))
    comm.Barrier()
    begun = time.perf_counter()
    simulation.advance(simulation.steps)
    simulation.finish()
    comm.Barrier()
    seconds = time.perf_counter() - begun
    spent = sum(simulation.run.module_seconds.values())
    found = peak.gathered(comm) if every else None
    if comm.rank == 0:
        path.unlink(missing_ok=True)
    return Cost(name, seconds, spent, simulation.steps), found
