"""A symmetric matrix in half the memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from craton._extension import extension as _craton
from craton.arrays.array import core_class, whole_of
from craton.arrays.convergent_matrix import ConvergentMatrix
from craton.arrays.gram import Gram
from craton.arrays.matrix import Block, Held, Indices, Matrix, Merge, TrianglePart, checked_shape, fitting_block
from craton.errors import UserError


class SymmetricMatrix(Gram, Held, Matrix):
    """A symmetric matrix that keeps its upper triangle only, in about half a ConvergentMatrix's memory. Collective constructor.

    order: rows, which are as many as columns. dtype, grid, merge and identity as ConvergentMatrix's; block: one number, or None.
    Complex matrices are symmetric, not Hermitian. UserError where a process column would own nothing: take smaller blocks, or a
    grid with fewer columns.

    m[rows, cols] += block adds on or above the diagonal, or, where rows and columns are the same, a symmetric block once.
    update_gram, update_kronecker and add_kronecker give the upper triangle that they give in a ConvergentMatrix.
    """

    __slots__ = ()

    def __init__(
        self,
        world: _craton.World,
        order: int,
        dtype: DTypeLike = "float64",
        block: int | None = None,
        grid: tuple[int, int] = (0, 0),
        merge: Merge = "add",
        identity: complex | None = None,
    ) -> None:
        kind = core_class("SymmetricMatrix", dtype)
        block = fitting_block(world, order, order // 2, grid) if block is None else block  # packed: half the columns
        self._core = kind(world, order, block=block, grid=grid, merge=merge, identity=identity)
        self._merge = (merge, identity)

    @classmethod
    def from_array(
        cls, world: _craton.World, values: ArrayLike, dtype: DTypeLike | None = None, **layout: Any
    ) -> SymmetricMatrix:
        """A matrix with the upper triangle of a square array that every rank has whole. Collective, blocking.

        dtype: None for the array's own. layout: block and grid of the constructor. UserError: not square.
        """
        whole = whole_of(values)
        rows, cols = checked_shape("SymmetricMatrix", whole.shape, None)
        if rows != cols:
            raise UserError(f"SymmetricMatrix from_array: {rows} x {cols} values; allowed: a square array")
        made = cls(world, rows, dtype or whole.dtype, **layout)
        first, last = (rows * n // world.size for n in (world.rank, world.rank + 1))
        if last > first:
            made.update(np.asarray(whole[first:last, first:], made.dtype), range(first, last), range(first, rows))
        made.commit()
        return made

    def like(self, dtype: DTypeLike | None = None) -> SymmetricMatrix:
        """A new matrix of this layout and merge, all elements the identity (zeros for sums). Collective, blocking.

        dtype: None for this one's.
        """
        merge, identity = self._merge
        return SymmetricMatrix(
            self.world, self.order, dtype or self.dtype, self.block, self.grid, merge=merge, identity=identity
        )

    @property
    def order(self) -> int:
        """Rows, and columns."""
        order: int = self._core.order
        return order

    @property
    def grid(self) -> tuple[int, int]:
        """Process rows and columns."""
        rows, cols = self._core.packed.grid
        return rows, cols

    @property
    def T(self) -> SymmetricMatrix:
        """The matrix itself."""
        return self

    @property
    def packed(self) -> ConvergentMatrix:
        """The packed array itself (no copy), for files: a block version of the rectangular full packed format."""
        packed: ConvergentMatrix = ConvergentMatrix._of(self._core.packed, self._merge)
        return packed

    @property
    def triangle(self) -> list[TrianglePart]:
        """This rank's elements, views of the packed storage: A12 with A22 below it, and A11, mirrored, where there is one.

        A11 is of half the matrix's order, in whole blocks (include/craton/array/symmetric_matrix.hpp).
        """
        held = self.packed
        lines = np.asarray(held.local_rows_global), np.asarray(held.local_cols_global)
        return parts_of_packed(held.local, *lines, self.order, self.block)

    def update(self, block: ArrayLike, rows: Any, cols: Any) -> None:
        """Merges block[a, b] into element (rows[a], cols[b]) wherever rows[a] <= cols[b]. Otherwise as ConvergentMatrix.update.

        What lies below the diagonal is left out. Any thread; not collective.
        """
        self._core.update(block, rows, cols)

    def _update(self, block: NDArray[Any], rows: Indices, cols: Indices) -> None:
        if np.array_equal(rows, cols):
            if not np.array_equal(block, block.T, equal_nan=block.dtype.kind in "fc"):
                raise UserError("SymmetricMatrix: += of a block that is not symmetric on rows that are the columns")
            self._core.update_symmetric(block, rows)
        elif np.max(rows) <= np.min(cols):
            self._core.update(block, rows, cols)
        elif np.min(rows) >= np.max(cols):
            self._core.update(block.T, cols, rows)
        else:
            raise UserError(
                "SymmetricMatrix: += on both sides of the diagonal; allowed: on one side, rows that are the columns, or update(), "
                "which takes what is on or above it"
            )

    def _held(self) -> NDArray[Any]:
        packed: NDArray[Any] = self._core.packed.local
        return packed

    def save(self, path: str, dataset: str, append: bool = False, hints: Mapping[str, str] | None = None) -> None:
        """Writes the packed array as an HDF5 dataset, half the bytes, with attributes storage = "packed", order and block.

        Collective, blocking. Otherwise as ConvergentMatrix.save.
        """
        self._core.save(str(path), dataset, append, dict(hints or {}))

    def load(self, path: str, dataset: str, hints: Mapping[str, str] | None = None) -> None:
        """Elements become those of a dataset that any number of ranks saved. Collective, blocking.

        UserError on every rank: another order or block (both named), and as ConvergentMatrix.load.
        """
        self._core.load(str(path), dataset, dict(hints or {}))

    def expand(self, full: ConvergentMatrix, fill_lower: bool = False) -> None:
        """Replaces `full`, of the same order, by this committed matrix. Collective, blocking.

        Its lower triangle becomes the identity, or (fill_lower) the mirror image.
        """
        self._core.expand(full._core, fill_lower)

    def compress(self, full: ConvergentMatrix) -> None:
        """Replaces this matrix by the upper triangle of `full`, committed and of the same order. Collective, blocking."""
        self._core.compress(full._core)

    def add_kronecker(
        self, lateral: ArrayLike | SymmetricMatrix, radial: ArrayLike, scale: float = 1.0, offset: int = 0
    ) -> None:
        """As of ConvergentMatrix; a float64 SymmetricMatrix of the same world is a lateral factor that no rank needs whole.

        With such a factor, which must be committed, it is collective and blocking; else local.
        """
        if isinstance(lateral, SymmetricMatrix) and lateral.dtype == np.float64:
            self._real("add_kronecker").add_kronecker(lateral._core, radial, scale, offset)
        else:
            super().add_kronecker(np.asarray(lateral), radial, scale, offset)

    def to_matrix(self, fill_lower: bool = False) -> ConvergentMatrix:
        """A new full matrix of the same elements (expand). Collective, blocking."""
        full: ConvergentMatrix = ConvergentMatrix._of(self._core.to_matrix(fill_lower), self._merge)
        return full

    def dot(self, other: SymmetricMatrix) -> Any:
        """Commits; the sum of conj(self) * other over all elements, on every rank. Collective, blocking.

        Makes full matrices of both meanwhile. UserError: another layout.
        """
        if not isinstance(other, SymmetricMatrix):
            raise UserError(f"SymmetricMatrix dot: with {other!r}; allowed: a SymmetricMatrix")
        self.commit()
        return self.to_matrix(fill_lower=True).dot(other.to_matrix(fill_lower=True))

    def _storage(self) -> NDArray[Any]:
        return self._as_full().local

    def _as_full(self) -> ConvergentMatrix:
        return self.to_matrix(fill_lower=True)

    def _new_full(self, rows: int, cols: int, block: Block) -> ConvergentMatrix:
        return ConvergentMatrix(self.world, rows, cols, self.dtype, block, self.grid)


def parts_of_packed(
    local: NDArray[Any], rows: NDArray[np.int64], cols: NDArray[np.int64], order: int, block: int
) -> list[TrianglePart]:
    """The triangle in a rectangle of a packed array: of a rank's storage, or of a file's rows. rows, cols: ascending, of it."""
    first = -(-order // block) // 2 * block
    below, left = int(np.searchsorted(rows, order)), int(np.searchsorted(cols, order - first))
    parts = [TrianglePart(local[:below, :left], rows[:below], cols[:left] + first)]
    if first:
        first_row = first + block
        begin, end = int(np.searchsorted(rows, first_row)), int(np.searchsorted(cols, first))
        parts.append(TrianglePart(local[begin:, :end], rows[begin:] - first_row, cols[:end], mirrored=True))
    return parts
