"""Other priors for a run's Hessian, and how sure its model is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from craton.cli.launching import communicator, console_of, launch, must_launch
from craton.cli.options import Json, Overwrite, Ranks
from craton.cli.output import print_json
from craton.errors import UserError

if TYPE_CHECKING:
    from mpi4py import MPI
    from rich.console import Console

    from craton.runs.folder import Folder
    from craton.tomography.config.prior import PriorConfig
    from craton.tomography.posterior.questions import Questions

app = typer.Typer()
Found = TypeVar("Found")
PANEL = "Other priors, and how sure a model is"

OtherPrior = Annotated[str | None, typer.Option(metavar="SPEC", help="Another prior than the run's, as in `solve`.")]
DIRECTORY = typer.Option(metavar="DIR", help="Folder of the results.")
HessianFile = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run, or its hessian.h5.")]
Priors = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SPEC",
        help="Another prior: settings such as strength=0.05,correlation_km=800 or kind=matern, or a TOML file with a table "
        "[prior]. Other settings stay as they were. May be given several times, once for each prior.",
    ),
]


@app.command(rich_help_panel=PANEL)
def solve(
    hessian: HessianFile,
    prior: Priors = None,
    directory: Annotated[Path, DIRECTORY] = Path("solve-run"),
    precision: Annotated[
        str,
        typer.Option(
            metavar="WAY",
            help="Precision of the factorisation: float32, float64, or float32 refined to float64's residual.",
        ),
    ] = "refined",
    ranks: Ranks = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Solve again under another prior without assembling the Hessian again, in seconds instead of hours.

    Half as strong:

        craton tomography solve demo-run --prior strength=0.015 --directory weak

    Several priors to compare:

        craton tomography solve demo-run --prior strength=0.015 --prior kind=matern
    """
    if precision not in ("refined", "float64", "float32"):
        raise UserError(f"--precision {precision}; allowed: refined, float64 or float32")
    source = _hessian_of(hessian)
    settings, comm, console = _on_ranks(lambda: _priors(prior or [], source), ranks, directory, as_json)
    from craton.tomography.stored.solve import SolutionFolder, solve_all

    found = solve_all(source, settings, directory, comm, precision, console, overwrite)
    if as_json and comm.rank == 0:
        files = [str(file) for file in SolutionFolder(directory).results]
        print_json({"files": files, "solutions": [asdict(one) for one in found]})


@app.command(rich_help_panel=PANEL)
def strength(
    hessian: HessianFile,
    prior: OtherPrior = None,
    strengths: Annotated[
        str,
        typer.Option(
            metavar="LIST",
            help="Strengths, such as 0.01,0.02,0.05; or FROM:TO:COUNT at equal ratios, such as 0.003:0.3:9. Default: nine from a "
            "tenth of the prior's to ten times.",
        ),
    ] = "",
    folds: Annotated[
        int,
        typer.Option(
            metavar="K",
            min=0,
            max=1000,
            help="Cross-validate with K groups of earthquakes. This reads data.h5 and assembles the Hessian once more. 0: do not.",
        ),
    ] = 0,
    seed: Annotated[int, typer.Option(metavar="S", min=0, max=2**31 - 1, help="Random seed of the groups.")] = 1,
    directory: Annotated[Path, DIRECTORY] = Path("strength-run"),
    ranks: Ranks = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Compare strengths of the prior by evidence, cross-validation and L-curve. Recommend one, with a table and a picture.

    The prior is the run's or that of --prior. Its own strength is replaced.

    Nine strengths:

        craton tomography strength demo-run

    Seven strengths with five folds:

        craton tomography strength demo-run --strengths 0.005:0.1:7 --folds 5
    """
    from craton.tomography.posterior.strength import StrengthFolder, choose_strength, read_strengths

    if folds == 1:
        raise UserError("--folds 1; allowed: 0, or 2 and more")
    source = _hessian_of(hessian)

    def settings() -> tuple[PriorConfig, list[float]]:
        (config,) = _priors([prior] if prior else [], source)
        return config, read_strengths(strengths, config)

    (config, wanted), comm, console = _on_ranks(settings, ranks, directory, as_json)
    found = choose_strength(source, config, wanted, directory, comm, folds, seed, console, overwrite)
    if as_json and comm.rank == 0:
        print_json(_with_files(StrengthFolder(directory), found))


@app.command(rich_help_panel=PANEL)
def posterior(
    hessian: HessianFile,
    prior: OtherPrior = None,
    at: Annotated[
        list[str] | None,
        typer.Option(
            metavar="LAT,LON,DEPTH",
            help="A place, in degrees (geographic) and km of depth. Compute covariances with it, its row of the resolution matrix "
            "and a point spread. May be given several times.",
        ),
    ] = None,
    samples: Annotated[
        int,
        typer.Option(
            metavar="N", min=0, max=10**6, help="Number of models to draw from the posterior, into samples.h5."
        ),
    ] = 0,
    seed: Annotated[int, typer.Option(metavar="S", min=0, max=2**31 - 1, help="Random seed of the samples.")] = 1,
    trade_off: Annotated[
        bool,
        typer.Option("--trade-off", help="Compute correlations between all parameters and depths below each place."),
    ] = False,
    shuttle: Annotated[
        str,
        typer.Option(
            metavar="FILE",
            help="Model, model.h5 or FILE/DATASET. Its part in the null space of the data is added to the most probable model.",
        ),
    ] = "",
    directory: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Folder of the results. Default: `posterior` in the run's folder, where `report` finds it.",
        ),
    ] = None,
    pictures: Annotated[
        bool,
        typer.Option("--pictures/--no-pictures", help="Draw pictures. They take most of the time of a small problem."),
    ] = True,
    ranks: Ranks = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Compute the posterior of a run: variances, resolution, covariances, samples, null space.

    Variances:

        craton tomography posterior demo-run --overwrite --ranks 2

    At a place below Hawaii too:

        craton tomography posterior demo-run --at 19.4,-155.3,300 --overwrite

    To add resolution and standard deviations to the page of the run:

        craton tomography report demo-run
    """
    from craton.tomography.posterior.findings import PosteriorFolder, posterior_folder
    from craton.tomography.posterior.questions import Questions, read_place
    from craton.tomography.posterior.run import posterior_of_run

    source = _hessian_of(hessian)
    folder = directory or posterior_folder(source.parent).path

    def settings() -> tuple[PriorConfig, Questions]:
        (config,) = _priors([prior] if prior else [], source)
        places = [read_place(text) for text in at or []]
        return config, Questions(places, samples, seed, trade_off, shuttle)

    (config, questions), comm, console = _on_ranks(settings, ranks, folder, as_json)
    found = posterior_of_run(source, config, folder, questions, comm, console, overwrite, pictures=pictures)
    if as_json and comm.rank == 0:
        print_json(_with_files(PosteriorFolder(folder), found))


def _on_ranks(
    settings: Callable[[], Found], ranks: int | None, directory: Path, as_json: bool
) -> tuple[Found, MPI.Comm, Console | None]:
    """Settings, communicator and console on every rank. Where --ranks asks for ranks, this process starts them and ends.

    The settings are read before, so that an error in them costs no start.
    """
    if must_launch(ranks):
        settings()
        launch(ranks, None, directory)
    from craton.runs.agreement import on_root

    comm = communicator()
    return on_root(comm, settings), comm, console_of(comm, as_json=as_json)


def _with_files(folder: Folder, found: Any) -> dict[str, Any]:
    """What a command has found, as JSON takes it, and the files in its folder."""
    return {"files": [str(file) for file in folder.results], **asdict(found)}


def _hessian_of(given: Path) -> Path:
    """hessian.h5 by itself, or in the folder of a run. UserError where there is none."""
    found = given / "hessian.h5" if given.is_dir() else given
    if not found.is_file():
        what = "is a directory without hessian.h5" if given.is_dir() else "no such file"
        raise UserError(f"{given}: {what}; allowed: the folder of a run, or its hessian.h5")
    return found


def _priors(specs: Sequence[str], hessian: Path) -> list[PriorConfig]:
    """The prior that the Hessian's run used, changed by each --prior: as many as there are, or the run's own."""
    from craton.runs.files import read_hdf5
    from craton.tomography.config.load import load_prior
    from craton.tomography.inversion.hessian_file import run_prior

    used = run_prior(read_hdf5(hessian, leave_out=("hessian",)))
    if used is None:
        raise UserError(f"{hessian}: holds no prior of a run; allowed: hessian.h5 of a run")
    return [load_prior(spec, used) for spec in specs] or [used]
