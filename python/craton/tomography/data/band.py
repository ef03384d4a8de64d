"""The band that data and seismograms are of."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton.seismology.band_pass import cosine_gain

f64 = NDArray[np.float64]


def band_pass_gain(periods_s: tuple[float, ...], frequency_Hz: ArrayLike) -> f64:
    """The inversion's own band-pass: a cosine taper in frequency between 1/T1 < 1/T2 < 1/T3 < 1/T4; 1 between T2 and T3.

    Every mode of the forward problem is weighted with this gain at its own frequency (band_pass_gain in the C++ sources).
    """
    return cosine_gain([1.0 / period for period in periods_s], frequency_Hz)
