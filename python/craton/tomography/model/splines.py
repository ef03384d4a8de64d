"""The splines of a model: those that a configuration asks for or a file names, and their values at places."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from craton import _craton
from craton.tomography.model.sphere import EARTH_RADIUS_KM

if TYPE_CHECKING:
    from craton._craton import ModelBasis
    from craton.tomography.config.load import Config

f64 = NDArray[np.float64]


def lateral_matrix(basis: ModelBasis, latitude_deg: f64, longitude_deg: f64) -> scipy.sparse.csr_matrix:
    """S_a at each point, shape (points, n_lateral); geocentric latitudes."""
    offsets, knots, values = basis.lateral_weights(latitude_deg, longitude_deg)
    return scipy.sparse.csr_matrix((values, knots, offsets), shape=(len(latitude_deg), basis.n_lateral))


def make_basis(config: Config, earth: _craton.EarthModel) -> ModelBasis:
    """The model's splines; radial knots are even unless their depths are given. UserError for depths outside the solid Earth."""
    bottom_m, top_m = earth.cmb_radius_m, earth.solid_surface_radius_m
    depths_km = np.asarray(config.basis.radial_depths_km)
    knots_m = np.linspace(bottom_m, top_m, config.basis.radial)
    if len(depths_km):
        knots_m = np.sort(1e3 * (EARTH_RADIUS_KM - depths_km))
        knots_m[0], knots_m[-1] = bottom_m, top_m
        if np.any(np.diff(knots_m) <= 0.0):
            raise config.wrong(
                f"[basis] radial_depths_km = {list(config.basis.radial_depths_km)}; allowed: all but "
                f"the first and last between the solid surface, {EARTH_RADIUS_KM - top_m / 1e3:g} km, and the core, "
                f"{EARTH_RADIUS_KM - bottom_m / 1e3:g} km"
            )
    return _craton.ModelBasis(config.basis.lateral_level, knots_m, 2 if config.basis.xi else 1)


def splines_of(basis: ModelBasis) -> dict[str, Any]:
    """What a file of models says of their splines: arrays and attributes, see craton.runs.files.write_hdf5."""
    return {
        "radial_knots_m": np.asarray(basis.radial_knots_m),
        "lateral_level": round(math.log((basis.n_lateral - 2) / 10, 4)) + 1,
        "parameters": basis.parameters,
        "parameter_order": "(parameter * n_lateral + lateral_knot) * n_radial + radial_spline",
    }


def basis_of(content: Mapping[str, Any]) -> ModelBasis:
    """The splines that a file names: the inverse of splines_of."""
    knots_m = np.ascontiguousarray(content["radial_knots_m"])
    return _craton.ModelBasis(int(content["lateral_level"]), knots_m, int(content.get("parameters", 1)))
