"""The commands of `craton waves`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from craton._launch import launched_size
from craton.cli.group import group
from craton.cli.launching import communicator, console_of, launch
from craton.cli.options import (
    ConfigFile,
    Directory,
    Json,
    Overwrite,
    Ranks,
    RanksPerNode,
    RunDirectory,
    Threads,
    choice,
    count,
)
from craton.cli.output import check_folders, print_json
from craton.errors import UserError

if TYPE_CHECKING:
    from craton.seismology.wave_run.config import Config

app = group(
    "Compute seismic waves in three dimensions: sources and ground in, seismograms, strains and pictures out.\n\n"
    "Start with: [bold]craton waves run examples/waves/layer.toml --ranks 2[/bold]",
)


@app.command("run")
def run(
    config: ConfigFile,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Threads = None,
    directory: Directory = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint of a run that was ended, in the same folder.")
    ] = False,
    overwrite: Overwrite = False,
    placement: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json", help="Which brick each rank has, as `craton waves place --output` writes it."
        ),
    ] = None,
    pictures: Annotated[
        bool, typer.Option("--pictures/--no-pictures", help="Draw record section, snapshots and movie at the end.")
    ] = True,
) -> None:
    """Compute waves as a configuration describes them: ground, sources, stations.

    On two processes:    [bold]craton waves run examples/waves/layer.toml --ranks 2[/bold]

    On one, with four threads:    [bold]craton waves run my.toml --threads 4[/bold]

    In a batch job:    [bold]srun craton waves run my.toml[/bold]    or the same behind [bold]mpirun -n 64[/bold]

    After it was ended, from its last checkpoint:    [bold]craton waves run my.toml --ranks 2 --resume[/bold]

    The results are in a folder: seismograms.h5, sgt.h5, snapshots.h5 as configured, record.json, pictures. Files that are not yet
    whole end in .partial. What the run needs and resolves is told beforehand by [bold]craton waves check[/bold].
    """
    from craton.waves import run as command

    if resume and overwrite:
        raise UserError("--resume with --overwrite; allowed: one of them")

    def load() -> Config:
        return command.loaded(config, threads=threads, directory=directory)

    placed = None if placement is None else command.read_placement(placement)
    if launched_size() is None:
        planned = load()
        wanted = ranks or planned.run.ranks or 1
        command.check_ranks(planned, wanted, placed)
        if wanted > 1:
            launch(wanted, ranks_per_node, Path(planned.run.directory), planned.run.threads)
    from craton.runs.agreement import on_root

    comm = communicator()
    settings = on_root(comm, load)
    command.check_ranks(settings, comm.size, placed)
    command.run(
        settings,
        comm,
        ranks_per_node=ranks_per_node or 0,
        console=console_of(comm),
        overwrite=overwrite,
        resume=resume,
        pictures=pictures,
        brick_of_rank=placed or (),
    )


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
    from craton.waves import run as command

    settings = command.loaded(config)
    found = examine(settings, ranks or 0, points_per_s)
    if as_json:
        print_json(found.to_dict())
        return
    from craton.runs.progress import make_console

    make_console().print(found.table())


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
    from craton.waves import run as command

    check_folders(output=output)
    typer.echo(command.place(nodes, command.loaded(config), ranks, output))


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
    from craton.waves import run as command

    typer.echo(command.partition(command.loaded(config), ranks, output))


@app.command("draw")
def draw(directory: RunDirectory) -> None:
    """Draw the pictures of a run again from what it has left in its folder."""
    from craton.seismology.wave_run.folder import WavesFolder
    from craton.waves.pictures import draw

    typer.echo(draw(WavesFolder(directory)))


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
