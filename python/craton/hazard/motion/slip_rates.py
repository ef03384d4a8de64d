"""Slip rates of a given shape by their spectra: a table over rise times, between which the kernels interpolate.

The slip rate of a subfault is slip / rise * f((t - onset) / rise), where f is a time function of craton.waves of unit duration
(liu, cosine, triangle). Its spectrum about the centre m of f is slip * exp(-i w (onset + m rise)) * B(w rise),

    B(x) = integral of f(s) exp(-i x (s - m)) ds,   B(0) = 1.

Rise times of the table are 2 % apart, RATIO^n seconds for whole n whatever the range, so that what is read between two of them
depends on them alone. Straight lines between them are wrong by at most RATIO's logarithm squared / 8 times B's second derivative
by ln x: 1e-4 of B(0) for these shapes (test_hazard_seismograms.py).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import scipy
from numpy.typing import NDArray

from craton.errors import UserError
from craton.seismology.sources.source_time import Cosine, Liu, SourceTime, Triangle

__all__ = ["SHAPES", "SlipRates", "slip_rates", "time_function"]

Array = NDArray[np.float64]
SHAPES: dict[str, type[Any]] = {"liu": Liu, "cosine": Cosine, "triangle": Triangle}
RATIO = 1.02
SAMPLES = 4096
"""Of a shape, for its spectrum."""
PERIOD = 2**19
"""Of the transform that makes it, in samples."""
STEP = 2 * math.pi * SAMPLES / PERIOD
"""Of x, about 0.05, between which the spectrum is a cubic spline."""


@dataclass(frozen=True)
class SlipRates:
    """B of rise times RATIO^(first + n) at frequencies j / period_s."""

    shape: str
    first: int
    values: NDArray[np.complex64]
    """(rise times, frequencies)"""

    @property
    def centre(self) -> float:
        """Centre of the shape, in rise times."""
        return _shape(self.shape)[0]

    def covers(self, shortest_s: float, longest_s: float) -> bool:
        """Whether the table has rise times from the shortest to the longest."""
        return (
            self.first <= math.log(shortest_s, RATIO)
            and math.log(longest_s, RATIO) <= self.first + len(self.values) - 1
        )

    def places(self, rise_s: Array) -> Array:
        """Where rise times are in the table: 2.25 is a quarter of the way from the third to the fourth."""
        return np.clip(np.log(rise_s) / math.log(RATIO) - self.first, 0, len(self.values) - 1)


def time_function(shape: str, rise_s: float) -> SourceTime:
    """The slip rate of unit slip, as craton.waves has it. UserError for an unknown shape."""
    if shape not in SHAPES:
        raise UserError(f"slip rate '{shape}'; allowed: {', '.join(SHAPES)}")
    made: SourceTime = SHAPES[shape](rise_s)
    return made


def slip_rates(shape: str, shortest_s: float, longest_s: float, period_s: float, frequencies: int) -> SlipRates:
    """The table of a shape for a range of rise times, at frequencies 0, 1 / period_s, ... (frequencies - 1) / period_s.

    UserError for an unknown shape.
    """
    time_function(shape, 1.0)
    first, last = math.floor(math.log(shortest_s, RATIO)), math.ceil(math.log(longest_s, RATIO))
    rises = RATIO ** np.arange(first, max(last, first + 1) + 1)
    x = 2 * np.pi / period_s * np.arange(frequencies) * rises[:, None]
    values = _spectrum(shape, math.ceil((x.max() + 1) / 64))(x)
    if shape != "liu":  # symmetric: what is left of the imaginary part is rounding
        values = values.real
    return SlipRates(shape, first, np.ascontiguousarray(values, np.complex64))


@lru_cache(maxsize=8)
def _shape(shape: str) -> tuple[float, Array, Array]:
    """The centre, times about it, and weights of unit sum."""
    s = (np.arange(SAMPLES) + 0.5) / SAMPLES
    weight = time_function(shape, 1.0).rate(s)
    weight = weight / weight.sum()
    centre = float(weight @ s)
    return centre, s - centre, weight


@lru_cache(maxsize=32)
def _spectrum(shape: str, blocks: int) -> scipy.interpolate.CubicSpline:
    """B(x) up to x = 64 blocks and a little more."""
    _, s, weight = _shape(shape)
    steps = np.arange(math.ceil(64 * blocks / STEP) + 2)
    values = scipy.fft.fft(weight, PERIOD)[steps % PERIOD] * np.exp(-1j * STEP * s[0] * steps)
    return scipy.interpolate.CubicSpline(STEP * steps, values)
