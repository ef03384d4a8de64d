"""A linearised problem without its corrections: what earthquakes and stations may be wrong about is integrated out.

With s the structure's unknowns, t the corrections, P the diagonal of their C_m^-1 and S = H_tt + P, the sum of misfit and prior is
least, for a given step of the structure, at one step of the corrections. There it is that of a problem of the structure alone:

    H = H_ss - H_st S^-1 H_ts,    gradient = g_s - H_st S^-1 b,    chi = chi_data + (t . P t - b . S^-1 b) / 2,    b = g_t - P t

Its posterior is the structure's in the posterior of both (a Schur complement).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from craton import SymmetricMatrix
from craton.errors import UserError
from craton.inverse.parts import chunks, summed
from craton.runs.agreement import on_root

if TYPE_CHECKING:
    from mpi4py import MPI

    from craton import World

f64 = NDArray[np.float64]


def without_corrections(
    hessian: SymmetricMatrix, gradient: f64, values: f64, precision: f64, block: int, world: World, comm: MPI.Comm
) -> tuple[SymmetricMatrix, f64, float]:
    """Collective: Hessian and gradient of the structure, and what chi_data changes by.

    hessian, gradient: of structure and corrections, committed. values: the corrections there. block: of the new matrix. Every rank
    holds as many rows as there are corrections.
    """
    size = len(gradient) - len(values)
    rows, own = rows_of_corrections(hessian, size, comm)

    def solved() -> f64:
        """L^-1 b, and L^-1 H_ts in the place of H_ts; S = L L^T."""
        try:
            factor = scipy.linalg.cholesky(own + np.diag(precision), lower=True)
        except scipy.linalg.LinAlgError:
            raise UserError(
                "the Hessian of the earthquakes' and stations' corrections is not positive; allowed: hessian.h5 of a run"
            ) from None
        for some in chunks(len(rows), size):
            rows[:, some] = scipy.linalg.solve_triangular(factor, rows[:, some], lower=True)
        return np.asarray(scipy.linalg.solve_triangular(factor, gradient[size:] - precision * values, lower=True))

    force = on_root(comm, solved)
    for row in rows:  # rank 0's, the same bits everywhere
        comm.Bcast(row)
    structure = SymmetricMatrix(world, size, dtype=hessian.dtype, block=block)
    for part in hessian.triangle:
        inside = part.rows < size
        for some in chunks(len(part.rows), len(part.cols)):
            columns = np.arange(some.start, some.stop)[part.cols[some] < size]
            i, j = part.rows[inside], part.cols[columns]
            values_here = part.local[np.ix_(inside, columns)].astype(np.float64) - rows[:, i].T @ rows[:, j]
            values_here[~part.taken(np.flatnonzero(inside), columns)] = 0.0
            add_to_triangle(structure, values_here.astype(hessian.dtype), i, j)
    structure.commit()
    change = 0.5 * float(values @ (precision * values) - force @ force)
    return structure, np.ascontiguousarray(gradient[:size] - rows.T @ force), change


def add_to_triangle(matrix: SymmetricMatrix, values: NDArray[np.floating], rows: NDArray, cols: NDArray) -> None:  # type: ignore[type-arg]
    """Adds elements of either triangle, zeros where there are none."""
    if values.size:
        above = rows[:, None] <= cols
        matrix.update(np.where(above, values, 0), rows, cols)
        if not above.all():
            matrix.update(np.where(above, 0, values).T.copy(), cols, rows)


def rows_of_corrections(hessian: SymmetricMatrix, size: int, comm: MPI.Comm) -> tuple[f64, f64]:
    """Collective: H_ts and H_tt, on every rank."""
    own = np.zeros((hessian.order - size, hessian.order))
    for part in hessian.triangle:
        for some in chunks(len(part.rows), len(part.cols)):
            columns = np.arange(some.start, some.stop)
            r, c = np.nonzero(part.taken(cols=columns) & ((part.rows[:, None] >= size) | (part.cols[columns] >= size)))
            i, j, values = part.rows[r], part.cols[columns[c]], part.local[r, columns[c]]
            for one, other in ((i, j), (j, i)):
                mine = one >= size
                own[one[mine] - size, other[mine]] = values[mine]
    whole = summed(own, comm)
    return np.ascontiguousarray(whole[:, :size]), np.ascontiguousarray(whole[:, size:])
