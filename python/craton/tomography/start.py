"""Starts or resumes an inversion; computes resolution and draws the report at its end, where they are asked for."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import craton
from craton.runs.agreement import on_root, on_some
from craton.runs.calling import ranks_and_console
from craton.runs.progress import make_console
from craton.runs.progress_file import Start
from craton.runs.running import begun, resumed
from craton.tomography.folder import RunFolder, RunRecord
from craton.tomography.inversion.context import OUTSIDE, PHASES, Awaited, RunContext
from craton.tomography.inversion.driver import Inversion
from craton.tomography.model.sphere import EARTH_RADIUS_KM
from craton.tomography.posterior.findings import posterior_folder
from craton.tomography.posterior.questions import Place, Questions
from craton.tomography.posterior.run import posterior_of_run
from craton.tomography.results import section_place

if TYPE_CHECKING:
    from contextlib import AbstractContextManager

    from mpi4py import MPI
    from rich.console import Console

    from craton.runs.progress_file import ProgressFile
    from craton.tomography.config.load import Config
    from craton.tomography.report.page import Share

MOST_DRAWING = 2
"""Ranks that draw a report. Each reads the data and models of the run; more would wait for the two longest sections."""
RESOLVED_DEPTHS_KM = (300.0, 2000.0)


def run(
    config: Config,
    comm: MPI.Comm | None = None,
    ranks_per_node: int = 0,
    console: Console | None = None,
    overwrite: bool = False,
    report: bool = False,
) -> RunRecord:
    """Collective: a whole inversion as the configuration describes it; leaves a run folder and returns its record.

    comm: None for all ranks. ranks_per_node: treats so many consecutive ranks as one node; 0 as the machine has them.

    console: of rich, where rank 0 prints. None for nowhere, but in a notebook for the cell's output. report: draws report.html; the
    record's write_report() does it later. UserError on every rank for a folder that is in use or has results, unless `overwrite`.
    """
    comm, console = ranks_and_console(comm, console)
    craton.check_mpi()
    folder = RunFolder(config.run.directory)
    inputs = {
        "the configuration": str(config.path),
        "[data] file": config.data.file,
        "[start] file": config.start.file,
        "[events] file": config.events.file,
        "[stations] file": config.stations.file,
    }
    command = on_root(comm, lambda: config.command_line(comm.size, ranks_per_node))
    session = begun(comm, folder, _start(config, comm, command), overwrite, inputs)
    return _go(session, config, comm, ranks_per_node, console, report, resuming=False)


def resume(
    directory: str | os.PathLike[str],
    config: Config | None = None,
    comm: MPI.Comm | None = None,
    ranks_per_node: int = 0,
    console: Console | None = None,
    report: bool = False,
) -> RunRecord:
    """Collective, on any number of ranks: goes on with a run that was ended, and returns its record.

    Of a run that has finished the record is returned as it is. config: may differ from the run's own in the settings that
    craton.tomography.folder.FREE names; None for the run's own. Other arguments and errors are those of `run`.
    """
    comm, console = ranks_and_console(comm, console)
    craton.check_mpi()
    folder = RunFolder(directory)
    config = on_root(comm, lambda: folder.config_to_resume(config))
    if config is None:
        return on_root(comm, folder.read_record)
    command = on_root(comm, lambda: folder.to_resume().command)
    session = resumed(comm, folder, _start(config, comm, command))
    return _go(session, config, comm, ranks_per_node, console, report, resuming=True)


def _start(config: Config, comm: MPI.Comm, command: str) -> Start:
    outside = () if config.synthetics.kind == "modes" else (OUTSIDE,)
    phases = (*PHASES[:2], *outside, *PHASES[2:])
    return Start(
        "tomography", config.to_dict(), str(config.path.absolute()), phases, comm.size, config.assembly.threads, command
    )


def _go(
    session: AbstractContextManager[tuple[RunFolder, ProgressFile]],
    config: Config,
    comm: MPI.Comm,
    ranks_per_node: int,
    console: Console | None,
    report: bool,
    resuming: bool,
) -> RunRecord:
    """Collective: the whole run, or what is left of it."""
    folder = RunFolder(config.run.directory)
    with session as (place, progress), one_order_of_sums(config):
        world = craton.World(comm, ranks_per_node)
        context = RunContext(config, comm, world, console, folder, place, progress, progress.progress.command, resuming)
        if resuming and place.path.resolve() != folder.path.resolve():
            context.say(f"{folder.path} still has the results of an earlier run, which this one replaces later on")
        inversion = Inversion(context)
        try:
            record = inversion.go(resolve if config.report.resolution else None)
        except Awaited as awaited:
            context.say(f"{awaited}\nto go on when they are there: craton tomography resume {folder.path}")
            return inversion.record.in_directory(folder.path)
        if report:
            draw(comm, world, folder)
            context.say(f"report: {folder.report}")
        inversion.files.close()
    return record.in_directory(folder.path)


def one_order_of_sums(config: Config) -> AbstractContextManager[object]:
    """With [inversion] reproducible every BLAS of this process has one thread: with another number it sums in another order."""
    if not config.inversion.reproducible:
        return contextlib.nullcontext()
    from threadpoolctl import threadpool_limits

    return threadpool_limits(1, "blas")  # type: ignore[no-any-return]


def draw(comm: MPI.Comm, world: craton.World, folder: RunFolder) -> None:
    """Collective: writes report.html, drawn by two ranks of a node: only they load matplotlib, which takes memory and a second."""
    drawing = on_root(
        comm, lambda: sum(1 for rank in range(min(comm.size, MOST_DRAWING)) if world.shares_memory_with(rank))
    )

    def share(rank: int) -> Share:
        from craton.tomography.report import page

        return page.draw_share(folder.path, rank, drawing)

    def write(shares: list[Share]) -> None:
        from craton.tomography.report import page

        page.write_sections(folder.path, shares)

    shares = on_some(comm, drawing, share)
    on_root(comm, lambda: write(shares))


def resolve(inversion: Inversion) -> None:
    """Collective: the posterior of the last Hessian, in the run's folder, for the report.

    It has resolution and standard deviations, and two places below the middle of the cross-section, high and low in the mantle.
    """
    run, basis = inversion.run, inversion.basis
    inversion.assembly.release()
    with run.phases("resolution"):
        there = on_root(
            run.comm, lambda: section_place(run.config.to_dict(), basis, inversion.structure, inversion.target)
        )
        top_km, bottom_km = (EARTH_RADIUS_KM - basis.radial_knots_m[end] / 1e3 for end in (-1, 0))
        depths_km = [depth for depth in RESOLVED_DEPTHS_KM if top_km <= depth <= bottom_km]
        places = [Place(there["latitude"], there["longitude"], depth) for depth in depths_km]
        folder = posterior_folder(run.folder.path)
        found = posterior_of_run(
            run.folder.hessian, run.config.prior, folder.path, Questions(places), run.comm, make_console(quiet=True),
            overwrite=True, world=run.world, pictures=False,
        )  # fmt: skip
    run.say(
        f"{found.resolved:.1f} of {found.parameters} parameters are determined by the data; standard deviations "
        f"and resolution: {folder.path}"
    )
