"""The posterior of the linearised problem, on the distributed matrix: what data and prior together know, and what they do not.

At the model m^i where the Hessian H = G^T C_d^-1 G was assembled, g(m) is replaced by its tangent; the posterior is then Gaussian:

    mean m^i + A^-1 (G^T C_d^-1 (d - g(m^i)) - C_m^-1 (m^i - m^p)),    covariance A^-1,    A = H + C_m^-1

(Tarantola 2005, section 3.2). With A = U^T U, where the factor lies:

    covariance with p       A^-1 s                    s: dlnVs at p as a combination of coefficients
    samples                 mean + U^-1 z             z independent, of variance one: U^-1 U^-T = A^-1
    resolution              R = A^-1 H = 1 - A^-1 C_m^-1
    what data do not see    (1 - R) v = A^-1 C_m^-1 v  (Deal & Nolet 1996, Geophys. J. Int. 124, 372-380)

so that no product with H is needed, and H may be overwritten. Everything that asks for elements of A^-1 (variances, the
resolution's diagonal) comes after `invert`, which overwrites the factor; what asks for products only may come before or after.

Half a matrix of the model's order, dealt over all ranks, is all that this takes; vectors are whole on every rank.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import scipy.sparse
from mpi4py import MPI
from numpy.typing import NDArray

import craton
from craton import ConvergentMatrix, SymmetricMatrix, linalg
from craton.described import Described
from craton.errors import UserError
from craton.inverse.blocks import ParameterBlock
from craton.inverse.parts import chunks, summed
from craton.inverse.prior import Prior, misfit

f64 = NDArray[np.float64]
Rows: TypeAlias = scipy.sparse.csr_matrix
"""Linear combinations of the coefficients, one per row, each with few of them."""

SAMPLES_STREAM = 3
"""Keeps draws independent of what else a seed makes."""


class Posterior(Described):
    """What data and prior know. Every method is collective and blocking.

    Arguments and results are the same on every rank, and but for rounding on any number of ranks.
    """

    mean: f64
    """The most probable model."""
    step: f64
    """mean - m^i"""
    weights: f64
    """C_m^-1 (mean - m^p)"""
    log_determinant: float
    """The natural logarithm of det A."""

    def __init__(self, system: SymmetricMatrix, prior: Prior, gradient: f64, model: f64, comm: MPI.Comm) -> None:
        """UserError where A is not positive definite.

        system: H, committed; it is overwritten and must be left alone. gradient: G^T C_d^-1 (d - g(m^i)).
        model: m^i. comm: the ranks of the system's world.
        """
        self.prior, self._system, self._comm = prior, system, comm
        self._gradient, self._inverted = gradient, False
        prior.add_to(system)
        self._factor = craton.Cholesky(system)
        self.log_determinant = self._factor.log_determinant()
        deviation = model - prior.mean
        self.step = self.covariance_times(gradient - prior.precision_times(deviation))
        self.mean = model + self.step
        self.weights = prior.precision_times(deviation + self.step)

    # ------------------------------------------------------------------------------------------------------------- products

    def _facts(self) -> dict[str, object]:
        return {"parameters": len(self.mean), "ln determinant of the system": f"{self.log_determinant:.6g}"}

    def covariance_times(self, vector: f64) -> f64:
        """A^-1 v: for the row s of a point, the covariance of every coefficient with the point."""
        vector = np.ascontiguousarray(vector, dtype=np.float64)
        if self._inverted:
            return np.asarray(linalg.matvec(self._system, vector))
        return np.asarray(self._factor.solve(vector))

    def null_space(self, vector: f64) -> f64:
        """(1 - R) v: the part of a model change that data do not see."""
        return self.covariance_times(self.prior.precision_times(vector))

    def resolution_times(self, vector: f64) -> f64:
        """R v: what would be found of a true model v. Of a spike, its point spread."""
        return vector - self.null_space(vector)

    def resolution_transposed_times(self, vector: f64) -> f64:
        """R^T s: with which weight each true coefficient enters what is found at the point s, a row of the resolution."""
        return vector - self.prior.precision_times(self.covariance_times(vector))

    def hessian_times_null_space(self, vector: f64) -> f64:
        """H (1 - R) v, from A A^-1 = 1: what the data would see of it."""
        return self.prior.precision_times(vector - self.null_space(vector))

    # ----------------------------------------------------------------------------------------------------------- the misfit

    @property
    def chi_prior(self) -> float:
        """Second part of equation 1 at the mean."""
        return misfit(self.mean - self.prior.mean, self.weights)

    def chi_data(self, chi_at_model: float) -> float:
        """First part of equation 1 at the mean, by the tangent at m^i, where it is `chi_at_model`. H step = gradient - weights."""
        curved = float(self.step @ (self._gradient - self.weights))
        return chi_at_model - float(self._gradient @ self.step) + 0.5 * curved

    def log_evidence(self, chi_at_model: float) -> float:
        """Ln p(d), but for a constant that depends on the noise alone: -chi(mean) - (ln det A - ln det C_m^-1) / 2."""
        occam = 0.5 * (self.log_determinant - self.prior.log_determinant)
        return -self.chi_data(chi_at_model) - self.chi_prior - occam

    # -------------------------------------------------------------------------------------------------------------- samples

    def samples(self, count: int, seed: int) -> ConvergentMatrix:
        """Draws of m - mean: a ConvergentMatrix of one draw per column, dealt as the system is. UserError after `invert`.

        It has more than `count` columns where the system has more process columns. Draw k has a stream of its own, the same on any
        number of ranks. n^2 flops each.
        """
        if self._inverted:
            what = "posterior samples: the factor was overwritten by the inverse"
            raise UserError(f"{what}; allowed: samples before variances")
        system, rows, grid = self._system, self._system.shape[0], self._system.grid
        count = max(count, grid[1])
        block = system.block, min(system.block, count // grid[1])
        draws = craton.ConvergentMatrix(system.world, rows, count, dtype=system.dtype, block=block, grid=grid)
        own_rows = np.asarray(draws.local_rows_global)
        for own, column in enumerate(np.asarray(draws.local_cols_global)):
            noise = np.random.default_rng([seed, SAMPLES_STREAM, int(column)]).standard_normal(rows)
            draws.local[:, own] = noise[own_rows]
        draws.commit()
        self._factor.solve_factor(draws)
        return draws

    # ------------------------------------------------------------------------------------------------- elements of A^-1

    def invert(self) -> None:
        """The factor becomes the inverse, in place; a second call does nothing. 2 n^3 / 3 flops."""
        if not self._inverted:
            self._factor.invert()
            self._inverted = True

    def covariances(self, left: Rows, right: Rows) -> f64:
        """left[p] . A^-1 right[p] for every p: variances where both are the same. Inverts."""
        self.invert()
        return quadratic_forms(self._system, left, right, self._comm)

    def variances(self, rows: Rows) -> f64:
        """Variances of linear combinations of coefficients. Inverts."""
        return self.covariances(rows, rows)

    def variance(self) -> f64:
        """Variance of each coefficient. Inverts."""
        self.invert()
        return np.asarray(self._factor.inverse_diagonal())

    def resolution_diagonal(self) -> f64:
        """R[i, i] = 1 - sum_j A^-1[i, j] C_m^-1[j, i]: for each coefficient the part of it that the data determine. Inverts.

        Its sum is the trace, the number of parameters that the data resolve.
        """
        self.invert()
        own = np.zeros(self._system.order)
        for held in self._system.triangle:
            for part in self.prior.parts:
                for r, c, elements in part.own_elements(held):
                    products = held.local[np.ix_(r, c)].astype(np.float64) * elements
                    products[~held.taken(r, c)] = 0.0
                    own[held.rows[r]] += products.sum(axis=1)
                    products[held.rows[r][:, None] == held.cols[c]] = 0.0
                    own[held.cols[c]] += products.sum(axis=0)
        self._system.world.barrier()  # who waits here answers those that still read elements of a prior that is dealt
        return 1.0 - self.prior.scale * summed(own, self._comm)


def quadratic_forms(matrix: SymmetricMatrix, left: Rows, right: Rows, comm: MPI.Comm) -> f64:
    """Collective: left[p] . M right[p] for every p.

    Rows have few elements: for each pair of them one of M's is read, where it lies. Nothing but the results is communicated.
    """
    if left.shape != right.shape or left.shape[1] != matrix.shape[0]:
        raise UserError(
            f"quadratic forms: rows of shape {left.shape} and {right.shape} for a matrix of order {matrix.shape[0]}; allowed: "
            "as many rows, each as long as the matrix"
        )
    own = np.zeros(left.shape[0])
    for held in matrix.triangle:
        rows, cols = held.rows, held.cols
        left_rows, right_rows = left[:, rows], right[:, rows]
        left_cols, right_cols = left.tocsc()[:, cols], right.tocsc()[:, cols]
        for some in chunks(len(rows), len(cols)):
            triangle = held.local[:, some].astype(np.float64)
            triangle[~held.taken(cols=some)] = 0.0
            add_products(own, left_rows, triangle, right_cols[:, some])
            triangle[rows[:, None] == cols[some]] = 0.0  # the mirror image of what is beside the diagonal
            add_products(own, right_rows, triangle, left_cols[:, some])
    return summed(own, comm)


def add_products(sums: f64, left: Rows, block: f64, right: Any) -> None:
    """sums[p] += left[p] . block right[p], where right[p] is not empty."""
    touched = np.unique(right.indices)
    if len(touched):
        sums[touched] += np.asarray(right.tocsr()[touched].multiply(left[touched] @ block).sum(axis=1)).ravel()


def placed(rows: Rows, block: ParameterBlock, order: int) -> Rows:
    """Rows of a block as rows of the whole model."""
    parts = (rows.data, rows.indices + block.offset, rows.indptr)
    return scipy.sparse.csr_matrix(parts, shape=(rows.shape[0], order))


def trade_off(posterior: Posterior, rows: Rows) -> f64:
    """Collective: posterior covariance of a few combinations with each other, shape (rows, rows): n^2 flops each."""
    dense = rows.toarray()
    columns = [posterior.covariance_times(row) for row in dense]
    covariance = dense @ np.stack(columns, axis=1)
    return np.asarray(0.5 * (covariance + covariance.T))


def correlation_of(covariance: f64) -> f64:
    """Correlations from covariances."""
    deviation = np.sqrt(np.diag(covariance))
    return np.asarray(covariance / np.outer(deviation, deviation))
