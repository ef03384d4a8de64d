"""Whether a prior covariance can be inverted: its condition, and the line that says what to change."""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from craton.errors import UserError

__all__ = ["LARGEST_CONDITION", "check_condition", "check_condition_number", "checked_inverse", "singular"]

f64 = NDArray[np.float64]

LARGEST_CONDITION = 1e10
"""Beyond it the inverse's rounding error would reach the fifth digit of the model."""


def check_condition_number(condition: float, origin: str, nugget: float) -> None:
    """UserError for a condition number that is not safe. origin: the setting that makes the covariance."""
    if not 0.0 < condition < LARGEST_CONDITION:
        raise singular(origin, nugget, condition)


def singular(origin: str, nugget: float, condition: float | None) -> UserError:
    """What is wrong with a covariance that is not safely positive definite: the user's fault."""
    told = "" if condition is None else f"condition number {condition:.1e}; "
    return UserError(
        f"{origin} with nugget = {nugget:g} makes a prior covariance that is numerically singular ({told}allowed: up to "
        f"{LARGEST_CONDITION:.0e}): shorten the correlation length or enlarge the nugget"
    )


def check_condition(covariance: f64, origin: str, nugget: float) -> None:
    """A covariance that is not safely positive definite is the user's fault."""
    deviation = np.sqrt(np.diag(covariance))
    eigenvalues = np.linalg.eigvalsh(covariance / np.outer(deviation, deviation))
    check_condition_number(eigenvalues[-1] / max(eigenvalues[0], 1e-16), origin, nugget)


def checked_inverse(covariance: f64, origin: str, nugget: float) -> f64:
    """Inverse through Cholesky."""
    check_condition(covariance, origin, nugget)
    inverse = scipy.linalg.cho_solve(scipy.linalg.cho_factor(covariance), np.eye(len(covariance)))
    return np.ascontiguousarray(0.5 * (inverse + inverse.T))
