"""J and K of fitted densities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from craton._craton import DensityFitting, GaussianBasis, IntegralLibrary, World
from craton.scf.engines.distributed import DistributedEngine

if TYPE_CHECKING:
    from craton.arrays.dist_array import DistArray

Matrix = NDArray[np.float64]

NOTHING = 1e-14
"""Electrons below which an orbital of a density, or of its change, is left out."""
DEPENDENT = 1e-10
"""Eigenvalues of the metric, in parts of the largest, below which a fitting function is taken for one of the others."""


def metric_root(metric: Matrix) -> Matrix:
    """M with M^T M = the inverse of the metric; fewer rows than columns where fitting functions depend on each other."""
    try:
        lower = scipy.linalg.cholesky(metric, lower=True)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(metric)
        kept = values > DEPENDENT * values[-1]
        return np.ascontiguousarray((vectors[:, kept] / np.sqrt(values[kept])).T)
    return np.ascontiguousarray(scipy.linalg.solve_triangular(lower, np.eye(len(metric)), lower=True))


class FittedFock:
    """What a rank of several brings to J and K, or the whole of them; FockBuilder has the same members.

    Each rank keeps a part of the rows of fitted three-centre integrals, and whole n x n matrices.
    """

    def __init__(
        self, basis: GaussianBasis, auxiliary: GaussianBasis, threads: int, rank: int = 0, ranks: int = 1
    ) -> None:
        """UserError for shells that the kernels have not, and where there is no memory."""
        self._core = DensityFitting(basis, auxiliary, threads)
        root = metric_root(self._core.metric())
        self._core.fit(root[len(root) * rank // ranks : len(root) * (rank + 1) // ranks])
        self.counts = {"quartets": 0}
        """No integrals of four shells are computed."""

    def build(self, densities: Matrix) -> tuple[Matrix, Matrix]:
        """J of the sum of symmetric densities (spins, n, n), K of each."""
        values, vectors = [], []
        for density in densities:
            electrons, orbitals = np.linalg.eigh(density)
            there = np.abs(electrons) > NOTHING
            values.append(electrons[there])
            vectors.append(np.ascontiguousarray(orbitals[:, there].T))
        return self._core.build(densities, values, vectors)


class FittedEngine(DistributedEngine):
    """A DistributedEngine whose J and K are those of fitted densities: every rank has whole densities while it builds."""

    in_tasks = False

    def __init__(
        self,
        world: World,
        library: IntegralLibrary,
        basis: GaussianBasis,
        auxiliary: GaussianBasis,
        threshold: float,
        threads: int,
    ) -> None:
        super().__init__(world, library, basis, threshold, threads, 0)
        failure = ""
        try:
            self._fitted = FittedFock(basis, auxiliary, threads, world.rank, world.size)
        except Exception as error:  # of memory or of input, on this rank alone
            failure = str(error) or type(error).__name__
        world.agree(failure)

    def _build_into(self, densities: Sequence[DistArray], coulomb: DistArray, exchange: Sequence[DistArray]) -> None:
        whole = np.array([self.fock.gather(each) for each in densities])
        found = self._fitted.build(whole)
        for matrix, into in zip((found[0], *found[1]), (coulomb, *exchange), strict=True):
            into.copy_from(self.fock.scatter(self.world.sum(matrix)))
