"""What NumPy's indices mean on a distributed array."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError

Place = tuple[int, ...]


class OtherStepError(UserError):
    """A slice whose step is not 1, where a rectangle is wanted."""


class Picked(NamedTuple):
    """Indices along one dimension, and whether the dimension stays (an integer takes it away)."""

    indices: range | NDArray[np.int64]
    stays: bool


def rectangle_of(key: Any, shape: Sequence[int]) -> tuple[Place, Place, tuple[int, ...]]:
    """What NumPy's basic indexing picks: (low, high, the dimensions that stay).

    key: integers (negative ones from the end), slices of step 1 (cut to the array), an ellipsis, fewer than there are dimensions.
    UserError for any other; OtherStepError if only a step is in the way so far.
    """
    low, high, kept = list[int](), list[int](), list[int]()
    if type(key) is tuple and len(key) == len(shape):  # mostly slices of integers
        try:
            for each, extent in zip(key, shape, strict=True):
                first, last, step = each.indices(extent)
                if step != 1:
                    break
                low.append(first)
                high.append(last if last > first else first)
            else:
                return tuple(low), tuple(high), tuple(range(len(low)))
        except (AttributeError, TypeError, ValueError):
            pass
        low, high = [], []
    for d, (each, extent) in enumerate(zip(_per_dimension("DistArray", key, len(shape)), shape, strict=True)):
        if isinstance(each, slice):
            first, last = _of_slice(each, d, extent)
            kept.append(d)
        else:
            first = _of_integer("DistArray", each, d, extent, "slices and an ellipsis" + _OF_A_COPY)
            last = first + 1
        low.append(first)
        high.append(last)
    return tuple(low), tuple(high), tuple(kept)


def picked(kind: str, key: Any, shape: Sequence[int]) -> tuple[Picked, ...]:
    """What integers, slices of any step, arrays of integers or of truth values, and an ellipsis pick along each dimension.

    Two arrays pick rows and columns, every one of them with every other, as np.ix_ does, and not pairs of them. UserError for any
    other key.
    """
    keys = _per_dimension(kind, key, len(shape))
    return tuple(
        _of_any(kind, each, d, extent, len(shape)) for d, (each, extent) in enumerate(zip(keys, shape, strict=True))
    )


_OF_A_COPY = " (the rectangle as a NumPy array takes any: A[...].get()[mask])"


def strided(key: Any, shape: Sequence[int]) -> tuple[Picked, ...]:
    """What integers, slices of any step and an ellipsis pick along each dimension of a DistArray. UserError for any other key."""
    keys = _per_dimension("DistArray", key, len(shape))
    for d, each in enumerate(keys):
        if not isinstance(each, slice):
            _of_integer("DistArray", each, d, shape[d], "slices and an ellipsis" + _OF_A_COPY)
    return picked("DistArray", key, shape)


def _per_dimension(kind: str, key: Any, dimensions: int) -> list[Any]:
    keys = key if isinstance(key, tuple) else (key,)
    ellipses = [n for n, each in enumerate(keys) if each is Ellipsis]
    missing = dimensions - len(keys) + len(ellipses)
    if missing < 0 or len(ellipses) > 1:
        raise UserError(f"{kind}: {len(keys)} indices; allowed: {dimensions} at most, one ellipsis among them")
    at = ellipses[0] if ellipses else len(keys)
    return [*keys[:at], *[slice(None)] * missing, *keys[at + len(ellipses) :]]


def _of_any(kind: str, given: Any, d: int, extent: int, dimensions: int) -> Picked:
    if isinstance(given, slice):
        try:
            return Picked(range(*given.indices(extent)), True)
        except (TypeError, ValueError):
            raise UserError(f"{kind}: index {d} is {given}; allowed: slices of integers") from None
    if isinstance(given, list | range | np.ndarray) and np.ndim(given) > 0:
        return Picked(_of_array(kind, np.asarray(given), d, extent, dimensions), True)
    index = _of_integer(kind, given, d, extent, "slices, one-dimensional arrays of integers and an ellipsis")
    return Picked(range(index, index + 1), False)


def _of_array(kind: str, given: NDArray[Any], d: int, extent: int, dimensions: int) -> NDArray[np.int64]:
    of_ix = given.ndim == dimensions and given.size == given.shape[d]  # what np.ix_ makes
    indices = given.ravel() if of_ix else given
    if indices.dtype == bool and indices.shape == (extent,):
        return np.flatnonzero(indices)
    if indices.size == 0 and indices.ndim == 1:
        return np.empty(0, np.int64)
    if indices.ndim != 1 or indices.dtype.kind not in "iu":
        raise UserError(
            f"{kind}: index {d} is a {given.dtype} array of shape {given.shape}; allowed: integers in one dimension, or "
            f"{extent} truth values"
        )
    wrong = indices[(indices < -extent) | (indices >= extent)]
    if wrong.size:
        raise UserError(f"{kind}: index {d} has {wrong[0]}; allowed: {-extent} to {extent - 1}")
    return np.where(indices < 0, indices + extent, indices).astype(np.int64)


def _of_slice(given: slice, d: int, extent: int) -> tuple[int, int]:
    try:
        first, last, step = given.indices(extent)
    except (TypeError, ValueError):
        raise UserError(f"DistArray: index {d} is {given}; allowed: slices of integers with step 1") from None
    if step != 1:
        raise OtherStepError(
            f"DistArray: index {d} has step {step}; allowed: 1 (the rectangle as a NumPy array takes any: A[...].get()[::2])"
        )
    return first, max(first, last)


def _of_integer(kind: str, given: Any, d: int, extent: int, others: str) -> int:
    try:
        if isinstance(given, bool | np.bool_):
            raise TypeError
        index = operator.index(given)
    except TypeError:
        raise UserError(f"{kind}: index {d} is a {type(given).__name__}; allowed: integers, {others}") from None
    if not -extent <= index < extent:
        raise UserError(f"{kind}: index {d} is {index}; allowed: {-extent} to {extent - 1}")
    return index % extent
