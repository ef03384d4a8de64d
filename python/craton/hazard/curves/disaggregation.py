"""What makes the hazard of a site: shares of the rate of exceeding a level, by magnitude, distance and source.

Each rupture gives rate x (1 - F(x)); a share is a sum of those over the sum of all, so shares add up to 1. (A probability would not
divide: of rare events it is the same.)
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

__all__ = ["Disaggregation", "disaggregate", "distances_to"]


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


def disaggregate(
    forecast: Forecast,
    exceedances: ArrayLike,
    distances_m: ArrayLike,
    level: float,
    *,
    magnitude_width: float = 0.2,
    distance_width_m: float = 10e3,
) -> Disaggregation:
    """Shares of ruptures with exceedances 1 - F (ruptures,) at a level.

    Bins begin at whole multiples of their widths; a value at an edge belongs above it. UserError where nothing exceeds the level.
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
    shares = _sums(part, (m, d, s), (len(magnitude_edges) - 1, len(distance_edges) - 1, len(sources)))
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
