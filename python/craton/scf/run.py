"""`craton scf run` and `resume`: a calculation in a run folder."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import craton
from craton._launch import launched_size
from craton.errors import UserError
from craton.runs.agreement import on_root
from craton.runs.files import remove, replaced, write_hdf5, write_text
from craton.runs.progress_file import ProgressFile, Start
from craton.runs.record import facts_of
from craton.runs.running import begun, finished, resumed, take_place
from craton.runs.status import Status, find_status
from craton.scf.config import Config, build
from craton.scf.files.checkpoint import Checkpoint
from craton.scf.files.cube import write_cube
from craton.scf.files.molden import write_molden
from craton.scf.folder import ScfFolder, ScfRecord
from craton.scf.iteration.hartree_fock import HartreeFock, Iteration
from craton.scf.setup import made_calculation, named, read_start
from craton.scf.summary import IterationTable, balance_lines, introduction, results_of, say, summary

if TYPE_CHECKING:
    from mpi4py import MPI
    from rich.console import Console

__all__ = ["config_to_resume", "not_converged", "resume", "run", "status"]

PHASES = ("set-up", "iterations", "results", "report")


def run(
    config: Config,
    comm: MPI.Comm,
    *,
    ranks_per_node: int = 0,
    console: Console | None = None,
    overwrite: bool = False,
    report: bool = True,
) -> ScfRecord:
    """Collective: computes, and leaves a folder. Not to have converged is no error: the record says so, and `resume` goes on.

    console: of rank 0, None on the others. UserError for wrong input, before anything is written.
    """
    world = _world(config, comm, ranks_per_node)
    calculation = made_calculation(config, world)
    start = read_start(config, calculation.molecule, whole=world is None)
    folder = ScfFolder(config.run.directory)
    inputs = {"[molecule] file": config.molecule.file, "[method] start": config.method.start}
    given = {setting: file for setting, file in inputs.items() if file}
    with begun(comm, folder, _start(config, comm), overwrite, given) as (place, progress):

        def write_inputs() -> None:
            write_text(place.config, config.to_toml())
            with replaced(place.molecule) as aside:
                shutil.copyfile(config.molecule.file, aside)

        on_root(comm, write_inputs)
        return _computed(config, comm, world, folder, place, progress, calculation, start, (), console, report)


def resume(
    directory: Path,
    config: Config,
    comm: MPI.Comm,
    *,
    ranks_per_node: int = 0,
    console: Console | None = None,
    report: bool = True,
) -> ScfRecord:
    """Collective, on any number of ranks: goes on from the last checkpoint of a run that was killed or has not converged.

    config: of config_to_resume. UserError where there is no such run.
    """
    world = _world(config, comm, ranks_per_node)
    folder = ScfFolder(directory)
    with resumed(comm, folder, _start(config, comm)) as (place, progress):
        calculation = made_calculation(config, world)
        start = read_start(config, calculation.molecule, whole=world is None)
        earlier: tuple[Iteration, ...] = ()
        if on_root(comm, place.checkpoint.exists):
            start = Checkpoint.read(place.checkpoint, whole=world is None)
            earlier = tuple(
                Iteration(int(number), energy, change, gradient, int(quartets), fock_s)
                for number, energy, change, gradient, quartets, fock_s in start.iterations.tolist()
            )
        return _computed(config, comm, world, folder, place, progress, calculation, start, earlier, console, report)


def config_to_resume(directory: Path, *, iterations: int | None = None, threads: int | None = None) -> Config:
    """What the unfinished run in a folder was started with; of its molecule the copy in the folder. Not collective.

    iterations: at most so many more. UserError where there is no such run.
    """
    folder = ScfFolder(directory)
    stored = folder.to_resume()
    place = folder.unfinished or folder
    raw = dict(stored.configuration)
    raw["molecule"] = raw["molecule"] | {"file": str(place.molecule.absolute())}
    raw["run"] = raw["run"] | {"directory": str(directory)}
    if place.checkpoint.exists():
        raw["method"] = raw["method"] | {"start": ""}
    config = build(raw, Path(stored.source))
    if iterations is not None:
        config = config.replaced("convergence", iterations=iterations)
    return config if threads is None else config.replaced("run", threads=threads)


def status(directory: Path) -> Status:
    """Where a run is. Not collective; needs no MPI. UserError where there is none."""
    folder = ScfFolder(directory)
    found = find_status(folder)
    if found.state == "finished":
        record = folder.read_record()
        found.rows["energy"] = f"{record.energy_hartree:.10f} hartree"
        found.rows["calculation"] = f"{record.molecule}, {record.method}/{record.basis}"
    elif (place := folder.unfinished) is not None:
        facts = folder.to_resume().facts if found.state != "running" else _facts(place)
        found.rows |= {name: facts[name] for name in ("energy", "change", "gradient") if name in facts}
    return found


def not_converged(record: ScfRecord, folder: Path) -> str:
    """What to say of such a run; empty where it has converged."""
    if record.converged:
        return ""
    last = record.iterations[-1]
    changed = "" if last.change_hartree is None else f"the energy last changed by {last.change_hartree:.2g} hartree, "
    return (
        f"not converged after {len(record.iterations)} iterations: {changed}the gradient is {last.gradient:.2g}; "
        f"`craton scf resume {folder}` goes on; what may help: level_shift, damping, the other guess"
    )


def _facts(place: ScfFolder) -> dict[str, Any]:
    from craton.runs.progress_file import read_progress

    return read_progress(place.progress).facts


def _world(config: Config, comm: MPI.Comm, ranks_per_node: int) -> craton.World | None:
    """None: NumPy matrices of one process, where nobody asked for ranks."""
    alone = comm.size == 1 and config.run.ranks == 0 and launched_size() is None
    return None if alone else craton.World(comm, ranks_per_node)


def _start(config: Config, comm: MPI.Comm) -> Start:
    return Start("scf", config.to_dict(), str(config.path), PHASES, comm.size, config.run.threads)


def _computed(
    config: Config,
    comm: MPI.Comm,
    world: craton.World | None,
    folder: ScfFolder,
    place: ScfFolder,
    progress: ProgressFile,
    calculation: HartreeFock,
    start: Checkpoint | None,
    earlier: Sequence[Iteration],
    console: Console | None,
    report: bool,
) -> ScfRecord:
    """Collective: iterations, results, report."""
    table = IterationTable(console)
    calculation.checkpoint = place.checkpoint
    before = len(earlier)

    def note(line: Iteration) -> None:
        table.add(line)
        facts = {"energy": f"{line.energy:.10f} hartree", "gradient": f"{line.gradient:.2e}"}
        progress.progress.facts.update(
            facts | ({"change": f"{line.change:.2e} hartree"} if before + 1 < line.number else {})
        )
        progress.update(line.number)
        if progress.progress.saved != calculation.saved:
            progress.saved(calculation.saved)

    calculation.callback = note
    say(console, introduction(calculation, start, world))
    on_root(
        comm, lambda: progress.enter("iterations", done=before, total=before + calculation.max_cycle, unit="iterations")
    )
    calculation.kernel(start, earlier)
    on_root(comm, lambda: progress.enter("results"))
    engine: Any = calculation.engine
    balance = None if world is None else comm.allgather(engine.spent)
    facts = facts_of(
        "scf", config.path, config.to_dict(), comm.size, 1 if world is None else world.node_count, config.run.threads
    )
    record = ScfRecord(**facts, **results_of(calculation), balance=balance)
    record.started = progress.progress.sessions[0].started
    _write_results(config, comm, world, place, calculation)
    for line in [*summary(record), *(balance_lines(balance) if balance else [])]:
        say(console, line)
    _end(comm, folder, place, progress, record)
    if report:
        on_root(comm, lambda: _write_report(folder))
    say(console, f"written: {folder.path}/ with {', '.join(file.name for file in folder.results)}")
    return record


def _end(comm: MPI.Comm, folder: ScfFolder, place: ScfFolder, progress: ProgressFile, record: ScfRecord) -> None:
    """Collective. A run that has not converged has results, and its checkpoint to go on from."""
    if record.converged:
        record.stopped_because = f"converged after {len(record.iterations)} iterations"
        finished(comm, folder, place, progress, record)
        return
    take_place(comm, folder, place, progress)

    def write() -> None:
        record.sessions, record.stopped_because = (
            progress.sessions(),
            f"not converged after {len(record.iterations)} iterations",
        )
        progress.progress.failure = record.stopped_because
        folder.write_record(record)
        progress.enter("iterations", done=len(record.iterations), total=len(record.iterations), unit="iterations")

    on_root(comm, write)


def _write_report(folder: ScfFolder) -> None:
    from craton.scf.report import write_report

    write_report(folder.path)


def _write_results(
    config: Config, comm: MPI.Comm, world: craton.World | None, place: ScfFolder, calculation: HartreeFock
) -> None:
    """Collective: rank 0 writes, and fetches what it needs of the others' matrices while they wait."""
    engine: Any = calculation.engine
    timelines = None if world is None else comm.gather(engine.timeline)

    def write() -> None:
        with replaced(place.orbitals) as aside:
            shutil.copyfile(place.checkpoint, aside)
        if config.output.molden:
            write_molden(calculation, place.molden)
        for old in place.more_results():
            remove(old)
        for what in config.output.cubes:
            name, spin = named(what)
            write_cube(calculation, place.cube(what), name, spin=spin, spacing_bohr=config.output.cube_spacing_bohr)
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
