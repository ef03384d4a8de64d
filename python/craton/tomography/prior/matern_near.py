"""P, near C_m^-1 of the Matern prior (matern.py): a sum of three Kronecker products that Cholesky's factor of H + P can take.

The precision is a square, (kappa^2 - Laplacian)^2 / (8 pi kappa), and the Laplacian the sum of a lateral and a radial part. With
b = kappa^2 / 2 - Laplacian of each part, (b_lateral + b_radial)^2 has three terms. That knots are closer together at depth is
neglected.

The radial b is taken from the exponential covariance exp(-kappa r) at the radial knots. Its eigenvalues are the density of knots
times 2 kappa / (k^2 + kappa^2). The lateral b comes in two forms:

    Dense     from exp(-kappa r) at the lateral knots, whose eigenvalues are the density of knots times
              2 pi kappa / (k^2 + kappa^2)^(3/2). Whole on each rank, and so for few lateral knots.
    Sparse    from linear finite elements on the triangles between the knots, K = G + kappa^2 / 2 A: stiffness G and lumped
              areas A (Lindgren, Rue & Lindstroem 2011, section 2.3). b^2 is K A^-1 K: some hundred numbers per knot.

GMRES takes about as many steps with either; what it finds depends on neither.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from craton import SymmetricMatrix
from craton.inverse.blocks import ParameterBlock
from craton.inverse.parts import own_columns
from craton.tomography.prior.matern_field import KnotSplines

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]

MEAN_RADIUS_KM = 4300.0
"""At which P takes the distances of lateral knots: of 4300, 5000 and 5700 the one with the narrowest spectrum of P C_m."""
KNOTS_OF_DENSE = 1000
"""Of more lateral knots P is sparse."""


class NearPrecision(Protocol):
    """P."""

    def times(self, model: f64) -> f64:
        """P m."""

    def add_to(self, system: SymmetricMatrix) -> None:
        """Adds P to the system's first rows and columns. Local; call it on every rank."""


def near_precision(
    block: ParameterBlock, splines: KnotSplines, radius_km: f64, strength: f64, correlation_km: float
) -> NearPrecision:
    """P of a block. radius_km, strength: of the radial knots. Not collective."""
    kappa = 1.0 / correlation_km
    radial = splines.radial / strength[:, None]
    depth_km = np.abs(radius_km[:, None] - radius_km[None, :])
    density = (len(radius_km) - 1) / (radius_km[-1] - radius_km[0])
    b_radial = shifted_laplacian(depth_km, kappa, 2.0 * density / kappa, 1.0)
    scale = 1.0 / (8.0 * np.pi * kappa * density)
    down = [between(radial, some) for some in (np.eye(len(radial)), 2.0 * b_radial, b_radial @ b_radial)]
    if block.lateral > KNOTS_OF_DENSE:
        return Sparse(block, [scale * some for some in sparse_lateral(splines, kappa)], down)
    return Dense([scale * some for some in dense_lateral(splines, kappa)], down)


@dataclass(frozen=True)
class Dense:
    """Lateral factors that each rank has whole."""

    lateral: list[f64]
    radial: list[f64]

    def times(self, model: f64) -> f64:
        """P m."""
        return products(self.lateral, self.radial, model)

    def add_to(self, system: SymmetricMatrix) -> None:
        """As NearPrecision says."""
        for lateral, radial in zip(self.lateral, self.radial, strict=True):
            system.add_kronecker(lateral, radial)


@dataclass(frozen=True)
class Sparse:
    """Sparse lateral factors, of which each rank makes the elements of its own part of the system."""

    block: ParameterBlock
    lateral: list[scipy.sparse.csr_matrix]
    """The first has an element wherever the others have one."""
    radial: list[f64]

    def times(self, model: f64) -> f64:
        """P m."""
        return products(self.lateral, self.radial, model)

    def add_to(self, system: SymmetricMatrix) -> None:
        """As NearPrecision says."""
        for part in system.triangle:
            for rows, cols, (a, i_radial), (b, j_radial) in own_columns(part, self.block):
                down, of_a = np.unique(a, return_inverse=True)
                across, of_b = np.unique(b, return_inverse=True)
                near = [lateral[down][:, across] for lateral in self.lateral]
                touched = np.flatnonzero((np.diff(near[0].indptr) > 0)[of_a])
                elements = np.zeros((len(touched), len(cols)))
                for lateral, radial in zip(near, self.radial, strict=True):
                    of_lateral = lateral.toarray()[np.ix_(of_a[touched], of_b)]
                    elements += of_lateral * radial[np.ix_(i_radial[touched], j_radial)]
                elements[~part.taken(rows[touched], cols)] = 0.0
                part.local[np.ix_(rows[touched], cols)] += elements.astype(system.dtype)


def products(lateral: list[Any], radial: list[f64], model: f64) -> f64:
    """The sum of Kronecker products times a model."""
    table = model.reshape(-1, len(radial[0]))
    return sum((one @ table @ other for one, other in zip(lateral, radial, strict=True)), np.zeros_like(table)).ravel()


def shifted_laplacian(distance_km: f64, kappa: float, spectrum_at_0: float, power: float) -> f64:
    """-Laplacian + kappa^2 / 2, from eigenvalues spectrum_at_0 (1 + k^2 / kappa^2)^(-1 / power) of the covariance."""
    eigenvalues, vectors = np.linalg.eigh(np.exp(-kappa * distance_km))
    ratio = spectrum_at_0 / np.maximum(eigenvalues, 1e-12 * eigenvalues[-1])
    return np.asarray((vectors * (kappa**2 * (np.maximum(ratio**power, 1.0) - 0.5))) @ vectors.T)


def dense_lateral(splines: KnotSplines, kappa: float) -> list[f64]:
    """b^2, b and 1 of coefficients, per density of knots."""
    directions, lateral = splines.directions, splines.lateral.toarray()
    chord_km = MEAN_RADIUS_KM * np.sqrt(np.maximum(2.0 - 2.0 * directions @ directions.T, 0.0))
    density = len(directions) / (4.0 * np.pi * MEAN_RADIUS_KM**2)
    b = shifted_laplacian(chord_km, kappa, 2.0 * np.pi * density / kappa**2, 2.0 / 3.0)
    return [between(lateral, some) / density for some in (b @ b, b, np.eye(len(lateral)))]


def sparse_lateral(splines: KnotSplines, kappa: float) -> list[scipy.sparse.csr_matrix]:
    """The same from finite elements."""
    stiffness, areas = finite_elements(MEAN_RADIUS_KM * splines.directions)
    shifted = stiffness + scipy.sparse.diags(0.5 * kappa**2 * areas)
    squared = shifted @ scipy.sparse.diags(1.0 / areas) @ shifted
    return [
        scipy.sparse.csr_matrix(between(splines.lateral, some))
        for some in (squared, shifted, scipy.sparse.diags(areas))
    ]


def finite_elements(points_km: f64) -> tuple[scipy.sparse.csr_matrix, f64]:
    """Stiffness of linear elements on the triangles between points of a sphere, and the area that belongs to each point.

    The triangles are the faces of the points' convex hull. Areas add up to the sphere's.
    """
    from scipy.spatial import ConvexHull

    corners = ConvexHull(points_km).simplices
    at = points_km[corners]
    opposite = [at[:, (corner + 2) % 3] - at[:, (corner + 1) % 3] for corner in range(3)]
    area = 0.5 * np.linalg.norm(np.cross(opposite[0], opposite[1]), axis=1)
    pairs = [(one, other) for one in range(3) for other in range(3)]
    values = [np.sum(opposite[one] * opposite[other], axis=1) / (4.0 * area) for one, other in pairs]
    rows, cols = (np.concatenate([corners[:, pair[side]] for pair in pairs]) for side in (0, 1))
    order = len(points_km)
    stiffness = scipy.sparse.csr_matrix((np.concatenate(values), (rows, cols)), shape=(order, order))
    areas = np.bincount(corners.ravel(), weights=np.repeat(area / 3.0, 3), minlength=order)
    sphere = 4.0 * np.pi * float(np.mean(np.sum(points_km**2, axis=1)))
    return stiffness, np.asarray(areas * (sphere / float(np.sum(areas))), np.float64)


def between(values: Any, matrix: Any) -> Any:
    """V^T A V, symmetric to the last bit."""
    product = values.T @ matrix @ values
    return 0.5 * (product + product.T)
