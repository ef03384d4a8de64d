"""How a DistArray is cut into tiles, and who owns each: pure arithmetic, the same on every rank."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton.errors import UserError

Boundaries = tuple[NDArray[np.int64], ...]


@dataclass(frozen=True, eq=False)
class TileLayout:
    """Boundaries along each dimension, and who owns the tiles: a grid of ranks to which they are dealt in turn, or a list."""

    boundaries: Boundaries
    """Of each dimension the first index of every tile, then the extent."""
    grid: tuple[int, ...] | None
    """Ranks along each dimension; None where the owners are given one by one."""
    given: NDArray[np.int64] | None = None
    """The rank of each tile; as many dimensions as the array."""

    def __post_init__(self) -> None:
        for each in self.boundaries if self.given is None else (*self.boundaries, self.given):
            each.flags.writeable = False

    @property
    def counts(self) -> tuple[int, ...]:
        """Tiles along each dimension."""
        return tuple(len(each) - 1 for each in self.boundaries)

    @property
    def owners(self) -> NDArray[np.int64]:
        """The rank of each tile; as many dimensions as the array. Not kept where tiles are dealt in turn."""
        if self.given is not None:
            return self.given
        made = dealt(self.counts, self.grid or ())
        made.flags.writeable = False
        return made

    def owners_along(self, dimension: int) -> NDArray[np.int64]:
        """Of the tiles that are the first ones along all other dimensions."""
        if self.given is not None:
            return self.given[tuple(slice(None) if d == dimension else 0 for d in range(self.given.ndim))]
        counts = [count if d == dimension else 1 for d, count in enumerate(self.counts)]
        return dealt(counts, self.grid or ()).ravel()

    def arguments(self) -> dict[str, Any]:
        """What DistArray takes for such a layout."""
        return {"boundaries": self.boundaries, "grid": self.grid, "owners": self.given}

    def same_as(self, other: TileLayout) -> bool:
        """Whether all tiles are the same and have the same owners."""
        if not all(map(np.array_equal, self.boundaries, other.boundaries)):
            return False
        both_dealt = self.grid is not None and self.grid == other.grid
        return both_dealt or np.array_equal(self.owners, other.owners)


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
) -> TileLayout:
    """What the arguments of DistArray say."""
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
    if owners is None:
        return TileLayout(cuts, along)
    return TileLayout(cuts, None, _checked_owners(tuple(len(each) - 1 for each in cuts), owners))


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
