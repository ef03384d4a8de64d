"""The Gaussian prior with its lateral part dealt over all ranks: no rank holds knots^2 elements of it.

C_lateral (gaussian.py) is known by its elements. Every rank writes those of its own part of a distributed matrix; the Cholesky
factorisation shows whether it is positive definite, and its inverse takes its place. What is needed of C_lateral itself, products
and variances, is made from its elements again.

With n knots and P ranks a rank holds about n^2 / 2P elements; factor and inverse take their place. The factorisation takes n^3 / 3
operations and the inverse twice as many, of all ranks together. Correlation lengths that vary with depth are in
distributed_layers.py, sums of one order in distributed_in_one_order.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy.linalg
import scipy.sparse
from mpi4py import MPI
from numpy.typing import NDArray

from craton import SymmetricMatrix, linalg
from craton._craton import ModelBasis, World
from craton.arrays.matrix import TrianglePart, fitting_block
from craton.errors import UserError
from craton.inverse.blocks import ParameterBlock
from craton.inverse.conditioning import check_condition_number, singular
from craton.inverse.parts import PriorPart, chunks, own_columns, summed
from craton.tomography.prior.lateral import LateralCovariance

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]

BLOCKS = 128
"""Of rows and of columns, at least: ranks then have like parts of the triangle."""
STEPS = 12
"""Of power iteration, for the condition number: enough for its first digit."""


@dataclass(frozen=True)
class DistributedLateral:
    """C_lateral by its elements, and its inverse, dealt over the ranks of `comm`."""

    covariance: LateralCovariance
    inverse: SymmetricMatrix
    """Its upper triangle."""
    log_determinant: float
    """The natural logarithm of det C_lateral^-1."""
    comm: MPI.Comm

    def times(self, table: f64) -> f64:
        """Collective: C_lateral^-1 times columns, the same on every rank."""
        return dealt_times(self.inverse, table, self.comm)

    def covariance_times(self, table: f64) -> f64:
        """Collective: C_lateral times columns."""
        return covariance_times(self.covariance, table, self.comm)


def dealt_times(matrix: SymmetricMatrix, table: f64, comm: MPI.Comm) -> f64:
    """Collective: a symmetric matrix times columns, the same on every rank of comm."""
    own = np.zeros_like(table)
    for held in matrix.triangle:
        for some in chunks(len(held.rows), len(held.cols)):
            piece = held.local[:, some].copy()
            piece[~held.taken(cols=some)] = 0.0
            own[held.rows] += piece @ table[held.cols[some]]
            piece[held.rows[:, None] == held.cols[some]] = 0.0
            own[held.cols[some]] += piece.T @ table[held.rows]
    return summed(own, comm)


def covariance_times(covariance: LateralCovariance, table: f64, comm: MPI.Comm) -> f64:
    """Collective: the same of C_lateral, of which each rank makes some rows."""
    own, order, knots = np.zeros_like(table), len(table), np.arange(len(table))
    mine = np.arange(order * comm.rank // comm.size, order * (comm.rank + 1) // comm.size)
    for some in chunks(order, len(mine)):
        own[mine[some]] = covariance.elements(mine[some], knots) @ table
    return summed(own, comm)


def distributed_lateral(
    basis: ModelBasis, correlation_km: float, nugget: float, world: World, comm: MPI.Comm
) -> DistributedLateral:
    """Collective, blocking. world: of comm. UserError on every rank for a covariance that is not safely positive definite."""
    covariance = LateralCovariance.of(basis, correlation_km, nugget)
    matrix = dealt_matrix(covariance, world)
    start = np.random.default_rng(1).standard_normal(basis.n_lateral)
    largest = largest_eigenvalue(lambda vector: np.asarray(linalg.matvec(matrix, vector)), start)
    origin = f"[prior] correlation_km = {correlation_km:g}"
    try:
        factor = linalg.Cholesky(matrix)
    except UserError:
        raise singular(origin, nugget, None) from None
    smallest = 1.0 / largest_eigenvalue(lambda vector: np.asarray(factor.solve(vector)), start)
    check_condition_number(largest / smallest, origin, nugget)
    log_determinant = -factor.log_determinant()
    factor.invert()
    matrix.commit()
    return DistributedLateral(covariance, matrix, log_determinant, comm)


def dealt_matrix(covariance: LateralCovariance, world: World) -> SymmetricMatrix:
    """Collective: C_lateral, of which every rank makes its own part."""
    order = len(covariance.knots)
    block = min(fitting_block(world, order, order // 2, (0, 0)), max(1, order // BLOCKS))
    matrix = SymmetricMatrix(world, order, dtype="float64", block=block)
    for held in matrix.triangle:
        for some in chunks(len(held.rows), len(held.cols)):
            own, taken = held.local[:, some], held.taken(cols=some)
            own[taken] = covariance.elements(held.rows, held.cols[some])[taken]  # the rest may be another part's
    matrix.commit()
    return matrix


def largest_eigenvalue(times: Callable[[f64], f64], vector: f64) -> float:
    """Of a positive definite matrix, from below."""
    found = 0.0
    for _ in range(STEPS):
        vector = vector / float(np.linalg.norm(vector))
        product = times(vector)
        found, vector = float(vector @ product), product
    return found


@dataclass(frozen=True)
class DistributedSeparable(PriorPart):
    """C^-1 = lateral_inverse (x) radial_inverse, as Separable, of a lateral part that is dealt over all ranks.

    All calls are collective, but for what they say.
    """

    block: ParameterBlock
    lateral: DistributedLateral
    radial_inverse: f64

    def _log_determinant(self) -> float:
        radial = float(np.linalg.slogdet(self.radial_inverse)[1])
        return self.block.radial * self.lateral.log_determinant + self.block.lateral * radial

    def _precision_times(self, table: f64) -> f64:
        return self.lateral.times(table @ self.radial_inverse)

    def _covariance_times(self, table: f64) -> f64:
        half = self.lateral.covariance_times(table)
        return np.asarray(scipy.linalg.solve(self.radial_inverse, half.T, assume_a="pos")).T

    def add_to(self, system: SymmetricMatrix, scale: float) -> None:
        """Adds scale * C^-1 to the system, in the block's place."""
        system.add_kronecker(self.lateral.inverse, self.radial_inverse, scale, self.block.offset)

    def own_elements(self, part: TrianglePart) -> Iterator[tuple[i64, i64, f64]]:
        """As PriorPart says; not collective, but an owner on another node must poll meanwhile."""
        for rows, cols, (a, i_radial), (b, j_radial) in own_columns(part, self.block):
            down, of_a = np.unique(a, return_inverse=True)
            across, of_b = np.unique(b, return_inverse=True)
            elements = self.lateral.inverse.read_slice(down, across)[np.ix_(of_a, of_b)]
            yield rows, cols, elements * self.radial_inverse[np.ix_(i_radial, j_radial)]

    def _variance(self, lateral: scipy.sparse.csr_matrix, radial: f64) -> f64:
        """Not collective."""
        down = np.einsum("ri,ij,rj->r", radial, scipy.linalg.inv(self.radial_inverse), radial)
        return np.outer(self.lateral.covariance.variance(lateral), down)
