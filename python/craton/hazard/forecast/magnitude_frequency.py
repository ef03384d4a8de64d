"""How often which magnitude: a few magnitudes with an annual rate each, and the usual shapes balanced with a moment rate.

characteristic        one magnitude, or a normal distribution about it cut at two standard deviations
gutenberg_richter     log10 N = a - b M, between two magnitudes
youngs_coppersmith    exponential, with a box of characteristic events half a magnitude wide at its upper end (Youngs and
                      Coppersmith 1985, eq. 17 to 21)

Moment rate in N m per year: rigidity x area x slip rate. It is balanced over the magnitudes as they are listed (middles of bins),
so that what is simulated releases what is put in.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton.errors import UserError
from craton.hazard.forecast.rupture import Array

__all__ = [
    "MagnitudeFrequency",
    "characteristic",
    "gutenberg_richter",
    "magnitude_frequency",
    "moment_Nm",
    "youngs_coppersmith",
]

CUT_SIGMAS = 2.0
LOWEST, HIGHEST = -2.0, 10.5
"""Of magnitudes that are taken for such."""
BOX, BELOW_BOX = 0.5, 1.0
"""Youngs and Coppersmith's delta m_c and delta m_1: width of the box, and how far below its lower end the exponential has the box's
density."""


def moment_Nm(magnitude: ArrayLike) -> Array:
    """Moment in N m: Hanks and Kanamori 1979, in the constants of IASPEI 2005, as sources of waves have it."""
    return np.asarray(10 ** (1.5 * np.asarray(magnitude, float) + 9.1))


@dataclass(frozen=True)
class MagnitudeFrequency:
    """Magnitudes (n,) and the annual rate (n,) of each."""

    magnitudes: Array
    annual_rates: Array

    @property
    def moment_rate_Nm(self) -> float:
        """Moment rate, N m per year."""
        return math.fsum(moment_Nm(self.magnitudes) * self.annual_rates)

    def balanced(self, moment_rate_Nm: float) -> MagnitudeFrequency:
        """The same shape with another moment rate."""
        return MagnitudeFrequency(self.magnitudes, self.annual_rates * (moment_rate_Nm / self.moment_rate_Nm))


def magnitude_frequency(magnitudes: ArrayLike, annual_rates: ArrayLike, what: str = "magnitudes") -> MagnitudeFrequency:
    """Magnitudes with rates, checked: as many of both, magnitudes that can be, rates of 0 or more. `what` begins the UserError."""
    m, rates = np.atleast_1d(np.asarray(magnitudes, float)), np.atleast_1d(np.asarray(annual_rates, float))
    if m.ndim != 1 or m.shape != rates.shape or not len(m):
        raise UserError(f"{what}: {m.size} magnitudes and {rates.size} rates; allowed: as many of both, one at least")
    if not np.all((m >= LOWEST) & (m <= HIGHEST)):
        raise UserError(f"{what}: magnitude {_first(m, m < LOWEST, m > HIGHEST):g}; allowed: {LOWEST:g} to {HIGHEST:g}")
    if not np.all((rates >= 0) & np.isfinite(rates)):
        raise UserError(f"{what}: rate {_first(rates, rates < 0):g} per year; allowed: 0 or more")
    return MagnitudeFrequency(m, rates)


def _first(values: Array, *wrong: NDArray[np.bool_]) -> float:
    """The first that is wrong, or is no finite number."""
    return float(values[np.any([*wrong, ~np.isfinite(values)], axis=0)][0])


def characteristic(
    magnitude: float, moment_rate_Nm: float, *, sigma: float = 0.0, bin_width: float = 0.1
) -> MagnitudeFrequency:
    """One magnitude, or several about it. sigma: its standard deviation; 0: always the same."""
    _check("sigma", sigma, 0, 1)
    shape = magnitude_frequency([magnitude], [1.0], "characteristic")
    if sigma > 0:
        edges = _edges(magnitude - CUT_SIGMAS * sigma, magnitude + CUT_SIGMAS * sigma, bin_width)
        below = np.array([math.erf((edge - magnitude) / (sigma * math.sqrt(2))) for edge in edges])
        shape = magnitude_frequency(_middles(edges), np.diff(below), "characteristic")
    return shape.balanced(_moment_rate(moment_rate_Nm))


def gutenberg_richter(
    b_value: float,
    smallest: float,
    largest: float,
    *,
    moment_rate_Nm: float | None = None,
    a_value: float | None = None,
    bin_width: float = 0.1,
) -> MagnitudeFrequency:
    """Gutenberg and Richter's frequencies, truncated at both ends, of a moment rate or of a_value.

    With a_value, N(M) = 10^(a - b M) is the rate of M and above without the truncation (as in NRML). Bins divide the range evenly
    and are about bin_width wide.
    """
    _check("b_value", b_value, 0, 5)
    edges = _edges(smallest, largest, bin_width)
    above = 10 ** (-b_value * (edges - edges[0]))
    rates = -np.diff(above) if b_value > 0 else np.diff(edges)
    shape = magnitude_frequency(_middles(edges), rates, "Gutenberg-Richter")
    if (moment_rate_Nm is None) == (a_value is None):
        raise UserError("Gutenberg-Richter: a moment rate and a_value, or neither; allowed: one of them")
    if moment_rate_Nm is not None:
        return shape.balanced(_moment_rate(moment_rate_Nm))
    _check("a_value", float(a_value or 0), -50, 50)
    if not b_value > 0:
        raise UserError(f"b_value = {b_value:g} with a_value; allowed: above 0")
    return MagnitudeFrequency(shape.magnitudes, rates * 10 ** (float(a_value or 0) - b_value * edges[0]))


def youngs_coppersmith(
    b_value: float, smallest: float, characteristic_magnitude: float, moment_rate_Nm: float, *, bin_width: float = 0.1
) -> MagnitudeFrequency:
    """An exponential with a box, from a quarter of a magnitude below the characteristic one to a quarter above.

    In the box the density is that of the exponential one magnitude below it.
    """
    _check("b_value", b_value, 0, 5)
    foot, top = characteristic_magnitude - BOX / 2, characteristic_magnitude + BOX / 2
    if not smallest < foot:
        raise UserError(
            f"Youngs-Coppersmith: smallest magnitude {smallest:g}; allowed: below {foot:g}, where the box begins"
        )
    beta = b_value * math.log(10)
    low, high = _edges(smallest, foot, bin_width), _edges(foot, top, bin_width)
    exponential = -np.diff(np.exp(-beta * (low - smallest))) / beta if beta > 0 else np.diff(low)
    box = np.diff(high) * math.exp(-beta * (foot - BELOW_BOX - smallest))
    magnitudes = np.concatenate([_middles(low), _middles(high)])
    shape = magnitude_frequency(magnitudes, np.concatenate([exponential, box]), "Youngs-Coppersmith")
    return shape.balanced(_moment_rate(moment_rate_Nm))


def _edges(low: float, high: float, bin_width: float) -> Array:
    _check("bin_width", bin_width, 1e-3, 5)
    if not LOWEST <= low <= high <= HIGHEST:
        raise UserError(
            f"magnitudes from {low:g} to {high:g}; allowed: the smaller first, both in {LOWEST:g} to {HIGHEST:g}"
        )
    if low == high:
        raise UserError(f"magnitudes from {low:g} to {high:g}; allowed: a range")
    return np.linspace(low, high, max(1, round((high - low) / bin_width)) + 1)


def _middles(edges: Array) -> Array:
    return (edges[:-1] + edges[1:]) / 2


def _moment_rate(value: float) -> float:
    if not (math.isfinite(value) and value >= 0):
        raise UserError(f"moment rate {value:g} N m per year; allowed: 0 or more")
    return value


def _check(name: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise UserError(f"{name} = {value:g}; allowed: {low:g} to {high:g}")
