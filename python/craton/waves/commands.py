"""The commands of `craton waves`."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from craton._launch import launched_size
from craton.cli.group import group
from craton.cli.launching import (
    RunReport,
    communicator,
    console_of,
    end_run,
    finished_already,
    launch,
    must_launch,
    start_ranks,
)
from craton.cli.options import (
    PLANNED_RANKS,
    ChangedConfig,
    ConfigFile,
    Directory,
    Json,
    Overwrite,
    PlannedRanks,
    Ranks,
    RanksPerNode,
    Report,
    RunDirectory,
    Threads,
    choice,
    count,
)
from craton.cli.output import check_folders, print_found, print_json
from craton.cli.verbs import add_verbs

if TYPE_CHECKING:
    from craton.seismology.wave_run.config import Config

REPORT = "craton.waves.report"
app = group(
    """Compute seismic waves in three dimensions, from sources and a model of the ground to seismograms and strains.

    Start with:

        craton example waves
        cd waves
        craton waves run layer.toml --ranks 2
    """
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
    as_json: Json = False,
) -> None:
    """Compute the waves that a configuration describes: ground, sources, stations.

    On two ranks:

        craton waves run layer.toml --ranks 2

    On one rank with four threads:

        craton waves run my.toml --threads 4

    In a batch job:

        srun craton waves run my.toml
        mpirun -n 64 craton waves run my.toml

    The folder of results has record.json, report.html, pictures and, as configured, seismograms.h5, sgt.h5, spectra-strain.h5 and
    snapshots.h5. Names of incomplete files end in .partial. `craton waves resume` continues a run that was interrupted.
    """
    from craton.seismology.wave_run.config import load_config
    from craton.waves import start as waves
    from craton.waves.placement import check_ranks, read_placement

    def load() -> Config:
        return load_config(config, threads=threads, directory=directory)

    placed = None if placement is None else read_placement(placement)
    drawn = RunReport("waves", REPORT, report, as_json)
    job = start_ranks(load, ranks, ranks_per_node, as_json, partial(check_ranks, placed=placed), drawn)
    check_ranks(job.settings, job.comm.size, placed)
    found = waves.run(
        job.settings, job.comm, **job.means, overwrite=overwrite, report=job.report, brick_of_rank=placed or ()
    )
    end_run(found, job.comm, as_json)


@app.command("resume")
def resume(
    directory: RunDirectory,
    config: ChangedConfig = None,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Threads = None,
    placement: Placement = None,
    report: Report = True,
    as_json: Json = False,
) -> None:
    """Continue a run that was interrupted, from its last checkpoint, on as many ranks as before.

    Example:
        craton waves resume my-run

    CONFIG may change the tables [run] and [checkpoint]; the latter says how often checkpoints are written. The results equal
    those of an uninterrupted run bit for bit. A run that has finished stays as it is.
    """
    from craton.seismology.wave_run.config import load_config
    from craton.seismology.wave_run.folder import WavesFolder
    from craton.waves import start as waves
    from craton.waves.placement import check_ranks, read_placement

    folder = WavesFolder(directory)
    if finished_already(folder, as_json):
        return
    if ranks is None and launched_size() is None:
        ranks = folder.to_resume().sessions[-1].ranks
    placed = None if placement is None else read_placement(placement)

    def load() -> Config:
        return waves.settings_to_resume(folder, None if config is None else load_config(config), threads)

    drawn = RunReport("waves", REPORT, report, as_json)
    job = start_ranks(load, ranks, ranks_per_node, as_json, partial(check_ranks, placed=placed), drawn)
    check_ranks(job.settings, job.comm.size, placed)
    found = waves.resume(
        directory, job.comm, config=job.settings, **job.means, report=job.report, brick_of_rank=placed or ()
    )
    end_run(found, job.comm, as_json)


@app.command("check")
def check(
    config: ConfigFile,
    ranks: PlannedRanks = None,
    points_per_s: Annotated[
        float | None,
        typer.Option(
            metavar="R", help="Grid points per second of all ranks together, from an earlier run, to predict the time."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check a configuration. Show what a run resolves, its time step, memory and time; compute nothing.

    Under [topography] it says where the ground's surface lies, and what depths count from.

    Example:
        craton waves check layer.toml --ranks 2
    """
    from craton.seismology.wave_run.check import examine
    from craton.seismology.wave_run.config import load_config

    found = examine(load_config(config), ranks or 0, points_per_s)
    print_found(found, as_json)


add_verbs(
    app,
    "waves",
    config="craton.seismology.wave_run.config",
    status="craton.waves.start",
    report=REPORT,
    shows="time step, speed, time left, files on disk",
    example="layer-run",
    draws="Draw the pictures and report.html of a run again, from the files in its folder.",
)


@app.command("place")
def place(
    nodes: Annotated[
        Path, typer.Argument(metavar="NODELIST", help="Text file of the network and its nodes, one line each.")
    ],
    config: ConfigFile,
    ranks: Annotated[int, PLANNED_RANKS],
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE.json", help="Write the placement there, for `craton waves run --placement`."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Place bricks on ranks so that neighbours are near each other in the machine's network.

    Example:
        craton waves place my-nodes.txt my.toml --ranks 512 --output placement.json

    The first line of NODELIST is `torus 24 24 24` or `dragonfly`. A line `ranks_per_node 16` may follow. Then comes one line per
    node, in the order in which ranks fill nodes: name and coordinates, or name, group and router. The command prints hop-bytes,
    bytes that cross faces times hops, for the default order of ranks and for the placement found.
    """
    from craton.seismology.wave_run.config import load_config
    from craton.waves.placement import place

    check_folders(output=output)
    found = place(nodes, load_config(config), ranks, output)
    _print(found, f"{' x '.join(map(str, found['bricks']))} bricks\n{found['in_words']}", as_json)


@app.command("partition")
def partition(
    config: ConfigFile,
    ranks: Annotated[int, PLANNED_RANKS],
    directory: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the results.")],
    as_json: Json = False,
) -> None:
    """Write the media of a configuration in parts, one file per rank, so that each rank reads only its own.

    Example:
        craton waves partition my.toml --ranks 512 --directory media

    Then write in my.toml:

        [media]
        kind = "file"
        file = "media/media.json"
        read = "partitioned"
    """
    from craton.seismology.wave_run.config import load_config
    from craton.waves.placement import partition

    found = partition(load_config(config), ranks, directory)
    media = f'[media] kind = "file", file = "{found["file"]}", read = "partitioned"'
    _print(found, f"{' x '.join(map(str, found['bricks']))} bricks\n{media}", as_json)


@app.command("export")
def export(
    directory: RunDirectory,
    kind: Annotated[
        str,
        choice("sac", "mseed", "asdf", text="File format.", option="--format"),
    ] = "sac",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="PATH", help="Folder (sac) or file to write. Default: inside DIR."),
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Write a run's seismograms as SAC, MiniSEED or ASDF, with ObsPy.

    Example:
        craton waves export layer-run --format mseed

    The components are velocities in m/s: up, north and east. Where x does not point north, components 1 and 2 are along x and y.
    Stations (StationXML) and earthquake (QuakeML) are inside an ASDF file and a folder of SAC files, and beside a MiniSEED file,
    where [grid] origin_lon_lat gives the run a place. Times are UTC with [time] origin_time or an event_file.
    """
    from craton.waves.export import export

    check_folders(output=output)
    done = export(directory, kind, output, overwrite=overwrite)
    files = [str(path) for path in (done.file, *done.beside)]
    found = {"file": files[0], "beside": files[1:], "notes": done.notes}
    _print(found, "\n".join([*files, *(f"note: {note}" for note in done.notes)]), as_json)


@app.command("in-situ")
def in_situ(
    config: ConfigFile,
    ranks: Ranks = None,
    every: Annotated[
        int, typer.Option(metavar="S", parser=count, help="Time steps between two samples of the surface.")
    ] = 5,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="Write the map: a table (.csv) or a picture (.png, .svg, .pdf)."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Measure what in-situ modules cost: run the same waves without, with each, with both, and with files instead.

    Example:
        craton waves in-situ scenario.toml --ranks 2 -o peak.png

    One module writes strain Green's tensors at the points of [sgt]. The other computes a map of peak velocity at the surface while
    the solver runs. The same map is made from files of the surface's velocity and compared.
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


def _print(found: dict[str, Any], text: str, as_json: bool) -> None:
    if as_json:
        print_json(found)
    else:
        typer.echo(text)
