"""A forecast: ruptures with their annual rates, and the variations that came with slip of their own.

    forecast = Forecast(tuple(fault_ruptures(fault, frequency)))
    forecast.probabilities(50)                 # of each rupture at least once in 50 years
    forecast.check_inside(size_m, "basin.h5")  # or one line

Rates and probabilities are of a Poisson process: P = 1 - exp(-rate t).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from craton.errors import UserError
from craton.hazard.forecast.rupture import Array, Rupture, Variation

__all__ = ["Forecast", "annual_rate", "checked_years"]


def checked_years(years: float) -> float:
    """A time span in years, as it is. UserError for one that cannot be."""
    if not (math.isfinite(years) and years > 0):
        raise UserError(f"time span of {years:g} years; allowed: above 0")
    return float(years)


def annual_rate(probability: float, years: float, where: str = "") -> float:
    """Rate per year of the Poisson process that has this probability in so many years.

    UserError, which begins with `where`, for what is no probability, and for 1, which no rate has.
    """
    if not 0 <= probability < 1:
        raise UserError(f"{where + ': ' if where else ''}probability = {probability:g}; allowed: 0 to 1, below 1")
    return -math.log1p(-probability) / checked_years(years)


@dataclass(frozen=True)
class Forecast:
    """Ruptures, and variations of those that came with slip of their own."""

    ruptures: tuple[Rupture, ...]
    variations: tuple[Variation, ...] = ()
    """each with the index of its rupture here"""

    @property
    def annual_rates(self) -> Array:
        """(n,): of each rupture."""
        return np.array([one.annual_rate for one in self.ruptures], float)

    @property
    def magnitudes(self) -> Array:
        """(n,): of each rupture."""
        return np.array([one.magnitude for one in self.ruptures], float)

    @property
    def sources(self) -> tuple[str, ...]:
        """The source of each rupture."""
        return tuple(one.source for one in self.ruptures)

    def probabilities(self, years: float) -> Array:
        """(n,): of each rupture, to happen at least once."""
        return -np.expm1(-self.annual_rates * checked_years(years))

    def outside(self, size_m: Sequence[float]) -> tuple[int, ...]:
        """Indices of the ruptures with a subfault outside 0 to size_m (x, y, z)."""
        return tuple(i for i, one in enumerate(self.ruptures) if one.surface.outside(0.0, size_m).any())

    def check_inside(self, size_m: Sequence[float], volume: str = "the model") -> None:
        """Refuses the first subfault outside 0 to size_m (x, y, z): UserError. Nothing is left out in silence."""
        for index in self.outside(size_m)[:1]:
            one = self.ruptures[index]
            subfault = np.argmax(one.surface.outside(0.0, size_m))
            at, highest = (", ".join(f"{v:.0f}" for v in m) for m in (one.surface.positions[subfault], size_m))
            raise UserError(
                f"{one.name} (M {one.magnitude:g}): a subfault at ({at}) m is outside {volume}; "
                f"allowed: x, y, z from 0 to ({highest}) m"
            )

    def without(self, left_out: Iterable[int]) -> Forecast:
        """The rest of the ruptures, with indices moved up, also those of variations."""
        gone = set(left_out)
        kept = [index for index in range(len(self.ruptures)) if index not in gone]
        new = {old: index for index, old in enumerate(kept)}
        return Forecast(
            tuple(self.ruptures[index] for index in kept),
            tuple(replace(one, rupture=new[one.rupture]) for one in self.variations if one.rupture in new),
        )

    def __add__(self, other: Forecast) -> Forecast:
        moved = (replace(one, rupture=one.rupture + len(self.ruptures)) for one in other.variations)
        return Forecast((*self.ruptures, *other.ruptures), (*self.variations, *moved))
