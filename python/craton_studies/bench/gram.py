"""Products: the rate of the linked BLAS, and updates G^T G per second beside forming the product with BLAS and adding it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from craton import _craton
from numpy.typing import NDArray

from craton_studies.bench.registry import Measurement, Option, Run, benchmark
from craton_studies.extension import extension as _studies

# ------------------------------------------------------------------------------------------------------ the linked BLAS

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


# ----------------------------------------------------------------------------------------------------------- update_gram

FASTER = 1.8
"""update_gram with compression, times ssyrk + update_symmetric."""
STRONGEST = "ssyrk + update_symmetric"


@benchmark(
    "gram",
    "updates G^T G of panels 150 x 4060 of numerical rank 60: update_gram beside BLAS and update()",
    limit=STRONGEST,
    ranks=2,
    options={
        "cells": Option(406, "of the matrix, with 20 parameters each"),
        "touched": Option(203, "cells of each panel: n = 20 times as many"),
        "splines": Option(20, "parameters of a cell"),
        "k": Option(150, "samples of a panel"),
        "rank": Option(60, "numerical rank of a panel"),
        "noise": Option(1e-4, "beside that rank, relative to the panel's elements"),
        "tolerance": Option(1e-6, "trace norm that compression may lose, relative to the trace"),
        "updates": Option(4, "of each rank in each measurement"),
    },
)
def gram(run: Run) -> Iterator[Measurement]:
    """Four ways to add G^T G to the upper triangle of a float32 matrix, in turn in each repeat.

    - ssyrk into a buffer, then update_symmetric: the strongest of the usual ways, to which the ratios refer.
    - sgemm, then update of both triangles.
    - update_gram.
    - update_gram that first compresses the panel to its numerical rank.

    BLAS has one thread on each rank. After the last repeat the compressed matrix is compared with that of ssyrk: the Frobenius norm
    of the difference must be within tolerance x trace, which bounds its trace norm.
    """
    o = run.options
    for name, ranks_per_node in run.deliveries("gram"):
        found = _studies.gram(
            run.comm,
            o["cells"],
            o["touched"],
            o["splines"],
            o["k"],
            o["rank"],
            o["noise"],
            o["tolerance"],
            o["updates"],
            run.repeats,
            ranks_per_node,
        )
        group = f"{name}: n={o['touched'] * o['splines']}, k={o['k']}, rank {o['rank']}, N={o['cells'] * o['splines']}"
        for way in (STRONGEST, "sgemm + update", "update_gram", "update_gram, compressed"):
            compressed = way.endswith("compressed")
            note = f"{max(found[f'processor {way}']):.1f} per processor second"
            note += f", {found['rank'][0]:.0f} of {o['k']} rows" if compressed else ""
            target = FASTER if compressed else None
            yield Measurement(way, found[way], "updates/s", found[STRONGEST], target=target, note=note, group=group)
        yield Measurement(
            "error of the compressed",
            found["error"],
            "",
            [1.0],
            f"{o['tolerance']:g} x trace",
            1.0,
            less_is_better=True,
            group=group,
        )
