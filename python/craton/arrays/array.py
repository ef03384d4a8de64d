"""What all distributed arrays have in common: element types, what they are to Python, what they say of themselves."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike, NDArray

from craton._extension import extension as _craton
from craton.described import facts_html
from craton.errors import UserError, words_of

SUFFIXES = {"float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128", "int64": "i64"}
REAL = ("float32", "float64")


def checked_dtype(kind: str, dtype: DTypeLike, allowed: tuple[str, ...]) -> str:
    """The dtype's name; UserError for one that `kind` of array does not have."""
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    if name not in allowed:
        names = ", ".join(f"'{each}'" for each in allowed[:-1])
        raise UserError(f"{kind}: dtype = {name!r}; allowed: {names} or '{allowed[-1]}'")
    return name


def core_class(kind: str, dtype: DTypeLike, allowed: tuple[str, ...] = tuple(SUFFIXES)) -> Any:
    """The extension's class for a kind of array and a dtype: _craton.ConvergentMatrix_f64."""
    return getattr(_craton, f"{kind}_{SUFFIXES[checked_dtype(kind, dtype, allowed)]}")


def whole_of(values: Any) -> NDArray[Any]:
    """What a rank has whole, as NumPy has it: without a copy where it is an array already, or speaks DLPack alone.

    UserError for memory of a device.
    """
    if hasattr(values, "__dlpack__") and not hasattr(values, "__array__"):
        try:
            return np.from_dlpack(values)
        except (BufferError, RuntimeError, TypeError, ValueError) as error:
            device = getattr(values, "__dlpack_device__", lambda: "unknown")()
            raise UserError(
                f"{type(values).__name__}: DLPack device {device}: {words_of(error)}; allowed: memory of the host, no gradients"
            ) from None
    return np.asarray(values)


def times(extents: Iterable[object]) -> str:
    """(200, 300) -> "200 x 300"."""
    return " x ".join(map(str, extents))


def ranks_text(world: _craton.World) -> str:
    """How many ranks hold it: "1 rank", "4 ranks"."""
    return f"{world.size} rank{'' if world.size == 1 else 's'}"


class Array:
    """A distributed array around an object of the extension, `_core`."""

    __slots__ = ("__weakref__", "_core")
    __iter__ = None  # np.asarray(a) would otherwise fetch element by element
    __hash__ = object.__hash__
    _core: Any

    @property
    def world(self) -> _craton.World:
        """The ranks that hold it."""
        world: _craton.World = self._core.world
        return world

    @property
    def shape(self) -> tuple[int, ...]:
        """Extents."""
        raise NotImplementedError

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Elements in all."""
        return int(np.prod(self.shape, dtype=np.int64))

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        dtype: np.dtype[Any] = self._core.dtype
        return dtype

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        raise NotImplementedError

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """The whole array, fetched by the rank that asks. Blocking, not collective; owners on other nodes must poll.

        Collective for a ConvergentVector, which is gathered.
        """
        found: NDArray[Any] = self[...].__array__(dtype, copy)
        return found

    def __eq__(self, other: object) -> Any:
        if self is not other and isinstance(other, Array | np.ndarray | np.generic | int | float | complex):
            raise UserError(
                f"{type(self).__name__}: == with an object of type {type(other).__name__}; allowed: `is`, or np.array_equal "
                "of what gather() gives"
            )
        return True if self is other else NotImplemented

    def __reduce__(self) -> NoReturn:
        raise UserError(
            f"{type(self).__name__}: it cannot be pickled, for its elements are on {ranks_text(self.world)}; "
            "allowed: gather() for a NumPy array, save() and load() for a file, copy() for another one"
        )

    def _facts(self) -> dict[str, object]:
        """What a notebook shows: name, value."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        return facts_html(type(self).__name__, self._facts())
