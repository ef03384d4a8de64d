"""Observed seismograms: from a web service to the windows that an inversion takes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from craton.cli.launching import check_alone
from craton.cli.options import Overwrite

if TYPE_CHECKING:
    from craton.tomography.waveforms.config import WaveformConfig

app = typer.Typer()
PANEL = "Observed seismograms"

DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIG", help="A TOML file; `craton tomography data-template` prints one with every key explained."
    ),
]


@app.command("fetch", rich_help_panel=PANEL)
def fetch(
    config: DataFile,
    directory: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of what is fetched; overrides \\[fetch] directory.")
    ] = None,
) -> None:
    """Fetch earthquakes, responses and waveforms from an FDSN web service. What is on disk is not asked for again.

    Then look for windows in them:    [bold]craton tomography windows CONFIG[/bold]
    """
    from craton.runs.progress import make_console

    check_alone("craton tomography fetch")
    settings = _data_config(config, "fetch", directory)
    from craton.tomography.waveforms.fetch import fetch

    typer.echo(str(fetch(settings, make_console())))


@app.command("check", rich_help_panel=PANEL)
def check(config: DataFile) -> None:
    """List the earthquakes, channels and responses that a configuration finds, and what is wrong with them."""
    from craton.runs.progress import make_console

    check_alone("craton tomography check")
    settings = _data_config(config, "output", None)
    from craton.tomography.waveforms.inspection import inspect

    typer.echo(inspect(settings, make_console()))


@app.command("windows", rich_help_panel=PANEL)
def windows(
    config: DataFile,
    directory: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the results; overrides \\[output] directory.")
    ] = None,
    overwrite: Overwrite = False,
    pictures: Annotated[
        bool, typer.Option("--pictures/--no-pictures", help="Draw a record section and the reasons.")
    ] = True,
) -> None:
    """Pick windows of observed seismograms: raw counts in, data.h5 of an inversion out.

    The results are in a folder: data.h5, earthquakes.csv, stations.csv, windows.json (every decision), pictures. An inversion
    takes them with \\[data] kind = "file".
    """
    from craton.runs.progress import make_console

    check_alone("craton tomography windows")
    settings = _data_config(config, "output", directory)
    from craton.tomography.waveforms.window_folder import make_windows, summary

    prepared = make_windows(settings, make_console(), overwrite=overwrite, pictures=pictures)
    typer.echo(summary(prepared))
    typer.echo(settings.output.directory)


@app.command("data-template", rich_help_panel=PANEL)
def data_template() -> None:
    """Print a configuration of observed seismograms with every key, its default and what it means.

    To begin with:    [bold]craton tomography data-template > data.toml[/bold]
    """
    from craton.tomography.waveforms.config import waveform_template

    typer.echo(waveform_template())


def _data_config(path: Path, table: str, directory: Path | None) -> WaveformConfig:
    from craton.tomography.waveforms.config import load_waveform_config

    settings = load_waveform_config(path)
    return settings.replaced(table, directory=str(directory)) if directory is not None else settings
