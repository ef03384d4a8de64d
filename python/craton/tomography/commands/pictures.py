"""Pictures of a run, and files for other programs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from craton.cli.options import Json, RunDirectory, choice
from craton.cli.output import check_folders, print_json
from craton.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

    from craton.tomography.report.drawing import Drawing

app = typer.Typer()
PANEL = "Pictures and files of a run"

OtherModel = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Another model.h5, as `craton tomography solve` writes it.")
]
OfIteration = Annotated[
    int | None,
    typer.Option(
        metavar="I", help="Number of the iteration whose model is drawn. 0: the starting model. Default: the last."
    ),
]
OfTarget = Annotated[bool, typer.Option("--target", help="Draw the input model of a run on synthetic data.")]
OfParameter = Annotated[str, typer.Option(metavar="NAME,NAME", help="Parameters to draw, such as dlnVs. Default: all.")]
DrawnFile = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FILE",
        help="Picture (.png, .pdf, .svg) or table (.csv) to write. Default: a .png inside DIR.",
    ),
]


@app.command("slice", rich_help_panel=PANEL)
def slices(
    directory: RunDirectory,
    depth: Annotated[str, typer.Option(metavar="KM,KM", help="Depths, in km.")] = "100,300,600",
    model: OtherModel = None,
    iteration: OfIteration = None,
    target: OfTarget = False,
    parameter: OfParameter = "",
    centre: Annotated[float, typer.Option(metavar="LON", help="Central meridian of the maps, degrees east.")] = 0.0,
    output: DrawnFile = None,
    as_json: Json = False,
) -> None:
    """Draw maps of a model at depths.

    Example:
        craton tomography slice demo-run --depth 100,300 -o maps.pdf
    """
    from craton.tomography.model import fields
    from craton.tomography.report import drawing

    file = _drawn(directory, output, "slice.png")
    depths, chosen = drawing.parse_depths(depth), fields.read_fields(directory, model, iteration, target)
    drawn = drawing.slices(chosen, depths, parameter, centre)
    _save(drawn, file, as_json, _fields, model=chosen.label)


@app.command("section", rich_help_panel=PANEL)
def section(
    directory: RunDirectory,
    start: Annotated[
        str | None, typer.Option("--from", metavar="LAT,LON", help="First end: latitude and longitude, in degrees.")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="LAT,LON", help="Second end.")] = None,
    through: Annotated[
        str | None, typer.Option(metavar="LAT,LON", help="Middle of the section, with --azimuth, instead of its ends.")
    ] = None,
    azimuth: Annotated[
        float | None, typer.Option(metavar="DEG", help="Direction at the middle, in degrees clockwise from north.")
    ] = None,
    half_angle: Annotated[
        float, typer.Option(metavar="DEG", help="Reach to both sides of the middle, in degrees. 180: all round.")
    ] = 60.0,
    model: OtherModel = None,
    iteration: OfIteration = None,
    target: OfTarget = False,
    parameter: OfParameter = "",
    output: DrawnFile = None,
    as_json: Json = False,
) -> None:
    """Draw the mantle along a great circle.

    Example:
        craton tomography section demo-run --from 40,-125 --to 30,140
        craton tomography section demo-run --through 19.4,-155.3 --azimuth 60

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
    chosen = fields.read_fields(directory, model, iteration, target)
    _save(drawing.section(chosen, arc, parameter), file, as_json, _fields, model=chosen.label, section=arc.text)


@app.command("profile", rich_help_panel=PANEL)
def profile(
    directory: RunDirectory,
    at: Annotated[
        list[str], typer.Option("--at", metavar="LAT,LON", help="A place, in degrees. May be given several times.")
    ],
    model: OtherModel = None,
    iteration: OfIteration = None,
    target: OfTarget = False,
    parameter: OfParameter = "",
    output: DrawnFile = None,
    as_json: Json = False,
) -> None:
    """Draw depth profiles of a model at places: relative changes, and speeds beside the reference Earth's.

    Example:
        craton tomography profile demo-run --at 19.4,-155.3 --at 64,-19
    """
    from craton.tomography.model import fields
    from craton.tomography.report import drawing

    file = _drawn(directory, output, "profile.png")
    places = [drawing.parse_place(text, "--at") for text in at]
    chosen = fields.read_fields(directory, model, iteration, target)
    _save(drawing.profile(chosen, places, parameter), file, as_json, _curves, model=chosen.label)


@app.command("fit", rich_help_panel=PANEL)
def fit(
    directory: RunDirectory,
    path: Annotated[
        str,
        typer.Option(
            metavar="EVENT,STATION", help="Names of the earthquake and the station, as in the run's catalogues."
        ),
    ],
    component: Annotated[str | None, choice("Z", "R", "T", text="Component of the window. Default: the first.")] = None,
    output: DrawnFile = None,
    as_json: Json = False,
) -> None:
    """Draw the seismogram of one path: data, starting model, final model and residual.

    Example:
        craton tomography fit demo-run --path C201809061549A,II.RPN
    """
    from craton.tomography.folder import RunFolder
    from craton.tomography.report import drawing
    from craton.tomography.results import read_results

    file = _drawn(directory, output, "fit.png")
    results = read_results(RunFolder(directory))
    number = drawing.find_path(results, path, component or "")
    window = results.observations.paths.describe(number)
    _save(drawing.fit(results, number), file, as_json, _curves, path=window)


@app.command("export", rich_help_panel=PANEL)
def export(
    directory: RunDirectory,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="NetCDF (.nc), VTK (.vts, .vtu), spherical harmonics (.sph, .dat) or .csv. Default: model.nc inside DIR.",
        ),
    ] = None,
    step: Annotated[
        float, typer.Option(metavar="DEG", help="Spacing of grid points, in degrees; a divisor of 180.")
    ] = 2.0,
    depth_step: Annotated[float, typer.Option(metavar="KM", help="Spacing of depths, in km.")] = 50.0,
    degree: Annotated[int, typer.Option(metavar="L", help="Largest degree of spherical harmonics (.sph, .dat).")] = 40,
    model: OtherModel = None,
    iteration: OfIteration = None,
    target: OfTarget = False,
    parameter: OfParameter = "",
    as_json: Json = False,
) -> None:
    """Write a model for other programs, on a grid of longitude, latitude and depth.

    NetCDF, as the IRIS Earth Model Collaboration defines it:

        craton tomography export demo-run -o model.nc

    For ParaView:

        craton tomography export demo-run --step 1 -o model.vtu

    As spherical harmonics up to degree 40, in the format of S40RTS; S40RTS.dat is what SPECFEM3D_GLOBE reads:

        craton tomography export demo-run -o model.sph
        craton tomography export demo-run -o S40RTS.dat

    In the grids dvs is in percent of the reference Earth and vs in km/s. Latitudes are geographic. Depths are in km below a
    radius of 6371 km.
    """
    from craton.tomography.model import export as model_export
    from craton.tomography.model import fields

    file = directory / "model.nc" if output is None else output
    check_folders(output=file)
    chosen = fields.read_fields(directory, model, iteration, target)
    if file.suffix.lower() in (".sph", ".dat"):
        from craton.tomography.model.harmonics_export import export_harmonics

        export_harmonics(chosen, file, degree)
        if as_json:
            print_json({"files": [str(file)], "model": chosen.label, "degree": degree})
        else:
            typer.echo(file)
        return
    grid = model_export.export(chosen, file, step, depth_step, parameter, " ".join(["craton", *map(str, sys.argv[1:])]))
    if as_json:
        print_json({"files": [str(file)], "model": chosen.label, **grid.facts()})
    else:
        typer.echo(file)


def _drawn(directory: Path, output: Path | None, name: str) -> Path:
    """Where a picture of a run goes: checked before anything is drawn."""
    check_folders(output=output)
    return directory / name if output is None else output


def _save(
    drawn: Drawing, file: Path, as_json: bool, numbers: Callable[[Drawing], dict[str, Any]], **facts: str
) -> None:
    """Writes a picture or table and prints its name; or JSON: the file, `facts`, and the `numbers` of the drawing."""
    from craton.tomography.report.drawing import save

    save(drawn, file)
    if as_json:
        print_json({"files": [str(file)], **facts, **numbers(drawn)})
    else:
        typer.echo(file)


def _table(drawn: Drawing) -> dict[str, list[Any]]:
    return {name: list(values.tolist()) for name, values in zip(drawn.header, drawn.columns, strict=True)}


def _curves(drawn: Drawing) -> dict[str, Any]:
    """All numbers, in columns."""
    return {"columns": _table(drawn)}


def _fields(drawn: Drawing) -> dict[str, Any]:
    """The least and the greatest change of each parameter at each depth; the .csv file has all numbers."""
    table, found = _table(drawn), dict[tuple[str, float], list[float]]()
    for parameter, depth, percent in zip(table["parameter"], table["depth_km"], table["percent"], strict=True):
        found.setdefault((parameter, depth), []).append(percent)
    rows = [
        {"parameter": parameter, "depth_km": depth, "least_percent": min(values), "greatest_percent": max(values)}
        for (parameter, depth), values in found.items()
    ]
    return {"fields": rows}
