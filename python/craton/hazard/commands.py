"""The commands of `craton hazard`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from craton._launch import launched_size
from craton.cli.group import group
from craton.cli.launching import keep_mpi_off
from craton.cli.options import ConfigFile, Directory, Json, Overwrite, RunDirectory, choice, count
from craton.cli.output import check_folders, print_json, print_table
from craton.errors import UserError

if TYPE_CHECKING:
    from craton.hazard.results import Results

app = group(
    "Seismic hazard from simulated earthquakes: curves, maps and disaggregations of sites.\n\n"
    "Start with: [bold]craton hazard run examples/hazard/basin.toml[/bold]",
)

Site = Annotated[str | None, typer.Option(metavar="NAME", help="Of the run's sites; else the first.")]
Measure = Annotated[str | None, typer.Option(metavar="SA(T)", help="As in SA(3.0); else the first of the run.")]
Output = Annotated[Path | None, typer.Option(metavar="FILE", help="Write it: .csv, or a picture (.png, .svg, .pdf).")]


@app.command("run")
def run(
    config: ConfigFile,
    schedule: Annotated[
        str | None,
        choice("pipeline", "sequential", text="Sites in a pipeline, or phase after phase; overrides \\[run] schedule."),
    ] = None,
    cores: Annotated[
        int | None, typer.Option(metavar="N", parser=count, help="Cores to use; overrides \\[run] cores.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="J", parser=count, help="Jobs at the same time; overrides \\[run] jobs.")
    ] = None,
    directory: Directory = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Do what is missing in the folder of a run that was ended.")
    ] = False,
    overwrite: Overwrite = False,
) -> None:
    """Compute the hazard of sites: waves from each site, seismograms of all ruptures by reciprocity, curves, maps, a report.

    [bold]craton hazard run examples/hazard/basin.toml[/bold]

    After it was ended, however it was ended:    [bold]craton hazard run my.toml --resume[/bold]

    This command is one process, which starts others, at most J at a time on N cores; do not start it with mpirun. What the run
    needs is told beforehand by [bold]craton hazard check[/bold]. The folder has report.html, hazard.h5, curves.csv, maps.csv,
    disaggregation.csv and openquake/.
    """
    keep_mpi_off()
    from craton.hazard import run as command
    from craton.runs.progress import make_console

    if resume and overwrite:
        raise UserError("--resume with --overwrite; allowed: one of them")
    if (launched_size() or 0) > 1:
        raise UserError("craton hazard run under mpirun; allowed: alone: it starts its wave runs itself ([run] ranks)")
    settings = command.loaded(config, directory=directory, schedule=schedule, cores=cores, jobs=jobs)
    command.run(settings, console=make_console(), overwrite=overwrite, resume=resume)


@app.command("check")
def check(
    config: ConfigFile,
    as_json: Json = False,
) -> None:
    """Say what a run computes and what memory, disk and time it needs; compute nothing.

    [bold]craton hazard check examples/hazard/basin.toml[/bold]
    """
    keep_mpi_off()
    from craton.hazard import run as command

    found = command.examined(command.loaded(config))
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


@app.command("template")
def template() -> None:
    """Print a configuration file with every key, its default and what it means.

    To begin with:    [bold]craton hazard template > my.toml[/bold]
    """
    from craton.hazard import config

    typer.echo(config.template())


@app.command("curve")
def curve(directory: RunDirectory, site: Site = None, measure: Measure = None, output: Output = None) -> None:
    """Show a hazard curve of a run; into a file also those of all sites together.

    [bold]craton hazard curve basin-run --site basin --output curve.png[/bold]
    """
    keep_mpi_off()
    from craton.hazard import queries

    check_folders(output=output)
    print_table(queries.curve(_results(directory), site, measure, output))


@app.command("map")
def hazard_map(
    directory: RunDirectory,
    measure: Measure = None,
    probability: Annotated[
        float | None, typer.Option(metavar="P", help="In the forecast's time span; else the first of the run.")
    ] = None,
    output: Output = None,
) -> None:
    """Show the level that is exceeded with a probability at each site; into a file also the map between them.

    [bold]craton hazard map basin-run --probability 0.02 --output map.png[/bold]
    """
    keep_mpi_off()
    from craton.hazard import queries

    check_folders(output=output)
    print_table(queries.hazard_map(_results(directory), measure, probability, output))


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
) -> None:
    """Show what makes the hazard of a site: shares by magnitude, distance and source.

    [bold]craton hazard disagg basin-run --site basin --level 0.1[/bold]
    """
    keep_mpi_off()
    from craton.hazard import queries

    check_folders(output=output)
    print_table(queries.disaggregation(_results(directory), site, measure, probability, level, output))


@app.command("report")
def report(directory: RunDirectory) -> None:
    """Write tables, pictures and report.html of a run again, from what its finished sites have left. Draws anew."""
    keep_mpi_off()
    from craton.hazard.folder import HazardFolder
    from craton.hazard.pipeline.beside_models import models_beside, write_beside
    from craton.hazard.report.page import write_results

    results, folder = _results(directory), HazardFolder(directory)
    beside = models_beside(results.work)
    write_beside(results.work, folder, beside)
    typer.echo(write_results(results.work, folder, folder.read_record(), beside, anew=True))


def _results(directory: Path) -> Results:
    from craton.hazard.folder import HazardFolder
    from craton.hazard.results import read_results

    return read_results(HazardFolder(directory))
