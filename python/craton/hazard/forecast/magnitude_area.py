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
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from craton.errors import UserError

__all__ = ["RELATIONS", "MagnitudeArea", "relation"]


def style(rake_deg: float) -> str:
    """Style of faulting: strike_slip within 45 degrees of 0 or 180, else reverse (above) or normal."""
    rake = (rake_deg + 180) % 360 - 180
    if abs(rake) <= 45 or abs(rake) >= 135:
        return "strike_slip"
    return "reverse" if rake > 0 else "normal"


@dataclass(frozen=True)
class MagnitudeArea:
    """A relation: area_km2(magnitude, rake_deg) and magnitude(area_km2, rake_deg)."""

    area_km2: Callable[[float, float], float]
    magnitude: Callable[[float, float], float]


Lines = Mapping[str, tuple[float, float]]
"""(a, b) of a + b x for each style of faulting."""


def _lines(of_magnitude: Lines, of_area: Lines) -> MagnitudeArea:
    """Straight lines: log10(A) of M, and M of log10(A)."""

    def at(lines: Lines, rake_deg: float, x: float) -> float:
        a, b = lines[style(rake_deg)]
        return a + b * x

    return MagnitudeArea(
        lambda magnitude, rake_deg: 10 ** at(of_magnitude, rake_deg, magnitude),
        lambda area_km2, rake_deg: at(of_area, rake_deg, math.log10(area_km2)),
    )


def _decade(a: float, strike_slip: float | None = None) -> MagnitudeArea:
    """M = a + log10(A); a may be another for strike-slip."""
    of_style = {"strike_slip": strike_slip or a, "reverse": a, "normal": a}
    return _lines({name: (-b, 1) for name, b in of_style.items()}, {name: (b, 1) for name, b in of_style.items()})


def _hanks_bakun() -> MagnitudeArea:
    knee_km2, small, large, slope = 537.0, 3.98, 3.07, 4 / 3
    knee = small + math.log10(knee_km2)

    def area_km2(magnitude: float, _: float) -> float:
        return 10 ** (magnitude - small) if magnitude <= knee else 10 ** ((magnitude - large) / slope)

    def magnitude(area: float, _: float) -> float:
        return small + math.log10(area) if area <= knee_km2 else large + slope * math.log10(area)

    return MagnitudeArea(area_km2, magnitude)


RELATIONS: dict[str, MagnitudeArea] = {
    "WC1994": _lines(
        {"strike_slip": (-3.42, 0.90), "reverse": (-3.99, 0.98), "normal": (-2.87, 0.82)},
        {"strike_slip": (3.98, 1.02), "reverse": (4.33, 0.90), "normal": (3.93, 1.02)},
    ),
    "Leonard2014_Interplate": _decade(4.0, strike_slip=3.99),
    "Leonard2014_SCR": _decade(4.19, strike_slip=4.18),
    "HanksBakun2008": _hanks_bakun(),
    "EllsworthB": _decade(4.2),
    "PeerMSR": _decade(4.0),
}


def relation(name: str) -> MagnitudeArea:
    """The relation of a name. UserError, with the names that there are, for another one."""
    if name not in RELATIONS:
        raise UserError(f"magnitude-area relation '{name}'; allowed: {', '.join(RELATIONS)}")
    return RELATIONS[name]
