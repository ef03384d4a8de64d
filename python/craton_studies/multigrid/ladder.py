"""The ladder of Shan et al. (2015), figure 6: how halos are exchanged, from the simplest way to the quickest, and packed."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from craton.errors import UserError
from craton.pages.figures import save_picture

from craton_studies.multigrid.hpgmg import LARGEST_LOG2_BOX
from craton_studies.multigrid.timing import Contender, rates_in_turn

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class Rung:
    """A way to exchange halos."""

    name: str
    exchange: str
    """Its name in the solver."""
    shared_memory: bool
    adds: str
    """What it adds to the rung below."""


RUNGS = (
    Rung("baseline", "small-copies", False, "a copy per contiguous piece, by messages even on a node; barriers"),
    Rung("+ shared memory", "small-copies", True, "pieces for ranks of the same node are stored to their memory"),
    Rung("+ local loops", "local-loops", True, "one loop per halo there, not a call per piece"),
    Rung("+ strided", "strided", True, "one strided copy per halo off the node too"),
    Rung("+ neighbour sync", "neighbours", True, "waits for the ranks beside it, not for all"),
    Rung("+ one wait", "one-wait", True, "copies notify their target; one wait per exchange (double buffering)"),
    Rung("bulk", "bulk", True, "packed by hand, a buffer per neighbour: the comparison"),
)
NATURAL = RUNGS[-2].name
BULK = RUNGS[-1].name
LARGEST_LOG2_CELLS = 11
WITHIN = 0.97
"""What the last natural rung must reach of packed buffers."""


@dataclass(frozen=True)
class Column:
    """All rungs on so many ranks, as nodes of so many."""

    ranks: int
    ranks_per_node: int
    rates: dict[str, list[float]]

    @property
    def title(self) -> str:
        """Ranks, and virtual nodes."""
        if self.ranks_per_node:
            return f"{-(-self.ranks // self.ranks_per_node)} virtual nodes, {self.ranks} ranks"
        return f"{self.ranks} ranks"

    def best(self, rung: str) -> float:
        """Million unknowns per second."""
        return max(self.rates[rung])

    def median(self, rung: str) -> float:
        """Million unknowns per second."""
        return statistics.median(self.rates[rung])


def places(size: int, ranks_per_node: int) -> list[tuple[int, int]]:
    """(ranks, ranks per node) of the columns for a job of `size`: 2, 4, 8 ... ranks on their node, and as virtual nodes."""
    sizes = [2**e for e in range(1, size.bit_length()) if 2**e < size] + [size]
    nodes = [ranks_per_node] if ranks_per_node else [0, 1]
    return [(ranks, per) for per in nodes for ranks in sizes]


def check(log2_box: int, log2_cells: int) -> None:
    """UserError for a grid that cannot be, whatever the number of ranks."""
    if not 2 <= log2_box <= LARGEST_LOG2_BOX:
        raise UserError(
            f"study ladder: LOG2_BOX = {log2_box}; allowed: 2 to {LARGEST_LOG2_BOX} (boxes of 4 to 512 cells a side)"
        )
    if not log2_box <= log2_cells <= LARGEST_LOG2_CELLS:
        raise UserError(
            f"study ladder: LOG2_CELLS = {log2_cells} with LOG2_BOX = {log2_box}; allowed: {log2_box} to {LARGEST_LOG2_CELLS}"
        )


def climb(
    comm: MPI.Comm,
    cells: int,
    box: int,
    *,
    operator: str = "7pt",
    smoother: str = "chebyshev",
    order: str = "morton",
    repeats: int = 5,
    cycles: int = 4,
    ranks_per_node: int = 0,
    say: Callable[[str], None] = lambda _text: None,
) -> list[Column]:
    """Runs all rungs in turn in each of `repeats` rounds, `cycles` F-cycles each. Collective. UserError for an impossible grid."""
    if box < 4 or cells % box or (cells // box) ** 3 < comm.size:
        raise UserError(
            f"study ladder: {cells}^3 cells in boxes of {box}^3 on {comm.size} ranks; allowed: a multiple of boxes of at least "
            "4 cells a side, at least one per rank"
        )
    if comm.size < 2:
        raise UserError("study ladder: 1 rank; allowed: at least 2, since one has nobody to exchange with (--ranks 2)")
    columns = []
    for ranks, per_node in places(comm.size, ranks_per_node):
        contenders = [
            Contender(rung.name, ranks, exchange=rung.exchange, ranks_per_node=per_node if rung.shared_memory else 1)
            for rung in RUNGS
        ]
        column = Column(ranks, per_node, {})
        say(f"{column.title} ...")
        found = rates_in_turn(comm, contenders, operator, smoother, cells, box, repeats, cycles, order=order)
        column.rates.update(found.rates)
        columns.append(column)
    return columns


def table(columns: list[Column], title: str) -> Any:
    """For people: best and median of each rung, and the bests over packed buffers'."""
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    made = Table(title=title, title_justify="left", box=SIMPLE_HEAD)
    made.add_column("M DOF/s: best (median), best / bulk's", no_wrap=True)
    for column in columns:
        made.add_column(column.title, justify="right", no_wrap=True)
    for rung in RUNGS:
        cells = [
            f"{column.best(rung.name):.1f} ({column.median(rung.name):.1f}) {column.best(rung.name) / column.best(BULK):.2f}"
            for column in columns
        ]
        made.add_row(rung.name, *cells)
    return made


def to_dict(columns: list[Column], what: dict[str, Any]) -> dict[str, Any]:
    """What JSON has: `what` was measured, the rungs, and millions of unknowns per second by column."""
    records = [
        {"ranks": column.ranks, "ranks_per_node": column.ranks_per_node, "million_unknowns_per_s": column.rates}
        for column in columns
    ]
    return {**what, "rungs": [vars(rung) for rung in RUNGS], "columns": records}


def draw(path: Path, columns: list[Column], title: str) -> None:
    """Figure 6: unknowns per second against the number of ranks, a line per rung; on a node and between nodes side by side."""
    from matplotlib.figure import Figure

    kinds = sorted({column.ranks_per_node for column in columns})
    figure = Figure(figsize=(5.5 * len(kinds), 4.5), layout="constrained")
    for axes, per_node in zip(figure.subplots(1, len(kinds), squeeze=False, sharey=True)[0], kinds, strict=True):
        shown = [column for column in columns if column.ranks_per_node == per_node]
        for rung in RUNGS:
            style = {"color": "black", "linestyle": "--"} if rung.name == BULK else {"linestyle": "-"}
            ranks = [column.ranks for column in shown]
            axes.plot(ranks, [column.best(rung.name) for column in shown], marker="o", label=rung.name, **style)
        axes.set_xscale("log", base=2)
        axes.set_xticks([column.ranks for column in shown], [str(column.ranks) for column in shown])
        axes.set_xlabel("ranks" if per_node == 0 else f"ranks, {per_node} per virtual node")
        axes.set_title("one node" if per_node == 0 else "virtual nodes")
        axes.grid(alpha=0.3)
        axes.set_ylim(bottom=0)
    figure.axes[0].set_ylabel("million unknowns per second, best")
    figure.axes[0].legend(fontsize=8)
    figure.suptitle(title)
    save_picture(figure, path)
