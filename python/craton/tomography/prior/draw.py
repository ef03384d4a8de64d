"""A random Earth with the correlation lengths of a Gaussian prior: where the strength is its rms, one that the prior admits."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton.inverse.conditioning import check_condition
from craton.tomography.prior.gaussian import lateral_covariance, of_radius, radial_covariance

if TYPE_CHECKING:
    from craton._craton import ModelBasis
    from craton.tomography.config.prior import PriorConfig

f64 = NDArray[np.float64]


def drawn_model(basis: ModelBasis, config: PriorConfig, rms: float, seed: int) -> f64:
    """Coefficients, shape (lateral knots * radial knots,), of a dlnVs with the prior's correlation lengths and this rms.

    A lateral length that changes with depth is that of the surface. The rms is of many draws, in the mean over the mantle. Dense:
    knots^2 elements of memory, some times over. Not collective. UserError for lengths that make a singular covariance.
    """
    radial = radial_covariance(basis, replace(config, strength=rms))
    length_km = float(of_radius(config.correlation_km)(np.asarray(basis.radial_knots_m)[-1:])[0])
    lateral = lateral_covariance(basis, length_km, config.nugget)
    for covariance, name in ((radial, "correlation_depth_km"), (lateral, "correlation_km")):
        check_condition(covariance, f"[target] random_rms with [prior] {name}", config.nugget)
    noise = np.random.default_rng([seed, 0x6D6F64656C]).standard_normal((basis.n_lateral, basis.n_radial))
    return np.ravel(np.linalg.cholesky(lateral) @ noise @ np.linalg.cholesky(radial).T)
