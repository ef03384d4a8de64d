"""C_m^-1 of one parameter block, in forms that never need a matrix of the model's order on one rank.

Separable: C = C_lateral (x) C_radial, and the inverse is the product of two small inverses.

Layered: lateral correlation lengths that vary with depth. Take C_i, the lateral covariance with the length at radial knot i, its
symmetric square root G_i, and a covariance K of the radial knots:

    C[(a, i), (b, j)] = (G_i G_j)[a, b] K[i, j],        C = G (1 (x) K) G,   G block diagonal, one G_i per radial knot

C is a congruence of the positive definite 1 (x) K, so it is positive definite for any lengths. Within a layer it is C_i K[i, i],
exactly the covariance that was asked for; with one length for all layers it is the separable one. On a sphere covariances of the
distance alone have the spherical harmonics in common: between layers the spectrum is the geometric mean of the two. The inverse
has the same form, C^-1[(a, i), (b, j)] = (G_i^-1 G_j^-1)[a, b] K^-1[i, j]: any rank makes its own elements of it. A product of
kernels with lengths L_i, such as Paciorek & Schervish's, is positive definite too, but its inverse is a dense matrix of the
model's order.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse
from mpi4py import MPI
from numpy.typing import NDArray

from craton import SymmetricMatrix
from craton.arrays.matrix import TrianglePart
from craton.inverse.blocks import ParameterBlock

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]

CHUNK_BYTES = 1 << 26
"""Elements that a rank makes or copies at a time take so much."""


class PriorPart(ABC):
    """The prior of one block. Vectors are those of the block alone, the same on every rank."""

    block: ParameterBlock
    """Where its coefficients are in the model vector."""

    @property
    def log_determinant(self) -> float:
        """The natural logarithm of det C^-1."""
        return self._log_determinant()

    def precision_times(self, vector: f64) -> f64:
        """C^-1 v. Collective."""
        return self._precision_times(vector.reshape(self.block.lateral, self.block.radial)).ravel()

    def covariance_times(self, vector: f64) -> f64:
        """C v. Collective."""
        return self._covariance_times(vector.reshape(self.block.lateral, self.block.radial)).ravel()

    def knot_deviation(self, lateral: scipy.sparse.csr_matrix, radial: f64) -> f64:
        """Prior standard deviation of the field at places x depths.

        lateral, radial: the splines there, (places, lateral) and (depths, radial): those at the knots, for the Matern prior.
        """
        return np.sqrt(np.maximum(self._variance(lateral, radial), 0.0))

    def add_to(self, system: SymmetricMatrix, scale: float) -> None:
        """Adds scale * C^-1 to the system, in the block's place. On every rank: local, but collective where C^-1 is dealt."""
        for part in system.triangle:
            for rows, cols, elements in self.own_elements(part):
                added = np.where(part.taken(rows, cols), scale * elements, 0.0)
                part.local[np.ix_(rows, cols)] += added.astype(system.dtype)

    @abstractmethod
    def own_elements(self, part: TrianglePart) -> Iterator[tuple[i64, i64, f64]]:
        """C^-1 in the rectangle of a part of the system: pieces (rows, columns of the rectangle, elements). Local."""

    @abstractmethod
    def _log_determinant(self) -> float: ...

    @abstractmethod
    def _precision_times(self, table: f64) -> f64:
        """C^-1 times coefficients as a table, (lateral, radial); the same shape for C below."""

    @abstractmethod
    def _covariance_times(self, table: f64) -> f64: ...

    @abstractmethod
    def _variance(self, lateral: scipy.sparse.csr_matrix, radial: f64) -> f64:
        """The square of the deviation, but for rounding below 0."""


def chunks(rows: int, columns: int) -> Iterator[slice]:
    """Some columns at a time of a table with so many rows."""
    step = max(1, CHUNK_BYTES // (8 * max(1, rows)))
    return (slice(first, min(first + step, columns)) for first in range(0, columns, step))


def summed(own: f64, comm: MPI.Comm) -> f64:
    """Collective: the sum over ranks, bit for bit the same on each."""
    total = np.empty_like(own)
    comm.Reduce(own, total)
    comm.Bcast(total)
    return total


def own_columns(
    part: TrianglePart, block: ParameterBlock
) -> Iterator[tuple[i64, i64, tuple[i64, i64], tuple[i64, i64]]]:
    """A part's elements of a block, some columns at a time: rows and columns of the rectangle, (lateral, radial) knots of each."""
    own_rows, own_cols = (
        np.flatnonzero((lines >= block.offset) & (lines < block.offset + block.size))
        for lines in (part.rows, part.cols)
    )
    for some in chunks(len(own_rows), len(own_cols)):
        columns = own_cols[some]
        of_rows, of_columns = (
            np.divmod(at - block.offset, block.radial) for at in (part.rows[own_rows], part.cols[columns])
        )
        yield own_rows, columns, of_rows, of_columns


@dataclass(frozen=True)
class Separable(PriorPart):
    """C^-1 = lateral_inverse (x) radial_inverse."""

    block: ParameterBlock
    lateral_inverse: f64
    radial_inverse: f64

    def _log_determinant(self) -> float:
        lateral, radial = (np.linalg.slogdet(factor)[1] for factor in (self.lateral_inverse, self.radial_inverse))
        return float(self.block.radial * lateral + self.block.lateral * radial)

    def _precision_times(self, table: f64) -> f64:
        return self.lateral_inverse @ table @ self.radial_inverse

    def _covariance_times(self, table: f64) -> f64:
        half = scipy.linalg.solve(self.lateral_inverse, table, assume_a="pos")
        return np.asarray(scipy.linalg.solve(self.radial_inverse, half.T, assume_a="pos")).T

    def add_to(self, system: SymmetricMatrix, scale: float) -> None:
        """Adds scale * C^-1 to the system."""
        system.add_kronecker(self.lateral_inverse, self.radial_inverse, scale, self.block.offset)

    def own_elements(self, part: TrianglePart) -> Iterator[tuple[i64, i64, f64]]:
        """Products of an element of each factor."""
        for rows, cols, (a, i_radial), (b, j_radial) in own_columns(part, self.block):
            yield rows, cols, self.lateral_inverse[np.ix_(a, b)] * self.radial_inverse[np.ix_(i_radial, j_radial)]

    def _variance(self, lateral: scipy.sparse.csr_matrix, radial: f64) -> f64:
        covariances = [scipy.linalg.inv(factor) for factor in (self.lateral_inverse, self.radial_inverse)]
        across = np.asarray(lateral.multiply(lateral @ covariances[0]).sum(axis=1)).ravel()
        down = np.einsum("ri,ij,rj->r", radial, covariances[1], radial)
        return np.outer(across, down)


@dataclass(frozen=True)
class Independent(PriorPart):
    """C^-1 is diagonal: unknowns that have no place in the Earth."""

    block: ParameterBlock
    precision: f64

    def _log_determinant(self) -> float:
        return float(np.sum(np.log(self.precision)))

    def _precision_times(self, table: f64) -> f64:
        return self.precision[:, None] * table

    def _covariance_times(self, table: f64) -> f64:
        return table / self.precision[:, None]

    def own_elements(self, part: TrianglePart) -> Iterator[tuple[i64, i64, f64]]:
        """Zeros, but for the diagonal."""
        for rows, cols, (a, _), (b, _) in own_columns(part, self.block):
            yield rows, cols, np.where(a[:, None] == b, self.precision[a][:, None], 0.0)

    def _variance(self, lateral: scipy.sparse.csr_matrix, radial: f64) -> f64:
        raise NotImplementedError("corrections have no place")


@dataclass(frozen=True)
class Root:
    """G, the symmetric square root of a lateral covariance, by its eigenvectors and eigenvalues."""

    vectors: f64
    values: f64

    def matrix(self, power: int) -> f64:
        """G for 1, G^-1 for -1."""
        return (self.vectors * self.values**power) @ self.vectors.T

    def times(self, vector: f64, power: int) -> f64:
        """G v or G^-1 v."""
        return np.asarray(self.vectors @ (self.values**power * (self.vectors.T @ vector)))


@dataclass(frozen=True)
class Layered(PriorPart):
    """C^-1[(a, i), (b, j)] = (G_i^-1 G_j^-1)[a, b] K^-1[i, j]. Each different length costs two lateral matrices per rank."""

    block: ParameterBlock
    roots: Sequence[Root]
    """Roots of the different lateral covariances."""
    which: Sequence[int]
    """The one at each radial knot."""
    radial_inverse: f64
    """K^-1"""

    def _log_determinant(self) -> float:
        lateral = -2.0 * sum(float(np.log(self.roots[root].values).sum()) for root in self.which)
        return lateral + self.block.lateral * float(np.linalg.slogdet(self.radial_inverse)[1])

    def _layers_times(self, table: f64, power: int) -> f64:
        columns = [self.roots[root].times(table[:, layer], power) for layer, root in enumerate(self.which)]
        return np.stack(columns, axis=1)

    def _precision_times(self, table: f64) -> f64:
        return self._layers_times(self._layers_times(table, -1) @ self.radial_inverse, -1)

    def _covariance_times(self, table: f64) -> f64:
        mixed = scipy.linalg.solve(self.radial_inverse, self._layers_times(table, 1).T, assume_a="pos")
        return self._layers_times(np.asarray(mixed).T, 1)

    def own_elements(self, part: TrianglePart) -> Iterator[tuple[i64, i64, f64]]:
        """One product of two inverse roots for each pair of radial knots."""
        inverse_roots = [root.matrix(-1) for root in self.roots]
        for rows, cols, (a, i_radial), (b, j_radial) in own_columns(part, self.block):
            elements = np.empty((len(a), len(b)))
            for upper in np.unique(i_radial):
                for lower in np.unique(j_radial):
                    these, those = np.flatnonzero(i_radial == upper), np.flatnonzero(j_radial == lower)
                    left, right = inverse_roots[self.which[upper]], inverse_roots[self.which[lower]]
                    product = left[a[these]] @ right[:, b[those]]
                    elements[np.ix_(these, those)] = self.radial_inverse[upper, lower] * product
            yield rows, cols, elements

    def _variance(self, lateral: scipy.sparse.csr_matrix, radial: f64) -> f64:
        covariance = scipy.linalg.inv(self.radial_inverse)
        reach = [np.asarray(lateral @ root.matrix(1)) for root in self.roots]
        variance = np.zeros((lateral.shape[0], len(radial)))
        for i, of_i in enumerate(self.which):
            for j, of_j in enumerate(self.which):
                along = np.einsum("aq,aq->a", reach[of_i], reach[of_j])
                variance += np.outer(along, covariance[i, j] * radial[:, i] * radial[:, j])
        return variance
