"""Observed seismograms: from a web service to the windows that an inversion takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from craton.cli.group import group
from craton.cli.launching import check_alone
from craton.cli.options import Directory, Overwrite

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
def fetch(
    config: DataFile,
    directory: Directory = None,
) -> None:
    """Fetch earthquakes, responses and waveforms from an FDSN web service. Files that are on disk are not fetched again.

    Then pick windows:

        craton tomography data windows data.toml
    """
    from craton.runs.progress import make_console

    check_alone("craton tomography data fetch")
    settings = _data_config(config, "fetch", directory)
    from craton.tomography.waveforms.records.fetch import fetch

    typer.echo(str(fetch(settings, make_console())))


@app.command("check")
def check(config: DataFile) -> None:
    """List the earthquakes, channels and responses that a configuration finds, and what is wrong with them."""
    from craton.runs.progress import make_console

    check_alone("craton tomography data check")
    settings = _data_config(config, "output", None)
    from craton.tomography.waveforms.inspection import inspect

    typer.echo(inspect(settings, make_console()))


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
) -> None:
    """Pick time windows of observed seismograms, from raw counts to the data.h5 of an inversion.

    The folder of results has data.h5, earthquakes.csv, stations.csv, pictures, and windows.json with the reason of every
    decision. To use them in an inversion:

        [data] kind = "file"
    """
    from craton.runs.progress import make_console

    check_alone("craton tomography data windows")
    settings = _data_config(config, "output", directory)
    from craton.tomography.waveforms.window_folder import make_windows, summary

    prepared = make_windows(settings, make_console(), overwrite=overwrite, pictures=pictures)
    typer.echo(summary(prepared))
    typer.echo(settings.output.directory)


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
