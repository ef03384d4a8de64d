"""Integrals, J and K, and the linear algebra of the iterations, for matrices over all ranks of a world."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton import linalg
from craton._craton import GaussianBasis, IntegralLibrary, World
from craton.dist_array import DistArray
from craton.errors import UserError
from craton.scf.distributed import DistributedFock

if TYPE_CHECKING:
    from craton.scf.checkpoint import Checkpoint

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

SPENT = ("own_tasks", "stolen_tasks", "build_s", "compute_s", "get_s", "accumulate_s", "queue_s", "idle_s")
WHOLE_ON_ONE_RANK = 256
"""Functions of a matrix that one rank may have whole, to diagonalise it: half a MiB."""
ROWS_AT_ONCE = 64
"""Of a density, when a checkpoint is written."""


class DistributedAlgebra:
    """What NumpyAlgebra has, for DistArrays of one layout. Collective."""

    leaves_out_columns = False

    def transposed(self, a: DistArray) -> DistArray:
        """In the same layout, which sums and differences need."""
        return a.transpose(a.like())

    def dot(self, a: DistArray, b: DistArray) -> float:
        return float(a.dot(b))

    def trace(self, a: DistArray) -> float:
        return float(a.trace())

    def eigh(self, a: DistArray) -> tuple[Vector, DistArray]:
        return linalg.eigh(a, workers="auto" if a.shape[0] <= WHOLE_ON_ONE_RANK else "all")

    def scaled_columns(self, a: DistArray, factors: Vector) -> DistArray:
        made = a.copy()
        made.map(lambda block, where: block * factors[where[1]], places=True)
        return made

    def plus_identity(self, a: DistArray, factor: float) -> DistArray:
        def add(block: Matrix, where: tuple[slice, slice]) -> Matrix:
            rows, columns = (np.arange(each.start, each.stop) for each in where)
            return block + factor * (rows[:, None] == columns)

        made = a.copy()
        made.map(add, places=True)
        return made

    def spectrum_bounds(self, a: DistArray) -> tuple[float, float]:
        diagonal = _row_sums(a, lambda block, rows, columns: np.where(rows[:, None] == columns, block, 0))
        radii = _row_sums(a, lambda block, rows, columns: np.where(rows[:, None] == columns, 0, np.abs(block)))
        return float((diagonal - radii).min()), float((diagonal + radii).max())


class DistributedEngine:
    """What LocalEngine has, for DistArrays. Matrices have the functions in the order `order`: neighbours in the list are
    neighbours in space. No rank has a whole matrix. Collective, but for columns()."""

    def __init__(
        self, world: World, library: IntegralLibrary, basis: GaussianBasis, threshold: float, threads: int
    ) -> None:
        self.algebra = DistributedAlgebra()
        self.world = world
        self._library = library
        self.fock = DistributedFock(world, library, basis, threshold, threads)
        self.order = np.asarray(self.fock.function_order, dtype=np.int64)
        """The number in the given basis of each function."""
        self._place = np.argsort(self.order)
        self.spent = dict.fromkeys(SPENT, 0.0)
        """Of this rank, over all builds, by the names of DistributedFock.statistics."""

    def overlap(self) -> DistArray:
        return self._filled(lambda *shells: self._library.block("overlap", self.fock.basis, *shells))

    def core(self) -> DistArray:
        def block(*shells: tuple[int, int]) -> Matrix:
            kinetic = self._library.block("kinetic", self.fock.basis, *shells)
            return kinetic + self._library.block("nuclear_attraction", self.fock.basis, *shells)

        return self._filled(block)

    def positions(self) -> Iterator[DistArray]:
        for axis in range(3):
            yield self._filled(
                lambda *shells, axis=axis: self._library.block("position", self.fock.basis, *shells)[axis]
            )

    def _filled(self, block: Callable[..., Matrix]) -> DistArray:
        """Each rank computes its own tiles, whose boundaries are those of shells."""
        made = self.fock.zeros()
        first = self.fock.basis.first_function
        for tile in made.local_tiles:
            ends = [
                tuple(int(n) for n in np.searchsorted(first, (low, high)))
                for low, high in zip(tile.low, tile.high, strict=True)
            ]
            tile.array[...] = block(*ends)
        made.sync()
        return made

    def build(self, densities: Sequence[DistArray]) -> tuple[DistArray, list[DistArray]]:
        coulomb, exchange = self.fock.build(list(densities))
        for name in SPENT:
            self.spent[name] += self.fock.statistics[name]
        return coulomb, exchange

    @property
    def quartets(self) -> int:
        """Of all ranks."""
        counts = DistArray(self.world, self.world.size, "int64", tiles=1)
        counts[self.world.rank : self.world.rank + 1] = np.array([self.fock.counts["quartets"]])
        return int(counts.gather().sum())

    def block_diagonal(self, blocks: Sequence[Matrix]) -> DistArray:
        """An atom's functions are neighbours here too, in the order that they had."""
        made, first = self.fock.zeros(), 0
        for block in blocks:
            at = int(self._place[first])
            for tile in made.local_tiles:
                low = [max(at, each) for each in tile.low]
                high = [min(at + len(block), each) for each in tile.high]
                if all(a < b for a, b in zip(low, high, strict=True)):
                    inside = tuple(slice(a - t, b - t) for a, b, t in zip(low, high, tile.low, strict=True))
                    tile.array[inside] = block[low[0] - at : high[0] - at, low[1] - at : high[1] - at]
            first += len(block)
        made.sync()
        return made

    def taken(self, matrix: Matrix) -> DistArray:
        """From an array (or dataset of a file) of all functions, in the order of the basis that was given, of which each rank
        reads its rows."""
        made = self.fock.zeros()
        for tile in made.local_tiles:
            columns = self.order[tile.slices[1]]
            for first in range(tile.low[0], tile.high[0], ROWS_AT_ONCE):
                rows = self.order[first : min(first + ROWS_AT_ONCE, tile.high[0])]
                sort = np.argsort(rows)  # a file wants them so
                part = np.asarray(matrix[rows[sort]])[:, columns]
                tile.array[first - tile.low[0] + sort] = part
        made.sync()
        return made

    def columns(self, matrix: DistArray, first: int, last: int) -> Matrix:
        return matrix[:, first:last].get()[self._place]

    def row_dots(self, a: DistArray, b: DistArray) -> Vector:
        product = a.copy()
        product.map(np.multiply, b)
        return _row_sums(product, lambda block, rows, columns: block)[self._place]

    def write(self, checkpoint: Checkpoint, path: Path) -> None:
        """Rank 0 writes, fetching some rows at a time."""
        failure = ""
        self.world.barrier()
        if self.world.rank == 0:
            try:
                checkpoint.write_by_rows(path, self._rows)
            except UserError as error:
                failure = str(error)
        failed = DistArray(self.world, 1, "int64")
        if failure:
            failed[0:1] = np.ones(1, np.int64)
        if failed.gather()[0]:
            raise UserError(failure or f"{path}: rank 0 could not write it")

    def _rows(self, matrix: DistArray) -> Iterator[tuple[NDArray[np.int64], Matrix]]:
        """Rows of a matrix in the order of the basis that was given, some at a time, with their ascending numbers."""
        for first in range(0, len(self.order), ROWS_AT_ONCE):
            rows = self.order[first : first + ROWS_AT_ONCE]
            sort = np.argsort(rows)
            yield rows[sort], matrix[first : first + len(rows), :].get()[sort][:, self._place]


def _row_sums(a: DistArray, of: Callable[[Matrix, NDArray[np.int64], NDArray[np.int64]], Matrix]) -> Vector:
    """On every rank, of what `of` makes of each tile, its rows and its columns."""
    sums = DistArray(a.world, a.shape[0])
    for tile in a.local_tiles:
        rows, columns = (np.arange(each.start, each.stop) for each in tile.slices)
        sums[tile.slices[0]] += of(tile.array, rows, columns).sum(axis=1)
    return sums.gather()
