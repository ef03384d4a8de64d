"""F-cycles of several solvers in turn, so that what else the machine does meets all of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import craton
from craton import _craton

if TYPE_CHECKING:
    from mpi4py import MPI

SECONDS_BETWEEN_LOOKS = 0.01
"""Between two looks of a rank that waits: more often would take a noticeable part of a processor from those that work."""


@dataclass(frozen=True)
class Contender:
    """A way to solve: on the first `ranks` of the job, by `threads` each."""

    name: str
    ranks: int
    threads: int = 1
    exchange: str = "one-wait"
    ranks_per_node: int | None = None
    """None: as the others"""


@dataclass
class Rates:
    """Million unknowns of the finest grid per second, per contender and F-cycle; the triad's GB/s, one per repeat. On rank 0."""

    rates: dict[str, list[float]] = field(default_factory=dict)
    triad_gb_s: list[float] = field(default_factory=list)
    peers: dict[str, list[float]] = field(default_factory=dict)
    """Of other solvers, one rate per repeat."""
    residual: float = 0.0
    """Relative residual that an F-cycle leaves."""


def rates_in_turn(
    comm: MPI.Comm,
    contenders: Sequence[Contender],
    operator: str,
    smoother: str,
    cells: int,
    box: int,
    repeats: int,
    cycles: int,
    ranks_per_node: int = 0,
    *,
    order: str = "morton",
    triad_threads: int = 0,
    peers: Mapping[str, Callable[[float], float]] | None = None,
) -> Rates:
    """Runs `cycles` F-cycles of each contender in each of `repeats` rounds, after one that warms up. Collective.

    Every contender's relative residual must be the first's, bit for bit. peers: million unknowns per second of other solvers, to
    the same relative residual; collective. UserError for what the solver refuses.
    """
    along = cells // box
    teams = {size: comm.Split(0 if comm.rank < size else 1) for size in sorted({each.ranks for each in contenders})}
    solvers: list[Any] = []
    for each in contenders:
        solver = None
        if comm.rank < each.ranks:
            nodes = ranks_per_node if each.ranks_per_node is None else each.ranks_per_node
            world = craton.World(teams[each.ranks], nodes)
            names = (order, operator, smoother)
            solver = _craton.MultigridSolver(world, (along,) * 3, box, *names, 0.0, 1.0, each.exchange, each.threads)
        solvers.append((world, solver) if solver else None)
    found = Rates({each.name: [] for each in contenders})
    residuals: set[float] = set()
    for repeat in range(-1, repeats):
        if triad_threads and repeat >= 0:
            gb_s: list[float] = []

            def measure(to: list[float] = gb_s) -> None:
                to.append(_craton.memory_rates(triad_threads)[1])

            alone(comm, 1, measure)
            found.triad_gb_s += gb_s
        for each, made in zip(contenders, solvers, strict=True):
            times: list[float] = []

            def work(made: Any = made, times: list[float] = times) -> None:
                times.extend(seconds(made[0], made[1], cycles))
                residuals.add(made[1].relative_residual())

            alone(comm, each.ranks, work)
            if repeat >= 0:
                found.rates[each.name] += [1e-6 * cells**3 / t for t in times]
        found.residual = comm.bcast(max(residuals, default=0.0))
        for name, rate in (peers or {}).items():
            m_per_s = rate(found.residual)
            if repeat >= 0:
                found.peers.setdefault(name, []).append(m_per_s)
    if len(residuals) > 1:
        raise AssertionError(f"solvers disagree about the relative residual: {sorted(residuals)}")
    return found


def seconds(world: Any, solver: Any, cycles: int, level: int = 0) -> list[float]:
    """Seconds of each F-cycle on a level, from a common start until all ranks are done. Collective over the world."""
    times = []
    for _ in range(cycles):
        world.barrier()
        begun = time.perf_counter()
        solver.f_cycle(level)
        world.barrier()
        times.append(time.perf_counter() - begun)
    return times


def alone(comm: MPI.Comm, ranks: int, work: Callable[[], None]) -> None:
    """Lets the first `ranks` work while the others sleep, off the processor. Collective."""
    if comm.rank < ranks:
        work()
    done = comm.Ibarrier()
    while not done.Test():
        time.sleep(SECONDS_BETWEEN_LOOKS)
