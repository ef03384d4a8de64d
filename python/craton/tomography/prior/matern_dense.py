"""The Matern prior with a C_m^-1 that is known by its elements, for what matrix-free products cannot give: the variances and
determinants of a posterior.

At the knots the field's correlation is known in closed form, E = exp(-kappa |x - x'|) (matern_field.py), and coefficients are

    C_m = T^-1 s E s T^-T,        C_m^-1 = T^T s^-1 E^-1 s^-1 T        T: coefficients -> dlnVs at the knots;  s: strength(r)

E is factored and inverted where it lies, n^3 flops, and two products of distributed matrices make C_m^-1, 4 n^3: while it is
made there are three matrices of the model's order over all ranks, then one. No grid is involved, and so none of its errors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from numpy.typing import NDArray

import craton
from craton import linalg
from craton.tomography.model.parameters import ParameterBlock, only_block
from craton.tomography.model.sphere import unit_vectors
from craton.tomography.model.splines import lateral_matrix
from craton.tomography.prior.gaussian import strength_of_radius
from craton.tomography.prior.parts import CHUNK_BYTES
from craton.tomography.prior.prior import Prior

if TYPE_CHECKING:
    from craton._craton import ModelBasis
    from craton.tomography.config.prior import PriorConfig

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]


@dataclass(frozen=True)
class Dense:
    """C^-1 as a distributed matrix, by its upper triangle, laid out as the system to which it is added."""

    block: ParameterBlock
    matrix: Any
    log_determinant: float
    correlation: Correlation
    strength: f64
    """At each radial knot."""

    def precision_times(self, vector: f64) -> f64:
        return np.asarray(linalg.matvec(self.matrix, np.ascontiguousarray(vector), symmetric=True))

    def covariance_times(self, vector: f64) -> f64:
        c = self.correlation
        table = np.linalg.solve(c.radial.T, vector.reshape(self.block.lateral, self.block.radial).T).T
        field = c.lateral.solve(np.ascontiguousarray(table), trans="T") * self.strength
        field = c.times(field.ravel()).reshape(field.shape) * self.strength
        return np.linalg.solve(c.radial, c.lateral.solve(field).T).T.ravel()

    def add_to(self, system: Any, scale: float) -> None:
        own = system.local
        for first in range(0, own.shape[1], chunk_of(own)):
            some = slice(first, first + chunk_of(own))
            own[:, some] += (scale * self.matrix.local[:, some]).astype(own.dtype)

    def own_elements(self, system: Any) -> Iterator[tuple[i64, i64, f64]]:
        own = self.matrix.local
        rows = np.arange(own.shape[0])
        for first in range(0, own.shape[1], chunk_of(own)):
            cols = np.arange(first, min(first + chunk_of(own), own.shape[1]))
            yield rows, cols, own[:, cols].astype(np.float64)

    def knot_deviation(self, lateral: scipy.sparse.csr_matrix, radial: f64) -> f64:
        return np.broadcast_to(self.strength, (self.block.lateral, self.block.radial)).copy()


def chunk_of(own: f64) -> int:
    """Columns of a rank's elements that are worked on at a time."""
    return max(1, CHUNK_BYTES // (8 * max(1, own.shape[0])))


class Correlation:
    """E, element by element, and T by its factors."""

    def __init__(self, basis: ModelBasis, correlation_km: float) -> None:
        directions = unit_vectors(np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg))
        radius_km = np.asarray(basis.radial_knots_m) / 1e3
        self.points_km = (directions[:, None, :] * radius_km[None, :, None]).reshape(-1, 3)
        self.length_km = correlation_km
        self.lateral_splines = lateral_matrix(basis, np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg))
        self.lateral = scipy.sparse.linalg.splu(self.lateral_splines.tocsc())
        self.radial = basis.radial_values(np.asarray(basis.radial_knots_m))

    def elements(self, rows: i64, cols: i64) -> f64:
        from scipy.spatial.distance import cdist

        return np.exp(-cdist(self.points_km[rows], self.points_km[cols]) / self.length_km)

    def times(self, vector: f64) -> f64:
        """E v, some rows at a time: n^2 distances."""
        n, every = len(self.points_km), np.arange(len(self.points_km))
        step = max(1, CHUNK_BYTES // (8 * n))
        parts = [self.elements(np.arange(first, min(first + step, n)), every) @ vector for first in range(0, n, step)]
        return np.concatenate(parts)

    @property
    def log_determinant_of_splines(self) -> float:
        """Of |det T|."""
        lateral = float(
            np.log(np.abs(self.lateral.U.diagonal())).sum() + np.log(np.abs(self.lateral.L.diagonal())).sum()
        )
        return self.radial.shape[0] * lateral + self.lateral_splines.shape[0] * float(np.linalg.slogdet(self.radial)[1])


def dense_matern_prior(basis: ModelBasis, config: PriorConfig, system: Any) -> Prior:
    """Collective: the Matern prior around the reference Earth, laid out as `system`, which is only looked at. The work is done in
    float64 whatever the system's element type is.
    """
    block = only_block(basis)
    correlation = Correlation(basis, config.one_length_km)
    strength = strength_of_radius(config)(np.asarray(basis.radial_knots_m))

    def new() -> Any:
        n = basis.size
        return craton.ConvergentMatrix(system.world, n, n, dtype="float64", block=system.block, grid=system.grid)

    inverse = new()
    fill(inverse, correlation.elements)
    factor = craton.Cholesky(inverse)
    log_determinant = -factor.log_determinant() + 2.0 * correlation.log_determinant_of_splines
    log_determinant -= 2.0 * block.lateral * float(np.log(strength).sum())
    factor.invert()
    splines, n_radial = new(), block.radial
    lateral = correlation.lateral_splines.toarray()

    def scaled_splines(rows: i64, cols: i64) -> f64:
        (a, i), (b, j) = np.divmod(rows, n_radial), np.divmod(cols, n_radial)
        return lateral[np.ix_(a, b)] * (correlation.radial / strength[:, None])[np.ix_(i, j)]

    fill(splines, scaled_splines)
    half = linalg.matmul(inverse, splines, symmetric="a")
    precision = linalg.matmul(splines, half, inverse, transpose_a=True)
    return Prior((Dense(block, precision, log_determinant, correlation, strength),), np.zeros(basis.size))


def fill(matrix: Any, elements: Any) -> None:
    """Collective: every rank makes its own elements."""
    rows, cols = np.asarray(matrix.local_rows_global), np.asarray(matrix.local_cols_global)
    own = matrix.local
    for first in range(0, len(cols), chunk_of(own)):
        some = slice(first, first + chunk_of(own))
        own[:, some] = elements(rows, cols[some])
    matrix.commit()
