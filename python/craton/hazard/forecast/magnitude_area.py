"""How large a rupture of a magnitude is: M = a + b log10(A), A in km^2, and the same the other way round.

WC1994                    Wells and Coppersmith 1994, table 2A: both regressions, so the two ways are not each other's inverse
Leonard2014_Interplate    Leonard 2010, 2014: interplate
Leonard2014_SCR           Leonard 2010, 2014: stable continent
HanksBakun2008            strike-slip, steeper above 537 km^2
EllsworthB                Working Group 2003
PeerMSR                   M = 4 + log10(A), of the tests of the Pacific Earthquake Engineering Research Center

The names are OpenQuake's where it has them.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from craton.errors import UserError

__all__ = ["RELATIONS", "MagnitudeArea", "relation"]


def style(rake_deg: float) -> str:
    """strike_slip within 45 degrees of 0 or 180, else reverse (above) or normal."""
    rake = (rake_deg + 180) % 360 - 180
    if abs(rake) <= 45 or abs(rake) >= 135:
        return "strike_slip"
    return "reverse" if rake > 0 else "normal"


@dataclass(frozen=True)
class MagnitudeArea:
    """area_km2(magnitude, rake_deg) and magnitude(area_km2, rake_deg)."""

    name: str
    area_km2: Callable[[float, float], float]
    magnitude: Callable[[float, float], float]


def _linear(name: str, a: dict[str, float]) -> MagnitudeArea:
    """M = a + log10(A)"""
    return MagnitudeArea(
        name,
        lambda magnitude, rake: 10 ** (magnitude - a[style(rake)]),
        lambda area, rake: a[style(rake)] + math.log10(area),
    )


def _wells_coppersmith() -> MagnitudeArea:
    of_magnitude = {"strike_slip": (-3.42, 0.90), "reverse": (-3.99, 0.98), "normal": (-2.87, 0.82)}
    of_area = {"strike_slip": (3.98, 1.02), "reverse": (4.33, 0.90), "normal": (3.93, 1.02)}

    def area_km2(magnitude: float, rake_deg: float) -> float:
        a, b = of_magnitude[style(rake_deg)]
        return 10 ** (a + b * magnitude)

    def magnitude(area: float, rake_deg: float) -> float:
        a, b = of_area[style(rake_deg)]
        return a + b * math.log10(area)

    return MagnitudeArea("WC1994", area_km2, magnitude)


def _hanks_bakun() -> MagnitudeArea:
    knee_km2, small, large, slope = 537.0, 3.98, 3.07, 4 / 3
    knee = small + math.log10(knee_km2)

    def area_km2(magnitude: float, _: float) -> float:
        return 10 ** (magnitude - small) if magnitude <= knee else 10 ** ((magnitude - large) / slope)

    def magnitude(area: float, _: float) -> float:
        return small + math.log10(area) if area <= knee_km2 else large + slope * math.log10(area)

    return MagnitudeArea("HanksBakun2008", area_km2, magnitude)


def _same(a: float) -> dict[str, float]:
    return {"strike_slip": a, "reverse": a, "normal": a}


RELATIONS: dict[str, MagnitudeArea] = {
    one.name: one
    for one in (
        _wells_coppersmith(),
        _linear("Leonard2014_Interplate", {**_same(4.0), "strike_slip": 3.99}),
        _linear("Leonard2014_SCR", {**_same(4.19), "strike_slip": 4.18}),
        _hanks_bakun(),
        _linear("EllsworthB", _same(4.2)),
        _linear("PeerMSR", _same(4.0)),
    )
}


def relation(name: str) -> MagnitudeArea:
    """By name; UserError has the names."""
    if name not in RELATIONS:
        raise UserError(f"magnitude-area relation '{name}'; allowed: {', '.join(RELATIONS)}")
    return RELATIONS[name]
