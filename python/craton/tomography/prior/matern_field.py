"""The Matern field of (kappa^2 - Laplacian) w = white noise on a grid that encloses the Earth, evaluated at points.

In three dimensions its covariance is the inverse of (kappa^2 - Laplacian)^2, a Matern covariance with nu = 1/2:

    variance 1 / (8 pi kappa), here scaled to 1;    correlation exp(-kappa r),    kappa = 1 / correlation_km

(Lindgren, Rue & Lindstroem 2011, doi:10.1111/j.1467-9868.2011.00777.x, alpha = 2, d = 3). The grid is a periodic cube
whose sides are so far from the Earth that they do not matter; every cell is like every other. Each product with the
covariance solves two Helmholtz problems with craton.solvers.multigrid.

A grid of cells h misses what the field does at scales below h, a part of about 0.4 kappa h of its variance. At points
further apart than about h that part is uncorrelated. It is therefore added to the diagonal, point by point: the variance is
1 at every point, and the covariance of different points keeps its amplitude. Scaling the grid's field up instead would
correlate them too much, by the same part.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse
import scipy.sparse.linalg
from mpi4py import MPI
from numpy.typing import NDArray

from craton._craton import ModelBasis, World
from craton.inverse.parts import chunks, summed
from craton.solvers import multigrid
from craton.tomography.config.matern_grid import box_side, cells_needed, check_resolution, side_of_grid_km
from craton.tomography.model.sphere import unit_vectors
from craton.tomography.model.splines import splines_at_knots

f64 = NDArray[np.float64]

TOLERANCE = 1e-10
"""Largest relative residual of a Helmholtz solve."""
REACH = 3
"""Cells between the first and the last of the four that a point is interpolated from, along a dimension."""


class KnotSplines:
    """T: coefficients -> dlnVs at the knots, a lateral matrix (x) a radial one, by their factors. Not collective."""

    lateral: scipy.sparse.csr_matrix
    radial: f64
    directions: f64
    """Unit vectors to the lateral knots."""
    points_km: f64
    """All knots from the Earth's centre, shape (n, 3), the radial index fastest."""

    def __init__(self, basis: ModelBasis) -> None:
        self.lateral, self.radial = splines_at_knots(basis)
        self._factor = scipy.sparse.linalg.splu(self.lateral.tocsc())
        self.directions = unit_vectors(np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg))
        radius_km = np.asarray(basis.radial_knots_m) / 1e3
        self.points_km = (self.directions[:, None, :] * radius_km[None, :, None]).reshape(-1, 3)

    def solve(self, field: f64) -> f64:
        """T^-1 of a field of shape (lateral, radial) knots."""
        return np.linalg.solve(self.radial, self._factor.solve(field).T).T.ravel()

    def solve_transposed(self, weights: f64) -> f64:
        """T^-T of weights of coefficients, shape (lateral, radial)."""
        table = np.linalg.solve(self.radial.T, weights.reshape(-1, len(self.radial)).T).T
        return np.asarray(self._factor.solve(np.ascontiguousarray(table), trans="T"))

    @property
    def log_determinant(self) -> float:
        """The natural logarithm of |det T|."""
        lateral = sum(float(np.log(np.abs(factor.diagonal())).sum()) for factor in (self._factor.U, self._factor.L))
        return len(self.radial) * lateral + int(self.lateral.shape[0]) * float(np.linalg.slogdet(self.radial)[1])


class MaternField:
    """A field of variance 1 at points, known by what a vector of numbers at the points becomes under its covariance.

    Everything but the attributes is collective and blocking. Arguments and results at the points are the same on every rank,
    and but for rounding on any number of ranks.
    """

    cells: int
    """Along each side of the grid."""
    side_km: float
    """Side of the grid."""
    unresolved: f64
    """At each point, the part of the variance that the grid does not carry."""

    def __init__(
        self, world: World, comm: MPI.Comm, points_km: f64, correlation_km: float, cells: int = 0, threads: int = 1
    ) -> None:
        """UserError for what the cells cannot resolve and for more ranks than boxes.

        points_km: shape (n, 3), at least 2, from the Earth's centre and inside the Earth. cells: 0 chooses. threads: of each rank.
        """
        self._comm = comm
        check_resolution(cells, correlation_km)
        self.side_km = side_of_grid_km(correlation_km)
        self.cells = cells or cells_needed(points_km, correlation_km)
        kappa = self.side_km / correlation_km  # the solver's unit of length is the grid's side
        box = box_side(self.cells, world.size)
        self._solver = multigrid.Solver(
            world,
            self.cells,
            box,
            a=kappa**2,
            boundary="periodic",
            operator="fv4",
            smoother="chebyshev",
            threads=threads,
        )
        self._amplitude = np.sqrt(8.0 * np.pi * kappa * self.cells**3)  # white noise has variance 1 / h^3 in a cell
        first, weights = four_cells(points_km / self.side_km * self.cells + 0.5 * self.cells - 0.5)
        self._interpolation = self._own_interpolation(first, weights)
        self.unresolved = np.maximum(1.0 - self._grid_variance(weights), 0.0)

    @property
    def own_shape(self) -> tuple[int, int, int, int]:
        """Shape of a field on this rank's part of the grid."""
        return self._solver.own_shape

    @property
    def cell_km(self) -> float:
        """Side of a cell."""
        return self.side_km / self.cells

    def covariance_times(self, values: f64) -> f64:
        """C x = R R^T x."""
        return self.root_times(*self.root_transposed_times(values))

    def root_times(self, own_noise: f64, point_noise: f64) -> f64:
        """R: a draw of the field at the points where the arguments are standard normal.

        One number per cell of this rank's part, and one per point.
        """
        field = self._inverse(own_noise)
        return summed(self._interpolation @ field.ravel(), self._comm) + np.sqrt(self.unresolved) * point_noise

    def root_transposed_times(self, values: f64) -> tuple[f64, f64]:
        """R^T, with the same two parts."""
        field = (self._interpolation.T @ values).reshape(self.own_shape)
        return self._inverse(field), np.sqrt(self.unresolved) * values

    # ------------------------------------------------------------------------------------------------------- the grid

    def _inverse(self, own_field: f64) -> f64:
        """(kappa^2 - Laplacian)^-1, times the amplitude that makes the variance 1."""
        if not self._comm.allreduce(bool(np.any(own_field)), MPI.LOR):
            return np.zeros_like(own_field)
        solution = self._solver.solve(self._amplitude * own_field, tolerance=TOLERANCE)
        if not solution.converged:
            raise RuntimeError(f"the Helmholtz problem of {self.cells}^3 cells: residual {solution.residuals[-1]:.1e}")
        return solution.u

    def _own_cells(self, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Where cells (i, j, k) lie in this rank's part of the grid, flat; -1 where they are another's. Shape of places[..., 0]."""
        box, boxes = self._solver.box, self.cells // self._solver.box
        number = np.full((boxes, boxes, boxes), -1)
        number[tuple(self._solver.first_cells.T // box)] = np.arange(len(self._solver.first_cells))
        i, j, k = np.moveaxis(places % self.cells, -1, 0)
        which = number[i // box, j // box, k // box]
        return np.where(which < 0, -1, ((which * box + i % box) * box + j % box) * box + k % box)

    def _own_interpolation(self, first: NDArray[np.int64], weights: f64) -> scipy.sparse.csr_matrix:
        """Rows are points, columns this rank's cells; the sum over ranks interpolates."""
        steps = np.stack(np.meshgrid(*[np.arange(REACH + 1)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
        pieces = []
        for some in chunks(3 * len(steps), len(first)):  # a rank has few of the cells of all points
            columns = self._own_cells(first[some, None, :] + steps[None, :, :])
            values = np.prod([weights[some][:, steps[:, axis], axis] for axis in range(3)], axis=0)
            rows = np.broadcast_to(np.arange(len(columns))[:, None], columns.shape)
            mine = columns >= 0
            shape = (len(columns), int(np.prod(self.own_shape)))
            pieces.append(scipy.sparse.csr_matrix((values[mine], (rows[mine], columns[mine])), shape=shape))
        return scipy.sparse.vstack(pieces, format="csr")

    def _grid_variance(self, weights: f64) -> f64:
        """Variance of the interpolated field at each point, from the grid's response to one cell: all cells are alike."""
        middle = np.full(3, self.cells // 2)
        source = np.zeros(self.own_shape)
        at = self._own_cells(middle)
        if at >= 0:
            source.flat[int(at)] = 1.0
        response = self._inverse(self._inverse(source)).ravel()
        offsets = np.arange(-REACH, REACH + 1)
        around = self._own_cells(middle + np.stack(np.meshgrid(offsets, offsets, offsets, indexing="ij"), axis=-1))
        covariance = summed(np.where(around >= 0, response[np.maximum(around, 0)], 0.0), self._comm)
        products = np.zeros((3, len(weights), len(offsets)))
        for one in range(REACH + 1):
            for other in range(REACH + 1):
                products[:, :, other - one + REACH] += (weights[:, one] * weights[:, other]).T
        return np.asarray(np.einsum("na,nb,nc,abc->n", *products, covariance, optimize=True))


def four_cells(position: f64) -> tuple[NDArray[np.int64], f64]:
    """Lagrange's cubic along each dimension: the first of four cells, shape (n, 3), and their weights, shape (n, 4, 3).

    position: in cells from the centre of the grid's first.
    """
    cell = np.floor(position)
    t = position - cell
    weights = [
        -t * (t - 1) * (t - 2) / 6,
        (t + 1) * (t - 1) * (t - 2) / 2,
        -(t + 1) * t * (t - 2) / 2,
        (t + 1) * t * (t - 1) / 6,
    ]
    return cell.astype(np.int64) - 1, np.stack(weights, axis=1)
