"""The scaling model beside a real run: the same layout, the same machine, now."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import craton
from craton import _craton
from craton._launch import usable_cores

from craton_studies.multigrid.scaling_layout import Method
from craton_studies.multigrid.scaling_machine import measured_seconds_per_cell, this_machine
from craton_studies.multigrid.scaling_model import Counted, Cycle, cycle
from craton_studies.multigrid.timing import seconds

if TYPE_CHECKING:
    from mpi4py import MPI


STEPS = {
    "shared memory": "small-copies",
    "local loops": "local-loops",
    "strided": "strided",
    "neighbours": "neighbours",
    "one wait": "one-wait",
    "bulk": "bulk",
}
"""What the library calls the model's rungs."""


@dataclass(frozen=True)
class Measured:
    """F-cycles on one rung, predicted and measured."""

    predicted: Cycle
    messages_predicted: list[int]
    """of each rank: with values, acknowledgements, signals"""
    messages: list[int]
    """as the runtime counted them"""
    seconds: list[float]


@dataclass(frozen=True)
class Check:
    """F-cycles on every rung of the ladder."""

    cells: int
    """along each dimension"""
    ranks: int
    nodes: int
    rungs: dict[str, Measured]


def run(
    comm: MPI.Comm,
    method: Method,
    side: int,
    order: str,
    ranks_per_node: int = 0,
    rounds: int = 12,
    network: Path | None = None,
) -> Check:
    """F-cycles on the smallest cube of 1, 8, 64 ... boxes of side^3 cells that gives every rank one. Collective.

    Rungs take turns. Computing is measured on all ranks at once, which share this machine's memory as in the run; more ranks than
    cores take turns.
    """
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
    of_node = ranks_per_node or comm.size
    machine = this_machine(method, mean, source, network)
    machine = machine.with_figures(ranks_per_node=of_node, ranks_per_socket=of_node)
    counted = Counted.of(along, side, comm.size, order, method)

    world = craton.World(comm, ranks_per_node)
    names = (method.operator, method.smoother, 0.0, 1.0)
    solvers = {
        rung: _craton.MultigridSolver(world, (along,) * 3, side, order, *names, exchange=step)
        for rung, step in STEPS.items()
    }
    messages = {}
    for rung, solver in solvers.items():
        solver.f_cycle()
        world.quiesce()
        before = world.stats()["messages_sent"]
        solver.f_cycle()
        world.quiesce()
        messages[rung] = comm.allgather(world.stats()["messages_sent"] - before)
    times: dict[str, list[float]] = {rung: [] for rung in solvers}
    for _ in range(rounds):
        for rung, solver in solvers.items():
            times[rung] += seconds(world, solver, 4)
    found = {}
    for rung in solvers:
        one = cycle(machine, counted, rung)
        t = one.total
        counts = [int(n) for n in t.messages + t.acknowledgements + t.signals]
        found[rung] = Measured(one, counts, messages[rung], times[rung])
    return Check(along * side, comm.size, -(-comm.size // of_node), found)


def report(check: Check, method: Method) -> str:
    """As people read it."""
    lines = [
        f"{method.operator} {method.smoother}: {check.cells}^3 cells on {check.ranks} ranks, {check.nodes} nodes",
        "",
        "  an F-cycle, ms    model  communication  measured: best  median  model / best  messages of each rank: model; counted",
    ]
    for rung, one in check.rungs.items():
        model, best, median = one.predicted.seconds, min(one.seconds), statistics.median(one.seconds)
        counts = "; ".join(" ".join(map(str, each)) for each in (one.messages_predicted, one.messages))
        lines.append(
            f"  {rung:14} {model * 1e3:8.3f} {one.predicted.share:14.1%} {best * 1e3:15.3f} {median * 1e3:7.3f}"
            f" {model / best:13.2f}  {counts}"
        )
    return "\n".join(lines)
