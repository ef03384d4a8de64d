"""How alike a model is to the target that made its data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from craton.inverse.comparison import correlation
from craton.regional.study import Study

__all__ = ["RESOLVED", "correlations", "resolved_knots", "target_at_knots"]

f64 = NDArray[np.float64]

RESOLVED = 1 / 3
"""Of a standard deviation before: where data leave less of it, a knot counts as resolved."""


def resolved_knots(study: Study, deviation: f64) -> NDArray[np.bool_]:
    """Whether the data resolve each unknown. deviation: of each, as data and prior together leave it."""
    before = np.repeat([study.config.strength(name) for name in study.config.model.parameters], len(study.knots))
    return np.asarray(deviation.ravel()[: len(before)] < RESOLVED * before)


def target_at_knots(study: Study) -> f64:
    """Ln of the target over the starting model, of each sought parameter: averages about its knots, weighted with their functions.

    A value at the knot itself is chance where the ground has steps. Water has no vs, and counts for nothing.
    """
    names, count = study.config.model.parameters, len(study.knots)
    sums, weights = np.zeros((2, len(names), count))
    x, y, z = study.lattice.axes_m
    for depth in z:
        points = np.stack(np.meshgrid(x, y, [depth], indexing="ij"), axis=-1).reshape(-1, 3)
        functions = study.knots.values(points).T
        start, target = (study.ground_at(points, target=one) for one in (False, True))
        for number, name in enumerate(names):
            solid = (start[name] > 0) & (target[name] > 0)
            sums[number] += functions @ np.log(np.where(solid, target[name], 1.0) / np.where(solid, start[name], 1.0))
            weights[number] += functions @ solid.astype(np.float64)
    return (sums / np.where(weights > 0, weights, 1.0)).ravel()


def correlations(study: Study, model: f64, deviation: f64 | None) -> tuple[float, float | None]:
    """Pearson's, at all knots, and at those that the data resolve; of these None where they are unknown, or fewer than 3."""
    target, ground = target_at_knots(study), model[: study.unknowns_of_ground]
    resolved = None if deviation is None else resolved_knots(study, deviation)
    if resolved is None or np.count_nonzero(resolved) < 3:
        return correlation(ground, target), None
    return correlation(ground, target), correlation(ground[resolved], target[resolved])
