"""A wave run from its configuration to a folder of results, on all ranks; resumed; and where it is.

Read it downwards: `run` reserves the folder and puts a _Job through its paces: set-up, files, steps with checkpoints, the end.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import craton
from craton import _craton
from craton.cli.output import say
from craton.errors import UserError
from craton.runs.agreement import on_root
from craton.runs.calling import ranks_and_console
from craton.runs.files import seal_files, write_text
from craton.runs.progress import ProgressBar
from craton.runs.progress_file import ProgressFile, Start
from craton.runs.record import facts_of
from craton.runs.running import begun, finished, resumed
from craton.runs.status import Status, find_status
from craton.runs.words import counted, rate_text
from craton.seismology.sources.point_sources import PointSource
from craton.seismology.wave_run.config import Config, build
from craton.seismology.wave_run.folder import SOURCES_TOLD, ToldMoment, WavesFolder, WavesRecord, grid_text
from craton.waves.bandwidth import in_place_gb_s
from craton.waves.outputs import check_outputs, open_outputs
from craton.waves.simulation import Simulation
from craton.waves.xdmf import write_xdmf

if TYPE_CHECKING:
    from mpi4py import MPI
    from rich.console import Console

__all__ = ["resume", "run", "settings_to_resume", "status"]

PHASES = ("set-up", "steps")
FREE = (("run", "*"), ("checkpoint", "*"))
"""Tables that may be others when a run is resumed: its results do not depend on them."""
STEPS_BETWEEN_LOOKS = 10
"""Steps between updates of the progress bar."""


def run(
    config: Config,
    comm: MPI.Comm | None = None,
    *,
    ranks_per_node: int = 0,
    console: Console | None = None,
    overwrite: bool = False,
    report: bool = False,
    brick_of_rank: Sequence[int] = (),
) -> WavesRecord:
    """Collective: the whole run as the configuration describes it; leaves a run folder and returns its record.

    comm: None for all ranks. console: of rich, where rank 0 prints. None for nowhere, but in a notebook for the cell's output.

    report: draws pictures and the report at the end; the record's write_report() does it later. brick_of_rank: see
    craton.waves.placement.place. UserError on every rank for results that may not be replaced, and for what the solver or a file
    refuses.
    """
    craton.check_mpi()
    comm, console = ranks_and_console(comm, console)
    folder = WavesFolder(config.run.directory)
    inputs = {"the configuration": str(config.path)}
    with begun(comm, folder, _start(config, comm), overwrite, inputs) as (place, progress):
        job = _Job(config, comm, place, progress, console, ranks_per_node, brick_of_rank)
        job.begin()
        return job.go_through(folder, report)


def resume(
    directory: str | os.PathLike[str],
    comm: MPI.Comm | None = None,
    *,
    config: Config | None = None,
    threads: int | None = None,
    ranks_per_node: int = 0,
    console: Console | None = None,
    report: bool = False,
    brick_of_rank: Sequence[int] = (),
) -> WavesRecord:
    """Collective, on as many ranks as before: goes on from the last checkpoint of the run in a folder.

    Its results equal those of an undisturbed run bit for bit.

    config: instead of the run's own; only [run] and [checkpoint] may differ. UserError on every rank where there is no run to go on
    with.
    """
    craton.check_mpi()
    comm, console = ranks_and_console(comm, console)
    folder = WavesFolder(directory)
    config = on_root(comm, lambda: settings_to_resume(folder, config, threads))
    with resumed(comm, folder, _start(config, comm)) as (place, progress):
        job = _Job(config, comm, place, progress, console, ranks_per_node, brick_of_rank)
        job.go_on()
        return job.go_through(folder, report)


def settings_to_resume(folder: WavesFolder, config: Config | None = None, threads: int | None = None) -> Config:
    """The configuration that the run in a folder goes on with. Not collective.

    UserError where there is none that can go on, and for a configuration of another run.
    """
    stored = folder.to_resume()
    place = folder.unfinished
    if place is not None and not place.worth_resuming:
        raise UserError(
            f"run folder {folder.path}: no {folder.checkpoint.name} to go on from; allowed: a run with [checkpoint] that has come "
            f"to its first one, or craton waves run {stored.source} --overwrite"
        )
    if config is not None:
        folder.check_resume(config.to_dict(), str(config.path), FREE)
    found = config or build(stored.configuration, Path(stored.source))
    changes = {} if threads is None else {"threads": threads}
    return found.replaced("run", directory=str(folder.path.absolute()), **changes)


def status(directory: str | os.PathLike[str]) -> Status:
    """Where the run in a folder is. Needs no MPI; not collective. UserError where there is none."""
    folder = WavesFolder(directory)
    found = find_status(folder)
    if found.state == "finished":
        found.rows |= folder.read_record().told
    elif found.facts:
        facts = found.facts
        found.rows["grid"] = grid_text(facts["cells"], facts["spacing_m"], facts.get("lower_cells", ()))
        found.left_s = found.phase_left_s
    return found


def _start(config: Config, comm: MPI.Comm) -> Start:
    return Start("waves", config.to_dict(), str(config.path.absolute()), PHASES, comm.size, config.run.threads)


class _Job:
    """A simulation, its files and its clock, on one rank."""

    def __init__(
        self,
        config: Config,
        comm: MPI.Comm,
        place: WavesFolder,
        progress: ProgressFile,
        console: Console | None,
        ranks_per_node: int,
        brick_of_rank: Sequence[int],
    ) -> None:
        self.config, self.comm, self.place, self.progress, self.console = config, comm, place, progress, console
        begun_s = time.perf_counter()
        self.world = craton.World(comm, ranks_per_node)
        self.simulation = Simulation(config, self.world, comm, brick_of_rank=brick_of_rank)
        self.origin_time = on_root(comm, lambda: self.simulation.setup.origin_time)
        self.seconds = {"set-up": time.perf_counter() - begun_s}
        self.files: list[Path] = []
        self.memory_gb_s = self._memory_rate()
        self.resumed_at = 0
        self.saved_at_s = time.perf_counter()

    def _memory_rate(self) -> float:
        """GB/s, read and written together, of all ranks at the same time."""
        self.world.barrier()
        device = self.simulation.cuda_device
        rate = in_place_gb_s(self.config.run.threads) if device is None else _craton.cuda_copy_gb_s(device)
        return float(self.comm.allreduce(rate))

    def begin(self) -> None:
        """Collective: at step 0."""
        check_outputs(self.simulation)
        text = self.config.to_toml(leave_out=("run", "checkpoint"))
        on_root(self.comm, lambda: write_text(self.place.config, text))
        self._open()

    def go_on(self) -> None:
        """Collective: at the step of the checkpoint."""
        check_outputs(self.simulation)
        self.simulation.restore(str(self.place.checkpoint))
        self.resumed_at = self.simulation.step
        self._open()

    def _open(self) -> None:
        s = self.simulation
        facts = self._grid_facts()
        grid = grid_text(**facts)
        say(
            self.console,
            f"{self.config.path.name}: {grid}, {s.steps} steps of {s.dt_s:.6g} s = "
            f"{s.steps * s.dt_s:g} s, {'elastic' if self.config.attenuation is None else 'anelastic'}, "
            f"{' x '.join(map(str, s.bricks))} bricks, {counted(self.comm.size, 'rank')} of "
            f"{counted(self.config.run.threads, 'thread')}" + (f", going on from step {s.step}" if s.step else ""),
        )
        self.files = open_outputs(s, self.place, self.origin_time)

    def _grid_facts(self) -> dict[str, Any]:
        """Cells and their side, as the record has them."""
        upper, *lower = self.simulation.setup.parts
        return {
            "cells": list(upper.cells),
            "spacing_m": upper.spacing_m,
            "lower_cells": list(lower[0].cells) if lower else [],
        }

    def go_through(self, folder: WavesFolder, report: bool) -> WavesRecord:
        """Collective: all steps, the files' names, the record, the pictures."""
        self.step_to_the_end()
        record = self.finish(folder)
        if report:
            from craton.waves.report import write_report  # loads what draws

            say(self.console, f"report: {on_root(self.comm, lambda: write_report(folder.path))}")
        return record

    # ------------------------------------------------------------------------------------------------------------ stepping

    def step_to_the_end(self) -> None:
        """Collective."""
        s = self.simulation
        begun_s = time.perf_counter()
        facts = self._grid_facts() | {"dt_s": s.dt_s}
        on_root(self.comm, lambda: self.progress.enter("steps", done=s.step, total=s.steps, unit="steps", **facts))
        with ProgressBar("Waves", s.steps, "steps", self.console, self._speed) as bar:
            bar.begin_at(s.step)
            while s.step < s.steps:
                s.advance(min(STEPS_BETWEEN_LOOKS - s.step % STEPS_BETWEEN_LOOKS, s.steps - s.step))
                bar.update(s.step)
                self.progress.update(s.step)
                if s.step < s.steps and self._checkpoint_due():
                    self._save()
        self.seconds["steps"] = time.perf_counter() - begun_s

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
        begun_s = time.perf_counter()
        self.simulation.check_finite()
        self.simulation.save(str(self.place.checkpoint))
        self.progress.saved(self.simulation.step)
        self.saved_at_s = time.perf_counter()
        self.seconds["checkpoints"] = self.seconds.get("checkpoints", 0.0) + self.saved_at_s - begun_s

    # ------------------------------------------------------------------------------------------------------------- the end

    def finish(self, folder: WavesFolder) -> WavesRecord:
        """Collective: files get their names and, with the record, the place of an earlier run's."""
        s = self.simulation
        peak = s.check_finite()
        spent = s.run.module_seconds
        s.finish()
        if warning := on_root(self.comm, lambda: seal_files(self.files)):
            say(self.console, f"warning: {warning}")
        if warning := on_root(self.comm, self._write_xdmf):
            say(self.console, f"warning: {warning}")
        self.seconds |= {f"modules {what}": seconds for what, seconds in spent.items()}
        record = self._record(peak)
        finished(self.comm, folder, self.place, self.progress, record)
        say(
            self.console,
            f"{record.seconds['steps']:.1f} s: {rate_text(record.points_per_s, 'points')}, "
            f"{record.memory_fraction:.0%} of the {self.memory_gb_s:.1f} GB/s measured here; largest velocity now {peak:.3g} m/s",
        )
        say(self.console, f"{folder.path}: {', '.join(record.files)}")
        return record

    def _write_xdmf(self) -> str:
        """Beside whole files of snapshots. Not collective; what went wrong, which is no reason to lose a run."""
        place = self.place
        try:
            for path, fields in ((place.snapshots_xdmf, place.snapshots), (place.surface_xdmf, place.surface)):
                if fields in self.files:
                    write_xdmf(path, fields)
        except UserError as problem:
            return str(problem)
        return ""

    def _record(self, peak: float) -> WavesRecord:
        s, config = self.simulation, self.config
        first = self.progress.progress
        facts = facts_of(
            "waves", config.path, config.to_dict(), self.comm.size, self.world.node_count, config.run.threads
        ) | {"command": first.command, "started": first.sessions[0].started}
        return WavesRecord(
            **facts,
            seconds=dict(self.seconds),
            bricks=list(s.bricks),
            sources_m=s.source_positions_m()[:SOURCES_TOLD].tolist(),
            strongest=_strongest(s.setup.points),
            origin_time=self.origin_time,
            **self._grid_facts(),
            dt_s=s.dt_s,
            steps=s.steps,
            resumed_at_step=self.resumed_at,
            points_per_s=(s.steps - self.resumed_at) * s.points / max(self.seconds["steps"], 1e-9),
            bytes_per_point=s.bytes_per_point,
            memory_gb_s=self.memory_gb_s,
            peak_velocity_m_s=peak,
            files=[file.name for file in self.files],
        )


def _strongest(points: Sequence[PointSource]) -> ToldMoment | None:
    """None where no point is a moment rate."""
    moments = [point for point in points if point.mode == "moment_rate"]
    if not moments:
        return None
    one = max(moments, key=lambda point: sum(value**2 for value in point.tensor))
    return ToldMoment(
        position_m=list(one.position_m),
        moment_Nm=list(one.tensor),
        centroid_s=one.start_s + one.time_function.centroid_s,
    )
