"""Fock builds by many ranks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from craton import _craton
from craton._craton import GaussianBasis, IntegralLibrary, World
from craton.arrays.dist_array import DistArray
from craton.described import Described
from craton.errors import UserError

Matrix = NDArray[np.float64]


class DistributedFock(Described):
    """Coulomb and exchange matrices of density matrices, built by all ranks of a world (`threads` threads each).

    `basis` has the shells of the given basis in an order in which neighbours in the list are neighbours in space; `function_order`
    has the given number of each of its functions. Matrices over the ranks have the order of `basis`, NumPy arrays the order that
    was given.

    Settings are those of _craton.DistributedFock; spared = 0 lets all blocks of densities travel. Collective, as are its members
    that build.
    """

    def __init__(
        self,
        world: World,
        library: IntegralLibrary,
        basis: GaussianBasis,
        threshold: float = 1e-12,
        threads: int = 1,
        strategy: str = "stealing",
        *,
        own_kernels: bool = True,
        functions_per_range: int = 0,
        progress: bool | None = None,
        buffer_bytes: int = 0,
        integral_bytes: int = 0,
        spared: float = 1e-3,
    ) -> None:
        """Raises UserError on every rank for settings out of range, and for those that are not the same on all ranks."""
        shells = basis.spatial_order().tolist()
        self.world = world
        self.basis = basis.reordered(shells)
        self.function_order = basis.function_order(shells)
        self._core = _craton.DistributedFock(
            world,
            library,
            self.basis,
            threshold,
            threads,
            strategy,
            own_kernels,
            functions_per_range,
            progress,
            buffer_bytes,
            integral_bytes,
            spared,
        )

    def _facts(self) -> dict[str, object]:
        return {"functions": self.basis.size, "ranks": self.world.size}

    def zeros(self) -> DistArray:
        """A matrix over the ranks in the layout that is best for densities, J and K: a tile per rank, cut between shells."""
        size, (rows, columns) = self.basis.size, self._core.boundaries
        owners = np.array(self._core.owners).reshape(len(rows) - 1, len(columns) - 1)
        return DistArray(self.world, (size, size), boundaries=(rows, columns), owners=owners)

    def scatter(self, matrix: Matrix) -> DistArray:
        """A matrix that every rank has whole, in the order of the basis that was given, over the ranks in the order of `basis`."""
        if matrix.shape != (self.basis.size,) * 2:
            shape = " x ".join(map(str, matrix.shape))
            raise UserError(f"scatter: the matrix is {shape}; allowed: {self.basis.size} x {self.basis.size}")
        made, inside = self.zeros(), self.function_order
        for tile in made.local_tiles:
            rows, columns = (inside[along] for along in tile.slices)
            tile.array[...] = matrix[rows[:, None], columns]
        self.world.barrier()
        return made

    def gather(self, matrix: DistArray) -> Matrix:
        """The other way round: whole, on every rank."""
        given = np.argsort(self.function_order)
        return matrix.gather()[given[:, None], given]

    @overload
    def build(self, densities: Matrix) -> tuple[Matrix, Matrix]: ...
    @overload
    def build(self, densities: Sequence[DistArray]) -> tuple[DistArray, list[DistArray]]: ...
    def build(self, densities: Any) -> tuple[Any, Any]:
        """J of the sum of the densities (spins), each symmetric, and K of each.

        Of an array (spins, n, n), the same on every rank, in the order of the basis that was given: J (n, n) and K (spins, n, n),
        on every rank. Of a sequence of DistArrays in the order of `basis`, of any layouts: J and a list of K in that of zeros().
        """
        if not isinstance(densities, np.ndarray):
            coulomb, exchange = self.zeros(), [self.zeros() for _ in densities]
            self.build_into(densities, coulomb, exchange)
            return coulomb, exchange
        if densities.ndim != 3:
            raise UserError(f"densities have {densities.ndim} dimensions; allowed: 3, (spins, functions, functions)")
        inside = self.function_order
        if densities.shape[1:] == (self.basis.size,) * 2:
            densities = densities[:, inside[:, None], inside]  # other shapes the core refuses, on every rank
        j, k = self._core.build(np.ascontiguousarray(densities, dtype=np.float64))
        given = np.argsort(inside)
        return j[given[:, None], given], k[:, given[:, None], given]

    def build_into(self, densities: Sequence[DistArray], coulomb: DistArray, exchange: Sequence[DistArray]) -> None:
        """Builds as build() of DistArrays, into existing arrays of any layouts.

        UserError on every rank for arrays that are not n x n of float64 over this world, and for one that is given twice.
        """
        self._core.build_into([each._core for each in densities], coulomb._core, [each._core for each in exchange])

    @property
    def boundaries(self) -> list[list[int]]:
        """Boundaries of zeros()' tiles, one tile per rank: first functions along rows and along columns, and n."""
        return self._core.boundaries

    @property
    def tasks(self) -> int:
        """Number of tasks of a build, over all ranks."""
        return self._core.tasks

    @property
    def counts(self) -> dict[str, int]:
        """Counts of this rank, as _craton.DistributedFock.counts."""
        return self._core.counts

    @property
    def timeline(self) -> Matrix:
        """Tasks of this rank and their times, as _craton.DistributedFock.timeline."""
        return self._core.timeline

    @property
    def statistics(self) -> dict[str, float]:
        """Seconds of this rank by what they went to, as _craton.DistributedFock.statistics."""
        return self._core.statistics
