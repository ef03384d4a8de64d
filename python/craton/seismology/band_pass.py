"""The band-pass of waveforms: no phase, and cosines in frequency at its ends."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["cosine_gain"]


def cosine_gain(corners_hz: Sequence[float], frequency_hz: ArrayLike) -> NDArray[np.float64]:
    """1 between the second and third of four increasing corners, 0 beyond the first and fourth, half a cosine between."""
    f1, f2, f3, f4 = corners_hz
    f = np.abs(np.asarray(frequency_hz, np.float64))
    rising = 0.5 * (1.0 - np.cos(np.pi * np.clip((f - f1) / (f2 - f1), 0.0, 1.0)))
    falling = 0.5 * (1.0 + np.cos(np.pi * np.clip((f - f3) / (f4 - f3), 0.0, 1.0)))
    return np.asarray(np.where(f < f2, rising, falling))
