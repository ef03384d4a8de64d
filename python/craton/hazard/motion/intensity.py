"""Intensity measures of ground motion: peaks, response spectra, rotated measures, durations.

PSA is (2 pi / T)^2 times the largest displacement, at the samples, of an oscillator. The acceleration drives it as straight lines
between samples: exact there (Nigam and Jennings 1969). As in other codes, peaks between samples are not looked for: up to
1 - cos(pi dt / T) of one is missing, times 1 + a / PSA for an acceleration a of the ground at that time. T = 0 stands for the
acceleration itself. RotD50 and RotD100: median and largest over 180 rotations of the horizontal components (Boore 2010).
Durations: between two parts of the Arias integral.

Accelerations are differences of sixth order of velocities (include/craton/apps/hazard/kernels/motion.hpp): 1e-5 too small at 19
samples per period, 1e-3 at 9.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton import _craton
from craton.errors import UserError

__all__ = ["Measures", "accelerations", "measure_records", "response_spectra"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Measures:
    """Measures of n records. Rotated ones and means have no columns where a horizontal component is missing."""

    periods_s: Array
    components: tuple[str, ...]
    damping: float
    psa: Array
    """(n, component, period), m/s^2"""
    rotd50: Array
    """(n, period), m/s^2"""
    rotd100: Array
    geometric_mean: Array
    """(n, period), of x and y, m/s^2"""
    pga: Array
    """(n, component), m/s^2"""
    pgv: Array
    """(n, component), m/s"""
    duration_5_75: Array
    """(n, component), s"""
    duration_5_95: Array

    def __len__(self) -> int:
        return len(self.psa)

    def columns(self) -> list[str]:
        """Names of the columns of table()."""
        periods = [f"{period:g}" for period in self.periods_s]
        names = [f"psa_{c}_{period}" for c in self.components for period in periods]
        for name in ("rotd50", "rotd100", "geometric_mean"):
            names += [f"{name}_{period}" for period in periods[: getattr(self, name).shape[1]]]
        for name in ("pga", "pgv", "duration_5_75", "duration_5_95"):
            names += [f"{name}_{c}" for c in self.components]
        return names

    def table(self) -> Array:
        """All measures, (n, columns)."""
        return np.concatenate([getattr(self, name).reshape(len(self), -1) for name in TABLES], axis=1)

    @staticmethod
    def joined(parts: Sequence[Measures]) -> Measures:
        """Records of several, one after the other; all have the same components, periods and damping."""
        first = parts[0]
        return Measures(
            first.periods_s,
            first.components,
            first.damping,
            **{name: np.concatenate([getattr(part, name) for part in parts]) for name in TABLES},
        )


TABLES = tuple(item.name for item in fields(Measures))[3:]


def measure_records(
    velocity: NDArray[np.float32],
    dt_s: float,
    periods_s: ArrayLike,
    *,
    components: Sequence[str] = ("x", "y", "z"),
    damping: float = 0.05,
) -> Measures:
    """Measures of velocities (n, component, time) in m/s; x and y come first where there are both. Not collective.

    UserError for what cannot be a period or a damping, and for numbers that are not finite.
    """
    periods = np.ascontiguousarray(np.ravel(np.asarray(periods_s, float)))
    velocity = np.ascontiguousarray(velocity, np.float32)
    if velocity.ndim != 3 or velocity.shape[1] != len(components) or not velocity.shape[2]:
        raise UserError(
            f"velocities of shape {velocity.shape}; allowed: (records, {len(components)} components, samples)"
        )
    acceleration = accelerations(velocity, dt_s)
    horizontal = tuple(components[:2]) == ("x", "y")
    psa, rotd50, rotd100 = response_spectra(acceleration, dt_s, periods, damping=damping, rotated=horizontal)
    none = np.empty((len(velocity), 0))
    return Measures(
        periods,
        tuple(components),
        damping,
        psa,
        rotd50 if horizontal else none,
        rotd100 if horizontal else none,
        np.sqrt(psa[:, 0] * psa[:, 1]) if horizontal else none,
        np.abs(acceleration).max(axis=2),
        np.abs(velocity).max(axis=2).astype(np.float64),
        _craton.significant_durations(acceleration, dt_s, 0.05, 0.75),
        _craton.significant_durations(acceleration, dt_s, 0.05, 0.95),
    )


def accelerations(velocity: NDArray[np.float32], dt_s: float) -> Array:
    """Accelerations (n, component, time), m/s^2, of velocities, m/s, in the same form."""
    if not dt_s > 0:
        raise UserError(f"samples every {dt_s:g} s; allowed: above 0 s")
    return _craton.accelerations(np.ascontiguousarray(velocity, np.float32), dt_s)


def response_spectra(
    acceleration: ArrayLike, dt_s: float, periods_s: ArrayLike, *, damping: float = 0.05, rotated: bool = True
) -> tuple[Array, Array, Array]:
    """PSA (n, component, period), RotD50 and RotD100 (n, period) of accelerations (n, component, time), in their unit.

    Without `rotated`, RotD50 and RotD100 are empty.
    """
    records = np.ascontiguousarray(acceleration, np.float64)
    if records.ndim != 3:
        raise UserError(f"accelerations of shape {records.shape}; allowed: (records, components, samples)")
    periods = np.ascontiguousarray(np.ravel(np.asarray(periods_s, float)))
    return _craton.response_spectra(records, dt_s, periods, damping, rotated)
