"""Products with a Hessian that is in a file only: while its memory holds the factor."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from craton.arrays.matrix import TrianglePart
from craton.arrays.symmetric_matrix import parts_of_packed
from craton.inverse.parts import CHUNK_BYTES, summed
from craton.runs.agreement import on_root, on_some, share
from craton.runs.hdf5_files import opened_hdf5
from craton.tomography.inversion.hessian_file import LEFT, NOT_COMPLETE, check_checksum, checksum_of_rows

f64 = NDArray[np.float64]


@dataclass(frozen=True)
class StoredHessian:
    """The packed Hessian in a file, of which each rank reads as many rows as the others."""

    file: pathlib.Path
    comm: MPI.Comm
    sums: list[int] = field(default_factory=list)
    """The checksum of this rank's rows, and that of all rows."""

    def times(self, vector: f64) -> f64:
        """H v, with the sums in float64. Collective, blocking: the file is read once, a piece at a time.

        The first product compares the elements with their checksum: UserError on every rank where they are others.
        """
        own = np.zeros(len(vector))
        on_some(self.comm, self.comm.size, lambda _: self._add_own(own, vector))
        if len(self.sums) == 1:
            found = sum(self.comm.allgather(self.sums[0]))
            on_root(self.comm, lambda: self._compare(found))
            self.sums.append(found)
        return summed(own, self.comm)

    def _add_own(self, own: f64, vector: f64) -> None:
        """What this rank's rows give to the product."""
        for part in self.own_parts():
            elements = np.where(part.taken(), part.local, 0.0).astype(np.float64)
            own[part.rows] += elements @ vector[part.cols]
            elements[part.rows[:, None] == part.cols] = 0.0  # the mirror image of what is beside the diagonal
            own[part.cols] += elements.T @ vector[part.rows]

    def _compare(self, found: int) -> None:
        with opened_hdf5(self.file, LEFT, wrong=NOT_COMPLETE) as opened:
            check_checksum(opened["hessian"], found)

    def own_parts(self) -> Iterator[TrianglePart]:
        """This rank's share of the rows, some at a time."""
        with opened_hdf5(self.file, LEFT, wrong=NOT_COMPLETE) as opened:
            stored = opened["hessian"]
            order, block = (int(stored.attrs[name]) for name in ("order", "block"))
            first, last = share(len(stored), self.comm.size, self.comm.rank)
            step = max(1, CHUNK_BYTES // (8 * stored.shape[1]))
            cols, compare = np.arange(stored.shape[1]), not self.sums
            own_sum = 0
            for begin in range(first, last, step):
                rows = np.arange(begin, min(begin + step, last))
                read = stored[rows[0] : rows[-1] + 1]
                own_sum += checksum_of_rows(read, begin) if compare else 0
                yield from parts_of_packed(read, rows, cols, order, block)
            if compare:
                self.sums.append(own_sum)
