"""Equation 2 again under another prior, from the Hessian of a run: nothing is assembled, no seismogram is computed."""

from __future__ import annotations

import json
import os
import pathlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import matplotlib
import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import craton
from craton.errors import UserError
from craton.pages import maps
from craton.pages.figures import new_figure, png
from craton.pages.maps import rounded_limit, velocity_bar
from craton.pages.style import SETTINGS
from craton.runs.agreement import on_root
from craton.runs.files import replaced, write_hdf5
from craton.runs.folder import reserved
from craton.runs.progress import make_console
from craton.tomography.config.prior import PriorConfig
from craton.tomography.folder import RunFolder
from craton.tomography.inversion.hessian_file import copy_of, load_hessian, read_system, run_prior, stored_basis
from craton.tomography.inversion.recovery import correlation
from craton.tomography.inversion.say import say
from craton.tomography.inversion.step import solve_step
from craton.tomography.model.knots import field_at_knots, rms
from craton.tomography.prior.make import make_prior
from craton.tomography.prior.prior import Step, misfit
from craton.tomography.prior.words import about_lengths, changes, explained

if TYPE_CHECKING:
    from craton._craton import ModelBasis


f64 = NDArray[np.float64]

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
    chi_data: float | None = None
    """First part of equation 1 at the new model, by the tangent at the model of the Hessian; None where hessian.h5 does not tell
    what it was there, and with damping."""
    chi_prior: float | None = None
    """Second part."""


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
    return solve_all(hessian_file, [prior_config], output, comm, precision, console, overwrite)[0]


def solve_all(
    hessian_file: str | os.PathLike[str],
    prior_configs: Sequence[PriorConfig],
    output: str | os.PathLike[str],
    comm: MPI.Comm | None = None,
    precision: str = "float64",
    console: Any = None,
    overwrite: bool = False,
) -> list[SolveSummary]:
    """The same under any number of priors: the Hessian is read once and copied for each. model.h5 holds all models, in the order
    given, after the one at which the Hessian was assembled; summary.json has one entry for each.
    """
    comm = comm or MPI.COMM_WORLD
    craton.check_mpi()
    if not prior_configs:
        raise UserError("solve: no prior; allowed: one or more")
    source, folder = pathlib.Path(hessian_file), RunFolder(output)
    stored = on_root(comm, lambda: read_system(source, precision))
    with reserved(comm, folder, lambda: check_output(source, folder, overwrite)):
        return solve_into(folder, source, stored, prior_configs, comm, precision, console)


def solve_into(
    folder: RunFolder,
    source: pathlib.Path,
    stored: dict[str, Any],
    prior_configs: Sequence[PriorConfig],
    comm: MPI.Comm,
    precision: str,
    console: Any,
) -> list[SolveSummary]:
    """Collective: the solutions and their files."""
    basis = stored_basis(stored)
    world = craton.World(comm)
    console = (console or make_console()) if comm.rank == 0 else None
    damping = float(stored["inversion"]["damping"])
    hessian = load_hessian(source, stored, world, comm)
    dtype = "float64" if precision == "float64" else stored["precision"]
    start, gradient = np.ascontiguousarray(stored["model"]), np.ascontiguousarray(stored["gradient"])
    steps = []
    for config in prior_configs:
        say(console, explained(config))
    say(console, about_lengths(basis))
    for config in prior_configs:
        prior = make_prior(basis, config, world, comm, console)
        last = config is prior_configs[-1] and hessian.dtype == np.dtype(dtype)
        system = hessian if last else copy_of(hessian, dtype)
        steps.append(solve_step(system, prior, gradient, start, damping))

    def finish() -> list[SolveSummary]:
        run_model = model_of_run(source, int(stored["linearised_at_iteration"]), basis.size)
        summaries = [
            summarise(basis, stored, config, start, step, run_model)
            for config, step in zip(prior_configs, steps, strict=True)
        ]
        models = [start + step.model for step in steps]
        write_outputs(folder, basis, stored, models, run_model, summaries)
        show(console, summaries, folder, damping, stored)
        return summaries

    return on_root(comm, finish)


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


def summarise(
    basis: ModelBasis,
    stored: dict[str, Any],
    prior_config: PriorConfig,
    start: f64,
    solution: Step,
    run_model: f64 | None,
) -> SolveSummary:
    """Sizes of the new model, of its step, and of what changed."""
    step = solution.model
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
        chi_data=tangent_misfit(stored, solution) if stored["inversion"]["damping"] == 0.0 else None,
        chi_prior=misfit(start + step - stored["prior_mean"], solution.weights),
    )


def tangent_misfit(stored: dict[str, Any], solution: Step) -> float | None:
    """chi_data after the step: chi - g . dm + dm . H dm / 2, where equation 2 makes H dm = g - C_m^-1 (m + dm - m^p)."""
    if "chi_data" not in stored:
        return None
    gradient, step = stored["gradient"], solution.model
    return float(stored["chi_data"] - gradient @ step + 0.5 * step @ (gradient - solution.weights))


def write_outputs(
    folder: RunFolder,
    basis: ModelBasis,
    stored: dict[str, Any],
    models: Sequence[f64],
    run_model: f64 | None,
    summaries: Sequence[SolveSummary],
) -> None:
    """model.h5, summary.json and maps.png."""
    with replaced(folder.model) as aside:
        write_hdf5(
            aside,
            {
                "models": np.stack([stored["model"], *models]),
                "radial_knots_m": np.asarray(basis.radial_knots_m),
                "lateral_level": int(stored["lateral_level"]),
                "parameters": basis.parameters,
                "parameter_order": "(parameter * n_lateral + lateral_knot) * n_radial + radial_spline",
            },
        )
    with replaced(folder.path / "summary.json") as aside:
        found = [asdict(summary) for summary in summaries]
        content = found[0] if len(found) == 1 else {"solutions": found}
        aside.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    with replaced(folder.path / "maps.png") as aside:
        base = run_prior(stored) or PriorConfig(**summaries[0].prior)
        names = [changes(PriorConfig(**summary.prior), base) for summary in summaries]
        aside.write_bytes(map_picture(basis, names if len(names) > 1 else ["this prior"], models, run_model))


def map_picture(basis: ModelBasis, names: Sequence[str], models: Sequence[f64], run_model: f64 | None) -> bytes:
    """The new models, beside the run's own where that is known."""
    depths = (150.0, 600.0, 1200.0, 2500.0)
    shown = [*zip(names, models, strict=True), *([] if run_model is None else [("the run's prior", run_model)])]
    limit = rounded_limit(*(field_at_knots(basis, field) for _, field in shown))
    with matplotlib.rc_context(SETTINGS):
        figure = new_figure(4.9 * len(shown) + 0.2, 2.45 * len(depths) + 0.6)
        axes = figure.subplots(len(depths), len(shown), squeeze=False)
        for row, depth in zip(axes, depths, strict=True):
            for place, (name, field) in zip(row, shown, strict=True):
                mesh = maps.field_on_map(place, basis, field, depth, -160.0, limit)
                maps.draw_globe(place, -160.0)
                place.set_title(
                    f"{name}, {depth:.0f} km", loc="left", pad=2.0, fontsize=8.0 if len(name) > 30 else None
                )
        velocity_bar(figure, mesh, axes)
        return png(figure)


def show(
    console: Any, summaries: Sequence[SolveSummary], folder: RunFolder, damping: float, stored: dict[str, Any]
) -> None:
    """A few lines for whoever asked; a table where there are several priors."""
    if damping > 0.0:
        say(console, f"damping {damping:g} of the Hessian's mean diagonal, as in the run")
    summary = summaries[0]
    if len(summaries) > 1:
        show_table(console, summaries, stored)
    else:
        say(
            console,
            f"rms dlnVs: {100 * summary.rms_model:.3f}% (step {100 * summary.rms_step:.3f}%, "
            f"from the model of iteration {summary.linearised_at_iteration})",
        )
    if len(summaries) == 1 and summary.rms_run_model is not None and summary.rms_difference is not None:
        say(
            console,
            f"the run's own model: {100 * summary.rms_run_model:.3f}%; difference {100 * summary.rms_difference:.3f}%, "
            f"correlation {summary.correlation_with_run:.4f}",
        )
    say(console, f"written: {folder.path}/model.h5, summary.json, maps.png")


def show_table(console: Any, summaries: Sequence[SolveSummary], stored: dict[str, Any]) -> None:
    """One line for each prior."""
    base = run_prior(stored) or PriorConfig(**summaries[0].prior)
    names = [changes(PriorConfig(**summary.prior), base) for summary in summaries]
    width = max(len("prior"), *map(len, names))
    say(console, f"\n{'prior':<{width}}  rms dlnVs     step    chi_data   chi_prior   correlation with the run's model")
    for name, one in zip(names, summaries, strict=True):
        chi_data = "-" if one.chi_data is None else f"{one.chi_data:.6g}"
        correlated = "-" if one.correlation_with_run is None else f"{one.correlation_with_run:.4f}"
        say(
            console,
            f"{name:<{width}}  {100 * one.rms_model:7.3f} % {100 * one.rms_step:6.3f} % {chi_data:>11} {one.chi_prior:11.6g}   "
            f"{correlated}",
        )


solve_again = solve
"""The same function under the name that `craton.tomography` gives it: there `solve` is this module."""
