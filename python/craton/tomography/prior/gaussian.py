"""The Gaussian prior of equation 1, and its inverse as small matrices (parts.py). The Matern one is in matern.py.

    C_m = C_lateral (x) C_radial
    C_lateral[a, b] = exp(-c_ab^2 / (2 L^2)) + nugget [a = b]              L = correlation_km
    C_radial[i, j]  = s(r_i) s(r_j) { k(r_i, r_j) + nugget [i = j] }
    k(r, r') = sqrt(2 l l' / (l^2 + l'^2)) exp(-(r - r')^2 / (l^2 + l'^2))      l = correlation_depth_km at r, l' at r'

k is Gibbs's kernel (Gibbs 1997; Paciorek & Schervish 2004): the overlap of two Gaussians about r and r', and so positive definite
however l varies with depth; exp(-(r - r')^2 / (2 l^2)) where it does not. L may vary with depth, too: Layered of parts.py.

c_ab is the *chord* between lateral knots, 2 R sin(Delta / 2), not the arc. A Gaussian of three-dimensional space stays positive
definite when it is restricted to the sphere. The same Gaussian of the great-circle distance is not positive definite on a sphere
for any L. For L much shorter than the radius the two hardly differ.

The user's strength s(r) is the prior standard deviation of dlnVs itself, not of a coefficient. The spherical splines overlap and
add up to about 2.14 (they are not a partition of unity), so unit-variance coefficients would give a field of another variance,
which depends on L. Both factors are therefore scaled: the root mean square of the field's prior standard deviation, over the
sphere and over the mantle's depth, is the strength that was asked for.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from craton._craton import ModelBasis
from craton.arrays.node_memory import Sharing, made_alone
from craton.inverse.blocks import ParameterBlock
from craton.inverse.conditioning import check_condition, checked_inverse
from craton.inverse.parts import Layered, PriorPart, Root, Separable
from craton.inverse.prior import Prior
from craton.settings import shown
from craton.tomography.config.prior import PriorConfig
from craton.tomography.config.values import Profile, at_depth
from craton.tomography.model.parameters import NAMES, blocks_of
from craton.tomography.model.sphere import EARTH_RADIUS_KM
from craton.tomography.model.splines import parts_of
from craton.tomography.prior.distributed import DistributedLateral, DistributedSeparable
from craton.tomography.prior.distributed_layers import DistributedLayered, DistributedRoot
from craton.tomography.prior.lateral import LateralCovariance

f64 = NDArray[np.float64]


def lateral_covariance(basis: ModelBasis, correlation_km: float, nugget: float) -> f64:
    """C_lateral whole, scaled so that the field sum_a m_a S_a has variance 1 in the mean over the sphere."""
    knots = np.arange(basis.n_lateral)
    return LateralCovariance.of(basis, correlation_km, nugget).elements(knots, knots)


def gibbs(radius_km: f64, length_km: f64, nugget: float) -> f64:
    """exp(-d^2 / (2 l^2)) with a length of its own at each place, plus the nugget on the diagonal."""
    squares = length_km[:, None] ** 2 + length_km[None, :] ** 2
    covariance = np.sqrt(2.0 * np.outer(length_km, length_km) / squares)
    covariance *= np.exp(-((radius_km[:, None] - radius_km[None, :]) ** 2) / squares)
    covariance[np.diag_indices_from(covariance)] += nugget
    return covariance


def radial_covariance(basis: ModelBasis, config: PriorConfig) -> f64:
    """C_radial, scaled so that the field sum_i m_i B_i(r) has standard deviation strength(r) in the mean over depth."""
    knots_m, strength = np.asarray(basis.radial_knots_m), of_radius(config.strength)
    covariance = gibbs(knots_m / 1e3, of_radius(config.correlation_depth_km)(knots_m), config.nugget)
    covariance *= np.outer(strength(knots_m), strength(knots_m))
    radius_m = np.linspace(knots_m[0], knots_m[-1], 20 * len(knots_m) + 1)
    splines = basis.radial_values(radius_m)
    variance = np.einsum("ri,ij,rj->r", splines, covariance, splines)
    return np.asarray(covariance / np.mean(variance / strength(radius_m) ** 2))


def of_radius(profile: Profile) -> Callable[[f64], f64]:
    """A number, or pairs of depth and number, as a function of radius in metres."""
    return lambda radius_m: np.array([at_depth(profile, EARTH_RADIUS_KM - radius / 1e3) for radius in radius_m])


class Dealing(Protocol):
    """Makes lateral matrices that are dealt over ranks. Collective."""

    def deals(self, basis: ModelBasis, *, one_length: bool) -> bool:
        """Whether they are to be dealt; else each node has them whole. one_length: one serves all radial knots."""

    def inverse(self, basis: ModelBasis, correlation_km: float, nugget: float) -> DistributedLateral:
        """C_lateral^-1."""

    def root(self, basis: ModelBasis, correlation_km: float, nugget: float) -> DistributedRoot:
        """The symmetric square root of C_lateral."""


def gaussian_prior(
    basis: ModelBasis, config: PriorConfig, share: Sharing = made_alone, deal: Dealing | None = None
) -> Prior:
    """The Gaussian prior around the reference Earth, of all the parameters of a basis: the same but for strengths and knots.

    share: how ranks come by the lateral matrices, the large ones; collective where that is. deal: deals them over
    the ranks instead.
    """
    strengths = zip(NAMES, parts_of(basis), (config.strength, config.xi_strength), strict=False)
    parameters = [(name, part, replace(config, strength=strength)) for name, part, strength in strengths]
    return gaussian_priors(parameters, share, deal)


def gaussian_priors(
    parameters: Sequence[tuple[str, ModelBasis, PriorConfig]], share: Sharing = made_alone, deal: Dealing | None = None
) -> Prior:
    """The Gaussian prior of several parameters, each with splines, strength and lengths of its own, in the model's order."""
    blocks = blocks_of([(name, basis) for name, basis, _ in parameters])
    parts = [
        gaussian_part(block, basis, config, share, deal)
        for block, (_, basis, config) in zip(blocks, parameters, strict=True)
    ]
    return Prior(tuple(parts), np.zeros(sum(block.size for block in blocks)))


def gaussian_part(
    block: ParameterBlock, basis: ModelBasis, config: PriorConfig, share: Sharing, deal: Dealing | None
) -> PriorPart:
    """The Gaussian prior of one block."""
    radial = checked_inverse(
        radial_covariance(basis, config),
        f"[prior] correlation_depth_km = {shown(config.correlation_depth_km)}",
        config.nugget,
    )
    lengths_km = of_radius(config.correlation_km)(np.asarray(basis.radial_knots_m))
    different, which = np.unique(lengths_km, return_inverse=True)
    origins = [f"[prior] correlation_km = {length_km:g}" for length_km in different]

    def inverse() -> f64:
        lateral = lateral_covariance(basis, float(different[0]), config.nugget)
        return checked_inverse(lateral, origins[0], config.nugget)

    def root(number: int) -> f64:
        lateral = lateral_covariance(basis, float(different[number]), config.nugget)
        check_condition(lateral, origins[number], config.nugget)
        values, vectors = np.linalg.eigh(lateral)
        return np.vstack([vectors, np.sqrt(values)])

    if deal is not None and deal.deals(basis, one_length=len(different) == 1):
        if len(different) == 1:
            return DistributedSeparable(block, deal.inverse(basis, float(different[0]), config.nugget), radial)
        roots = [deal.root(basis, float(length_km), config.nugget) for length_km in different]
        return DistributedLayered(block, roots, which.tolist(), radial)
    if len(different) == 1:
        return Separable(block, share((block.lateral, block.lateral), inverse), radial)
    shape = (block.lateral + 1, block.lateral)
    tables = [share(shape, functools.partial(root, number)) for number in range(len(different))]
    return Layered(block, [Root(table[:-1], table[-1]) for table in tables], which.tolist(), radial)


def different_lengths(basis: ModelBasis, config: PriorConfig) -> int:
    """How many lateral correlation lengths the radial knots have."""
    return len(np.unique(of_radius(config.correlation_km)(np.asarray(basis.radial_knots_m))))
