"""What makes the hazard of a site: shares of the rate of exceeding a level, by magnitude, distance, source and epsilon.

Each rupture gives rate x (1 - F(x)); a share is a sum of those over the sum of all, so shares add up to 1. (A probability would not
divide: of rare events it is the same.)

Epsilon says how unusual the shaking is for its rupture: by how many standard deviations ln(shaking) of a variation is above the
mean of the rupture's variations. A rupture's share is spread evenly over its variations above the level. With a ground-motion model
epsilon is the same, but mean and deviation are the model's; here they are those of the simulated earthquakes.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton.errors import UserError
from craton.hazard.forecast.forecast import Forecast
from craton.hazard.forecast.rupture import Array
from craton.hazard.forecast.surfaces import rupture_distance

__all__ = ["EPSILON_EDGES", "Disaggregation", "disaggregate", "distances_to", "epsilons"]

EPSILON_EDGES = (-math.inf, -1.0, -0.5, 0.0, 0.5, 1.0, 2.0, math.inf)
"""Of the bins of epsilon, as they are usual: narrow in the middle, open at both ends."""


@dataclass(frozen=True, eq=False)
class Disaggregation:
    """What makes the hazard of one site, measure and level."""

    level: float
    annual_rate: float
    """of exceeding the level"""
    magnitude_edges: Array
    """(m + 1,)"""
    distance_edges_m: Array
    """(d + 1,)"""
    shares: Array
    """(m, d, sources)"""
    sources: tuple[str, ...]
    ruptures: Array
    """(ruptures,): the share of each"""
    mean_magnitude: float
    mean_distance_m: float
    epsilon_shares: Array | None = None
    """(m, d, epsilon), bins of EPSILON_EDGES: shares of all sources together; None where variations are not known"""
    mean_epsilon: float = math.nan
    note: str = ""
    """that of the curve whose level it is"""

    @property
    def middles(self) -> tuple[Array, Array]:
        """Magnitudes (m,) and distances (d,) in km: the middles of the bins."""
        m, d = self.magnitude_edges, self.distance_edges_m
        return 0.5 * (m[1:] + m[:-1]), 0.5e-3 * (d[1:] + d[:-1])

    def bins(self) -> Iterator[tuple[float, float, str, float]]:
        """Magnitude, distance in km, source and share of each bin that has a share."""
        magnitudes, distances_km = self.middles
        for i, j, k in np.argwhere(self.shares > 0):
            yield float(magnitudes[i]), float(distances_km[j]), self.sources[k], float(self.shares[i, j, k])

    def epsilon_bins(self) -> Iterator[tuple[float, float, float, float, float]]:
        """Magnitude, distance in km, both ends of epsilon, and share of each bin that has one; none where epsilon is not known."""
        if self.epsilon_shares is not None:
            magnitudes, distances_km = self.middles
            for i, j, k in np.argwhere(self.epsilon_shares > 0):
                of_bin = float(magnitudes[i]), float(distances_km[j]), EPSILON_EDGES[k], EPSILON_EDGES[k + 1]
                yield (*of_bin, float(self.epsilon_shares[i, j, k]))

    @property
    def filled_bins(self) -> int:
        """Bins of magnitude, distance and epsilon (where it is known) that have a share."""
        return int(np.count_nonzero(self.shares.sum(axis=2) if self.epsilon_shares is None else self.epsilon_shares))

    def by_epsilon(self) -> Array:
        """Shares (epsilon,) of all magnitudes and distances; empty where variations are not known."""
        return np.zeros(0) if self.epsilon_shares is None else np.asarray(self.epsilon_shares.sum(axis=(0, 1)))

    def by_magnitude_distance(self) -> Array:
        """Shares (m, d) of all sources together."""
        return np.asarray(self.shares.sum(axis=2))

    def by_source(self) -> dict[str, float]:
        """The share of each source, the largest first."""
        shares = self.shares.sum(axis=(0, 1))
        return {self.sources[i]: float(shares[i]) for i in np.argsort(-shares, kind="stable")}

    def largest_rupture(self) -> int:
        """Index in the forecast of the rupture with the largest share: (D) of the paper's figure 1."""
        return int(np.argmax(self.ruptures))


def distances_to(forecast: Forecast, site_m: ArrayLike) -> Array:
    """Distances (ruptures,) in m from a site (x, y) or (x, y, z) to each rupture."""
    known: dict[int, float] = {}  # characteristic faults share one surface
    for one in forecast.ruptures:
        if id(one.surface) not in known:
            known[id(one.surface)] = float(rupture_distance(one.surface, site_m)[0])
    return np.array([known[id(one.surface)] for one in forecast.ruptures])


def epsilons(variation_ruptures: ArrayLike, values: ArrayLike, ruptures: int) -> Array:
    """(variations,): by how many standard deviations of its rupture's variations ln(value) is above their mean.

    0 where a rupture's variations do not differ, or there is one only; shaking of 0 is below all.
    """
    owner = np.asarray(variation_ruptures, np.int64)
    with np.errstate(divide="ignore"):
        found = np.log(np.asarray(values, float))
    known = np.isfinite(found)
    count = np.maximum(np.bincount(owner[known], minlength=ruptures), 1)
    mean = np.bincount(owner[known], found[known], ruptures) / count
    apart = np.where(known, found - mean[owner], 0.0)
    sigma = np.sqrt(np.bincount(owner, apart**2, ruptures) / count)
    # what is left of equal values is rounding
    spread = sigma[owner] > 1e-9
    apart = np.divide(apart, sigma[owner], out=np.zeros(len(owner)), where=spread)
    return np.where(known, apart, -math.inf)


def disaggregate(
    forecast: Forecast,
    exceedances: ArrayLike,
    distances_m: ArrayLike,
    level: float,
    *,
    magnitude_width: float = 0.2,
    distance_width_m: float = 10e3,
    variations: tuple[ArrayLike, ArrayLike] | None = None,
) -> Disaggregation:
    """Shares of ruptures with exceedances 1 - F (ruptures,) at a level.

    Bins begin at whole multiples of their widths; a value at an edge belongs above it. variations: the rupture and the shaking of
    each, (variations,), from which epsilon follows. UserError where nothing exceeds the level.
    """
    above, distances = np.asarray(exceedances, float), np.asarray(distances_m, float)
    count = len(forecast.ruptures)
    if above.shape != (count,) or distances.shape != (count,):
        raise UserError(
            f"{above.size} exceedances and {distances.size} distances; allowed: one of each for {count} ruptures"
        )
    contributions = above * forecast.annual_rates
    total = math.fsum(contributions)
    if not total > 0:
        raise UserError(f"no rupture exceeds {level:g}; allowed: a level that is exceeded")
    part = contributions / total
    magnitude_edges, m = _bins(forecast.magnitudes, magnitude_width)
    distance_edges, d = _bins(distances, distance_width_m)
    sources = tuple(dict.fromkeys(forecast.sources))
    s = np.array([sources.index(name) for name in forecast.sources])
    shape = len(magnitude_edges) - 1, len(distance_edges) - 1
    shares = _sums(part, (m, d, s), (*shape, len(sources)))
    epsilon_shares, mean_epsilon = None, math.nan
    if variations is not None:
        owner, values = np.asarray(variations[0], np.int64), np.asarray(variations[1], float)
        above_level = values > level
        of_each = part / np.maximum(np.bincount(owner[above_level], minlength=count), 1)
        epsilon = epsilons(owner, values, count)[above_level]
        owner = owner[above_level]
        e = np.searchsorted(EPSILON_EDGES[1:-1], epsilon, side="right")
        epsilon_shares = _sums(of_each[owner], (m[owner], d[owner], e), (*shape, len(EPSILON_EDGES) - 1))
        mean_epsilon = math.fsum(of_each[owner] * epsilon)
    return Disaggregation(
        float(level),
        total,
        magnitude_edges,
        distance_edges,
        shares,
        sources,
        part,
        math.fsum(part * forecast.magnitudes),
        math.fsum(part * distances),
        epsilon_shares,
        mean_epsilon,
    )


def _bins(values: Array, width: float) -> tuple[Array, NDArray[np.int64]]:
    """Edges, and the bin of each value."""
    if not (math.isfinite(width) and width > 0):
        raise UserError(f"bins of {width:g}; allowed: above 0")
    number = np.floor(values / width + 1e-9).astype(np.int64)
    first, last = int(number.min()), int(number.max())
    return width * np.arange(first, last + 2, dtype=float), number - first


def _sums(parts: Array, bins: Sequence[NDArray[np.int64]], shape: tuple[int, int, int]) -> Array:
    """Of each bin, rounded once, so that the order does not matter."""
    flat = np.ravel_multi_index(tuple(bins), shape)
    order = np.argsort(flat, kind="stable")
    where, first = np.unique(flat[order], return_index=True)
    out = np.zeros(shape)
    for at, values in zip(where, np.split(parts[order], first[1:]), strict=True):
        out.flat[at] = math.fsum(values)
    return out
