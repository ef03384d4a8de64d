"""The target model of a synthetic test: a checkerboard plus a plume, filtered to the model's basis.

    dlnVs(r, theta, phi) = c Y(theta, phi) cos(pi n x) + p exp(-(d / R)^2)

Y is the real spherical harmonic of the checkerboard's degree l and order l / 2, scaled to a largest value of 1. The depth x runs
from 0 at the surface to 1 at the core, so that the pattern changes sign n times. The distance d is from the plume's axis, a
straight line from the core to the surface.

A basis of splines cannot hold that field exactly. The target of synthetic data is its least-squares projection onto the basis, so
that a perfect inversion could find it. With [target] finer = true the data are of its projection onto a finer basis, and the
target is what the run's own basis can hold of that.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
import scipy.special
from numpy.typing import NDArray

from craton import _craton
from craton.seismology.geometry.latitudes import geocentric_deg
from craton.tomography.model.parameters import blocks_in
from craton.tomography.model.sphere import even_points, unit_vectors
from craton.tomography.model.splines import lateral_matrix, level_of, parts_of, together

if TYPE_CHECKING:
    from craton._craton import ModelBasis
    from craton.tomography.config.tables import TargetConfig

f64 = NDArray[np.float64]

SAMPLES_PER_LATERAL_KNOT = 12
SAMPLES_PER_RADIAL_KNOT = 20


def checkerboard(latitude_deg: f64, longitude_deg: f64, degree: int) -> f64:
    """Real spherical harmonic of order degree / 2 at geocentric places, largest value 1."""
    order = degree // 2
    fine = np.linspace(-1.0, 1.0, 2001)
    scale = np.max(np.abs(scipy.special.lpmv(order, degree, fine)))
    profile = scipy.special.lpmv(order, degree, np.sin(np.radians(latitude_deg))) / scale
    return np.asarray(profile * np.cos(order * np.radians(longitude_deg)))


def sampled_target(
    config: TargetConfig, latitude_deg: f64, longitude_deg: f64, radius_m: f64, mantle_m: tuple[float, float]
) -> f64:
    """The target before it is projected, shape (places, radii), at geocentric latitudes. mantle_m: radii of its ends."""
    bottom_m, top_m = mantle_m
    depth_fraction = (top_m - radius_m) / (top_m - bottom_m)
    lateral = config.checkerboard_amplitude * checkerboard(latitude_deg, longitude_deg, config.checkerboard_degree)
    field = np.outer(lateral, np.cos(np.pi * config.checkerboard_depth_nodes * depth_fraction))
    if config.plume_amplitude:
        place = unit_vectors(latitude_deg, longitude_deg)
        axis_latitude_deg = geocentric_deg(np.array([config.plume_latitude_deg]))
        axis = unit_vectors(axis_latitude_deg, np.array([config.plume_longitude_deg]))[0]
        cosine = np.clip(place @ axis, -1.0, 1.0)
        off_axis_km = np.outer(np.sqrt(1.0 - cosine**2), radius_m / 1e3)
        plume = config.plume_amplitude * np.exp(-((off_axis_km / config.plume_radius_km) ** 2))
        field += np.where(cosine[:, None] > 0.0, plume, 0.0)
    return field


def project(basis: ModelBasis, field: f64, latitude_deg: f64, longitude_deg: f64, radius_m: f64) -> f64:
    """Least-squares coefficients, shape (size,), of a field of shape (places, radii).

    The basis is a product, so the problem is two small ones: a sparse one over the sphere for all radii at once, and a
    dense one over radius for all lateral knots at once.
    """
    splines = lateral_matrix(basis, latitude_deg, longitude_deg)
    normal = (splines.T @ splines).tocsc()
    by_knot = scipy.sparse.linalg.splu(normal).solve(np.ascontiguousarray(splines.T @ field))
    coefficients, *_ = scipy.linalg.lstsq(basis.radial_values(radius_m), by_knot.T)
    return np.ascontiguousarray(coefficients.T).ravel()


def sample_points(basis: ModelBasis) -> tuple[f64, f64, f64]:
    """Latitudes (geocentric), longitudes and radii in m at which a field is sampled before it is projected onto a basis."""
    latitude_deg, longitude_deg = even_points(SAMPLES_PER_LATERAL_KNOT * basis.n_lateral)
    ends_m = float(basis.radial_knots_m[0]), float(basis.radial_knots_m[-1])
    return latitude_deg, longitude_deg, np.linspace(*ends_m, SAMPLES_PER_RADIAL_KNOT * basis.n_radial + 1)


def finer_basis(basis: ModelBasis) -> ModelBasis:
    """Splines half as far apart, laterally and in depth."""

    def finer(part: ModelBasis) -> ModelBasis:
        knots_m = np.asarray(part.radial_knots_m)
        between_m = 0.5 * (knots_m[:-1] + knots_m[1:])
        return _craton.ModelBasis(level_of(part) + 1, np.sort(np.concatenate([knots_m, between_m])))

    return together(*map(finer, parts_of(basis)))


def projected(fine: ModelBasis, model: f64, basis: ModelBasis) -> f64:
    """What a basis can hold of a model on a finer one: its coefficients, parameter by parameter."""
    found = []
    for block, finer, coarser in zip(blocks_in(fine), parts_of(fine), parts_of(basis), strict=True):
        latitude_deg, longitude_deg, radius_m = sample_points(coarser)
        by_knot = model[block.within].reshape(block.lateral, -1) @ finer.radial_values(radius_m).T
        field = np.asarray(lateral_matrix(finer, latitude_deg, longitude_deg) @ by_knot)
        found.append(project(coarser, field, latitude_deg, longitude_deg, radius_m))
    return np.concatenate(found)


def make_target(basis: ModelBasis, config: TargetConfig) -> f64:
    """The target's coefficients in the basis. It is isotropic: where the model has dlnxi, that is 0."""
    latitude_deg, longitude_deg, radius_m = sample_points(basis)
    field = sampled_target(config, latitude_deg, longitude_deg, radius_m, (radius_m[0], radius_m[-1]))
    coefficients = project(basis.part(0), field, latitude_deg, longitude_deg, radius_m)
    return np.concatenate([coefficients, np.zeros(basis.size - len(coefficients))])
