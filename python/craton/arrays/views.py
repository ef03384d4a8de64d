"""Rectangles of a DistArray: what its slices are."""

from __future__ import annotations

import pickle
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton._extension import extension as _craton
from craton.arrays.selection.elements import Elements
from craton.arrays.selection.indexing import Place, rectangle_of
from craton.errors import UserError

if TYPE_CHECKING:
    from craton.arrays.dist_array import DistArray


NO_KEY = object()
"""Of a view that was picked of another view."""


class JudgedPiece(NamedTuple):
    """One of a rectangle's pieces, as get_above found it: low <= i < high in the array, its largest |element|, whether it came."""

    tile: int
    low: Place
    high: Place
    norm: float
    came: bool


@dataclass(frozen=True, eq=False)
class AppliedFunction:
    """A function that DistArray.register has named."""

    array: weakref.ref[DistArray] = field(repr=False)
    number: int


class Transfer:
    """A get, put, accumulate or apply under way. Dropping it does not stop it. Any thread."""

    __slots__ = ("_operation", "_result")

    def __init__(self, operation: _craton.ArrayOperation, result: NDArray[Any] | None) -> None:
        self._operation = operation
        self._result = result

    def test(self) -> bool:
        """True when it is complete; polls when it is not."""
        return self._operation.test()

    def wait(self) -> Any:
        """Blocking; polls meanwhile. The array of a get, else None."""
        self._operation.wait()
        return self._result


class ArrayView(Elements):
    """A rectangle of a DistArray, A[i0:i1, j0:j1]: nothing is fetched until its elements are asked for.

    It is a view, as a slice of a NumPy array is: elements are those at the time of asking. Where NumPy wants an array (np.asarray,
    arithmetic, np.linalg, methods such as sum or T) it gets a copy, fetched anew each time. get() does the same in words; keep its
    result where elements are used more than once. `+=` and -= add to the array, one-sided and whole (accumulate). Other operations
    in place are refused, for they would lose what others add meanwhile.

    Not collective, any thread, blocking where the name does not begin with start_ or post_. Accumulates may meet each other, and
    gets each other; all else needs a sync() between (array/dist_array.hpp).
    """

    __slots__ = ("_array", "_high", "_kept", "_key", "_low")

    def __init__(self, array: DistArray, low: Place, high: Place, kept: tuple[int, ...], key: Any = NO_KEY) -> None:
        """key: what picked it of the array, for assign()."""
        self._array, self._low, self._high, self._kept, self._key = array, low, high, kept, key

    @property
    def array(self) -> DistArray:
        """The array that it is a rectangle of."""
        return self._array

    @property
    def low(self) -> Place:
        """The first index along each dimension of the array."""
        return self._low

    @property
    def high(self) -> Place:
        """One more than the last index along each dimension of the array."""
        return self._high

    @property
    def shape(self) -> Place:
        """Without the dimensions that an integer picked one index of."""
        low, high = self._low, self._high
        return tuple([high[d] - low[d] for d in self._kept])

    @property
    def dtype(self) -> np.dtype[Any]:
        """The array's element type."""
        return self._array.dtype

    def get(self, out: NDArray[Any] | None = None) -> NDArray[Any]:
        """A new array with the elements, or `out`, of the same shape and element type and any strides, filled."""
        filled: NDArray[Any] = self.start_get(out).wait()
        return filled

    def start_get(self, out: NDArray[Any] | None = None) -> Transfer:
        """As get(), but returns while elements travel; leave `out` alone until wait(), which returns it."""
        if out is None:
            out = np.empty(self.shape, self.dtype)
        return Transfer(self._array._core.start_get(self._low, self._high, self._checked_out("get", out)), out)

    def put(self, block: ArrayLike) -> None:
        """Elements become those of a block, which is broadcast. Complete in the owners' memory on return."""
        self.start_put(block).wait()

    def start_put(self, block: ArrayLike) -> Transfer:
        """As put(), but returns while elements travel; the block may be reused at once."""
        return Transfer(self._array._core.start_put(self._low, self._high, self._placed("put", block)), None)

    def accumulate(self, block: ArrayLike) -> None:
        """Adds a block, which is broadcast: each element's contribution counts whole, once. Complete on return."""
        self._array._core.accumulate(self._low, self._high, self._placed("accumulate", block))

    def start_accumulate(self, block: ArrayLike) -> Transfer:
        """As accumulate(), but returns while elements travel; the block may be reused at once."""
        given = self._placed("accumulate", block)
        return Transfer(self._array._core.start_accumulate(self._low, self._high, given), None)

    def post_accumulate(self, block: ArrayLike) -> None:
        """As accumulate() without a receipt: all has been added after the next sync(). The block may be reused at once."""
        self._array._core.post_accumulate(self._low, self._high, self._placed("accumulate", block))

    def get_above(self, threshold: float, out: NDArray[Any] | None = None) -> tuple[NDArray[Any], list[JudgedPiece]]:
        """Fetches the pieces, one per tile, whose largest |element| is above the threshold or not a number; says what it found.

        Elsewhere a new array is zero, and `out` stays as it is. Owners off the node look at theirs, so that other pieces do not
        travel.
        """
        if out is None:
            out = np.zeros(self.shape, self.dtype)
        memory = self._checked_out("get_above", out)
        pieces = self._array._core.get_above(self._low, self._high, float(threshold), memory)
        return out, [JudgedPiece(tile, tuple(low), tuple(high), norm, came) for tile, low, high, norm, came in pieces]

    def apply(self, function: AppliedFunction, argument: Any = None) -> None:
        """Runs a function that DistArray.register has named on the rectangle, in each tile on its own, until all have returned.

        The argument is pickled. What the function raises is told by the next DistArray.sync().
        """
        self.start_apply(function, argument).wait()

    def start_apply(self, function: AppliedFunction, argument: Any = None) -> Transfer:
        """As apply(), but returns while functions run."""
        if not isinstance(function, AppliedFunction) or function.array() is not self._array:
            raise UserError(f"DistArray apply: {function!r}; allowed: what register() of this array has returned")
        given = b"" if argument is None else pickle.dumps(argument)
        return Transfer(self._array._core.start_apply(self._low, self._high, function.number, given), None)

    def fill(self, value: complex) -> None:
        """Every element becomes one number: put()."""
        self.put(value)

    def __getitem__(self, key: Any) -> ArrayView:
        low, high, kept = rectangle_of(key, self.shape)
        of_array_low, of_array_high = list(self._low), list(self._high)
        for n, d in enumerate(self._kept):
            of_array_low[d], of_array_high[d] = self._low[d] + low[n], self._low[d] + high[n]
        return ArrayView(self._array, tuple(of_array_low), tuple(of_array_high), tuple(self._kept[n] for n in kept))

    def __setitem__(self, key: Any, value: ArrayLike | ArrayView) -> None:
        assign(self[key], value)

    _kind = "DistArray"

    def __repr__(self) -> str:
        ranges = ", ".join(f"{low}:{high}" for low, high in zip(self._low, self._high, strict=True))
        return f"<[{ranges}] of a DistArray of {self.dtype}: np.asarray() fetches it>"

    def _same_as(self, other: object) -> bool:
        return (
            isinstance(other, ArrayView)
            and other._array is self._array
            and (other._low, other._high) == (self._low, self._high)
        )

    def _with_all_dimensions(self, array: NDArray[Any]) -> NDArray[Any]:
        if len(self._kept) == len(self._low):
            return array
        return array[tuple(slice(None) if d in self._kept else np.newaxis for d in range(len(self._low)))]

    def _checked_out(self, call: str, out: NDArray[Any]) -> NDArray[Any]:
        if not isinstance(out, np.ndarray) or out.dtype != self.dtype or out.shape != self.shape:
            kind = f"{out.dtype} array of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
            raise UserError(f"DistArray {call}: out is a {kind}; allowed: a {self.dtype} array of shape {self.shape}")
        if not out.flags.writeable:
            raise UserError(f"DistArray {call}: out is read-only; allowed: an array that may be written")
        return self._with_all_dimensions(out)

    def _placed(self, call: str, value: ArrayLike) -> NDArray[Any]:
        return self._with_all_dimensions(self._block(call, value))


def is_in_place(array: DistArray, key: Any, value: Any) -> bool:
    """Whether `value` is what `array[key]` was, with this very key: the end of `A[key] += block`, which is done already."""
    return type(value) is ArrayView and value._array is array and value._key is key


def assign(view: ArrayView, value: ArrayLike | ArrayView) -> None:
    """Does A[key] = value. After `A[key] += block` Python assigns the view to its own place, which is done already."""
    if not view._same_as(value):
        view.put(value)
