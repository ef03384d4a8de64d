"""A model as spherical harmonics, for programs that read S40RTS."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.seismology.geometry.latitudes import geographic_deg
from craton.tomography.model.fields import Fields
from craton.tomography.model.harmonics import (
    LARGEST_DEGREE,
    Harmonics,
    expanded,
    harmonics_on_sphere,
    knot_radii_m,
    write_harmonics,
)
from craton.tomography.model.sphere import EARTH_RADIUS_KM

f64 = NDArray[np.float64]

USUAL_DEGREE = 40
"""That of S40RTS, which SPECFEM3D_GLOBE expects."""


def export_harmonics(fields: Fields, file: Path, degree: int = USUAL_DEGREE) -> Harmonics:
    """Writes dlnVs: .sph, or .dat for SPECFEM3D_GLOBE. What is smaller than degree and knots in depth is lost.

    UserError for another degree.
    """
    if not 1 <= degree <= LARGEST_DEGREE:
        raise UserError(f"--degree {degree}; allowed: 1 to {LARGEST_DEGREE}")
    found = harmonics_of(fields, degree)
    write_harmonics(file, found)
    return found


def harmonics_of(fields: Fields, degree: int) -> Harmonics:
    """The dlnVs up to a degree, at the depths of the format's knots."""
    sampled = max(degree, (degree + beyond_splines(fields.basis.n_lateral)) // 2 + 1)
    latitude_deg, longitude_deg, _ = harmonics_on_sphere(sampled)
    top_km, bottom_km = fields.depth_range_km
    depth_km = np.clip(EARTH_RADIUS_KM - knot_radii_m() / 1e3, top_km, bottom_km)
    geographic = geographic_deg(latitude_deg)
    name = next(iter(fields.parameters))
    layers = [fields.percent(name, geographic, longitude_deg, np.float64(depth)) / 100.0 for depth in depth_km]
    return expanded(np.stack(layers, axis=1), degree, sampled)


def beyond_splines(knots: int) -> int:
    """A degree beyond which lateral splines have next to nothing: three times that of waves of two knots' distance."""
    return int(np.ceil(3.0 * np.pi / np.sqrt(4.0 * np.pi / knots)))
