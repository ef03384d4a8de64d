"""Integrals, J and K, and the linear algebra of the iterations, for matrices over all ranks of a world."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

import numpy as np
from numpy.typing import NDArray

from craton import linalg
from craton._craton import GaussianBasis, IntegralLibrary, World, electronic_gradient, nuclear_gradient
from craton.arrays.dist_array import DistArray, LocalTile
from craton.errors import UserError
from craton.scf.basis_sets import PlacedShell, basis_of_shells
from craton.scf.core_potentials import CorePotential, CorePotentials
from craton.scf.engines.algebra import WorkArrays, combine_blocks, nonzero_part
from craton.scf.engines.fock import DistributedFock
from craton.scf.molecule import Molecule

if TYPE_CHECKING:
    from craton.scf.files.checkpoint import Checkpoint

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Places = NDArray[np.int64]

SPENT = (
    "own_tasks", "stolen_tasks", "build_s", "compute_s", "get_s", "accumulate_s", "queue_s", "idle_s", "fetched_bytes",
    "spared_bytes",
)  # fmt: skip
WHOLE_ON_ONE_RANK = 256
"""Functions of a matrix that one rank may have whole, to diagonalise or purify it: half a MiB."""
ROWS_AT_ONCE = 64
"""Rows of a density that are fetched together when a checkpoint is written."""


class DistributedAlgebra(WorkArrays):
    """What NumpyAlgebra has, for DistArrays of one world, of which those that are combined have one layout. Collective.

    What touches a rank's own tiles alone waits for nobody: whatever reads or writes those of others, here and in DistArray,
    begins and ends with all ranks together.
    """

    whole_on_one_rank = WHOLE_ON_ONE_RANK
    """Functions up to which eigenproblems and purification are left to one rank."""

    def _new(self, _like: DistArray, shape: tuple[int, ...]) -> DistArray:
        cuts, owners = resized(_like, shape)
        return DistArray(_like.world, shape, boundaries=cuts, owners=owners)

    def _kind(self, _like: DistArray, shape: tuple[int, ...]) -> Hashable:
        cuts, owners = resized(_like, shape)
        return *(each.tobytes() for each in cuts), owners.tobytes()

    def product(
        self, a: DistArray, b: DistArray, into: DistArray, *, transpose_a: bool = False, transpose_b: bool = False
    ) -> None:
        """As NumpyAlgebra.product, by all ranks: craton.linalg.matmul."""
        linalg.matmul(a, b, into, transpose_a=transpose_a, transpose_b=transpose_b)

    def transpose(self, a: DistArray, into: DistArray) -> None:
        """As NumpyAlgebra.transpose, by all ranks."""
        a.transpose(into)

    def combine(
        self,
        into: DistArray,
        terms: Sequence[tuple[float, DistArray]],
        *,
        keep: float = 0.0,
        identity: float = 0.0,
    ) -> None:
        """Each rank of its own tiles, without waiting for any."""
        others = [(factor, matrix.local_tiles) for factor, matrix in terms]
        for n, tile in enumerate(into.local_tiles):
            combine_blocks(tile.array, [(factor, tiles[n].array) for factor, tiles in others], keep)
            if identity:
                _diagonal(tile)[...] += identity

    def inner(self, pairs: Sequence[tuple[DistArray, DistArray | None]]) -> list[float]:
        """As NumpyAlgebra.inner, in one sum over the ranks."""
        own = np.zeros(len(pairs))
        for n, (a, b) in enumerate(pairs):
            if b is None:
                own[n] = sum(_diagonal(tile).sum() for tile in a.local_tiles)
            else:
                both = zip(a.local_tiles, b.local_tiles, strict=True)
                own[n] = sum(float(np.vdot(one.array, other.array)) for one, other in both)
        return pairs[0][0].world.sum(own).tolist() if pairs else []

    def eigh(self, a: DistArray) -> tuple[Vector, DistArray]:
        """As NumpyAlgebra.eigh; small matrices by rank 0, others by all ranks: craton.linalg.eigh."""
        vectors = self.take(a)
        return linalg.eigh(a, "one" if self._by_one(a) else "all", out=vectors)[0], vectors

    def scaled_columns(self, a: DistArray, factors: Vector) -> DistArray:
        """As NumpyAlgebra.scaled_columns; where all factors are 0 one column is left."""
        part = nonzero_part(factors)
        part = part if part.stop else slice(0, 1)
        made = self._new(a, (a.shape[0], part.stop - part.start))
        a.sync()
        for tile in made.local_tiles:
            rows, columns = tile.slices
            there = slice(part.start + columns.start, part.start + columns.stop)
            tile.array[...] = a[rows, there].get() * factors[there]
        made.sync()  # nobody changes a while another still reads
        return made

    def project_on_first(self, vectors: DistArray, count: int, into: DistArray) -> None:
        """As NumpyAlgebra.project_on_first."""
        for tile in vectors.local_tiles:
            tile.array[:, max(0, count - tile.low[1]) :] = 0
        linalg.matmul(vectors, vectors, into, transpose_b=True)

    def spectrum_bounds(self, a: DistArray) -> tuple[float, float]:
        """As NumpyAlgebra.spectrum_bounds, in one sum over the ranks."""
        size = a.shape[0]
        own = np.zeros((2, size))  # the diagonal, and the sum of what is beside it
        for tile in a.local_tiles:
            low, high = _on_diagonal(tile)
            own[0, low:high] += _diagonal(tile)
            own[1, tile.slices[0]] += np.abs(tile.array).sum(axis=1)
            own[1, low:high] -= np.abs(_diagonal(tile))
        diagonal, radii = a.world.sum(own)
        return float((diagonal - radii).min()), float((diagonal + radii).max())

    def done_by_one(self, work: Callable[[Matrix], Matrix], a: DistArray, into: DistArray) -> bool:
        """Rank 0, up to whole_on_one_rank functions. UserError on every rank where it has met one."""
        if not self._by_one(a):
            return False
        failure = ""
        a.world.barrier()
        if a.world.rank == 0:
            try:
                into[...] = work(a[...].get())
            except (UserError, np.linalg.LinAlgError, ValueError) as error:
                failure = str(error) or type(error).__name__
        a.world.agree(failure)
        return True

    def _by_one(self, a: DistArray) -> bool:
        return a.shape[0] <= self.whole_on_one_rank


def resized(like: DistArray, shape: tuple[int, ...]) -> tuple[Sequence[Places], Places]:
    """Boundaries in the same proportions for other extents, and the owners; of tiles that come to nothing, none."""
    if shape == like.shape:
        return like.boundaries, like.owners
    cuts, kept = [], []
    for each, extent in zip(like.boundaries, shape, strict=True):
        moved = each * extent // each[-1]
        stays = np.flatnonzero(np.diff(moved))
        cuts.append(np.append(moved[stays], extent))
        kept.append(stays)
    return cuts, like.owners[np.ix_(*kept)]


def _on_diagonal(tile: LocalTile) -> tuple[int, int]:
    """First and last + 1 of the rows of which the tile has the diagonal's element."""
    low = max(tile.low)
    return low, max(low, min(tile.high))


def _diagonal(tile: LocalTile) -> Vector:
    """A view of the matrix's diagonal as far as it is in the tile."""
    low, high = _on_diagonal(tile)
    rows, columns = (slice(low - each, high - each) for each in tile.low)
    diagonal: Vector = np.einsum("ii->i", tile.array[rows, columns])  # not np.diagonal, which cannot be written to
    return diagonal


def shares_tasks(engine: object) -> TypeGuard[DistributedEngine]:
    """Whether ranks share J and K task by task, so that there is a timeline."""
    return isinstance(engine, DistributedEngine) and engine.in_tasks


class DistributedEngine:
    """What LocalEngine has, for DistArrays.

    Matrices have the functions in the order `order`: neighbours in the list are neighbours in space. No rank has a whole matrix.
    Collective, but for columns().
    """

    in_tasks = True
    """J and K are built task by task."""

    def __init__(
        self,
        world: World,
        library: IntegralLibrary,
        basis: GaussianBasis,
        threshold: float,
        threads: int,
        integral_bytes: int,
    ) -> None:
        self.algebra = DistributedAlgebra()
        self.world = world
        self._library, self._basis = library, basis
        self._threshold, self._threads = threshold, threads
        self._potentials: CorePotentials | None = None
        self.fock = DistributedFock(world, library, basis, threshold, threads, integral_bytes=integral_bytes)
        self._shell_order = basis.spatial_order().tolist()  # as that of fock.basis
        self.order = np.asarray(self.fock.function_order, dtype=np.int64)
        """The number in the given basis of each function."""
        self._place = np.argsort(self.order)
        self.spent = dict.fromkeys(SPENT, 0.0)
        """What this rank spent and fetched over all builds, by the names of DistributedFock.statistics."""
        self.timeline: Matrix | None = None
        """Tasks of this rank in the build with the most quartets, as DistributedFock.timeline."""
        self.quartets = 0
        """Shell quartets of which all ranks together computed integrals in the last build."""
        self._most_quartets = -1

    def overlap(self) -> DistArray:
        """Overlap of all functions."""
        return self._filled(lambda *shells: self._library.block("overlap", self.fock.basis, *shells))

    def core(self) -> DistArray:
        """Kinetic energy, attraction by the nuclei, and core potentials."""

        def block(*shells: tuple[int, int]) -> Matrix:
            kinetic = self._library.block("kinetic", self.fock.basis, *shells)
            found = kinetic + self._library.block("nuclear_attraction", self.fock.basis, *shells)
            return found if self._potentials is None else found + self._potentials.block(*shells)

        return self._filled(block)

    def set_core_potentials(self, molecule: Molecule, potentials: Mapping[str, CorePotential]) -> None:
        """core() has them from now on."""
        self._potentials = CorePotentials(molecule, self.fock.basis, potentials)

    def positions(self) -> Iterator[DistArray]:
        """x, y and z about the origin."""
        for axis in range(3):
            yield self._filled(
                lambda *shells, axis=axis: self._library.block("position", self.fock.basis, *shells)[axis]
            )

    def _filled(self, block: Callable[..., Matrix]) -> DistArray:
        """Each rank computes its own tiles, whose boundaries are those of shells."""
        made, first = self.matrix(), self.fock.basis.first_function
        for tile in made.local_tiles:
            tile.array[...] = block(*(_shells_over(first, each) for each in tile.slices))
        made.sync()
        return made

    def matrix(self) -> DistArray:
        """A new one over the functions; zeros."""
        return self.fock.zeros()

    def build(self, densities: Sequence[DistArray]) -> tuple[DistArray, list[DistArray]]:
        """J of the sum of symmetric densities, K of each."""
        coulomb, exchange = self.matrix(), [self.matrix() for _ in densities]
        self._build_into(densities, coulomb, exchange)
        return coulomb, exchange

    def _build_into(self, densities: Sequence[DistArray], coulomb: DistArray, exchange: Sequence[DistArray]) -> None:
        self.fock.build_into(list(densities), coulomb, exchange)
        for name in SPENT:
            self.spent[name] += self.fock.statistics[name]
        self.quartets = int(self.world.sum([self.fock.counts["quartets"]])[0])
        if self.quartets > self._most_quartets:  # on all ranks, or on none
            self._most_quartets, self.timeline = self.quartets, self.fock.timeline

    def add_repulsion(self, densities: Sequence[DistArray], exchange_part: float, into: Sequence[DistArray]) -> None:
        """Adds J of the sum of symmetric densities, less so much of K of each, to a matrix for each."""
        with self.algebra.work(into[0], 1 + len(into)) as [coulomb, *exchange]:
            self._build_into(densities, coulomb, exchange)
            for to, each in zip(into, exchange, strict=True):
                self.algebra.combine(to, [(1.0, coulomb), (-exchange_part, each)], keep=1.0)

    def gradient(self, densities: Sequence[DistArray], weighted: DistArray, exchange_part: float) -> Matrix:
        """As LocalEngine.gradient, the same on every rank. Ranks take turns at pairs of shells; each holds whole densities."""
        whole = np.stack([self.whole(each) for each in densities])
        weights = np.ascontiguousarray(self.whole(weighted))
        nuclei, failure = nuclear_gradient(self._basis), ""
        found = np.zeros_like(nuclei)
        try:
            found = electronic_gradient(
                self._library,
                self._basis,
                whole,
                weights,
                exchange_part,
                self._threshold,
                self._threads,
                self.world.rank,
                self.world.size,
            )
        except (UserError, MemoryError) as error:
            failure = str(error) or "gradient: no memory"
        self.world.agree(failure)
        return np.asarray(self.world.sum(found) + nuclei)

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

    def whole(self, matrix: DistArray) -> Matrix:
        """All of a matrix, in the order of the given basis, on every rank."""
        return self.fock.gather(matrix)

    def taken(self, matrix: Matrix) -> DistArray:
        """A matrix from an array or a dataset of a file, over all functions in the order of the given basis.

        Each rank reads its rows.
        """
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

    def taken_as_stored(self, matrix: Matrix) -> DistArray:
        """A matrix, cut evenly, from such an array over other functions in their own order."""
        made = DistArray(self.world, matrix.shape)
        for tile in made.local_tiles:
            rows, columns = tile.slices
            for first in range(rows.start, rows.stop, ROWS_AT_ONCE):
                some = np.arange(first, min(first + ROWS_AT_ONCE, rows.stop))
                tile.array[some - rows.start] = np.asarray(matrix[some])[:, columns]
        made.sync()
        return made

    def overlap_with(self, molecule: Molecule, shells: list[PlacedShell], others: list[PlacedShell]) -> DistArray:
        """Rows in the order of the matrices."""
        ours = self._shell_order
        both = basis_of_shells(molecule, [*shells, *others])
        both = both.reordered([*ours, *range(len(ours), both.shell_count)])
        first, size = both.first_function, len(self.order)
        made: DistArray = self.algebra.take(self.matrix(), (size, int(first[-1]) - size))
        for tile in made.local_tiles:
            rows, columns = tile.slices
            columns = slice(size + columns.start, size + columns.stop)
            around = [_shells_over(first, each) for each in (rows, columns)]
            found = self._library.block("overlap", both, *around)
            starts = [int(first[each[0]]) for each in around]
            inside = (slice(each.start - at, each.stop - at) for each, at in zip((rows, columns), starts, strict=True))
            tile.array[...] = found[tuple(inside)]
        made.sync()
        return made

    def columns(self, matrix: DistArray, first: int, last: int) -> Matrix:
        """Some, as a NumPy array with the functions in the order of the given basis. Not collective."""
        return matrix[:, first:last].get()[self._place]

    def row_dots(self, a: DistArray, b: DistArray) -> Vector:
        """The product of each function's rows in two matrices, in the order of the given basis."""
        own = np.zeros(len(self.order))
        for one, other in zip(a.local_tiles, b.local_tiles, strict=True):
            own[one.slices[0]] += np.einsum("ij,ij->i", one.array, other.array)
        return self.world.sum(own)[self._place]

    def agreed(self, number: float) -> float:
        """The number of rank 0, on all ranks."""
        return float(self.world.sum([number if self.world.rank == 0 else 0.0])[0])

    def write(self, checkpoint: Checkpoint, path: Path) -> None:
        """Rank 0 writes, fetching some rows at a time."""
        failure = ""
        self.world.barrier()
        if self.world.rank == 0:
            try:
                checkpoint.write(path, self._rows)
            except UserError as error:
                failure = str(error)
        self.world.agree(failure)

    def _rows(self, matrix: DistArray, square: bool) -> Iterator[tuple[NDArray[np.int64], Matrix]]:
        """Rows of a matrix, some at a time, with their ascending numbers.

        Rows are in the order of the basis that was given; so are columns where they are functions.
        """
        for first in range(0, len(self.order), ROWS_AT_ONCE):
            rows = self.order[first : first + ROWS_AT_ONCE]
            sort = np.argsort(rows)
            part = matrix[first : first + len(rows), :].get()[sort]
            yield rows[sort], part[:, self._place] if square else part


def _shells_over(first_function: NDArray[Any], functions: slice) -> tuple[int, int]:
    """First and last + 1 of the shells that have these functions."""
    first = np.searchsorted(first_function, functions.start, side="right") - 1
    return int(first), int(np.searchsorted(first_function, functions.stop))
