"""A distributed vector that many ranks add to at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from craton._extension import extension as _craton
from craton.arrays import reductions
from craton.arrays.array import core_class, ranks_text, whole_of
from craton.arrays.matrix import Held, Indices
from craton.arrays.selection.indexing import Picked
from craton.errors import UserError


class ConvergentVector(Held):
    """A distributed vector to which any thread of any rank adds at any time: the gradient beside a Hessian. Collective constructor.

    It is block-cyclic over all ranks, in blocks of `block` elements. `dtype`: as ConvergentMatrix's, whose contract it has; sums
    only. `v[indices] += values` is an update (any thread, not collective); what wants values of v[indices] gathers the
    vector, which is collective. UserError on every rank: a size or block below 1, too little memory.
    """

    __slots__ = ("_world",)
    _instead = "vectors; allowed: += on v[indices], scale(), dot(), gather() for NumPy's"

    def __init__(self, world: _craton.World, size: int, block: int = 64, dtype: DTypeLike = "float64") -> None:
        self._core = core_class("ConvergentVector", dtype)(world, size, block=block)
        self._world = world

    @classmethod
    def from_array(
        cls, world: _craton.World, values: ArrayLike, dtype: DTypeLike | None = None, block: int = 64
    ) -> ConvergentVector:
        """A vector with the elements of one that every rank has whole. Collective, blocking. dtype: None for the array's own."""
        whole = whole_of(values)
        if whole.ndim != 1:
            raise UserError(f"ConvergentVector from_array: an array of shape {whole.shape}; allowed: one dimension")
        made = cls(world, len(whole), block, dtype or whole.dtype)
        first, last = (len(whole) * n // world.size for n in (world.rank, world.rank + 1))
        made.update(np.asarray(whole[first:last], made.dtype), range(first, last))
        made.commit()
        return made

    def like(self, dtype: DTypeLike | None = None) -> ConvergentVector:
        """Zeros in this layout. Collective, blocking. dtype: None for this one's."""
        return ConvergentVector(self.world, self.size, self.block, dtype or self.dtype)

    # What it is. Not collective.

    @property
    def world(self) -> _craton.World:
        """The ranks that hold it."""
        return self._world

    @property
    def shape(self) -> tuple[int]:
        """(size,)."""
        return (self.size,)

    @property
    def size(self) -> int:
        """Elements in all."""
        size: int = self._core.size
        return size

    @property
    def block(self) -> int:
        """Elements of a block, dealt to the ranks in turn."""
        block: int = self._core.block
        return block

    @property
    def local(self) -> NDArray[Any]:
        """View (no copy) of this rank's elements, which keeps the memory alive.

        Read and write it between a commit() and the next update.
        """
        view: NDArray[Any] = self._core.local
        return view

    @property
    def local_indices_global(self) -> NDArray[np.int64]:
        """The index in the whole vector of each element of `local`."""
        indices = np.arange(self.size)
        mine: NDArray[np.int64] = indices[indices // self.block % self.world.size == self.world.rank]
        return mine

    def __repr__(self) -> str:
        dealt = f"blocks of {self.block} dealt to {ranks_text(self.world)}"
        return f"<ConvergentVector {self.size} of {self.dtype}, {dealt}>"

    def _facts(self) -> dict[str, object]:
        return {"size": self.size, "elements": self.dtype, "blocks": self.block, "ranks": self.world.size}

    # Updates. Not collective, any thread.

    def update(self, values: ArrayLike, indices: Indices) -> None:
        """Adds values[a] to element indices[a]. Any thread; not collective.

        values: of this element type, any strides. UserError, with nothing applied: an index out of range, lengths that differ,
        another element type.
        """
        self._core.update(values, indices)

    def _fetched(self, picks: tuple[Picked, ...]) -> NDArray[Any]:
        values: NDArray[Any] = self.gather()[np.asarray(picks[0].indices)]
        return values

    def _added(self, block: NDArray[Any], picks: tuple[Picked, ...]) -> None:
        self.update(block, picks[0].indices)

    # The whole vector. Collective, blocking.

    def _held(self) -> NDArray[Any]:
        return self.local

    _storage = _held

    def scale(self, factor: complex) -> None:
        """Commits, then multiplies every element. Collective, blocking. UserError: a factor of another kind of number."""
        given = np.asarray(factor)
        if given.ndim or not np.can_cast(np.result_type(self.dtype, given), self.dtype, "same_kind"):
            raise UserError(
                f"ConvergentVector scale: factor = {factor} of elements of {self.dtype}; allowed: that kind of number"
            )
        self.commit()
        self.local[...] *= factor
        self.world.barrier()

    def gather(self) -> NDArray[Any]:
        """Commits; the whole vector on every rank, as a new array. Collective, blocking. np.asarray(v) does the same."""
        self.commit()
        whole: NDArray[Any] = self._core.gather()
        return whole

    def dot(self, other: Any) -> Any:
        """Commits; the sum of conj(self) * other on every rank, in double precision. Collective, blocking.

        other: a vector of Craton's, or a NumPy one that every rank has whole. UserError: another length.
        """
        others = other.gather() if hasattr(other, "gather") else np.asarray(other)
        if others.shape != self.shape:
            raise UserError(f"ConvergentVector dot: {self.size} elements with shape {others.shape}; allowed: as many")
        wide = reductions.wide(np.result_type(self.dtype, others.dtype))
        return np.vdot(self.gather().astype(wide), others.astype(wide))

    def __matmul__(self, other: Any) -> Any:
        return NotImplemented if hasattr(other, "_core") and other.ndim == 2 else self.gather() @ np.asarray(other)

    def __rmatmul__(self, other: Any) -> Any:
        return np.asarray(other) @ self.gather()
