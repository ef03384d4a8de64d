"""Ways in which a rupture may happen: hypocentres along strike and down dip, times random slip.

    rules = VariationRules(slips=4, vs_m_s=3464.0)
    for variation in variations(index, rupture, rules): ...       # one in memory at a time
    variation(index, rupture, number, rules)                      # any of them by itself, the same to the bit

Number n has hypocentre n // slips and the random numbers of (seed, rupture's index, n) through Philox: which rank makes it, and in
what order, does not matter.

slip     Mean (1 + variability f), cut off at 0. The sum of rigidity x area x slip is the magnitude's moment, with the ground's
         rigidity at each subfault (GreenTensors.rigidity_Pa) or that of the rules. f is a von Karman field (slip.py), standardised
         over the fault (Graves and Pitarka 2010).
onset    Time along the straight line over the unfolded surface from the hypocentre, at `speed` times the shear velocity of the
         depths that it passes, or a constant one. Where velocity grows with depth, the first arrival may come earlier by a detour.
rise     Proportional to the root of slip (Graves and Pitarka 2010). The mean over the subfaults that slip is c M0^(1/3), M0 in
         dyne cm: c = 2.03e-9 (Somerville et al. 1999), 1.6e-9 (Graves and Pitarka 2010), 1.45e-9 (2015).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from craton.errors import UserError
from craton.hazard.forecast.faults import RIGIDITY_PA
from craton.hazard.forecast.magnitude_frequency import moment_Nm
from craton.hazard.forecast.rupture import Array, Rupture, Surface, Variation
from craton.hazard.forecast.slip import HURST, correlation_lengths_m, random_field
from craton.hazard.forecast.surfaces import spacings, unfolded

__all__ = [
    "RISE_TIMES",
    "DepthProfile",
    "VariationRules",
    "count",
    "hypocentres",
    "onset_times",
    "perturbed_rake",
    "variation",
    "variations",
]

DYNE_CM = 1e7
"""In a N m."""
RISE_TIMES = {"somerville_1999": 2.03e-9, "graves_pitarka_2010": 1.6e-9, "graves_pitarka_2015": 1.45e-9}
LEAST_RISE = 0.05
"""Of the mean rise time: where there is hardly any slip."""
RAKE_STREAM, SLIP_STREAM = 1, 2
"""Random numbers of different things never come from one stream."""


@dataclass(frozen=True)
class DepthProfile:
    """A value that changes with depth: linear between the depths, as at the ends beyond them."""

    depth_m: tuple[float, ...]
    value: tuple[float, ...]

    def __post_init__(self) -> None:
        depth, value = np.asarray(self.depth_m, float), np.asarray(self.value, float)
        if depth.ndim != 1 or depth.shape != value.shape or not len(depth) or np.any(np.diff(depth) <= 0):
            raise UserError(
                f"a profile of {depth.size} depths and {value.size} values; allowed: growing depths, a value of each"
            )
        if not (np.isfinite(depth).all() and np.isfinite(value).all() and np.all(value > 0)):
            raise UserError("a profile with a value of 0 or below, or of none; allowed: above 0")

    def at(self, depth_m: ArrayLike) -> Array:
        """The value at each depth, in their shape."""
        return np.asarray(np.interp(np.asarray(depth_m, float), self.depth_m, self.value))

    def slowness_to(self, depth_m: ArrayLike) -> Array:
        """The integral of 1 / value from the first depth down to others: of linear pieces, log(v2 / v1) / gradient each."""
        depth, value = np.asarray(self.depth_m, float), np.asarray(self.value, float)
        steps = _integral(np.diff(depth), value[:-1], value[1:])
        whole = np.concatenate([[0.0], np.cumsum(steps)])
        z = np.asarray(depth_m, float)
        inside = np.clip(z, depth[0], depth[-1])
        piece = np.clip(np.searchsorted(depth, inside, side="right") - 1, 0, max(len(depth) - 2, 0))
        here = whole[piece] + _integral(inside - depth[piece], value[piece], self.at(inside))
        return np.asarray(here + (z - inside) / np.where(z < depth[0], value[0], value[-1]))


def _integral(thickness: Array, first: Array, last: Array) -> Array:
    """Of 1 / v over layers in which v is linear."""
    ratio = (last - first) / first
    even = np.abs(ratio) < 1e-6
    return thickness / first * np.where(even, 1 - ratio / 2, np.log1p(ratio) / np.where(even, 1.0, ratio))


@dataclass(frozen=True)
class VariationRules:
    """What to vary. All of it goes into a variation, together with the rupture and the numbers."""

    slips: int = 1
    """random slips of each hypocentre"""
    strike_spacing_m: float = 20e3
    """about the distance between hypocentres along strike; one at least"""
    dip_spacing_m: float = 20e3
    """and down dip"""
    seed: int = 0
    variability: float = 0.85
    """standard deviation over mean of slip, before it is cut off at 0; 0: even slip"""
    hurst: float = HURST
    lengths_m: tuple[float, float] | None = None
    """of correlation along strike and down dip; None: of the magnitude"""
    speed: float = 0.8
    """of rupture, as a part of vs"""
    vs_m_s: float | DepthProfile = 3500.0
    rigidity_Pa: float | DepthProfile = RIGIDITY_PA
    rise_times: str = "graves_pitarka_2010"

    def __post_init__(self) -> None:
        def check(name: str, good: bool, allowed: str) -> None:
            if not good:
                raise UserError(f"variations: {name} = {getattr(self, name)}; allowed: {allowed}")

        check("slips", self.slips >= 1, "1 or more")
        for name in ("strike_spacing_m", "dip_spacing_m"):
            check(name, 0 < getattr(self, name) < math.inf, "above 0 m")
        check("seed", 0 <= self.seed < 2**63, "a whole number, 0 to 2^63 - 1")
        check("variability", 0 <= self.variability <= 3, "0 to 3")
        check("hurst", 0 < self.hurst <= 2, "above 0, to 2")
        check("lengths_m", self.lengths_m is None or min(self.lengths_m) > 0, "two above 0 m, or none")
        check("speed", 0 < self.speed <= 2, "above 0, to 2")
        for name in ("vs_m_s", "rigidity_Pa"):
            value = getattr(self, name)
            check(name, isinstance(value, DepthProfile) or 0 < value < math.inf, "above 0")
        check("rise_times", self.rise_times in RISE_TIMES, ", ".join(RISE_TIMES))


def hypocentres(surface: Surface, rules: VariationRules) -> tuple[int, ...]:
    """Subfaults at which ruptures begin, along strike first: in the middles of equal parts about as large as wished."""
    down, along = spacings(surface)
    rows = _middles(surface.rows, surface.rows * down, rules.dip_spacing_m)
    columns = _middles(surface.columns, surface.columns * along, rules.strike_spacing_m)
    return tuple(row * surface.columns + column for row in rows for column in columns)


def _middles(cells: int, size_m: float, spacing_m: float) -> list[int]:
    parts = min(max(1, round(size_m / spacing_m)), cells)
    return [int((2 * part + 1) * cells / (2 * parts)) for part in range(parts)]


def count(rupture: Rupture, rules: VariationRules) -> int:
    """How many variations it has."""
    return len(hypocentres(rupture.surface, rules)) * rules.slips


def variations(
    index: int, rupture: Rupture, rules: VariationRules, rigidity_Pa: Array | None = None
) -> Iterator[Variation]:
    """All variations of a rupture, one after the other.

    index: the rupture's in its forecast; rigidity_Pa: of each subfault (n,), instead of the rules's. UserError for another number
    of rigidities and, of a variation, for ground without rigidity wherever it slips.
    """
    made = _Maker(index, rupture, rules, rigidity_Pa)
    return (made.variation(number) for number in range(made.count))


def variation(
    index: int, rupture: Rupture, number: int, rules: VariationRules, rigidity_Pa: Array | None = None
) -> Variation:
    """One of a rupture's variations. UserError as of variations(), and for a number that it has not."""
    made = _Maker(index, rupture, rules, rigidity_Pa)
    if not 0 <= number < made.count:
        raise UserError(f"{rupture.name}: variation {number}; allowed: 0 to {made.count - 1}")
    return made.variation(number)


class _Maker:
    """Of one rupture's variations; what they share is computed once."""

    def __init__(self, index: int, rupture: Rupture, rules: VariationRules, rigidity_Pa: Array | None) -> None:
        surface = rupture.surface
        mu, depth = rules.rigidity_Pa, surface.positions[:, 2]
        own = mu.at(depth) if isinstance(mu, DepthProfile) else np.full(len(depth), mu)
        rigidity = own if rigidity_Pa is None else rigidity_Pa
        if np.shape(rigidity) != (len(surface),):
            raise UserError(
                f"{rupture.name}: rigidities of shape {np.shape(rigidity)}; allowed: ({len(surface)},), one for each subfault"
            )
        self.index, self.rupture, self.rules = index, rupture, rules
        self.starts = hypocentres(surface, rules)
        self.spacing_m = spacings(surface)
        self.lengths_m = rules.lengths_m or correlation_lengths_m(rupture.magnitude)
        self.stiffness = rigidity * surface.area
        self.moment_Nm = float(moment_Nm(rupture.magnitude))
        self.mean_rise = RISE_TIMES[rules.rise_times] * (self.moment_Nm * DYNE_CM) ** (1 / 3)
        self._onset: tuple[int, Array] | None = None

    @property
    def count(self) -> int:
        return len(self.starts) * self.rules.slips

    def variation(self, number: int) -> Variation:
        start = self.starts[number // self.rules.slips]
        slip = self._slip(_generator(self.rules.seed, SLIP_STREAM, self.index, number))
        onset, rise = self._onset_from(start), self._rise(slip)
        return Variation(self.index, number, slip, onset, rise, hypocentre=start, seed=self.rules.seed)

    def _onset_from(self, start: int) -> Array:
        """All slips of a hypocentre come one after the other."""
        if self._onset is None or self._onset[0] != start:
            self._onset = start, onset_times(self.rupture.surface, start, self.rules.speed, self.rules.vs_m_s)
        return self._onset[1]

    def _slip(self, generator: np.random.Generator) -> Array:
        surface, rules = self.rupture.surface, self.rules
        shape = np.ones(len(surface))
        if rules.variability > 0:
            field = random_field(
                generator, surface.rows, surface.columns, self.spacing_m, self.lengths_m, rules.hurst
            ).ravel()
            shape = np.maximum(1 + rules.variability * _standard(field), 0)
        of_unit = math.fsum((self.stiffness * shape).tolist())
        if not of_unit > 0:
            raise UserError(f"{self.rupture.name}: no rigidity where it slips; allowed: ground that is no fluid")
        return shape * (self.moment_Nm / of_unit)

    def _rise(self, slip: Array) -> Array:
        root = np.sqrt(slip)
        slipping = root[slip > 0]
        return np.asarray(np.maximum(root * (self.mean_rise / slipping.mean()), LEAST_RISE * self.mean_rise))


def perturbed_rake(index: int, rupture: Rupture, sigma_deg: float, seed: int, *, together: bool = False) -> Rupture:
    """A rupture with rakes drawn about its own, one for each subfault or (together) for all. All its variations share them."""
    if not 0 <= sigma_deg <= 90:
        raise UserError(f"{rupture.name}: rakes with a standard deviation of {sigma_deg:g} degrees; allowed: 0 to 90")
    drawn = _generator(seed, RAKE_STREAM, index, 0).standard_normal(1 if together else len(rupture.surface))
    rake = rupture.surface.rake + sigma_deg * drawn
    return replace(rupture, surface=replace(rupture.surface, rake=(rake + 180) % 360 - 180))


def onset_times(surface: Surface, hypocentre: int, speed: float, vs_m_s: float | DepthProfile) -> Array:
    """Onsets (n,) in s. Distances are measured over the surface: along the columns' line, and down the rows'."""
    z = surface.positions[:, 2]
    distance = _distance_over(surface, hypocentre)
    if not isinstance(vs_m_s, DepthProfile):
        return distance / (speed * vs_m_s)
    rise = z - z[hypocentre]
    level = np.abs(rise) < 1e-6 * max(float(np.ptp(z)), 1.0)
    total = vs_m_s.slowness_to(z)
    mean = np.where(level, 1 / vs_m_s.at(z), (total - total[hypocentre]) / np.where(level, 1.0, rise))
    return np.asarray(distance * mean / speed)


def _distance_over(surface: Surface, start: int) -> Array:
    along, down = unfolded(surface.positions, surface.rows, surface.columns)
    row, column = divmod(start, surface.columns)
    return np.asarray(np.hypot((down - down[row])[:, None], (along - along[column])[None, :]).ravel())


def _standard(field: Array) -> Array:
    """Of mean 0 and standard deviation 1: never below 0 everywhere. Of a single subfault 0."""
    less: Array = field - field.mean()
    deviation = less.std()
    return less / deviation if deviation > 0 else less


def _generator(*words: int) -> np.random.Generator:
    """Of the words alone: each as two of 32 bits, so that no two lists of words make the same."""
    halves = [half for word in words for half in (word & 0xFFFFFFFF, word >> 32)]
    return np.random.Generator(np.random.Philox(np.random.SeedSequence(halves)))
