"""Hazard: from strain Green's tensors of sites and ruptures with their rates to what shaking is to be expected.

    from craton import hazard

    surface = hazard.Surface(positions, strike, dip, rake, area, rows, columns)
    rupture = hazard.Rupture("fault", 0, 7.2, 1 / 200, surface)
    green = hazard.GreenTensors.open(["x/sgt.h5", "y/sgt.h5"])         # of craton waves run, a force each
    site = hazard.RuptureAtSite(green, rupture)
    site.velocities(variations)                                        # (variation, direction, time), m/s
    found = hazard.measure(green, [rupture], variations, [2, 3, 5, 10])
    found.measures.rotd50                                              # (variation, period), m/s^2

Names are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from craton.hazard.green_tensors import GreenTensors
    from craton.hazard.intensity import Measures, measure_records, response_spectra
    from craton.hazard.reciprocity import SiteMeasures, measure, measure_rupture
    from craton.hazard.rupture import Rupture, Surface, Variation
    from craton.hazard.seismograms import RuptureAtSite

__all__ = [
    "GreenTensors",
    "Measures",
    "Rupture",
    "RuptureAtSite",
    "SiteMeasures",
    "Surface",
    "Variation",
    "measure",
    "measure_records",
    "measure_rupture",
    "response_spectra",
]

HOMES = {
    "GreenTensors": "green_tensors",
    "Measures": "intensity",
    "Rupture": "rupture",
    "RuptureAtSite": "seismograms",
    "SiteMeasures": "reciprocity",
    "Surface": "rupture",
    "Variation": "rupture",
    "measure": "reciprocity",
    "measure_records": "intensity",
    "measure_rupture": "reciprocity",
    "response_spectra": "intensity",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'craton.hazard' has no attribute {name!r}")
    return getattr(importlib.import_module(f"craton.hazard.{HOMES[name]}"), name)
