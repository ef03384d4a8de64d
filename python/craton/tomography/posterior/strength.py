"""How strong should the prior be? The same problem under a list of strengths, and four ways to choose among them.

All strengths multiply one prior: its shape (correlation lengths, strength by depth) stays. With A = H + C_m^-1 / f^2 for a strength
f times the first, each costs a factorisation and an inverse, n^3 flops. By the tangent at the model of the Hessian:

    evidence            ln p(d | f) = -chi_data - chi_prior - (ln det A - ln det C_m^-1) / 2 + constant, largest (MacKay 1992,
                        doi:10.1162/neco.1992.4.3.415)
    cross-validation    the earthquakes are divided into folds; each is predicted from the others: their misfit, smallest
    generalised one     (2 chi_data / N) / (1 - trace R / N)^2 with N samples, smallest (Golub, Heath & Wahba 1979,
                        doi:10.1080/00401706.1979.10489751)
    L-curve             ln |residual|^2 against ln |model|^2 in the norm of one prior: the corner, where its curvature is largest
                        (Hansen & O'Leary 1993, doi:10.1137/0914086)

The evidence is recommended: it asks which prior makes the data probable, has a maximum inside the list if the list is long
enough, and needs no choice of folds. It takes the noise for known.
"""

from __future__ import annotations

import json
import os
import pathlib
import re
from collections.abc import Sequence
from dataclasses import asdict

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from rich.console import Console

from craton.errors import UserError
from craton.inverse.posterior import Posterior
from craton.inverse.prior import Prior
from craton.runs.agreement import on_root
from craton.runs.files import replaced, write_json
from craton.runs.folder import Folder, RunFile, reserved
from craton.runs.progress import ProgressBar, make_console
from craton.tomography.config.prior import PriorConfig
from craton.tomography.config.values import multiplied
from craton.tomography.inversion.say import say
from craton.tomography.posterior.criteria import StrengthSummary, Trial, judged
from craton.tomography.posterior.run import say_what_is_believed
from craton.tomography.prior.make import explicit_prior
from craton.tomography.prior.words import largest
from craton.tomography.stored.run import LinearisedProblem, read_data, read_problem

f64 = NDArray[np.float64]

WEAKEST, STRONGEST, MOST = 1e-6, 1.0, 100
FOLDS_STREAM = 4
DEFAULT_SPAN, DEFAULT_COUNT = 10.0, 9


class StrengthFolder(Folder):
    """The folder of a choice's results."""

    summary = RunFile("strength.json")
    picture = RunFile("strength.png")

    @property
    def files(self) -> tuple[pathlib.Path, ...]:
        """Both."""
        return self.summary, self.picture


def read_strengths(text: str, prior: PriorConfig) -> list[float]:
    """Strengths of a list, 0.005,0.01,0.02, or at equal ratios: 0.003:0.3:9 for nine. Of "" nine around the prior's own."""
    if not text:
        own = largest(prior.strength)
        low, high = max(own / DEFAULT_SPAN, WEAKEST), min(own * DEFAULT_SPAN, STRONGEST)
        return list(np.geomspace(low, high, DEFAULT_COUNT).tolist())
    allowed = (
        f"numbers from {WEAKEST:g} to {STRONGEST:g} separated by commas, at least two and at most {MOST}, or FROM:TO:COUNT, "
        "such as 0.003:0.3:9"
    )

    def one(number: str) -> float:
        if not WEAKEST <= float(number) <= STRONGEST:
            raise ValueError
        return float(number)

    try:
        if ":" in text:
            first, last, count = text.split(":")
            if not re.fullmatch("[0-9]{1,3}", count):
                raise ValueError
            found = np.geomspace(one(first), one(last), min(int(count), MOST + 1)).tolist()
        else:
            found = [one(item) for item in text.split(",")]
    except ValueError:
        raise UserError(f"--strengths {text!r}; allowed: {allowed}") from None
    found = sorted(set(found))
    if not 2 <= len(found) <= MOST:
        raise UserError(f"--strengths {text!r} are {len(found)}; allowed: {allowed}")
    return found


def choose_strength(
    hessian_file: str | os.PathLike[str],
    prior_config: PriorConfig,
    strengths: Sequence[float],
    output: str | os.PathLike[str],
    comm: MPI.Comm | None = None,
    folds: int = 0,
    seed: int = 1,
    console: Console | None = None,
    overwrite: bool = False,
) -> StrengthSummary:
    """Collective, on any number of ranks: writes strength.json and strength.png to the output folder.

    folds: 0 for no cross-validation, else at least 2; it reads the run's data.h5 and assembles the Hessian once more. UserError
    where hessian.h5 does not tell the misfit, and for more folds than earthquakes.
    """
    comm = comm or MPI.COMM_WORLD
    folder, source = StrengthFolder(output), pathlib.Path(hessian_file)
    console = (console or make_console()) if comm.rank == 0 else None
    problem = read_problem(source, comm)
    if problem.chi_data is None or problem.samples is None:
        raise UserError(
            f"{source}: chi_data is missing, and no record.json is beside it; allowed: hessian.h5 of a run, in its folder"
        )
    with reserved(comm, folder, lambda: folder.check(overwrite)):
        say_what_is_believed(console, problem, prior_config)
        own = largest(prior_config.strength)
        prior = explicit_prior(
            problem.basis, prior_config, problem.hessian, problem.world, problem.comm, problem.prior_mean
        )
        left_out: Sequence[float | None] = [None] * len(strengths)
        if folds:
            factors = [strength / own for strength in strengths]
            left_out = cross_validation(problem, prior, factors, folds, seed, console)
        trials = []
        with ProgressBar("strengths", len(strengths), "strengths", console) as bar:
            for strength, misfit in zip(strengths, left_out, strict=True):
                trials.append(one_trial(problem, prior, strength, own, misfit))
                bar.advance()
        choices = judged(trials)
        summary = StrengthSummary(asdict(prior_config), problem.samples, trials, choices, choices[0].strength)
        on_root(comm, lambda: write(folder, summary))
        show(console, summary, folder, prior_config, problem.compared)
    return summary


def one_trial(problem: LinearisedProblem, prior: Prior, strength: float, own: float, left_out: float | None) -> Trial:
    """Collective: the solution under a strength, where the prior's own is `own`."""
    assert problem.chi_data is not None and problem.samples is not None
    posterior = Posterior(
        problem.system(), prior.strengthened(strength / own), problem.gradient, problem.model, problem.comm
    )
    chi_data, evidence = posterior.chi_data(problem.chi_data), posterior.log_evidence(problem.chi_data)
    resolved = float(posterior.resolution_diagonal().sum())
    remaining = 1.0 - resolved / problem.samples
    return Trial(
        strength=strength,
        chi_data=chi_data,
        chi_prior=posterior.chi_prior,
        model_norm=2.0 * posterior.chi_prior * strength**2,
        resolved=resolved,
        log_evidence=evidence,
        generalised=2.0 * chi_data / problem.samples / remaining**2 if remaining > 0.0 else float("inf"),
        left_out=left_out,
    )


# ------------------------------------------------------------------------------------------------------- cross-validation


def fold_of_paths(event: NDArray[np.int64], folds: int, seed: int) -> NDArray[np.int64]:
    """The fold of each path: earthquakes are dealt out, for the paths of one have errors in common."""
    events = np.unique(event)
    if len(events) < folds:
        raise UserError(f"--folds {folds}: the data are of {len(events)} earthquakes; allowed: 2 to {len(events)}")
    order = np.random.default_rng([seed, FOLDS_STREAM]).permutation(len(events))
    return order[np.searchsorted(events, event)] % folds


def cross_validation(
    problem: LinearisedProblem, prior: Prior, factors: Sequence[float], folds: int, seed: int, console: Console | None
) -> list[float]:
    """Collective: for each factor of the prior's strength, 2 chi_data per sample of what was left out.

    A fold's Hessian is taken from the whole one: all folds together are one assembly. Three matrices at a time.
    """
    if problem.config.get("synthetics", {}).get("kind", "modes") != "modes":
        raise UserError(
            f"{problem.source}: --folds of a run whose seismograms come from an outside solver; allowed: no --folds, because each "
            "fold would need seismograms of its own models"
        )
    if len(problem.corrections):
        raise UserError(
            f"{problem.source}: --folds of a run with [corrections]; allowed: no --folds, because what is left out has helped to "
            "correct the earthquakes and stations of the rest"
        )
    data = read_data(problem)
    fold = fold_of_paths(data.observations.paths.event, folds, seed)
    sums = np.zeros(len(factors))
    with ProgressBar("cross-validation", folds * len(factors), "solutions", console) as bar:
        for number in range(folds):
            one = data.where(fold == number)
            left_out, gradient, _ = one.assemble(problem.world, problem.model, problem.hessian)
            for index, factor in enumerate(factors):
                system = problem.system()
                system.packed.local[...] -= left_out.packed.local
                system.commit()
                others = prior.strengthened(factor), problem.gradient - gradient, problem.model, problem.comm
                found = Posterior(system, *others)
                sums[index] += one.misfit(problem.world, found.mean)
                bar.advance()
    return [2.0 * float(chi) / data.observations.counted_samples for chi in sums]


# ------------------------------------------------------------------------------------------------------------------- output


def write(folder: StrengthFolder, summary: StrengthSummary) -> None:
    """strength.json and strength.png."""
    from craton.pages.figures import png
    from craton.tomography.posterior.pictures import strength_figure  # only the rank that draws loads matplotlib

    write_json(folder.summary, asdict(summary))
    with replaced(folder.picture) as aside:
        aside.write_bytes(png(strength_figure(summary)))


def show(
    console: Console | None, summary: StrengthSummary, folder: StrengthFolder, config: PriorConfig, compared: str
) -> None:
    """A table of the trials, and what each criterion says. compared: what the Hessian is of, where not of all waveforms."""
    last = "" if summary.trials[0].left_out is None else "    left out"
    say(console, "\nstrength    chi_data   chi_prior  resolved   ln evidence   generalised" + last)
    for trial in summary.trials:
        line = f"{trial.strength:8.4g} {trial.chi_data:11.6g} {trial.chi_prior:11.6g} {trial.resolved:9.2f} "
        line += f"{trial.log_evidence:13.2f} {trial.generalised:13.6g}"
        say(console, line + (f" {trial.left_out:11.6g}" if last else ""))
    samples = f"{summary.samples} samples" if not compared else f"{summary.samples} residuals of {compared}"
    say(console, f"(noise alone: chi_data = {summary.samples / 2:g}, half of the {samples})\n")
    for choice in summary.choices:
        value = "-" if choice.strength is None else f"{choice.strength:.4g}"
        say(console, f"{choice.criterion + ':':<30} {value:<9} {choice.remark}".rstrip())
    if summary.recommended is not None:
        factor = summary.recommended / largest(config.strength)
        profile = multiplied(config.strength, factor)
        wanted = f"{profile:.4g}" if isinstance(profile, float) else json.dumps([list(pair) for pair in profile])
        say(console, f"recommended, by the evidence: --prior strength={wanted}")
    say(console, f"written: {folder.summary}, {folder.picture.name}")
