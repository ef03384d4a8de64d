"""The Gaussian prior with lateral lengths that vary with depth (Layered of parts.py), its lateral matrices dealt over all ranks.

Of each different length the ranks hold G_i^-1, n^2 / 2P elements each. It is made of all eigenvectors of C_lateral. G_i itself is
C_lateral G_i^-1. The products G_i^-1 G_j^-1, of each pair of lengths, are made when they are asked for, one pair at a time: two
matrices of n^2 / P elements meanwhile.

With D lengths the eigenvectors take about 9 D n^3 operations of all ranks together, and the products D (D + 1) n^3 for each system.
The system of n R unknowns takes R^3 n^3 / 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse
from mpi4py import MPI
from numpy.typing import NDArray

from craton import ConvergentMatrix, SymmetricMatrix, linalg
from craton._craton import ModelBasis, World
from craton.arrays.matrix import TrianglePart
from craton.inverse.blocks import ParameterBlock
from craton.inverse.conditioning import check_condition_number
from craton.inverse.parts import PriorPart, own_columns, summed
from craton.tomography.prior.distributed import covariance_times, dealt_matrix, dealt_times
from craton.tomography.prior.lateral import LateralCovariance

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]


@dataclass(frozen=True)
class DistributedRoot:
    """G, the symmetric square root of C_lateral, as Root, by an inverse that is dealt over the ranks of `comm`. Collective."""

    covariance: LateralCovariance
    inverse: SymmetricMatrix
    """The upper triangle of G^-1."""
    log_determinant: float
    """The natural logarithm of det G^-1."""
    comm: MPI.Comm

    def matrix(self, power: int) -> ConvergentMatrix:
        """G for 1, G^-1 for -1."""
        whole: ConvergentMatrix = self.inverse.to_matrix(fill_lower=True)
        if power == -1:
            return whole
        root: ConvergentMatrix = linalg.matmul(dealt_matrix(self.covariance, self.inverse.world), whole)
        return root

    def times(self, table: f64, power: int) -> f64:
        """G or G^-1 times columns, the same on every rank."""
        inverse = dealt_times(self.inverse, table, self.comm)
        return inverse if power == -1 else covariance_times(self.covariance, inverse, self.comm)


def distributed_root(
    basis: ModelBasis, correlation_km: float, nugget: float, world: World, comm: MPI.Comm
) -> DistributedRoot:
    """Collective, blocking. world: of comm. UserError on every rank for a covariance that is not safely positive definite."""
    covariance = LateralCovariance.of(basis, correlation_km, nugget)
    matrix = dealt_matrix(covariance, world)
    values, vectors = linalg.eigh(matrix)
    condition = float(values[-1]) / max(float(values[0]), 1e-16 * float(values[-1]))
    check_condition_number(condition, f"[prior] correlation_km = {correlation_km:g}", nugget)
    vectors.local[...] *= values[np.asarray(vectors.local_cols_global)] ** -0.25
    vectors.commit()
    matrix.compress(linalg.matmul(vectors, vectors, transpose_b=True))
    return DistributedRoot(covariance, matrix, -0.5 * float(np.log(values).sum()), comm)


@dataclass(frozen=True)
class DistributedLayered(PriorPart):
    """As Layered. All calls are collective, and every rank takes all that own_elements gives."""

    block: ParameterBlock
    roots: Sequence[DistributedRoot]
    """Roots of the different lateral covariances."""
    which: Sequence[int]
    """The one at each radial knot."""
    radial_inverse: f64
    """K^-1"""

    def _log_determinant(self) -> float:
        lateral = 2.0 * sum(self.roots[root].log_determinant for root in self.which)
        return lateral + self.block.lateral * float(np.linalg.slogdet(self.radial_inverse)[1])

    def _layers_times(self, table: f64, power: int) -> f64:
        found = np.empty_like(table)
        for number, root in enumerate(self.roots):
            layers = np.flatnonzero(np.asarray(self.which) == number)
            found[:, layers] = root.times(table[:, layers], power)
        return found

    def _precision_times(self, table: f64) -> f64:
        return self._layers_times(self._layers_times(table, -1) @ self.radial_inverse, -1)

    def _covariance_times(self, table: f64) -> f64:
        mixed = scipy.linalg.solve(self.radial_inverse, self._layers_times(table, 1).T, assume_a="pos")
        return self._layers_times(np.ascontiguousarray(np.asarray(mixed).T), 1)

    def _pairs(self, power: int) -> Iterator[tuple[int, int, ConvergentMatrix]]:
        """(p, q, G_p G_q) or of the inverses, p <= q. Others may read a product until the next one is asked for."""
        world = self.roots[0].inverse.world
        for p, upper in enumerate(self.roots):
            world.barrier()  # who waits here answers those that still read
            left = upper.matrix(power)
            for q in range(p, len(self.roots)):
                right = self.roots[q].inverse if power == -1 else self.roots[q].matrix(power)
                yield p, q, linalg.matmul(left, right)
                world.barrier()

    def add_to(self, system: SymmetricMatrix, scale: float) -> None:
        """Adds scale * C^-1 to the system, in the block's place."""
        parts = system.triangle
        for pair in self._pairs(-1):
            for part in parts:
                for rows, cols, elements in self._elements_of_pair(part, *pair):
                    added = np.where(part.taken(rows, cols), scale * elements, 0.0)
                    part.local[np.ix_(rows, cols)] += added.astype(system.dtype)

    def own_elements(self, part: TrianglePart) -> Iterator[tuple[i64, i64, f64]]:
        """As PriorPart says, but collective."""
        for pair in self._pairs(-1):
            yield from self._elements_of_pair(part, *pair)

    def _elements_of_pair(
        self, part: TrianglePart, p: int, q: int, product: ConvergentMatrix
    ) -> Iterator[tuple[i64, i64, f64]]:
        """The elements between layers of lengths p and q."""
        which = np.asarray(self.which)
        for rows, cols, (a, i_radial), (b, j_radial) in own_columns(part, self.block):
            for upper, lower in {(p, q), (q, p)}:
                these, those = np.flatnonzero(which[i_radial] == upper), np.flatnonzero(which[j_radial] == lower)
                if not (len(these) and len(those)):
                    continue
                (down, of_a), (across, of_b) = (np.unique(at, return_inverse=True) for at in (a[these], b[those]))
                lateral = product.read_slice(down, across) if upper == p else product.read_slice(across, down).T
                radial = self.radial_inverse[np.ix_(i_radial[these], j_radial[those])]
                yield rows[these], cols[those], lateral[np.ix_(of_a, of_b)] * radial

    def _variance(self, lateral: scipy.sparse.csr_matrix, radial: f64) -> f64:
        """Each rank's share of the places, by the few elements that a place's splines take."""
        covariance, which, comm = scipy.linalg.inv(self.radial_inverse), np.asarray(self.which), self.roots[0].comm
        places = int(lateral.shape[0])
        own = range(places * comm.rank // comm.size, places * (comm.rank + 1) // comm.size)
        variance = np.zeros((places, len(radial)))
        for p, q, product in self._pairs(1):
            upper, lower = np.flatnonzero(which == p), np.flatnonzero(which == q)
            down = np.einsum("ri,ij,rj->r", radial[:, upper], covariance[np.ix_(upper, lower)], radial[:, lower])
            for place in own:
                near = slice(lateral.indptr[place], lateral.indptr[place + 1])
                knots, values = lateral.indices[near].astype(np.int64), lateral.data[near]
                variance[place] += (1 + (p != q)) * (values @ product.read_slice(knots, knots) @ values) * down
        return summed(variance, comm)
