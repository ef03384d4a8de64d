"""Hazard: from strain Green's tensors of sites and ruptures with their rates to what shaking is to be expected.

    from craton import hazard

    surface = hazard.Surface(positions, strike, dip, rake, area, rows, columns)
    rupture = hazard.Rupture("fault", 0, 7.2, 1 / 200, surface)
    green = hazard.GreenTensors.open(["x/sgt.h5", "y/sgt.h5"])         # of craton waves run, a force each
    site = hazard.RuptureAtSite(green, rupture)
    site.velocities(variations)                                        # (variation, direction, time), m/s
    found = hazard.measure(green, [rupture], variations, [2, 3, 5, 10])
    found.measures.rotd50                                              # (variation, period), m/s^2
    record = hazard.run(hazard.load_config("basin.toml"))              # as craton hazard run; record.figures()
    results = hazard.read_results("basin-run")                         # of craton hazard run: curves, maps, disaggregations
    hazard.map_figure(results, "SA(3.0)", 0.02)                        # a matplotlib Figure; curves_figure and the like

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from craton.lazy import lazy_names

if TYPE_CHECKING:
    from craton.hazard.config import Config, load_config
    from craton.hazard.forecast.rupture import Rupture, Surface, Variation
    from craton.hazard.motion.green_tensors import GreenTensors
    from craton.hazard.motion.intensity import Measures, measure_records, response_spectra
    from craton.hazard.motion.reciprocity import SiteMeasures, measure, measure_rupture
    from craton.hazard.motion.seismograms import RuptureAtSite
    from craton.hazard.report.page import write_report
    from craton.hazard.report.pictures import (
        curves_figure,
        disaggregation_figure,
        figures,
        map_figure,
        rupture_figure,
        seismogram_figure,
        timeline_figure,
    )
    from craton.hazard.results import Results, read_results
    from craton.hazard.start import resume, run

__all__ = [
    "Config",
    "GreenTensors",
    "Measures",
    "Results",
    "Rupture",
    "RuptureAtSite",
    "SiteMeasures",
    "Surface",
    "Variation",
    "curves_figure",
    "disaggregation_figure",
    "figures",
    "load_config",
    "map_figure",
    "measure",
    "measure_records",
    "measure_rupture",
    "read_results",
    "response_spectra",
    "resume",
    "run",
    "rupture_figure",
    "seismogram_figure",
    "timeline_figure",
    "write_report",
]

_, __getattr__, __dir__ = lazy_names(__name__)
