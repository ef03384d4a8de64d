"""Panels of an inversion beside differences of wave runs, on the lattice of its own configuration.

    python regional_panels.py CONFIG FOLDER

CONFIG has been inverted in FOLDER with [run] keep_spectra = true. Changes the starting model by +- 4 %, because the solver keeps
the ground in 16 bits: at five knots, and at all knots in three random directions. Runs the earthquakes there. Prints by how much
g(m) changes otherwise than panels say, as a part. Knots whose functions reach within the mask of a source or a station are left
out: kernels are not right there, and say nothing.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "support"))

from craton.regional.config import load_config
from craton.regional.folder import RegionalFolder
from craton.regional.predictions import predicted_by_events
from craton.regional.study import Study
from panel_runs import by_panels, by_runs

SIZE = 0.04


def far_knots(study: Study) -> np.ndarray:
    """Whether no function of a knot reaches within the mask of a source or a station."""
    knots = study.knots
    cell = np.array([np.diff(axis).max() for axis in (knots.x_m, knots.y_m, knots.z_m)])
    far = np.ones(len(knots), bool)
    for end in (*study.sources_m, *study.receivers.position_m):
        apart = np.maximum(np.abs(knots.position_m - end) - cell, 0.0)
        far &= np.linalg.norm(apart, axis=1) > study.mask_m
    return far


def directions(study: Study) -> dict[str, np.ndarray]:
    """By name: five knots, three random directions, of each parameter."""
    random, far, found = np.random.default_rng(4), far_knots(study), {}
    parameters = study.config.model.parameters
    for number, name in enumerate(parameters):
        for at in random.choice(np.flatnonzero(far), 5, replace=False):
            one = np.zeros((len(parameters), len(study.knots)))
            one[number, at] = 1.0
            place = ", ".join(f"{x / 1e3:.1f}" for x in study.knots.position_m[at])
            found[f"{name}, knot at ({place}) km"] = one.ravel()
        for which in range(3):
            some = np.zeros((len(parameters), len(study.knots)))
            some[number, far] = random.uniform(-1, 1, int(far.sum()))
            found[f"{name}, direction {which + 1} of {far.sum()} knots"] = some.ravel()
    return found


def main(config: str, folder: str) -> None:
    study, run = Study(load_config(config)), RegionalFolder(folder)
    wanted = directions(study)
    changes = SIZE * np.stack(list(wanted.values()), axis=1)
    panels = by_panels(study, run.state(0), changes)
    unchanged = predicted_by_events(study, run.state(0), np.zeros(study.unknowns)).samples
    for number, name in enumerate(wanted):
        right = by_runs(study, changes[:, number], run.path.with_name(f"{run.path.name}-panels"))
        error = np.linalg.norm(panels[:, number] - right) / np.linalg.norm(right)
        effect = np.linalg.norm(right) / np.linalg.norm(unchanged)
        print(f"{name}: off by {100 * error:.2f} %; g(m) changes by {effect:.1e} of itself", flush=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
