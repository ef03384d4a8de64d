"""The rate of the linked BLAS, which the products G^T G and the factorisation run at, on all ranks at once."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from craton import _craton
from numpy.typing import NDArray

from craton_studies.bench.registry import Measurement, Run, benchmark

SIDE = 1024


@benchmark("gemm", f"matrix products of side {SIDE} by the linked BLAS, all ranks at once", limit="NumPy's own BLAS")
def gemm(run: Run) -> Iterator[Measurement]:
    """NumPy brings a newer OpenBLAS than distributions do: far behind it, the linked one has mistaken the processor."""
    for name, dtype in (("sgemm", np.float32), ("dgemm", np.float64)):
        rates, limits = [], []
        for _ in range(run.repeats):
            run.comm.barrier()
            rates.append(run.comm.allreduce(_craton.gemm_gflops(SIDE, single=dtype == np.float32, threads=run.threads)))
            run.comm.barrier()
            limits.append(run.comm.allreduce(_numpy_gflops_per_thread(dtype) * run.threads))
        yield Measurement(name, rates, "GFLOP/s", limits)


def _numpy_gflops_per_thread(dtype: type[np.floating[Any]]) -> float:
    """The best of three products by NumPy, divided by the threads that it uses."""
    threads = os.environ.get("OPENBLAS_NUM_THREADS") or os.environ.get("OMP_NUM_THREADS") or os.cpu_count() or 1
    a: NDArray[Any] = np.ones((SIDE, SIDE), dtype=dtype)
    out = np.empty_like(a)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        np.matmul(a, a, out=out)
        seconds.append(time.perf_counter() - start)
    return 2e-9 * SIDE**3 / min(seconds) / int(threads)
