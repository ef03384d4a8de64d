"""A dense distributed matrix that many ranks add to at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from craton._extension import extension as _craton
from craton.arrays import reductions
from craton.arrays.array import core_class, whole_of
from craton.arrays.gram import Gram
from craton.arrays.matrix import Block, Held, Indices, Matrix, Merge, TrianglePart, checked_shape, fitting_block
from craton.arrays.selection.indexing import Picked
from craton.errors import UserError


class ConvergentMatrix(Gram, Held, Matrix):
    """A dense distributed matrix to which any thread of any rank adds blocks at any time. Collective, blocking constructor.

        m = craton.ConvergentMatrix(world, 8192, 8192)      # float64 zeros; or (world, (8192, 8192))
        m.update(block, rows, cols)                         # any thread of any rank, one-sided
        m[rows, cols] += block                              # the same
        m.commit()                                          # collective: all of it is there, exactly once
        m[0:10, 5].get()                                    # from wherever it lives

    `rows`, `cols`: the extents, or `rows` alone a tuple of both. `dtype`: float32, float64, complex64, complex128 or int64.
    `block`: rows and columns of a block of ScaLAPACK's block-cyclic layout. One number makes it square, which linear algebra wants;
    None is 64, or less where ranks would own nothing. `grid`: process rows and columns; (0, 0) for the most square grid. Storage is
    column major.

    `merge`: how an arriving element joins the one that is there; it must be associative and commutative. `"add"`, `"min"`, `"max"`
    (not for complex numbers), a NumPy ufunc of two arguments, or a function of (into, arriving) that changes `into` in place. Both
    are one-dimensional arrays of one length that must not be kept. Such a function runs under a lock with the GIL taken, on
    whichever thread the update arrives: it is slow and must not call Craton. An exception in it is a UserError of that update(),
    which may be merged in part; where the update came from another node, it ends the job. `identity`: the value that changes
    nothing, which all elements begin as (of a ufunc: its own where it has one).

    UserError on every rank: a grid that does not have as many processes as the world has ranks, a rank that would own nothing
    (more ranks than blocks), too little memory.
    """

    __slots__ = ()

    def __init__(
        self,
        world: _craton.World,
        rows: int | tuple[int, int],
        cols: int | None = None,
        dtype: DTypeLike = "float64",
        block: Block | None = None,
        grid: tuple[int, int] = (0, 0),
        merge: Merge = "add",
        identity: complex | None = None,
    ) -> None:
        shape = checked_shape("ConvergentMatrix", rows, cols)
        kind = core_class("ConvergentMatrix", dtype)
        block = fitting_block(world, *shape, grid) if block is None else block
        self._core = kind(world, *shape, block=block, grid=grid, merge=merge, identity=identity)
        self._merge = (merge, identity)

    @classmethod
    def from_array(
        cls, world: _craton.World, values: ArrayLike, dtype: DTypeLike | None = None, **layout: Any
    ) -> ConvergentMatrix:
        """A matrix with the elements of a two-dimensional array that every rank has whole. Collective, blocking.

        Nothing travels. dtype: None for the array's own. layout: block and grid of the constructor.
        """
        whole = whole_of(values)
        made = cls(world, *checked_shape("ConvergentMatrix", whole.shape, None), dtype or whole.dtype, **layout)
        made.local[...] = whole[np.ix_(made.local_rows_global, made.local_cols_global)]
        world.barrier()
        return made

    def like(self, dtype: DTypeLike | None = None) -> ConvergentMatrix:
        """A new matrix of this layout and merge, all elements the identity (zeros for sums). Collective, blocking.

        dtype: None for this one's.
        """
        merge, identity = self._merge
        return ConvergentMatrix(
            self.world, *self.shape, dtype or self.dtype, self.block, self.grid, merge=merge, identity=identity
        )

    @property
    def T(self) -> ConvergentMatrix:
        """Commits; a new matrix with the transposed elements, of sums. Collective, blocking.

        It is on this process grid where each of its processes then owns something, else on the transposed grid. linalg.matmul
        multiplies by a transposed factor without making it.
        """
        self.commit()
        (rows, cols), (block_rows, block_cols) = self.shape, self.block
        fits = -(-cols // block_cols) >= self.grid[0] and -(-rows // block_rows) >= self.grid[1]
        grid = self.grid if fits else self.grid[::-1]
        made = ConvergentMatrix(self.world, cols, rows, self.dtype, (block_cols, block_rows), grid)
        made.update(self.local.T, self.local_cols_global, self.local_rows_global)
        made.commit()
        return made

    # This rank's part. Not collective.

    @property
    def layout(self) -> _craton.BlockCyclic:
        """The block-cyclic layout: who owns an element, and where."""
        layout: _craton.BlockCyclic = self._core.layout
        return layout

    @property
    def local(self) -> NDArray[Any]:
        """View (no copy) of this rank's elements, shape (local rows, local columns), Fortran order.

        It keeps the memory alive. Read and write it between a commit() and the next update.
        """
        view: NDArray[Any] = self._core.local
        return view

    @property
    def local_rows_global(self) -> NDArray[np.int64]:
        """The row in the whole matrix of each row of `local`."""
        rows: NDArray[np.int64] = self._core.local_rows_global
        return rows

    @property
    def local_cols_global(self) -> NDArray[np.int64]:
        """The column in the whole matrix of each column of `local`."""
        cols: NDArray[np.int64] = self._core.local_cols_global
        return cols

    @property
    def triangle(self) -> list[TrianglePart]:
        """This rank's elements of the upper triangle: one part, views of `local`."""
        return [TrianglePart(self.local, np.asarray(self.local_rows_global), np.asarray(self.local_cols_global))]

    # Updates. Not collective, any thread.

    def update_trapezoid(
        self,
        block: ArrayLike,
        rows: Indices,
        cols: Indices,
        side: Literal["upper", "lower"] = "upper",
        offset: int = 0,
    ) -> None:
        """As update, but takes element (i, j) only where i <= j + offset (upper) or i >= j + offset (lower)."""
        self._core.update_trapezoid(block, rows, cols, side, offset)

    # Reading. Not collective, any thread, after a commit.

    def read_block(self, row: int, col: int, rows: int, cols: int) -> NDArray[Any]:
        """The rectangle of rows x cols elements that begins at (row, col), a new array. As read."""
        values: NDArray[Any] = self._core.read_block(row, col, rows, cols)
        return values

    def _fetched(self, picks: tuple[Picked, ...]) -> NDArray[Any]:
        rows, cols = (each.indices for each in picks)
        if isinstance(rows, range) and isinstance(cols, range) and rows.step == 1 and cols.step == 1:
            return self.read_block(rows.start, cols.start, len(rows), len(cols))
        return self.read_slice(rows, cols)

    # Of the whole matrix. Collective, blocking.

    def _held(self) -> NDArray[Any]:
        return self.local

    _storage = _held

    def fill_lower(self) -> None:
        """Commits, then makes the strict lower triangle of a square matrix the transpose of the upper one. Collective, blocking."""
        self._core.fill_lower()

    def dot(self, other: ConvergentMatrix) -> Any:
        """Commits; the sum of conj(self) * other over all elements, on every rank, in double precision. Collective, blocking.

        It is the trace of A^H B, not a product (that is @). UserError: another layout.
        """
        if (
            not isinstance(other, ConvergentMatrix)
            or self._layout() != other._layout()
            or self.world is not other.world
        ):
            raise UserError(f"ConvergentMatrix dot: {self!r} with {other!r}; allowed: one world and layout")
        self.commit()
        mine, others = self.local, other.local
        wide = reductions.wide(np.result_type(mine.dtype, others.dtype))
        total = sum(
            (np.vdot(mine[:, some].astype(wide), others[:, some].astype(wide)) for some in reductions.pieces(mine)),
            wide.type(0),
        )
        return reductions.of_all_ranks(self.world, total).sum()

    def copy_as_f64(self) -> ConvergentMatrix:
        """The same matrix, of the same layout, in double precision. Collective, blocking. float32 and float64 only."""
        made: ConvergentMatrix = ConvergentMatrix._of(self._real("copy_as_f64").copy_as_f64())
        return made

    def save(
        self,
        path: str,
        dataset: str,
        symmetric: bool = False,
        append: bool = False,
        hints: Mapping[str, str] | None = None,
    ) -> None:
        """Writes one HDF5 dataset in global order, all ranks together. Collective, blocking.

        It is written beside the path and renamed when it is whole. `append`: adds it to a file that is there. `symmetric`: records
        that only the upper triangle is meaningful. `hints`: for MPI-IO (striping_factor, ...), over those of CRATON_IO_HINTS; the
        same on every rank. The dataset's attribute craton_checksum is of its elements. UserError on every rank when the file
        cannot be written.
        """
        self._core.save(str(path), dataset, symmetric, append, dict(hints or {}))

    def load(self, path: str, dataset: str, hints: Mapping[str, str] | None = None) -> None:
        """Elements become those of a dataset, saved by any number of ranks. Collective, blocking.

        UserError on every rank: a missing file or dataset, a file cut short, another shape or precision (both named); and, with
        the matrix overwritten, elements that are not those of the dataset's craton_checksum.
        """
        self._core.load(str(path), dataset, dict(hints or {}))

    def _as_full(self) -> ConvergentMatrix:
        return self

    def _layout(self) -> tuple[object, ...]:
        return (self.shape, self.block, self.grid)

    def _new_full(self, rows: int, cols: int, block: Block) -> ConvergentMatrix:
        return ConvergentMatrix(self.world, rows, cols, self.dtype, block, self.grid)
