"""Memory that any rank can name, put into and get from, whatever its owner does: NumPy arrays in and out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from craton._extension import extension as _craton
from craton.errors import UserError


class Segment:
    """`size` elements of `dtype` on every rank of a world; the size may differ per rank. Collective constructor, blocking.

    Offsets and strides are in elements. A copy to or from a rank of another node needs that rank to poll (any blocking
    call of Craton does) or to have a ProgressThread; on the node it is a plain copy in memory. Nobody may write what is
    copied, or touch where it goes, until the copy is complete. Any thread; the GIL is released.
    UserError: less memory available than the ranks ask for; elements outside the segment; other element types.
    """

    def __init__(self, world: _craton.World, size: int, dtype: DTypeLike = "float64") -> None:
        self._dtype = np.dtype(dtype)
        if self._dtype.hasobject or self._dtype.itemsize == 0:
            raise UserError(f"Segment: dtype = {self._dtype}; allowed: numbers, or records of numbers")
        if size < 0:
            raise UserError(f"Segment: size is {size}; allowed: 0 or more")
        self._memory = _craton.SegmentBytes(world, int(size) * self._dtype.itemsize)
        self._world = world

    @property
    def world(self) -> _craton.World:
        """The ranks that hold it."""
        return self._world

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return self._dtype

    def __repr__(self) -> str:
        mine = self.size_of(self._world.rank)
        return f"<Segment of {self._dtype}, {mine} elements on rank {self._world.rank} of {self._world.size}>"

    def __reduce__(self) -> NoReturn:
        raise UserError(
            "Segment: it cannot be pickled, for it is memory of many ranks; allowed: local or rget() for an array"
        )

    @property
    def local(self) -> NDArray[Any]:
        """View (no copy) of this rank's elements, one-dimensional. It keeps the memory alive."""
        mine = self.view(self._world.rank)
        assert mine is not None, "a rank shares memory with itself"
        return mine

    def view(self, rank: int) -> NDArray[Any] | None:
        """View (no copy) of another rank's elements where it is on this rank's node, else None."""
        found = self._memory.bytes_of(rank)
        return None if found is None else found.view(self._dtype)

    def size_of(self, rank: int) -> int:
        """Elements of a rank."""
        return self._memory.size_of(rank) // self._dtype.itemsize

    def rput(self, values: ArrayLike, rank: int, offset: int = 0, strides: Sequence[int] | None = None) -> None:
        """Writes an array into a rank's part, from element `offset`. Blocking: complete at the target on return.

        values: any shape and strides, 1 to 8 dimensions. strides: in the target, per dimension; None: C order without gaps.
        """
        self.start_rput(values, rank, offset, strides).wait()

    def start_rput(
        self, values: ArrayLike, rank: int, offset: int = 0, strides: Sequence[int] | None = None
    ) -> _craton.Copy:
        """As rput, but returns while the copy is under way; `values` may be reused at once. Complete after wait()."""
        array = self._checked(values, "rput")
        return self._memory.start_put(rank, self._bytes(offset), array, _strides(array.shape, strides))

    def rget(
        self,
        rank: int,
        offset: int = 0,
        shape: int | Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        out: NDArray[Any] | None = None,
    ) -> NDArray[Any]:
        """A new array of `shape` (None: all from `offset` on), or `out`, filled from a rank's part. Blocking."""
        copy = self.start_rget(rank, offset, shape, strides, out)
        filled: NDArray[Any] = copy.wait()
        return filled

    def start_rget(
        self,
        rank: int,
        offset: int = 0,
        shape: int | Sequence[int] | None = None,
        strides: Sequence[int] | None = None,
        out: NDArray[Any] | None = None,
    ) -> _craton.Copy:
        """As rget, but returns while the copy is under way; wait() returns the array."""
        if out is None:
            out = np.empty(max(0, self.size_of(rank) - offset) if shape is None else shape, self._dtype)
        elif not out.flags.writeable:
            raise UserError("rget: out is read-only; allowed: an array that may be written")
        array = self._checked(out, "rget")
        return self._memory.start_get(rank, self._bytes(offset), array, _strides(array.shape, strides))

    def copy_to(
        self,
        rank: int,
        offset: int,
        to: Segment,
        to_rank: int,
        to_offset: int = 0,
        shape: int | Sequence[int] = 1,
        strides: Sequence[int] | None = None,
        to_strides: Sequence[int] | None = None,
    ) -> _craton.Copy:
        """Starts a copy between any two ranks' segments (one of them may be the caller's). Complete after wait()."""
        if to.dtype != self._dtype:
            raise UserError(f"copy_to: from {self._dtype} to {to.dtype}; allowed: the same element type")
        extents = [shape] if isinstance(shape, int) else list(shape)
        return self._memory.start_copy(
            rank,
            self._bytes(offset),
            to._memory,
            to_rank,
            self._bytes(to_offset),
            extents,
            _strides(extents, strides),
            _strides(extents, to_strides),
            self._dtype.itemsize,
        )

    def _bytes(self, offset: int) -> int:
        return int(offset) * self._dtype.itemsize

    def _checked(self, values: ArrayLike, call: str) -> NDArray[Any]:
        array = values if isinstance(values, np.ndarray) else np.asarray(values, self._dtype)
        if array.dtype != self._dtype:
            raise UserError(f"{call}: {array.dtype} array; allowed: {self._dtype}, the segment's element type")
        return array


def _strides(shape: Sequence[int], given: Sequence[int] | None) -> list[int]:
    """Strides in elements: those given, or C order. A single number has one dimension."""
    if given is not None:
        return [int(step) for step in given]
    strides, step = [], 1
    for extent in reversed(shape):
        strides.append(step)
        step *= max(1, int(extent))
    return strides[::-1] or [1]
