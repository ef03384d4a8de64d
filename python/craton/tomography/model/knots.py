"""Values of a model at its knots, and how alike two models are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton.inverse.comparison import correlation
from craton.tomography.folder import CoverageCorrelation
from craton.tomography.model.sphere import EARTH_RADIUS_KM

if TYPE_CHECKING:
    from craton._craton import ModelBasis

f64 = NDArray[np.float64]

CORRELATION_DEPTHS_KM = tuple(float(depth) for depth in range(100, 2801, 150))


def field_at_knots(basis: ModelBasis, model: f64) -> f64:
    """Values of dlnVs at every radial knot below every lateral knot, shape (n_lateral * n_radial,)."""
    radius_m = np.asarray(basis.radial_knots_m)
    latitude, longitude = (np.repeat(part, len(radius_m)) for part in (basis.latitude_deg, basis.longitude_deg))
    return basis.evaluate(model, latitude, longitude, np.tile(radius_m, basis.n_lateral))


def knot_depths_km(basis: ModelBasis) -> f64:
    """Depths of the radial knots, from the core to the surface, below 6371 km."""
    return EARTH_RADIUS_KM - np.asarray(basis.radial_knots_m) / 1e3


def rms(values: f64) -> float:
    """Root of the mean square."""
    return float(np.sqrt(np.mean(values**2)))


def largest_at_knots(basis: ModelBasis, model: f64) -> float:
    """The largest |dlnVs| at a lateral and radial knot."""
    return float(np.abs(field_at_knots(basis, model)).max())


def coverage_correlation(basis: ModelBasis, recovered: f64, target: f64, coverage: f64) -> CoverageCorrelation:
    """How well the target of synthetic data is recovered, over all depths together and by depth.

    recovered, target: models. coverage: paths that see each lateral knot; those above its median count.
    """
    covered = coverage > np.median(coverage)
    places = (np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg))

    def layers(model: f64) -> f64:
        radii_m = [np.full(basis.n_lateral, 1e3 * (EARTH_RADIUS_KM - depth)) for depth in CORRELATION_DEPTHS_KM]
        return np.stack([basis.evaluate(model, *places, radius_m) for radius_m in radii_m])

    ours, theirs = layers(recovered), layers(target)
    return CoverageCorrelation(
        overall=correlation(ours[:, covered], theirs[:, covered]),
        depth_km=list(CORRELATION_DEPTHS_KM),
        by_depth=[correlation(a[covered], b[covered]) for a, b in zip(ours, theirs, strict=True)],
        knots=int(np.count_nonzero(covered)),
        all_knots=correlation(ours, theirs),
    )
