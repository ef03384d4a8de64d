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

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Findings", "check_boxes", "examine", "grids_of"]

UNKNOWNS_PER_S = {"7pt": 25e6, "fv2": 18e6, "fv4": 12e6}
"""Unknowns per second of one thread in an F-cycle: an order of magnitude where nobody has measured (docs/multigrid.md)."""
CYCLES = 10
"""F-cycles whose work a solve to 1e-8 takes, about."""
VECTORS, DEPTH, COARSEST = 7, {"7pt": 1, "fv2": 1, "fv4": 2}, {"7pt": 1, "fv2": 1, "fv4": 2}
"""Fields of a level (level.hpp); ghost layers; cells where cycles end."""
FEW_CELLS = 1000
"""Cells of an odd grid that is solved as it is, as in coarsening.cpp."""


@dataclass(frozen=True)
class Findings:
    """What a solve will be."""

    cells: tuple[int, int, int]
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
        operator=operator,
        box=box,
        boxes=boxes,
        ranks=count,
        threads=config.run.threads,
        most_boxes_of_rank=most,
        grids=tuple(grids_of(cells, operator, _is_singular(problem))),
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


def grids_of(cells: tuple[int, int, int], operator: str, singular: bool) -> list[tuple[int, int, int]]:
    """Cells of each level, the finest first: half as many along each dimension, rounded up. Small odd grids are solved as they are.

    singular: constants are free, so that the coarsest grid has more than one cell.
    """
    coarsest = max(COARSEST[operator], 2 if singular else 1)
    found = [cells]
    while min(found[-1]) > coarsest:
        x, y, z = found[-1]
        if x * y * z <= FEW_CELLS and (x % 2 or y % 2 or z % 2):
            break
        found.append(((x + 1) // 2, (y + 1) // 2, (z + 1) // 2))
    return found


def _is_singular(problem: Problem | BuiltInProblem) -> bool:
    has_alpha = isinstance(problem, Problem) and problem.has_alpha
    a = (1.0 if has_alpha else 0.0) if problem.a is None else problem.a
    flat = [end for side in problem.boundary for end in ((side,) if isinstance(side, str) else side)]
    return a == 0 and "dirichlet" not in flat


def _times(cells: tuple[int, int, int]) -> str:
    return " x ".join(map(str, cells))
