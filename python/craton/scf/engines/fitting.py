"""J and K of fitted densities."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from craton._craton import DensityFitting, GaussianBasis, IntegralLibrary, World
from craton.arrays.dist_array import DistArray
from craton.errors import UserError
from craton.scf.basis_sets import PlacedShell, function_count
from craton.scf.engines.distributed import DistributedEngine

Matrix = NDArray[np.float64]

NOTHING = 1e-14
"""Electrons below which an orbital of a density, or of its change, is left out."""
DEPENDENT = 1e-10
"""Eigenvalues of the metric, in parts of the largest, below which a fitting function is taken for one of the others."""


LARGEST_L = 8
"""Of two shells together; the lower one up to half of it."""
MOST_PRODUCTS = 100
"""Of functions of two shells."""


def check_products(shells: Sequence[PlacedShell]) -> None:
    """UserError for shells whose products the kernels have not."""
    high, low = max(each.momentum for each in shells), LARGEST_L // 2
    if high > low:
        raise UserError(f"density fitting: shells of l = {high}; allowed: l up to {low}")
    most = max(function_count(each) for each in shells)
    if most**2 > MOST_PRODUCTS:
        raise UserError(
            f"density fitting: a shell of {most} functions; allowed: 10, as sets without long general contractions have"
        )


def metric_root(metric: Matrix) -> Matrix:
    """M with M^T M = the inverse of the metric; fewer rows than columns where fitting functions depend on each other."""
    try:
        lower = scipy.linalg.cholesky(metric, lower=True)
    except np.linalg.LinAlgError:
        values, vectors = np.linalg.eigh(metric)
        kept = values > DEPENDENT * values[-1]
        return np.ascontiguousarray((vectors[:, kept] / np.sqrt(values[kept])).T)
    return np.ascontiguousarray(scipy.linalg.solve_triangular(lower, np.eye(len(metric)), lower=True))


def agree(world: World | None, failure: str) -> None:
    """UserError, on every rank, for what failed on any."""
    if world is not None:
        world.agree(failure)
    elif failure:
        raise UserError(failure)


def own_rows(root: Matrix, columns: int, world: World) -> Matrix:
    """Collective: each rank's part of the rows of rank 0's root. Rows of different roots would not fit together."""
    count = int(world.sum([float(len(root))])[0])
    cuts = count * np.arange(world.size + 1) // world.size
    owners = np.flatnonzero(np.diff(cuts))
    dealt = DistArray(
        world, (count, columns), boundaries=[np.append(cuts[owners], count), [0, columns]], owners=owners[:, None]
    )
    if world.rank == 0:
        dealt[...] = root
    dealt.sync()
    mine = dealt.local_tiles
    return mine[0].array.copy() if mine else np.empty((0, columns))


class FittedFock:
    """What a rank of several brings to J and K, or the whole of them; FockBuilder has the same members.

    Each rank keeps a part of the rows of fitted three-centre integrals, and whole n x n matrices.
    """

    def __init__(
        self, basis: GaussianBasis, auxiliary: GaussianBasis, threads: int, world: World | None = None
    ) -> None:
        """UserError for shells that the kernels have not, and where there is no memory. Collective over a world."""
        failure = ""
        try:
            self._core = DensityFitting(basis, auxiliary, threads)
            first = world is None or world.rank == 0
            root = metric_root(self._core.metric()) if first else np.empty((0, 0))
        except (UserError, MemoryError, np.linalg.LinAlgError) as error:
            failure = str(error) or type(error).__name__
        agree(world, failure)
        rows = root if world is None else own_rows(root, auxiliary.size, world)
        del root
        try:
            self._core.fit(rows)
        except (UserError, MemoryError) as error:
            failure = str(error) or type(error).__name__
        agree(world, failure)
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
        self._fitted = FittedFock(basis, auxiliary, threads, world)

    def _build_into(self, densities: Sequence[DistArray], coulomb: DistArray, exchange: Sequence[DistArray]) -> None:
        whole = np.array([self.fock.gather(each) for each in densities])
        failure = ""
        try:
            found = self._fitted.build(whole)
        except (UserError, MemoryError, np.linalg.LinAlgError) as error:
            failure = str(error) or type(error).__name__
        self.world.agree(failure)
        for matrix, into in zip((found[0], *found[1]), (coulomb, *exchange), strict=True):
            into.copy_from(self.fock.scatter(self.world.sum(matrix)))
