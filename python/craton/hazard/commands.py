"""The commands of `craton hazard`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from craton.cli.group import group
from craton.cli.launching import check_alone, keep_mpi_off
from craton.cli.options import ConfigFile, Directory, Json, Overwrite, Report, RunDirectory, Threads, choice, count
from craton.cli.output import check_folders, print_json, print_table

if TYPE_CHECKING:
    from craton.hazard.queries import Answer
    from craton.hazard.results import Results

app = group(
    "Seismic hazard from simulated earthquakes: curves, maps and disaggregations of sites.\n\n"
    "Start with: [bold]craton hazard run examples/hazard/basin.toml[/bold]",
)

Schedule = Annotated[
    str | None,
    choice("pipeline", "sequential", text="Sites in a pipeline, or phase after phase; overrides \\[run] schedule."),
]
Cores = Annotated[int | None, typer.Option(metavar="N", parser=count, help="Cores to use; overrides \\[run] cores.")]
Jobs = Annotated[
    int | None, typer.Option(metavar="J", parser=count, help="Jobs at the same time; overrides \\[run] jobs.")
]
Ranks = Annotated[
    int | None, typer.Option(metavar="N", parser=count, help="Processes of each wave run; overrides \\[run] ranks.")
]
Site = Annotated[str | None, typer.Option(metavar="NAME", help="Of the run's sites; else the first.")]
Measure = Annotated[str | None, typer.Option(metavar="SA(T)", help="As in SA(3.0); else the first of the run.")]
Output = Annotated[Path | None, typer.Option(metavar="FILE", help="Write it: .csv, or a picture (.png, .svg, .pdf).")]
INSTEAD = "one process, which starts its wave runs itself ([run] ranks)"


@app.command("template")
def template() -> None:
    """Print a configuration file with every key, its default and what it means.

    To begin with:    [bold]craton hazard template > my.toml[/bold]
    """
    from craton.hazard import config

    typer.echo(config.template())


@app.command("check")
def check(config: ConfigFile, as_json: Json = False) -> None:
    """Say what a run computes and what memory, disk and time it needs; compute nothing.

    [bold]craton hazard check examples/hazard/basin.toml[/bold]
    """
    keep_mpi_off()
    from craton.hazard.check import examine
    from craton.hazard.config import load_config

    found = examine(load_config(config))
    if as_json:
        print_json(dict(found))
        return
    from rich.table import Table

    table = Table(title="What the run does", show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column()
    for name, value in found:
        table.add_row(name, value)
    print_table(table)


@app.command("run")
def run(
    config: ConfigFile,
    schedule: Schedule = None,
    cores: Cores = None,
    jobs: Jobs = None,
    ranks: Ranks = None,
    threads: Threads = None,
    directory: Directory = None,
    overwrite: Overwrite = False,
    report: Report = True,
) -> None:
    """Compute the hazard of sites: waves from each site, seismograms of all ruptures by reciprocity, curves, maps, a report.

    [bold]craton hazard run examples/hazard/basin.toml[/bold]

    After it was ended, however it was ended:    [bold]craton hazard resume basin-run[/bold]

    This command is one process, which starts others, at most J at a time on N cores; do not start it with mpirun. The command
    [bold]craton hazard check[/bold] says beforehand what the run needs. The folder has report.html, hazard.h5, curves.csv,
    maps.csv, disaggregation.csv and openquake/.
    """
    keep_mpi_off()
    check_alone("craton hazard run", INSTEAD)
    from craton.hazard import run as command
    from craton.hazard.config import load_config
    from craton.runs.progress import make_console

    settings = load_config(
        config, directory=directory, schedule=schedule, cores=cores, jobs=jobs, ranks=ranks, threads=threads
    )
    command.run(settings, console=make_console(), overwrite=overwrite, report=report)


@app.command("resume")
def resume(
    directory: RunDirectory,
    config: Annotated[
        Path | None,
        typer.Argument(
            metavar="[CONFIG]",
            help="The run's TOML file, changed in \\[run]; without it the run goes on as it was started.",
        ),
    ] = None,
    schedule: Schedule = None,
    cores: Cores = None,
    jobs: Jobs = None,
    ranks: Ranks = None,
    threads: Threads = None,
    report: Report = True,
) -> None:
    """Do what is missing in the folder of a run that was killed or has failed.

    Where it was:    [bold]craton hazard status basin-run[/bold]

    To go on:    [bold]craton hazard resume basin-run[/bold]

    What a job has left as a file is not computed again; wave runs go on from their checkpoints. Only \\[run] may differ from what
    the run was started with. In the folder of a run that has finished, files that were deleted are made again.
    """
    keep_mpi_off()
    check_alone("craton hazard resume", INSTEAD)
    from craton.hazard import run as command
    from craton.hazard.config import load_config
    from craton.runs.progress import make_console

    command.resume(
        directory,
        None if config is None else load_config(config),
        console=make_console(),
        report=report,
        schedule=schedule,
        cores=cores,
        jobs=jobs,
        ranks=ranks,
        threads=threads,
    )


@app.command("status")
def status(directory: RunDirectory, as_json: Json = False) -> None:
    """Say where a run is: which jobs run, which sites are finished, how long it may still take.

    [bold]craton hazard status basin-run[/bold]
    """
    keep_mpi_off()
    from craton.hazard import run as command

    found = command.status(directory)
    if as_json:
        print_json(found.to_dict())
    else:
        print_table(found.table())


@app.command("report")
def report(directory: RunDirectory) -> None:
    """Write tables, pictures and report.html of a run again, from what its finished sites have left.

    [bold]craton hazard report basin-run[/bold]
    """
    keep_mpi_off()
    from craton.hazard.report.page import write_report

    typer.echo(str(write_report(directory)))


@app.command("curve")
def curve(
    directory: RunDirectory, site: Site = None, measure: Measure = None, output: Output = None, as_json: Json = False
) -> None:
    """Show a hazard curve of a run; into a file also those of all sites together.

    [bold]craton hazard curve basin-run --site basin --output curve.png[/bold]
    """
    keep_mpi_off()
    from craton.hazard import queries

    check_folders(output=output)
    _print(queries.curve(_results(directory), site, measure, output), as_json)


@app.command("map")
def hazard_map(
    directory: RunDirectory,
    measure: Measure = None,
    probability: Annotated[
        float | None, typer.Option(metavar="P", help="In the forecast's time span; else the first of the run.")
    ] = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Show the level that is exceeded with a probability at each site; into a file also the map between them.

    [bold]craton hazard map basin-run --probability 0.02 --output map.png[/bold]
    """
    keep_mpi_off()
    from craton.hazard import queries

    check_folders(output=output)
    _print(queries.hazard_map(_results(directory), measure, probability, output), as_json)


@app.command("disagg")
def disagg(
    directory: RunDirectory,
    site: Site = None,
    measure: Measure = None,
    probability: Annotated[
        float | None, typer.Option(metavar="P", help="Whose level is looked at; else the first of the run.")
    ] = None,
    level: Annotated[float | None, typer.Option(metavar="G", help="Level in g instead of a probability.")] = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Show what makes the hazard of a site: shares by magnitude, distance and source.

    [bold]craton hazard disagg basin-run --site basin --level 0.1[/bold]
    """
    keep_mpi_off()
    from craton.hazard import queries

    check_folders(output=output)
    _print(queries.disaggregation(_results(directory), site, measure, probability, level, output), as_json)


def _results(directory: Path) -> Results:
    from craton.hazard.folder import HazardFolder
    from craton.hazard.results import read_results

    return read_results(HazardFolder(directory))


def _print(answer: Answer, as_json: bool) -> None:
    if as_json:
        print_json(answer.to_dict())
    else:
        print_table(answer.table())
