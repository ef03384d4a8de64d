"""What is asked of a posterior, and where."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from craton._craton import ModelBasis
from craton.errors import UserError
from craton.runs.words import place_text
from craton.seismology.geometry.latitudes import geocentric_deg, geographic_deg
from craton.tomography.model.knots import knot_depths_km
from craton.tomography.model.sphere import EARTH_RADIUS_KM, unit_vectors

f64 = NDArray[np.float64]

MOST_SAMPLES = 10**6


@dataclass(frozen=True)
class Place:
    """A point in the mantle."""

    latitude_deg: float
    """Geographic."""
    longitude_deg: float
    depth_km: float

    @property
    def text(self) -> str:
        """19.4°N 155.3°W, 300 km."""
        return f"{place_text(self.latitude_deg, self.longitude_deg)}, {self.depth_km:.4g} km"


@dataclass(frozen=True)
class Questions:
    """What is asked of a posterior beyond its variances."""

    places: Sequence[Place] = ()
    """Covariance with each, its row of the resolution, a point spread."""
    samples: int = 0
    seed: int = 1
    trade_off: bool = False
    """Correlations below each place."""
    shuttle: str = ""
    """A model whose part that the data do not see is wanted: FILE, or FILE/DATASET in HDF5."""


def read_place(text: str) -> Place:
    """LAT,LON,DEPTH in degrees north and east and kilometres. UserError for what is none."""
    try:
        latitude, longitude, depth = map(float, text.split(","))
    except ValueError:
        latitude = longitude = depth = np.nan
    if not (abs(latitude) <= 90.0 and -180.0 <= longitude <= 360.0 and 0.0 <= depth <= EARTH_RADIUS_KM):
        raise UserError(
            f"--at {text!r}; allowed: LATITUDE,LONGITUDE,DEPTH: -90 to 90 and -180 to 360 degrees, and kilometres, such as "
            "19.4,-155.3,300"
        )
    return Place(latitude, longitude, depth)


def check_depths(places: Sequence[Place], basis: ModelBasis) -> None:
    """UserError for a place above or below the model."""
    bottom, top = knot_depths_km(basis)[[0, -1]]
    for place in places:
        if not top - 1e-6 <= place.depth_km <= bottom + 1e-6:
            raise UserError(
                f"--at {place.latitude_deg:g},{place.longitude_deg:g},{place.depth_km:g}: outside the model; allowed: depths "
                f"from {max(top, 0.0):g} to {bottom:g} km"
            )


def nearest_spike(basis: ModelBasis, place: Place) -> tuple[f64, Place]:
    """The spline whose knot is nearest to a place, scaled to 1 at the knot, and where that is."""
    latitude, longitude = np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg)
    towards = unit_vectors(*at_place(basis, place)[:2])[0]
    lateral = int(np.argmax(unit_vectors(latitude, longitude) @ towards))
    knots_km = knot_depths_km(basis)
    radial = int(np.argmin(np.abs(knots_km - place.depth_km)))
    knot = Place(float(geographic_deg(latitude[lateral])), float(longitude[lateral]), float(knots_km[radial]))
    spike = np.zeros(basis.size)
    spike[lateral * basis.n_radial + radial] = 1.0
    return spike / basis.evaluate(spike, *at_place(basis, knot))[0], knot


def at_place(basis: ModelBasis, place: Place) -> tuple[f64, f64, f64]:
    """Geocentric latitude and longitude, degrees, and radius, metres, as arrays of one: where splines are evaluated."""
    radius_m = np.array([1e3 * (EARTH_RADIUS_KM - place.depth_km)])
    radius_m = np.clip(radius_m, basis.radial_knots_m[0], basis.radial_knots_m[-1])  # rounding at the ends
    return geocentric_deg(np.array([place.latitude_deg])), np.array([place.longitude_deg]), radius_m
