"""The command `craton`. Everything that needs MPI or takes time to import is imported by the command that needs it."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

import craton
from craton._launch import checked_ranks, launched_size, main_guard, run_under_mpi
from craton.errors import UserError

if TYPE_CHECKING:
    from mpi4py import MPI
    from rich.console import Console

    from craton.tomography.config import Config, PriorConfig
    from craton.tomography.waveforms.config import WaveformConfig

Result = TypeVar("Result")

app = typer.Typer(
    name="craton",
    help="One address space over many processes, and what is built on it: seismic waveform tomography, multigrid, waves, "
    "seismic hazard, Hartree-Fock.",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    add_completion=False,
)
tomography = typer.Typer(
    help="Invert seismograms for the shear-wave structure of the whole mantle.\n\n"
    "Start with: [bold]craton tomography run examples/global/demo.toml --ranks 2[/bold]",
)
app.add_typer(tomography, name="tomography")
INVERSIONS, PRIORS, PICTURES, OBSERVED, THEORY = (
    "Inversions",
    "Other priors, and how sure a model is",
    "Pictures and files of a run",
    "Observed seismograms",
    "Theory",
)
multigrid = typer.Typer(
    help="Solve elliptic equations on structured grids of boxes by full multigrid.\n\n"
    "Start with: [bold]craton multigrid run 5 4 --ranks 2[/bold]",
)
app.add_typer(multigrid, name="multigrid")
waves = typer.Typer(
    help="Compute seismic waves in three dimensions: sources and ground in, seismograms, strains and pictures out.\n\n"
    "Start with: [bold]craton waves run examples/waves/layer.toml --ranks 2[/bold]",
)
app.add_typer(waves, name="waves")
hazard = typer.Typer(
    help="Seismic hazard from simulated earthquakes: curves, maps and disaggregations of sites.\n\n"
    "Start with: [bold]craton hazard run examples/hazard/basin.toml[/bold]",
)
app.add_typer(hazard, name="hazard")

ConfigFile = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIG", help="A TOML file; `craton tomography template` prints one with every key explained."
    ),
]


def _count(text: str) -> int:
    """Of ranks, threads, and so on."""
    number = int(text) if re.fullmatch("[0-9]{1,10}", str(text)) else 0  # a default is a number already
    if not 1 <= number < 2**31:
        raise typer.BadParameter(f"'{text}'; allowed: a whole number of at least 1 and less than {2**31}")
    return number


Ranks = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        parser=_count,
        help="Processes to start, by mpiexec. Leave it out under your own mpirun or srun; alone it means one process.",
    ),
]
RanksPerNode = Annotated[
    int | None,
    typer.Option(
        metavar="K",
        parser=_count,
        help="Treat every K consecutive ranks as a machine of their own, to try out on one what happens between many.",
    ),
]

# Of the tomography's commands that start from a Hessian.
HessianFile = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run, or its hessian.h5.")]
Priors = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SPEC",
        help="Another prior: a TOML file with a \\[prior] table, or settings such as strength=0.05,correlation_km=800 or "
        "kind=matern; those not named stay as they were. Given several times: one prior each.",
    ),
]


def _numbers(text: str, option: str) -> list[float]:
    """Numbers between commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"{option} {text}; allowed: numbers with commas between them") from None


def _one_of(*names: str) -> Callable[[str], str]:
    def parse(text: str) -> str:
        if text not in names:
            raise typer.BadParameter(f"'{text}'; allowed: {', '.join(names)}")
        return text

    return parse


# Of the multigrid commands.
BoxThreads = Annotated[
    int, typer.Option(metavar="T", parser=_count, help="Threads of each rank, which share its boxes.")
]
Operator = Annotated[
    str,
    typer.Option(
        metavar="7pt|fv2|fv4",
        parser=_one_of("7pt", "fv2", "fv4"),
        help="How the equation is made discrete: second order in points, second or fourth in averages.",
    ),
]
Smoother = Annotated[
    str,
    typer.Option(
        metavar="gsrb|chebyshev|jacobi", parser=_one_of("gsrb", "chebyshev", "jacobi"), help="What relaxes each level."
    ),
]
Order = Annotated[
    str,
    typer.Option(
        metavar="morton|hilbert|lexicographic",
        parser=_one_of("morton", "hilbert", "lexicographic"),
        help="The curve along which boxes are dealt to ranks.",
    ),
]


@app.callback(invoke_without_command=True)
def _craton(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        build = craton.build_info()
        typer.echo(
            f"craton {craton.__version__} ({build.get('commit', 'unknown')}, {build.get('build_type', 'unknown')})"
        )
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


@tomography.callback(invoke_without_command=True)
def _tomography(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@multigrid.callback(invoke_without_command=True)
def _multigrid(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@waves.callback(invoke_without_command=True)
def _waves(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


@hazard.callback(invoke_without_command=True)
def _hazard(context: typer.Context) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


DataFile = Annotated[
    Path,
    typer.Argument(
        metavar="CONFIG", help="A TOML file; `craton tomography data-template` prints one with every key explained."
    ),
]


@tomography.command(rich_help_panel=INVERSIONS)
def run(
    config: ConfigFile,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Annotated[
        int | None,
        typer.Option(metavar="T", parser=_count, help="Worker threads of each rank; overrides \\[assembly] threads."),
    ] = None,
    iterations: Annotated[
        int | None,
        typer.Option(
            metavar="I", parser=_count, help="Gauss-Newton iterations at most; overrides \\[inversion] max_iterations."
        ),
    ] = None,
    directory: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the results; overrides \\[run] directory.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the results that the folder already holds.")
    ] = False,
    report: Annotated[
        bool, typer.Option("--report/--no-report", help="Write report.html, the page with maps and figures.")
    ] = True,
) -> None:
    """Run a whole inversion: data, assembly of the Hessian, solution, iterations, report.

    On this machine, with 4 processes:    [bold]craton tomography run demo.toml --ranks 4[/bold]

    In a batch job:    [bold]srun craton tomography run demo.toml[/bold]    or the same behind [bold]mpirun -n 64[/bold]

    The results are in a folder: data.h5, hessian.h5, model.h5, record.json, report.html.

    Whatever ends it, [bold]craton tomography resume demo-run[/bold] goes on from there; `status` instead says where it is.
    """

    from craton.tomography.config import check_ranks, load_config

    def load() -> Config:
        loaded = load_config(config)
        if threads is not None:
            loaded = loaded.replaced("assembly", threads=threads)
        if iterations is not None:
            loaded = loaded.replaced("inversion", max_iterations=iterations)
        if directory is not None:
            loaded = loaded.replaced("run", directory=str(directory))
        return loaded

    if _must_launch(ranks):
        planned = load()
        check_ranks(planned, ranks or 1)
        _launch(ranks, ranks_per_node, Path(planned.run.directory), planned.assembly.threads)
    comm = _communicator()
    settings = _agreed(comm, load)
    check_ranks(settings, comm.size)
    from craton.tomography.inversion import session as inversion

    inversion.run(
        settings, comm, ranks_per_node=ranks_per_node or 0, console=_console(comm), overwrite=overwrite, report=report
    )


@tomography.command("resume", rich_help_panel=INVERSIONS)
def tomography_resume(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run that has not finished.")],
    config: Annotated[
        Path | None,
        typer.Argument(
            metavar="[CONFIG]",
            help="The run's TOML file, changed where a run may change; without it the run goes on as it was begun.",
        ),
    ] = None,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Annotated[
        int | None, typer.Option(metavar="T", parser=_count, help="Worker threads of each rank, if others than before.")
    ] = None,
    report: Annotated[
        bool, typer.Option("--report/--no-report", help="Write report.html, the page with maps and figures.")
    ] = True,
) -> None:
    """Go on with a run that was killed or has failed, on any number of ranks.

    Where it was:    [bold]craton tomography status demo-run[/bold]

    On 4 processes:    [bold]craton tomography resume demo-run --ranks 4[/bold]

    What phases before have found is not computed again, and of the assembly not what its last checkpoint holds. CONFIG may
    differ from what the run was begun with in max_iterations, tolerance, step_halvings, keep_hessians, \\[assembly] and
    \\[report]. A run that has finished says so, and nothing is done.
    """
    from craton.tomography.config import check_ranks, load_config

    def load() -> Config | None:
        from craton.tomography.inversion.folder import RunFolder
        from craton.tomography.inversion.session import config_to_resume

        found = config_to_resume(RunFolder(directory), None if config is None else load_config(config))
        return found if found is None or threads is None else found.replaced("assembly", threads=threads)

    def say_finished() -> None:
        from craton.tomography.inversion.folder import RunFolder

        typer.echo(f"{directory}: this run has finished: {RunFolder(directory).read_record().stopped_because}")

    if _must_launch(ranks):
        planned = load()
        if planned is None:
            return say_finished()
        check_ranks(planned, ranks or 1)
        _launch(ranks, ranks_per_node, directory, planned.assembly.threads)
    comm = _communicator()
    settings = _agreed(comm, load)
    if settings is None:
        return say_finished() if comm.rank == 0 else None
    check_ranks(settings, comm.size)
    from craton.tomography.inversion import session as inversion

    inversion.resume(
        directory, settings, comm, ranks_per_node=ranks_per_node or 0, console=_console(comm), report=report
    )


@tomography.command("status", rich_help_panel=INVERSIONS)
def tomography_status(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print it as JSON.")] = False,
) -> None:
    """Say where a run is: iteration, phase, paths done, time spent and left, what is on disk. It may be under way.

    [bold]craton tomography status demo-run[/bold]
    """
    from craton.tomography.inversion.status import find_status

    found = find_status(directory)
    typer.echo(json.dumps(found.to_dict(), indent=1) if as_json else found.to_text())


@tomography.command(rich_help_panel=PRIORS)
def solve(
    hessian: HessianFile,
    prior: Priors = None,
    output: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the new model.")] = Path("solve-run"),
    precision: Annotated[
        str, typer.Option(metavar="float32|float64", help="Precision of the factorisation.")
    ] = "float64",
    ranks: Ranks = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the model that the folder already holds.")
    ] = False,
) -> None:
    """Solve again under another prior, without assembling the Hessian again: seconds instead of hours.

    Half as strong:    [bold]craton tomography solve demo-run/hessian.h5 --prior strength=0.015 --output weaker[/bold]

    Several to compare:    [bold]craton tomography solve demo-run --prior strength=0.015 --prior kind=matern --output two[/bold]
    """
    if precision not in ("float32", "float64"):
        raise UserError(f"--precision {precision}; allowed: float32 or float64")
    hessian = _hessian_of(hessian)
    if _must_launch(ranks):
        _priors(prior or [], hessian)
        _launch(ranks, None, output)
    comm = _communicator()
    settings = _agreed(comm, lambda: _priors(prior or [], hessian))
    from craton.tomography.inversion import solve as solver

    solver.solve_all(hessian, settings, output, comm, precision, overwrite=overwrite)


@tomography.command(rich_help_panel=PRIORS)
def strength(
    hessian: HessianFile,
    prior: Annotated[
        str | None,
        typer.Option(
            metavar="SPEC", help="Another prior than the run's, as of `solve`; its strength is what is varied."
        ),
    ] = None,
    strengths: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="0.01,0.02,0.05 or FROM:TO:COUNT, such as 0.003:0.3:9 at equal ratios. Left out: nine from a tenth to ten times.",
        ),
    ] = "",
    folds: Annotated[
        int,
        typer.Option(
            metavar="K",
            min=0,
            max=1000,
            help="Cross-validate by K groups of earthquakes: reads data.h5 and assembles the Hessian once more. 0: not.",
        ),
    ] = 0,
    seed: Annotated[int, typer.Option(metavar="S", min=0, max=2**31 - 1, help="Of the choice of groups.")] = 1,
    output: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the results.")] = Path("strength-run"),
    ranks: Ranks = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace earlier results in the folder.")] = False,
) -> None:
    """Compare strengths of the prior: evidence, cross-validation, L-curve; a table, a picture and a recommendation.

    Nine strengths:    [bold]craton tomography strength demo-run[/bold]

    With five folds:    [bold]craton tomography strength demo-run --strengths 0.005:0.1:7 --folds 5 --ranks 4[/bold]
    """
    from craton.tomography.posterior import strength as chooser

    if folds == 1:
        raise UserError("--folds 1; allowed: 0, or 2 and more")
    hessian = _hessian_of(hessian)

    def settings() -> tuple[PriorConfig, list[float]]:
        (config,) = _priors([prior] if prior else [], hessian)
        return config, chooser.read_strengths(strengths, config)

    if _must_launch(ranks):
        settings()
        _launch(ranks, None, output)
    comm = _communicator()
    config, wanted = _agreed(comm, settings)
    chooser.choose_strength(hessian, config, wanted, output, comm, folds, seed, overwrite=overwrite)


@tomography.command(rich_help_panel=PRIORS)
def posterior(
    hessian: HessianFile,
    prior: Annotated[
        str | None, typer.Option(metavar="SPEC", help="Another prior than the run's, as of `solve`.")
    ] = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LAT,LON,DEPTH",
            help="A place, degrees (geographic) and km: covariance of everything with it, its row of the resolution, a point "
            "spread. Given several times: each.",
        ),
    ] = None,
    samples: Annotated[
        int, typer.Option(metavar="N", min=0, max=10**6, help="Models to draw from the posterior, into samples.h5.")
    ] = 0,
    seed: Annotated[int, typer.Option(metavar="S", min=0, max=2**31 - 1, help="Of the samples.")] = 1,
    trade_off: Annotated[
        bool, typer.Option("--trade-off", help="Correlations between all parameters and depths below each place.")
    ] = False,
    shuttle: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="A model (model.h5, or FILE/DATASET) whose part that the data do not see is added to the most probable one.",
        ),
    ] = "",
    output: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR", help="Folder of the results; else `posterior` inside the run's, where `report` finds it."
        ),
    ] = None,
    ranks: Ranks = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace earlier results in the folder.")] = False,
) -> None:
    """What a run knows and what it does not: variances, resolution, covariances, samples, null space.

    Variances:    [bold]craton tomography posterior demo-run --ranks 2[/bold]

    More:    [bold]craton tomography posterior demo-run --at 19.4,-155.3,300 --trade-off --samples 100[/bold]

    In the page:    [bold]craton tomography report demo-run[/bold]    draws it again, with resolution and standard
    deviations.
    """
    from craton.tomography.posterior import run as posterior_run

    hessian = _hessian_of(hessian)
    folder = output or posterior_run.posterior_folder(hessian.parent).path

    def settings() -> tuple[PriorConfig, posterior_run.Questions]:
        (config,) = _priors([prior] if prior else [], hessian)
        places = [posterior_run.read_place(text) for text in at or []]
        return config, posterior_run.Questions(places, samples, seed, trade_off, shuttle)

    if _must_launch(ranks):
        settings()
        _launch(ranks, None, folder)
    comm = _communicator()
    config, questions = _agreed(comm, settings)
    posterior_run.posterior_of_run(hessian, config, folder, questions, comm, overwrite=overwrite)


@tomography.command(rich_help_panel=INVERSIONS)
def template() -> None:
    """Print a configuration file with every key, its default and what it means.

    To begin with:    [bold]craton tomography template > my.toml[/bold]
    """
    from craton.tomography import config

    typer.echo(config.template())


@tomography.command(rich_help_panel=INVERSIONS)
def report(directory: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")]) -> None:
    """Draw report.html again from what a run has left in its folder."""
    from craton.tomography.report.page import write_report

    typer.echo(str(write_report(directory)))


TomographyRun = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run of craton tomography.")]
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


@tomography.command("slice", rich_help_panel=PICTURES)
def tomography_slice(
    directory: TomographyRun,
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


@tomography.command("section", rich_help_panel=PICTURES)
def tomography_section(
    directory: TomographyRun,
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


@tomography.command("profile", rich_help_panel=PICTURES)
def tomography_profile(
    directory: TomographyRun,
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


@tomography.command("fit", rich_help_panel=PICTURES)
def tomography_fit(
    directory: TomographyRun,
    path: Annotated[str, typer.Option(metavar="EVENT,STATION", help="Names as in the run's catalogues.")],
    component: Annotated[
        str | None,
        typer.Option(metavar="Z|R|T", parser=_one_of("Z", "R", "T"), help="Of several windows; else the first."),
    ] = None,
    output: DrawnFile = None,
) -> None:
    """Draw the seismogram of one path: data, starting model, final model, and what is left.

    [bold]craton tomography fit demo-run --path C201809061549A,II.RPN[/bold]
    """
    from craton.tomography.inversion.folder import RunFolder
    from craton.tomography.report import drawing
    from craton.tomography.report.page import read_results

    file = _drawn(directory, output, "fit.png")
    results = read_results(RunFolder(directory))
    typer.echo(drawing.save(drawing.fit(results, drawing.find_path(results, path, component or "")), file))


@tomography.command("export", rich_help_panel=PICTURES)
def tomography_export(
    directory: TomographyRun,
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
    _check_folders(output=file)
    chosen = fields.read_fields(directory, model, iteration, target)
    model_export.export(chosen, file, step, depth_step, parameter, " ".join(["craton", *map(str, sys.argv[1:])]))
    typer.echo(file)


@tomography.command("plan", rich_help_panel=INVERSIONS)
def tomography_plan(
    config: Annotated[Path, typer.Argument(metavar="CONFIG|RUN", help="A configuration; or the folder of a run.")],
    ranks: Annotated[
        int | None,
        typer.Option(metavar="N", parser=_count, help="Of the run that is planned, else 1; they are not started."),
    ] = None,
    ranks_per_node: Annotated[
        int | None, typer.Option(metavar="K", parser=_count, help="Ranks of a node; else as many as it has cores for.")
    ] = None,
    machine: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rates of the machine, as --calibrate writes them.")
    ] = None,
    calibrate: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Keep the rates measured on this machine in a TOML file.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Predict time, memory, messages and files of a run, phase by phase, before it is started; compute no inversion.

    [bold]craton tomography plan examples/global/demo.toml --ranks 2[/bold]

    For another machine, measure a node there, with as many ranks at a time as a run will have on it, and keep its rates:
    [bold]craton tomography plan demo.toml --ranks 64 --calibrate machine.toml[/bold]
    and plan anywhere:    [bold]craton tomography plan demo.toml --ranks 1024 --machine machine.toml[/bold]

    Of the folder of a run, what was predicted stands beside what it took.
    """
    from craton.runs.progress import make_console
    from craton.tomography.config import load_config
    from craton.tomography.plan import forecast as plan

    if (launched_size() or 0) > 1:
        raise UserError("craton tomography plan under mpirun; allowed: alone; --ranks says what is planned")
    if machine is not None and calibrate is not None:
        raise UserError("--machine with --calibrate; allowed: one of them")
    _check_folders(calibrate=calibrate)
    console = make_console()
    if config.is_dir():
        for option, value in (("--ranks", ranks), ("--ranks-per-node", ranks_per_node), ("--calibrate", calibrate)):
            if value is not None:
                raise UserError(
                    f"{option} with {config}, the folder of a run: its record says; allowed: with a configuration"
                )
        planned, compared = plan.plan_of_run(config, machine)
        table, content = plan.compared_table(planned, compared), [vars(row) for row in compared]
        shown = {**planned.to_dict(), "compared": content}
    else:
        tell = (lambda _: None) if as_json else typer.echo
        planned = plan.make_plan(load_config(config), ranks or 1, ranks_per_node or 0, machine, calibrate, tell)
        table, shown = plan.plan_table(planned), planned.to_dict()
    if as_json:
        typer.echo(json.dumps(shown, indent=2))
        return
    console.print(table)
    console.print(f"what takes longest: {planned.limit}", highlight=False, soft_wrap=True)
    for warning in planned.warnings:
        console.print(f"note: {warning}", style="yellow", highlight=False, markup=False, soft_wrap=True)


@tomography.command("fetch", rich_help_panel=OBSERVED)
def tomography_fetch(
    config: DataFile,
    directory: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of what is fetched; overrides \\[fetch] directory.")
    ] = None,
) -> None:
    """Fetch earthquakes, responses and waveforms from an FDSN web service. What is on disk is not asked for again.

    Then look for windows in them:    [bold]craton tomography windows CONFIG[/bold]
    """
    from craton.runs.progress import make_console

    _alone("craton tomography fetch")
    settings = _data_config(config, "fetch", directory)
    from craton.tomography.waveforms.fetch import fetch

    typer.echo(str(fetch(settings, make_console())))


@tomography.command("check", rich_help_panel=OBSERVED)
def tomography_check(config: DataFile) -> None:
    """List the earthquakes, channels and responses that a configuration finds, and what is wrong with them."""
    from craton.runs.progress import make_console

    _alone("craton tomography check")
    settings = _data_config(config, "output", None)
    from craton.tomography.waveforms.inspection import inspect

    typer.echo(inspect(settings, make_console()))


@tomography.command("windows", rich_help_panel=OBSERVED)
def tomography_windows(
    config: DataFile,
    directory: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the results; overrides \\[output] directory.")
    ] = None,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the results that the folder already holds.")
    ] = False,
    pictures: Annotated[
        bool, typer.Option("--pictures/--no-pictures", help="Draw a record section and the reasons.")
    ] = True,
) -> None:
    """Pick windows of observed seismograms: raw counts in, data.h5 of an inversion out.

    The results are in a folder: data.h5, earthquakes.csv, stations.csv, windows.json (every decision), pictures. An inversion
    takes them with \\[data] kind = "file".
    """
    from craton.runs.progress import make_console

    _alone("craton tomography windows")
    settings = _data_config(config, "output", directory)
    from craton.tomography.waveforms.window_folder import make_windows, summary

    prepared = make_windows(settings, make_console(), overwrite=overwrite, pictures=pictures)
    typer.echo(summary(prepared))
    typer.echo(settings.output.directory)


@tomography.command("data-template", rich_help_panel=OBSERVED)
def tomography_data_template() -> None:
    """Print a configuration of observed seismograms with every key, its default and what it means.

    To begin with:    [bold]craton tomography data-template > data.toml[/bold]
    """
    from craton.tomography.waveforms.config import waveform_template

    typer.echo(waveform_template())


def _data_config(path: Path, table: str, directory: Path | None) -> WaveformConfig:
    from craton.tomography.waveforms.config import load_waveform_config

    settings = load_waveform_config(path)
    return settings.replaced(table, directory=str(directory)) if directory is not None else settings


def _alone(command: str) -> None:
    """Of commands that are one process's work."""
    if (launched_size() or 1) > 1:
        raise UserError(f"{command}: started on {launched_size()} ranks; allowed: one")


def _drawn(directory: Path, output: Path | None, name: str) -> Path:
    """Where a picture of a run goes: checked before anything is drawn."""
    _check_folders(output=output)
    return directory / name if output is None else output


@tomography.command(rich_help_panel=THEORY)
def modes(
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME", help="prem (anisotropic), prem_isotropic_ocean, prem_isotropic or prem_iso_light."
        ),
    ] = "prem",
    shortest_period: Annotated[
        float, typer.Option(metavar="SECONDS", help="All modes with longer periods, 10 to 2000 s.")
    ] = 300.0,
    kind: Annotated[
        str,
        typer.Option(
            metavar="spheroidal|toroidal|both",
            parser=_one_of("spheroidal", "toroidal", "both"),
            help="Which modes. Radial ones are among the spheroidal.",
        ),
    ] = "both",
    elastic: Annotated[
        bool, typer.Option("--elastic", help="The model as it is at 1 s, without physical dispersion.")
    ] = False,
    csv: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write them to a CSV file instead of printing them.")
    ] = None,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw a dispersion diagram: frequency against degree.")
    ] = None,
    cache: Annotated[Path, typer.Option(metavar="DIR", help="Folder of computed mode catalogues.")] = Path(
        "~/.cache/craton"
    ),
) -> None:
    """List the free oscillations of a spherically symmetric Earth: periods, Q, group and phase velocities.

    Longer than five minutes:    [bold]craton tomography modes[/bold]

    All that seismograms beyond 60 s need:    [bold]craton tomography modes --shortest-period 60 --csv modes.csv[/bold]
    """
    from craton._craton import EarthModel
    from craton.runs.progress import make_console
    from craton.tomography.theory import mode_table
    from craton.tomography.theory.modes import spheroidal_catalogue, toroidal_catalogue

    console = make_console()
    earth = EarthModel.by_name(model)

    def note(text: str) -> None:
        make_console(stderr=True).print(f"craton: {text}", markup=False)

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
    if csv is None:
        console.print(mode_table.table(rows, title))
    else:
        console.print(f"{title}: {csv}", markup=False)


@tomography.command(rich_help_panel=THEORY)
def kernel(
    output: Annotated[Path, typer.Option("--output", "-o", metavar="FILE", help="The picture: .png, .pdf or .svg.")],
    distance: Annotated[float, typer.Option(metavar="DEGREES", help="Between source and station, 1 to 179.")] = 80.0,
    depth: Annotated[float, typer.Option(metavar="KM", help="Of the source.")] = 35.0,
    component: Annotated[
        str,
        typer.Option(
            metavar="Z|R|T", parser=_one_of("Z", "R", "T"), help="Up, away from the source, or to the right of that."
        ),
    ] = "T",
    periods: Annotated[
        str,
        typer.Option(metavar="T1,T2,T3,T4", help="Of the filter, in seconds, decreasing: a cosine taper in frequency."),
    ] = "400,250,75,60",
    theory: Annotated[
        str,
        typer.Option(
            metavar="pava|nact|both",
            parser=_one_of("pava", "nact", "both"),
            help="pava: path averages; nact: coupling across branches as well.",
        ),
    ] = "both",
    times: Annotated[
        str, typer.Option(metavar="T1,T2,...", help="Seconds after the origin time; the largest motions when left out.")
    ] = "",
    model: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="Reference Earth: prem_isotropic, prem (anisotropic), prem_isotropic_ocean or prem_iso_light.",
        ),
    ] = "prem_isotropic",
    cache: Annotated[Path, typer.Option(metavar="DIR", help="Folder of computed mode catalogues.")] = Path(
        "~/.cache/craton"
    ),
) -> None:
    """Draw what a seismogram sees between source and station: its sensitivity to shear speed in the great circle's plane.

    Transverse motion at 80 degrees, both theories:    [bold]craton tomography kernel -o kernel.png[/bold]

    Vertical motion, at two times:    [bold]craton tomography kernel -o z.png --component Z --times 1400,2300[/bold]
    """
    from craton._craton import EarthModel
    from craton.pages.figures import save_picture
    from craton.runs.progress import make_console
    from craton.tomography.theory.modes import spheroidal_catalogue, toroidal_catalogue
    from craton.tomography.theory.plane_kernels import draw, plane_kernel

    if output.suffix.lower() not in (".png", ".pdf", ".svg"):
        raise UserError(f"--output {output}: ends in '{output.suffix}'; allowed: .png, .pdf, .svg")
    _check_folders(output=output)
    corners = _numbers(periods, "--periods")
    if len(corners) != 4 or not all(a > b > 0 for a, b in zip(corners, corners[1:], strict=False)):
        raise UserError(f"--periods {periods}; allowed: four decreasing periods in seconds, such as 400,250,75,60")
    chosen = _numbers(times, "--times") if times else []
    earth = EarthModel.by_name(model)

    def note(text: str) -> None:
        make_console(stderr=True).print(f"craton: {text}", markup=False)

    toroidal = toroidal_catalogue(earth, corners[3], cache, note)
    spheroidal = None if component == "T" else spheroidal_catalogue(earth, corners[3], cache, note)
    kinds = ("pava", "nact") if theory == "both" else (theory,)
    band = (corners[0], corners[1], corners[2], corners[3])
    kernels = [plane_kernel(earth, toroidal, spheroidal, kind, component, distance, depth, band) for kind in kinds]
    save_picture(draw(kernels, chosen), output)
    make_console().print(str(output), highlight=False, markup=False)


@multigrid.command("run")
def multigrid_run(
    log2_box: Annotated[
        int, typer.Argument(metavar="LOG2_BOX", parser=_count, help="Boxes have 2^LOG2_BOX cells a side (2 to 9).")
    ],
    boxes_per_rank: Annotated[
        int,
        typer.Argument(
            metavar="BOXES_PER_RANK",
            parser=_count,
            help="At most so many boxes per rank: the grid is the largest cube of boxes that this allows.",
        ),
    ],
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: BoxThreads = 1,
    operator: Operator = "fv4",
    smoother: Smoother = "gsrb",
    order: Order = "morton",
    helmholtz: Annotated[
        bool, typer.Option("--helmholtz", help="a = 1 instead of 0: u - div(beta grad u) = f.")
    ] = False,
    repeats: Annotated[
        int, typer.Option(metavar="R", parser=_count, help="Measure so many F-cycles of each size.")
    ] = 5,
) -> None:
    """Run the test problem of HPGMG-FV and print its figures: levels, residual, error, order, unknowns solved per second.

    64^3 cells, on one rank:    [bold]craton multigrid run 5 8[/bold]

    The same on two ranks:    [bold]craton multigrid run 5 4 --ranks 2[/bold]

    128^3 cells, second order:    [bold]craton multigrid run 6 4 --ranks 2 --operator 7pt --smoother chebyshev[/bold]

    The relative residual and the error estimate can be compared digit by digit with HPGMG-FV's; rates are unknowns of the
    finest grid over the time of an F-cycle, at that size (h) and with half (2h) and a quarter (4h) as many cells a side.
    """
    from craton_studies.multigrid import hpgmg as benchmark

    checked_ranks(ranks)
    if launched_size() is None:
        benchmark.check(log2_box, boxes_per_rank, ranks or 1)
    if _must_launch(ranks):
        _launch(ranks, ranks_per_node, None, threads)
    comm = _communicator()
    figures = benchmark.run(
        comm,
        log2_box,
        boxes_per_rank,
        operator=operator,
        smoother=smoother,
        a=1.0 if helmholtz else 0.0,
        order=order,
        repeats=repeats,
        ranks_per_node=ranks_per_node or 0,
        threads=threads,
    )
    if comm.rank == 0:
        typer.echo(benchmark.report(figures, operator, smoother, comm.size))


@multigrid.command()
def ladder(
    log2_box: Annotated[
        int, typer.Argument(metavar="[LOG2_BOX]", parser=_count, help="Boxes have 2^LOG2_BOX cells a side (2 to 9).")
    ] = 6,
    log2_cells: Annotated[
        int,
        typer.Argument(
            metavar="[LOG2_CELLS]", parser=_count, help="The grid has 2^LOG2_CELLS cells a side (LOG2_BOX to 11)."
        ),
    ] = 7,
    ranks: Annotated[
        int,
        typer.Option(metavar="N", parser=_count, help="Processes to start, by mpiexec, unless you did; at least 2."),
    ] = 4,
    ranks_per_node: RanksPerNode = None,
    operator: Operator = "7pt",
    smoother: Smoother = "chebyshev",
    repeats: Annotated[
        int, typer.Option(metavar="R", parser=_count, help="Rounds in which every rung takes its turn, of 4 F-cycles.")
    ] = 8,
    picture: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Draw the rates against the ranks there (.png).")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", metavar="FILE", help="Write the rates there too.")] = None,
) -> None:
    """Measure how halos are exchanged, step by step, beside buffers packed by hand: figure 6 of Shan et al. (2015).

    On 2 and 4 ranks, and on 2 and 4 virtual nodes:    [bold]craton multigrid ladder --picture ladder.png[/bold]

    Small boxes, where exchange counts more:    [bold]craton multigrid ladder 5 7 --ranks 2[/bold]

    The rungs: baseline (a copy per contiguous piece, by messages even on a node, barriers), + shared memory, + local loops,
    + strided copies, + waiting for neighbours only, + one wait per exchange; bulk is packed by hand. Every rung must
    reach the same relative residual, bit for bit; they take turns, so that what else the machine does meets all of them.
    """
    from craton_studies.multigrid import ladder as rungs

    checked_ranks(ranks)
    rungs.check(log2_box, log2_cells)
    _check_folders(picture=picture, json=json_file)
    if ranks > 1 and launched_size() is None:
        _launch(ranks, ranks_per_node, None)
    comm = _communicator()
    cells, box = 2**log2_cells, 2**log2_box
    console = _console(comm)
    columns = rungs.climb(
        comm,
        cells,
        box,
        operator=operator,
        smoother=smoother,
        repeats=repeats,
        ranks_per_node=ranks_per_node or 0,
        say=lambda text: console.print(text, style="dim") if console else None,
    )
    if console:
        title = f"{operator} {smoother}, {cells}^3 cells in boxes of {box}^3"
        console.print(rungs.table(columns, title))
        if json_file is not None:
            rungs.write_json(
                json_file, columns, {"operator": operator, "smoother": smoother, "cells": cells, "box": box}
            )
        if picture is not None:
            rungs.draw(picture, columns, title)


@multigrid.command("solve")
def multigrid_solve(
    problem: Annotated[Path, typer.Argument(metavar="PROBLEM", help="An HDF5 file with f, coefficients and boundary.")],
    box: Annotated[
        int,
        typer.Option(
            metavar="B", parser=_count, help="Cells of a box along each dimension, which the grid's are multiples of."
        ),
    ] = 16,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: BoxThreads = 1,
    output: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Where u goes; else PROBLEM with the ending .solution.h5.")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a solution that is already there.")] = False,
    operator: Annotated[
        str | None,
        typer.Option(
            metavar="7pt|fv2|fv4",
            parser=_one_of("7pt", "fv2", "fv4"),
            help="Instead of the file's; 7pt if it names none.",
        ),
    ] = None,
    smoother: Smoother = "gsrb",
    order: Order = "morton",
    method: Annotated[
        str,
        typer.Option(
            metavar="cycles|cg",
            parser=_one_of("cycles", "cg"),
            help="V-cycles, or conjugate gradients with a V-cycle as preconditioner: for beta that jumps by orders of magnitude.",
        ),
    ] = "cycles",
    tolerance: Annotated[
        float,
        typer.Option(metavar="T", help="Solve until the largest residual is T times the largest right-hand side."),
    ] = 1e-8,
    most: Annotated[int, typer.Option(metavar="M", parser=_count, help="At most so many V-cycles or steps.")] = 50,
) -> None:
    """Solve a alpha u - b div(beta grad u) = f for fields in an HDF5 file.

    On two ranks, in boxes of 32^3 cells:    [bold]craton multigrid solve problem.h5 --box 32 --ranks 2[/bold]

    The file has a dataset f (nx, ny, nz) and, if wanted, alpha and beta of that shape or beta_x, beta_y, beta_z of faces, a
    group boundary_values, and attributes a, b, beta, boundary, operator (docs/multigrid.md). Each rank reads its own boxes. The
    solution has the dataset u and the attribute residuals, one after the F-cycle and each cycle. Where the tolerance is not
    reached it is written too, and the exit code is 2.
    """
    checked_ranks(ranks)
    if _must_launch(ranks):
        _launch(ranks, ranks_per_node, None, threads)
    comm = _communicator()
    from craton.multigrid import run as command

    planned, target = _agreed(comm, lambda: command.planned(problem, output, overwrite))
    command.solve(
        comm,
        planned,
        target,
        box,
        operator=operator,
        tolerance=tolerance,
        most=most,
        method=method,
        ranks_per_node=ranks_per_node or 0,
        smoother=smoother,
        order=order,
        threads=threads,
    )


@multigrid.command("scale")
def multigrid_scale(
    ranks_up_to: Annotated[
        int, typer.Option(metavar="P", parser=_count, help="Model 1, 8, 64 ... ranks, up to so many (262144 at most).")
    ] = 32768,
    machine: Annotated[
        str,
        typer.Option(
            metavar="edison|this|FILE.json",
            help="Like the paper's Cray XC30; or this machine's cores and its runtime's messages; or figures of your own, as "
            "--json writes them.",
        ),
    ] = "edison",
    operator: Operator = "7pt",
    smoother: Smoother = "chebyshev",
    order: Annotated[
        str,
        typer.Option(
            metavar="lexicographic|morton",
            parser=_one_of("lexicographic", "morton"),
            help="The curve along which boxes are dealt to ranks.",
        ),
    ] = "lexicographic",
    log2_box: Annotated[
        int, typer.Option(metavar="B", parser=_count, help="Each rank has one box of 2^B cells a side (3 to 9).")
    ] = 7,
    network: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE.json",
            help="Of this machine: what runtime_benchmark measured, as {between_nodes: ..., on_node: ...}, instead of figures of "
            "two virtual cores of a Xeon.",
        ),
    ] = None,
    picture: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="Draw seconds over ranks, in the manner of the paper's figure 6."),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the machine and all figures there too.")
    ] = None,
    sensitivity: Annotated[
        bool, typer.Option("--sensitivity", help="Print too what doubling each figure does to the time.")
    ] = False,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
) -> None:
    """Weak scaling of an F-cycle to thousands of ranks of a dragonfly, by model, beside Shan et al. (2015).

    Each rank has one box. For each step of the paper's ladder the messages of every rank are counted from the layout, and
    become seconds by a machine's latencies, overheads and bandwidths, which are printed with where they are from.

    To 32,768 ranks, as the paper:    [bold]craton multigrid scale --picture scale.png[/bold]

    The model beside a real run, two ranks as on two nodes:    [bold]craton multigrid scale --ranks 2 --ranks-per-node 1[/bold]
    """
    from craton_studies.multigrid import scaling

    scaling.check_arguments(ranks_up_to, machine, log2_box, network)
    checked_ranks(ranks)
    _check_folders(picture=picture, json=json_file)
    beside_a_run = ranks is not None or launched_size() is not None
    if beside_a_run:
        for name, given in {"picture": picture, "json": json_file, "sensitivity": sensitivity}.items():
            if given:
                raise UserError(
                    f"multigrid scale: --{name} beside a real run; allowed: of the model alone, without --ranks"
                )
    if _must_launch(ranks):
        _launch(ranks, ranks_per_node, None)
    if beside_a_run:
        comm = _communicator()
        said = scaling.beside_a_run(comm, operator, smoother, order, log2_box, ranks_per_node or 0, network)
        if comm.rank == 0:
            typer.echo(said)
        return
    typer.echo(
        scaling.command(
            machine,
            operator,
            smoother,
            order,
            log2_box,
            ranks_up_to,
            network=network,
            picture=picture,
            json_file=json_file,
            sensitivity=sensitivity,
        )
    )


WavesFile = Annotated[
    Path,
    typer.Argument(metavar="CONFIG", help="A TOML file; `craton waves template` prints one with every key explained."),
]
WavesRun = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run that has ended.")]


@waves.command("run")
def waves_run(
    config: WavesFile,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Annotated[
        int | None, typer.Option(metavar="T", parser=_count, help="Threads of each rank; overrides \\[run] threads.")
    ] = None,
    directory: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the results; overrides \\[run] directory.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Go on from the checkpoint of a run that was ended, in the same folder.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the results that the folder already holds.")
    ] = False,
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

    def load() -> Any:
        return command.loaded(config, threads=threads, directory=directory)

    placed = None if placement is None else command.read_placement(placement)
    if launched_size() is None:
        planned = load()
        wanted = ranks or planned.run.ranks or 1
        command.check_ranks(planned, wanted, placed)
        if wanted > 1:
            _launch(wanted, ranks_per_node, Path(planned.run.directory), planned.run.threads)
    comm = _communicator()
    settings = _agreed(comm, load)
    command.check_ranks(settings, comm.size, placed)
    command.run(
        settings,
        comm,
        ranks_per_node=ranks_per_node or 0,
        console=_console(comm),
        overwrite=overwrite,
        resume=resume,
        pictures=pictures,
        brick_of_rank=placed or (),
    )


@waves.command("check")
def waves_check(
    config: WavesFile,
    ranks: Ranks = None,
    points_per_s: Annotated[
        float | None,
        typer.Option(
            metavar="R", help="Points per second of all ranks together, as a run has told, for the time it takes."
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Say what a run resolves, which step it takes, and what memory and time it needs; compute nothing.

    [bold]craton waves check examples/waves/layer.toml --ranks 2[/bold]
    """
    from craton.seismology.wave_run.check import examine
    from craton.waves import run as command

    settings = command.loaded(config)
    found = examine(settings, ranks or 0, points_per_s)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), indent=2))
        return
    from craton.runs.progress import make_console

    make_console().print(found.table())


@waves.command("template")
def waves_template() -> None:
    """Print a configuration file with every key, its default and what it means.

    To begin with:    [bold]craton waves template > my.toml[/bold]
    """
    from craton.seismology.wave_run import config

    typer.echo(config.template())


@waves.command("place")
def waves_place(
    nodes: Annotated[Path, typer.Argument(metavar="NODELIST", help="The network and its nodes, a line each.")],
    config: WavesFile,
    ranks: Annotated[int, typer.Option(metavar="N", parser=_count, help="Processes of the run.")],
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

    _check_folders(output=output)
    typer.echo(command.place(nodes, command.loaded(config), ranks, output))


@waves.command("partition")
def waves_partition(
    config: WavesFile,
    ranks: Annotated[int, typer.Option(metavar="N", parser=_count, help="Processes of the run.")],
    output: Annotated[Path, typer.Option(metavar="DIR", help="Folder of the media, a file for each rank's brick.")],
) -> None:
    """Write the media of a configuration once in parts, a file for each rank's brick, for runs that read only their own.

    [bold]craton waves partition my.toml --ranks 512 --output media[/bold]    then in my.toml:

    \\[media] kind = "file", file = "media/media.json", read = "partitioned"
    """
    from craton.waves import run as command

    typer.echo(command.partition(command.loaded(config), ranks, output))


@waves.command("draw")
def waves_draw(directory: WavesRun) -> None:
    """Draw the pictures of a run again from what it has left in its folder."""
    from craton.seismology.wave_run.folder import WavesFolder
    from craton.waves.pictures import draw

    typer.echo(draw(WavesFolder(directory)))


@waves.command("export")
def waves_export(
    directory: WavesRun,
    kind: Annotated[
        str,
        typer.Option(
            "--format", metavar="sac|mseed|asdf", parser=_one_of("sac", "mseed", "asdf"), help="Of the files."
        ),
    ] = "sac",
    output: Annotated[Path | None, typer.Option(metavar="PATH", help="Folder (sac) or file; else inside RUN.")] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace what is there already.")] = False,
) -> None:
    """Write a run's seismograms for other programs, through ObsPy: SAC, MiniSEED or ASDF.

    [bold]craton waves export layer-run --format mseed[/bold]

    Velocities in m/s, up, north and east (components 1 and 2 along x and y where x does not point north).
    """
    from craton.waves.export import export

    _check_folders(output=output)
    typer.echo(str(export(directory, kind, output, overwrite=overwrite)))


HazardFile = Annotated[
    Path,
    typer.Argument(metavar="CONFIG", help="A TOML file; `craton hazard template` prints one with every key explained."),
]
HazardRun = Annotated[Path, typer.Argument(metavar="RUN", help="The folder of a run of craton hazard.")]
HazardSite = Annotated[str | None, typer.Option(metavar="NAME", help="Of the run's sites; else the first.")]
HazardMeasure = Annotated[str | None, typer.Option(metavar="SA(T)", help="As in SA(3.0); else the first of the run.")]
HazardOutput = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write it: .csv, or a picture (.png, .svg, .pdf).")
]


@hazard.command("run")
def hazard_run(
    config: HazardFile,
    schedule: Annotated[
        str | None,
        typer.Option(
            metavar="pipeline|sequential",
            parser=_one_of("pipeline", "sequential"),
            help="Sites in a pipeline, or phase after phase; overrides \\[run] schedule.",
        ),
    ] = None,
    cores: Annotated[
        int | None, typer.Option(metavar="N", parser=_count, help="Cores to use; overrides \\[run] cores.")
    ] = None,
    jobs: Annotated[
        int | None, typer.Option(metavar="J", parser=_count, help="Jobs at the same time; overrides \\[run] jobs.")
    ] = None,
    directory: Annotated[
        Path | None, typer.Option(metavar="DIR", help="Folder of the results; overrides \\[run] directory.")
    ] = None,
    resume: Annotated[
        bool, typer.Option("--resume", help="Do what is missing in the folder of a run that was ended.")
    ] = False,
    overwrite: Annotated[
        bool, typer.Option("--overwrite", help="Replace the results that the folder already holds.")
    ] = False,
) -> None:
    """Compute the hazard of sites: waves from each site, seismograms of all ruptures by reciprocity, curves, maps, a report.

    [bold]craton hazard run examples/hazard/basin.toml[/bold]

    After it was ended, however it was ended:    [bold]craton hazard run my.toml --resume[/bold]

    This command is one process, which starts others, at most J at a time on N cores; do not start it with mpirun. What the run
    needs is told beforehand by [bold]craton hazard check[/bold]. The folder has report.html, hazard.h5, curves.csv, maps.csv,
    disaggregation.csv and openquake/.
    """
    _talks_to_nobody()
    from craton.hazard.pipeline import run as command
    from craton.runs.progress import make_console

    if resume and overwrite:
        raise UserError("--resume with --overwrite; allowed: one of them")
    if (launched_size() or 0) > 1:
        raise UserError("craton hazard run under mpirun; allowed: alone: it starts its wave runs itself ([run] ranks)")
    settings = command.loaded(config, directory=directory, schedule=schedule, cores=cores, jobs=jobs)
    command.run(settings, console=make_console(), overwrite=overwrite, resume=resume)


@hazard.command("check")
def hazard_check(
    config: HazardFile,
    as_json: Annotated[bool, typer.Option("--json", help="Print the figures as JSON.")] = False,
) -> None:
    """Say what a run computes and what memory, disk and time it needs; compute nothing.

    [bold]craton hazard check examples/hazard/basin.toml[/bold]
    """
    _talks_to_nobody()
    from craton.hazard.pipeline import run as command

    found = command.examined(command.loaded(config))
    if as_json:
        typer.echo(json.dumps(dict(found), indent=2))
        return
    from rich.table import Table

    from craton.runs.progress import make_console

    table = Table(title="What the run does", show_header=False, title_justify="left")
    table.add_column(style="bold")
    table.add_column()
    for name, value in found:
        table.add_row(name, value)
    make_console().print(table)


@hazard.command("template")
def hazard_template() -> None:
    """Print a configuration file with every key, its default and what it means.

    To begin with:    [bold]craton hazard template > my.toml[/bold]
    """
    from craton.hazard import config

    typer.echo(config.template())


@hazard.command("curve")
def hazard_curve(
    directory: HazardRun, site: HazardSite = None, measure: HazardMeasure = None, output: HazardOutput = None
) -> None:
    """Show a hazard curve of a run; into a file also those of all sites together.

    [bold]craton hazard curve basin-run --site basin --output curve.png[/bold]
    """
    _talks_to_nobody()
    from craton.hazard.curves import queries

    _check_folders(output=output)
    _show(queries.curve(_hazard_results(directory), site, measure, output))


@hazard.command("map")
def hazard_map(
    directory: HazardRun,
    measure: HazardMeasure = None,
    probability: Annotated[
        float | None, typer.Option(metavar="P", help="In the forecast's time span; else the first of the run.")
    ] = None,
    output: HazardOutput = None,
) -> None:
    """Show the level that is exceeded with a probability at each site; into a file also the map between them.

    [bold]craton hazard map basin-run --probability 0.02 --output map.png[/bold]
    """
    _talks_to_nobody()
    from craton.hazard.curves import queries

    _check_folders(output=output)
    _show(queries.hazard_map(_hazard_results(directory), measure, probability, output))


@hazard.command("disagg")
def hazard_disagg(
    directory: HazardRun,
    site: HazardSite = None,
    measure: HazardMeasure = None,
    probability: Annotated[
        float | None, typer.Option(metavar="P", help="Whose level is looked at; else the first of the run.")
    ] = None,
    level: Annotated[float | None, typer.Option(metavar="G", help="Level in g instead of a probability.")] = None,
    output: HazardOutput = None,
) -> None:
    """Show what makes the hazard of a site: shares by magnitude, distance and source.

    [bold]craton hazard disagg basin-run --site basin --level 0.1[/bold]
    """
    _talks_to_nobody()
    from craton.hazard.curves import queries

    _check_folders(output=output)
    _show(queries.disaggregation(_hazard_results(directory), site, measure, probability, level, output))


@hazard.command("report")
def hazard_report(directory: HazardRun) -> None:
    """Write tables, pictures and report.html of a run again, from what its finished sites have left. Draws anew."""
    _talks_to_nobody()
    from craton.hazard.curves.beside_models import models_beside, write_beside
    from craton.hazard.curves.results import write_results
    from craton.hazard.pipeline.folder import HazardFolder

    results, folder = _hazard_results(directory), HazardFolder(directory)
    beside = models_beside(results.plan)
    write_beside(results.plan, folder, beside)
    typer.echo(write_results(results.plan, folder, folder.read_record(), beside, anew=True))


@hazard.command("in-situ")
def hazard_in_situ(
    config: WavesFile,
    ranks: Ranks = None,
    every: Annotated[int, typer.Option(metavar="S", parser=_count, help="Steps between looks at the surface.")] = 5,
    output: HazardOutput = None,
) -> None:
    """Run the waves of a configuration of craton waves without modules, with each, with both, and with files instead, and say what
    each costs.

    [bold]craton hazard in-situ examples/hazard/scenario.toml --ranks 2 --output peak.png[/bold]

    The modules are the writer of strain Green's tensors (\\[sgt] points) and a map of peak velocity at the surface, computed while
    the solver goes on. The same map is then made from files of the surface's velocity, and compared.
    """
    from craton.waves import in_situ_costs as in_situ_command

    in_situ_command.check_output(output)
    _check_folders(output=output)
    if _must_launch(ranks):
        _launch(ranks, None, None)
    comm = _communicator()
    in_situ_command.run(_agreed(comm, lambda: in_situ_command.loaded(config)), comm, every, output, _console(comm))


def _talks_to_nobody() -> None:
    """Of a command that is one process: modules that it imports do not start MPI, whose traces its own jobs would inherit."""
    import mpi4py

    mpi4py.rc.initialize = False


def _hazard_results(directory: Path) -> Any:
    from craton.hazard.curves.results import read_results
    from craton.hazard.pipeline.folder import HazardFolder

    return read_results(HazardFolder(directory))


def _show(table: Any) -> None:
    from craton.runs.progress import make_console

    make_console().print(table)


def _integer(text: str) -> int:
    if not re.fullmatch("[+-]?[0-9]{1,6}", str(text)):
        raise typer.BadParameter(f"'{text}'; allowed: a whole number")
    return int(text)


@app.command("scf")
def scf(
    molecule: Annotated[
        Path,
        typer.Argument(
            metavar="MOLECULE.xyz", help="Atoms: their number, a line of your own, then symbol and x y z in Angstrom."
        ),
    ],
    basis: Annotated[
        str,
        typer.Option(metavar="NAME", help="Basis set by its name at basissetexchange.org: sto-3g, 6-31g*, cc-pvtz."),
    ],
    charge: Annotated[int, typer.Option(metavar="Q", parser=_integer, help="Of the whole molecule.")] = 0,
    multiplicity: Annotated[
        int | None,
        typer.Option(metavar="M", parser=_count, help="2 S + 1; the lowest that the number of electrons allows."),
    ] = None,
    method: Annotated[
        str | None,
        typer.Option(
            metavar="rhf|uhf",
            parser=_one_of("rhf", "uhf"),
            help="Restricted or unrestricted; restricted where the multiplicity is 1.",
        ),
    ] = None,
    guess: Annotated[
        str,
        typer.Option(
            metavar="sad|core",
            parser=_one_of("sad", "core"),
            help="Begin with a superposition of atomic densities, or without repulsion of electrons.",
        ),
    ] = "sad",
    conv_tol: Annotated[
        float,
        typer.Option(
            metavar="E", help="Converged where the energy changes by less, hartree, and the gradient is below its root."
        ),
    ] = 1e-9,
    max_cycle: Annotated[int, typer.Option(metavar="I", parser=_count, help="Iterations at most.")] = 50,
    density_by: Annotated[
        str,
        typer.Option(
            metavar="diagonalisation|canonical|sp2",
            parser=_one_of("diagonalisation", "canonical", "sp2"),
            help="Where each density comes from: eigenvectors, or purification by matrix products.",
        ),
    ] = "diagonalisation",
    level_shift: Annotated[
        float,
        typer.Option(metavar="E", help="Raise virtual orbitals by so many hartree while it iterates; 0.2 steadies."),
    ] = 0.0,
    damping: Annotated[
        float, typer.Option(metavar="D", help="Keep this part of the last Fock matrix until DIIS starts.")
    ] = 0.0,
    diis_space: Annotated[
        int, typer.Option(metavar="K", parser=_integer, help="Fock matrices that DIIS combines; 0: none.")
    ] = 8,
    diis_start: Annotated[int, typer.Option(metavar="I", parser=_count, help="The first iteration with DIIS.")] = 1,
    threshold: Annotated[
        float, typer.Option(metavar="E", help="Integrals that matter less, hartree, are left out.")
    ] = 1e-12,
    threads: Annotated[
        int, typer.Option(metavar="T", parser=_count, help="Threads that compute integrals, of each rank.")
    ] = 1,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    checkpoint: Annotated[
        Path | None, typer.Option(metavar="FILE.h5", help="Write the state there at each iteration.")
    ] = None,
    restart: Annotated[
        Path | None,
        typer.Option(metavar="FILE.h5", help="Begin with a checkpoint, also of another basis set or geometry."),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a checkpoint that is already there.")] = False,
    molden: Annotated[
        Path | None, typer.Option(metavar="FILE.molden", help="Write geometry, basis and orbitals for other programs.")
    ] = None,
    cube: Annotated[
        list[str] | None,
        typer.Option(
            metavar="WHAT",
            help="Write MOLECULE.WHAT.cube here: homo, lumo, homo-1, lumo+1, a number from 1 on (with :down of spin down), "
            "density, spin. May be given several times.",
        ),
    ] = None,
    picture: Annotated[Path | None, typer.Option(metavar="FILE.png", help="Draw an orbital there.")] = None,
    orbital: Annotated[str, typer.Option(metavar="WHICH", help="Which: as with --cube.")] = "homo",
    load_balance: Annotated[
        Path | None,
        typer.Option(metavar="FILE.png", help="Draw there who worked when on J and K, and who waited; with --ranks."),
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", metavar="FILE", help="Write the results there too.")
    ] = None,
    library: Annotated[
        Path | None,
        typer.Option(metavar="FILE.so", help="libcint, instead of $CRATON_LIBCINT or the one that is found."),
    ] = None,
) -> None:
    """Energy and orbitals of a molecule by Hartree-Fock, in Gaussian basis sets.

    Water, in a second:    [bold]craton scf examples/scf/water.xyz --basis cc-pvdz[/bold]

    Two threads, and a picture of the lowest virtual orbital:    [bold]craton scf examples/scf/benzene.xyz --basis 6-31g*
    --threads 2 --picture lumo.png --orbital lumo[/bold]

    A triplet, to all digits:    [bold]craton scf examples/scf/oxygen.xyz --basis cc-pvtz --multiplicity 3 --conv-tol 1e-10[/bold]

    On two ranks, whose matrices are spread over them:    [bold]craton scf m.xyz --basis cc-pvdz --ranks 2
    --load-balance balance.png[/bold]

    To be able to go on, then in a larger basis:    [bold]craton scf m.xyz --basis 6-31g --checkpoint m.h5[/bold]    and
    [bold]craton scf m.xyz --basis cc-pvtz --restart m.h5[/bold]

    Each iteration prints a line; then come energies, dipole, charges and where the time went. The exit code is 3 where it has
    not converged: what is written then says so, the checkpoint has the state. If it does not: --level-shift 0.3, --damping 0.5
    --diis-start 6, the other --guess. docs/scf.md has the equations.
    """
    _check_folders(checkpoint=checkpoint, molden=molden, picture=picture, load_balance=load_balance, json=json_file)
    from craton.runs.progress import make_console
    from craton.scf import run as command

    wanted = command.Wanted(
        molecule,
        basis,
        charge=charge,
        multiplicity=multiplicity,
        method=method,
        library=library,
        settings={
            "init_guess": guess,
            "conv_tol": conv_tol,
            "max_cycle": max_cycle,
            "density_by": density_by,
            "level_shift": level_shift,
            "damp": damping,
            "diis_space": diis_space,
            "diis_start_cycle": diis_start,
            "direct_scf_tol": threshold,
            "threads": threads,
        },
        checkpoint=checkpoint,
        restart=restart,
        overwrite=overwrite,
        molden=molden,
        cubes=cube or (),
        picture=picture,
        orbital=orbital,
        load_balance=load_balance,
        json_file=json_file,
    )
    checked_ranks(ranks)
    if _must_launch(ranks):
        command.check(wanted)
        _launch(ranks, ranks_per_node, None, threads)
    comm = None if ranks is None and launched_size() is None else _communicator()
    console = make_console() if comm is None else _console(comm)
    code, said = command.run(wanted, console, comm, ranks_per_node or 0)
    if said and console is not None:
        print(f"craton: {said}", file=sys.stderr, flush=True)
    if code:
        raise typer.Exit(code)


@app.command()
def doctor(as_json: Annotated[bool, typer.Option("--json", help="Print the findings as JSON.")] = False) -> None:
    """Look at this installation and machine: MPI, BLAS, HDF5, threads, memory; say what is wrong and how to cure it.

    Ends with code 1 if something would keep Craton from working.
    """
    from craton.commands import doctor as examination

    findings = examination.examine()
    if as_json:
        typer.echo(json.dumps([finding.to_dict() for finding in findings], indent=2))
    else:
        examination.show(findings)
    raise typer.Exit(1 if any(finding.status == "fail" for finding in findings) else 0)


@app.command()
def bench(
    name: Annotated[
        str | None, typer.Argument(metavar="[NAME]", help="Which one; without a name they are listed.")
    ] = None,
    ranks: Ranks = None,
    ranks_per_node: RanksPerNode = None,
    threads: Annotated[int, typer.Option(metavar="T", parser=_count, help="Threads of each rank.")] = 1,
    repeats: Annotated[
        int, typer.Option(metavar="R", parser=_count, help="Measure so many times; the median counts.")
    ] = 5,
    json_file: Annotated[
        Path | None,
        typer.Option("--json", metavar="FILE", help="Write the records there too; pictures go beside it."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set", metavar="NAME=VALUE", help="Change a setting of the benchmark. May be given several times."
        ),
    ] = None,
    explain: Annotated[
        bool, typer.Option("--explain", help="Say what the benchmark does and what --set may change; run nothing.")
    ] = False,
) -> None:
    """Measure, beside a limit of the machine that is measured in the same run.

    List them:    [bold]craton bench[/bold]

    What one does and may be told:    [bold]craton bench assembly --explain[/bold]

    Run one as it was meant, with its own number of ranks:    [bold]craton bench assembly[/bold]

    Smaller, and kept:    [bold]craton bench assembly --ranks 2 --set cases=8192:256 --json assembly.json[/bold]

    Each line of a table is a figure: its median and best over the repeats, what it is compared with, the ratios of the
    medians and of the bests, and what the ratio of the bests must reach where the project has promised something.
    """
    from craton_studies.bench import registry

    if name is None:
        registry.show_list()
        return
    benchmark = registry.find(name)
    if explain:
        registry.show_help(benchmark)
        return
    benchmark.chosen(settings or [])
    _check_folders(json=json_file)
    checked_ranks(ranks)
    if launched_size() is None:
        # one rank too: the launcher gives it one BLAS thread, of NumPy too, which must be known before they are loaded
        _launch(ranks or benchmark.ranks, ranks_per_node, None, threads)
    comm = _communicator()
    records = registry.measure(
        benchmark, comm, threads, repeats, ranks_per_node or 0, settings=settings or [], output=json_file
    )
    if comm.rank == 0:
        registry.show_records(records)
        if json_file is not None:
            registry.write_json(records, json_file)


def main() -> None:
    """The console command, on the machine where it is typed and again on every rank that it starts."""
    with main_guard():
        code = _invoke(sys.argv[1:])
    sys.exit(code)


def _invoke(arguments: Sequence[str]) -> int:
    """Runs a command; a wrong command line becomes a user error like any other.

    Not by calling `app`, which would make a silent exit code of Ctrl-C.
    """
    command = typer.main.get_command(app)
    try:
        with command.make_context("craton", list(arguments)) as context:
            command.invoke(context)
    except typer.Exit as ended:
        return int(ended.exit_code)
    except Exception as error:
        explain = getattr(error, "format_message", None)  # of the command-line library's own exceptions
        if explain is None:
            raise
        raise UserError(f"{explain().rstrip('.')}; see {_help_command(error)}") from None
    return 0


def _help_command(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'craton'} --help"


def _must_launch(ranks: int | None) -> bool:
    wanted = checked_ranks(ranks)
    return wanted is not None and wanted > 1 and launched_size() is None


def _launch(ranks: int | None, ranks_per_node: int | None, results: Path | None, threads: int = 1) -> None:
    assert ranks is not None
    raise typer.Exit(run_under_mpi(sys.argv[1:], ranks, ranks_per_node, results, threads=threads))


def _check_folders(**files: Path | None) -> None:
    """Of what will be written, by the option that names it: before anything is computed."""
    for option, file in files.items():
        if file is not None and not file.absolute().parent.is_dir():
            folder = file.absolute().parent
            raise UserError(
                f"--{option.replace('_', '-')} {file}: no such folder {folder}; allowed: a file in a folder that exists"
            )


def _communicator() -> MPI.Comm:
    """All ranks. Starts MPI."""
    try:
        craton.check_mpi()
    except ImportError as error:
        raise UserError(str(error)) from None
    from mpi4py import MPI

    comm, launched = MPI.COMM_WORLD, launched_size()
    if launched and launched != comm.size:
        raise UserError(
            f"mpiexec or srun started {launched} ranks, but this one sees {comm.size}; allowed: the launcher "
            "that belongs to the MPI library that craton was built with (craton doctor names both)"
        )
    return comm


def _console(comm: MPI.Comm) -> Console | None:
    """Rank 0's; the others are silent."""
    from craton.runs.progress import make_console

    return make_console() if comm.rank == 0 else None


def _agreed(comm: MPI.Comm, read: Callable[[], Result]) -> Result:
    """What rank 0 has read, on every rank; its user error too. One rank on the file system instead of thousands."""
    result: tuple[Any, str | None] = (None, None)
    if comm.rank == 0:
        try:
            result = (read(), None)
        except UserError as error:
            result = (None, str(error))
    value, wrong = comm.bcast(result, root=0)
    if wrong is not None:
        raise UserError(wrong)
    agreed: Result = value
    return agreed


def _hessian_of(given: Path) -> Path:
    """hessian.h5 by itself, or in the folder of a run."""
    found = given / "hessian.h5" if given.is_dir() else given
    if not found.is_file():
        what = "is a directory without hessian.h5" if given.is_dir() else "no such file"
        raise UserError(f"{given}: {what}; allowed: the folder of a run, or its hessian.h5")
    return found


def _priors(specs: Sequence[str], hessian: Path) -> list[PriorConfig]:
    """The prior that the Hessian's run used, changed by each --prior: as many as there are, or the run's own."""
    from craton.runs.files import read_hdf5
    from craton.tomography.config import load_prior, prior_from_dict

    stored = read_hdf5(hessian, leave_out=("hessian",))
    try:
        used = json.loads(stored["config"])["prior"]
    except (KeyError, TypeError, ValueError):
        raise UserError(f"{hessian}: holds no prior of a run; allowed: hessian.h5 of a run") from None
    settings = prior_from_dict(used, str(hessian))
    return [load_prior(spec, settings) for spec in specs] or [settings]


if __name__ == "__main__":
    main()
