"""The commands of `craton waves`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from craton._launch import launched_size
from craton.cli.group import group
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
    choice,
    count,
)
from craton.cli.output import check_folders, print_json, print_table

if TYPE_CHECKING:
    from craton.seismology.wave_run.config import Config

app = group(
    "Compute seismic waves in three dimensions: sources and ground in, seismograms, strains and pictures out.\n\n"
    "Start with: [bold]craton waves run examples/waves/layer.toml --ranks 2[/bold]",
)


Placement = Annotated[
    Path | None,
    typer.Option(metavar="FILE.json", help="Which brick each rank has, as `craton waves place --output` writes it."),
]


@app.command("run")
def run(
    config: ConfigFile,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Threads = None,
    directory: Directory = None,
    overwrite: Overwrite = False,
    placement: Placement = None,
    report: Report = True,
) -> None:
    """Compute waves as a configuration describes them: ground, sources, stations.

    On two processes:    [bold]craton waves run examples/waves/layer.toml --ranks 2[/bold]

    On one, with four threads:    [bold]craton waves run my.toml --threads 4[/bold]

    In a batch job:    [bold]srun craton waves run my.toml[/bold]    or the same behind [bold]mpirun -n 64[/bold]

    After it was ended, from its last checkpoint:    [bold]craton waves resume my-run[/bold]

    The results are in a folder: seismograms.h5, sgt.h5, snapshots.h5 as configured, record.json, pictures, report.html. Files that
    are not yet whole end in .partial. What the run needs and resolves is told beforehand by [bold]craton waves check[/bold].
    """
    from craton.runs.agreement import on_root
    from craton.seismology.wave_run.config import load_config
    from craton.waves import run as waves
    from craton.waves.placement import check_ranks, read_placement

    def load() -> Config:
        return load_config(config, threads=threads, directory=directory)

    placed = None if placement is None else read_placement(placement)
    if launched_size() is None:
        planned = load()
        wanted = ranks or planned.run.ranks or 1
        check_ranks(planned, wanted, placed)
        if wanted > 1:
            launch(wanted, ranks_per_node, Path(planned.run.directory), planned.run.threads)
    comm = communicator()
    settings = on_root(comm, load)
    check_ranks(settings, comm.size, placed)
    waves.run(
        settings,
        comm,
        ranks_per_node=ranks_per_node or 0,
        console=console_of(comm),
        overwrite=overwrite,
        report=report,
        brick_of_rank=placed or (),
    )


@app.command("resume")
def resume(
    directory: RunDirectory,
    config: Annotated[
        Path | None,
        typer.Option(
            metavar="CONFIG",
            help="TOML file to go on with instead of the run's own; only \\[run] and \\[checkpoint] may differ.",
        ),
    ] = None,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Threads = None,
    placement: Placement = None,
    report: Report = True,
) -> None:
    """Go on with a run that was ended, from its last checkpoint, on as many ranks as before.

    [bold]craton waves resume my-run[/bold]

    The configuration comes from the folder. Its \\[checkpoint] table says how often a run saves what it can go on from. The results
    equal those of a run that was never ended, bit for bit.
    """
    from craton.runs.agreement import on_root
    from craton.seismology.wave_run.config import load_config
    from craton.seismology.wave_run.folder import WavesFolder
    from craton.waves import run as waves
    from craton.waves.placement import check_ranks, read_placement

    folder = WavesFolder(directory)

    def load() -> tuple[Config, int]:
        return waves.settings_to_resume(folder, None if config is None else load_config(config), threads)

    placed = None if placement is None else read_placement(placement)
    if launched_size() is None:
        planned, before = load()
        wanted = ranks or before
        check_ranks(planned, wanted, placed)
        if wanted > 1:
            launch(wanted, ranks_per_node, folder.path, planned.run.threads)
    comm = communicator()
    settings, _ = on_root(comm, load)
    check_ranks(settings, comm.size, placed)
    waves.resume(
        directory,
        comm,
        config=settings,
        ranks_per_node=ranks_per_node or 0,
        console=console_of(comm),
        report=report,
        brick_of_rank=placed or (),
    )


@app.command("status")
def status(directory: RunDirectory, as_json: Json = False) -> None:
    """Say where a run is: its step, its speed, the time left, what is on disk; also of one that goes on.

    [bold]craton waves status my-run[/bold]
    """
    from craton.waves import run as waves

    found = waves.status(directory)
    if as_json:
        print_json(found.to_dict())
    else:
        print_table(found.table())


@app.command("check")
def check(
    config: ConfigFile,
    ranks: Ranks = None,
    points_per_s: Annotated[
        float | None,
        typer.Option(
            metavar="R", help="Points per second of all ranks together, as a run has told, for the time it takes."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Say what a run resolves, which step it takes, and what memory and time it needs; compute nothing.

    [bold]craton waves check examples/waves/layer.toml --ranks 2[/bold]
    """
    from craton.seismology.wave_run.check import examine
    from craton.seismology.wave_run.config import load_config

    found = examine(load_config(config), ranks or 0, points_per_s)
    if as_json:
        print_json(found.to_dict())
    else:
        print_table(found.table())


@app.command("template")
def template() -> None:
    """Print a configuration file with every key, its default and what it means.

    To begin with:    [bold]craton waves template > my.toml[/bold]
    """
    from craton.seismology.wave_run import config

    typer.echo(config.template())


@app.command("place")
def place(
    nodes: Annotated[Path, typer.Argument(metavar="NODELIST", help="The network and its nodes, a line each.")],
    config: ConfigFile,
    ranks: Annotated[int, typer.Option(metavar="N", parser=count, help="Processes of the run.")],
    output: Annotated[
        Path | None,
        typer.Option(metavar="FILE.json", help="Write the placement there, for `craton waves run --placement`."),
    ] = None,
) -> None:
    """Find which brick each rank should have so that neighbours are near each other in the machine's network.

    [bold]craton waves place nodes.txt my.toml --ranks 512 --output placement.json[/bold]

    The node list says `torus 24 24 24` or `dragonfly` on its first line, if wanted `ranks_per_node 16`, then a line for each
    node in the order in which ranks fill them: its name and coordinates, or its name, group and router. Hop-bytes, bytes that
    cross faces times the hops they go, are printed as the ranks' own order has them and as the placement found has them.
    """
    from craton.seismology.wave_run.config import load_config
    from craton.waves.placement import place

    check_folders(output=output)
    typer.echo(place(nodes, load_config(config), ranks, output))


@app.command("partition")
def partition(
    config: ConfigFile,
    ranks: Annotated[int, typer.Option(metavar="N", parser=count, help="Processes of the run.")],
    output: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the media, a file for each rank's brick.")],
) -> None:
    """Write the media of a configuration once in parts, a file for each rank's brick, for runs that read only their own.

    [bold]craton waves partition my.toml --ranks 512 --output media[/bold]    then in my.toml:

    \\[media] kind = "file", file = "media/media.json", read = "partitioned"
    """
    from craton.seismology.wave_run.config import load_config
    from craton.waves.placement import partition

    typer.echo(partition(load_config(config), ranks, output))


@app.command("report")
def report(directory: RunDirectory) -> None:
    """Draw the pictures and report.html of a run again, from what it has left in its folder."""
    from craton.waves.report import write_report

    typer.echo(write_report(directory))


@app.command("export")
def export(
    directory: RunDirectory,
    kind: Annotated[
        str,
        choice("sac", "mseed", "asdf", text="Of the files.", option="--format"),
    ] = "sac",
    output: Annotated[Path | None, typer.Option(metavar="PATH", help="Folder (sac) or file; else inside RUN.")] = None,
    overwrite: Overwrite = False,
) -> None:
    """Write a run's seismograms for other programs, through ObsPy: SAC, MiniSEED or ASDF.

    [bold]craton waves export layer-run --format mseed[/bold]

    Velocities in m/s, up, north and east (components 1 and 2 along x and y where x does not point north).
    """
    from craton.waves.export import export

    check_folders(output=output)
    typer.echo(str(export(directory, kind, output, overwrite=overwrite)))


@app.command("in-situ")
def in_situ(
    config: ConfigFile,
    ranks: Ranks = None,
    every: Annotated[int, typer.Option(metavar="S", parser=count, help="Steps between looks at the surface.")] = 5,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the map: .csv, or a picture (.png, .svg, .pdf).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Run the same waves without modules, with each, with both, and with files instead, and say what each costs.

    [bold]craton waves in-situ examples/hazard/scenario.toml --ranks 2 --output peak.png[/bold]

    The modules are the writer of strain Green's tensors (\\[sgt] points) and a map of peak velocity at the surface, computed while
    the solver goes on. The same map is then made from files of the surface's velocity, and compared.
    """
    from craton.runs.agreement import on_root
    from craton.seismology.wave_run.config import load_config
    from craton.waves import in_situ_costs

    in_situ_costs.check_output(output)
    check_folders(output=output)
    if must_launch(ranks):
        launch(ranks, None, None)
    comm = communicator()
    settings = on_root(comm, lambda: load_config(config))
    found = in_situ_costs.run(settings, comm, every, output, None if as_json else console_of(comm))
    if as_json and comm.rank == 0:
        print_json(found)
