"""How well the target of synthetic data is recovered."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton.tomography.folder import CoverageCorrelation
from craton.tomography.model.sphere import EARTH_RADIUS_KM

if TYPE_CHECKING:
    from craton._craton import ModelBasis

f64 = NDArray[np.float64]


CORRELATION_DEPTHS_KM = tuple(float(depth) for depth in range(100, 2801, 150))


def coverage_correlation(basis: ModelBasis, recovered: f64, target: f64, coverage: f64) -> CoverageCorrelation:
    """Correlation of two fields at the well-covered lateral knots, over all depths together and by depth."""
    covered = coverage > np.median(coverage)
    places = (np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg))

    def field_at_knots(model: f64) -> f64:
        layers = [
            basis.evaluate(model, *places, np.full(len(places[0]), 1e3 * (EARTH_RADIUS_KM - depth)))
            for depth in CORRELATION_DEPTHS_KM
        ]
        return np.stack(layers)

    ours, theirs = field_at_knots(recovered), field_at_knots(target)
    return CoverageCorrelation(
        overall=correlation(ours[:, covered], theirs[:, covered]),
        depth_km=list(CORRELATION_DEPTHS_KM),
        by_depth=[correlation(a[covered], b[covered]) for a, b in zip(ours, theirs, strict=True)],
        knots=int(np.count_nonzero(covered)),
        all_knots=correlation(ours, theirs),
    )


def correlation(a: f64, b: f64) -> float:
    """Pearson's correlation; 0 where one of them is constant."""
    a, b = a.ravel() - a.mean(), b.ravel() - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0.0 else 0.0
