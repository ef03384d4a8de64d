"""The verbs of an inversion. `check` is beside the forecast, in planning.py."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from craton.cli.launching import communicator, console_of, launch, must_launch
from craton.cli.options import (
    ConfigFile,
    Directory,
    Json,
    Overwrite,
    Ranks,
    RanksPerNode,
    Report,
    RunDirectory,
    Threads,
    count,
)
from craton.cli.output import print_json, print_table

if TYPE_CHECKING:
    from craton.tomography.config.load import Config

app = typer.Typer()


@app.command()
def run(
    config: ConfigFile,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Threads = None,
    iterations: Annotated[
        int | None,
        typer.Option(
            metavar="I", parser=count, help="Gauss-Newton iterations at most; overrides \\[inversion] max_iterations."
        ),
    ] = None,
    directory: Directory = None,
    overwrite: Overwrite = False,
    report: Report = True,
    as_json: Json = False,
) -> None:
    """Run a whole inversion: data, assembly of the Hessian, solution, iterations, report.

    On this machine, with 4 processes:

        craton tomography run demo.toml --ranks 4

    In a batch job, also behind mpirun:

        srun craton tomography run demo.toml

    The results are in a folder: data.h5, hessian.h5, model.h5, record.json, report.html. A run that was ended goes on with
    [bold]craton tomography resume[/bold]; [bold]craton tomography status[/bold] says where it is.
    """

    from craton.tomography.config.load import check_ranks, load_config

    def load() -> Config:
        loaded = load_config(config)
        if threads is not None:
            loaded = loaded.replaced("assembly", threads=threads)
        if iterations is not None:
            loaded = loaded.replaced("inversion", max_iterations=iterations)
        if directory is not None:
            loaded = loaded.replaced("run", directory=str(directory))
        return loaded

    if must_launch(ranks):
        planned = load()
        check_ranks(planned, ranks or 1)
        launch(ranks, ranks_per_node, Path(planned.run.directory), planned.assembly.threads)
    from craton.runs.agreement import on_root

    comm = communicator()
    settings = on_root(comm, load)
    check_ranks(settings, comm.size)
    from craton.tomography import start as inversion

    found = inversion.run(
        settings,
        comm,
        ranks_per_node=ranks_per_node or 0,
        console=console_of(comm, as_json=as_json),
        overwrite=overwrite,
        report=report,
    )
    if as_json and comm.rank == 0:
        print_json(found.to_dict())


@app.command("resume")
def resume(
    directory: RunDirectory,
    config: Annotated[
        Path | None,
        typer.Argument(
            metavar="[CONFIG]",
            help="The run's TOML file, changed where a run may change; without it the run goes on as it was begun.",
        ),
    ] = None,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Threads = None,
    report: Report = True,
    as_json: Json = False,
) -> None:
    """Go on with a run that was killed or has failed, on any number of ranks.

    On 4 processes:

        craton tomography resume demo-run --ranks 4

    Finished phases are not computed again, nor the paths that the assembly's last checkpoint holds. CONFIG may
    differ from what the run was begun with in max_iterations, tolerance, step_halvings, keep_hessians, \\[assembly] and
    \\[report]. A run that has finished says so, and nothing is done.
    """
    from craton.tomography.config.load import check_ranks, load_config

    def load() -> Config | None:
        from craton.tomography.inversion.folder import RunFolder
        from craton.tomography.inversion.resumption import config_to_resume

        found = config_to_resume(RunFolder(directory), None if config is None else load_config(config))
        return found if found is None or threads is None else found.replaced("assembly", threads=threads)

    def say_finished() -> None:
        from craton.tomography.inversion.folder import RunFolder

        record = RunFolder(directory).read_record()
        if as_json:
            print_json(record.to_dict())
        else:
            typer.echo(f"{directory}: this run has finished: {record.stopped_because}")

    if must_launch(ranks):
        planned = load()
        if planned is None:
            return say_finished()
        check_ranks(planned, ranks or 1)
        launch(ranks, ranks_per_node, directory, planned.assembly.threads)
    from craton.runs.agreement import on_root

    comm = communicator()
    settings = on_root(comm, load)
    if settings is None:
        return say_finished() if comm.rank == 0 else None
    check_ranks(settings, comm.size)
    from craton.tomography import start as inversion

    found = inversion.resume(
        directory,
        settings,
        comm,
        ranks_per_node=ranks_per_node or 0,
        console=console_of(comm, as_json=as_json),
        report=report,
    )
    if as_json and comm.rank == 0:
        print_json(found.to_dict())


@app.command("status")
def status(
    directory: RunDirectory,
    as_json: Json = False,
) -> None:
    """Say where a run is: iteration, phase, paths done, time spent and left, what is on disk. It may be under way.

    Example:

        craton tomography status demo-run
    """
    from craton.tomography.inversion.status import status as status_of

    found = status_of(directory)
    if as_json:
        print_json(found.to_dict())
    else:
        print_table(found.table())


@app.command()
def template() -> None:
    """Print a configuration file with every key, its default and what it means.

    To begin with:

        craton tomography template > my.toml
    """
    from craton.tomography import config

    typer.echo(config.template())


@app.command()
def report(directory: RunDirectory) -> None:
    """Draw report.html again from what a run has left in its folder."""
    from craton.tomography.report.page import write_report

    typer.echo(str(write_report(directory)))
