"""Sums whose bits depend neither on ranks and threads nor on the order of updates."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from craton._extension import extension as _craton
from craton.arrays.array import REAL, core_class, whole_of
from craton.arrays.convergent_matrix import ConvergentMatrix
from craton.arrays.matrix import Block, Matrix, checked_shape, fitting_block


class ReproducibleMatrix(Matrix):
    """Sums whose bits depend neither on the number of ranks and threads nor on the order of updates. Collective constructor.

    Every contribution is rounded once to a whole multiple of `resolution`, about largest * 2**-62, and added in 64-bit integers: 8
    bytes per element. `largest` bounds the sum over all updates of their largest magnitudes. `dtype`: float32 or float64, what goes
    in and comes out. `block` and `grid` as ConvergentMatrix's. to_matrix() gives a ConvergentMatrix for linear algebra; sum, norm
    and products are those of it.
    """

    __slots__ = ()
    _instead = "matrices; allowed: @, and += on m[rows, cols], to_matrix() for scale()"

    def __init__(
        self,
        world: _craton.World,
        rows: int | tuple[int, int],
        cols: int | None = None,
        dtype: DTypeLike = "float64",
        *,
        largest: float,
        block: Block | None = None,
        grid: tuple[int, int] = (0, 0),
    ) -> None:
        shape = checked_shape("ReproducibleMatrix", rows, cols)
        block = fitting_block(world, *shape, grid) if block is None else block
        self._core = core_class("ReproducibleMatrix", dtype, REAL)(world, *shape, largest, block=block, grid=grid)
        self._merge = ("add", None)

    @classmethod
    def from_array(
        cls,
        world: _craton.World,
        values: ArrayLike,
        dtype: DTypeLike | None = None,
        *,
        largest: float,
        **layout: Any,
    ) -> ReproducibleMatrix:
        """A matrix with the elements of a two-dimensional array that every rank has whole. Collective, blocking.

        dtype: None for the array's own. largest: as the constructor's, of these elements and all that is added later.
        """
        whole = whole_of(values)
        rows, cols = checked_shape("ReproducibleMatrix", whole.shape, None)
        made = cls(world, rows, cols, dtype or whole.dtype, largest=largest, **layout)
        first, last = (rows * n // world.size for n in (world.rank, world.rank + 1))
        if last > first:
            made.update(np.asarray(whole[first:last], made.dtype), range(first, last), range(cols))
        made.commit()
        return made

    def like(self, dtype: DTypeLike | None = None) -> ReproducibleMatrix:
        """Zeros in this layout, with this bound. Collective, blocking. dtype: None for this one's."""
        return ReproducibleMatrix(
            self.world, *self.shape, dtype or self.dtype, largest=self.largest, block=self.block, grid=self.grid
        )

    @property
    def layout(self) -> _craton.BlockCyclic:
        """The block-cyclic layout: who owns an element, and where."""
        layout: _craton.BlockCyclic = self._core.layout
        return layout

    @property
    def block(self) -> tuple[int, int]:
        """Rows and columns of a block of the block-cyclic layout."""
        rows, cols = self._core.sums.block
        return rows, cols

    @property
    def grid(self) -> tuple[int, int]:
        """Process rows and columns."""
        rows, cols = self._core.sums.grid
        return rows, cols

    @property
    def largest(self) -> float:
        """The bound on the sum over all updates of their largest magnitudes."""
        largest: float = self._core.largest
        return largest

    @property
    def resolution(self) -> float:
        """Every contribution is rounded once to a whole multiple of it."""
        resolution: float = self._core.resolution
        return resolution

    @property
    def sums(self) -> ConvergentMatrix:
        """The sums as multiples of `resolution`, int64 (no copy)."""
        sums: ConvergentMatrix = ConvergentMatrix._of(self._core.sums)
        return sums

    def update(self, block: ArrayLike, rows: Any, cols: Any) -> None:
        """Adds block[a, b] to element (rows[a], cols[b]). Any thread; not collective. As ConvergentMatrix.update.

        UserError also for an element that is not finite or larger than `largest`.
        """
        self._core.update(block, rows, cols)

    def commit(self) -> None:
        """Applies every update made before it on any rank exactly once. Collective, blocking.

        UserError on every rank when the updates together may have exceeded `largest`.
        """
        self._core.commit()

    def to_matrix(self) -> ConvergentMatrix:
        """The committed sums, rounded once more, in a new matrix of the same layout, for linear algebra. Collective, blocking."""
        full: ConvergentMatrix = ConvergentMatrix._of(self._core.to_matrix())
        return full

    @property
    def T(self) -> ConvergentMatrix:
        """Commits; the transposed sums in a new ConvergentMatrix. Collective, blocking."""
        self.commit()
        return self.to_matrix().T

    def copy(self) -> ConvergentMatrix:
        """Commits; the sums in a ConvergentMatrix, as to_matrix() makes it. Collective, blocking.

        A ReproducibleMatrix cannot be copied, because what has been added towards `largest` is not known in parts.
        """
        self.commit()
        return self.to_matrix()

    def dot(self, other: Matrix) -> Any:
        """Commits; the sum of self * other over all elements, on every rank. Collective, blocking.

        Makes a ConvergentMatrix meanwhile. UserError: another layout.
        """
        self.commit()
        return self.to_matrix().dot(other._as_full())

    def _diagonal(self) -> NDArray[Any]:
        return self.to_matrix().diagonal()

    def _storage(self) -> NDArray[Any]:
        return self.to_matrix().local

    def _as_full(self) -> ConvergentMatrix:
        return self.to_matrix()
