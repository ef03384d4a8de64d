"""Observed seismograms: from a web service to the windows that an inversion takes."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from craton.cli.group import group
from craton.cli.launching import check_alone
from craton.cli.options import Directory, Json, Overwrite
from craton.cli.output import print_json

if TYPE_CHECKING:
    from craton.tomography.waveforms.config import WaveformConfig

app = group(
    """Observed seismograms: from a web service to the windows that an inversion takes.

    Start with:

        craton tomography data template > data.toml
    """
)

DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIG",
        help="TOML file of observed seismograms. The command `template` prints one with every key explained.",
    ),
]


@app.command("fetch")
def fetch(config: DataFile, directory: Directory = None, as_json: Json = False) -> None:
    """Fetch earthquakes, responses and waveforms from an FDSN web service. Files that are on disk are not fetched again.

    Then pick windows:

        craton tomography data windows data.toml
    """
    from craton.runs.progress import make_console

    check_alone("craton tomography data fetch")
    settings = _data_config(config, "fetch", directory)
    from craton.tomography.waveforms.records.fetch import FetchFolder, fetch

    found = fetch(settings, make_console(stderr=as_json))
    if as_json:
        folder = FetchFolder(settings.fetch.directory)
        files = [*folder.results, *sorted(folder.path.glob("waveforms/*/*.mseed"))]
        print_json({"files": [str(file) for file in files], **asdict(found)})
    else:
        typer.echo(str(found))


@app.command("check")
def check(config: DataFile, as_json: Json = False) -> None:
    """List the earthquakes, channels and responses that a configuration finds, and what is wrong with them.

    The exit code is 2 if no channel is usable, so that no window can be cut.
    """
    from craton.runs.progress import make_console

    check_alone("craton tomography data check")
    settings = _data_config(config, "output", None)
    from craton.tomography.waveforms.inspection import inspect

    found = inspect(settings, make_console(stderr=as_json))
    if as_json:
        print_json(found.to_dict())
    else:
        typer.echo("\n".join(found.lines))
    found.require_usable()


@app.command("windows")
def windows(
    config: DataFile,
    directory: Directory = None,
    overwrite: Overwrite = False,
    pictures: Annotated[
        bool,
        typer.Option(
            "--pictures/--no-pictures", help="Draw a record section, and how many windows each criterion rejects."
        ),
    ] = True,
    as_json: Json = False,
) -> None:
    """Pick time windows of observed seismograms, from raw counts to the data.h5 of an inversion.

    The folder of results has data.h5, earthquakes.csv, stations.csv, pictures, and windows.json with the reason of every
    decision. To use them in an inversion:

        [data]
        kind = "file"
    """
    from craton.runs.progress import make_console

    check_alone("craton tomography data windows")
    settings = _data_config(config, "output", directory)
    from craton.tomography.waveforms.window_folder import WindowFolder, make_windows, summary

    prepared = make_windows(settings, make_console(stderr=as_json), overwrite=overwrite, pictures=pictures)
    if not as_json:
        typer.echo(summary(prepared))
        typer.echo(settings.output.directory)
        return
    table, reasons = prepared.table, prepared.ledger.counts()
    print_json(
        {
            "files": [str(file) for file in WindowFolder(settings.output.directory).results],
            "earthquakes": len(table.events),
            "seismograms": len(prepared.traces),
            "accepted": len(table.accepted),
            "rejected": len(table.rejected),
            "left_out": [{"stage": stage, "reason": code, "count": count} for (stage, code), count in reasons.items()],
        }
    )


@app.command("template")
def template() -> None:
    """Print a configuration of observed seismograms with every key explained.

    To begin with:

        craton tomography data template > data.toml
    """
    from craton.tomography.waveforms.config import waveform_template

    typer.echo(waveform_template())


def _data_config(path: Path, table: str, directory: Path | None) -> WaveformConfig:
    from craton.tomography.waveforms.config import load_waveform_config

    settings = load_waveform_config(path)
    return settings.replaced(table, directory=str(directory)) if directory is not None else settings
