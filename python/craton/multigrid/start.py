"""`craton multigrid run` and `resume`: a problem solved in a run folder."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import craton
from craton.cli.output import say
from craton.multigrid.built_in import problem_of
from craton.multigrid.check import check_boxes
from craton.multigrid.config import Config
from craton.multigrid.files import write_field
from craton.multigrid.folder import LevelRow, MultigridFolder, MultigridRecord
from craton.runs.agreement import on_root
from craton.runs.calling import ranks_and_console
from craton.runs.files import write_text
from craton.runs.iterative import end_run, with_options
from craton.runs.progress_file import ProgressFile, Start
from craton.runs.record import facts_of
from craton.runs.running import begun, resumed
from craton.runs.status import Status, find_status
from craton.runs.words import counted
from craton.solvers.multigrid.solver import Solution

if TYPE_CHECKING:
    from mpi4py import MPI
    from rich.console import Console

__all__ = ["config_to_resume", "not_converged", "resume", "run", "status"]

PHASES = ("set-up", "solve", "results", "report")


def run(
    config: Config,
    comm: MPI.Comm | None = None,
    *,
    ranks_per_node: int = 0,
    console: Console | None = None,
    overwrite: bool = False,
    report: bool = False,
) -> MultigridRecord:
    """Collective: solves, and leaves a folder. Not to have reached the tolerance is no error: the record says so.

    comm: None for all ranks. console: of rank 0, None on the others; without one a notebook shows progress in the cell's output.
    report: draws report.html; the record's write_report() does it later. UserError on every rank for wrong input, before anything
    is solved.
    """
    comm, console = ranks_and_console(comm, console)
    job = _Job(config, comm, ranks_per_node, console)
    folder = MultigridFolder(config.run.directory)
    given = {"[problem] file": config.problem.file} if config.problem.file else {}
    with begun(comm, folder, _start(config, comm), overwrite, given) as (place, progress):
        on_root(comm, lambda: write_text(place.config, config.to_toml()))
        return job.solved(folder, place, progress, report)


def resume(
    directory: Path,
    config: Config,
    comm: MPI.Comm | None = None,
    *,
    ranks_per_node: int = 0,
    console: Console | None = None,
    report: bool = False,
) -> MultigridRecord:
    """Collective, on any number of ranks: solves again from the beginning what was killed or has not reached its tolerance.

    A solve takes minutes at most, and keeps no state. config: of config_to_resume. UserError where there is no such run.
    """
    comm, console = ranks_and_console(comm, console)
    job = _Job(config, comm, ranks_per_node, console)
    folder = MultigridFolder(directory)
    with resumed(comm, folder, _start(config, comm)) as (place, progress):
        say(console, "solving again from the beginning: a solve keeps no state")
        return job.solved(folder, place, progress, report)


def config_to_resume(
    directory: Path, *, cycles: int | None = None, ranks: int | None = None, threads: int | None = None
) -> Config:
    """What the unfinished run in a folder was started with, unless the arguments say otherwise. Not collective.

    UserError where there is no such run.
    """
    stored = MultigridFolder(directory).to_resume()
    run: dict[str, Any] = {"directory": directory, "ranks": ranks, "threads": threads}
    options = {("solver", "cycles"): cycles} | {("run", name): value for name, value in run.items()}
    return Config.build(with_options(stored.configuration, options), Path(stored.source))


def status(directory: Path) -> Status:
    """Where a run is. Not collective; needs no MPI. UserError where there is none."""
    folder = MultigridFolder(directory)
    found = find_status(folder)
    found.saved = None  # a solve keeps no state
    if found.state == "failed" and folder.record.is_file():
        found.resume_options = "--cycles N"
    if folder.record.is_file() and found.state != "running":
        found.rows |= folder.read_record().told
    return found


def not_converged(record: MultigridRecord, folder: Path) -> str:
    """What to say of such a run; empty where it has converged."""
    if record.converged:
        return ""
    return (
        f"multigrid: {record.stopped_because}; what was found is in {folder}; `craton multigrid resume {folder} --cycles N` "
        'takes more of them, [solver] method = "cg" copes with jumps of beta'
    )


def _start(config: Config, comm: MPI.Comm) -> Start:
    return Start("multigrid", config.to_dict(), str(config.path), PHASES, comm.size, config.run.threads)


class _Job:
    """A problem, its solver and what it is solved with. Collective; UserError on every rank for what is wrong with them."""

    def __init__(self, config: Config, comm: MPI.Comm, ranks_per_node: int, console: Console | None) -> None:
        on_root(comm, lambda: check_boxes(config, problem_of(config), comm.size))
        self._config, self._comm, self._console = config, comm, console
        self._world = craton.World(comm, ranks_per_node)
        ours, self._problem = config.solver, problem_of(config)
        self._operator = ours.operator or self._problem.operator
        self._solver = self._problem.solver(
            self._world,
            config.grid.box,
            operator=self._operator,
            smoother=ours.smoother,
            order=config.grid.order,
            threads=config.run.threads,
        )
        self._f = self._problem.right_hand_side(self._solver, self._operator)

    def solved(
        self, folder: MultigridFolder, place: MultigridFolder, progress: ProgressFile, report: bool
    ) -> MultigridRecord:
        """Solve, results, report."""
        comm, solver, ours = self._comm, self._solver, self._config.solver
        say(
            self._console,
            f"{self._config.path}: {' x '.join(map(str, solver.cells))} cells, boxes of {solver.box}^3, {self._operator}, "
            f"{counted(comm.size, 'rank')}",
        )
        on_root(comm, lambda: progress.enter("solve", total=ours.cycles + 1, unit="cycles"))
        solution, reached = self._solve(progress)
        on_root(comm, lambda: progress.enter("results"))
        record = self._record(solution, reached)
        facts = {"residuals": solution.residuals, "converged": solution.converged, "tolerance": ours.tolerance}
        facts |= {"operator": self._operator, "method": ours.method, "smoother": ours.smoother, "box": solver.box}
        facts |= {"spacing": solver.spacing}
        write_field(place.solution, "u", solver, solution.u, facts)
        steps = len(record.residuals)
        end_run(comm, folder, place, progress, record, phase="solve", done=steps, unit="cycles")
        if report:
            on_root(comm, lambda: _write_report(folder))
        say(self._console, f"written: {folder.path}/ with {', '.join(file.name for file in folder.results)}")
        return record

    def _solve(self, progress: ProgressFile) -> tuple[Solution, list[float]]:
        """The solution, and the seconds at which each of its residuals was reached."""
        ours, reached, started = self._config.solver, [], time.perf_counter()

        def note(step: int, residual: float) -> None:
            reached.append(time.perf_counter() - started)
            progress.update(step + 1)
            what = f"{_word(ours.method)} {step}" if step else "F-cycle"
            say(self._console, f"  {what:10} residual {residual:.3e}  {reached[-1]:.2f} s")

        self._solver.record_times()
        solution = self._solver.solve(
            self._f,
            boundary_values=self._problem.boundary_values,
            tolerance=ours.tolerance,
            most=ours.cycles,
            method=ours.method,  # type: ignore[arg-type]
            unconverged="ignore",  # the exit code tells
            progress=note,
        )
        return solution, reached

    def _record(self, solution: Solution, reached: list[float]) -> MultigridRecord:
        config, solver, ours = self._config, self._solver, self._config.solver
        times = solver.longest_times()
        nx, ny, nz = solver.cells
        steps = counted(solution.cycles, _word(ours.method))
        allowed = "tolerance" if solution.converged else "allowed:"
        return MultigridRecord(
            **facts_of(
                "multigrid",
                config.path,
                config.to_dict(),
                self._comm.size,
                self._world.node_count,
                config.run.threads,
            ),
            cells=[nx, ny, nz],
            box=solver.box,
            operator=self._operator,
            smoother=ours.smoother,
            method=ours.method,
            tolerance=ours.tolerance,
            residuals=list(solution.residuals),
            reached_s=reached,
            converged=solution.converged,
            levels=[
                LevelRow(box, list(boxes), n, times[at], list(solver.grids[at]))
                for at, (box, boxes, n) in enumerate(solver.levels)
            ],
            unknowns_per_s=nx * ny * nz / max(reached[0], 1e-9),
            seconds={"solve": reached[-1]},
            stopped_because=f"residual {solution.residuals[-1]:.3g} after {steps}; {allowed} {ours.tolerance:g}",
        )


def _word(method: str) -> str:
    return "cycle" if method == "cycles" else "step"


def _write_report(folder: MultigridFolder) -> None:
    from craton.multigrid.report import write_report

    write_report(folder.path)
