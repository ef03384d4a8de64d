"""What an F-cycle sends, counted from the layout of its boxes: arithmetic alone, for any number of ranks on any machine.

The same rules as craton/array/box_layout.hpp and src/apps/multigrid/solver.cpp, written again: which boxes each level has, who owns
them, which parts of them go where in each step of the cycle. Nothing is approximated here; the tests count the messages of real
solves beside it.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from craton.errors import UserError
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Waits = Literal["both", "last"]

CELL_BYTES = 8
MESSAGE_CELLS = (512 << 10) // CELL_BYTES
"""A copy off the node goes in messages of at most half a MiB."""
ORDERS = ("lexicographic", "morton")
SMALLEST_BOX_TO_HALVE = 16
SMALLEST_BOX_FOR_PAIRS = 16


@dataclass(frozen=True)
class Operator:
    """What a discretisation makes of the cycle; `traits_of` in src/apps/multigrid/level.cpp."""

    depth: int
    """ghost layers that the stencil reads"""
    most_off: int
    """dimensions in which a ghost that it reads may lie off the box: 1 faces, 2 edges too"""
    coarsest: int
    """cells a side of the grid where the cycle ends"""
    sweeps: dict[str, int]
    reach_in_v: int
    """coarse cells to either side that prolongation reads, in a V-cycle and at the start of one"""
    reach_in_f: int
    bottom_steps: float
    """of BiCGStab on the coarsest grid; half a step ends it where that is a single cell"""


OPERATORS = {
    "7pt": Operator(1, 1, 1, {"chebyshev": 4, "gsrb": 4, "jacobi": 6}, 0, 1, 0.5),
    "fv2": Operator(1, 1, 1, {"chebyshev": 6, "gsrb": 6, "jacobi": 6}, 1, 1, 0.5),
    "fv4": Operator(2, 2, 2, {"chebyshev": 6, "gsrb": 6, "jacobi": 6}, 1, 2, 1.5),
}
SMOOTHERS = ("chebyshev", "gsrb", "jacobi")


@dataclass(frozen=True)
class Method:
    """How the equation is solved."""

    operator: str = "7pt"
    smoother: str = "chebyshev"
    pairs: bool = True
    """two Chebyshev steps for one exchange of a halo two cells deep, where boxes have 16 cells a side or more"""

    @property
    def traits(self) -> Operator:
        """What the discretisation makes of the cycle."""
        return OPERATORS[self.operator]

    def by_pairs(self, side: int) -> bool:
        """Whether boxes of so many cells a side take two Chebyshev steps for one exchange."""
        wanted = self.pairs and self.smoother == "chebyshev" and self.operator != "fv4"
        return wanted and side >= SMALLEST_BOX_FOR_PAIRS

    def ghost(self, side: int) -> int:
        """Depth of the halo of boxes of so many cells a side."""
        return min(2 if self.by_pairs(side) else self.traits.depth, side)


@dataclass(frozen=True)
class Grid:
    """A cube of along^3 boxes of side^3 cells, dealt to ranks along a curve; `box_layout` of the C++ library."""

    along: int
    side: int
    ranks: int
    order: str
    owner: Integers
    """[k, j, i]"""

    @classmethod
    def dealt(cls, along: int, side: int, ranks: int, order: str) -> Grid:
        """Boxes dealt along the curve `order`. UserError for another than ORDERS."""
        if order not in ORDERS:
            raise UserError(f"study scale: order '{order}'; allowed: {', '.join(ORDERS)}")
        boxes = along**3
        k, j, i = np.meshgrid(*(np.arange(along),) * 3, indexing="ij")
        key = i + along * (j + along * k) if order == "lexicographic" else _interleaved(i, j, k)
        position = np.empty(boxes, dtype=np.int64)
        position[np.argsort(key.ravel(), kind="stable")] = np.arange(boxes)
        owner = (ranks * position // boxes).reshape((along,) * 3)
        return cls(along, side, ranks, order, owner)

    @property
    def cells_of_ranks(self) -> Integers:
        """Cells that each rank has."""
        return np.bincount(self.owner.ravel(), minlength=self.ranks) * self.side**3


def _interleaved(i: Integers, j: Integers, k: Integers) -> Integers:
    key = np.zeros_like(i)
    for bit in range(21):
        for d, place in enumerate((i, j, k)):
            key |= ((place >> bit) & 1) << (3 * bit + d)
    return key


def hierarchy(along: int, side: int, ranks: int, order: str, method: Method) -> list[Grid]:
    """The finest first: boxes are halved while larger than 8; then 8 become one while there are; then halved again."""
    levels = [Grid.dealt(along, side, ranks, order)]
    while along * side > method.traits.coarsest and side % 2 == 0:
        if side < SMALLEST_BOX_TO_HALVE and along % 2 == 0:
            along //= 2
        elif side // 2 >= method.traits.depth:
            side //= 2
        else:
            break
        levels.append(Grid.dealt(along, side, ranks, order))
    return levels


@dataclass(frozen=True)
class Flows:
    """What goes between ranks in one phase, a line for each pair of ranks that have something to say to each other."""

    source: Integers
    target: Integers
    copies: Integers
    """parts of boxes, each a strided copy"""
    rows: Integers
    """contiguous pieces, each a copy of its own where there are no strided ones"""
    bytes: Integers
    messages: Integers
    """what the strided copies come to off the node"""

    @classmethod
    def none(cls) -> Flows:
        """Nothing between anybody."""
        return cls(*(np.zeros(0, dtype=np.int64) for _ in range(6)))

    @cached_property
    def beside(self) -> tuple[Integers, Integers]:
        """Every rank with every other that it gives or takes something, both ways."""
        ranks = 1 + int(max(self.source.max(initial=0), self.target.max(initial=0)))
        pairs = np.unique(np.concatenate([self.source * ranks + self.target, self.target * ranks + self.source]))
        here, there = pairs // ranks, pairs % ranks
        return here[here != there], there[here != there]

    @classmethod
    def of(cls, parts: list[tuple[Integers, Integers, tuple[int, int, int]]], ranks: int) -> Flows:
        """parts: sources, targets, and the extents along i, j, k that each of them has."""
        if not parts:
            return cls.none()
        pairs = np.concatenate([source * ranks + target for source, target, _ in parts])
        columns = []
        for source, _, (i, j, k) in parts:
            cells = i * j * k
            columns.append(np.tile([1, j * k, cells * CELL_BYTES, -(-cells // MESSAGE_CELLS)], (len(source), 1)))
        values = np.concatenate(columns)
        found, line = np.unique(pairs, return_inverse=True)
        sums = [np.bincount(line, weights=values[:, c], minlength=len(found)).astype(np.int64) for c in range(4)]
        return cls(found // ranks, found % ranks, *sums)

    def between(self, kept: NDArray[np.bool_]) -> Flows:
        """The lines that are kept."""
        return Flows(*(getattr(self, name)[kept] for name in self.__dataclass_fields__))


@dataclass(frozen=True)
class Phase:
    """A step of the cycle in which ranks give each other something, so many times in an F-cycle."""

    what: str
    """exchange, gather, spread"""
    part: str
    """smoothing, residual, restriction, prolongation"""
    level: int
    times: int
    flows: Flows
    waits: Waits
    """When a rank waits for the others: before and after, or after alone (halos that are known to be free, spread)."""


def exchange(grid: Grid, most_off: int, depth: int) -> Flows:
    """Every box gives its neighbours the cells that lie in their halos."""
    parts = []
    for side in itertools.product((-1, 0, 1), repeat=3):  # along i, j, k
        if not 1 <= sum(map(abs, side)) <= most_off:
            continue
        here = tuple(slice(max(0, -d), grid.along - max(0, d)) for d in reversed(side))
        there = tuple(slice(max(0, d), grid.along - max(0, -d)) for d in reversed(side))
        along_i, along_j, along_k = (depth if d else grid.side for d in side)
        parts.append((grid.owner[here].ravel(), grid.owner[there].ravel(), (along_i, along_j, along_k)))
    return Flows.of(parts, grid.ranks)


def _between_levels(fine: Grid, coarse: Grid, reach: int, down: bool) -> Flows:
    if fine.along == coarse.along:
        return Flows.none()
    of_coarse = np.kron(coarse.owner, np.ones((2, 2, 2), dtype=np.int64)).ravel()
    ends = (fine.owner.ravel(), of_coarse) if down else (of_coarse, fine.owner.ravel())
    return Flows.of([(*ends, (fine.side // 2 + 2 * reach,) * 3)], fine.ranks)


def gather(fine: Grid, coarse: Grid) -> Flows:
    """Octants from fine boxes' owners to coarse ones'; nothing where the boxes are as many."""
    return _between_levels(fine, coarse, 0, down=True)


def spread(fine: Grid, coarse: Grid, reach: int) -> Flows:
    """The way back, with ghosts."""
    return _between_levels(fine, coarse, reach, down=False)


def phases(levels: list[Grid], method: Method) -> Iterator[Phase]:
    """All phases of one F-cycle but the bottom's: level l is visited l + 1 times by V-cycles, and prolonged to once more."""
    traits = method.traits
    for number, grid in enumerate(levels[:-1]):
        visits, coarse = number + 1, levels[number + 1]
        depth = min(traits.depth, grid.side)
        plain = exchange(grid, traits.most_off, depth)
        sweeps = traits.sweeps[method.smoother]
        if method.by_pairs(grid.side):
            yield Phase("exchange", "smoothing", number, visits, plain, "both")  # of f, in the first smoothing only
            two_deep = exchange(grid, 2, 2)
            # before and after: 2 x half
            yield Phase("exchange", "smoothing", number, visits * sweeps, two_deep, "both")
        else:
            yield Phase("exchange", "smoothing", number, 2 * visits, plain, "both")
            yield Phase("exchange", "smoothing", number, 2 * visits * (sweeps - 1), plain, "last")
        yield Phase("exchange", "residual", number, visits, plain, "both")
        down = gather(grid, coarse)
        if len(down.source):
            yield Phase("gather", "restriction", number, visits + 1, down, "both")  # once for f
        for reach, times in ((traits.reach_in_v, visits), (traits.reach_in_f, 1)):
            if reach:
                halo = exchange(coarse, 3, method.ghost(coarse.side))
                yield Phase("exchange", "prolongation", number, times, halo, "both")
            if len(down.source):
                yield Phase("spread", "prolongation", number, times, spread(grid, coarse, reach), "last")


def reductions(levels: list[Grid], method: Method) -> int:
    """Reductions of one F-cycle, a barrier and an allreduce each.

    Every V-cycle has a bottom, and so has the start; none where one rank alone has it.
    """
    if len(np.unique(levels[-1].owner)) == 1:
        return 0
    whole = int(method.traits.bottom_steps)
    half_at_the_end = method.traits.bottom_steps > whole
    of_one = 2 + 6 * whole + (2 if half_at_the_end else 0)
    return of_one * len(levels)
