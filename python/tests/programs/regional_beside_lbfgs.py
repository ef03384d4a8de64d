"""Gauss-Newton with the explicit Hessian beside L-BFGS on adjoint gradients: the same data, prior, wave runs and line search.

    python regional_beside_lbfgs.py CONFIG FOLDER [ITERATIONS]

CONFIG has been inverted in FOLDER by `craton regional run`, with synthetic data. L-BFGS (Nocedal & Wright 2006, algorithms 7.4 and
7.5) works in coordinates in which the prior's covariance is 1. A model costs a run of each earthquake, and one more, reversed in
time, where its gradient is wanted. Prints wave runs, 2 chi / N and the error of the model at knots of both.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from adjoint_runs import gradient
from craton.inverse.comparison import correlation
from craton.regional.comparison import target_at_knots
from craton.regional.config import load_config
from craton.regional.folder import RegionalFolder, StateFolder
from craton.regional.measurements import Misfit
from craton.regional.observations import read_data
from craton.regional.predictions import predicted_by_events
from craton.regional.prior import axis_covariance
from craton.regional.study import Study
from craton.regional.wave_runs import event_config, wave_task, write_ground
from craton.runs.files import remove
from craton.tasks import run_tasks

MEMORY = 8
"""Pairs of steps and changes of the gradient that L-BFGS keeps."""


class Problem:
    """The misfit of equation 1 and its gradient, in whitened coordinates; counts wave runs."""

    def __init__(self, study: Study, folder: RegionalFolder, place: Path) -> None:
        self.study, self.place = study, place
        self.misfit = Misfit(study, read_data(folder.data, study))
        knots, prior = study.knots, study.config.prior
        roots = [
            np.linalg.cholesky(axis_covariance(at, length, prior.nugget))
            for at, length in zip(knots.axes_m, prior.length_m, strict=True)
        ]
        self.roots, self.shape = roots, (len(study.config.model.parameters), *knots.counts)
        self.strengths = np.array([study.config.strength(name) for name in study.config.model.parameters])
        self.runs = self.count = 0

    def model(self, z: np.ndarray) -> np.ndarray:
        """M = L z, with L L^T the prior's covariance."""
        x, y, w = self.roots
        return (
            self.strengths[:, None, None, None] * np.einsum("ai,bj,ck,pijk->pabc", x, y, w, z.reshape(self.shape))
        ).ravel()

    def whitened(self, g: np.ndarray) -> np.ndarray:
        """L^T g."""
        x, y, w = self.roots
        return (
            self.strengths[:, None, None, None] * np.einsum("ai,bj,ck,pabc->pijk", x, y, w, g.reshape(self.shape))
        ).ravel()

    def at(self, z: np.ndarray) -> Point:
        """Runs the earthquakes."""
        study, model = self.study, self.model(z)
        state = StateFolder(self.place / f"{self.count:03d}", self.count)
        self.count += 1
        state.path.mkdir(parents=True)
        write_ground(state.ground, study.config, study.planes(model))
        (state.path / "events").mkdir()
        tasks = []
        for event, one in enumerate(study.config.events):
            config = event_config(study.config, event, state.ground, study.steady, state.event(one.name))
            tasks.append(wave_task(one.name, config, state.event(one.name), 1, study.steps, "earthquake"))
        outcome = run_tasks(tasks, cores=2, jobs=2)
        assert not outcome.failures, outcome.failures
        self.runs += len(tasks)
        predicted = predicted_by_events(study, state, model).samples
        chi_data = self.misfit.chi(predicted)
        return Point(z, model, state, predicted, chi_data, chi_data + 0.5 * float(z @ z))

    def gradient(self, at: Point) -> np.ndarray:
        """Runs reversed in time; then their spectra go."""
        found = gradient(self.study, self.misfit, at.predicted, at.state)
        self.runs += len(self.study.config.events)
        at.state.drop_spectra()
        remove(at.state.path / "reversed")
        return self.whitened(found) + at.z


class Point:
    """A model that was tried."""

    def __init__(self, z, model, state, predicted, chi_data, total) -> None:
        self.z, self.model, self.state, self.predicted, self.chi_data, self.total = (
            z,
            model,
            state,
            predicted,
            chi_data,
            total,
        )


def direction(gradient_now: np.ndarray, pairs: list[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """-H g by the two loops."""
    q, alphas = gradient_now.copy(), []
    for s, y in reversed(pairs):
        alpha = (s @ q) / (y @ s)
        alphas.append(alpha)
        q -= alpha * y
    if pairs:
        s, y = pairs[-1]
        q *= (s @ y) / (y @ y)
    for (s, y), alpha in zip(pairs, reversed(alphas), strict=True):
        q += (alpha - (y @ q) / (y @ s)) * s
    return -q


def main(config: str, folder: str, iterations: int) -> None:
    run = RegionalFolder(folder)
    study, record = Study(load_config(config)), run.read_record()
    place = Path(folder).with_name(Path(folder).name + "-lbfgs")
    shutil.rmtree(place, ignore_errors=True)
    target, samples = target_at_knots(study), record.samples
    scale = np.linalg.norm(target)

    def error(model: np.ndarray) -> float:
        return float(np.linalg.norm(model[: study.unknowns_of_ground] - target) / scale)

    print("Gauss-Newton with the explicit Hessian")
    print("wave runs   2 chi / N   error of the model   correlation")
    for one in record.iterations:
        model = run.state(one.state).read_model(study.unknowns)["model"]
        print(
            f"{one.simulations:9d} {2 * one.chi_data / samples:11.4f} {error(model):20.4f} {correlation(model, target):13.3f}"
        )
    problem = Problem(study, run, place)
    print("L-BFGS on adjoint gradients", flush=True)
    now = problem.at(np.zeros(study.unknowns_of_ground))
    pairs: list[tuple[np.ndarray, np.ndarray]] = []

    def tell(at: Point) -> None:
        print(
            f"{problem.runs:9d} {2 * at.chi_data / samples:11.4f} {error(at.model):20.4f} {correlation(at.model, target):13.3f}",
            flush=True,
        )

    tell(now)
    slope = problem.gradient(now)
    for _ in range(iterations):
        way = direction(slope, pairs)
        if not pairs:  # of the first step no curvature is known: a length of one standard deviation
            way *= 1.0 / np.linalg.norm(way) * min(np.linalg.norm(slope), np.sqrt(len(way)) * 0.2)
        for halving in range(5):
            tried = problem.at(now.z + 0.5**halving * way)
            if tried.total < now.total:
                break
            tried.state.drop_spectra()
        else:
            print("no step lowers the misfit")
            break
        following = problem.gradient(tried)
        s, y = tried.z - now.z, following - slope
        if s @ y > 0:
            pairs = [*pairs, (s, y)][-MEMORY:]
        now, slope = tried, following
        tell(now)
    shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 12)
