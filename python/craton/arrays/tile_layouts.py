"""How a DistArray is cut into tiles, and who owns each: pure arithmetic, the same on every rank."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton.errors import UserError

Boundaries = tuple[NDArray[np.int64], ...]


def process_grid(shape: Sequence[int], ranks: int) -> tuple[int, ...]:
    """Ranks along each dimension, such that parts are as near to cubes as can be.

    Prime factors of `ranks`, largest first, each go to the dimension whose parts are longest (of equal ones the last).
    """
    grid = [1] * len(shape)
    for factor in _prime_factors(ranks):
        parts = [extent / along for extent, along in zip(shape, grid, strict=True)]
        longest = max(range(len(shape)), key=lambda d: (parts[d], d))
        grid[longest] *= factor
    return tuple(grid)


def plan(
    shape: Sequence[int],
    ranks: int,
    tiles: int | Sequence[int] | None = None,
    grid: Sequence[int] | None = None,
    boundaries: Sequence[ArrayLike] | None = None,
    owners: ArrayLike | None = None,
) -> tuple[Boundaries, NDArray[np.int64]]:
    """Boundaries along each dimension, and the owner of each tile in an array of as many dimensions (see DistArray)."""
    if tiles is not None and boundaries is not None:
        raise UserError("DistArray: tiles and boundaries; allowed: one of them")
    along = _checked_grid(shape, ranks, grid)
    if boundaries is not None:
        cuts = _checked_boundaries(shape, boundaries)
    elif tiles is not None:
        cuts = tuple(
            np.append(np.arange(0, extent, size), extent)
            for extent, size in zip(shape, _checked_tiles(shape, tiles), strict=True)
        )
    else:
        cuts = tuple(_even(extent, parts) for extent, parts in zip(shape, along, strict=True))
    counts = tuple(len(each) - 1 for each in cuts)
    return cuts, dealt(counts, along) if owners is None else _checked_owners(counts, owners)


def dealt(counts: Sequence[int], grid: Sequence[int]) -> NDArray[np.int64]:
    """Tiles dealt to a row-major grid of ranks in turn along each dimension, as ScaLAPACK does."""
    numbers = [np.arange(count) % along for count, along in zip(counts, grid, strict=True)]
    return np.ravel_multi_index(np.meshgrid(*numbers, indexing="ij"), tuple(grid)).astype(np.int64)


def _even(extent: int, parts: int) -> NDArray[np.int64]:
    parts = min(extent, parts)
    return np.arange(parts + 1) * extent // parts


def _prime_factors(number: int) -> list[int]:
    """Largest first."""
    found, factor = [], 2
    while number > 1:
        while number % factor == 0:
            found.append(factor)
            number //= factor
        factor += 1
    return found[::-1]


def _checked_grid(shape: Sequence[int], ranks: int, grid: Sequence[int] | None) -> tuple[int, ...]:
    if grid is None:
        return process_grid(shape, ranks)
    along = tuple(int(each) for each in grid)
    if len(along) != len(shape) or min(along) < 1 or math.prod(along) != ranks:
        raise UserError(
            f"DistArray: grid = {along} for {len(shape)} dimensions on {ranks} ranks; allowed: a number per dimension, "
            f"{ranks} ranks in all"
        )
    return along


def _checked_tiles(shape: Sequence[int], tiles: int | Sequence[int]) -> tuple[int, ...]:
    sizes = (int(tiles),) * len(shape) if np.ndim(tiles) == 0 else tuple(int(each) for each in tiles)  # type: ignore[arg-type, union-attr]
    if len(sizes) != len(shape) or min(sizes) < 1:
        raise UserError(f"DistArray: tiles = {tiles} for shape {tuple(shape)}; allowed: 1 or more along each dimension")
    return sizes


def _checked_boundaries(shape: Sequence[int], boundaries: Sequence[ArrayLike]) -> Boundaries:
    cuts = tuple(np.asarray(each) for each in boundaries)
    if len(cuts) != len(shape):
        raise UserError(f"DistArray: boundaries of {len(cuts)} dimensions for shape {tuple(shape)}; allowed: as many")
    for d, each in enumerate(cuts):
        if each.ndim != 1 or each.dtype.kind not in "iu" or len(each) < 2 or each[0] != 0 or each[-1] != shape[d]:
            raise UserError(
                f"DistArray: boundaries of dimension {d} are {np.array2string(each, threshold=8)}; "
                f"allowed: ascending integers from 0 to {shape[d]}"
            )
    return tuple(each.astype(np.int64) for each in cuts)


def _checked_owners(counts: tuple[int, ...], owners: ArrayLike) -> NDArray[np.int64]:
    ranks = np.asarray(owners)
    if ranks.dtype.kind not in "iu" or ranks.shape not in (counts, (math.prod(counts),)):
        raise UserError(
            f"DistArray: owners is a {ranks.dtype} array of shape {ranks.shape}; allowed: integers of shape {counts}, "
            "a rank for each tile"
        )
    return ranks.reshape(counts).astype(np.int64)
