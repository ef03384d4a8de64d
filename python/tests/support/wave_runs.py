"""Small wave computations for tests: a run from numbers to seismograms."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import craton
import h5py
import numpy as np
from craton import _craton


@dataclass
class Case:
    """Lengths in m, times in s; z down. ground(x, y, z) gives vp, vs, rho (m/s, kg/m^3), qp, qs; x and y arrays."""

    cells: tuple[int, int, int]
    h: float
    dt: float
    steps: int
    ground: Any
    moment_at: list = field(default_factory=list)
    moments: list = field(default_factory=list)  # xx, yy, zz, xy, xz, yz
    force_at: list = field(default_factory=list)
    forces: list = field(default_factory=list)
    rate: Any = None  # of time; moment rates at (n + 1/2) dt, forces at n dt
    stations: list = field(default_factory=list)
    strains: list = field(default_factory=list)
    free_surface: bool = True
    surface_m: Any = None  # depth of the ground below z = 0, of x and y arrays
    absorbing: str = "pml"
    width: int | None = None
    attenuation: Any = None
    samples_per_side: int = 2
    threads: int = 2
    settings: dict = field(default_factory=dict)


def run(case: Case, folder: Path, comm: Any, processes: tuple[int, int, int] | None = None) -> dict[str, np.ndarray]:
    """Velocity [station][3][time] at t_velocity and, where asked for, sgt [point][6][time] at t_strain; alike on every rank."""
    world = craton.World(comm)
    o = _craton.WaveOptions()
    o.spacing_m, o.dt_s, o.free_surface, o.threads = case.h, case.dt, case.free_surface, case.threads
    o.samples_per_side, o.attenuation = case.samples_per_side, case.attenuation
    if case.surface_m is not None:
        x, y = ((np.arange(n) + 0.5) * case.h for n in case.cells[:2])
        depth = np.broadcast_to(case.surface_m(x[None, :], y[:, None]), (len(y), len(x)))
        o.set_topography(case.cells, np.ascontiguousarray(depth, np.float64))
    absorbing = o.absorbing
    absorbing.kind = case.absorbing
    if case.width is not None:
        absorbing.width = case.width
    for name, value in case.settings.items():
        setattr(absorbing, name, value)
    o.absorbing = absorbing

    def ground(x0, y0, z, spacing, nx, ny):
        x = (x0 + spacing * np.arange(nx))[None, :]
        y = (y0 + spacing * np.arange(ny))[:, None]
        values = case.ground(x, y, z)
        return list(values) + [None] * (5 - len(values))

    made = processes or tuple(_craton.best_process_grid(case.cells, comm.size))
    waves = _craton.WaveRun(world, case.cells, made, o, ground)

    def rows(values, n):
        return np.array(values, dtype=np.float64).reshape(-1, n)

    waves.set_sources(rows(case.moment_at, 3), rows(case.moments, 6), rows(case.force_at, 3), rows(case.forces, 3))
    if case.rate is not None:
        n = np.arange(case.steps)
        moment_rate, force = case.rate((n + 0.5) * case.dt), case.rate(n * case.dt)
        waves.set_moment_rates(0, np.tile(moment_rate.astype(np.float32), (len(case.moments), 1)))
        waves.set_force_series(0, np.tile(force.astype(np.float32), (len(case.forces), 1)))
    when = _craton.WaveSchedule(0, 1, case.steps)
    if case.stations:
        waves.write_stations(str(folder / "stations.h5"), when, rows(case.stations, 3))
    if case.strains:
        waves.write_strains(str(folder / "sgt.h5"), when, rows(case.strains, 3))
    waves.advance(case.steps)
    waves.finish()
    comm.Barrier()
    found: dict[str, np.ndarray] = {
        "t_velocity": (np.arange(case.steps) + 0.5) * case.dt,
        "t_strain": (np.arange(case.steps) + 1.0) * case.dt,
    }
    if case.stations:
        with h5py.File(folder / "stations.h5") as file:
            found["velocity"] = file["velocity"][:]
    if case.strains:
        with h5py.File(folder / "sgt.h5") as file:
            found["sgt"] = file["sgt"][:]
    return found
