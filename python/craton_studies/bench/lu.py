"""LU factors of distributed matrices and what they leave of a system of equations, beside LAPACK's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import craton
import numpy as np
from craton import _craton, linalg
from craton.errors import UserError
from numpy.typing import NDArray

from craton_studies.bench.registry import Measurement, Option, Run, benchmark
from craton_studies.multigrid.timing import alone

if TYPE_CHECKING:
    from mpi4py import MPI

LIMIT = "LAPACK's dgetrf (SciPy), as many threads"
IN_PLACE, OF_ARRAY = "in place on a ConvergentMatrix", "of a DistArray, with its copy into blocks"
MOST_LEFT = 16.0
"""The bound that HPL sets for this ratio, which has |b| in its denominator too."""

Matrix = NDArray[np.float64]


@dataclass
class Found:
    """Of each repeat: the rate in GFLOP/s, and |A x - b| / (n eps |A| |x|)."""

    rates: list[float] = field(default_factory=list)
    left: list[float] = field(default_factory=list)


@benchmark(
    "lu",
    "LU factors of a general matrix in float64, in place and of a DistArray, and the residual of a solution",
    limit=LIMIT,
    ranks=2,
    options={
        "order": Option(4000, "N of the matrix"),
        "block": Option(64, "rows and columns of a block"),
    },
)
def lu(run: Run) -> Iterator[Measurement]:
    """2 n^3 / 3 flops over the seconds of the slowest rank, on 1 rank and on all, in turn with LAPACK on as many threads.

    In place LU is ScaLAPACK's pdgetrf where there are several ranks. A DistArray, cut evenly, is copied into blocks first, and the
    copy counts. Elements are normal numbers. The residual of a solution is divided by n eps |A| |x|, in largest sums of a row and
    largest elements; elements of A are made anew for it.
    """
    n, block = run.options["order"], run.options["block"]
    if n < 1 or block < 1:
        raise UserError(f"--set order={n}, block={block}; allowed: whole numbers above 0")
    _craton.set_blas_threads(run.threads)
    for ranks in dict.fromkeys((1, run.comm.size)):
        words = f"{ranks} rank{'s' if ranks > 1 else ''} x {run.threads} thread{'s' if run.threads > 1 else ''}"
        run.say(f"lu, N={n}, {words} ...")
        found = _of_ranks(run, ranks, n, block)
        for name in (IN_PLACE, OF_ARRAY):
            yield Measurement(
                name, found[name].rates, "GFLOP/s", found[LIMIT].rates, ranks=ranks, group=f"N={n}, {words}"
            )
        for name in (IN_PLACE, OF_ARRAY):
            yield Measurement(
                f"residual, {name}",
                found[name].left,
                "n eps |A| |x|",
                [MOST_LEFT] * len(found[name].left),
                "HPL's bound",
                1.0,
                less_is_better=True,
                ranks=ranks,
                group=f"N={n}, {words}",
            )


def _of_ranks(run: Run, ranks: int, n: int, block: int) -> dict[str, Found]:
    """All of them in turn on the first ranks, while the others sleep."""
    found = {name: Found() for name in (IN_PLACE, OF_ARRAY, LIMIT)}
    takes_part = run.comm.rank < ranks
    comm = run.comm.Split(0 if takes_part else 1)
    world = craton.World(comm, run.ranks_per_node) if takes_part else None
    made: dict[str, Callable[[craton.World], Any]] = {
        IN_PLACE: lambda on: _convergent_matrix(on, n, block),
        OF_ARRAY: lambda on: _dist_array(on, n),
    }
    for _ in range(run.repeats):
        for name, make in made.items():
            alone(run.comm, ranks, partial(_factor_and_solve, comm, make, world, n, found[name]))
        alone(run.comm, 1, lambda: found[LIMIT].rates.append(_rate(n, _lapack_seconds(n, ranks * run.threads))))
    return found


def _factor_and_solve(
    comm: MPI.Comm, make: Callable[[Any], Any], world: craton.World | None, n: int, to: Found
) -> None:
    from mpi4py import MPI

    matrix = make(world)
    comm.barrier()
    start = time.perf_counter()
    factors = linalg.lu(matrix)
    to.rates.append(_rate(n, comm.allreduce(time.perf_counter() - start, MPI.MAX)))
    b = np.random.default_rng(1).standard_normal(n)
    to.left.append(_residual(comm, factors.solve(b), b))


def _rate(n: int, seconds: float) -> float:
    return 2 * n**3 / 3 / seconds / 1e9


def _elements(n: int, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Matrix:
    """Of the matrix that all contenders factor: normal numbers, whole columns at a time, each from its own seed."""
    made = np.empty((len(rows), len(columns)), order="F")
    for at, column in enumerate(columns):
        made[:, at] = np.random.default_rng([2, int(column)]).standard_normal(n)[rows]
    return made


def _convergent_matrix(world: craton.World, n: int, block: int) -> craton.ConvergentMatrix:
    made = craton.ConvergentMatrix(world, n, n, block=block)
    made.local[:] = _elements(n, made.local_rows_global, made.local_cols_global)
    world.barrier()
    return made


def _dist_array(world: craton.World, n: int) -> craton.DistArray:
    made = craton.DistArray(world, (n, n))
    for tile in made.local_tiles:
        rows, columns = (np.arange(along.start, along.stop) for along in tile.slices)
        tile.array[...] = _elements(n, rows, columns)
    made.sync()
    return made


def _residual(comm: MPI.Comm, x: Matrix, b: Matrix) -> float:
    """Each rank takes columns of its own; nothing of what was factored is looked at."""
    n = len(b)
    product, row_sums = np.zeros(n), np.zeros(n)
    for first in range(64 * comm.rank, n, 64 * comm.size):
        columns = np.arange(first, min(first + 64, n))
        part = _elements(n, np.arange(n), columns)
        product += part @ x[columns]
        row_sums += np.abs(part).sum(axis=1)
    product, row_sums = comm.allreduce(product), comm.allreduce(row_sums)
    left = np.abs(product - b).max() / (row_sums.max() * np.abs(x).max())
    return float(left / (n * np.finfo(float).eps))


def _lapack_seconds(n: int, threads: int) -> float:
    from scipy.linalg.lapack import dgetrf
    from threadpoolctl import threadpool_limits

    whole = np.arange(n)
    matrix = _elements(n, whole, whole)
    with threadpool_limits(threads, "blas"):
        start = time.perf_counter()
        info = dgetrf(matrix, overwrite_a=True)[2]
        seconds = time.perf_counter() - start
    if info != 0:
        raise RuntimeError(f"dgetrf: info = {info}")
    return seconds
