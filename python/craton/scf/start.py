"""`craton scf run` and `resume`: a calculation in a run folder."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import craton
from craton._launch import launched_size
from craton.cli.output import say
from craton.errors import UserError
from craton.runs.agreement import on_root
from craton.runs.calling import ranks_and_console
from craton.runs.files import remove, replaced, write_hdf5, write_text
from craton.runs.iterative import end_run, with_options
from craton.runs.progress import ProgressBar
from craton.runs.progress_file import ProgressFile, Start
from craton.runs.record import facts_of
from craton.runs.running import begun, resumed
from craton.runs.status import Status, find_status
from craton.scf.config import Config
from craton.scf.engines.distributed import shares_tasks
from craton.scf.files.checkpoint import Checkpoint
from craton.scf.files.cube import write_cube
from craton.scf.files.molden import write_molden
from craton.scf.folder import GeometryRow, ScfFolder, ScfRecord, VibrationRow
from craton.scf.iteration.hartree_fock import HartreeFock, Iteration
from craton.scf.molecule import BOHR_ANGSTROM
from craton.scf.setup import made_calculation, named, read_start
from craton.scf.summary import IterationTable, balance_lines, introduction, results_of, summary

if TYPE_CHECKING:
    from mpi4py import MPI
    from rich.console import Console

__all__ = ["config_to_resume", "not_converged", "resume", "run", "status"]

TIGHT_GRADIENT = 1e-6
"""Norm of the orbital gradient in the middle of the differences that vibrations are made of."""
PHASES = ("set-up", "iterations", "geometry", "vibrations", "results", "report")


def run(
    config: Config,
    comm: MPI.Comm | None = None,
    *,
    ranks_per_node: int = 0,
    console: Console | None = None,
    overwrite: bool = False,
    report: bool = False,
) -> ScfRecord:
    """Collective: computes, and leaves a folder. Not to have converged is no error: the record says so, and `resume` goes on.

    comm: None for all ranks. console: of rank 0, None on the others; without one a notebook shows progress in the cell's output.
    report: draws report.html; the record's write_report() does it later. UserError for wrong input, before anything is written.
    """
    comm, console = ranks_and_console(comm, console)
    job = _Job(config, comm, _world(config, comm, ranks_per_node), console)
    calculation, start = job.prepared()
    folder = ScfFolder(config.run.directory)
    inputs = {"[molecule] file": config.molecule.file, "[method] start": config.method.start}
    given = {setting: file for setting, file in inputs.items() if file}
    with begun(comm, folder, job.start, overwrite, given) as (place, progress):

        def write_inputs() -> None:
            write_text(place.config, config.to_toml())
            with replaced(place.molecule) as aside:
                shutil.copyfile(config.molecule.file, aside)

        on_root(comm, write_inputs)
        return job.computed(folder, place, progress, calculation, start, (), report)


def resume(
    directory: Path,
    config: Config,
    comm: MPI.Comm | None = None,
    *,
    ranks_per_node: int = 0,
    console: Console | None = None,
    report: bool = False,
) -> ScfRecord:
    """Collective, on any number of ranks: goes on from the last checkpoint of a run that was killed or has not converged.

    config: of config_to_resume. UserError where there is no such run.
    """
    comm, console = ranks_and_console(comm, console)
    job = _Job(config, comm, _world(config, comm, ranks_per_node), console)
    folder = ScfFolder(directory)
    with resumed(comm, folder, job.start) as (place, progress):
        calculation, start = job.prepared()
        earlier: list[Iteration] = []
        if on_root(comm, place.checkpoint.exists):
            start = Checkpoint.read(place.checkpoint, whole=job.world is None)
            calculation = job.where_it_was(calculation, start)
            earlier = [
                Iteration(int(number), energy, change, gradient, int(quartets), fock_s)
                for number, energy, change, gradient, quartets, fock_s in start.iterations.tolist()
            ]
        else:
            say(console, "there is no checkpoint yet: iterations begin anew")
        return job.computed(folder, place, progress, calculation, start, earlier, report)


def config_to_resume(
    directory: Path, *, iterations: int | None = None, ranks: int | None = None, threads: int | None = None
) -> Config:
    """What the unfinished run in a folder was started with, unless the arguments say otherwise. Not collective.

    The molecule is the copy in the folder. iterations: at most so many more. UserError where there is no such run.
    """
    folder = ScfFolder(directory)
    stored = folder.to_resume()
    place = folder.unfinished or folder
    run: dict[str, Any] = {"directory": directory, "ranks": ranks, "threads": threads}
    options = {("run", name): value for name, value in run.items()} | {
        ("molecule", "file"): place.molecule,
        ("method", "start"): "" if place.checkpoint.exists() else None,
        ("convergence", "iterations"): iterations,
    }
    return Config.build(with_options(stored.configuration, options), Path(stored.source))


def status(directory: Path) -> Status:
    """Where a run is. Not collective; needs no MPI. UserError where there is none."""
    folder = ScfFolder(directory)
    found = find_status(folder)
    if found.state == "finished":
        found.rows |= folder.read_record().told
    else:
        found.rows |= {name: found.facts[name] for name in ("energy", "change", "gradient") if name in found.facts}
    return found


def not_converged(record: ScfRecord, folder: Path) -> str:
    """What to say of such a run; empty where it has converged."""
    if record.converged:
        return "" if record.optimised is not False else _not_optimised(record, folder)
    last = record.iterations[-1]
    changed = "" if last.change_hartree is None else f"the energy last changed by {last.change_hartree:.2g} hartree, "
    return (
        f"not converged after {len(record.iterations)} iterations: {changed}the gradient is {last.gradient:.2g}; "
        f"`craton scf resume {folder}` goes on; what may help: level_shift, damping, the other guess"
    )


def _not_optimised(record: ScfRecord, folder: Path) -> str:
    assert record.geometry is not None
    last = record.geometry[-1]
    return (
        f"geometry not optimised after {len(record.geometry) - 1} steps: the largest force is "
        f"{last.force_hartree_per_bohr:.2g} hartree/bohr; `craton scf run {folder}/optimised.xyz` with the same settings goes on"
    )


def _world(config: Config, comm: MPI.Comm, ranks_per_node: int) -> craton.World | None:
    """None: NumPy matrices of one process, where nobody asked for ranks."""
    alone = comm.size == 1 and config.run.ranks == 0 and launched_size() is None
    return None if alone else craton.World(comm, ranks_per_node)


@dataclass
class _Job:
    """What a calculation is made with, and its steps. Collective."""

    config: Config
    comm: MPI.Comm
    world: craton.World | None
    console: Console | None

    @property
    def start(self) -> Start:
        config = self.config
        return Start("scf", config.to_dict(), str(config.path), PHASES, self.comm.size, config.run.threads)

    def prepared(self) -> tuple[HartreeFock, Checkpoint | None]:
        """The calculation, and what [method] start names. UserError for wrong input."""
        calculation = made_calculation(self.config, self.world)
        return calculation, read_start(self.config, calculation.molecule, whole=self.world is None)

    def computed(
        self,
        folder: ScfFolder,
        place: ScfFolder,
        progress: ProgressFile,
        calculation: HartreeFock,
        start: Checkpoint | None,
        earlier: Sequence[Iteration],
        report: bool,
    ) -> ScfRecord:
        """Iterations, results, report. earlier: iterations of the session before."""
        comm, world, before = self.comm, self.world, len(earlier)
        say(self.console, introduction(calculation, start, world))
        most = before + calculation.max_cycle
        on_root(comm, lambda: progress.enter("iterations", done=before, total=most, unit="iterations"))
        self._iterate(place, progress, calculation, start, earlier)
        calculation, found = self._geometry(progress, calculation)
        on_root(comm, lambda: progress.enter("results"))
        record = self._record(calculation, found)
        self._write_results(place, calculation)
        for line in [*summary(record), *(balance_lines(record.balance) if record.balance else [])]:
            say(self.console, line)
        end_run(
            comm, folder, place, progress, record, phase="iterations", done=len(record.iterations), unit="iterations"
        )
        if report:
            on_root(comm, lambda: _write_report(folder))
        say(self.console, f"written: {folder.path}/ with {', '.join(file.name for file in folder.results)}")
        return record

    def where_it_was(self, calculation: HartreeFock, start: Checkpoint) -> HartreeFock:
        """The calculation at the checkpoint's geometry, to which an optimisation had come. UserError for other atoms."""
        before, now = start.molecule, calculation.molecule
        if before.symbols != now.symbols:
            raise UserError(
                f"{self.config.run.directory}: its checkpoint is of {before.formula}, but its molecule is {now.formula}; "
                "allowed: the same atoms in the same order"
            )
        if not self.config.geometry.optimise or np.array_equal(before.positions_bohr, now.positions_bohr):
            return calculation
        say(self.console, "going on from the last geometry that was saved")
        return calculation.moved(before.positions_bohr)

    def _geometry(self, progress: ProgressFile, calculation: HartreeFock) -> tuple[HartreeFock, dict[str, Any]]:
        """What [geometry] wants of a calculation that has converged: the last geometry's, and fields of the record."""
        wanted, comm = self.config.geometry, self.comm
        found: dict[str, Any] = {}
        if not calculation.converged or not (wanted.optimise or wanted.frequencies):
            return calculation, {}
        calculation.callback = None
        if wanted.optimise:
            calculation, found = self._optimise(progress, calculation)
        if wanted.frequencies and found.get("optimised", True):
            from craton.scf.geometry.vibrations import vibrations

            atoms = len(calculation.molecule.symbols)
            on_root(comm, lambda: progress.enter("vibrations", done=0, total=6 * atoms, unit="gradients"))
            begun, seconds, iterations = time.perf_counter(), calculation.seconds, calculation.iterations
            calculation.conv_tol_grad = min(calculation.conv_tol_grad or TIGHT_GRADIENT, TIGHT_GRADIENT)
            calculation.kernel(calculation.whole_rdm1())
            with ProgressBar("Vibrations", 6 * atoms, "gradients", self.console) as bar:

                def note(done: int, _: int) -> None:
                    bar.update(done)
                    progress.update(done)

                modes = vibrations(calculation, callback=note)
            calculation.iterations, calculation.seconds = (
                iterations,
                seconds | {"vibrations": time.perf_counter() - begun},
            )
            rows = zip(modes.frequencies_cm1.tolist(), modes.intensities_km_mol.tolist(), strict=True)
            found["vibrations"] = [VibrationRow(*row) for row in rows]
            found["zero_point_hartree"] = modes.zero_point_hartree
        return calculation, found

    def _optimise(self, progress: ProgressFile, calculation: HartreeFock) -> tuple[HartreeFock, dict[str, Any]]:
        from craton.scf.geometry.optimisation import Step, optimise

        wanted = self.config.geometry
        on_root(self.comm, lambda: progress.enter("geometry", done=0, total=wanted.steps, unit="geometries"))
        say(self.console, "geometry    energy (hartree)  largest force (hartree/bohr)", style="bold")

        def note(step: Step) -> None:
            say(self.console, f"{step.number:8}  {step.energy:18.10f}  {step.force:28.2e}")
            progress.progress.facts |= {
                "energy": f"{step.energy:.10f} hartree",
                "force": f"{step.force:.2e} hartree/bohr",
            }
            progress.update(step.number + 1)

        begun, seconds, iterations = time.perf_counter(), calculation.seconds, calculation.iterations
        done = optimise(calculation, force=wanted.force, max_steps=wanted.steps, callback=note)
        last = done.calculation
        last.seconds = seconds | {"geometries": time.perf_counter() - begun}
        last.iterations = iterations  # at the first geometry: those after it begin near their ends
        return last, {
            "geometry": [GeometryRow(each.number, each.energy, each.force) for each in done.steps],
            "optimised": done.converged,
        }

    def _iterate(
        self,
        place: ScfFolder,
        progress: ProgressFile,
        calculation: HartreeFock,
        start: Checkpoint | None,
        earlier: Sequence[Iteration],
    ) -> None:
        table, first = IterationTable(self.console), len(earlier) + 1

        def note(line: Iteration) -> None:
            table.add(line)
            facts = progress.progress.facts
            facts |= {"energy": f"{line.energy:.10f} hartree", "gradient": f"{line.gradient:.2e}"}
            if line.number > first:
                facts["change"] = f"{line.change:.2e} hartree"
            progress.update(line.number)
            if progress.progress.saved != calculation.saved:
                progress.saved(calculation.saved)

        calculation.checkpoint, calculation.callback = place.checkpoint, note
        calculation.kernel(start, earlier)

    def _record(self, calculation: HartreeFock, found: dict[str, Any]) -> ScfRecord:
        config, world, engine = self.config, self.world, calculation.engine
        nodes = 1 if world is None else world.node_count
        facts = facts_of("scf", config.path, config.to_dict(), self.comm.size, nodes, config.run.threads)
        balance = self.comm.gather(engine.spent) if shares_tasks(engine) else None
        word = "converged" if calculation.converged else "not converged"
        why = f"{word} after {len(calculation.iterations)} iterations"
        if "geometry" in found:
            word = "optimised" if found["optimised"] else "not optimised"
            why += f", geometry {word} after {len(found['geometry']) - 1} steps"
            found["positions_angstrom"] = (calculation.molecule.positions_bohr * BOHR_ANGSTROM).tolist()
        return ScfRecord(**facts, **results_of(calculation), **found, balance=balance, stopped_because=why)

    def _write_results(self, place: ScfFolder, calculation: HartreeFock) -> None:
        """Rank 0 writes, and fetches what it needs of the others' matrices while they wait."""
        output, world, engine = self.config.output, self.world, calculation.engine
        timelines = self.comm.gather(engine.timeline) if shares_tasks(engine) else None

        def write() -> None:
            with replaced(place.orbitals) as aside:
                shutil.copyfile(place.checkpoint, aside)
            if self.config.geometry.optimise:
                calculation.molecule.write_xyz(place.optimised, f"{calculation.method}/{calculation.basis_name}")
            if output.molden:
                write_molden(calculation, place.molden)
            for old in place.more_results():
                remove(old)
            for what in output.cubes:
                name, spin = named(what)
                write_cube(calculation, place.cube(what), name, spin=spin, spacing_bohr=output.cube_spacing_bohr)
            if timelines is not None:
                with replaced(place.balance) as aside:
                    write_hdf5(aside, {f"rank_{rank}": np.asarray(rows) for rank, rows in enumerate(timelines)})

        if world is None:
            return write()
        failure = ""
        world.barrier()  # the others answer from here on
        if world.rank == 0:
            try:
                write()
            except UserError as error:
                failure = str(error)
        world.agree(failure)
        return None


def _write_report(folder: ScfFolder) -> None:
    from craton.scf.report import write_report

    write_report(folder.path)
