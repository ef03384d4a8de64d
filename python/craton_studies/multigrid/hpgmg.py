"""The report of `craton study hpgmg`: the test problems of HPGMG-FV, their figures and the speed on this machine."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import craton
from craton import _craton
from craton.errors import UserError

from craton_studies.multigrid.timing import seconds

if TYPE_CHECKING:
    from mpi4py import MPI

LARGEST_LOG2_BOX = 9


@dataclass(frozen=True)
class Figures:
    """What one run has measured."""

    cells: int
    """along each dimension"""
    levels: list[tuple[int, tuple[int, int, int], int]]
    """side of a box, boxes along each dimension, ranks that have some; the finest first"""
    relative_residual: float
    error: float
    order: float
    seconds: list[list[float]]
    """of the repeats of an F-cycle at h, 2h and 4h"""
    phases: list[dict[str, float]]
    """seconds of an F-cycle at h by phase, per level, the finest first; each of the rank that spent most"""


def boxes_along(boxes_per_rank: int, ranks: int) -> int:
    """Boxes along each dimension of the largest cube of so many in all."""
    along = 1
    while (along + 1) ** 3 <= boxes_per_rank * ranks:
        along += 1
    return along


def check(log2_box: int, boxes_per_rank: int, ranks: int) -> int:
    """Boxes along each dimension of the grid; UserError for what cannot be run."""
    if not 2 <= log2_box <= LARGEST_LOG2_BOX:
        raise UserError(
            f"study hpgmg: LOG2_BOX = {log2_box}; allowed: 2 to {LARGEST_LOG2_BOX} (boxes of 4 to 512 cells a side)"
        )
    along = boxes_along(boxes_per_rank, ranks)
    if along**3 < ranks:
        raise UserError(
            f"study hpgmg: BOXES_PER_RANK = {boxes_per_rank} on {ranks} ranks makes a cube of {along}^3 boxes, less than one per "
            "rank; allowed: more boxes per rank, or another number of ranks"
        )
    if along << log2_box < 16:
        raise UserError(
            f"study hpgmg: a grid of {along << log2_box}^3 cells; allowed: at least 16^3, for an error estimate"
        )
    return along


def run(
    comm: MPI.Comm,
    log2_box: int,
    boxes_per_rank: int,
    *,
    operator: str = "fv4",
    smoother: str = "gsrb",
    a: float = 0.0,
    order: str = "morton",
    repeats: int = 5,
    ranks_per_node: int = 0,
    threads: int = 1,
) -> Figures:
    """F-cycles of HPGMG-FV's test problem on a cube of boxes of 2^log2_box cells a side, at most boxes_per_rank per rank.

    Collective. a: of a u - div(beta grad u) = f. UserError for a grid that cannot be made, or names that there are not.
    """
    along = check(log2_box, boxes_per_rank, comm.size)
    world = craton.World(comm, ranks_per_node)
    names = (order, operator, smoother)
    solver = _craton.MultigridSolver(world, (along,) * 3, 1 << log2_box, *names, a, 1.0, threads=threads)
    times: list[list[float]] = []
    for level in range(3):
        solver.f_cycle(level)
        times.append(seconds(world, solver, repeats, level))
    # in cycles of their own: looking at the clock is not free
    solver.record_times()
    for _ in range(repeats):
        solver.f_cycle()
    phases = [{name: spent / repeats for name, spent in level} for level in solver.longest_times()]
    solver.record_times(False)
    residual = solver.relative_residual()
    error, order_seen = solver.richardson()
    return Figures(along << log2_box, solver.levels, residual, error, order_seen, times, phases)


def report(figures: Figures, operator: str, smoother: str, ranks: int) -> str:
    """As people read it."""
    n = figures.cells
    lines = [
        f"{operator} {smoother}: {n}^3 cells on {ranks} rank{'s' if ranks > 1 else ''}",
        "",
        "  level    cells  box side       boxes  ranks",
    ]
    for number, (side, boxes, busy) in enumerate(figures.levels):
        lines.append(f"  {number:5}  {side * boxes[0]:5}^3  {side:8}  {' x '.join(map(str, boxes)):>10}  {busy:5}")
    lines += [
        "",
        f"  relative residual after an F-cycle   {figures.relative_residual:.6g}",
        f"  Richardson error estimate            {figures.error:.6g}",
        f"  order                                {figures.order:.4f}",
        "",
        "  F-cycle at      cells   mean (s)   best (s)   M DOF/s, mean   best",
    ]
    for name, scale, times in zip(("h", "2h", "4h"), (1, 2, 4), figures.seconds, strict=True):
        unknowns = (n // scale) ** 3 * 1e-6
        mean, best = sum(times) / len(times), min(times)
        lines.append(
            f"  {name:10} {n // scale:8}^3 {mean:10.4f} {best:10.4f} {unknowns / mean:15.3f} {unknowns / best:6.3f}"
        )
    return "\n".join([*lines, "", *phase_table(figures.phases)])


def phase_table(phases: list[dict[str, float]]) -> list[str]:
    """Rows phases, columns levels, with sums of both."""
    names = list(phases[0])
    columns = [str(number) for number in range(len(phases))]
    rows = {name: [level[name] for level in phases] for name in names}
    rows["all"] = [sum(level.values()) for level in phases]
    lines = [
        "  seconds of an F-cycle at h, by level (each of the slowest rank)",
        f"  {'':15}" + "".join(f"{name:>10}" for name in [*columns, "all"]),
    ]
    for name, values in rows.items():
        cells = "".join(f"{value:10.6f}" for value in [*values, sum(values)])
        lines.append(f"  {name:15}{cells}")
    return lines
