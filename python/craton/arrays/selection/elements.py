"""Elements that are elsewhere: what a part of a distributed array is to NumPy and to Python."""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import ArrayLike, DTypeLike, NDArray

from craton.errors import UserError


class Elements(NDArrayOperatorsMixin):
    """A part of a distributed array: nothing is fetched until its elements are asked for.

    Where NumPy or Python wants elements it gets a copy of them, fetched anew each time: np.asarray, arithmetic, np.linalg, float(),
    methods such as sum or T. `+=` and `-=` add to the array. Other operations in place are refused, for they would lose what others
    add meanwhile.
    """

    __slots__ = ()

    @property
    def shape(self) -> tuple[int, ...]:
        """Without the dimensions that an integer picked one index of."""
        raise NotImplementedError

    @property
    def dtype(self) -> np.dtype[Any]:
        """The array's element type."""
        raise NotImplementedError

    def get(self) -> NDArray[Any]:
        """A new array with the elements."""
        raise NotImplementedError

    def accumulate(self, block: ArrayLike) -> None:
        """Adds a block to the array."""
        raise NotImplementedError

    @property
    def _kind(self) -> str:
        """What the array is called in errors."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """Dimensions that stay."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Elements in all."""
        return int(np.prod(self.shape, dtype=np.int64))

    def __iadd__(self, block: ArrayLike) -> Any:  # type: ignore[misc]
        self.accumulate(block)
        return self

    def __isub__(self, block: ArrayLike) -> Any:  # type: ignore[misc]
        self.accumulate(np.negative(np.asarray(block)))
        return self

    def _refuse(self, _: Any) -> NoReturn:
        raise UserError(
            f"{self._kind}: an operation in place on a rectangle; allowed: += and -=, which lose nothing of what others add "
            f"({self._instead})"
        )

    __imul__ = __itruediv__ = __ifloordiv__ = __imod__ = __ipow__ = __imatmul__ = _refuse
    __iand__ = __ior__ = __ixor__ = __ilshift__ = __irshift__ = _refuse
    _instead = "A[...] = function(A[...]) where nobody does"

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        if copy is False:
            raise ValueError(f"the elements of a {self._kind} are elsewhere: an array of them is a copy")
        values = self.get()
        return values if dtype is None else values.astype(dtype, copy=False)

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        if any(isinstance(each, Elements) for each in options.get("out", ())):
            self._refuse(None)
        here = [each.get() if isinstance(each, Elements) else each for each in inputs]
        return getattr(ufunc, method)(*here, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_") or name not in _OF_A_COPY:
            raise AttributeError(f"a rectangle of a {self._kind} has no attribute {name!r}")
        return getattr(self.get(), name)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *_OF_A_COPY})

    def __len__(self) -> int:
        if not self.shape:
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

    def _block(self, call: str, value: ArrayLike, broadcast: bool = True) -> NDArray[Any]:
        """An aligned array of this shape and element type; UserError for what would become another kind of number."""
        block = np.asarray(value)
        if block.dtype.byteorder == "<" and block.dtype == self.dtype:  # said of what is the machine's anyway
            block = block.view(self.dtype)
        if block.dtype == self.dtype and block.shape == self.shape and block.flags.aligned:
            return block
        if block.dtype != self.dtype:
            if not np.can_cast(block.dtype, self.dtype, "same_kind"):
                raise UserError(
                    f"{self._kind} {call}: elements of {block.dtype} into an array of {self.dtype}; allowed: what becomes "
                    f"{self.dtype} without another kind of number (astype first)"
                )
            block = block.astype(self.dtype)
        if not block.flags.aligned:
            block = block.copy()
        try:
            if not broadcast and block.ndim > 0 and block.shape != self.shape:
                raise ValueError
            return np.broadcast_to(block, self.shape)
        except ValueError:
            raise UserError(
                f"{self._kind} {call}: a block of shape {block.shape} for a rectangle of shape {self.shape}; allowed: the "
                f"same, or {'what broadcasts to it' if broadcast else 'one number'}"
            ) from None


# In place on a copy the rest would change nothing; or it tells where memory lies.
_NOT_OF_A_COPY = "sort partition resize setfield setflags itemset byteswap data ctypes base flags strides view getfield"
_OF_A_COPY = frozenset(
    name for name in dir(np.ndarray) if not name.startswith("_") and name not in _NOT_OF_A_COPY.split()
)
