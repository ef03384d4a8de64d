"""Free oscillations and sensitivity kernels of a reference Earth."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from craton.cli.options import Json, choice, numbers
from craton.cli.output import check_folders, print_json, print_table
from craton.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Callable

app = typer.Typer()
PANEL = "Theory"

Model = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Reference Earth: prem (anisotropic), prem_isotropic_ocean, prem_isotropic or prem_iso_light; or the file of a table: "
        ".nd, .tvel, or a deck of mineos.",
    ),
]
Cache = Annotated[Path, typer.Option(metavar="DIR", help="Folder where mode catalogues are kept.")]
DEFAULT_CACHE = Path("~/.cache/craton")


@app.command(rich_help_panel=PANEL)
def modes(
    model: Model = "prem",
    shortest_period: Annotated[
        float, typer.Option(metavar="SECONDS", help="Shortest period, in s; 10 to 2000.")
    ] = 300.0,
    kind: Annotated[
        str, choice("spheroidal", "toroidal", "both", text="Kind of modes. Radial modes are spheroidal.")
    ] = "both",
    elastic: Annotated[
        bool, typer.Option("--elastic", help="Use the model's speeds at 1 s, without physical dispersion.")
    ] = False,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write a CSV file instead of printing a table.")
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Draw a dispersion diagram, frequency against degree (.png, .pdf, .svg)."),
    ] = None,
    cache: Cache = DEFAULT_CACHE,
    as_json: Json = False,
) -> None:
    """List the free oscillations of a spherically symmetric Earth: periods, Q, group and phase velocities.

    Modes with periods above 300 s:

        craton tomography modes

    All modes that seismograms filtered at 60 s and longer need:

        craton tomography modes --shortest-period 60 --csv modes.csv
    """
    from craton.tomography.model.earth_table import earth_by_name_or_file
    from craton.tomography.theory import mode_table
    from craton.tomography.theory.modes import spheroidal_catalogue, toroidal_catalogue

    earth, note = earth_by_name_or_file(model), _note()
    rows: list[mode_table.ModeRow] = []
    options = {"dispersion": not elastic}
    if kind != "toroidal":
        rows += mode_table.rows_of(spheroidal_catalogue(earth, shortest_period, cache, note, **options), earth)
    if kind != "spheroidal":
        rows += mode_table.rows_of(toroidal_catalogue(earth, shortest_period, cache, note, **options), earth)
    title = f"{len(rows)} modes of {model} longer than {shortest_period:g} s" + (", elastic" if elastic else "")
    if csv is not None:
        mode_table.write_csv(rows, csv)
    if picture is not None:
        from craton.pages.figures import save_picture

        save_picture(mode_table.diagram(rows, title), picture)
    if as_json:
        files = [str(file) for file in (csv, picture) if file is not None]
        print_json({"files": files, "model": model, "elastic": elastic, "modes": [row.to_dict() for row in rows]})
    elif csv is None:
        print_table(mode_table.table(rows, title))
    else:
        typer.echo(f"{title}: {csv}")


@app.command(rich_help_panel=PANEL)
def kernel(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="Picture to write (.png, .pdf, .svg).")
    ],
    distance: Annotated[
        float, typer.Option(metavar="DEGREES", help="Epicentral distance, in degrees; 1 to 179.")
    ] = 80.0,
    depth: Annotated[float, typer.Option(metavar="KM", help="Depth of the source, in km.")] = 35.0,
    component: Annotated[
        str, choice("Z", "R", "T", text="Component: Z up, R away from the source, T to the right of R.")
    ] = "T",
    periods: Annotated[
        str,
        typer.Option(
            metavar="T1,T2,T3,T4",
            help="Corner periods of the filter, in s, decreasing. The filter is a cosine taper in frequency.",
        ),
    ] = "400,250,75,60",
    theory: Annotated[
        str,
        choice("pava", "nact", "both", text="Theory: pava is path averages, nact adds coupling across mode branches."),
    ] = "both",
    times: Annotated[
        str,
        typer.Option(
            metavar="T1,T2,...", help="Times after the origin time, in s. Default: those of the largest motions."
        ),
    ] = "",
    model: Model = "prem_isotropic",
    cache: Cache = DEFAULT_CACHE,
    as_json: Json = False,
) -> None:
    """Draw the sensitivity of a seismogram to shear speed in the plane of the great circle.

    Transverse motion at 80 degrees, both theories:

        craton tomography kernel -o kernel.png

    Vertical motion, at two times:

        craton tomography kernel -o z.png --component Z --times 1400,2300
    """
    from craton.pages.figures import save_picture
    from craton.tomography.model.earth_table import earth_by_name_or_file
    from craton.tomography.theory.modes import spheroidal_catalogue, toroidal_catalogue
    from craton.tomography.theory.plane_kernels import draw, plane_kernel, usual_times

    if output.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise UserError(f"--output {output}: ends in '{output.suffix}'; allowed: .png, .pdf, .svg")
    check_folders(output=output)
    corners = numbers(periods, "--periods")
    if len(corners) != 4 or not all(a > b > 0 for a, b in zip(corners, corners[1:], strict=False)):
        raise UserError(f"--periods {periods}; allowed: four decreasing periods in seconds, such as 400,250,75,60")
    chosen = numbers(times, "--times") if times else []
    earth, note = earth_by_name_or_file(model), _note()
    toroidal = toroidal_catalogue(earth, corners[3], cache, note)
    spheroidal = None if component == "T" else spheroidal_catalogue(earth, corners[3], cache, note)
    kinds = ("pava", "nact") if theory == "both" else (theory,)
    band = (corners[0], corners[1], corners[2], corners[3])
    kernels = [plane_kernel(earth, toroidal, spheroidal, kind, component, distance, depth, band) for kind in kinds]
    save_picture(draw(kernels, chosen), output)
    if not as_json:
        typer.echo(output)
        return
    first = kernels[0]
    seismogram = {"time_s": first.times_s.tolist(), "displacement_m": first.displacement_m.tolist()}
    drawn = chosen or usual_times(first)
    found = [{"theory": one.theory, "times": [one.extremes(time) for time in drawn]} for one in kernels]
    print_json({"files": [str(output)], "seismogram": seismogram, "kernels": found})


def _note() -> Callable[[str], None]:
    """Tells of a damaged cache on standard error."""
    from craton.runs.progress import make_console

    return lambda text: make_console(stderr=True).print(f"craton: {text}", markup=False)
