"""Elements by their places: an array of indices for each dimension, as NumPy's advanced indexing has them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError

__all__ = ["places_of"]


def places_of(where: Any, extents: Sequence[int]) -> tuple[NDArray[np.int64], tuple[int, ...]]:
    """A row of indices for each place, and the shape that the places have.

    where: as many array-likes of integers as there are dimensions, which are broadcast together; of one dimension it may be the
    array-like itself. Negative integers count from the end. UserError for any other.
    """
    dimensions = len(extents)
    given = where if isinstance(where, tuple) else (where,)
    if len(given) != dimensions:
        raise UserError(f"DistArray: {len(given)} arrays of indices; allowed: {dimensions}, one for each dimension")
    arrays = [np.asarray(each) for each in given]
    for d, each in enumerate(arrays):
        if each.dtype.kind not in "iu" and each.size:
            raise UserError(f"DistArray: indices of dimension {d} are {each.dtype}; allowed: integers")
    try:
        alike = np.broadcast_arrays(*arrays)
    except ValueError:
        shapes = ", ".join(str(each.shape) for each in arrays)
        raise UserError(
            f"DistArray: indices of shapes {shapes}; allowed: shapes that NumPy broadcasts together"
        ) from None
    columns = [each.ravel().astype(np.int64) for each in alike]
    wrapped = [np.where(each < 0, each + extent, each) for each, extent in zip(columns, extents, strict=True)]
    return np.ascontiguousarray(np.stack(wrapped, axis=1)), alike[0].shape
