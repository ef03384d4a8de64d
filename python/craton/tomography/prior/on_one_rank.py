"""Equation 2 solved by rank 0 alone, from a copy of the whole Hessian: the same bits, however many ranks have assembled it.

A factorisation shared by ranks sums in blocks that follow from their number. Rank 0's copy takes half of order^2 elements of
float64, and its factor as much again, or half of that in float32.
"""

from __future__ import annotations

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from craton import SymmetricMatrix, World
from craton.runs.agreement import on_root
from craton.tomography.prior.normal_equations import AddTo, Factored, NormalEquations, Times
from craton.tomography.prior.parts import chunks

f64 = NDArray[np.float64]


class EquationsOnOneRank(NormalEquations):
    """As NormalEquations; rank 0 factors and solves, the others wait and get the solution."""

    def factored(self, add_to: AddTo, times: Times) -> FactoredOnOneRank:
        """As NormalEquations says. add_to and times must not be collective: rank 0 alone calls them."""
        return FactoredOnOneRank(self, add_to, times)


class FactoredOnOneRank(Factored):
    """All calls are collective and blocking; vectors are the same on every rank."""

    def __init__(self, equations: NormalEquations, add_to: AddTo, times: Times) -> None:
        self.equations, self._own = equations, list[Factored]()
        whole = gathered(equations.hessian, equations.comm)

        def factor() -> None:
            assert whole is not None
            alone = NormalEquations(
                whole, MPI.COMM_SELF, equations.way, equations.damping, equations.say, damped=equations.damped
            )
            self._own.append(alone.factored(add_to, times))

        on_root(equations.comm, factor)

    def solve(self, right_hand_side: f64) -> f64:
        """As Factored says."""

        def solved() -> tuple[f64, str]:
            found = self._own[0].solve(right_hand_side)
            return found, f"{self._own[0].equations.told}, by one rank"

        found, self.equations.told = on_root(self.equations.comm, solved)
        return found


def gathered(matrix: SymmetricMatrix, comm: MPI.Comm) -> SymmetricMatrix | None:
    """Collective: a copy in float64 on rank 0; None elsewhere. matrix: committed."""
    held = matrix.packed
    mine = np.asarray(held.local)
    lines = comm.gather((np.asarray(held.local_rows_global), np.asarray(held.local_cols_global)))
    if lines is None:
        for some in chunks(*mine.shape):
            comm.Send(np.asfortranarray(mine[:, some]), 0)
        return None
    alone = SymmetricMatrix(World(MPI.COMM_SELF), matrix.order, dtype="float64", block=matrix.block)
    whole = alone.packed.local
    for rank, (rows, cols) in enumerate(lines):
        for some in chunks(len(rows), len(cols)):
            piece = mine[:, some] if rank == 0 else np.empty((len(rows), len(cols[some])), matrix.dtype, order="F")
            if rank:
                comm.Recv(piece, rank)
            whole[np.ix_(rows, cols[some])] = piece
    return alone
