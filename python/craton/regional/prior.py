"""What is expected of the ground before the data are seen: covariances of the changes at knots, Gaussian or Matérn (matern.py).

    C_m[(i, j, k), (i', j', k')] = s^2 C_x[i, i'] C_y[j, j'] C_z[k, k']
    C_x[i, i'] = (exp(-(x_i - x_i')^2 / (2 L_x^2)) + nugget [i = i']) / (1 + nugget)

of each parameter, and none between parameters. s is the standard deviation. The inverse is the Kronecker product of three small
inverses.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from craton.inverse.blocks import ParameterBlock
from craton.inverse.conditioning import check_condition_number, checked_inverse
from craton.inverse.parts import PriorPart, Separable
from craton.inverse.prior import Prior
from craton.regional.matern import Matern, difference_matrix
from craton.regional.study import Study
from craton.settings import shown

__all__ = ["axis_covariance", "prior_of"]

f64 = NDArray[np.float64]


def axis_covariance(at_m: f64, length_m: float, nugget: float) -> f64:
    """Correlations of places along an axis, 1 on the diagonal."""
    distance = (at_m[:, None] - at_m[None, :]) / length_m
    return np.asarray((np.exp(-0.5 * distance**2) + nugget * np.eye(len(at_m))) / (1.0 + nugget))


def prior_of(study: Study) -> Prior:
    """The prior about the starting model. UserError for lengths whose covariance cannot be inverted."""
    config, size = study.config, len(study.knots)
    x, y, z = study.knots.counts
    blocks = [
        ParameterBlock(f"dln{name}", number * size, x * y, z) for number, name in enumerate(config.model.parameters)
    ]
    make = _gaussian if config.prior.kind == "gaussian" else _matern
    prior = Prior(tuple(make(study, blocks)), np.zeros(study.unknowns_of_ground))
    if not study.corrections.size:
        return prior
    return prior.with_corrections(study.corrections.prior(study.unknowns_of_ground))


def _gaussian(study: Study, blocks: Sequence[ParameterBlock]) -> Iterator[PriorPart]:
    config, nugget = study.config, study.config.prior.nugget
    axes = [
        axis_covariance(at, length, nugget)
        for at, length in zip(study.knots.axes_m, config.prior.length_m, strict=True)
    ]
    origin = f"[prior] length_m = {shown(list(config.prior.length_m))}"
    check_condition_number(float(np.prod([np.linalg.cond(one) for one in axes])), origin, nugget)
    x, y, z = (checked_inverse(one, origin, nugget) for one in axes)
    lateral = np.kron(x, y)
    for block, name in zip(blocks, config.model.parameters, strict=True):
        yield Separable(block, np.asarray(lateral / config.strength(name) ** 2, np.float64), z)


def _matern(study: Study, blocks: Sequence[ParameterBlock]) -> Iterator[PriorPart]:
    config = study.config
    x, y, z = (
        difference_matrix(at, length) for at, length in zip(study.knots.axes_m, config.prior.length_m, strict=True)
    )
    for block, name in zip(blocks, config.model.parameters, strict=True):
        yield Matern(block, (x, y, z), config.strength(name))
