"""`craton waves run`: a configuration to a folder of results."""

from __future__ import annotations

import csv
import datetime
import io
import json
import math
import platform
import shlex
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any

import h5py
import numpy as np
from numpy.typing import NDArray

import craton
from craton import _craton
from craton.errors import UserError
from craton.runs.agreement import on_root
from craton.runs.files import replaced
from craton.runs.folder import reserved
from craton.runs.progress import ProgressBar
from craton.runs.words import rate_text
from craton.seismology.geometry.grid import Box
from craton.seismology.wave_run.config import Config, load_config
from craton.seismology.wave_run.folder import SOURCES_TOLD, RunRecord, WavesFolder
from craton.seismology.wave_run.setup import Setup, process_grid
from craton.waves.simulation import Simulation, agreed

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = ["check_ranks", "loaded", "partition", "place", "read_placement", "run"]

FACE_BYTES = (72.0, 72.0, 72.0)
"""Of each cell of a face, what both sides send in a step: of 3 velocities and 3 stresses 3 planes each, float32."""
STEPS_BETWEEN_LOOKS = 10
"""Of the progress bar."""
AGGREGATE_BYTES = 64e6
"""Of samples that a rank keeps before they are written."""
MOST_SAMPLES = 500
IN_PLACE_VALUES = 2**24
"""float32, of each thread: beyond any cache."""
POINTS_AT_ONCE = 2**16
"""Of which the ground's moduli are asked for together."""
PIXELS = 400
"""Of a movie's longer side, at most."""


def loaded(path: Path, *, threads: int | None = None, directory: Path | None = None) -> Config:
    """The configuration with what the command line says instead of it."""
    config = load_config(path)
    changes: dict[str, Any] = {}
    if directory is not None:
        changes["directory"] = str(directory)
    if threads is not None:
        changes["threads"] = threads
    return config.replaced("run", **changes) if changes else config


def check_ranks(config: Config, ranks: int, placed: Sequence[int] | None) -> None:
    """UserError where the grid cannot be cut for so many ranks, or a placement is for others."""
    process_grid(config, ranks)
    if placed is not None and len(placed) != ranks:
        raise UserError(f"--placement: for {len(placed)} ranks, but the run has {ranks}; allowed: one made for {ranks}")


def read_placement(path: Path) -> list[int]:
    """What place() has written."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["brick_of_rank"]
        if sorted(found) != list(range(len(found))):
            raise ValueError("not each brick once")
    except OSError as problem:
        raise UserError(
            f"{path}: {problem.strerror or problem}; allowed: what craton waves place --output wrote"
        ) from None
    except (ValueError, KeyError, TypeError) as problem:
        raise UserError(
            f"{path}: not a placement ({problem}); allowed: what craton waves place --output wrote"
        ) from None
    return [int(brick) for brick in found]


def place(nodes: Path, config: Config, ranks: int, output: Path | None) -> str:
    """Hop-bytes before and after, in words. Not collective."""
    try:
        text = nodes.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as problem:
        raise UserError(f"{nodes}: cannot be read: {problem}; allowed: a list of nodes") from None
    bricks = process_grid(config, ranks)
    found = _craton.place_bricks(config.cells, bricks, text, str(nodes), FACE_BYTES)
    if output is not None:
        with replaced(output) as aside:
            aside.write_text(json.dumps(found | {"bricks": bricks, "cells": config.cells}, indent=1) + "\n")
    return f"{' x '.join(map(str, bricks))} bricks\n{found['in_words']}"


def partition(config: Config, ranks: int, folder: Path) -> str:
    """Writes the media in a file for each rank's brick; says where. Not collective."""
    from craton.seismology.ground.media_partition import PartitionedMedium, write_partitions

    setup = Setup(config)
    if isinstance(setup.medium, PartitionedMedium):
        raise config.wrong('[media] read = "partitioned"; allowed: media that are not in parts yet')
    parts = setup.decomposition(ranks)
    manifest = write_partitions(setup.medium, setup.grid, parts, folder, subsamples=setup.subsamples)
    return f'{" x ".join(map(str, parts))} bricks\n[media] kind = "file", file = "{manifest}", read = "partitioned"'


def run(
    config: Config,
    comm: MPI.Comm,
    *,
    ranks_per_node: int = 0,
    console: Any = None,
    overwrite: bool = False,
    resume: bool = False,
    pictures: bool = True,
    brick_of_rank: Sequence[int] = (),
) -> RunRecord:
    """Collective: the whole run as the configuration describes it; leaves a run folder and returns its record."""
    craton.check_mpi()
    folder = WavesFolder(config.run.directory)
    inputs = {"the configuration": str(config.path)}

    def check() -> None:
        if resume:
            folder.check_resume(_without_run(config))
        else:
            folder.check_new(overwrite, inputs)

    with reserved(comm, folder, check):
        job = _Job(config, comm, folder, console, ranks_per_node, brick_of_rank)
        job.begin(resume)
        job.step_to_the_end()
        record = job.finish()
        if pictures:
            from craton.waves.pictures import draw

            job.say(on_root(comm, lambda: draw(folder)))
    return record


class _Job:
    """A simulation, its files and its clock, on one rank."""

    def __init__(
        self,
        config: Config,
        comm: MPI.Comm,
        folder: WavesFolder,
        console: Any,
        ranks_per_node: int,
        brick_of_rank: Sequence[int],
    ) -> None:
        self.config, self.comm, self.folder, self.console = config, comm, folder, console
        begun = time.perf_counter()
        self.world = craton.World(comm, ranks_per_node)
        self.simulation = Simulation(config, self.world, comm, brick_of_rank=brick_of_rank)
        self.seconds = {"set-up": time.perf_counter() - begun}
        self.written: list[Path] = []
        self.memory_gb_s = self._memory_rate()
        self.resumed_at = 0
        self.saved_at_s = time.perf_counter()
        self.started = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")

    def say(self, text: str) -> None:
        if self.console is not None and text:
            self.console.print(text, highlight=False, markup=False, soft_wrap=True)

    def _memory_rate(self) -> float:
        """GB/s, read and written together, of all ranks at the same time."""
        self.world.barrier()
        device = self.simulation.cuda_device
        rate = in_place_gb_s(self.config.run.threads) if device is None else _craton.cuda_copy_gb_s(device)
        return float(sum(self.comm.allgather(rate)))

    # ---------------------------------------------------------------------------------------------------------- beginning

    def begin(self, resume: bool) -> None:
        """Collective: the checkpoint, if there is one to go on from, then the files."""
        s = self.simulation
        self._check_outputs()
        if resume:
            s.restore(str(self.folder.checkpoint))
            self.resumed_at = s.step
        else:
            on_root(self.comm, self.folder.discard)
            on_root(self.comm, lambda: self.folder.write_text(self.folder.config, _without_run(self.config)))
        cells = " x ".join(map(str, self.config.cells))
        self.say(
            f"{self.config.path.name}: {cells} cells of {self.config.grid.spacing_m:g} m, {s.steps} steps of {s.dt_s:.6g} s = "
            f"{s.steps * s.dt_s:g} s, {'elastic' if self.config.attenuation is None else 'anelastic'}, "
            f"{' x '.join(map(str, s.bricks))} bricks, {_many(self.comm.size, 'rank')} of "
            f"{_many(self.config.run.threads, 'thread')}" + (f", going on from step {s.step}" if resume else "")
        )
        self._open_files()

    def _check_outputs(self) -> None:
        """UserError for what cannot be recorded, before anything in the folder is touched: --overwrite must not cost a whole run
        its configuration."""
        config, s = self.config, self.simulation
        for name, wanted, every in (
            ("receivers", s.setup.receivers is not None, config.receivers.every),
            ("sgt", s.setup.sgt_points is not None, config.sgt.every),
            ("snapshots", config.snapshots.every > 0, config.snapshots.every),
            ("movie", config.movie.every > 0, config.movie.every),
        ):
            if wanted:
                s.schedule(every, f"[{name}]")

    def _open_files(self) -> None:
        config, s = self.config, self.simulation
        stations, points = agreed(s.world, lambda: (s.setup.receivers, s.setup.sgt_points))
        if stations is not None:
            on_root(self.comm, lambda: self.folder.write_text(self.folder.stations, stations_table(s)))
            every = config.receivers.every
            when = s.schedule(every, "[receivers]")
            at = np.ascontiguousarray(stations.position_m, np.float64)
            s.run.write_stations(
                self._file("seismograms"), when, at, self._facts(), self._at_once(len(at) * 3, when), s.step
            )
        if points is not None:
            from mpi4py import MPI

            when = s.schedule(config.sgt.every, "[sgt]")
            at_once = config.sgt.aggregate or self._at_once(len(points) * 6, when)
            stripe = {"striping_unit": str(int(config.sgt.stripe_mb * 2**20))} if config.sgt.stripe_mb else {}
            at = np.ascontiguousarray(points, np.float64)
            facts = self._facts() | force_facts(config, s.setup)
            s.run.write_strains(self._file("sgt"), when, at, facts, min(at_once, when.samples), s.step, stripe)
            moduli = agreed(s.world, lambda: moduli_at(at, s.setup, s.own))
            self.comm.Allreduce(MPI.IN_PLACE, moduli)
            on_root(self.comm, lambda: add_moduli(partial_of(self.folder.sgt), moduli))
        nx, ny, nz = config.cells
        if config.snapshots.every:
            what = config.snapshots
            coarse = what.coarsen
            high = (nx, ny, nz if what.volume else 1)
            self._write_fields(
                "snapshots", what.every, what.fields, high, (coarse, coarse, coarse if what.volume else 1)
            )
        if config.movie.every:
            coarse = math.ceil(max(nx, ny) / PIXELS)
            self._write_fields("surface", config.movie.every, ("vx", "vy", "vz"), (nx, ny, 1), (coarse, coarse, 1))

    def _write_fields(
        self, name: str, every: int, fields: Sequence[str], high: tuple[int, int, int], stride: tuple[int, int, int]
    ) -> None:
        s = self.simulation
        when = s.schedule(every, f"[{'movie' if name == 'surface' else name}]")
        values = len(fields) * math.prod(math.ceil(n / by) for n, by in zip(high, stride, strict=True))
        s.run.write_snapshots(
            self._file(name),
            when,
            list(fields),
            (0, 0, 0),
            high,
            stride,
            self._facts(),
            self._at_once(values, when),
            s.step,
        )

    def _file(self, name: str) -> str:
        path: Path = getattr(self.folder, name)
        self.written.append(path)
        return str(path)

    def _facts(self) -> dict[str, Any]:
        return {"azimuth_deg": float(self.config.grid.azimuth_deg)}

    def _at_once(self, values: int, when: Any) -> int:
        """Samples that ranks keep before they write, of so many values in all."""
        fits = int(AGGREGATE_BYTES * self.comm.size / (4 * max(values, 1)))
        return max(1, min(fits, MOST_SAMPLES, when.samples))

    # ------------------------------------------------------------------------------------------------------------ stepping

    def step_to_the_end(self) -> None:
        """Collective."""
        s = self.simulation
        begun = time.perf_counter()
        with ProgressBar("Waves", s.steps, "steps", self.console, self._speed) as bar:
            bar.begin_at(s.step)
            while s.step < s.steps:
                s.advance(min(STEPS_BETWEEN_LOOKS - s.step % STEPS_BETWEEN_LOOKS, s.steps - s.step))
                bar.update(s.step)
                if s.step < s.steps and self._checkpoint_due():
                    self._save()
        self.seconds["steps"] = time.perf_counter() - begun

    def _speed(self, steps_per_s: float) -> str:
        points = steps_per_s * self.simulation.points
        fraction = points * self.simulation.bytes_per_point / (1e9 * self.memory_gb_s)
        return f"{rate_text(points, 'points')}, {fraction:.0%} of memory"

    def _checkpoint_due(self) -> bool:
        """The same on every rank."""
        wanted, step = self.config.checkpoint, self.simulation.step
        if wanted.every_steps and step % wanted.every_steps < STEPS_BETWEEN_LOOKS and step >= wanted.every_steps:
            return True
        if not wanted.every_s or step % (10 * STEPS_BETWEEN_LOOKS):
            return False
        self.world.barrier()
        return bool(self.comm.bcast(time.perf_counter() - self.saved_at_s >= wanted.every_s, root=0))

    def _save(self) -> None:
        begun = time.perf_counter()
        self.simulation.check_finite()
        self.simulation.save(str(self.folder.checkpoint))
        self.saved_at_s = time.perf_counter()
        self.seconds["checkpoints"] = self.seconds.get("checkpoints", 0.0) + self.saved_at_s - begun

    # ------------------------------------------------------------------------------------------------------------- the end

    def finish(self) -> RunRecord:
        """Collective: files get their names, then the record."""
        s = self.simulation
        peak = s.check_finite()
        spent = s.run.module_seconds
        on_root(self.comm, lambda: self.folder.adopt(self.written))
        s.finish()
        self.seconds |= {f"modules {what}": seconds for what, seconds in spent.items()}
        record = self._record(peak)

        def write() -> None:
            self.folder.write_text(self.folder.record, record.to_json() + "\n")
            self.folder.discard()

        on_root(self.comm, write)
        self.say(
            f"{record.seconds['steps']:.1f} s: {rate_text(record.points_per_s, 'points')}, "
            f"{record.memory_fraction:.0%} of the {self.memory_gb_s:.1f} GB/s measured here; largest velocity now {peak:.3g} m/s"
        )
        self.say(f"{self.folder.path}: {', '.join(record.files)}")
        return record

    def _record(self, peak: float) -> RunRecord:
        s, config = self.simulation, self.config
        steps = s.steps - self.resumed_at
        return RunRecord(
            title=config.path.stem.replace("_", " ").replace("-", " "),
            config=config.to_dict(),
            versions={**_craton.build_info(), "numpy": np.__version__, "python": platform.python_version()},
            command=shlex.join(["craton", *sys.argv[1:]]),
            started=self.started,
            ranks=self.comm.size,
            nodes=self.world.node_count,
            threads=config.run.threads,
            bricks=list(s.bricks),
            sources_m=s.source_positions_m()[:SOURCES_TOLD].tolist(),
            cells=list(config.cells),
            spacing_m=config.grid.spacing_m,
            dt_s=s.dt_s,
            steps=s.steps,
            resumed_at_step=self.resumed_at,
            seconds=dict(self.seconds),
            points_per_s=steps * s.points / max(self.seconds["steps"], 1e-9),
            bytes_per_point=s.bytes_per_point,
            memory_gb_s=self.memory_gb_s,
            peak_velocity_m_s=peak,
            files=[file.name for file in self.written],
        )


def in_place_gb_s(threads: int) -> float:
    """What threads of this process read from memory and write back, best of five passes over arrays that are updated in place."""
    arrays = [np.ones(IN_PLACE_VALUES, np.float32) for _ in range(threads)]
    best = 0.0
    with ThreadPoolExecutor(threads) as team:
        for _ in range(5):
            begun = time.perf_counter()
            list(team.map(lambda array: np.negative(array, out=array), arrays))
            best = max(best, 2e-9 * sum(array.nbytes for array in arrays) / (time.perf_counter() - begun))
    return best


def force_facts(config: Config, setup: Setup) -> dict[str, Any]:
    """What strain Green's tensors were made with, for those who use them: the force, its place and its pulse; nothing for a run
    with any other source."""
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


def moduli_at(at: NDArray[np.float64], setup: Setup, own: Box) -> NDArray[np.float64]:
    """(2, points): lambda and mu, Pa, at points in a rank's own cells; 0 at others. Not collective."""
    moduli = np.zeros((2, len(at)))
    last = np.array(setup.grid.cells) - 1
    cell = np.clip((at / setup.grid.spacing_m).astype(np.int64), 0, last)
    inside = np.flatnonzero(np.all((cell >= own.first) & (cell < own.last), axis=1))
    for first in range(0, len(inside), POINTS_AT_ONCE):
        some = inside[first : first + POINTS_AT_ONCE]
        material = setup.medium.at(setup.grid, *at[some].T)
        moduli[:, some] = material.lam, material.mu
    return moduli


def add_moduli(path: Path, moduli: NDArray[np.float64]) -> None:
    """Datasets lambda_Pa and mu_Pa beside strain Green's tensors. Not collective."""
    try:
        with h5py.File(path, "r+") as file:
            if "mu_Pa" not in file:  # else of a run that goes on
                file["lambda_Pa"], file["mu_Pa"] = moduli
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


def _many(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


def _without_run(config: Config) -> str:
    """What a run's results depend on, as TOML."""
    tables = config.to_toml().split("\n\n")
    return "\n\n".join(table for table in tables if not table.startswith(("[run]", "[checkpoint]")))
