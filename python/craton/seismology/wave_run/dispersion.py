"""How much too fast or too slow waves are on the grid, what that comes to along a path, and the step that keeps it small.

The scheme's S waves (and Love and Rayleigh waves, nearly) obey

    sin(w dt / 2) = vs dt / h  sqrt(sum over axes of S(k_i h / 2)^2),    S(a) = 9/8 sin a - 1/24 sin 3a

Differences in time make them too fast, in space too slow. In space waves along an axis lose most, at 45 degrees a quarter of it. A
wave of phase velocity c (1 + e) is off by 2 pi |e| of its amplitude after each wavelength, and the sum grows with distance. Of a
motion as a whole that is the root mean square over its spectrum, in which the highest frequencies count little.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import minimize_scalar

from craton.seismology.sources.source_time import SourceTime

__all__ = ["Path", "error_per_wavelength", "path_of", "step_for_path"]

Array = NDArray[np.float64]
FEWEST_CELLS = 2.0
"""To a wavelength: shorter ones are none on the grid."""
DIRECTIONS_DEG = (0.0, 45.0)
"""From an axis, in the horizontal plane: between them errors are between."""
TRIED = 64
"""Steps that are looked at."""
FREQUENCIES, SAMPLES = 64, 2048
"""Of a source's spectrum, up to its highest; and of its time function."""


@dataclass(frozen=True, eq=False)
class Path:
    """The longest that waves take, as S waves of the slowest ground: at most so many wavelengths, and so large an error."""

    length_m: float
    vs: float
    frequency_hz: Array
    """(n,) of the source, up to its highest"""
    weight: Array
    """(n,): of velocity's spectrum, squared"""

    @property
    def wavelengths(self) -> float:
        """How many there are, of the highest frequency."""
        return self.length_m * float(self.frequency_hz[-1]) / self.vs

    def error(self, spacing_m: float, dt_s: float) -> float:
        """What the motion at its end is off by, as a part of it (relative L2)."""
        wavelength = self.vs / self.frequency_hz
        off = self.length_m / wavelength * error_per_wavelength(wavelength / spacing_m, self.vs * dt_s / spacing_m)
        return float(np.sqrt(np.average(off**2, weights=self.weight)))


def path_of(length_m: float, vs: float, time_function: SourceTime) -> Path:
    """The path of waves of a source. vs: of the slowest ground, m/s."""
    frequency = time_function.highest_frequency_hz * np.arange(1, FREQUENCIES + 1) / FREQUENCIES
    times = time_function.end_s * (np.arange(SAMPLES) + 0.5) / SAMPLES
    spectrum = np.abs(np.exp(-2j * math.pi * np.outer(frequency, times)) @ time_function.rate(times))
    return Path(length_m, vs, frequency, (frequency * spectrum) ** 2)


def error_per_wavelength(cells: ArrayLike, courant: float) -> Array:
    """Of the worst direction, as a part of the amplitude. cells: of a wavelength; courant: vs dt / h."""
    half = math.pi / np.maximum(np.asarray(cells, float), FEWEST_CELLS)
    worst = np.zeros_like(half)
    for angle in np.radians(DIRECTIONS_DEG):
        along = [half * math.cos(angle), half * math.sin(angle)]
        difference = np.hypot(*(9 / 8 * np.sin(a) - np.sin(3 * a) / 24 for a in along))
        speed = np.arcsin(np.minimum(courant * difference, 1.0)) / (courant * half)
        worst = np.maximum(worst, np.abs(speed - 1))
    return np.asarray(2 * math.pi * worst)


def step_for_path(path: Path, spacing_m: float, largest_s: float, wanted: float) -> float:
    """The largest step, up to largest_s, with which the error at the path's end is as wanted; else that of the least error."""
    steps = largest_s * np.arange(TRIED, 0, -1) / TRIED
    errors = [path.error(spacing_m, float(dt_s)) for dt_s in steps]
    enough = [float(dt_s) for dt_s, error in zip(steps, errors, strict=True) if error <= wanted]
    if enough:
        return enough[0]
    best = float(steps[int(np.argmin(errors))])
    if best == steps[0]:
        return best
    ends = (best - largest_s / TRIED, best + largest_s / TRIED)
    found = minimize_scalar(lambda dt_s: path.error(spacing_m, dt_s), bounds=ends, method="bounded")
    return float(found.x) if found.fun < min(errors) else best
