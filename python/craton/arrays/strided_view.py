"""Every n-th element of a DistArray: what slices with a step are."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton.arrays.selection.indexing import Picked
from craton.arrays.selection.parts import HasParts, Part

__all__ = ["StridedView"]


class HasElements(HasParts, Protocol):
    """What a DistArray tells its views."""

    def _put(self, block: NDArray[Any], picks: tuple[Picked, ...]) -> None:
        """Elements become those of a block of all dimensions."""


class StridedView(Part):
    """Every n-th element of a DistArray along some dimensions, A[0:100:2, ::3]: nothing is fetched until elements are asked for.

    It is a view, as ArrayView is. get() and whatever wants elements (np.asarray, arithmetic, np.linalg) fetch a copy. += and -=
    add, each contribution whole and once. A[...] = block puts. A message goes to each owner on another node, with eight bytes for
    each element and dimension beside its value. Not collective, any thread, blocking. What may meet what between two sync() is as
    for rectangles.
    """

    __slots__ = ()
    _of: HasElements
    _instead = "A[...] = function(A[...]) where nobody does"

    def put(self, block: ArrayLike) -> None:
        """Elements become those of a block, which is broadcast. Complete in the owners' memory on return."""
        given = self._block("put", block)
        if 0 not in self._extents:
            self._of._put(given.reshape(self._extents), self._picks)

    def fill(self, value: complex) -> None:
        """Every element becomes one number: put()."""
        self.put(value)

    def is_same_as(self, other: object) -> bool:
        """Whether it is the same elements of the same array."""
        return (
            isinstance(other, StridedView)
            and other._of is self._of
            and all(np.array_equal(a.indices, b.indices) for a, b in zip(self._picks, other._picks, strict=True))
        )

    def assign(self, value: Any) -> None:
        """Does A[key] = value. After `A[key] += block` Python assigns the view to its own place, which is done already."""
        if not self.is_same_as(value):
            self.put(value)
