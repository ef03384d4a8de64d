"""Rectangles of a DistArray: what its slices are."""

from __future__ import annotations

import operator
import pickle
import weakref
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike, DTypeLike, NDArray

from craton import _craton
from craton.errors import UserError

if TYPE_CHECKING:
    from craton.arrays.dist_array import DistArray

Place = tuple[int, ...]


class JudgedPiece(NamedTuple):
    """One of a rectangle's pieces, as get_above found it: low <= i < high in the array, the largest |element|."""

    tile: int
    low: Place
    high: Place
    norm: float
    came: bool


@dataclass(frozen=True)
class AppliedFunction:
    """A function that DistArray.register has named."""

    array: weakref.ref[DistArray] = field(repr=False)
    number: int


class Transfer:
    """A get, put, accumulate or apply that was started. Dropping it does not stop it. Any thread."""

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


class ArrayView(NDArrayOperatorsMixin):
    """A rectangle of a DistArray, A[i0:i1, j0:j1]: nothing is fetched until its elements are asked for.

    Like a slice of a NumPy array it is a view: elements are those at the time of asking. Where NumPy wants an array it
    gets one (np.asarray, arithmetic, np.linalg, methods such as sum or T): a copy, fetched anew each time. get() is the same
    in words; keep its result where elements are used more than once. += and -= add to the array, one-sided and whole
    (accumulate); other operations in place are refused, for they would lose what others add meanwhile.

    Not collective, any thread, blocking where the name does not begin with start_ or post_. Accumulates may meet each other, and
    gets each other; all else needs a sync() between (array/dist_array.hpp).
    """

    __slots__ = ("_array", "_high", "_kept", "_low")

    def __init__(self, array: DistArray, low: Place, high: Place, kept: tuple[int, ...]) -> None:
        self._array, self._low, self._high, self._kept = array, low, high, kept

    @property
    def array(self) -> DistArray:
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
        return tuple(self._high[d] - self._low[d] for d in self._kept)

    @property
    def ndim(self) -> int:
        return len(self._kept)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def dtype(self) -> np.dtype[Any]:
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
        return Transfer(self._array._core.start_put(self._low, self._high, self._block("put", block)), None)

    def accumulate(self, block: ArrayLike) -> None:
        """Adds a block, which is broadcast: each element's contribution counts whole, once. Complete on return."""
        self.start_accumulate(block).wait()

    def start_accumulate(self, block: ArrayLike) -> Transfer:
        """As accumulate(), but returns while elements travel; the block may be reused at once."""
        given = self._block("accumulate", block)
        return Transfer(self._array._core.start_accumulate(self._low, self._high, given), None)

    def post_accumulate(self, block: ArrayLike) -> None:
        """As accumulate() without a receipt: all has been added after the next sync(). The block may be reused at once."""
        self._array._core.post_accumulate(self._low, self._high, self._block("accumulate", block))

    def get_above(self, threshold: float, out: NDArray[Any] | None = None) -> tuple[NDArray[Any], list[JudgedPiece]]:
        """Fetches only the tiles' pieces whose largest |element| is above the threshold (or is none); elsewhere a new array is
        zero and `out` stays as it is. Owners off the node look at theirs; nothing of the others' travels."""
        if out is None:
            out = np.zeros(self.shape, self.dtype)
        memory = self._checked_out("get_above", out)
        pieces = self._array._core.get_above(self._low, self._high, float(threshold), memory)
        return out, [JudgedPiece(tile, tuple(low), tuple(high), norm, came) for tile, low, high, norm, came in pieces]

    def apply(self, function: AppliedFunction, argument: Any = None) -> None:
        """Runs a function that DistArray.register has named on the rectangle, in each tile on its own; complete when it has
        returned everywhere. The argument is pickled. What the function raises is told by the next DistArray.sync()."""
        self.start_apply(function, argument).wait()

    def start_apply(self, function: AppliedFunction, argument: Any = None) -> Transfer:
        """As apply(), but returns while functions run."""
        if not isinstance(function, AppliedFunction) or function.array() is not self._array:
            raise UserError(f"DistArray apply: {function!r}; allowed: what register() of this array has returned")
        given = b"" if argument is None else pickle.dumps(argument)
        return Transfer(self._array._core.start_apply(self._low, self._high, function.number, given), None)

    def fill(self, value: complex) -> None:
        """put() of one number."""
        self.put(value)

    def __getitem__(self, key: Any) -> ArrayView:
        low, high, kept = rectangle_of(key, self.shape)
        of_array_low, of_array_high = list(self._low), list(self._high)
        for n, d in enumerate(self._kept):
            of_array_low[d], of_array_high[d] = self._low[d] + low[n], self._low[d] + high[n]
        return ArrayView(self._array, tuple(of_array_low), tuple(of_array_high), tuple(self._kept[n] for n in kept))

    def __setitem__(self, key: Any, value: ArrayLike | ArrayView) -> None:
        assign(self[key], value)

    def __iadd__(self, block: ArrayLike) -> ArrayView:  # type: ignore[override, misc]
        self.accumulate(block)
        return self

    def __isub__(self, block: ArrayLike) -> ArrayView:  # type: ignore[override, misc]
        self.accumulate(np.negative(np.asarray(block)))
        return self

    def _refuse(self, _: Any) -> NoReturn:
        raise UserError(
            "DistArray: an operation in place on a rectangle; allowed: += and -=, which lose nothing of what others add "
            "(A[...] = function(A[...]) where nobody does)"
        )

    __imul__ = __itruediv__ = __ifloordiv__ = __imod__ = __ipow__ = __imatmul__ = _refuse  # type: ignore[assignment]
    __iand__ = __ior__ = __ixor__ = __ilshift__ = __irshift__ = _refuse  # type: ignore[assignment]

    # What NumPy and Python ask of a thing with elements: a copy of them answers.

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError("the elements of a DistArray are elsewhere: an array of them is a copy")
        values = self.get()
        return values if dtype is None else values.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(each, ArrayView) for each in options.get("out", ())):
            self._refuse(None)
        here = [each.get() if isinstance(each, ArrayView) else each for each in inputs]
        return getattr(ufunc, method)(*here, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name in _NOT_OF_A_COPY or not hasattr(np.ndarray, name):
            raise AttributeError(f"a rectangle of a DistArray has no attribute {name!r}")
        return getattr(self.get(), name)

    def __len__(self) -> int:
        if not self._kept:
            raise TypeError("a single element has no length")
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.get())

    def __contains__(self, value: object) -> bool:
        return value in self.get()

    def __float__(self) -> float:
        return float(self.get())

    def __int__(self) -> int:
        return int(self.get())

    def __complex__(self) -> complex:
        return complex(self.get())

    def __index__(self) -> int:
        return operator.index(self.get())

    def __bool__(self) -> bool:
        return bool(self.get())

    def __str__(self) -> str:
        return str(self.get())

    def __format__(self, how: str) -> str:
        return format(self.get()[()], how)

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
        return array[tuple(slice(None) if d in self._kept else np.newaxis for d in range(len(self._low)))]

    def _checked_out(self, call: str, out: NDArray[Any]) -> NDArray[Any]:
        if not isinstance(out, np.ndarray) or out.dtype != self.dtype or out.shape != self.shape:
            kind = f"{out.dtype} array of shape {out.shape}" if isinstance(out, np.ndarray) else type(out).__name__
            raise UserError(f"DistArray {call}: out is a {kind}; allowed: a {self.dtype} array of shape {self.shape}")
        if not out.flags.writeable:
            raise UserError(f"DistArray {call}: out is read-only; allowed: an array that may be written")
        return self._with_all_dimensions(out)

    def _block(self, call: str, value: ArrayLike) -> NDArray[Any]:
        block = np.asarray(value)
        if block.dtype != self.dtype:
            if not np.can_cast(block.dtype, self.dtype, "same_kind"):
                raise UserError(
                    f"DistArray {call}: elements of {block.dtype} into an array of {self.dtype}; allowed: what becomes "
                    f"{self.dtype} without another kind of number (astype first)"
                )
            block = block.astype(self.dtype)
        if not block.flags.aligned:
            block = block.copy()
        try:
            return self._with_all_dimensions(np.broadcast_to(block, self.shape))
        except ValueError:
            raise UserError(
                f"DistArray {call}: a block of shape {block.shape} for a rectangle of shape {self.shape}; allowed: the "
                "same, or what broadcasts to it"
            ) from None


# In place on a copy they would change nothing; or they tell where memory lies.
_NOT_OF_A_COPY = frozenset(
    "sort partition resize setfield setflags itemset byteswap data ctypes base flags strides view getfield".split()
)


def assign(view: ArrayView, value: ArrayLike | ArrayView) -> None:
    """A[key] = value. After `A[key] += block` Python assigns the view to its own place: that is done already."""
    if not view._same_as(value):
        view.put(value)


def rectangle_of(key: Any, shape: Sequence[int]) -> tuple[Place, Place, tuple[int, ...]]:
    """low, high and the dimensions that stay, of NumPy's basic indexing: integers (negative ones from the end), slices of
    step 1 (cut to the array), an ellipsis, fewer than there are dimensions."""
    given = key if isinstance(key, tuple) else (key,)
    keys = _without_ellipsis(given, len(shape))
    low, high, kept = [], [], []
    for d, (each, extent) in enumerate(zip(keys, shape, strict=True)):
        if isinstance(each, slice):
            first, last = _of_slice(each, d, extent)
            kept.append(d)
        else:
            first = _of_integer(each, d, extent)
            last = first + 1
        low.append(first)
        high.append(last)
    return tuple(low), tuple(high), tuple(kept)


def _without_ellipsis(keys: tuple[Any, ...], dimensions: int) -> list[Any]:
    ellipses = [n for n, each in enumerate(keys) if each is Ellipsis]
    missing = dimensions - len(keys) + len(ellipses)
    if missing < 0 or len(ellipses) > 1:
        raise UserError(f"DistArray: {len(keys)} indices; allowed: {dimensions} at most, one ellipsis among them")
    at = ellipses[0] if ellipses else len(keys)
    return [*keys[:at], *[slice(None)] * missing, *keys[at + len(ellipses) :]]


def _of_slice(given: slice, d: int, extent: int) -> tuple[int, int]:
    try:
        first, last, step = given.indices(extent)
    except (TypeError, ValueError):
        raise UserError(f"DistArray: index {d} is {given}; allowed: slices of integers with step 1") from None
    if step != 1:
        raise UserError(
            f"DistArray: index {d} has step {step}; allowed: 1 (the rectangle as a NumPy array takes any: A[...].get()[::2])"
        )
    return first, max(first, last)


def _of_integer(given: Any, d: int, extent: int) -> int:
    try:
        if isinstance(given, bool | np.bool_):
            raise TypeError
        index = operator.index(given)
    except TypeError:
        raise UserError(
            f"DistArray: index {d} is a {type(given).__name__}; allowed: integers, slices and an ellipsis (the rectangle as a "
            "NumPy array takes any: A[...].get()[mask])"
        ) from None
    if not -extent <= index < extent:
        raise UserError(f"DistArray: index {d} is {index}; allowed: {-extent} to {extent - 1}")
    return index % extent
