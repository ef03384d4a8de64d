"""Configurations and files of forecasts."""

from __future__ import annotations

import numpy as np
from craton.hazard.forecast.config import (
    FaultConfig,
    ForecastConfig,
    ModelConfig,
    forecast_of,
)
from craton.seismology.sources.srf import Plane, Subfault, write_srf
from craton.settings import read_table as read_settings
from hazard_faults import PLACE

TABLE = """# the ruptures of two faults
source,rupture,magnitude,probability,rake,dip,upper_depth_km,lower_depth_km,trace
a,0,6.8,0.01,180,90,0,12,-118.2 34.0; -118.0 34.1
a,1,7.1,0,180,90,0,12,-118.3 34.0; -118.0 34.1
b,0,6.5,0.5,90,45,2,10,-118.4 33.8; -118.4 34.0
"""


OPENSHA = """Probability = 0.02
Magnitude = 6.05
GridSpacing = 1.0
NumRows = 2
NumCols = 3
#   Lat         Lon         Depth      Rake    Dip     Strike
34.00 -118.0 0.5 180.0 90.0 0.0
34.01 -118.0 0.5 180.0 90.0 0.0
34.02 -118.0 0.5 180.0 90.0 0.0
34.00 -118.0 1.5 180.0 90.0 0.0
34.01 -118.0 1.5 180.0 90.0 0.0
34.02 -118.0 1.5 180.0 90.0 0.0
"""


def srf_of(path, planes=((2, 3), (2, 2))):
    """Segments along a meridian and on; slip numbers the subfaults."""
    subfaults, headers, north = [], [], 34.0
    for rows, columns in planes:
        headers.append(Plane(-118.0, north, columns, rows, columns, rows, 0.0, 90.0, 0.0, 0.0, 0.0))
        for row in range(rows):
            for column in range(columns):
                slip = 0.5 + len(subfaults) / 10
                subfaults.append(
                    Subfault(
                        -118.0, north + 0.01 * column, 500.0 + 1000 * row, 0.0, 90.0, 170.0, 1e6, 0.1 * len(subfaults), 0.1,
                        (np.full(20, slip / 2, np.float32), np.full(20, slip / 20, np.float32), np.empty(0, np.float32)),
                        (slip, slip / 10, 0.0), 3000.0, 2700.0,
                    )
                )  # fmt: skip
        north += 0.01 * columns
    write_srf(path, subfaults, headers)
    return subfaults


FAULT = {"name": "a", "trace_m": [[50e3, 100e3], [90e3, 100e3]], "lower_depth_km": 12.0, "rake_deg": 180.0}


def configured(folder, faults=(), models=(), **forecast):
    """Tables as a TOML file gives them."""
    return forecast_of(
        read_settings(ForecastConfig, "forecast", forecast, "c.toml", folder),
        [read_settings(FaultConfig, "[fault]", one, "c.toml", folder) for one in faults],
        [read_settings(ModelConfig, "[model]", one, "c.toml", folder) for one in models],
        PLACE,
    )
