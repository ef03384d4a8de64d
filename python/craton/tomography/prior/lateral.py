"""C_lateral of the Gaussian prior (gaussian.py) by its elements, for those who need a part of it, and for those who need it all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from craton._craton import ModelBasis
from craton.tomography.model.sphere import EARTH_RADIUS_KM, even_points, unit_vectors
from craton.tomography.model.splines import lateral_matrix

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]


@dataclass(frozen=True)
class LateralCovariance:
    """Scaled so that the field sum_a m_a S_a has variance 1 in the mean over the sphere."""

    knots: f64
    """Unit vectors, (knots, 3)."""
    correlation_km: float
    nugget: float
    scale: float = 1.0

    @classmethod
    def of(cls, basis: ModelBasis, correlation_km: float, nugget: float) -> LateralCovariance:
        """Of a basis's lateral knots."""
        plain = cls(unit_vectors(basis.latitude_deg, basis.longitude_deg), correlation_km, nugget)
        splines = lateral_matrix(basis, *even_points(4 * basis.n_lateral))
        overlap = (splines.T @ splines).tocoo()  # the mean variance is its sum with the covariance, element by element
        mean = float(overlap.data @ plain.at(overlap.row, overlap.col)) / splines.shape[0]
        return cls(plain.knots, correlation_km, nugget, 1.0 / mean)

    def elements(self, rows: i64, cols: i64) -> f64:
        """C[rows, cols], shape (len(rows), len(cols)). The same bits of an element, whatever others are asked for with it."""
        cosine = sum(
            np.outer(down, across) for down, across in zip(self.knots[rows].T, self.knots[cols].T, strict=True)
        )
        chord_squared = np.maximum(
            2.0 - 2.0 * cosine, 0.0
        )  # of a product of matrices BLAS chooses the order by its size
        return self._of_chord(chord_squared, np.equal.outer(rows, cols))

    def at(self, rows: i64, cols: i64) -> f64:
        """C[rows[k], cols[k]] of each k."""
        chord_squared = np.maximum(2.0 - 2.0 * np.einsum("kx,kx->k", self.knots[rows], self.knots[cols]), 0.0)
        return self._of_chord(chord_squared, rows == cols)

    def variance(self, rows: scipy.sparse.csr_matrix) -> f64:
        """S . C S of each row S of a sparse matrix."""
        found = np.empty(rows.shape[0])
        for number, (first, last) in enumerate(zip(rows.indptr[:-1], rows.indptr[1:], strict=True)):
            knots, values = rows.indices[first:last], rows.data[first:last]
            found[number] = values @ self.elements(knots, knots) @ values
        return found

    def _of_chord(self, chord_squared: f64, same: NDArray[np.bool_]) -> f64:
        found = np.exp(-0.5 * chord_squared * (EARTH_RADIUS_KM / self.correlation_km) ** 2)
        return np.asarray(self.scale * (found + self.nugget * same))
