"""Readers of values that several tables have, and profiles of depth."""

from __future__ import annotations

from typing import Any

from craton.settings import (
    Reader,
    finite,
    number,
)

CMB_DEPTH_KM = 2891.0

SMALLEST = 1e-6
"""Of a strength or an amplitude: its square must stay well above rounding, in float32 too."""


def amplitude(high: float) -> Reader:
    """Of either sign, or none."""
    allowed = f"0, or a number of size {SMALLEST:g} to {high:g} and either sign"

    def read(value: Any) -> float:
        try:
            number = finite(value)
        except ValueError:
            raise ValueError(allowed) from None
        if number and not SMALLEST <= abs(number) <= high:
            raise ValueError(allowed)
        return number

    return read


def none_or(low: float, high: float, unit: str) -> Reader:
    """0 switches it off."""
    one = number(low, high, unit)

    def read(value: Any) -> float:
        try:
            return 0.0 if finite(value) == 0.0 else float(one(value))
        except ValueError:
            raise ValueError(f"0, or a number in [{low:g}, {high:g}] {unit}") from None

    return read


def filter_periods(value: Any) -> tuple[float, float, float, float]:
    allowed = "four decreasing periods in seconds, [T1, T2, T3, T4] with 100000 >= T1 > T2 > T3 > T4 > 0"
    if not isinstance(value, list | tuple) or len(value) != 4:
        raise ValueError(allowed)
    try:
        periods = tuple(finite(item) for item in value)
    except ValueError:
        raise ValueError(allowed) from None
    if not 1e5 >= periods[0] > periods[1] > periods[2] > periods[3] > 0:
        raise ValueError(allowed)
    return periods  # type: ignore[return-value]


def knot_depths(value: Any) -> tuple[float, ...]:
    allowed = (
        f"increasing depths in km, at least four and 1 km apart, from 0 (surface) to {CMB_DEPTH_KM:g} (core), "
        "or [] for even knots"
    )
    if not isinstance(value, list | tuple):
        raise ValueError(allowed)
    try:
        depths = tuple(finite(item) for item in value)
    except ValueError:
        raise ValueError(allowed) from None
    increasing = all(upper + 1 <= lower for upper, lower in zip(depths, depths[1:], strict=False))
    if depths and (len(depths) < 4 or not increasing or depths[0] != 0 or depths[-1] != CMB_DEPTH_KM):
        raise ValueError(allowed)
    return depths


Profile = float | tuple[tuple[float, float], ...]
"""A number for all depths, or [depth_km, value] pairs."""


def profile(what: str, low: float, high: float, unit: str = "") -> Reader:
    """One number, or a list of pairs of depth and number."""
    allowed = (
        f"a number in [{low:g}, {high:g}] {unit}".rstrip() + f", or a list of [depth_km, {what}] pairs with increasing "
        f"depths in [0, {CMB_DEPTH_KM:g}] km"
    )
    one = number(low, high)

    def read(value: Any) -> Profile:
        try:
            if not isinstance(value, list | tuple):
                return float(one(value))
            pairs = tuple((number(0, CMB_DEPTH_KM)(depth), one(item)) for depth, item in value)
        except (TypeError, ValueError):
            raise ValueError(allowed) from None
        if not pairs or any(upper[0] >= lower[0] for upper, lower in zip(pairs, pairs[1:], strict=False)):
            raise ValueError(allowed)
        return pairs

    return read


def at_depth(profile: Profile, depth_km: float) -> float:
    """Linear between the pairs, constant beyond their ends."""
    if isinstance(profile, float | int):
        return float(profile)
    if depth_km <= profile[0][0]:
        return profile[0][1]
    for (upper, at_upper), (lower, at_lower) in zip(profile, profile[1:], strict=False):
        if depth_km <= lower:
            return at_upper + (at_lower - at_upper) * (depth_km - upper) / (lower - upper)
    return profile[-1][1]


def multiplied(profile: Profile, factor: float) -> Profile:
    """The same profile, stronger or weaker at all depths."""
    if isinstance(profile, float | int):
        return float(profile) * factor
    return tuple((depth, factor * value) for depth, value in profile)
