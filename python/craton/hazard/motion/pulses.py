"""The pulse of the forces: what is left of an impulse that a grid can carry. Seismograms by reciprocity have gone through it.

flat      a sinc whose spectrum is 1 as far as it can be and falls to 5 % at `highest_hz`: an error function about the corner 0.75
          highest_hz, whose deviation is 0.15 highest_hz. 5 % are missing at 0.5 highest_hz, 1 % at 0.4, 0.1 % at 0.29.
gaussian  exp(-t^2 / 2 sigma^2), spectrum exp(-(2 pi f sigma)^2 / 2): shorter, but 5 % are missing at 0.13 of the frequency at which
          5 % are left.
"""

from __future__ import annotations

import math

import numpy as np
import scipy
from numpy.typing import ArrayLike, NDArray

__all__ = ["flat_pulse", "flat_spectrum", "flat_text", "gaussian_spectrum", "left_until"]

Array = NDArray[np.float64]
DEVIATION = 0.15
"""Of highest_hz."""
CORNER = 1 - 1.6448536269514722 * DEVIATION
"""Of highest_hz: the error function is 5 % so many deviations above it."""
HALF_WIDTHS = 3.5
"""Of the gaussian that ends the sinc, before and after the middle."""
SAMPLES_PER_PERIOD = 40.0
"""Of highest_hz: the series is read with straight lines."""


def flat_pulse(highest_hz: float) -> tuple[Array, Array]:
    """Times from 0, s, and values, largest 1, in the middle."""
    width = 1 / (2 * math.pi * DEVIATION * highest_hz)
    half = math.ceil(HALF_WIDTHS * width * highest_hz * SAMPLES_PER_PERIOD)
    t = np.arange(-half, half + 1) / (SAMPLES_PER_PERIOD * highest_hz)
    values = np.sinc(2 * CORNER * highest_hz * t) * np.exp(-0.5 * (t / width) ** 2)
    return t - t[0], values


def flat_spectrum(frequency_hz: ArrayLike, highest_hz: float) -> Array:
    """What the pulse leaves of a motion of that frequency."""
    f = np.asarray(frequency_hz, float) / highest_hz
    found: Array = scipy.special.ndtr((CORNER - f) / DEVIATION) - scipy.special.ndtr((-CORNER - f) / DEVIATION)
    return found


def gaussian_spectrum(frequency_hz: ArrayLike, sigma_s: float) -> Array:
    """What a gaussian pulse leaves of a motion of that frequency."""
    return np.asarray(np.exp(-0.5 * (2 * np.pi * np.asarray(frequency_hz, float) * sigma_s) ** 2))


def left_until(part: float) -> float:
    """The frequency, as a part of highest_hz, up to which the flat pulse leaves that part of a motion or more."""
    return float(CORNER - DEVIATION * scipy.special.ndtri(part))


def flat_text(highest_hz: float) -> str:
    """The pulse as a file that craton waves reads."""
    rows = (f"{t:.9g} {value:.9g}" for t, value in zip(*flat_pulse(highest_hz), strict=True))
    return "\n".join(["# s, part of the force", *rows]) + "\n"
