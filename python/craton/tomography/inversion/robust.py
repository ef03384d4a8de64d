"""Weights of windows that fit much worse than the others: iteratively reweighted least squares, window by window.

With r the rms residual of a window in its noise's standard deviations and s = max(1, median r), the scale of all:

    huber      1 where r <= 2 s, else 2 s / r                   (Huber 1964): beyond 2 s a misfit grows linearly
    student    (v + 1) / (v + (r / s)^2), v = 4                 (Student's t): what is far off weighs next to nothing

They are of the model at which an iteration begins.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

f64 = NDArray[np.float64]

BEYOND = 2.0
FREEDOM = 4.0


def robust_weights(kind: str, misfit: f64) -> f64:
    """Of each window. kind: "huber" or "student". misfit: its 2 chi / N."""
    r = np.sqrt(misfit)
    relative = r / max(1.0, float(np.median(r)))
    if kind == "huber":
        return np.asarray(np.minimum(1.0, BEYOND / np.maximum(relative, 1e-300)))
    return np.asarray((FREEDOM + 1.0) / (FREEDOM + relative**2))
