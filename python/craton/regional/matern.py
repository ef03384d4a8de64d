"""A Matérn prior on knots: changes whose covariance falls as exp(-r / L), by its sparse inverse.

    C_m^-1 = D A A D / s^2,    A = 1 - L_x^2 d^2/dx^2 - L_y^2 d^2/dy^2 - L_z^2 d^2/dz^2

is the Matérn covariance of smoothness 1/2 in three dimensions (Lindgren, Rue & Lindstrom 2011). r is scaled by L along each axis.
Derivatives are second differences of knots, 0 across the box's sides; D brings the standard deviation of every knot to s, also at
the sides. A is a sum of one matrix along each axis, so their eigenvectors solve with it, exactly.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, reduce

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from craton.arrays.matrix import TrianglePart
from craton.inverse.blocks import ParameterBlock
from craton.inverse.parts import PriorPart, own_columns

__all__ = ["Matern", "difference_matrix"]

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]


def difference_matrix(at_m: f64, length_m: float) -> f64:
    """-L^2 d^2/dx^2 of values at evenly spaced places, without a slope at the ends."""
    count = len(at_m)
    if count == 1:
        return np.zeros((1, 1))
    step = (at_m[-1] - at_m[0]) / (count - 1)
    found = 2.0 * np.eye(count) - np.eye(count, k=1) - np.eye(count, k=-1)
    found[0, 0] = found[-1, -1] = 1.0
    return np.asarray((length_m / step) ** 2 * found)


@dataclass(frozen=True)
class Matern(PriorPart):
    """The prior of one parameter. axes: difference_matrix along x, y and z."""

    block: ParameterBlock
    axes: tuple[f64, f64, f64]
    strength: float
    """s"""

    @cached_property
    def _eigen(self) -> list[tuple[f64, f64]]:
        """Eigenvalues and eigenvectors along each axis."""
        return [(values, vectors) for values, vectors in (np.linalg.eigh(axis) for axis in self.axes)]

    @cached_property
    def _values(self) -> f64:
        """Eigenvalues of A, (x, y, z)."""
        x, y, z = (values for values, _ in self._eigen)
        return np.asarray(1.0 + x[:, None, None] + y[None, :, None] + z[None, None, :])

    @cached_property
    def _scale(self) -> f64:
        """D: standard deviations that A^-2 has, (x, y, z)."""
        x, y, z = (vectors**2 for _, vectors in self._eigen)
        variance = np.einsum("ai,bj,ck,ijk->abc", x, y, z, self._values**-2.0, optimize=True)
        return np.asarray(np.sqrt(variance))

    @cached_property
    def precision(self) -> scipy.sparse.csr_matrix:
        """C_m^-1, of knots with z fastest."""
        ones = [scipy.sparse.identity(len(axis)) for axis in self.axes]
        sums = scipy.sparse.identity(self._scale.size)
        for number, axis in enumerate(self.axes):
            along = [scipy.sparse.csr_matrix(axis) if at == number else one for at, one in enumerate(ones)]
            sums = sums + reduce(scipy.sparse.kron, along)
        scaled = scipy.sparse.diags(self._scale.ravel()) @ sums
        return scipy.sparse.csr_matrix(scaled @ scaled.T / self.strength**2)

    def _log_determinant(self) -> float:
        return float(
            2 * np.log(self._values).sum() + 2 * np.log(self._scale).sum() - self._scale.size * np.log(self.strength**2)
        )

    def _precision_times(self, table: f64) -> f64:
        return np.asarray(self.precision @ table.ravel())

    def _covariance_times(self, table: f64) -> f64:
        x, y, z = (vectors for _, vectors in self._eigen)
        scaled = table.reshape(self._scale.shape) / self._scale
        turned = np.einsum("ai,bj,ck,abc->ijk", x, y, z, scaled, optimize=True) / self._values**2
        return np.asarray(
            self.strength**2 * np.einsum("ai,bj,ck,ijk->abc", x, y, z, turned, optimize=True) / self._scale
        ).ravel()

    def own_elements(self, part: TrianglePart) -> Iterator[tuple[i64, i64, f64]]:
        """Of the sparse matrix."""
        for rows, cols, (a, i_radial), (b, j_radial) in own_columns(part, self.block):
            picked = self.precision[a * self.block.radial + i_radial][:, b * self.block.radial + j_radial]
            yield rows, cols, picked.toarray()

    def _variance(self, lateral: scipy.sparse.csr_matrix, radial: f64) -> f64:
        raise NotImplementedError("knots' deviations are `strength`")
