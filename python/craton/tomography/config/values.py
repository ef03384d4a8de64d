"""Readers of values that several tables have, and profiles of depth."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np

from craton.settings import Reader, finite, number

CMB_DEPTH_KM = 2891.0
EARTH_RADIUS_KM = 6371.0

SMALLEST = 1e-6
"""Of a strength or an amplitude: its square must stay well above rounding, in float32 too."""


def knots_of_level(level: int) -> int:
    """Lateral knots of a level: corners of an icosahedron whose triangles are divided so often."""
    return 10 * int(4 ** (level - 1)) + 2


def explained(allowed: str, read: Reader) -> Reader:
    """The same reader, whose error says what is `allowed`."""

    def checked(value: Any) -> Any:
        try:
            return read(value)
        except (TypeError, ValueError):
            raise ValueError(allowed) from None

    return checked


def amplitude(high: float) -> Reader:
    """Reads 0, or a number of either sign whose size is at most `high` and not negligible."""

    def read(value: Any) -> float:
        number = finite(value)
        if number and not SMALLEST <= abs(number) <= high:
            raise ValueError
        return number

    return explained(f"0, or a number of size {SMALLEST:g} to {high:g} and either sign", read)


def none_or(low: float, high: float, unit: str) -> Reader:
    """Reads a number from `low` to `high`, or 0, which switches something off."""
    one = number(low, high, unit)
    allowed = f"0, or a number in [{low:g}, {high:g}] {unit}"
    return explained(allowed, lambda value: 0.0 if finite(value) == 0.0 else one(value))


def _numbers(value: Any) -> tuple[float, ...]:
    """Reads a list of numbers."""
    if not isinstance(value, list | tuple):
        raise ValueError
    return tuple(finite(item) for item in value)


def _filter_periods(value: Any) -> tuple[float, float, float, float]:
    t1, t2, t3, t4 = _numbers(value)
    if not 1e5 >= t1 > t2 > t3 > t4 > 0:
        raise ValueError
    return t1, t2, t3, t4


def _falling_periods(value: Any) -> tuple[float, ...]:
    periods = _numbers(value)
    if any(longer <= shorter for longer, shorter in pairwise(periods)) or any(not 1e5 >= each > 0 for each in periods):
        raise ValueError
    return periods


def _knot_depths(value: Any) -> tuple[float, ...]:
    depths = _numbers(value)
    near = any(upper + 1 > lower for upper, lower in pairwise(depths))  # a difference of 1 may be rounded to less
    if depths and (len(depths) < 4 or near or depths[0] != 0 or depths[-1] != CMB_DEPTH_KM):
        raise ValueError
    return depths


filter_periods = explained(
    "four decreasing periods in seconds, [T1, T2, T3, T4] with 100000 >= T1 > T2 > T3 > T4 > 0", _filter_periods
)
"""Reads the corners of a cosine taper."""

falling_periods = explained("decreasing periods in seconds, above 0 and at most 100000, or []", _falling_periods)
"""Reads periods, the longest first."""

knot_depths = explained(
    f"increasing depths in km, at least four and 1 km apart, from 0 (surface) to {CMB_DEPTH_KM:g} (core), "
    "or [] for even knots",
    _knot_depths,
)
"""Reads the depths of radial knots."""


Profile = float | tuple[tuple[float, float], ...]
"""A number for all depths, or [depth_km, value] pairs."""


def profile(what: str, low: float, high: float, unit: str = "") -> Reader:
    """Reads one number, or a list of pairs of depth and number. what: the number's name in an error."""
    one, depth = number(low, high), number(0, CMB_DEPTH_KM)

    def read(value: Any) -> Profile:
        if not isinstance(value, list | tuple):
            return float(one(value))
        pairs = tuple((depth(at), one(item)) for at, item in value)
        if not pairs or any(upper[0] >= lower[0] for upper, lower in zip(pairs, pairs[1:], strict=False)):
            raise ValueError
        return pairs

    allowed = (
        f"a number in [{low:g}, {high:g}] {unit}".rstrip() + f", or a list of [depth_km, {what}] pairs with increasing "
        f"depths in [0, {CMB_DEPTH_KM:g}] km"
    )
    return explained(allowed, read)


def at_depth(profile: Profile, depth_km: float) -> float:
    """A profile's value at a depth: linear between the pairs, constant beyond their ends."""
    if isinstance(profile, float | int):
        return float(profile)
    depths_km, values = np.transpose(profile)
    return float(np.interp(depth_km, depths_km, values))


def multiplied(profile: Profile, factor: float) -> Profile:
    """The same profile, stronger or weaker at all depths."""
    if isinstance(profile, float | int):
        return float(profile) * factor
    return tuple((depth, factor * value) for depth, value in profile)
