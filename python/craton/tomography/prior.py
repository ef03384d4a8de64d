"""The priors of equation 1. The Gaussian one is here, the Matern one in matern_prior.py.

The Gaussian prior: C_m = C_lateral (x) C_radial, and its inverse as two small matrices.

    C_lateral[a, b] = exp(-c_ab^2 / (2 L^2)) + nugget [a = b]              L = correlation_km
    C_radial[i, j]  = s(r_i) s(r_j) { exp(-(r_i - r_j)^2 / (2 l^2)) + nugget [i = j] }    l = correlation_depth_km

c_ab is the *chord* between lateral knots, 2 R sin(Delta / 2), not the arc: restricting a Gaussian of three-dimensional
space to the sphere leaves it positive definite, while the same Gaussian of the great-circle distance is not positive
definite on a sphere for any L. For L much shorter than the radius the two hardly differ.

The user's strength s(r) is the prior standard deviation of dlnVs itself, not of a coefficient. The spherical splines
overlap and add up to about 2.14 (they are not a partition of unity), so unit-variance coefficients would give a field
of another variance, which depends on L. Both factors are therefore scaled so that the root mean square, over the sphere
and over the mantle's depth, of the field's prior standard deviation is the strength that was asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import scipy.linalg
import scipy.sparse
from mpi4py import MPI
from numpy.typing import NDArray

import craton
from craton.errors import UserError

if TYPE_CHECKING:
    from craton._craton import ModelBasis, World
    from craton.tomography.config import PriorConfig

f64 = NDArray[np.float64]

EARTH_RADIUS_KM = 6371.0
LARGEST_CONDITION = 1e10
"""Beyond it the inverse's rounding error would reach the fifth digit of the model."""


@dataclass(frozen=True)
class Step:
    """A solution of equation 2 under a prior."""

    model: f64
    """dm"""
    weights: f64
    """C_m^-1 (m + dm - m^p): the gradient of the prior's misfit at the model stepped to."""


class AnyPrior(Protocol):
    """What the inversion asks of a prior."""

    @property
    def mean(self) -> f64: ...
    @property
    def shape(self) -> tuple[int, int]:
        """Lateral knots, radial knots."""

    def step(self, system: Any, gradient: f64, model: f64) -> Step:
        """Collective: equation 2 from the Hessian in `system`, which is overwritten."""


def misfit(deviation: f64, weights: f64) -> float:
    """The second half of equation 1 of a deviation u = m - m^p: u . w / 2, with w = C_m^-1 u."""
    return 0.5 * float(deviation @ weights)


@dataclass(frozen=True)
class Prior:
    """C_m^-1 = lateral_inverse (x) radial_inverse, in the model's order (radial index fastest), and the prior mean."""

    lateral_inverse: f64
    radial_inverse: f64
    mean: f64

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.lateral_inverse), len(self.radial_inverse)

    def step(self, system: Any, gradient: f64, model: f64) -> Step:
        """Collective: dm of equation 2 from the Hessian in `system`, which is overwritten by its Cholesky factor."""
        system.add_kronecker(self.lateral_inverse, self.radial_inverse)
        right_hand_side = gradient - self.precision_times(model - self.mean)
        found = np.asarray(craton.Cholesky(system).solve(np.ascontiguousarray(right_hand_side)))
        return Step(found, self.precision_times(model + found - self.mean))

    def precision_times(self, model: f64) -> f64:
        """C_m^-1 model."""
        as_table = model.reshape(len(self.lateral_inverse), len(self.radial_inverse))
        return (self.lateral_inverse @ as_table @ self.radial_inverse).ravel()


def unit_vectors(latitude_deg: f64, longitude_deg: f64) -> f64:
    """Points on the unit sphere, shape (n, 3)."""
    latitude, longitude = np.radians(latitude_deg), np.radians(longitude_deg)
    return np.stack(
        [np.cos(latitude) * np.cos(longitude), np.cos(latitude) * np.sin(longitude), np.sin(latitude)], axis=1
    )


def even_points(count: int) -> tuple[f64, f64]:
    """Latitudes and longitudes of `count` evenly spread points (a Fibonacci spiral)."""
    index = np.arange(count) + 0.5
    latitude_deg = np.degrees(np.arcsin(1.0 - 2.0 * index / count))
    longitude_deg = (np.degrees(index * np.pi * (1.0 + np.sqrt(5.0))) + 180.0) % 360.0 - 180.0
    return latitude_deg, longitude_deg


def lateral_matrix(basis: ModelBasis, latitude_deg: f64, longitude_deg: f64) -> scipy.sparse.csr_matrix:
    """S_a at each point, shape (points, n_lateral)."""
    offsets, knots, values = basis.lateral_weights(latitude_deg, longitude_deg)
    return scipy.sparse.csr_matrix((values, knots, offsets), shape=(len(latitude_deg), basis.n_lateral))


def gaussian(distance: f64, correlation: float, nugget: float) -> f64:
    """exp(-d^2 / (2 L^2)), plus the nugget on the diagonal."""
    covariance = np.exp(-0.5 * (distance / correlation) ** 2)
    covariance[np.diag_indices_from(covariance)] += nugget
    return covariance


def lateral_covariance(basis: ModelBasis, correlation_km: float, nugget: float) -> f64:
    """C_lateral, scaled so that the field sum_a m_a S_a has variance 1 in the mean over the sphere."""
    knots = unit_vectors(basis.latitude_deg, basis.longitude_deg)
    chord_squared = np.maximum(2.0 - 2.0 * knots @ knots.T, 0.0)
    covariance = gaussian(EARTH_RADIUS_KM * np.sqrt(chord_squared), correlation_km, nugget)
    splines = lateral_matrix(basis, *even_points(4 * basis.n_lateral))
    variance = np.asarray(splines.multiply(splines @ covariance).sum(axis=1)).ravel()
    return covariance / np.mean(variance)


def radial_covariance(basis: ModelBasis, strength: Callable[[f64], f64], correlation_km: float, nugget: float) -> f64:
    """C_radial, scaled so that the field sum_i m_i B_i(r) has standard deviation strength(r) in the mean over depth."""
    knots_m = basis.radial_knots_m
    covariance = gaussian(np.abs(knots_m[:, None] - knots_m[None, :]) / 1e3, correlation_km, nugget)
    covariance *= np.outer(strength(knots_m), strength(knots_m))
    radius_m = np.linspace(knots_m[0], knots_m[-1], 20 * len(knots_m) + 1)
    splines = basis.radial_values(radius_m)
    variance = np.einsum("ri,ij,rj->r", splines, covariance, splines)
    return covariance / np.mean(variance / strength(radius_m) ** 2)


def inverse_covariances(basis: ModelBasis, config: PriorConfig) -> tuple[f64, f64]:
    """(C_lateral^-1, C_radial^-1): small, dense, symmetric positive definite."""
    lateral = lateral_covariance(basis, config.correlation_km, config.nugget)
    radial = radial_covariance(basis, strength_of_radius(config), config.correlation_depth_km, config.nugget)
    return (
        checked_inverse(lateral, f"[prior] correlation_km = {config.correlation_km:g}", config.nugget),
        checked_inverse(radial, f"[prior] correlation_depth_km = {config.correlation_depth_km:g}", config.nugget),
    )


def strength_of_radius(config: PriorConfig) -> Callable[[f64], f64]:
    """The strength that was asked for, as a function of radius in metres."""
    return lambda radius_m: np.array([config.strength_at(EARTH_RADIUS_KM - radius / 1e3) for radius in radius_m])


def make_prior(
    basis: ModelBasis, config: PriorConfig, world: World, comm: MPI.Comm, console: Any = None, threads: int = 1
) -> AnyPrior:
    """Collective: the prior around the reference Earth (m^p = 0) that the configuration names. console: where rank 0 shows
    progress. threads: of each rank."""
    if config.kind == "matern":
        from craton.tomography.matern_prior import MaternPrior

        return MaternPrior(basis, config, world, comm, console, threads)
    return gaussian_prior(basis, config)


def gaussian_prior(basis: ModelBasis, config: PriorConfig) -> Prior:
    """The Gaussian prior around the reference Earth."""
    lateral_inverse, radial_inverse = inverse_covariances(basis, config)
    return Prior(lateral_inverse, radial_inverse, np.zeros(basis.size))


def checked_inverse(covariance: f64, origin: str, nugget: float) -> f64:
    """Inverse through Cholesky; a covariance that is not safely positive definite is the user's fault."""
    deviation = np.sqrt(np.diag(covariance))
    eigenvalues = np.linalg.eigvalsh(covariance / np.outer(deviation, deviation))
    if not eigenvalues[0] * LARGEST_CONDITION > eigenvalues[-1]:
        raise UserError(
            f"{origin} with nugget = {nugget:g} makes a prior covariance that is numerically singular "
            f"(condition number {eigenvalues[-1] / max(eigenvalues[0], 1e-16):.1e}; allowed: up to "
            f"{LARGEST_CONDITION:.0e}): shorten the correlation length or enlarge the nugget"
        )
    inverse = scipy.linalg.cho_solve(scipy.linalg.cho_factor(covariance), np.eye(len(covariance)))
    return np.ascontiguousarray(0.5 * (inverse + inverse.T))
