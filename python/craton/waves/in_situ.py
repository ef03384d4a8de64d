"""Measures made inside a wave run: modules look at the fields while the solver goes on (Cui et al. 2013, section VII.B).

    peak = PeakVelocity(config.cells)
    simulation.watch(peak, ("vx", "vy"), every=5, high=(nx, ny, 1))     # the surface
    simulation.advance(simulation.steps)
    simulation.finish()
    peak.gathered(comm)                                                 # (ny, nx), m/s, on rank 0

The writer of strain Green's tensors ([sgt]) is such a module too. `craton waves in-situ` runs the same waves without modules, with
each, and with both; with files of the surface's velocity instead, from which the same map is made afterwards; and says what each
costs and how far the two maps are apart.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

import craton
from craton.errors import UserError
from craton.runs.hdf5_files import opened_hdf5
from craton.seismology.wave_run.config import Config
from craton.waves.bandwidth import in_place_gb_s
from craton.waves.simulation import Simulation

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["Cost", "Findings", "PeakVelocity", "costs_of_modules", "peak_of_files"]

Fields = dict[str, NDArray[np.float32]]
Map = NDArray[np.float32]
AT_ONCE_BYTES = 2**26
"""Bytes of each field that are read together from a file of snapshots."""
PEAK, FILES = "peak velocity", "snapshot files"
KINDS = {
    "none": frozenset[str](),
    "SGT writer": frozenset({"tensors"}),
    PEAK: frozenset({"peak"}),
    "both": frozenset({"tensors", "peak"}),
    FILES: frozenset({"files"}),
}


class PeakVelocity:
    """The largest horizontal speed so far, m/s, of each cell of the surface that this rank has. Called on a thread of its own."""

    def __init__(self, cells: tuple[int, int, int]) -> None:
        self.shape = (cells[1], cells[0])
        self.peak: Map | None = None
        self.first = (0, 0)
        self.calls = 0

    def __call__(self, _step: int, _time_s: float, fields: Fields, first: tuple[int, int, int]) -> None:
        """Takes a sample: as Simulation.watch calls it."""
        vx, vy = fields["vx"], fields["vy"]
        if not vx.size:
            return
        speed = np.hypot(vx[0], vy[0])
        if self.peak is None:
            self.peak, self.first = speed, (first[1], first[0])
        else:
            np.maximum(self.peak, speed, out=self.peak)
        self.calls += 1

    def gathered(self, comm: MPI.Comm) -> Map | None:
        """Collective: (y, x) of the whole surface on rank 0, None elsewhere."""
        parts = comm.gather((self.first, self.peak), root=0)
        if parts is None:
            return None
        whole = np.zeros(self.shape, np.float32)
        for (j, i), part in parts:
            if part is not None:
                whole[j : j + part.shape[0], i : i + part.shape[1]] = part
        return whole


def peak_of_files(path: Path) -> Map:
    """(y, x), m/s: the largest horizontal speed in a file of snapshots of the surface, of which AT_ONCE_BYTES are read at a time.

    Not collective.
    """
    with opened_hdf5(path, "snapshots of a run") as file:
        vx, vy = file["vx"], file["vy"]
        whole = np.zeros(vx.shape[2:], np.float32)
        some = max(1, AT_ONCE_BYTES // (4 * whole.size))
        for first in range(0, len(vx), some):
            speed = np.hypot(vx[first : first + some, 0], vy[first : first + some, 0])
            np.maximum(whole, speed.max(axis=0), out=whole)
    return whole


@dataclass(frozen=True)
class Cost:
    """What a run with some modules took; of each time the longest of all ranks.

    Wall clock of its steps; what modules took of the solver's own thread, copying, waiting and meeting; what was left to do when
    the run had ended.
    """

    modules: str
    seconds: float
    module_seconds: float
    steps: int
    afterwards_s: float = 0.0


@dataclass(frozen=True)
class Findings:
    """The map of peak velocity and how far that from files is from it, relative to the largest, are on rank 0."""

    costs: list[Cost]
    peak: Map | None
    difference: float


def costs_of_modules(config: Config, comm: MPI.Comm, folder: Path, *, every: int, repeats: int = 2) -> Findings:
    """Collective: times the waves of a configuration with [sgt] points.

    They run without modules, with each, with both, and with files of the surface's velocity; the best of some repeats counts, in
    turns. Files are written into folder and removed again. UserError without [sgt] points, and for an `every` that no step has.
    """
    if not config.sgt.points:
        raise config.wrong(
            "[sgt] points is missing; allowed: a file of points, for the module that writes their strains"
        )
    if every < 1:
        raise UserError(f"every {every} steps; allowed: 1 or more")
    craton.check_mpi()
    in_place_gb_s(config.run.threads)  # pages and clocks are warm
    best: dict[str, Cost] = {}
    maps: dict[str, Map | None] = {}
    for _ in range(repeats):
        for name in KINDS:
            cost, maps[name] = _timed(config, comm, folder, name, every)
            if name not in best or cost.seconds + cost.afterwards_s < best[name].seconds + best[name].afterwards_s:
                best[name] = cost
    peak, filed = maps[PEAK], maps[FILES]
    difference = 0.0
    if peak is not None and filed is not None:
        difference = float(np.abs(peak - filed).max() / max(float(filed.max()), np.finfo(np.float32).tiny))
    return Findings(list(best.values()), peak, difference)


def _timed(config: Config, comm: MPI.Comm, folder: Path, name: str, every: int) -> tuple[Cost, Map | None]:
    """The cost of a run, and the map that came of it, if any, on rank 0."""
    from mpi4py import MPI

    wanted = KINDS[name]
    simulation = Simulation(config, craton.World(comm, 0), comm)
    run = simulation.run
    tensors, snapshots, peak = folder / "in-situ-sgt.h5", folder / "in-situ-surface.h5", PeakVelocity(config.cells)
    surface = (*config.cells[:2], 1)
    when = simulation.schedule(every, "in-situ")
    if "tensors" in wanted:
        points = np.ascontiguousarray(simulation.setup.sgt_points, np.float64)
        samples = simulation.schedule(config.sgt.every, "[sgt]")
        grid, together = simulation.grid_at(points[0, 2]), min(config.sgt.aggregate or 64, samples.samples)
        grid.run.write_strains(str(tensors), samples, grid.local(points), {}, together, 0, {})
    if "peak" in wanted:
        simulation.watch(peak, ("vx", "vy"), every, high=surface)
    if "files" in wanted:
        run.write_snapshots(
            str(snapshots), when, ["vx", "vy"], (0, 0, 0), surface, (1, 1, 1), {}, min(64, when.samples), 0
        )
    comm.Barrier()
    begun = time.perf_counter()
    simulation.advance(simulation.steps)
    simulation.finish()
    comm.Barrier()
    seconds = time.perf_counter() - begun
    spent = comm.allreduce(sum(run.module_seconds.values()), MPI.MAX)
    found = peak.gathered(comm) if "peak" in wanted else None
    afterwards_s = 0.0
    if "files" in wanted and comm.rank == 0:
        begun = time.perf_counter()
        found = peak_of_files(snapshots)
        afterwards_s = time.perf_counter() - begun
    if comm.rank == 0:
        for path in (tensors, snapshots):
            path.unlink(missing_ok=True)
    return Cost(name, seconds, spent, simulation.steps, float(comm.bcast(afterwards_s, root=0))), found
