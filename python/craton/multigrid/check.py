"""`craton multigrid check CONFIG`: grids, boxes, memory and time of a solve; nothing is computed."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any

from craton import _craton
from craton.cli.output import facts_table
from craton.errors import UserError
from craton.multigrid.built_in import BuiltInProblem, problem_of
from craton.multigrid.config import Config
from craton.multigrid.files import Problem
from craton.runs.words import counted, duration, size_text
from craton.solvers.multigrid.boundary import sides
from craton.solvers.multigrid.values import spacing_of

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Findings", "check_boxes", "examine", "grids_of"]

UNKNOWNS_PER_S = {"7pt": 25e6, "fv2": 18e6, "fv4": 12e6}
"""Unknowns per second of one thread in an F-cycle: an order of magnitude where nobody has measured (docs/multigrid.md)."""
CYCLES = 10
"""F-cycles whose work a solve to 1e-8 takes, about."""
VECTORS, DEPTH, COARSEST = 7, {"7pt": 1, "fv2": 1, "fv4": 2}, {"7pt": 1, "fv2": 1, "fv4": 2}
"""Fields of a level (level.hpp); ghost layers; cells where cycles end."""
FEW_CELLS, SHORT_ENOUGH = 1000, 32
"""Cells of an odd grid that is solved as it is, and along each of its dimensions, as in coarsening.cpp."""


@dataclass(frozen=True)
class Findings:
    """What a solve will be."""

    cells: tuple[int, int, int]
    spacing: tuple[float, float, float]
    """Sides of a cell."""
    operator: str
    box: int
    boxes: int
    ranks: int
    threads: int
    most_boxes_of_rank: int
    grids: tuple[tuple[int, int, int], ...]
    """Cells of each level, the finest first."""
    memory_of_rank: int
    """Bytes of the rank with most boxes."""
    unknowns_per_s: float
    """Unknowns per second of all ranks together, in an F-cycle."""
    measured: bool
    """Whether somebody gave unknowns_per_s."""
    time_s: float
    """Seconds of a solve to 1e-8, about."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def table(self) -> Table:
        """A table for a console."""
        speed = "as told" if self.measured else "assumed: --unknowns-per-s has what a run has told"
        about = "about " if any(n % self.box for n in self.cells) else ""
        rows = (
            ("grid", f"{_times(self.cells)} = {math.prod(self.cells):,} cells, {self.operator}"),
            ("sides of a cell", " x ".join(f"{h:.4g}" for h in self.spacing)),
            ("boxes", f"{self.boxes:,} of {about}{self.box}^3 cells, at most {self.most_boxes_of_rank:,} on a rank"),
            ("levels", f"{len(self.grids)}: {', '.join(_times(grid) for grid in self.grids)}"),
            ("ranks", f"{self.ranks} of {counted(self.threads, 'thread')}"),
            ("memory", f"about {size_text(self.memory_of_rank)} per rank"),
            ("time", f"about {duration(self.time_s)} at {self.unknowns_per_s / 1e6:.3g} M unknowns/s ({speed})"),
        )
        return facts_table(rows)


def examine(config: Config, ranks: int = 0, unknowns_per_s: float | None = None) -> Findings:
    """What `run` would do on so many ranks; 0: as the configuration says. Not collective. UserError for what `run` refuses."""
    problem = problem_of(config)
    count = ranks or config.run.ranks or 1
    check_boxes(config, problem, count)
    operator = config.solver.operator or problem.operator
    box, cells = config.grid.box, problem.cells
    cuts = _craton.box_cuts(cells, box)
    boxes = math.prod(len(along) - 1 for along in cuts)
    longest = [max(high - low for low, high in pairwise(along)) for along in cuts]
    most = -(-boxes // count)
    padded = math.prod(side + 2 * max(DEPTH[operator], 2) for side in longest)
    memory = round(
        8 / 7 * most * padded * 8 * (VECTORS + 1) + 3 * 8 * most * math.prod(longest)
    )  # coarser grids; f and u in Python
    speed = unknowns_per_s or UNKNOWNS_PER_S[operator] * count * config.run.threads
    return Findings(
        cells=cells,
        spacing=spacing_of(problem.spacing, cells),
        operator=operator,
        box=box,
        boxes=boxes,
        ranks=count,
        threads=config.run.threads,
        most_boxes_of_rank=most,
        grids=tuple(grids_of(cells, operator, _is_singular(problem), problem.spacing, sides(problem.boundary).flat)),
        memory_of_rank=memory,
        unknowns_per_s=speed,
        measured=unknowns_per_s is not None,
        time_s=CYCLES * math.prod(cells) / speed,
    )


def check_boxes(config: Config, problem: Problem | BuiltInProblem, ranks: int) -> None:
    """UserError for fewer boxes than ranks. Not collective."""
    boxes = math.prod(len(along) - 1 for along in _craton.box_cuts(problem.cells, config.grid.box))
    if boxes < ranks:
        raise UserError(f"multigrid: boxes = {boxes} on {ranks} ranks; allowed: at least one box per rank")


def grids_of(
    cells: tuple[int, int, int],
    operator: str,
    singular: bool,
    spacing: tuple[float, float, float] | None = None,
    flat: tuple[bool, bool, bool] = (False, False, False),
) -> list[tuple[int, int, int]]:
    """Cells of each level, the finest first: half as many, rounded up, along the dimensions in which cells are shortest.

    Small odd grids are solved as they are, and so are small ones that have no cells to spare along some dimension (coarsening.cpp).
    singular: constants are free, so that the coarsest grid has more than one cell. flat: dimensions of which no side fixes u.
    """
    found, lengths = [cells], list(spacing or (1.0, 1.0, 1.0))
    while True:
        last = found[-1]
        small = math.prod(last) <= FEW_CELLS and max(last) <= SHORT_ENOUGH
        coarsest = max(COARSEST[operator], 2 if singular and small else 1)
        may_be = [n > coarsest for n in last]
        counts = [may or (free and n > 1) for may, free, n in zip(may_be, flat, last, strict=True)]
        if small and (not all(may_be) or any(n % 2 for n in last)):
            return found
        shortest = min((h for h, does in zip(lengths, counts, strict=True) if does), default=math.inf)
        halved = [may and h < math.sqrt(2) * shortest for h, may in zip(lengths, may_be, strict=True)]
        if not any(halved):
            return found
        x, y, z = ((n + 1) // 2 if half else n for n, half in zip(last, halved, strict=True))
        found.append((x, y, z))
        lengths = [h * (2 if half else 1) for h, half in zip(lengths, halved, strict=True)]


def _is_singular(problem: Problem | BuiltInProblem) -> bool:
    has_alpha = isinstance(problem, Problem) and problem.has_alpha
    a = (1.0 if has_alpha else 0.0) if problem.a is None else problem.a
    return a == 0 and all(sides(problem.boundary).flat)


def _times(cells: tuple[int, int, int]) -> str:
    return " x ".join(map(str, cells))
