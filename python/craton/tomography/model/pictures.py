"""Maps of models side by side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton.pages import maps
from craton.pages.figures import new_figure
from craton.pages.maps import rounded_limit, velocity_bar
from craton.pages.style import drawing
from craton.tomography.model.knots import knot_depths_km
from craton.tomography.model.sphere import EARTH_RADIUS_KM

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from craton._craton import ModelBasis

f64 = NDArray[np.float64]

DEPTHS_KM = (150.0, 600.0, 1200.0, 2500.0)
CENTRE_DEG = -160.0
"""Longitude in the middle of a map: no continent is cut."""
LONG_NAME = 30
"""Letters of a title beyond which it is set smaller."""


def field_at(basis: ModelBasis, model: f64, latitude_deg: f64, longitude_deg: ArrayLike, depth_km: ArrayLike) -> f64:
    """The field at geocentric latitudes; arguments are broadcast together, depths are moved into the model."""
    radius_m = np.clip(1e3 * (EARTH_RADIUS_KM - np.asarray(depth_km)), *np.asarray(basis.radial_knots_m)[[0, -1]])
    latitude, longitude, radius = map(np.ascontiguousarray, np.broadcast_arrays(latitude_deg, longitude_deg, radius_m))
    return np.asarray(basis.evaluate(model, latitude, longitude, radius))


def common_limit(basis: ModelBasis, models: Sequence[f64], depths_km: Sequence[float]) -> float:
    """The limit of one colour scale for models at depths, percent, from their values at the lateral knots."""
    knots = np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg)
    return rounded_limit(*(field_at(basis, model, *knots, depth) for model in models for depth in depths_km))


@drawing
def models_figure(
    basis: ModelBasis,
    shown: Sequence[tuple[str, f64]],
    depths_km: Sequence[float] = DEPTHS_KM,
    centre_deg: float = CENTRE_DEG,
    limit: float | None = None,
    width: float = 3.6,
) -> Figure:
    """Models side by side, depths below each other, one colour scale.

    limit: of the scale, percent; None: one that suits the models. width: of a map, inches.
    """
    limit = limit or common_limit(basis, [model for _, model in shown], depths_km)
    top_km, bottom_km = knot_depths_km(basis)[[-1, 0]]
    figure = new_figure(width * len(shown) + 0.2, 0.5 * width * len(depths_km) + 0.6)
    axes = figure.subplots(len(depths_km), len(shown), squeeze=False)
    for row, depth in zip(axes, depths_km, strict=True):
        for place, (name, model) in zip(row, shown, strict=True):
            mesh = maps.field_on_map(place, basis, model, np.clip(depth, top_km, bottom_km), centre_deg, limit)
            maps.draw_globe(place, centre_deg)
            small = 8.0 if len(name) > LONG_NAME else None
            place.set_title(f"{name}, {depth:.0f} km", loc="left", pad=2.0, fontsize=small)
    velocity_bar(figure, mesh, axes)
    return figure
