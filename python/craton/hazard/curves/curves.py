"""Hazard curves: how probable it is that shaking exceeds a level at least once in a time span.

    P(x) = 1 - product over ruptures of (1 - P_rup)^(1 - F_rup(x))

P_rup the rupture's probability in the time span, F_rup the distribution of shaking over its variations, here as they were counted.
With P_rup = 1 - exp(-rate t) that is 1 - exp(-t sum of rate (1 - F)). The sum is rounded once, as if it had been made without error
(math.fsum): it is the same to the bit in whatever order ruptures come, from however many ranks.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton.errors import UserError
from craton.hazard.forecast.forecast import Forecast, checked_years
from craton.hazard.forecast.rupture import Array

__all__ = ["HazardCurve", "combined", "exceedance", "hazard_curve", "levels_g", "rupture_exceedances"]


def levels_g() -> Array:
    """51 levels from 1e-4 to 10 g, ten in a decade."""
    return 10 ** (np.arange(51) / 10 - 4)


@dataclass(frozen=True, eq=False)
class HazardCurve:
    """The hazard curve of one site and one measure of shaking."""

    site: str
    measure: str
    """as OpenQuake writes it: PGA, PGV, SA(3.0)"""
    years: float
    levels: Array
    """(n,), growing; g (PGV: cm/s)"""
    probability: Array
    """(n,)"""
    note: str = ""
    """why it is not to be trusted, as of a period that the waves do not resolve; "" where nothing is against it"""

    def probability_at(self, level: ArrayLike) -> Array:
        """Probability of exceeding each level: linear between the curve's levels, as at the ends beyond them."""
        return np.asarray(np.interp(np.asarray(level, float), self.levels, self.probability))

    def level_at(self, probability: float) -> float:
        """The level that is exceeded with this probability, linear between the levels.

        0 if it is below the first, NaN if it is above the last. Where the curve is flat, the highest of the levels.
        """
        if not 0 < probability < 1:
            raise UserError(f"probability = {probability:g}; allowed: above 0, below 1")
        if self.probability[0] < probability:
            return 0.0
        below = np.flatnonzero(self.probability < probability)
        if not len(below):
            return math.nan
        b = int(below[0])
        (x0, x1), (p0, p1) = self.levels[b - 1 : b + 1], self.probability[b - 1 : b + 1]
        return float(x0 + (x1 - x0) * (p0 - probability) / (p0 - p1))

    def annual_rates(self) -> Array:
        """Annual rates of exceedance (n,): -log(1 - P) / t."""
        return -np.log1p(-self.probability) / self.years


def exceedance(values: ArrayLike, levels: ArrayLike) -> Array:
    """1 - F: the part of the values above each level. UserError for no values and for what is no number."""
    found = np.sort(np.asarray(values, float).ravel())
    if not len(found):
        raise UserError("no shaking of any variation; allowed: one value at least")
    if not (np.isfinite(found).all() and found[0] >= 0):
        raise UserError("shaking of a variation that is no number of 0 or more; allowed: finite numbers, 0 or more")
    return 1 - np.searchsorted(found, np.asarray(levels, float), side="right") / len(found)


def combined(exceedances: ArrayLike, annual_rates: ArrayLike, years: float) -> Array:
    """Probabilities P(x) (levels,) of ruptures with 1 - F (ruptures, levels) and rates (ruptures,)."""
    above, rates = np.asarray(exceedances, float), np.asarray(annual_rates, float)
    if above.ndim != 2 or rates.shape != above.shape[:1]:
        raise UserError(f"exceedances of shape {above.shape} and {rates.size} rates; allowed: one row for each rupture")
    if not np.all((above >= 0) & (above <= 1)):
        raise UserError("an exceedance outside 0 to 1; allowed: probabilities")
    if not np.all((rates >= 0) & np.isfinite(rates)):
        raise UserError("a rate below 0, or of no number; allowed: 0 or more per year")
    expected = np.array([math.fsum(column) for column in (above * rates[:, None]).T])
    return -np.expm1(-checked_years(years) * expected)


def rupture_exceedances(
    variation_ruptures: Sequence[int] | NDArray[np.int64], values: ArrayLike, ruptures: int, levels: ArrayLike
) -> Array:
    """1 - F (ruptures, levels) of each rupture from its variations' shaking.

    variation_ruptures: (variations,), the rupture of each; values: (variations,). UserError for a rupture without a variation: it
    would count as if it never shook.
    """
    owner, found = np.asarray(variation_ruptures, np.int64), np.asarray(values, float)
    if owner.shape != found.shape or owner.ndim != 1:
        raise UserError(f"{owner.size} variations and {found.size} values; allowed: one value for each")
    if len(owner) and not (owner.min() >= 0 and owner.max() < ruptures):
        wrong = owner[(owner < 0) | (owner >= ruptures)][0]
        raise UserError(f"a variation of rupture {wrong}; allowed: 0 to {ruptures - 1}")
    missing = np.flatnonzero(np.bincount(owner, minlength=ruptures) == 0)
    if len(missing):
        raise UserError(
            f"{len(missing)} of {ruptures} ruptures have no shaking, the first is rupture {missing[0]}; allowed: one variation "
            "of each at least, or a forecast without them"
        )
    order = np.argsort(owner, kind="stable")
    first = np.searchsorted(owner[order], np.arange(ruptures + 1))
    return np.array([exceedance(found[order[a:b]], levels) for a, b in zip(first, first[1:], strict=False)])


def hazard_curve(
    forecast: Forecast,
    variation_ruptures: Sequence[int] | NDArray[np.int64],
    values: ArrayLike,
    *,
    years: float = 1.0,
    site: str = "",
    measure: str = "PGA",
    levels: ArrayLike | None = None,
) -> HazardCurve:
    """The curve of one site from the shaking of all variations: values (variations,) in the units of the levels (g)."""
    at = levels_g() if levels is None else np.asarray(levels, float)
    if at.ndim != 1 or not len(at) or np.any(np.diff(at) <= 0) or not np.isfinite(at).all():
        raise UserError(f"{at.size} levels that do not grow; allowed: finite levels, each above the one before")
    above = rupture_exceedances(variation_ruptures, values, len(forecast.ruptures), at)
    return HazardCurve(site, measure, checked_years(years), at, combined(above, forecast.annual_rates, years))
