"""How alike two models are."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["correlation"]

f64 = NDArray[np.float64]


def correlation(a: f64, b: f64) -> float:
    """Pearson's correlation; 0 where one of them is constant."""
    a, b = a.ravel() - a.mean(), b.ravel() - b.mean()
    scale = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / scale if scale > 0.0 else 0.0
