"""The Cholesky factor of distributed matrices, in full and in packed storage, beside LAPACK's."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import craton
import numpy as np
from craton import _craton, linalg
from craton.errors import UserError
from craton.runs.agreement import on_root
from numpy.typing import NDArray

from craton_studies.bench.registry import Measurement, Option, Run, benchmark
from craton_studies.extension import extension as _studies

LIMIT = "LAPACK's potrf, a thread for each core of the job"
TARGETS = {("ConvergentMatrix", "float64"): 0.95, ("SymmetricMatrix", "float64"): 0.9}


@benchmark(
    "cholesky",
    "factors of positive-definite matrices in full and packed storage, float64 and float32",
    limit=LIMIT,
    ranks=2,
    options={
        "orders": Option("6420,12000", "N of the matrices"),
        "block": Option(64, "rows and columns of a block"),
    },
)
def cholesky(run: Run) -> Iterator[Measurement]:
    """n^3 / 3 flops over the seconds of the slowest rank, in turn with LAPACK on rank 0, which then has every core of the job.

    The matrices are positive definite; what they hold has no influence on the time.
    """
    orders = _orders(run.options["orders"])
    for dtype in ("float64", "float32"):
        for n in orders:
            run.say(f"cholesky, {dtype}, N={n} ...")
            yield from _of_order(run, n, dtype)


def _orders(text: str) -> list[int]:
    try:
        orders = [int(word) for word in text.split(",")]
    except ValueError:
        orders = []
    if not orders or min(orders) < 1:
        raise UserError(f"--set orders={text}; allowed: whole numbers above 0, such as 6420,12000")
    return orders


def _of_order(run: Run, n: int, dtype: str) -> Iterator[Measurement]:
    world = craton.World(run.comm)
    kinds = ("ConvergentMatrix", "SymmetricMatrix")
    seconds: dict[str, list[float]] = {kind: [] for kind in (*kinds, LIMIT)}
    cores = run.comm.size * run.threads
    _craton.set_blas_threads(run.threads)
    for _ in range(run.repeats):
        for kind in kinds:
            seconds[kind].append(_factor(run, _matrix(world, kind, n, dtype, run.options["block"])))
        alone = on_root(run.comm, lambda: _studies.lapack_cholesky_seconds(n, dtype == "float32", cores))
        seconds[LIMIT].append(alone)
    rates = {name: [n**3 / 3 / s / 1e9 for s in values] for name, values in seconds.items()}
    for kind in kinds:
        yield Measurement(
            kind, rates[kind], "GFLOP/s", rates[LIMIT], target=TARGETS.get((kind, dtype)), group=f"{dtype}, N={n}"
        )


def _matrix(world: craton.World, kind: str, n: int, dtype: str, block: int) -> Any:
    if kind == "ConvergentMatrix":
        matrix: Any = craton.ConvergentMatrix(world, n, n, dtype=dtype, block=block)
        local: NDArray[Any] = matrix.local
    else:
        matrix = craton.SymmetricMatrix(world, n, dtype=dtype, block=block)
        local = matrix.packed.local
    local[:] = 1 / n  # of rank one, and a diagonal
    world.barrier()
    for first in range(world.rank * block, n, world.size * block):
        at = range(first, min(n, first + block))
        matrix.update(2 * np.eye(len(at), dtype=dtype, order="F"), at, at)
    matrix.commit()
    return matrix


def _factor(run: Run, matrix: Any) -> float:
    from mpi4py import MPI

    run.comm.barrier()
    start = time.perf_counter()
    linalg.Cholesky(matrix)
    return float(run.comm.allreduce(time.perf_counter() - start, MPI.MAX))
