"""g(m) by the theory of the modes, on all ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

if TYPE_CHECKING:
    from craton._craton import ForwardProblem, PathSet

f64 = NDArray[np.float64]


def share(total: int, size: int, rank: int) -> tuple[int, int]:
    """The contiguous part of range(total) that falls to a rank."""
    return total * rank // size, total * (rank + 1) // size


def predict(forward: ForwardProblem, paths: PathSet, model: f64, comm: MPI.Comm, threads: int) -> f64:
    """Collective: g(m) of all paths on every rank; each rank computes a contiguous share."""
    bounds = [share(len(paths), comm.size, rank) for rank in range(comm.size)]
    first, last = bounds[comm.rank]
    mine = np.ascontiguousarray(forward.seismograms(paths, first, last, model, threads))
    offsets = np.asarray(paths.offsets)
    everything = np.empty(offsets[-1])
    counts = [int(offsets[end] - offsets[begin]) for begin, end in bounds]
    starts = [int(offsets[begin]) for begin, _ in bounds]
    comm.Allgatherv(mine, [everything, counts, starts, MPI.DOUBLE])
    return everything
