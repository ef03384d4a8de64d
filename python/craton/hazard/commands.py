"""The commands of `craton hazard`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from craton.cli.group import group
from craton.cli.launching import check_alone, keep_mpi_off
from craton.cli.options import (
    ChangedConfig,
    ConfigFile,
    Cores,
    Directory,
    Engine,
    Json,
    Overwrite,
    ParslConfig,
    Report,
    RunDirectory,
    Threads,
    choice,
    count,
    engine_settings,
)
from craton.cli.output import check_folders, print_found, print_json
from craton.cli.verbs import add_verbs

app = group(
    """Compute the seismic hazard of sites from simulated earthquakes: curves, maps and disaggregations.

    Start with:

        craton example hazard
        cd hazard
        craton hazard run basin.toml
    """
)

Schedule = Annotated[
    str | None,
    choice("pipeline", "sequential", text="Sites in a pipeline, or phase after phase."),
]
Jobs = Annotated[int | None, typer.Option(metavar="J", parser=count, help="Jobs at the same time.")]
Site = Annotated[str | None, typer.Option(metavar="NAME", help="Site of the run. Default: the first.")]
Measure = Annotated[
    str | None, typer.Option(metavar="SA(T)", help="Measure, such as SA(3.0). Default: the first of the run.")
]
Output = Annotated[
    Path | None,
    typer.Option("--output", "-o", metavar="FILE", help="File to write: .csv, or a picture (.png, .svg, .pdf)."),
]
INSTEAD = "one process, which starts its wave runs itself ([run] ranks)"


@app.command("check")
def check(config: ConfigFile, as_json: Json = False) -> None:
    """Check a configuration, and tell what the run computes and what memory, disk and time it needs. Nothing is computed.

    Example:
        craton hazard check basin.toml
    """
    keep_mpi_off()
    from craton.hazard.check import examine
    from craton.hazard.config import load_config

    print_found(examine(load_config(config)), as_json)


@app.command("plan")
def plan(
    config: Annotated[
        Path | None,
        typer.Argument(
            metavar="[CONFIG]", help="What is computed for each site. Default: --study.", show_default=False
        ),
    ] = None,
    sites: Annotated[
        list[int] | None,
        typer.Option(
            metavar="N", parser=count, help="Sites of the map; may be given several times. Default: the study's."
        ),
    ] = None,
    machine: Annotated[
        str,
        typer.Option(metavar="NAME|FILE", help="A profile (workstation, cluster, gpu), or a file of --save-machine."),
    ] = "cluster",
    nodes: Annotated[
        int | None, typer.Option(metavar="N", parser=count, help="Nodes at a time. Default: all of the machine's.")
    ] = None,
    study: Annotated[
        str | None,
        choice("cui2013", text="A published study instead of a configuration. Default without one: cui2013."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save-machine", metavar="FILE", help="Write the machine to a TOML file, to be changed."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Predict what a map of many sites takes: simulations, node hours, bytes, wall clock, and all that is assumed.

    A region and a state, as Cui et al. (2013) have them, on 100 nodes of a cluster and on nodes with GPUs:

        craton hazard plan
        craton hazard plan --machine gpu

    Your own forecast and ground, for maps of 200 and 1000 sites:

        craton hazard plan basin.toml --sites 200 --sites 1000 --machine workstation

    Your own machine: write a profile, change it, plan with it:

        craton hazard plan --machine cluster --save-machine my-machine.toml
        craton hazard plan basin.toml --sites 1000 --machine my-machine.toml

    All sites are taken to cost the same. A site takes a wave run for each direction of the force (two, or three with [green]
    directions = "xyz"), whatever the number of ruptures; ruptures cost post-processing. Rates of the profiles are rounded: a factor
    of two either way is to be expected. To sharpen it, run a few sites and put what record.json says of them into the file.
    Nothing is computed.
    """
    keep_mpi_off()
    from craton.errors import UserError
    from craton.hazard.config import load_config
    from craton.hazard.plan.estimate import make_plan
    from craton.hazard.plan.study import STUDIES, study_of
    from craton.hazard.plan.tables import Planned
    from craton.seismology.plan.machine import machine_of, save_machine

    if config is not None and study is not None:
        raise UserError(f"--study {study} with {config}; allowed: one of them")
    check_folders(**{"save-machine": save})
    known = machine_of(machine)
    if save is not None:
        save_machine(known, save)
    wanted = STUDIES[study or "cui2013"] if config is None else study_of(load_config(config))
    plans = [make_plan(wanted, known, number, nodes or 0) for number in sites or wanted.sites]
    print_found(Planned(wanted, known, plans), as_json)


@app.command("run")
def run(
    config: ConfigFile,
    schedule: Schedule = None,
    engine: Engine = None,
    parsl_config: ParslConfig = None,
    cores: Cores = None,
    jobs: Jobs = None,
    threads: Threads = None,
    directory: Directory = None,
    overwrite: Overwrite = False,
    report: Report = True,
    as_json: Json = False,
) -> None:
    """Compute the hazard of sites: waves from each site, seismograms of all ruptures by reciprocity, curves, maps, a report.

    Example:
        craton hazard run basin.toml

    The command is one process, which starts others, at most J at a time on N cores; do not start it with mpirun. With
    --parsl-config they run where Parsl says, on the nodes of a cluster for example. The command check tells what the run needs. An
    interrupted run goes on with the command resume. The folder has report.html, hazard.h5, curves.csv, maps.csv,
    disaggregation.csv and openquake/. With --json the record is printed, and progress goes to standard error.
    """
    keep_mpi_off()
    check_alone("craton hazard run", INSTEAD)
    from craton.hazard import start as command
    from craton.hazard.config import load_config
    from craton.runs.progress import make_console

    settings = load_config(
        config,
        directory=directory,
        schedule=schedule,
        **engine_settings(engine, parsl_config),
        cores=cores,
        jobs=jobs,
        threads=threads,
    )
    found = command.run(settings, console=make_console(stderr=as_json), overwrite=overwrite, report=report)
    if as_json:
        print_json(found.to_dict())


@app.command("resume")
def resume(
    directory: RunDirectory,
    config: ChangedConfig = None,
    schedule: Schedule = None,
    engine: Engine = None,
    parsl_config: ParslConfig = None,
    cores: Cores = None,
    jobs: Jobs = None,
    threads: Threads = None,
    report: Report = True,
    as_json: Json = False,
) -> None:
    """Continue a run that was interrupted or has failed: do what is missing in its folder.

    Example:
        craton hazard resume basin-run

    What a job has left as a file is not computed again, and wave runs go on from their checkpoints. CONFIG may change the table
    [run]. In the folder of a finished run, files that were deleted are made again.
    """
    keep_mpi_off()
    check_alone("craton hazard resume", INSTEAD)
    from craton.hazard import start as command
    from craton.hazard.config import load_config
    from craton.runs.progress import make_console

    found = command.resume(
        directory,
        None if config is None else load_config(config),
        console=make_console(stderr=as_json),
        report=report,
        schedule=schedule,
        **engine_settings(engine, parsl_config),
        cores=cores,
        jobs=jobs,
        threads=threads,
    )
    if as_json:
        print_json(found.to_dict())


add_verbs(
    app,
    "hazard",
    config="craton.hazard.config",
    status="craton.hazard.start",
    report="craton.hazard.report.page",
    shows="which jobs run, which sites are finished, how long it may still take",
    example="basin-run",
    draws="Write tables, pictures and report.html of a run again, from the results of its finished sites.",
)


@app.command("curve")
def curve(
    directory: RunDirectory, site: Site = None, measure: Measure = None, output: Output = None, as_json: Json = False
) -> None:
    """Show a hazard curve of a run. Without --site, the file of --output has the curves of all sites.

    Example:
        craton hazard curve basin-run --site basin --output curve.png
    """
    keep_mpi_off()
    from craton.hazard import queries
    from craton.hazard.results import read_results

    check_folders(output=output)
    print_found(queries.curve(read_results(directory), site, measure, output), as_json)


@app.command("map")
def hazard_map(
    directory: RunDirectory,
    measure: Measure = None,
    probability: Annotated[
        float | None,
        typer.Option(metavar="P", help="Probability in the forecast's time span. Default: the first of the run."),
    ] = None,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Show the level that is exceeded with a given probability at each site. A picture also has the map between them.

    Example:
        craton hazard map basin-run --probability 0.02 --output map.png
    """
    keep_mpi_off()
    from craton.hazard import queries
    from craton.hazard.results import read_results

    check_folders(output=output)
    print_found(queries.hazard_map(read_results(directory), measure, probability, output), as_json)


@app.command("disagg")
def disagg(
    directory: RunDirectory,
    site: Site = None,
    measure: Measure = None,
    probability: Annotated[
        float | None, typer.Option(metavar="P", help="Probability whose level is taken. Default: the first of the run.")
    ] = None,
    level: Annotated[float | None, typer.Option(metavar="G", help="Level, in g, instead of a probability.")] = None,
    epsilon: Annotated[bool, typer.Option("--epsilon", help="Bins of epsilon instead of sources.")] = False,
    output: Output = None,
    as_json: Json = False,
) -> None:
    """Show what the hazard of a site comes from: shares by magnitude, distance and source, or epsilon.

    Example:
        craton hazard disagg basin-run --site basin --level 0.1
        craton hazard disagg basin-run --site rim --epsilon --output rim.png

    Epsilon is the number of standard deviations of ln(shaking) by which a variation is above the mean of its rupture. A picture
    has bars by magnitude, distance and epsilon; a line says how many such bins are filled.
    """
    keep_mpi_off()
    from craton.hazard import queries
    from craton.hazard.results import read_results

    check_folders(output=output)
    results = read_results(directory)
    print_found(queries.disaggregation(results, site, measure, probability, level, output, epsilon=epsilon), as_json)
