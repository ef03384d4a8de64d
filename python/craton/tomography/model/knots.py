"""Values of a model at its knots."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from craton._craton import ModelBasis

f64 = NDArray[np.float64]


def field_at_knots(basis: ModelBasis, model: f64) -> f64:
    """DlnVs at every lateral knot and at every radial knot."""
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


def largest_at_knots(basis: ModelBasis, model: f64) -> float:
    """The largest |dlnVs| at a lateral and radial knot."""
    return float(np.abs(field_at_knots(basis, model)).max())
