"""Arithmetic and sums of a whole DistArray: tile by tile, by the tiles' owners."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from craton.arrays.products import matmul
from craton.arrays.reductions import check_plain, of_all_ranks, summed, wide
from craton.errors import UserError

if TYPE_CHECKING:
    from craton.arrays.dist_array import DistArray

ELEMENT_TYPES = ("float32", "float64", "complex64", "complex128", "int32", "int64")


def elementwise(
    self: DistArray, function: Callable[..., Any], name: str, given: tuple[Any, ...], **options: Any
) -> DistArray:
    """Puts function(elements of the operands at one place, ...) into a new array of this layout. Collective, blocking.

    Operands are DistArrays of this layout, numbers, and NumPy arrays that every rank has whole, which are broadcast. UserError on
    every rank: another layout or shape, elements that no DistArray has.
    """
    operands = [_checked(self, name, each) for each in given]
    made = self.like(_result_dtype(function, name, operands, options))
    _run(self, function, operands, made, options)
    return made


def in_place(self: DistArray, function: Callable[..., Any], name: str, other: Any) -> DistArray:
    """As elementwise(), into the array itself. UserError also where elements would become another kind of number."""
    operands = [self, _checked(self, name, other)]
    result = _result_dtype(function, name, operands, {})
    if not np.can_cast(result, self.dtype, "same_kind"):
        raise UserError(
            f"DistArray {name}: elements of {result} in place of {self.dtype}; allowed: what becomes {self.dtype} without "
            "another kind of number (a new array: A = A op B)"
        )
    _run(self, function, operands, self, {"casting": "same_kind"})
    return self


def _checked(self: DistArray, name: str, given: Any) -> Any:
    """The operand: a DistArray, a number, or a NumPy array."""
    if hasattr(given, "_core"):
        if not (isinstance(given, type(self)) and self._fits(given)):
            raise UserError(
                f"DistArray {name}: {self!r} with {given!r}, whose layout is another; allowed: the same layout and world "
                "(redistributed())"
            )
        return given
    if isinstance(given, int | float | complex | np.generic):
        return given
    array = np.asarray(given)
    try:
        fits = np.broadcast_shapes(array.shape, self.shape) == self.shape
    except ValueError:
        fits = False
    if not fits:
        raise UserError(
            f"DistArray {name}: an array of shape {array.shape} with {self.shape}; allowed: what broadcasts to {self.shape}"
        )
    return array


def _result_dtype(function: Any, name: str, operands: list[Any], options: dict[str, Any]) -> np.dtype[Any]:
    empty = [each if _is_number(each) else np.empty(0, each.dtype) for each in operands]
    result: np.dtype[Any] = function(*empty, **options).dtype
    if result.name not in ELEMENT_TYPES:
        raise UserError(
            f"DistArray {name}: its result has {result} elements; allowed: {', '.join(ELEMENT_TYPES)}, which a DistArray may have "
            "(local_tiles work with any NumPy function)"
        )
    return result


def _run(self: DistArray, function: Any, operands: list[Any], into: DistArray, options: dict[str, Any]) -> None:
    self.sync()
    try:
        tiles = {n: each.local_tiles for n, each in enumerate(operands) if hasattr(each, "_core")}
        for number, tile in enumerate(into.local_tiles):
            here = [
                tiles[n][number].array
                if n in tiles
                else each
                if _is_number(each)
                else np.broadcast_to(each, self.shape)[tile.slices]
                for n, each in enumerate(operands)
            ]
            function(*here, out=tile.array, **options)
    finally:
        self.world.barrier()


def _is_number(operand: Any) -> bool:
    return isinstance(operand, int | float | complex | np.generic)


Operator = Callable[[Any, Any], Any]


def _operators(function: np.ufunc) -> tuple[Operator, Operator, Operator]:
    """The methods of A op x, x op A, A op= x."""
    name = function.__name__

    def forward(self: Any, other: Any) -> Any:
        return elementwise(self, function, name, (self, other)) if _has_numbers(other) else NotImplemented

    def reverse(self: Any, other: Any) -> Any:
        return elementwise(self, function, name, (other, self)) if _has_numbers(other) else NotImplemented

    def inside(self: Any, other: Any) -> Any:
        return in_place(self, function, name, other) if _has_numbers(other) else NotImplemented

    return forward, reverse, inside


def _has_numbers(value: Any) -> bool:
    return hasattr(value, "_core") or np.asarray(value).dtype.kind in "biufc"


class Arithmetic:
    """Operators and sums of a DistArray. All are collective and blocking: every rank calls them, in one order."""

    __slots__ = ()

    def __array_ufunc__(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """np.exp(A), np.maximum(A, B), x * A: as elementwise()."""
        if ufunc is np.matmul and method == "__call__" and not options:
            return inputs[0] @ self if inputs[0] is self else self.__rmatmul__(inputs[0])
        if method != "__call__" or ufunc.nout != 1 or ufunc.signature is not None or set(options) - {"dtype"}:
            how = "" if method == "__call__" else f".{method}"
            raise UserError(
                f"DistArray: np.{ufunc.__name__}{how} with {', '.join(options) or 'a DistArray'}; allowed: functions of elements "
                "with one result (np.exp(A)), sum(), max(), min(), mean(), norm(), map()"
            )
        return elementwise(self, ufunc, ufunc.__name__, inputs, **options)

    __add__, __radd__, __iadd__ = _operators(np.add)
    __sub__, __rsub__, __isub__ = _operators(np.subtract)
    __mul__, __rmul__, __imul__ = _operators(np.multiply)
    __truediv__, __rtruediv__, __itruediv__ = _operators(np.true_divide)
    __pow__, __rpow__, __ipow__ = _operators(np.power)
    __floordiv__, __rfloordiv__, __ifloordiv__ = _operators(np.floor_divide)
    __mod__, __rmod__, __imod__ = _operators(np.remainder)
    __lt__, __le__ = _operators(np.less)[0], _operators(np.less_equal)[0]  # they say why there is none
    __gt__, __ge__ = _operators(np.greater)[0], _operators(np.greater_equal)[0]

    def __neg__(self: Any) -> DistArray:
        return elementwise(self, np.negative, "negative", (self,))

    def __pos__(self: Any) -> DistArray:
        return elementwise(self, np.positive, "positive", (self,))

    def __abs__(self: Any) -> DistArray:
        return elementwise(self, np.absolute, "absolute", (self,))

    def conj(self: Any) -> DistArray:
        """The complex conjugates, in a new array. Collective, blocking."""
        return elementwise(self, np.conjugate, "conj", (self,))

    @property
    def real(self: Any) -> DistArray:
        """The real parts, in a new array. Collective, blocking."""
        return elementwise(self, _real, "real", (self,))

    @property
    def imag(self: Any) -> DistArray:
        """The imaginary parts, in a new array. Collective, blocking."""
        return elementwise(self, _imag, "imag", (self,))

    def astype(self: Any, dtype: DTypeLike) -> DistArray:
        """The same elements as another type, in a new array. Collective, blocking. UserError for a type that no DistArray has."""
        made: DistArray = self.like(dtype)
        self.sync()
        for mine, tile in zip(self.local_tiles, made.local_tiles, strict=True):
            tile.array[...] = mine.array.astype(tile.array.dtype)
        self.world.barrier()
        return made

    def sum(self: Any, axis: int | tuple[int, ...] | None = None, dtype: None = None, out: None = None) -> Any:
        """The sum of all elements, or a NumPy array of sums along some axes, on every rank. Collective, blocking.

        float32 and complex64 are summed in double precision, integers in int64. dtype and out are NumPy's, and must be None.
        """
        check_plain("DistArray sum", dtype=dtype, out=out)
        axes = _axes(self, axis)
        self.sync()
        sums = np.zeros([extent for d, extent in enumerate(self.shape) if d not in axes], wide(self.dtype))
        for tile in self.local_tiles:
            where = tuple(each for d, each in enumerate(tile.slices) if d not in axes)
            sums[where] += tile.array.sum(axis=tuple(axes), dtype=sums.dtype)
        return summed(self.world, sums)[()]

    def mean(self: Any, axis: int | tuple[int, ...] | None = None, dtype: None = None, out: None = None) -> Any:
        """The sum over the number of elements in it. Otherwise as sum."""
        check_plain("DistArray mean", dtype=dtype, out=out)
        count = np.prod([self.shape[d] for d in _axes(self, axis)])
        return self.sum(axis) / count

    def max(self: Any, axis: None = None, out: None = None) -> Any:
        """The largest element, on every rank. Collective, blocking. axis and out must be None. UserError: complex numbers."""
        return _extreme(self, np.max, axis, out)

    def min(self: Any, axis: None = None, out: None = None) -> Any:
        """The smallest element, on every rank. Collective, blocking. axis and out must be None. UserError: complex numbers."""
        return _extreme(self, np.min, axis, out)

    def __matmul__(self: Any, other: Any) -> Any:
        if hasattr(other, "_core") and other.ndim == 2:
            return matmul(self, other) if self.ndim == 2 else _times_vector(other, self, True)
        return _times_vector(self, other, False)

    def __rmatmul__(self: Any, other: Any) -> Any:
        return _times_vector(self, other, True)


def _real(elements: NDArray[Any], out: NDArray[Any] | None = None) -> Any:
    return np.positive(elements.real, out=out)


def _imag(elements: NDArray[Any], out: NDArray[Any] | None = None) -> Any:
    return np.positive(elements.imag, out=out)


def _axes(self: DistArray, axis: int | tuple[int, ...] | None) -> list[int]:
    given = range(self.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    axes = sorted({each % self.ndim for each in given if -self.ndim <= each < self.ndim})
    if len(axes) != len(given):
        raise UserError(
            f"DistArray: axis = {axis}; allowed: dimensions from {-self.ndim} to {self.ndim - 1}, each once"
        )
    return axes


def _extreme(self: DistArray, function: Any, axis: object, out: object) -> Any:
    name = function.__name__
    check_plain(f"DistArray {name}", axis=axis, out=out)
    if self.dtype.kind == "c":
        raise UserError(
            f"DistArray {name}: elements of {self.dtype} have no order; allowed: real numbers (abs(A), A.real)"
        )
    self.sync()
    mine = [function(tile.array) for tile in self.local_tiles]
    has = of_all_ranks(self.world, np.int64(len(mine) > 0)) > 0
    values = of_all_ranks(self.world, self.dtype.type(function(mine) if mine else 0))
    return function(values[has]).astype(self.dtype)


def _times_vector(self: Any, other: Any, from_left: bool) -> Any:
    """A x, or x^T A, of a matrix or a vector; x is whole on every rank, or a DistArray."""
    kind = f"DistArray of shape {self.shape} {'after' if from_left else '@'} a {type(other).__name__}"
    x = other.gather() if hasattr(other, "gather") else np.asarray(other)
    along = 0 if from_left else self.ndim - 1
    if self.ndim > 2 or x.shape != (self.shape[along],) or x.dtype.kind not in "biufc":
        raise UserError(
            f"{kind} of shape {x.shape}; allowed: a vector of {self.shape[along]}, or a matrix by a matrix (from_array)"
        )
    self.sync()
    rest = [d for d in range(self.ndim) if d != along]
    sums = np.zeros([self.shape[d] for d in rest], wide(np.result_type(self.dtype, x.dtype)))
    for tile in self.local_tiles:
        mine = tile.array.T if from_left else tile.array
        sums[tuple(tile.slices[d] for d in rest)] += mine @ x[tile.slices[along]].astype(sums.dtype)
    found = summed(self.world, sums)[()]
    if not isinstance(other, type(self)) or not rest:
        return found
    owners = self._layout.owners_along(rest[0])
    return type(self).from_array(self.world, found, boundaries=[self.boundaries[rest[0]]], owners=owners)
