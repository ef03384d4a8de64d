"""F-cycles of HPGMG-FV's test problems beside the memory's speed, threads beside ranks, and hypre's PFMG."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from craton.errors import UserError

from craton_studies.bench.hypre_solver import Pfmg, hypre_library
from craton_studies.bench.registry import Measurement, Option, Run, benchmark
from craton_studies.multigrid.scaling_layout import OPERATORS
from craton_studies.multigrid.timing import Contender, rates_in_turn

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
    leaves: ours is that of the largest cell, hypre's the root of the sum of squares.
    """
    o = run.options
    cells, box, size = o["cells"], o["box"], run.comm.size
    if box < 4 or cells % box or (cells // box) ** 3 < size:
        raise UserError(
            f"--set box={box} --set cells={cells}; allowed: a multiple of boxes, at least one per rank, box >= 4"
        )
    hypre = _Hypre.found(run, cells) if o["hypre"] == 1 else None
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
            peer=hypre.peer if hypre and operator == "7pt" else None,
        )
        if run.comm.rank == 0:
            group = f"{operator} {smoother}, {cells}^3 cells in boxes of {box}^3"
            moved = bytes_per_unknown(operator, smoother)
            yield from _compared(found.rates, found.triad_gb_s, group, TARGETS.get((operator, smoother)), size, moved)
            if found.peer and hypre:
                note = f"hypre takes {hypre.cycles} V-cycles to a relative residual of {found.residual:.1e}"
                ours = found.rates[f"{size} ranks"]
                yield Measurement(
                    f"{size} ranks / hypre", ours, "M DOF/s", found.peer, "hypre PFMG", note=note, group=group
                )
            elif o["hypre"] == 1 and operator == "7pt":
                yield Measurement(
                    "hypre", [], "M DOF/s", note="libhypre is not installed (apt-get install libhypre-dev)", group=group
                )


@dataclass
class _Hypre:
    """hypre's solver, and how many cycles it took last."""

    solver: Pfmg
    cycles: int = 0

    @classmethod
    def found(cls, run: Run, cells: int) -> _Hypre | None:
        """None where one of the ranks has no library. Collective."""
        library = hypre_library()
        if not all(run.comm.allgather(library is not None)):
            return None
        assert library is not None
        return cls(Pfmg(library, run.comm, cells))

    def peer(self, residual: float) -> float:
        """Seconds for a relative residual. Collective."""
        taken, self.cycles = self.solver.seconds(residual)
        return taken


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
