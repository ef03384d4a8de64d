"""Hazard: from strain Green's tensors of sites and ruptures with their rates to what shaking is to be expected.

    from craton import hazard

    surface = hazard.Surface(positions, strike, dip, rake, area, rows, columns)
    rupture = hazard.Rupture("fault", 0, 7.2, 1 / 200, surface)

Names are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from craton.hazard.rupture import Rupture, Surface, Variation

__all__ = ["Rupture", "Surface", "Variation"]

HOMES = {"Rupture": "rupture", "Surface": "rupture", "Variation": "rupture"}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'craton.hazard' has no attribute {name!r}")
    return getattr(importlib.import_module(f"craton.hazard.{HOMES[name]}"), name)
