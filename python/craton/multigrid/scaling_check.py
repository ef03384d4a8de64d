"""The scaling model beside a real run: the same layout, the same machine, now."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import craton
from craton import _craton
from craton._launch import usable_cores
from craton.multigrid.scaling_layout import Method
from craton.multigrid.scaling_machine import measured_seconds_per_cell, this_machine
from craton.multigrid.scaling_model import Counted, Cycle, cycle

if TYPE_CHECKING:
    from mpi4py import MPI


@dataclass(frozen=True)
class Check:
    """One F-cycle, predicted and measured."""

    cells: int
    """along each dimension"""
    ranks: int
    ranks_per_node: int
    predicted: Cycle
    messages_predicted: list[int]
    """of each rank: with values, acknowledgements, signals"""
    seconds: list[float]
    messages: list[int]
    """as the runtime counted them"""


def run(
    comm: MPI.Comm,
    method: Method,
    side: int,
    order: str,
    ranks_per_node: int = 0,
    spend_s: float = 2.0,
    network: Path | None = None,
) -> Check:
    """Collective: F-cycles on the smallest cube of 1, 8, 64 ... boxes of side^3 cells that gives every rank one. Computing is
    measured on all ranks at once, which share this machine's memory as in the run; more ranks than cores take turns."""
    along = 1
    while along**3 < comm.size:
        along *= 2
    whole = round((along**3 / comm.size) ** (1 / 3) * side)
    table_side = 1 << max(whole - 1, 1).bit_length()
    comm.Barrier()
    per_cell, source = measured_seconds_per_cell(method, table_side)
    tables = comm.allgather(per_cell)
    turns = max(1.0, comm.size / usable_cores())
    mean = {n: turns * statistics.fmean(table[n] for table in tables) for n in per_cell}
    machine = this_machine(method, mean, source, network)
    of_node = ranks_per_node or comm.size
    machine = machine.with_figures(ranks_per_node=of_node, ranks_per_socket=of_node)
    predicted = cycle(machine, Counted.of(along, side, comm.size, order, method), "one wait")

    world = craton.World(comm, ranks_per_node)
    solver = _craton.MultigridSolver(world, (along,) * 3, side, order, method.operator, method.smoother, 0.0, 1.0)
    solver.f_cycle()
    world.quiesce()
    before = world.stats()["messages_sent"]
    solver.f_cycle()
    world.quiesce()
    messages = comm.allgather(world.stats()["messages_sent"] - before)
    seconds: list[float] = []
    while comm.bcast(len(seconds) < 5 or sum(seconds) < spend_s):
        world.barrier()
        begun = time.perf_counter()
        solver.f_cycle()
        world.barrier()
        seconds.append(time.perf_counter() - begun)
    t = predicted.total
    counts = [int(n) for n in t.messages + t.acknowledgements + t.signals]
    return Check(along * side, comm.size, of_node, predicted, counts, comm.bcast(seconds), messages)


def report(check: Check, method: Method) -> str:
    """As people read it."""
    one, best, median = check.predicted, min(check.seconds), statistics.median(check.seconds)
    nodes = -(-check.ranks // check.ranks_per_node)
    return "\n".join(
        [
            f"{method.operator} {method.smoother}: {check.cells}^3 cells on {check.ranks} ranks, {nodes} nodes",
            f"  seconds of an F-cycle by model       {one.seconds:.5f} (communication {one.share:.1%})",
            f"  measured, best and median            {best:.5f} {median:.5f}",
            f"  model / measured                     {one.seconds / best:.2f} {one.seconds / median:.2f}",
            f"  messages of each rank by model       {' '.join(map(str, check.messages_predicted))}",
            f"  counted by the runtime               {' '.join(map(str, check.messages))}",
        ]
    )
