"""Equation 2 again under another prior, from the Hessian of a run: nothing is assembled, no seismogram is computed."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import craton
from craton import _craton
from craton.errors import UserError
from craton.progress import make_console
from craton.run_folder import on_root, read_hdf5, replaced, reserved, write_hdf5
from craton.tomography import maps
from craton.tomography.inversion import correlation, solve_step
from craton.tomography.prior import make_prior
from craton.tomography.run_folder import RunFolder

if TYPE_CHECKING:
    from craton._craton import ModelBasis
    from craton.tomography.config import PriorConfig

f64 = NDArray[np.float64]

NEEDED = ("gradient", "model", "prior_mean", "radial_knots_m", "lateral_level", "precision", "linearised_at_iteration")
SOLUTION = ("model.h5", "summary.json", "maps.png")


@dataclass(frozen=True)
class SolveSummary:
    """What the other prior changed. All norms are root-mean-square dlnVs at the knots, over all depths."""

    linearised_at_iteration: int
    prior: dict[str, Any]
    rms_model: float
    rms_step: float
    rms_run_model: float | None
    """The same for the model that the run itself found with this Hessian; None where its model.h5 is not beside it."""
    rms_difference: float | None
    correlation_with_run: float | None


def solve(
    hessian_file: str | os.PathLike[str],
    prior_config: PriorConfig,
    output: str | os.PathLike[str],
    comm: MPI.Comm | None = None,
    precision: str = "float64",
    console: Any = None,
    overwrite: bool = False,
) -> SolveSummary:
    """Collective, on any number of ranks: writes model.h5, summary.json and maps.png to the output folder.

    Everything but the prior is as in the run, its damping too. `overwrite` lets an earlier solution be replaced.
    """
    comm = comm or MPI.COMM_WORLD
    craton.check_mpi()
    source, folder = pathlib.Path(hessian_file), RunFolder(output)
    stored = on_root(comm, lambda: read_system(source, precision))
    with reserved(comm, folder, lambda: check_output(source, folder, overwrite)):
        return solve_into(folder, source, stored, prior_config, comm, precision, console)


def solve_into(
    folder: RunFolder,
    source: pathlib.Path,
    stored: dict[str, Any],
    prior_config: PriorConfig,
    comm: MPI.Comm,
    precision: str,
    console: Any,
) -> SolveSummary:
    """Collective: the solution and its files."""
    basis = _craton.ModelBasis(int(stored["lateral_level"]), np.ascontiguousarray(stored["radial_knots_m"]))
    world = craton.World(comm)
    console = (console or make_console()) if comm.rank == 0 else None
    prior = make_prior(basis, prior_config, world, comm, console)
    damping = float(stored["inversion"]["damping"])
    system = craton.ConvergentMatrix(
        world, basis.size, basis.size, dtype=stored["precision"], block=stored["inversion"]["block"]
    )
    system.load(str(source), "hessian")
    check_matrix(system, source, comm)
    if precision == "float64" and system.dtype == np.float32:
        system = system.copy_as_f64()
    start = np.ascontiguousarray(stored["model"])
    step = solve_step(system, prior, np.ascontiguousarray(stored["gradient"]), start, damping).model

    def finish() -> SolveSummary:
        run_model = model_of_run(source, int(stored["linearised_at_iteration"]), basis.size)
        summary = summarise(basis, stored, prior_config, start, step, run_model)
        write_outputs(folder, basis, stored, start + step, run_model, summary)
        show(console, summary, folder, damping)
        return summary

    return on_root(comm, finish)


def read_system(file_name: pathlib.Path, precision: str = "float64") -> dict[str, Any]:
    """Everything in hessian.h5 but the matrix itself, checked; `inversion` is what the run's configuration says of that."""

    def wrong(what: str, allowed: str) -> UserError:
        return UserError(f"{file_name}: {what}; allowed: {allowed}")

    stored = read_hdf5(file_name, leave_out=("hessian",))
    missing = [name for name in NEEDED if name not in stored]
    if missing:
        raise wrong(f"'{missing[0]}' is missing", "hessian.h5 of a run")
    for name, low, high in (("lateral_level", 1, 8), ("linearised_at_iteration", 0, 10**6)):
        if not isinstance(stored[name], int | np.integer) or not low <= stored[name] <= high:
            raise wrong(f"{name} = {stored[name]!r}", f"a whole number from {low} to {high}")
    if stored["precision"] not in ("float32", "float64"):
        raise wrong(f"precision = {stored['precision']!r}", "float32 or float64")
    if (precision, stored["precision"]) == ("float32", "float64"):
        raise UserError(f"--precision float32: the Hessian in {file_name} is float64; allowed: float64")
    knots = checked_numbers(stored, "radial_knots_m", None, wrong)
    if len(knots) < 4 or np.any(np.diff(knots) <= 0.0) or knots[0] <= 0.0:
        raise wrong(f"radial_knots_m = {knots.tolist()}"[:200], "at least 4 radii in metres, increasing")
    size = (10 * 4 ** (int(stored["lateral_level"]) - 1) + 2) * len(knots)
    for name in ("gradient", "model", "prior_mean"):
        stored[name] = checked_numbers(stored, name, size, wrong)
    stored["radial_knots_m"] = knots
    stored["inversion"] = inversion_settings(stored.get("config", "{}"), wrong)
    return stored


def checked_numbers(stored: dict[str, Any], name: str, size: int | None, wrong: Callable[[str, str], UserError]) -> f64:
    """A vector of finite numbers, of a known length where that is known."""
    values = np.asarray(stored[name])
    if values.ndim != 1 or values.dtype.kind not in "fiu" or size not in (None, len(values)):
        length = "" if size is None else f"{size} "
        raise wrong(f"{name} is {values.dtype} of shape {values.shape}", f"{length}numbers in one dimension")
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise wrong(f"{name}[{bad[0]}] = {values[bad[0]]} ({len(bad)} in all)", "finite numbers")
    return np.asarray(values, np.float64)


def inversion_settings(config: Any, wrong: Callable[[str, str], UserError]) -> dict[str, Any]:
    """block and damping of the run's [inversion] table; the defaults where the file holds no configuration."""
    try:
        table = json.loads(config).get("inversion", {})
        found = {"block": table.get("block", 64), "damping": table.get("damping", 0.0)}
    except (ValueError, TypeError, AttributeError):
        raise wrong("config is not a configuration in JSON", "hessian.h5 of a run") from None
    if not isinstance(found["block"], int) or not 1 <= found["block"] <= 4096:
        raise wrong(f"[inversion] block = {found['block']!r}", "a whole number from 1 to 4096")
    if not isinstance(found["damping"], int | float) or not 0.0 <= found["damping"] <= 1e6:
        raise wrong(f"[inversion] damping = {found['damping']!r}", "a number from 0 to 1e6")
    return found


def check_matrix(system: Any, source: pathlib.Path, comm: MPI.Comm) -> None:
    """Collective: every element finite."""
    mine, found = system.local, None
    for col in range(mine.shape[1]):
        bad = np.flatnonzero(~np.isfinite(mine[:, col]))
        if len(bad):
            row = int(bad[0])
            found = (int(system.local_rows_global[row]), int(system.local_cols_global[col]), float(mine[row, col]))
            break
    anywhere = [place for place in comm.allgather(found) if place is not None]
    if anywhere:
        row, col, value = anywhere[0]
        raise UserError(f"{source}: hessian[{row}, {col}] = {value}; allowed: finite numbers")


def check_output(source: pathlib.Path, folder: RunFolder, overwrite: bool) -> None:
    """A solution must not take the place of a run; of another solution only if `overwrite` says so."""
    if folder.path.resolve() == source.resolve().parent.resolve():
        raise UserError(f"output folder {folder.path}: holds the run itself; allowed: another folder")
    runs_own = [file.name for file in folder.results if file != folder.model]
    if runs_own:
        raise UserError(f"output folder {folder.path}: {runs_own[0]} of a run is there; allowed: another folder")
    present = [name for name in SOLUTION if (folder.path / name).exists()]
    if present and not overwrite:
        raise UserError(
            f"output folder {folder.path}: {present[0]} is there already; allowed: another folder, or --overwrite"
        )


def model_of_run(hessian_file: pathlib.Path, linearised_at: int, size: int) -> f64 | None:
    """The model that the run went on to from the model at which this Hessian was assembled."""
    try:
        models = RunFolder(hessian_file.parent).read_model()["models"]
    except (UserError, KeyError):
        return None
    found = models.ndim == 2 and len(models) > linearised_at + 1 and models.shape[1] == size
    found = found and models.dtype.kind == "f" and bool(np.isfinite(models[linearised_at + 1]).all())
    return np.ascontiguousarray(models[linearised_at + 1]) if found else None


def field_at_knots(basis: ModelBasis, model: f64) -> f64:
    """dlnVs at every lateral knot and at every radial knot."""
    latitude, longitude, radius = (
        np.asarray(basis.latitude_deg),
        np.asarray(basis.longitude_deg),
        np.asarray(basis.radial_knots_m),
    )
    return basis.evaluate(
        model, np.repeat(latitude, len(radius)), np.repeat(longitude, len(radius)), np.tile(radius, len(latitude))
    )


def rms(values: f64) -> float:
    return float(np.sqrt(np.mean(values**2)))


def summarise(
    basis: ModelBasis, stored: dict[str, Any], prior_config: PriorConfig, start: f64, step: f64, run_model: f64 | None
) -> SolveSummary:
    """Sizes of the new model, of its step, and of what changed."""
    model = field_at_knots(basis, start + step)
    theirs = None if run_model is None else field_at_knots(basis, run_model)
    return SolveSummary(
        linearised_at_iteration=int(stored["linearised_at_iteration"]),
        prior=asdict(prior_config),
        rms_model=rms(model),
        rms_step=rms(field_at_knots(basis, step)),
        rms_run_model=None if theirs is None else rms(theirs),
        rms_difference=None if theirs is None else rms(model - theirs),
        correlation_with_run=None if theirs is None else correlation(model, theirs),
    )


def write_outputs(
    folder: RunFolder,
    basis: ModelBasis,
    stored: dict[str, Any],
    model: f64,
    run_model: f64 | None,
    summary: SolveSummary,
) -> None:
    """model.h5, summary.json and maps.png."""
    with replaced(folder.model) as aside:
        write_hdf5(
            aside,
            {
                "models": np.stack([stored["model"], model]),
                "radial_knots_m": np.asarray(basis.radial_knots_m),
                "lateral_level": int(stored["lateral_level"]),
                "parameter_order": "lateral_knot * n_radial + radial_spline",
            },
        )
    with replaced(folder.path / "summary.json") as aside:
        aside.write_text(json.dumps(asdict(summary), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    with replaced(folder.path / "maps.png") as aside:
        aside.write_bytes(map_picture(basis, model, run_model))


def map_picture(basis: ModelBasis, model: f64, run_model: f64 | None) -> bytes:
    """The new model, beside the run's own where that is known."""
    from craton.tomography.report import FIGURE_STYLE, new_figure, png, rounded_limit, velocity_bar

    depths = (150.0, 600.0, 1200.0, 2500.0)
    shown = [("this prior", model), *([] if run_model is None else [("the run's prior", run_model)])]
    limit = rounded_limit(*(field_at_knots(basis, field) for _, field in shown))
    with matplotlib.rc_context(FIGURE_STYLE):
        figure = new_figure(4.9 * len(shown) + 0.2, 2.45 * len(depths) + 0.6)
        axes = figure.subplots(len(depths), len(shown), squeeze=False)
        for row, depth in zip(axes, depths, strict=True):
            for place, (name, field) in zip(row, shown, strict=True):
                mesh = maps.field_on_map(place, basis, field, depth, -160.0, limit)
                maps.draw_globe(place, -160.0)
                place.set_title(f"{name}, {depth:.0f} km", loc="left", pad=2.0)
        velocity_bar(figure, mesh, axes)
        return png(figure)


def show(console: Any, summary: SolveSummary, folder: RunFolder, damping: float) -> None:
    """A few lines for whoever asked."""
    if damping > 0.0:
        console.print(
            f"damping {damping:g} of the Hessian's mean diagonal, as in the run",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
    console.print(
        f"rms dlnVs: {100 * summary.rms_model:.3f}% (step {100 * summary.rms_step:.3f}%, "
        f"from the model of iteration {summary.linearised_at_iteration})",
        highlight=False,
        markup=False,
        soft_wrap=True,
    )
    if summary.rms_run_model is not None and summary.rms_difference is not None:
        console.print(
            f"the run's own model: {100 * summary.rms_run_model:.3f}%; difference {100 * summary.rms_difference:.3f}%, "
            f"correlation {summary.correlation_with_run:.4f}",
            highlight=False,
            markup=False,
            soft_wrap=True,
        )
    console.print(
        f"written: {folder.path}/model.h5, summary.json, maps.png", highlight=False, markup=False, soft_wrap=True
    )


solve_again = solve
"""The same function under the name that `craton.tomography` gives it: there `solve` is this module."""
