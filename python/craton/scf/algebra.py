"""The linear algebra that the iterations are written in, for NumPy arrays.

Besides what is here the iterations use only +, -, * with numbers, @, and a.shape of matrices. A class with these functions for
matrices of another kind, spread over ranks for example, lets the same iterations run on them.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


class NumpyAlgebra:
    """Matrices are NumPy arrays of this process; vectors too."""

    leaves_out_columns = True
    """Whether scaled_columns does so."""

    def transposed(self, a: Matrix) -> Matrix:
        return a.T

    def dot(self, a: Matrix, b: Matrix) -> float:
        """Sum of the products of elements."""
        return float(np.vdot(a, b))

    def trace(self, a: Matrix) -> float:
        return float(np.trace(a))

    def eigh(self, a: Matrix) -> tuple[Vector, Matrix]:
        """Eigenvalues of a symmetric matrix, ascending, and eigenvectors in columns."""
        return scipy.linalg.eigh(a)

    def scaled_columns(self, a: Matrix, factors: Vector) -> Matrix:
        """a times a diagonal matrix; columns at the ends whose factor is 0 are left out, as far as that is possible."""
        kept = np.flatnonzero(factors)
        part = slice(kept[0], kept[-1] + 1) if len(kept) else slice(0)
        return a[:, part] * factors[part]

    def plus_identity(self, a: Matrix, factor: float) -> Matrix:
        """a + factor * 1."""
        found = a.copy()
        found[np.diag_indices_from(found)] += factor
        return found

    def spectrum_bounds(self, a: Matrix) -> tuple[float, float]:
        """Between which all eigenvalues of a symmetric matrix lie, by Gershgorin."""
        diagonal = a.diagonal()
        radii = np.abs(a).sum(axis=1) - np.abs(diagonal)
        return float((diagonal - radii).min()), float((diagonal + radii).max())
