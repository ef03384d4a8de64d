"""F-cycles of HPGMG-FV's test problems beside the memory's speed, threads beside ranks, and hypre's and PETSc's multigrids."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from craton.errors import UserError

from craton_studies.bench.hypre_solver import Pfmg, hypre_library
from craton_studies.bench.petsc_solver import GeometricMultigrid, petsc_library
from craton_studies.bench.registry import Measurement, Option, Run, benchmark
from craton_studies.multigrid.scaling_layout import OPERATORS
from craton_studies.multigrid.timing import Contender, rates_in_turn

if TYPE_CHECKING:
    from mpi4py import MPI

TARGETS = {("7pt", "chebyshev"): 1.3, ("fv4", "gsrb"): 0.7}
"""Million unknowns per second that 128^3 cells must reach on 2 ranks, per GB/s of the triad on 2 cores."""
OF_TWO_RANKS = 0.85
"""What one rank of two threads must reach of it."""


@benchmark(
    "multigrid",
    "F-cycles of HPGMG-FV's test problems: unknowns per second, beside the triad; one rank of two threads beside two ranks",
    limit="triad, GB/s",
    ranks=2,
    options={
        "cases": Option("7pt:chebyshev,fv4:gsrb,fv2:chebyshev,7pt:gsrb", "operator : smoother, comma separated"),
        "box": Option(64, "cells of a box along each side"),
        "cells": Option(128, "of the grid along each side"),
        "cycles": Option(4, "F-cycles of each contender in each repeat"),
        "hypre": Option(1, "1: hypre's PFMG beside 7pt, where Debian's libhypre is installed; 0: leave it out"),
        "petsc": Option(
            1, "1: PETSc's multigrid beside 7pt, where Debian's libpetsc-real is installed; 0: leave it out"
        ),
    },
)
def multigrid(run: Run) -> Iterator[Measurement]:
    """HPGMG-FV's test problems on a cube of boxes, solved by an F-cycle from zero.

    All contenders and the STREAM triad (a = b + s c in memory, on as many threads as there are ranks) take turns. Rates are million
    unknowns of the finest grid per second, from a common start to the last rank's end. Ratios are unknowns per second over the
    triad's bytes per second, in million per GB/s. The note says how many bytes of arrays an F-cycle reads and writes for each
    unknown, if nothing stays in a cache between sweeps. It also says what that makes per second: near the triad's rate there is
    nothing to gain but by moving less.

    "1 rank x 2 threads": rank 0 alone solves the same problem with as many threads as the job has ranks, while the others
    sleep. "packed": ghosts travel in buffers packed by hand, the comparison of `craton study ladder`.

    "hypre": its PFMG (red-black Gauss-Seidel, coarse operators of 7 points) on the same ranks, for -div grad u = f with
    constant coefficients on as many cells. V-cycles start from zero and end where the relative residual is what an F-cycle
    leaves: ours is that of the largest cell, hypre's the root of the sum of squares. "PETSc": the same by conjugate gradients
    with a V-cycle of its geometric multigrid, on the points of a grid of as many cells, with an assembled matrix.
    """
    o = run.options
    cells, box, size = o["cells"], o["box"], run.comm.size
    if box < 4 or cells % box or (cells // box) ** 3 < size:
        raise UserError(
            f"--set box={box} --set cells={cells}; allowed: a multiple of boxes, at least one per rank, box >= 4"
        )
    peers = {name: _Peer(kind, run, cells) for name, kind in PEERS.items() if o[name] == 1}
    for operator, smoother in problems(o["cases"]):
        run.say(f"{operator} {smoother} ...")
        contenders = [Contender(f"{size} ranks", size, 1), Contender(f"{size} ranks, packed", size, 1, exchange="bulk")]
        if size > 1:
            contenders.append(Contender(f"1 rank x {size} threads", 1, size))
        found = rates_in_turn(
            run.comm,
            contenders,
            operator,
            smoother,
            cells,
            box,
            run.repeats,
            o["cycles"],
            run.ranks_per_node,
            triad_threads=size,
            peers={name: each.rate for name, each in peers.items() if each.solver and operator == "7pt"},
        )
        if run.comm.rank == 0:
            group = f"{operator} {smoother}, {cells}^3 cells in boxes of {box}^3"
            moved = bytes_per_unknown(operator, smoother)
            yield from _compared(found.rates, found.triad_gb_s, group, TARGETS.get((operator, smoother)), size, moved)
            ours = found.rates[f"{size} ranks"]
            for name, each in peers.items() if operator == "7pt" else ():
                yield each.line(ours, found.peers.get(name, []), found.residual, size, group)


@dataclass(frozen=True)
class _Kind:
    """Another multigrid, as it is called and installed."""

    name: str
    words: str
    cycles: str
    absent: str
    library: Callable[[], ctypes.CDLL | None]
    make: Callable[[ctypes.CDLL, MPI.Comm, int], Pfmg | GeometricMultigrid]


PEERS = {
    "hypre": _Kind(
        "hypre",
        "hypre PFMG",
        "V-cycles",
        "libhypre is not installed (apt-get install libhypre-dev)",
        hypre_library,
        Pfmg,
    ),
    "petsc": _Kind(
        "PETSc",
        "PETSc PCMG",
        "preconditioned steps",
        "libpetsc-real is not installed, or MPI is not Open MPI (apt-get install libpetsc-real3.18, or what the system has)",
        petsc_library,
        GeometricMultigrid,
    ),
}


class _Peer:
    """A solver on the ranks of the job, where all of them have its library, and how many cycles it took last."""

    def __init__(self, kind: _Kind, run: Run, cells: int) -> None:
        """Collective."""
        self.kind, self.cycles, self.absent = kind, 0, kind.absent
        self.solver: Pfmg | GeometricMultigrid | None = None
        library = kind.library()
        if all(run.comm.allgather(library is not None)):
            assert library is not None
            try:
                self.solver = kind.make(library, run.comm, cells)
            except RuntimeError as problem:  # on all ranks
                self.absent = str(problem)

    def rate(self, residual: float) -> float:
        """Million unknowns per second for a relative residual. Collective."""
        assert self.solver is not None
        taken, self.cycles = self.solver.seconds(residual)
        return 1e-6 * self.solver.unknowns / taken

    def line(self, ours: list[float], theirs: list[float], residual: float, size: int, group: str) -> Measurement:
        """Ours beside it, or that it is absent."""
        if not theirs:
            return Measurement(self.kind.name, [], "M DOF/s", note=self.absent, group=group)
        note = f"{self.kind.name} takes {self.cycles} {self.kind.cycles} to a relative residual of {residual:.1e}"
        name = f"{size} ranks / {self.kind.name}"
        return Measurement(name, ours, "M DOF/s", theirs, self.kind.words, note=note, group=group)


def _compared(
    rates: dict[str, list[float]], triad: list[float], group: str, target: float | None, size: int, moved: float
) -> Iterator[Measurement]:
    unit = "M DOF/s"
    for name, values in rates.items():
        aim = target if name == "2 ranks" else None
        note = f"{moved:.0f} B per unknown: {max(values) * moved / 1e3:.1f} GB/s at best"
        yield Measurement(name, values, unit, triad, target=aim, note=note, group=group)
    ranks = rates[f"{size} ranks"]
    for name in (f"1 rank x {size} threads", f"{size} ranks, packed"):
        if name in rates:
            aim = OF_TWO_RANKS if name == "1 rank x 2 threads" else None
            yield Measurement(f"{name} / {size} ranks", rates[name], unit, ranks, f"{size} ranks", aim, group=group)


def bytes_per_unknown(operator: str, smoother: str) -> float:
    """Bytes of arrays that an F-cycle reads and writes for each unknown of the finest grid, each array once per sweep.

    As the STREAM triad counts, a line that is written for the first time is not read. Level l has 8^-l of the cells and l + 1
    V-cycles.
    """
    traits = OPERATORS[operator]
    # u, f, 1/D and beta of three faces are read and the next u is written; Chebyshev reads the one before too.
    words_per_sweep = 8.0 if smoother == "chebyshev" else 7.0
    if smoother == "chebyshev" and operator != "fv4":
        words_per_sweep = 9.0 / 2  # two steps in one pass: u and the one before are read and written
    smoothing = 2 * traits.sweeps[smoother] * words_per_sweep
    residual, to_coarse, from_coarse = 6.0, 1 + 1 / 8, 2 + 1 / 8
    in_v_cycle = smoothing + residual + to_coarse + from_coarse
    in_f_cycle = to_coarse + from_coarse
    return 8 * (in_v_cycle / (1 - 1 / 8) ** 2 + in_f_cycle / (1 - 1 / 8))


def problems(text: str) -> list[tuple[str, str]]:
    """Pairs of "7pt:gsrb,fv4:jacobi"; whether there are such is for the solver to say."""
    pairs = [tuple(pair.split(":")) for pair in text.split(",")]
    if any(len(pair) != 2 for pair in pairs):
        raise UserError(f"--set cases={text}; allowed: pairs operator:smoother, such as 7pt:chebyshev,fv4:gsrb")
    return [(pair[0], pair[1]) for pair in pairs]
