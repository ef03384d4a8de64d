"""One step of the iteration: equation 2 is solved, and its length sought."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton.tomography.prior.prior import AnyPrior, Step

f64 = NDArray[np.float64]


def solve_step(system: Any, prior: AnyPrior, gradient: f64, model: f64, damping: float = 0.0) -> Step:
    """Collective: dm of equation 2 from the Hessian in `system`, which is overwritten by its Cholesky factor."""
    if damping > 0.0:
        amount = damping * float(np.mean(system.diagonal()))
        for block in prior.blocks:
            system.add_kronecker(np.eye(block.lateral), np.eye(block.radial), amount, block.offset)
    return prior.step(system, gradient, model)
