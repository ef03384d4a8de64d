"""The files that a wave run writes while it steps: seismograms, strains, snapshots, the surface for the movie."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton import _craton
from craton.errors import UserError
from craton.runs.agreement import on_all, on_root
from craton.runs.files import write_text, writing_to
from craton.runs.hdf5_writing import written_hdf5
from craton.seismology.geometry.grid import Box
from craton.seismology.wave_run.config import Config
from craton.seismology.wave_run.folder import WavesFolder
from craton.seismology.wave_run.receivers import Receivers
from craton.seismology.wave_run.setup import Setup
from craton.seismology.wave_run.spectra import SpectraPlan
from craton.waves.file_hints import file_hints
from craton.waves.labelled import Place, label_fields, label_seismograms
from craton.waves.simulation import Simulation

__all__ = ["check_outputs", "open_outputs"]

AGGREGATE_BYTES = 64e6
"""Bytes of samples that a rank keeps before they are written."""
MOST_SAMPLES = 500
POINTS_AT_ONCE = 2**16
"""Points whose moduli are asked for together."""
PIXELS = 400
"""Pixels of a movie's longer side, at most."""


def check_outputs(s: Simulation) -> None:
    """UserError for what cannot be recorded: before anything in the folder is touched."""
    config = s.config
    for name, wanted, every in (
        ("receivers", s.setup.receivers is not None, config.receivers.every),
        ("sgt", s.setup.sgt_points is not None, config.sgt.every),
        ("spectra", s.spectra is not None, s.spectra.every if s.spectra else 1),
        ("snapshots", config.snapshots.every > 0, config.snapshots.every),
        ("movie", config.movie.every > 0, config.movie.every),
    ):
        if wanted:
            s.schedule(every, f"[{name}]")


def open_outputs(s: Simulation, place: WavesFolder, origin_time: str = "") -> list[Path]:
    """Collective: the simulation writes the files that its configuration wants, in `place`; returns their final names.

    origin_time: UTC of t = 0, as Setup.origin_time. A simulation that goes on from a checkpoint goes on with the files that are
    there. UserError on every rank where one cannot be written.
    """
    return _Outputs(s, place, origin_time).opened()


class _Outputs:
    def __init__(self, s: Simulation, place: WavesFolder, origin_time: str) -> None:
        self.s, self.config, self.place = s, s.config, place
        self.where = Place(s.setup.grid, origin_time)
        self.files: list[Path] = []

    def opened(self) -> list[Path]:
        s, config = self.s, self.config
        stations, points = on_all(s.world, lambda: (s.setup.receivers, s.setup.sgt_points))
        if stations is not None:
            self._open_stations(stations)
        if points is not None:
            self._open_strains(np.ascontiguousarray(points, np.float64))
        if s.spectra is not None:
            self._open_spectra(s.spectra)
        nx, ny, nz = s.grids[0].part.cells
        if config.snapshots.every:
            what = config.snapshots
            coarse = what.coarsen
            low, high = (0, 0, 0), (nx, ny, nz)
            if not what.volume:
                low, high = self._plane(what.z_m)
            stride = (coarse, coarse, coarse if what.volume else 1)
            when = s.schedule(what.every, "[snapshots]")
            self._open_fields(self.place.snapshots, when, what.fields, (low, high), stride)
        if config.movie.every:
            coarse = math.ceil(max(nx, ny) / PIXELS)
            when = s.schedule(config.movie.every, "[movie]")
            plane = self._plane(config.movie.z_m)
            self._open_fields(self.place.surface, when, ("vx", "vy", "vz"), plane, (coarse, coarse, 1))
        return self.files

    def _plane(self, z_m: float) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
        """First and last cells of the plane that has a depth below z = 0."""
        nx, ny, nz = self.s.grids[0].part.cells
        k = min(int(z_m / self.config.grid.spacing_m + 1e-6), nz - 1)
        return (0, 0, k), (nx, ny, k + 1)

    def _open_stations(self, stations: Receivers) -> None:
        s, at = self.s, np.ascontiguousarray(stations.position_m, np.float64)
        on_root(s.comm, lambda: write_text(self.place.stations, stations_table(s)))
        when = s.schedule(self.config.receivers.every, "[receivers]")
        together, hints = self._at_once(len(at) * 3, when), file_hints(self.config)
        grid = s.grid_at(at[0, 2])
        grid.run.write_stations(
            self._file(self.place.seismograms), when, grid.local(at), self._facts(), together, s.step, hints
        )
        on_root(s.comm, lambda: label_seismograms(partial_of(self.place.seismograms), self.where, stations))

    def _open_strains(self, at: NDArray[np.float64]) -> None:
        from mpi4py import MPI  # starts it

        s, sgt = self.s, self.config.sgt
        when = s.schedule(sgt.every, "[sgt]")
        together = min(sgt.aggregate or self._at_once(len(at) * 6, when), when.samples)
        hints = file_hints(self.config, sgt.stripe_mb)
        grid = s.grid_at(at[0, 2])
        facts = self._facts() | force_facts(self.config, s.setup)
        grid.run.write_strains(self._file(self.place.sgt), when, grid.local(at), facts, together, s.step, hints)
        moduli = on_all(s.world, lambda: moduli_at(at, s.setup, s.own))
        s.comm.Allreduce(MPI.IN_PLACE, moduli)
        on_root(s.comm, lambda: add_moduli(partial_of(self.place.sgt), moduli))

    def _open_spectra(self, plan: SpectraPlan) -> None:
        from mpi4py import MPI  # starts it

        s, at, when = self.s, plan.lattice.points_m, self.s.schedule(plan.every, "[spectra]")
        lattice = {"first_cell": plan.lattice.first, "lattice": plan.lattice.counts, "stride": (plan.lattice.stride,)}
        facts = self._facts() | force_facts(self.config, s.setup)
        facts |= {name: [float(n) for n in numbers] for name, numbers in lattice.items()}
        moduli = on_all(s.world, lambda: moduli_at(at, s.setup, s.own, density=True))
        s.comm.Allreduce(MPI.IN_PLACE, moduli)
        for field in plan.fields:
            path = self.place.spectra(field)
            s.grids[0].run.write_spectra(
                self._file(path),
                when,
                at,
                plan.frequencies_hz.tolist(),
                field == "velocity",
                plan.half,
                facts,
                file_hints(self.config),
            )
            on_root(s.comm, partial(add_moduli, partial_of(path), moduli))

    def _open_fields(
        self,
        path: Path,
        when: _craton.WaveSchedule,
        fields: Sequence[str],
        box: tuple[tuple[int, int, int], tuple[int, int, int]],
        stride: tuple[int, int, int],
    ) -> None:
        s, (low, high) = self.s, box
        values = len(fields) * math.prod(math.ceil((b - a) / by) for a, b, by in zip(low, high, stride, strict=True))
        together = self._at_once(values, when)
        hints = file_hints(self.config)
        s.run.write_snapshots(
            self._file(path), when, list(fields), low, high, stride, self._facts(), together, s.step, hints
        )
        on_root(s.comm, lambda: label_fields(partial_of(path), self.where))

    def _file(self, path: Path) -> str:
        """Collective. A run that goes on takes files back that got their names just before it was ended, and its record did not."""

        def take_back() -> None:
            partial = path.with_name(path.name + ".partial")
            if path.is_file() and not partial.exists():
                with writing_to(path.parent):
                    path.replace(partial)

        if self.s.step:
            on_root(self.s.comm, take_back)
        self.files.append(path)
        return str(path)

    def _facts(self) -> dict[str, Any]:
        return {"azimuth_deg": float(self.config.grid.azimuth_deg)}

    def _at_once(self, values: int, when: _craton.WaveSchedule) -> int:
        """Samples that ranks keep before they write, of so many values in all."""
        fits = int(AGGREGATE_BYTES * self.s.comm.size / (4 * max(values, 1)))
        return max(1, min(fits, MOST_SAMPLES, when.samples))


def force_facts(config: Config, setup: Setup) -> dict[str, Any]:
    """What strain Green's tensors were made with: the force, its place and its pulse; nothing for a run with any other source."""
    one = setup.points[0] if len(setup.points) == len(config.sources) == 1 else None
    pulse = one.time_function.pulse_s if one is not None and one.kind == "force" else None
    if one is None or pulse is None:
        return {}
    integral, centre = pulse
    return {
        "force_N": list(one.tensor),
        "force_position_m": list(one.position_m),
        "force_pulse": config.sources[0].time_function,
        "force_pulse_integral_s": integral,
        "force_pulse_centre_s": one.start_s + centre,
    }


def partial_of(path: Path) -> Path:
    """Where a file is written until it is whole."""
    return path.with_name(f"{path.name}.partial")


def moduli_at(at: NDArray[np.float64], setup: Setup, own: Box, density: bool = False) -> NDArray[np.float64]:
    """(2, points): lambda and mu, Pa, at points in a rank's own cells; 0 at others. Not collective.

    density: a third row, kg/m^3.
    """
    moduli = np.zeros((2 + density, len(at)))
    last = np.array(setup.grid.cells) - 1
    cell = np.clip((at / setup.grid.spacing_m).astype(np.int64), 0, last)
    inside = np.flatnonzero(np.all((cell >= own.first) & (cell < own.last), axis=1))
    for first in range(0, len(inside), POINTS_AT_ONCE):
        some = inside[first : first + POINTS_AT_ONCE]
        material = setup.medium.at(setup.grid, *at[some].T)
        moduli[:2, some] = material.lam, material.mu
        if density:
            moduli[2, some] = material.rho
    return moduli


def add_moduli(path: Path, moduli: NDArray[np.float64]) -> None:
    """Datasets lambda_Pa, mu_Pa and, where there is a third row, rho_kg_m3 beside what is recorded at points. Not collective."""
    try:
        with written_hdf5(path, "r+") as file:
            if "mu_Pa" in file:  # of a run that goes on
                return
            for name, values in zip(("lambda_Pa", "mu_Pa", "rho_kg_m3"), moduli, strict=False):
                file[name] = values
    except OSError as error:
        raise UserError(
            f"{path}: cannot be written: {' '.join(str(error).split())}; allowed: a file that can"
        ) from None


def stations_table(simulation: Simulation) -> str:
    """CSV: name, x_m, y_m, z_m and, where the grid has a place on the Earth, longitude_deg, latitude_deg."""
    stations, grid = simulation.setup.receivers, simulation.setup.grid
    assert stations is not None
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    placed = grid.projection is not None
    writer.writerow(["name", "x_m", "y_m", "z_m", *(["longitude_deg", "latitude_deg"] if placed else [])])
    for name, at in zip(stations.names, stations.position_m, strict=True):
        where = [float(p) for p in grid.lon_lat(at[0], at[1])] if placed else []
        writer.writerow([name, *(f"{p:.10g}" for p in at), *(f"{p:.8f}" for p in where)])
    return out.getvalue()
