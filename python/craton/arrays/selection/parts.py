"""What indices of a matrix or a vector pick: elements that are read, or added to."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton.arrays.selection.elements import Elements
from craton.arrays.selection.indexing import Picked
from craton.errors import UserError


class HasParts(Protocol):
    """What a matrix or vector tells its parts."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""

    def _fetched(self, picks: tuple[Picked, ...]) -> NDArray[Any]:
        """All dimensions, also those that an integer picked one index of."""

    def _added(self, block: NDArray[Any], picks: tuple[Picked, ...]) -> None:
        """A block of all dimensions is added."""


class Part(Elements):
    """Elements of a matrix or a vector, m[rows, cols]: nothing is fetched until they are asked for.

    get() and whatever wants elements (np.asarray, arithmetic, float) read them from their owners, as the last commit left them.
    += and -= are updates: any thread at any time, not collective, applied exactly once before the next commit() returns. Rows and
    columns are integers, slices of any step, or arrays; two arrays pick every row with every column (np.ix_), not pairs.
    """

    __slots__ = ("_of", "_picks")
    _instead = "read, commit() and update"

    def __init__(self, of: HasParts, picks: tuple[Picked, ...]) -> None:
        self._of, self._picks = of, picks

    @property
    def shape(self) -> tuple[int, ...]:
        """Without the dimensions that an integer picked one index of."""
        return tuple(len(each.indices) for each in self._picks if each.stays)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The array's element type."""
        return self._of.dtype

    @property
    def _kind(self) -> str:
        return type(self._of).__name__

    def get(self) -> NDArray[Any]:
        """A new array with the elements as they were at the last commit. Blocking, not collective, any thread."""
        if 0 in self._extents:
            return np.empty(self.shape, self.dtype)
        return self._of._fetched(self._picks).reshape(self.shape)

    def accumulate(self, block: ArrayLike) -> None:
        """What += does: adds a block of this shape, or one number to each element.

        A block broadcasts where no dimension is picked by an array of indices. Not collective, any thread. UserError: a shape or a
        kind of number that does not fit.
        """
        by_arrays = any(isinstance(each.indices, np.ndarray) for each in self._picks)
        given = self._block("+=", block, broadcast=not by_arrays)
        if 0 not in self._extents:
            self._of._added(given.reshape(self._extents), self._picks)

    def __repr__(self) -> str:
        shape = " x ".join(map(str, self._extents))
        return f"<{shape} elements of a {self._kind} of {self.dtype}: np.asarray() fetches them>"

    @property
    def _extents(self) -> tuple[int, ...]:
        return tuple(len(each.indices) for each in self._picks)


def check_assigned(of: HasParts, picks: tuple[Picked, ...], value: object) -> None:
    """Allows m[key] = value where Python does it, after `m[key] += block`; UserError otherwise."""
    done = (
        isinstance(value, Part)
        and value._of is of
        and all(np.array_equal(a.indices, b.indices) for a, b in zip(picks, value._picks, strict=True))
    )
    if not done:
        kind = type(of).__name__
        raise UserError(
            f"{kind}: elements are not assigned; allowed: += and -=, which lose nothing of what others add "
            "(from_array or `local` to begin with other values; a DistArray puts)"
        )
