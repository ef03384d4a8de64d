"""C_lateral dealt over ranks, and inverted with sums of one order: the same bits of C_lateral^-1, however many ranks there are.

An inverse by panels (distributed.py) sums in blocks that follow from the number of ranks. Here C_lateral lies in tiles of a fixed
size (linalg.OrderedSymmetric), and each column of the inverse is a solution: n of them, in 2 n^3 operations of all ranks together.
That is little beside the factorisation of equation 2, whose order is several times n.

A second copy in such tiles makes the products. So a rank holds n^2 / P elements, and half as much again meanwhile.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from craton import SymmetricMatrix, linalg
from craton._craton import ModelBasis, World
from craton.errors import UserError
from craton.inverse.conditioning import check_condition_number, singular
from craton.tomography.prior.distributed import DistributedLateral, dealt_matrix, largest_eigenvalue
from craton.tomography.prior.lateral import LateralCovariance

f64 = NDArray[np.float64]


@dataclass(frozen=True)
class OrderedLateral(DistributedLateral):
    """As DistributedLateral. C_lateral^-1 and its products have the same bits on any ranks; the rest is as there."""

    ordered: linalg.OrderedSymmetric
    """The inverse once more."""

    def times(self, table: f64) -> f64:
        """Collective: C_lateral^-1 times columns, the same on every rank."""
        columns = [self.ordered.matvec(np.ascontiguousarray(column)) for column in table.T]
        return np.stack(columns, axis=1)


def ordered_lateral(
    basis: ModelBasis, correlation_km: float, nugget: float, world: World, comm: MPI.Comm, threads: int = 1
) -> OrderedLateral:
    """Collective, blocking. threads: of each rank. UserError as of distributed_lateral."""
    return ordered(LateralCovariance.of(basis, correlation_km, nugget), world, comm, threads)


def ordered(covariance: LateralCovariance, world: World, comm: MPI.Comm, threads: int) -> OrderedLateral:
    """Collective, blocking: the same of any knots."""
    matrix = dealt_matrix(covariance, world)
    tiles = linalg.OrderedSymmetric(matrix, threads)
    start = np.random.default_rng(1).standard_normal(matrix.order)
    largest = largest_eigenvalue(tiles.matvec, start)
    origin, nugget = f"[prior] correlation_km = {covariance.correlation_km:g}", covariance.nugget
    try:
        tiles.factorise()
    except UserError:
        raise singular(origin, nugget, None) from None
    smallest = 1.0 / largest_eigenvalue(tiles.solve, start)
    check_condition_number(largest / smallest, origin, nugget)
    put_inverse(tiles, matrix)
    del tiles
    log_determinant = linalg.log_determinant(matrix.copy())
    return OrderedLateral(covariance, matrix, log_determinant, comm, linalg.OrderedSymmetric(matrix, threads))


def put_inverse(factor: linalg.OrderedSymmetric, matrix: SymmetricMatrix) -> None:
    """Collective: the elements of a matrix become those of the inverse. Of the solution for column j they are those above row j."""
    parts = matrix.triangle
    for j in range(matrix.order):
        unit = np.zeros(matrix.order)
        unit[j] = 1.0
        column = factor.solve(unit)
        for held in parts:
            lines, across = (held.rows, held.cols) if held.mirrored else (held.cols, held.rows)
            at, upper = int(np.searchsorted(lines, j)), int(np.searchsorted(across, j, side="right"))
            if at < len(lines) and lines[at] == j:
                own = held.local[at, :upper] if held.mirrored else held.local[:upper, at]
                own[...] = column[across[:upper]]
    matrix.commit()
