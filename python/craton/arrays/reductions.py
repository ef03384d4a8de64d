"""One number of every rank, on every rank: what sums, norms and extremes of distributed arrays are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError

if TYPE_CHECKING:
    from craton._craton import World


def summed(world: World, values: NDArray[Any]) -> NDArray[Any]:
    """The sums over the ranks of an array's elements, in double precision; of integers exact. Collective, blocking."""
    if values.dtype.kind == "c":
        sums = world.sum(values.real) + 1j * world.sum(values.imag)
    elif values.dtype.kind not in "iu":
        sums = world.sum(values)
    else:
        whole = values.astype(np.int64)  # halves of 32 bits add up exactly in float64
        high, low = (world.sum(each).astype(np.int64) for each in (whole >> 32, whole & 0xFFFFFFFF))
        sums = (high << 32) + low
    return sums.reshape(values.shape)


def check_plain(call: str, **given: object) -> None:
    """UserError for what NumPy's functions may ask of a method, such as out, and it does not do: anything but None."""
    if any(value is not None for value in given.values()):
        told = ", ".join(f"{name} = {value}" for name, value in given.items())
        raise UserError(f"{call}: {told}; allowed: None")


def wide(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """What sums of elements are kept in: double precision, or 64-bit integers."""
    return np.result_type(dtype, np.float64 if dtype.kind in "fc" else np.int64)


def of_all_ranks(world: World, value: Any) -> NDArray[Any]:
    """The value of every rank, in an array on every rank. Collective, blocking."""
    mine = np.asarray(value)
    values = np.zeros(world.size, mine.dtype)
    values[world.rank] = mine
    return summed(world, values)


def norm(world: World, mine: NDArray[Any], kind: str, what: str) -> float:
    """The norm of all ranks' elements as one vector, on every rank. Collective, blocking.

    kind: "fro" the root of the sum of squares, "max" the largest |element|, "one" the sum of |elements|. UserError, naming `what`,
    for another kind.
    """
    if kind not in _NORMS:
        raise UserError(f"{what} norm: kind = {kind!r}; allowed: 'fro', 'max' or 'one'")
    of_pieces = [_NORMS[kind](np.abs(mine[..., some]).astype(np.float64)) for some in pieces(mine)]
    of_ranks = of_all_ranks(world, float(_NORMS[kind](np.array([0.0, *of_pieces]))))
    return float(_NORMS[kind](of_ranks))


_NORMS: dict[str, Callable[[NDArray[np.float64]], Any]] = {
    "fro": lambda sizes: np.linalg.norm(sizes.ravel()),
    "max": lambda sizes: sizes.max(initial=0.0),
    "one": lambda sizes: sizes.sum(),
}


def pieces(mine: NDArray[Any]) -> Iterator[slice]:
    """Slices along the last dimension, so many that a copy of a piece's elements is small."""
    length = mine.shape[-1]
    step = max(1, 2**18 // max(1, mine.size // max(1, length)))
    for first in range(0, length, step):
        yield slice(first, first + step)
