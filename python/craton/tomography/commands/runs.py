"""The verbs of an inversion, and the forecast of what one takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from craton._launch import launched_size
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
from craton.cli.output import check_folders, print_json
from craton.errors import UserError

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
) -> None:
    """Run a whole inversion: data, assembly of the Hessian, solution, iterations, report.

    On this machine, with 4 processes:    [bold]craton tomography run demo.toml --ranks 4[/bold]

    In a batch job:    [bold]srun craton tomography run demo.toml[/bold]    or the same behind [bold]mpirun -n 64[/bold]

    The results are in a folder: data.h5, hessian.h5, model.h5, record.json, report.html.

    Whatever ends it, [bold]craton tomography resume demo-run[/bold] goes on from there; `status` instead says where it is.
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

    inversion.run(
        settings, comm, ranks_per_node=ranks_per_node or 0, console=console_of(comm), overwrite=overwrite, report=report
    )


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
) -> None:
    """Go on with a run that was killed or has failed, on any number of ranks.

    Where it was:    [bold]craton tomography status demo-run[/bold]

    On 4 processes:    [bold]craton tomography resume demo-run --ranks 4[/bold]

    What phases before have found is not computed again, and of the assembly not what its last checkpoint holds. CONFIG may
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

        typer.echo(f"{directory}: this run has finished: {RunFolder(directory).read_record().stopped_because}")

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

    inversion.resume(
        directory, settings, comm, ranks_per_node=ranks_per_node or 0, console=console_of(comm), report=report
    )


@app.command("status")
def status(
    directory: RunDirectory,
    as_json: Json = False,
) -> None:
    """Say where a run is: iteration, phase, paths done, time spent and left, what is on disk. It may be under way.

    [bold]craton tomography status demo-run[/bold]
    """
    from craton.tomography.inversion.status import find_status

    found = find_status(directory)
    if as_json:
        print_json(found.to_dict())
    else:
        typer.echo(found.to_text())


@app.command()
def template() -> None:
    """Print a configuration file with every key, its default and what it means.

    To begin with:    [bold]craton tomography template > my.toml[/bold]
    """
    from craton.tomography import config

    typer.echo(config.template())


@app.command()
def report(directory: RunDirectory) -> None:
    """Draw report.html again from what a run has left in its folder."""
    from craton.tomography.report.page import write_report

    typer.echo(str(write_report(directory)))


@app.command("plan")
def plan(
    config: Annotated[Path, typer.Argument(metavar="CONFIG|RUN", help="A configuration; or the folder of a run.")],
    ranks: Annotated[
        int | None,
        typer.Option(metavar="N", parser=count, help="Of the run that is planned, else 1; they are not started."),
    ] = None,
    ranks_per_node: Annotated[
        int | None, typer.Option(metavar="K", parser=count, help="Ranks of a node; else as many as it has cores for.")
    ] = None,
    machine: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rates of the machine, as --calibrate writes them.")
    ] = None,
    calibrate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the rates measured on this machine in a TOML file.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Predict time, memory, messages and files of a run, phase by phase, before it is started; compute no inversion.

    [bold]craton tomography plan examples/global/demo.toml --ranks 2[/bold]

    For another machine, measure a node there, with as many ranks at a time as a run will have on it, and keep its rates:
    [bold]craton tomography plan demo.toml --ranks 64 --calibrate machine.toml[/bold]
    and plan anywhere:    [bold]craton tomography plan demo.toml --ranks 1024 --machine machine.toml[/bold]

    Of the folder of a run, what was predicted stands beside what it took.
    """
    from craton.runs.progress import make_console
    from craton.tomography.config.load import load_config
    from craton.tomography.plan import forecast as plan

    if (launched_size() or 0) > 1:
        raise UserError("craton tomography plan under mpirun; allowed: alone; --ranks says what is planned")
    if machine is not None and calibrate is not None:
        raise UserError("--machine with --calibrate; allowed: one of them")
    check_folders(calibrate=calibrate)
    console = make_console()
    if config.is_dir():
        for option, value in (("--ranks", ranks), ("--ranks-per-node", ranks_per_node), ("--calibrate", calibrate)):
            if value is not None:
                raise UserError(
                    f"{option} with {config}, the folder of a run: its record says; allowed: with a configuration"
                )
        planned, compared = plan.plan_of_run(config, machine)
        table, content = plan.compared_table(planned, compared), [vars(row) for row in compared]
        shown = {**planned.to_dict(), "compared": content}
    else:
        tell = (lambda _: None) if as_json else typer.echo
        planned = plan.make_plan(load_config(config), ranks or 1, ranks_per_node or 0, machine, calibrate, tell)
        table, shown = plan.plan_table(planned), planned.to_dict()
    if as_json:
        print_json(shown)
        return
    console.print(table)
    console.print(f"what takes longest: {planned.limit}", highlight=False, soft_wrap=True)
    for warning in planned.warnings:
        console.print(f"note: {warning}", style="yellow", highlight=False, markup=False, soft_wrap=True)
