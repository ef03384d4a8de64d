"""A forecast and curves of a few sites."""

from __future__ import annotations

import numpy as np
from craton.hazard.curves.curves import HazardCurve, levels_g
from craton.hazard.curves.export import (
    Site,
)
from craton.hazard.forecast.forecast import Forecast
from craton.hazard.forecast.rupture import Rupture
from hazard_faults import straight

SITES = [Site("A", -118.0, 34.0), Site("B", -118.1, 34.25), Site("C", -117.9, 34.2), Site("D", -118.05, 34.1)]


AT = np.array([[0.0, 0.0], [10e3, 0.0], [0.0, 20e3], [4e3, 5e3]])


def forecast_of(*rates: float, sources: str = "", magnitudes: tuple[float, ...] = ()) -> Forecast:
    surface = straight().surface(4000.0)
    return Forecast(
        tuple(
            Rupture(sources[n] if sources else "s", n, magnitudes[n] if magnitudes else 7.0, rate, surface)
            for n, rate in enumerate(rates)
        )
    )


def curves_of(*tops: float, measure: str = "SA(3.0)") -> list[HazardCurve]:
    levels = levels_g()
    return [
        HazardCurve(site.name, measure, 50.0, levels, top / (1 + (levels / 0.05) ** 2))
        for site, top in zip(SITES, tops, strict=True)
    ]
