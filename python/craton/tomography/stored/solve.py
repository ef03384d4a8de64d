"""Equation 2 again under another prior, from the Hessian of a run: nothing is assembled, no seismogram is computed."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

import craton
from craton.errors import UserError
from craton.inverse.comparison import correlation
from craton.inverse.normal_equations import NormalEquations
from craton.inverse.prior import Step, misfit
from craton.runs.agreement import on_root
from craton.runs.files import replaced, write_hdf5, write_json
from craton.runs.folder import Folder, RunFile, reserved
from craton.runs.progress import make_console
from craton.tomography.config.prior import PriorConfig
from craton.tomography.folder import RunFolder
from craton.tomography.inversion.hessian_file import read_system
from craton.tomography.inversion.say import say
from craton.tomography.model.knots import field_at_knots, rms
from craton.tomography.model.splines import splines_of
from craton.tomography.prior.make import make_prior
from craton.tomography.prior.words import about_lengths, changes, explained
from craton.tomography.stored.run import LinearisedProblem, read_problem

if TYPE_CHECKING:
    from rich.console import Console


f64 = NDArray[np.float64]


class SolutionFolder(Folder):
    """What solve_all leaves."""

    model = RunFile("model.h5")
    summary = RunFile("summary.json")
    maps = RunFile("maps.png")

    @property
    def files(self) -> tuple[Path, ...]:
        """All three."""
        return self.model, self.summary, self.maps


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


def solve_again(
    hessian_file: str | os.PathLike[str],
    prior_config: PriorConfig,
    output: str | os.PathLike[str],
    comm: MPI.Comm | None = None,
    precision: str = "refined",
    console: Console | None = None,
    overwrite: bool = False,
) -> SolveSummary:
    """Collective, on any number of ranks: writes model.h5, summary.json and maps.png to the output folder.

    Everything but the prior is as in the run, its damping too. precision: of the factorisation; refined, float64 or float32.
    UserError for an output folder that holds a run, or an earlier solution unless `overwrite`.
    """
    return solve_all(hessian_file, [prior_config], output, comm, precision, console, overwrite)[0]


def solve_all(
    hessian_file: str | os.PathLike[str],
    prior_configs: Sequence[PriorConfig],
    output: str | os.PathLike[str],
    comm: MPI.Comm | None = None,
    precision: str = "refined",
    console: Console | None = None,
    overwrite: bool = False,
) -> list[SolveSummary]:
    """Collective: solve_again under any number of priors; the Hessian is read once.

    model.h5 holds all models, in the order given, after the one at which the Hessian was assembled. summary.json has one entry
    for each.
    """
    comm = comm or MPI.COMM_WORLD
    craton.check_mpi()
    if not prior_configs:
        raise UserError("solve: no prior; allowed: one or more")
    source, folder = Path(hessian_file), SolutionFolder(output)
    stored = on_root(comm, lambda: read_system(source, precision))
    with reserved(comm, folder, lambda: check_output(source, folder, overwrite)):
        problem = read_problem(source, comm, stored=stored)
        console = (console or make_console()) if comm.rank == 0 else None
        steps = steps_of(problem, prior_configs, precision, console)
        return on_root(comm, lambda: conclude(folder, problem, prior_configs, steps, console))


def steps_of(
    problem: LinearisedProblem, prior_configs: Sequence[PriorConfig], precision: str, console: Console | None
) -> list[Step]:
    """Collective: the step under each prior. precision: of the factorisation."""
    for config in prior_configs:
        say(console, explained(config))
    say(console, about_lengths(problem.basis))
    if problem.compared:
        say(console, f"{problem.source.name} is of {problem.compared}: so is the step")
    equations = NormalEquations(
        problem.hessian, problem.comm, precision, problem.damping, lambda text: say(console, text)
    )
    priors = (
        make_prior(problem.basis, config, problem.world, problem.comm, console, mean=problem.prior_mean)
        for config in prior_configs
    )
    return [prior.step(equations, problem.gradient, problem.model) for prior in priors]


def conclude(
    folder: SolutionFolder,
    problem: LinearisedProblem,
    prior_configs: Sequence[PriorConfig],
    steps: Sequence[Step],
    console: Console | None,
) -> list[SolveSummary]:
    """Writes model.h5, summary.json and maps.png, and prints what changed. Not collective."""
    run_model = model_of_run(problem)
    summaries = [summarise(problem, *one, run_model) for one in zip(prior_configs, steps, strict=True)]
    names = [changes(config, problem.prior or prior_configs[0]) for config in prior_configs]
    models = [problem.model + step.model for step in steps]
    with replaced(folder.model) as aside:
        write_hdf5(aside, {"models": np.stack([problem.model, *models]), **splines_of(problem.basis)})
    found = [asdict(summary) for summary in summaries]
    write_json(folder.summary, found[0] if len(found) == 1 else {"solutions": found})
    shown = list(zip(names if len(names) > 1 else ["this prior"], models, strict=True))
    if run_model is not None:
        shown.append(("the run's prior", run_model))
    from craton.pages.figures import png
    from craton.tomography.model.pictures import models_figure  # only the rank that draws loads matplotlib

    with replaced(folder.maps) as aside:
        aside.write_bytes(png(models_figure(problem.basis, shown, width=4.9)))
    show(console, names, summaries, folder, problem.damping)
    return summaries


def check_output(source: Path, folder: SolutionFolder, overwrite: bool) -> None:
    """UserError where a solution would take the place of a run, or of another solution unless `overwrite`."""
    if folder.path.resolve() == source.resolve().parent.resolve():
        raise UserError(f"output folder {folder.path}: holds the run itself; allowed: another folder")
    runs_own = [file.name for file in RunFolder(folder.path).results if file != folder.model]
    if runs_own:
        raise UserError(f"output folder {folder.path}: {runs_own[0]} of a run is there; allowed: another folder")
    folder.check(overwrite)


def model_of_run(problem: LinearisedProblem) -> f64 | None:
    """The model that the run went on to from the one at which this Hessian was assembled; None where it is not beside it."""
    try:
        models = RunFolder(problem.source.parent).read_model()["models"]
    except (UserError, KeyError):
        return None
    if models.dtype.kind != "f" or models.ndim != 2 or models.shape[1] != problem.basis.size:
        return None
    following = models[problem.linearised_at + 1 :][:1]
    return np.ascontiguousarray(following[0]) if len(following) and np.isfinite(following).all() else None


def summarise(
    problem: LinearisedProblem, prior_config: PriorConfig, solution: Step, run_model: f64 | None
) -> SolveSummary:
    """Sizes of the new model, of its step, and of what changed."""
    basis, step = problem.basis, solution.model
    model = field_at_knots(basis, problem.model + step)
    theirs = None if run_model is None else field_at_knots(basis, run_model)
    return SolveSummary(
        linearised_at_iteration=problem.linearised_at,
        prior=prior_config.to_dict(),
        rms_model=rms(model),
        rms_step=rms(field_at_knots(basis, step)),
        rms_run_model=None if theirs is None else rms(theirs),
        rms_difference=None if theirs is None else rms(model - theirs),
        correlation_with_run=None if theirs is None else correlation(model, theirs),
        chi_data=tangent_misfit(problem, solution),
        chi_prior=misfit(problem.model + step - problem.prior_mean, solution.weights),
    )


def tangent_misfit(problem: LinearisedProblem, solution: Step) -> float | None:
    """chi_data after the step: chi - g . dm + dm . H dm / 2, where equation 2 makes H dm = g - C_m^-1 (m + dm - m^p)."""
    if problem.chi_data is None or problem.damping != 0.0:
        return None
    gradient, step = problem.gradient, solution.model
    return float(problem.chi_data - gradient @ step + 0.5 * step @ (gradient - solution.weights))


def show(
    console: Console | None,
    names: Sequence[str],
    summaries: Sequence[SolveSummary],
    folder: SolutionFolder,
    damping: float,
) -> None:
    """A few lines for whoever asked; a table where there are several priors."""
    lines = []
    if damping > 0.0:
        lines.append(f"damping {damping:g} of the Hessian's mean diagonal, as in the run")
    if len(summaries) > 1:
        lines += table(names, summaries)
    else:
        (one,) = summaries
        lines.append(
            f"rms dlnVs: {100 * one.rms_model:.3f}% (step {100 * one.rms_step:.3f}%, "
            f"from the model of iteration {one.linearised_at_iteration})"
        )
        if one.rms_run_model is not None and one.rms_difference is not None:
            lines.append(
                f"the run's own model: {100 * one.rms_run_model:.3f}%; difference {100 * one.rms_difference:.3f}%, "
                f"correlation {one.correlation_with_run:.4f}"
            )
    say(console, "\n".join([*lines, f"written: {folder.path}/model.h5, summary.json, maps.png"]))


def table(names: Sequence[str], summaries: Sequence[SolveSummary]) -> list[str]:
    """A line for each prior."""
    width = max(len("prior"), *map(len, names))
    lines = [f"\n{'prior':<{width}}  rms dlnVs     step    chi_data   chi_prior   correlation with the run's model"]
    for name, one in zip(names, summaries, strict=True):
        chi_data = "-" if one.chi_data is None else f"{one.chi_data:.6g}"
        correlated = "-" if one.correlation_with_run is None else f"{one.correlation_with_run:.4f}"
        lines.append(
            f"{name:<{width}}  {100 * one.rms_model:7.3f} % {100 * one.rms_step:6.3f} % {chi_data:>11} {one.chi_prior:11.6g}   "
            f"{correlated}"
        )
    return lines
