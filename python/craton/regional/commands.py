"""The commands of `craton regional`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from craton.cli.group import group
from craton.cli.launching import (
    check_alone,
    communicator,
    console_of,
    finished_already,
    keep_mpi_off,
    launch,
    must_launch,
)
from craton.cli.options import (
    ChangedConfig,
    ConfigFile,
    Cores,
    Directory,
    Engine,
    Json,
    Overwrite,
    ParslConfig,
    Ranks,
    RanksPerNode,
    Report,
    RunDirectory,
    choice,
    count,
    engine_settings,
)
from craton.cli.output import check_folders, print_found, print_json
from craton.cli.verbs import add_verbs

app = group(
    """Invert regional waveforms for the ground, by wave runs in three dimensions and an explicit Gauss-Newton Hessian.

    Start with:

        craton example regional
        cd regional
        craton regional run basin.toml
    """
)

StepRanks = Annotated[int | None, typer.Option(metavar="N", parser=count, help="Ranks that assemble the Hessian.")]
INSTEAD = "one process, which starts its wave runs itself ([run] ranks, step_ranks)"


@app.command("check")
def check(config: ConfigFile, as_json: Json = False) -> None:
    """Check a configuration, and tell what the run computes and what memory, disk and time it needs. Nothing is computed.

    Example:
        craton regional check basin.toml
    """
    keep_mpi_off()
    from craton.regional.check import examine
    from craton.regional.config import load_config

    print_found(examine(load_config(config)), as_json)


@app.command("plan")
def plan(
    config: Annotated[
        Path | None,
        typer.Argument(metavar="[CONFIG]", help="What is inverted. Default: --study.", show_default=False),
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
        choice("southern", "statewide", text="A region that is stated instead of a configuration. Default: both."),
    ] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save-machine", metavar="FILE", help="Write the machine to a TOML file, to be changed."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Predict what an inversion of a region takes: simulations, node hours, bytes, wall clock, and all that is assumed.

    Regions of the size of Southern California and of the state, at 0.5 Hz, on a cluster and on nodes with GPUs:

        craton regional plan
        craton regional plan --machine gpu

    Your own configuration, on your own machine:

        craton regional plan --machine cluster --save-machine my-machine.toml
        craton regional plan basin.toml --machine my-machine.toml

    Rates of the profiles are rounded: a factor of two either way is to be expected. Nothing is computed.
    """
    keep_mpi_off()
    from craton.errors import UserError
    from craton.regional.config import load_config
    from craton.regional.plan.estimate import Planned, make_plan
    from craton.regional.plan.study import STUDIES, study_of
    from craton.seismology.plan.machine import machine_of, save_machine

    if config is not None and study is not None:
        raise UserError(f"--study {study} with {config}; allowed: one of them")
    check_folders(**{"save-machine": save})
    known = machine_of(machine)
    if save is not None:
        save_machine(known, save)
    wanted = (
        [study_of(load_config(config))] if config is not None else [STUDIES[n] for n in ([study] if study else STUDIES)]
    )
    print_found(Planned(wanted, known, [make_plan(one, known, nodes or 0) for one in wanted]), as_json)


@app.command("run")
def run(
    config: ConfigFile,
    engine: Engine = None,
    parsl_config: ParslConfig = None,
    cores: Cores = None,
    step_ranks: StepRanks = None,
    directory: Directory = None,
    overwrite: Overwrite = False,
    report: Report = True,
    as_json: Json = False,
) -> None:
    """Invert: wave runs of earthquakes and of forces at stations, kernels, the Hessian, steps, a report.

    Example:
        craton regional run basin.toml

    The command is one process, which starts others on N cores; do not start it with mpirun. With --parsl-config they run where
    Parsl says, on the nodes of a cluster for example. The command check tells what the run needs. An interrupted run goes on with
    the command resume. The folder has model.h5, data.h5, record.json, report.html and states/, a folder for each model that was
    tried. With --json the record is printed, and progress goes to standard error.
    """
    keep_mpi_off()
    check_alone("craton regional run", INSTEAD)
    from craton.regional import start as command
    from craton.regional.config import load_config
    from craton.runs.progress import make_console

    settings = load_config(
        config, directory=directory, **engine_settings(engine, parsl_config), cores=cores, step_ranks=step_ranks
    )
    found = command.run(settings, console=make_console(stderr=as_json), overwrite=overwrite, report=report)
    if as_json:
        print_json(found.to_dict())


@app.command("resume")
def resume(
    directory: RunDirectory,
    config: ChangedConfig = None,
    engine: Engine = None,
    parsl_config: ParslConfig = None,
    cores: Cores = None,
    step_ranks: StepRanks = None,
    report: Report = True,
    as_json: Json = False,
) -> None:
    """Continue a run that was interrupted or has failed: do what is missing in its folder.

    Example:
        craton regional resume basin-run

    What a job has left as a file is not computed again. CONFIG may change the table [run]. A run that has finished is left alone.
    """
    keep_mpi_off()
    check_alone("craton regional resume", INSTEAD)
    from craton.regional import start as command
    from craton.regional.config import load_config
    from craton.regional.folder import RegionalFolder
    from craton.runs.progress import make_console

    folder = RegionalFolder(directory)
    if folder.model.is_file() and finished_already(folder, as_json):
        return
    found = command.resume(
        directory,
        None if config is None else load_config(config),
        console=make_console(stderr=as_json),
        report=report,
        **engine_settings(engine, parsl_config),
        cores=cores,
        step_ranks=step_ranks,
    )
    if as_json:
        print_json(found.to_dict())


@app.command("export")
def export(
    directory: RunDirectory,
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="NetCDF file to write.")],
    step: Annotated[
        float, typer.Option(metavar="DEG", help="Degrees between points. Default: about half of that between knots.")
    ] = 0.0,
    depth_step: Annotated[
        float, typer.Option(metavar="KM", help="Kilometres between depths. Default: about half of that between knots.")
    ] = 0.0,
) -> None:
    """Write the ground that was found as NetCDF over depth, latitude and longitude, as the Earth Model Collaboration has it.

    Example:
        craton regional export basin-run --output basin.nc

    It holds vp, vs, density, changes in percent and their standard deviations. `craton waves` takes it as [media] file.
    """
    keep_mpi_off()
    check_folders(output=output)
    from craton.regional.netcdf import write_netcdf
    from craton.regional.results import read_results

    typer.echo(str(write_netcdf(read_results(directory), output, step, depth_step)))


@app.command("step")
def step(
    directory: RunDirectory,
    state: Annotated[
        int, typer.Argument(metavar="STATE", help="Number of a folder in states/, whose wave runs are done.")
    ],
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
) -> None:
    """Assemble the Hessian of a model from its wave runs, and solve for the step: states/STATE/step.h5. `run` does this itself.

    Example:
        craton regional step basin-run 0 --ranks 2

    It needs the spectra of the wave runs, which stay with [run] keep_spectra = true.
    """
    if must_launch(ranks):
        launch(ranks, ranks_per_node, None)
    comm = communicator()
    from craton.regional.folder import RegionalFolder
    from craton.regional.step import solve_state

    solve_state(RegionalFolder(directory), state, comm, ranks_per_node or 0, console_of(comm))


add_verbs(
    app,
    "regional",
    config="craton.regional.config",
    status="craton.regional.start",
    report="craton.regional.report.page",
    shows="which wave runs are under way, and how far the misfit has fallen",
    example="basin-run",
)
