"""The Matern prior with a C_m^-1 that is known by its elements, for the variances and determinants of a posterior.

At the knots the field's correlation is known in closed form, E = exp(-kappa |x - x'|) (matern_field.py), and coefficients are

    C_m = T^-1 s E s T^-T,        C_m^-1 = T^T s^-1 E^-1 s^-1 T        T: coefficients -> dlnVs at the knots;  s: strength(r)

E is factored and inverted where it lies, n^3 flops, and two products of distributed matrices make C_m^-1, 4 n^3. While it is
made there are three matrices of the model's order over all ranks, then one. No grid is involved, and so none of its errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

import craton
from craton import ConvergentMatrix, SymmetricMatrix, linalg
from craton._craton import ModelBasis
from craton.arrays.matrix import TrianglePart
from craton.inverse.blocks import ParameterBlock
from craton.inverse.parts import PriorPart, chunks
from craton.inverse.prior import Prior
from craton.tomography.config.prior import PriorConfig
from craton.tomography.model.parameters import only_block
from craton.tomography.prior.gaussian import of_radius
from craton.tomography.prior.matern_field import KnotSplines

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]


@dataclass(frozen=True)
class Dense(PriorPart):
    """C^-1 as a distributed matrix, laid out as the system to which it is added."""

    block: ParameterBlock
    matrix: SymmetricMatrix
    ln_determinant: float
    splines: KnotSplines
    correlation: Correlation
    strength: f64
    """At each radial knot."""

    def own_elements(self, part: TrianglePart) -> Iterator[tuple[i64, i64, f64]]:
        """Those of the matrix: it is laid out as the system."""
        own = next(each.local for each in self.matrix.triangle if each.mirrored == part.mirrored)
        for some in chunks(*own.shape):
            yield np.arange(own.shape[0]), np.arange(some.start, some.stop), own[:, some].astype(np.float64)

    def _log_determinant(self) -> float:
        return self.ln_determinant

    def _precision_times(self, table: f64) -> f64:
        return np.asarray(linalg.matvec(self.matrix, np.ascontiguousarray(table.ravel())))

    def _covariance_times(self, table: f64) -> f64:
        field = self.splines.solve_transposed(table) * self.strength
        return self.splines.solve(self.correlation.times(field.ravel()).reshape(field.shape) * self.strength)

    def _variance(self, _lateral: scipy.sparse.csr_matrix, _radial: f64) -> f64:
        return np.broadcast_to(self.strength**2, (self.block.lateral, self.block.radial))


@dataclass(frozen=True)
class Correlation:
    """E, element by element."""

    points_km: f64
    length_km: float

    def elements(self, rows: i64, cols: i64) -> f64:
        """Some rows and columns."""
        from scipy.spatial.distance import cdist

        return np.asarray(np.exp(-cdist(self.points_km[rows], self.points_km[cols]) / self.length_km))

    def times(self, vector: f64) -> f64:
        """E v: n^2 distances."""
        every = np.arange(len(vector))
        return np.concatenate([self.elements(every[some], every) @ vector for some in chunks(len(vector), len(vector))])


def dense_matern_prior(basis: ModelBasis, config: PriorConfig, system: SymmetricMatrix) -> Prior:
    """Collective: the Matern prior around the reference Earth, laid out as `system`, which is only looked at.

    The work is done in float64 whatever the system's element type is.
    """
    block, splines = only_block(basis), KnotSplines(basis)
    correlation = Correlation(splines.points_km, config.one_length_km)
    strength = of_radius(config.strength)(np.asarray(basis.radial_knots_m))
    radial = splines.radial / strength[:, None]

    def scaled_splines(rows: i64, cols: i64) -> f64:
        (a, i), (b, j) = np.divmod(rows, block.radial), np.divmod(cols, block.radial)
        (down, of_a), (across, of_b) = (np.unique(knots, return_inverse=True) for knots in (a, b))
        lateral = splines.lateral[down][:, across].toarray()
        return np.asarray(lateral[np.ix_(of_a, of_b)] * radial[np.ix_(i, j)])

    inverse = system.like("float64")
    for some in inverse.triangle:
        for columns in chunks(len(some.rows), len(some.cols)):
            elements = correlation.elements(some.rows, some.cols[columns])
            some.local[:, columns] += np.where(some.taken(cols=columns), elements, 0.0)
    inverse.commit()
    factor = craton.Cholesky(inverse)
    log_determinant = -factor.log_determinant() + 2.0 * splines.log_determinant
    log_determinant -= 2.0 * block.lateral * float(np.log(strength).sum())
    factor.invert()
    scaled = full_like(system, scaled_splines)
    half = linalg.matmul(inverse, scaled)
    precision = inverse  # whose memory it takes
    precision.compress(linalg.matmul(scaled, half, transpose_a=True))
    part = Dense(block, precision, log_determinant, splines, correlation, strength)
    return Prior((part,), np.zeros(basis.size))


def full_like(system: SymmetricMatrix, elements: Callable[[i64, i64], f64]) -> ConvergentMatrix:
    """Collective: a full float64 matrix on the system's process grid. Every rank makes its own elements, of (rows, columns)."""
    n = system.order
    matrix = craton.ConvergentMatrix(system.world, n, n, dtype="float64", block=system.block, grid=system.grid)
    rows, cols = np.asarray(matrix.local_rows_global), np.asarray(matrix.local_cols_global)
    for some in chunks(len(rows), len(cols)):
        matrix.local[:, some] = elements(rows, cols[some])
    matrix.commit()
    return matrix
