"""How alike a model is to the target that made its data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from craton.inverse.comparison import correlation
from craton.regional.study import Study

__all__ = ["RESOLVED", "correlations", "target_at_knots"]

f64 = NDArray[np.float64]

RESOLVED = 0.5
"""Of the resolution's diagonal: above it the data tell more of a knot than the prior does."""


def target_at_knots(study: Study) -> f64:
    """Ln of the target over the starting model, of each sought parameter at its knots: the ground there, not its projection."""
    start, target = (study.ground_at(study.knots.position_m, target=one) for one in (False, True))
    return np.concatenate([np.log(target[name] / start[name]) for name in study.config.model.parameters])


def correlations(study: Study, model: f64, resolution: f64 | None) -> tuple[float, float | None]:
    """Pearson's, at all knots, and at those that the data resolve; of these None where they are unknown, or fewer than 3."""
    target = target_at_knots(study)
    resolved = None if resolution is None else resolution > RESOLVED
    if resolved is None or np.count_nonzero(resolved) < 3:
        return correlation(model, target), None
    return correlation(model, target), correlation(model[resolved], target[resolved])
