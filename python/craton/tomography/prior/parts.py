"""C_m^-1 of one parameter block, in forms that never need a matrix of the model's order on one rank.

Separable: C = C_lateral (x) C_radial, and the inverse is the product of two small inverses.

Layered: lateral correlation lengths that vary with depth. Take C_i, the lateral covariance with the length at radial knot i, its
symmetric square root G_i, and a covariance K of the radial knots:

    C[(a, i), (b, j)] = (G_i G_j)[a, b] K[i, j],        C = G (1 (x) K) G,   G block diagonal, one G_i per radial knot

A congruence of the positive definite 1 (x) K: so C is positive definite for any lengths. Within a layer it is C_i K[i, i], exactly
the covariance that was asked for; with one length for all layers it is the separable one. On a sphere covariances of the distance
alone have the spherical harmonics in common: between layers the spectrum is the geometric mean of the two. The inverse has the
same form, C^-1[(a, i), (b, j)] = (G_i^-1 G_j^-1)[a, b] K^-1[i, j]: any rank makes its own elements of it. A product of kernels with
lengths L_i, such as Paciorek & Schervish's, is positive definite too, but its inverse is a dense matrix of the model's order.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.linalg
import scipy.sparse
from numpy.typing import NDArray

from craton.tomography.model.parameters import ParameterBlock

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]

CHUNK_BYTES = 1 << 26
"""Elements of C_m^-1 that a rank makes at a time."""


class PriorPart(Protocol):
    """The prior of one block. Vectors are those of the block alone, the same on every rank."""

    @property
    def block(self) -> ParameterBlock: ...
    @property
    def log_determinant(self) -> float:
        """Of C^-1."""

    def precision_times(self, vector: f64) -> f64:
        """C^-1 v. Collective."""

    def covariance_times(self, vector: f64) -> f64:
        """C v. Collective."""

    def add_to(self, system: Any, scale: float) -> None:
        """Adds scale * C^-1 to the upper triangle of the system, in the block's place. Local; call it on every rank."""

    def own_elements(self, system: Any) -> Iterator[tuple[i64, i64, f64]]:
        """C^-1 where this rank has elements of the system: pieces (local rows, local columns, elements). Local."""

    def knot_deviation(self, lateral: scipy.sparse.csr_matrix, radial: f64) -> f64:
        """Prior standard deviation of the field at places x depths, given the splines there, (places, lateral) and (depths,
        radial): the knots, for the Matern prior.
        """


def own_columns(system: Any, block: ParameterBlock) -> Iterator[tuple[i64, i64, i64, i64]]:
    """This rank's elements of a block, some columns at a time: local rows, local columns, and the same as the block counts."""
    rows, cols = np.asarray(system.local_rows_global), np.asarray(system.local_cols_global)
    own_rows = np.flatnonzero((rows >= block.offset) & (rows < block.offset + block.size))
    own_cols = np.flatnonzero((cols >= block.offset) & (cols < block.offset + block.size))
    step = max(1, CHUNK_BYTES // (8 * max(1, len(own_rows))))
    for first in range(0, len(own_cols), step):
        some = own_cols[first : first + step]
        yield own_rows, some, rows[own_rows] - block.offset, cols[some] - block.offset


@dataclass(frozen=True)
class Separable:
    """C^-1 = lateral_inverse (x) radial_inverse."""

    block: ParameterBlock
    lateral_inverse: f64
    radial_inverse: f64

    @property
    def log_determinant(self) -> float:
        lateral, radial = (np.linalg.slogdet(factor)[1] for factor in (self.lateral_inverse, self.radial_inverse))
        return float(self.block.radial * lateral + self.block.lateral * radial)

    def precision_times(self, vector: f64) -> f64:
        table = vector.reshape(self.block.lateral, self.block.radial)
        return (self.lateral_inverse @ table @ self.radial_inverse).ravel()

    def covariance_times(self, vector: f64) -> f64:
        half = scipy.linalg.solve(
            self.lateral_inverse, vector.reshape(self.block.lateral, self.block.radial), assume_a="pos"
        )
        return np.asarray(scipy.linalg.solve(self.radial_inverse, half.T, assume_a="pos")).T.ravel()

    def add_to(self, system: Any, scale: float) -> None:
        system.add_kronecker(self.lateral_inverse, self.radial_inverse, scale, self.block.offset)

    def own_elements(self, system: Any) -> Iterator[tuple[i64, i64, f64]]:
        for rows, cols, i, j in own_columns(system, self.block):
            (a, i_radial), (b, j_radial) = np.divmod(i, self.block.radial), np.divmod(j, self.block.radial)
            yield rows, cols, self.lateral_inverse[np.ix_(a, b)] * self.radial_inverse[np.ix_(i_radial, j_radial)]

    def knot_deviation(self, lateral: scipy.sparse.csr_matrix, radial: f64) -> f64:
        covariances = [scipy.linalg.inv(factor) for factor in (self.lateral_inverse, self.radial_inverse)]
        across = np.asarray(lateral.multiply(lateral @ covariances[0]).sum(axis=1)).ravel()
        down = np.einsum("ri,ij,rj->r", radial, covariances[1], radial)
        return np.sqrt(np.outer(across, down))


@dataclass(frozen=True)
class Root:
    """The symmetric square root of a lateral covariance, by its eigenvectors."""

    vectors: f64
    values: f64
    """Of the root."""

    @classmethod
    def of(cls, covariance: f64) -> Root:
        values, vectors = np.linalg.eigh(covariance)
        return cls(vectors, np.sqrt(values))

    def table(self) -> f64:
        """As one array, (n + 1, n): the vectors' rows, then the values."""
        return np.vstack([self.vectors, self.values])

    @classmethod
    def of_table(cls, table: f64) -> Root:
        return cls(table[:-1], table[-1])

    def matrix(self, power: int) -> f64:
        """G for 1, G^-1 for -1."""
        return (self.vectors * self.values**power) @ self.vectors.T

    def times(self, vector: f64, power: int) -> f64:
        return np.asarray(self.vectors @ (self.values**power * (self.vectors.T @ vector)))


@dataclass(frozen=True)
class Layered:
    """C^-1[(a, i), (b, j)] = (G_i^-1 G_j^-1)[a, b] K^-1[i, j]. Each different length costs two lateral matrices per rank."""

    block: ParameterBlock
    roots: Sequence[Root]
    """Of the different lateral covariances."""
    which: Sequence[int]
    """The one at each radial knot."""
    radial_inverse: f64
    """K^-1"""

    @property
    def log_determinant(self) -> float:
        lateral = -2.0 * sum(float(np.log(self.roots[root].values).sum()) for root in self.which)
        return lateral + self.block.lateral * float(np.linalg.slogdet(self.radial_inverse)[1])

    def _layers_times(self, table: f64, power: int) -> f64:
        columns = [self.roots[root].times(table[:, layer], power) for layer, root in enumerate(self.which)]
        return np.stack(columns, axis=1)

    def precision_times(self, vector: f64) -> f64:
        table = self._layers_times(vector.reshape(self.block.lateral, self.block.radial), -1)
        return self._layers_times(table @ self.radial_inverse, -1).ravel()

    def covariance_times(self, vector: f64) -> f64:
        table = self._layers_times(vector.reshape(self.block.lateral, self.block.radial), 1)
        mixed = np.asarray(scipy.linalg.solve(self.radial_inverse, table.T, assume_a="pos")).T
        return self._layers_times(mixed, 1).ravel()

    def add_to(self, system: Any, scale: float) -> None:
        for rows, cols, elements in self.own_elements(system):
            upper = np.asarray(system.local_rows_global)[rows][:, None] <= np.asarray(system.local_cols_global)[cols]
            system.local[np.ix_(rows, cols)] += np.where(upper, scale * elements, 0.0).astype(system.dtype)

    def own_elements(self, system: Any) -> Iterator[tuple[i64, i64, f64]]:
        inverse_roots = [root.matrix(-1) for root in self.roots]
        for rows, cols, i, j in own_columns(system, self.block):
            (a, i_radial), (b, j_radial) = np.divmod(i, self.block.radial), np.divmod(j, self.block.radial)
            elements = np.empty((len(i), len(j)))
            for upper in np.unique(i_radial):
                for lower in np.unique(j_radial):
                    these, those = np.flatnonzero(i_radial == upper), np.flatnonzero(j_radial == lower)
                    left, right = inverse_roots[self.which[upper]], inverse_roots[self.which[lower]]
                    product = left[a[these]] @ right[:, b[those]]
                    elements[np.ix_(these, those)] = self.radial_inverse[upper, lower] * product
            yield rows, cols, elements

    def knot_deviation(self, lateral: scipy.sparse.csr_matrix, radial: f64) -> f64:
        covariance = scipy.linalg.inv(self.radial_inverse)
        reach = [np.asarray(lateral @ root.matrix(1)) for root in self.roots]
        variance = np.zeros((lateral.shape[0], len(radial)))
        for i, of_i in enumerate(self.which):
            for j, of_j in enumerate(self.which):
                along = np.einsum("aq,aq->a", reach[of_i], reach[of_j])
                variance += np.outer(along, covariance[i, j] * radial[:, i] * radial[:, j])
        return np.sqrt(np.maximum(variance, 0.0))
