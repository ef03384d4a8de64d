"""The splines of a model: those that a configuration asks for or a file names, and their values at places."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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


def splines_at_knots(basis: ModelBasis) -> tuple[scipy.sparse.csr_matrix, f64]:
    """Values of all lateral splines at the lateral knots, and of all radial ones at the radial knots, a row for each knot."""
    lateral = lateral_matrix(basis, np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg))
    return lateral, basis.radial_values(np.asarray(basis.radial_knots_m))


def make_basis(config: Config, earth: _craton.EarthModel) -> ModelBasis:
    """The model's splines; radial knots are even unless their depths are given. UserError for depths outside the solid Earth."""
    wanted, ends_m = config.basis, (earth.cmb_radius_m, earth.solid_surface_radius_m)
    knots_m = np.linspace(*ends_m, wanted.radial)
    if wanted.radial_depths_km:
        knots_m = radial_knots("radial_depths_km", wanted.radial_depths_km, ends_m, config)
    if not (wanted.xi_level or wanted.xi_depths_km):
        return _craton.ModelBasis(wanted.lateral_level, knots_m, 2 if wanted.xi else 1)
    xi_knots_m = knots_m
    if wanted.xi_depths_km:
        xi_knots_m = radial_knots("xi_depths_km", wanted.xi_depths_km, ends_m, config)
    return together(
        _craton.ModelBasis(wanted.lateral_level, knots_m), _craton.ModelBasis(wanted.lateral_levels[1], xi_knots_m)
    )


def radial_knots(key: str, depths_km: Sequence[float], ends_m: tuple[float, float], config: Config) -> f64:
    """Radii in m of knots at some depths, the first and last put to the ends of the mantle."""
    knots_m = np.sort(1e3 * (EARTH_RADIUS_KM - np.asarray(depths_km)))
    knots_m[0], knots_m[-1] = ends_m
    if np.any(np.diff(knots_m) <= 0.0):
        core_km, surface_km = (EARTH_RADIUS_KM - end_m / 1e3 for end_m in ends_m)
        raise config.wrong(
            f"[basis] {key} = {list(depths_km)}; allowed: all but the first and last between the solid surface, "
            f"{surface_km:g} km, and the core, {core_km:g} km"
        )
    return np.asarray(knots_m)


def parts_of(basis: ModelBasis) -> list[ModelBasis]:
    """The basis of each parameter alone."""
    return [basis.part(number) for number in range(basis.parameters)]


def together(*parts: ModelBasis) -> ModelBasis:
    """The inverse of parts_of: one basis, where all parameters have the same splines, that says so."""
    if len(parts) == 1:
        return parts[0]
    vs, xi = parts
    if vs.n_lateral == xi.n_lateral and np.array_equal(vs.radial_knots_m, xi.radial_knots_m):
        return _craton.ModelBasis(level_of(vs), vs.radial_knots_m, 2)
    return _craton.ModelBasis(vs, xi)


def level_of(basis: ModelBasis) -> int:
    """Of the lateral knots of dlnVs."""
    return round(math.log((basis.n_lateral - 2) / 10, 4)) + 1


def splines_of(basis: ModelBasis) -> dict[str, Any]:
    """What a file of models says of their splines: arrays and attributes, see craton.runs.files.write_hdf5."""
    found = {
        "radial_knots_m": np.asarray(basis.radial_knots_m),
        "lateral_level": level_of(basis),
        "parameters": basis.parameters,
        "parameter_order": "(parameter * n_lateral + lateral_knot) * n_radial + radial_spline",
    }
    if basis.same_splines:
        return found
    xi = basis.part(1)
    return found | {
        "xi_radial_knots_m": np.asarray(xi.radial_knots_m),
        "xi_lateral_level": level_of(xi),
        "parameter_order": "dlnVs, then dlnxi: lateral_knot * n_radial + radial_spline, with splines of their own",
    }


def basis_of(content: Mapping[str, Any]) -> ModelBasis:
    """The splines that a file names: the inverse of splines_of."""
    knots_m, parameters = np.ascontiguousarray(content["radial_knots_m"]), int(content.get("parameters", 1))
    if parameters == 1 or "xi_radial_knots_m" not in content:
        return _craton.ModelBasis(int(content["lateral_level"]), knots_m, parameters)
    xi = _craton.ModelBasis(int(content["xi_lateral_level"]), np.ascontiguousarray(content["xi_radial_knots_m"]))
    return _craton.ModelBasis(_craton.ModelBasis(int(content["lateral_level"]), knots_m), xi)


def described(basis: ModelBasis) -> str:
    """Numbers of knots and radial splines, in words."""
    words = [f"{part.n_lateral} lateral knots x {part.n_radial} radial" for part in parts_of(basis)]
    if basis.parameters == 1:
        return words[0]
    return f"{words[0]} x dlnVs and dlnxi" if basis.same_splines else f"{words[0]} of dlnVs + {words[1]} of dlnxi"
