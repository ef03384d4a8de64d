"""The speeds of the reference Earth, from which a model's changes are counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from craton._craton import EarthModel

f64 = NDArray[np.float64]


def voigt_vs_km_s(earth: EarthModel, radius_m: f64) -> f64:
    """Vs in km/s at radii above the core, below a discontinuity there; Voigt's average where the Earth is anisotropic."""
    found = []
    for radius in radius_m.ravel().tolist():
        below = radius > earth.cmb_radius_m
        _, _, _, love_l, love_n = earth.love_Pa(radius, below)
        found.append(np.sqrt((2.0 * love_l + love_n) / (3.0 * earth.evaluate(radius, below)[0])))
    return np.array(found).reshape(radius_m.shape) / 1e3
