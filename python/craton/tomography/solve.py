"""Equation 2 again under another prior, from the Hessian of a run: nothing is assembled, no seismogram is computed."""

from __future__ import annotations

import json
import os
import pathlib
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
from craton.tomography import maps
from craton.tomography.inversion import correlation, solve_step
from craton.tomography.prior import make_prior
from craton.tomography.run_folder import RunFolder, on_root, read_hdf5, replaced, write_hdf5

if TYPE_CHECKING:
    from craton._craton import ModelBasis
    from craton.tomography.config import PriorConfig

f64 = NDArray[np.float64]

NEEDED = ("gradient", "model", "prior_mean", "radial_knots_m", "lateral_level", "precision")


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
) -> SolveSummary:
    """Collective, on any number of ranks: writes model.h5, summary.json and maps.png to the output folder."""
    comm = comm or MPI.COMM_WORLD
    craton.check_mpi()
    source, folder = pathlib.Path(hessian_file), RunFolder(output)
    stored = on_root(comm, lambda: read_system(source))
    on_root(comm, lambda: check_output(source, folder))
    world = craton.World(comm)
    basis = _craton.ModelBasis(int(stored["lateral_level"]), np.ascontiguousarray(stored["radial_knots_m"]))
    prior = make_prior(basis, prior_config)
    block = int(json.loads(stored["config"])["inversion"]["block"]) if "config" in stored else 64
    system = craton.ConvergentMatrix(world, basis.size, basis.size, dtype=stored["precision"], block=block)
    system.load(str(source), "hessian")
    if precision == "float64" and system.dtype == np.float32:
        system = system.copy_as_f64()
    start = np.ascontiguousarray(stored["model"])
    step = solve_step(system, prior, np.ascontiguousarray(stored["gradient"]), start)

    def finish() -> SolveSummary:
        run_model = model_of_run(source, int(stored["linearised_at_iteration"]), basis.size)
        summary = summarise(basis, stored, prior_config, start, step, run_model)
        write_outputs(folder, basis, stored, start + step, run_model, summary)
        show(console or make_console(), summary, folder)
        return summary

    return on_root(comm, finish)


def read_system(file_name: pathlib.Path) -> dict[str, Any]:
    """Everything in hessian.h5 but the matrix itself."""
    stored = read_hdf5(file_name, leave_out=("hessian",))
    missing = [name for name in NEEDED if name not in stored]
    if missing:
        raise UserError(f"{file_name}: '{missing[0]}' is missing; allowed: hessian.h5 of a run")
    return stored


def check_output(source: pathlib.Path, folder: RunFolder) -> None:
    """A solution must not take the place of the run that it comes from."""
    if folder.path.resolve() == source.parent.resolve():
        raise UserError(f"output folder {folder.path}: holds the run itself; allowed: another folder")
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UserError(
            f"output folder {folder.path}: {problem.strerror or problem}; allowed: a folder that can be made"
        ) from problem


def model_of_run(hessian_file: pathlib.Path, linearised_at: int, size: int) -> f64 | None:
    """The model that the run went on to from the model at which this Hessian was assembled."""
    try:
        models = RunFolder(hessian_file.parent).read_model()["models"]
    except (UserError, KeyError):
        return None
    found = len(models) > linearised_at + 1 and models.shape[1] == size
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


def show(console: Any, summary: SolveSummary, folder: RunFolder) -> None:
    """A few lines for whoever asked."""
    console.print(
        f"rms dlnVs: {100 * summary.rms_model:.3f}% (step {100 * summary.rms_step:.3f}%, "
        f"from the model of iteration {summary.linearised_at_iteration})",
        highlight=False,
        soft_wrap=True,
    )
    if summary.rms_run_model is not None and summary.rms_difference is not None:
        console.print(
            f"the run's own model: {100 * summary.rms_run_model:.3f}%; difference {100 * summary.rms_difference:.3f}%, "
            f"correlation {summary.correlation_with_run:.4f}",
            highlight=False,
            soft_wrap=True,
        )
    console.print(f"written: {folder.path}/model.h5, summary.json, maps.png", highlight=False, soft_wrap=True)


solve_again = solve
"""The same function under the name that `craton.tomography` gives it: there `solve` is this module."""
