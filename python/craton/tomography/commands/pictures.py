"""Pictures of a run, and files for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from craton.cli.options import RunDirectory, choice
from craton.cli.output import check_folders
from craton.errors import UserError

app = typer.Typer()
PANEL = "Pictures and files of a run"

OtherModel = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Another model.h5, as `craton tomography solve` writes it.")
]
OfIteration = Annotated[
    int | None, typer.Option(metavar="I", help="The model of this iteration, 0 for the starting model; else the last.")
]
OfTarget = Annotated[bool, typer.Option("--target", help="The input model of a run on synthetic data.")]
OfParameter = Annotated[str, typer.Option(metavar="NAME,NAME", help="Of the model's parameters, as dlnVs; else all.")]
DrawnFile = Annotated[
    Path | None,
    typer.Option(
        "--output", "-o", metavar="FILE", help="A picture (.png, .pdf, .svg), or .csv; else a .png inside RUN."
    ),
]


@app.command("slice", rich_help_panel=PANEL)
def slices(
    directory: RunDirectory,
    depth: Annotated[str, typer.Option(metavar="KM,KM", help="Depths.")] = "100,300,600",
    model: OtherModel = None,
    iteration: OfIteration = None,
    target: OfTarget = False,
    parameter: OfParameter = "",
    centre: Annotated[float, typer.Option(metavar="LON", help="Central meridian of the maps, degrees east.")] = 0.0,
    output: DrawnFile = None,
) -> None:
    """Draw maps of a model at depths.

    [bold]craton tomography slice demo-run --depth 100,300 -o maps.pdf[/bold]
    """
    from craton.tomography.model import fields
    from craton.tomography.report import drawing

    file = _drawn(directory, output, "slice.png")
    depths, chosen = drawing.parse_depths(depth), fields.read_fields(directory, model, iteration, target)
    typer.echo(drawing.save(drawing.slices(chosen, depths, parameter, centre), file))


@app.command("section", rich_help_panel=PANEL)
def section(
    directory: RunDirectory,
    start: Annotated[str | None, typer.Option("--from", metavar="LAT,LON", help="Where the section begins.")] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="LAT,LON", help="Where it ends.")] = None,
    through: Annotated[str | None, typer.Option(metavar="LAT,LON", help="Its middle, instead of its ends.")] = None,
    azimuth: Annotated[
        float | None, typer.Option(metavar="A", help="At the middle: degrees clockwise from north.")
    ] = None,
    half_angle: Annotated[
        float,
        typer.Option(metavar="D", help="How far it reaches to both sides of the middle, degrees; 180 is all round."),
    ] = 60.0,
    model: OtherModel = None,
    iteration: OfIteration = None,
    target: OfTarget = False,
    parameter: OfParameter = "",
    output: DrawnFile = None,
) -> None:
    """Draw the mantle along a great circle.

    [bold]craton tomography section demo-run --from 40,-125 --to 30,140[/bold]

    [bold]craton tomography section demo-run --through 19.4,-155.3 --azimuth 60 -o hawaii.pdf[/bold]

    Latitudes are negative south of the equator, longitudes west of Greenwich.
    """
    from craton.tomography.model import fields
    from craton.tomography.report import drawing

    file = _drawn(directory, output, "section.png")
    if through is not None and azimuth is not None and start is None and end is None:
        arc = drawing.arc_through(drawing.parse_place(through, "--through"), azimuth, half_angle)
    elif start is not None and end is not None and through is None and azimuth is None:
        arc = drawing.arc_between(drawing.parse_place(start, "--from"), drawing.parse_place(end, "--to"))
    else:
        raise UserError("where is the section? allowed: --from with --to, or --through with --azimuth")
    typer.echo(
        drawing.save(drawing.section(fields.read_fields(directory, model, iteration, target), arc, parameter), file)
    )


@app.command("profile", rich_help_panel=PANEL)
def profile(
    directory: RunDirectory,
    at: Annotated[list[str], typer.Option("--at", metavar="LAT,LON", help="A place; may be given several times.")],
    model: OtherModel = None,
    iteration: OfIteration = None,
    target: OfTarget = False,
    parameter: OfParameter = "",
    output: DrawnFile = None,
) -> None:
    """Draw a model below places, against depth: relative changes, and speeds beside the reference Earth's.

    [bold]craton tomography profile demo-run --at 19.4,-155.3 --at 64,-19 -o profiles.csv[/bold]
    """
    from craton.tomography.model import fields
    from craton.tomography.report import drawing

    file = _drawn(directory, output, "profile.png")
    places = [drawing.parse_place(text, "--at") for text in at]
    chosen = fields.read_fields(directory, model, iteration, target)
    typer.echo(drawing.save(drawing.profile(chosen, places, parameter), file))


@app.command("fit", rich_help_panel=PANEL)
def fit(
    directory: RunDirectory,
    path: Annotated[str, typer.Option(metavar="EVENT,STATION", help="Names as in the run's catalogues.")],
    component: Annotated[
        str | None,
        choice("Z", "R", "T", text="Of several windows; else the first."),
    ] = None,
    output: DrawnFile = None,
) -> None:
    """Draw the seismogram of one path: data, starting model, final model, and what is left.

    [bold]craton tomography fit demo-run --path C201809061549A,II.RPN[/bold]
    """
    from craton.tomography.inversion.folder import RunFolder
    from craton.tomography.report import drawing
    from craton.tomography.results import read_results

    file = _drawn(directory, output, "fit.png")
    results = read_results(RunFolder(directory))
    typer.echo(drawing.save(drawing.fit(results, drawing.find_path(results, path, component or "")), file))


@app.command("export", rich_help_panel=PANEL)
def export(
    directory: RunDirectory,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", metavar="FILE", help="NetCDF (.nc), VTK (.vts, .vtu) or .csv; else model.nc inside RUN."
        ),
    ] = None,
    step: Annotated[float, typer.Option(metavar="DEG", help="Between grid points; a divisor of 180.")] = 2.0,
    depth_step: Annotated[float, typer.Option(metavar="KM", help="Between depths.")] = 50.0,
    model: OtherModel = None,
    iteration: OfIteration = None,
    target: OfTarget = False,
    parameter: OfParameter = "",
) -> None:
    """Write a model for other programs, on a grid of longitude, latitude and depth.

    NetCDF as the IRIS Earth Model Collaboration has it:    [bold]craton tomography export demo-run -o model.nc[/bold]

    For ParaView:    [bold]craton tomography export demo-run --step 1 -o model.vtu[/bold]

    dvs is in percent of the reference Earth, vs in km/s. Latitudes are geographic; depths are below 6371 km.
    """
    from craton.tomography.model import export as model_export
    from craton.tomography.model import fields

    file = directory / "model.nc" if output is None else output
    check_folders(output=file)
    chosen = fields.read_fields(directory, model, iteration, target)
    model_export.export(chosen, file, step, depth_step, parameter, " ".join(["craton", *map(str, sys.argv[1:])]))
    typer.echo(file)


def _drawn(directory: Path, output: Path | None, name: str) -> Path:
    """Where a picture of a run goes: checked before anything is drawn."""
    check_folders(output=output)
    return directory / name if output is None else output
