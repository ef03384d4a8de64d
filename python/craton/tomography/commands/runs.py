"""The verbs of an inversion. `check` is beside the forecast, in planning.py."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from craton.cli.launching import RunReport, communicator, console_of, end_run, launch, must_launch
from craton.cli.options import (
    ChangedConfig,
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
from craton.cli.output import print_json
from craton.cli.verbs import add_verbs

if TYPE_CHECKING:
    from craton.tomography.config.load import Config

REPORT = "craton.tomography.report.two_processes"
app = typer.Typer()


@app.command()
def run(
    config: ConfigFile,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Threads = None,
    iterations: Annotated[
        int | None, typer.Option(metavar="I", parser=count, help="Gauss-Newton iterations, at most.")
    ] = None,
    directory: Directory = None,
    overwrite: Overwrite = False,
    report: Report = True,
    as_json: Json = False,
) -> None:
    """Run an inversion: data, assembly of the Hessian, solution, iterations, report. Options override the configuration.

    On this machine, on 4 ranks:

        craton tomography run demo.toml --ranks 4

    In a batch job:

        srun craton tomography run demo.toml
        mpirun -n 64 craton tomography run demo.toml

    The folder of results has data.h5, hessian.h5, model.h5, record.json and report.html. `craton tomography resume` continues a run
    that was interrupted; `craton tomography status` shows where it is.
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

    drawn = RunReport("tomography", REPORT, report, as_json)
    if must_launch(ranks):
        planned = load()
        check_ranks(planned, ranks or 1)
        launch(ranks, ranks_per_node, Path(planned.run.directory), planned.assembly.threads, drawn)
    from craton.runs.agreement import on_root

    comm = communicator()
    settings = on_root(comm, load)
    check_ranks(settings, comm.size)
    from craton.tomography import start as inversion

    console = console_of(comm, as_json=as_json)
    report = drawn.by_ranks(comm, settings.run.directory, console)
    found = inversion.run(settings, comm, ranks_per_node or 0, console, overwrite, report)
    end_run(found, comm, as_json)


@app.command("resume")
def resume(
    directory: RunDirectory,
    config: ChangedConfig = None,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Threads = None,
    report: Report = True,
    as_json: Json = False,
) -> None:
    """Continue a run that was interrupted or has failed, on any number of ranks.

    On 4 ranks:

        craton tomography resume demo-run --ranks 4

    Finished phases are not computed again, nor the paths that the last checkpoint of the assembly holds. CONFIG may change
    max_iterations, tolerance, step_halvings, keep_hessians, in_place, solve_precision, the command and the grid of
    [synthetics], check_windows of [theory], and the tables [assembly] and [report]. For a run that has finished
    nothing is done.
    """
    from craton.tomography.config.load import check_ranks, load_config
    from craton.tomography.folder import RunFolder

    def load() -> Config | None:
        found = RunFolder(directory).config_to_resume(None if config is None else load_config(config))
        return found if found is None or threads is None else found.replaced("assembly", threads=threads)

    def say_finished() -> None:
        record = RunFolder(directory).read_record()
        if as_json:
            print_json(record.to_dict())
        else:
            typer.echo(f"{directory}: this run has finished: {record.stopped_because}")

    drawn = RunReport("tomography", REPORT, report, as_json)
    if must_launch(ranks):
        planned = load()
        if planned is None:
            say_finished()
            return
        check_ranks(planned, ranks or 1)
        launch(ranks, ranks_per_node, directory, planned.assembly.threads, drawn)
    from craton.runs.agreement import on_root

    comm = communicator()
    settings = on_root(comm, load)
    if settings is None:
        if comm.rank == 0:
            say_finished()
        return
    check_ranks(settings, comm.size)
    from craton.tomography import start as inversion

    console = console_of(comm, as_json=as_json)
    report = drawn.by_ranks(comm, directory, console)
    found = inversion.resume(directory, settings, comm, ranks_per_node or 0, console, report)
    end_run(found, comm, as_json)


add_verbs(
    app,
    "tomography",
    config="craton.tomography.config",
    status="craton.tomography.inversion.status",
    report=REPORT,
    shows="iteration, phase, paths done, time spent and left, files on disk",
    example="demo-run",
)
