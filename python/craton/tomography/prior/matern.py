"""The Matern prior: dlnVs at the model's knots is strength times a Matern field (matern_field.py), splines in between.

    C_m = T^-1 s C_w s T^-T     T: coefficients -> dlnVs at the knots;  s: strength(r);  C_w: the field's correlation

Coefficients are not the field: splines overlap, and a covariance given to coefficients would make a smoother field of
another variance. With T^-1 both are right at every knot.

C_m is known by its products (two Helmholtz solves each), its inverse not at all. Equation 2 for u = m - m^p = C_m y reads

    (H C_m + 1) y = G^T C_d^-1 (d - g) + H u^i

Let P be a sum of Kronecker products near C_m^-1 (matern_near.py), and F = (H + P)^-1, which Cholesky's factor applies as
in the Gaussian prior. F is the preconditioner; with y = P v, and because H = F^-1 - P, no product with H is needed either:

    g + F P (v - g) = u^i + F (G^T C_d^-1 (d - g) - P u^i),        g = C_m P v

Fifteen steps of GMRES or so, in the norm of P, solve that; the solution does not depend on P. Conjugate gradients
preconditioned by C_m alone need thousands, because the data outweigh the prior by orders of magnitude.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from rich.console import Console

from craton import SymmetricMatrix
from craton._craton import ModelBasis, World
from craton.errors import UserError
from craton.inverse.blocks import ParameterBlock
from craton.inverse.normal_equations import NormalEquations
from craton.inverse.parts import Independent
from craton.inverse.prior import Step
from craton.runs.progress import ProgressBar
from craton.tomography.config.prior import PriorConfig
from craton.tomography.model.parameters import only_block
from craton.tomography.prior.gaussian import of_radius
from craton.tomography.prior.matern_field import KnotSplines, MaternField
from craton.tomography.prior.matern_near import near_precision

f64 = NDArray[np.float64]

TOLERANCE = 1e-6
"""Residual of a step, in the prior's norm, relative to the right-hand side."""
MOST_STEPS = 300


class MaternPrior:
    """Made, and asked for products and steps, by all ranks together; the constructor solves two Helmholtz problems."""

    steps: list[tuple[int, float]]
    """Steps of GMRES and their last residual, for each solution so far."""

    def __init__(
        self,
        basis: ModelBasis,
        config: PriorConfig,
        world: World,
        comm: MPI.Comm,
        console: Console | None = None,
        threads: int = 1,
        mean: f64 | None = None,
    ) -> None:
        """threads: of each rank. mean: m^p; None: 0.

        console: where rank 0 says what grid this takes and how far a solution is, None for nowhere.
        """
        self._comm, self._console, self._config = comm, console if comm.rank == 0 else None, config
        self.blocks: tuple[ParameterBlock, ...] = (only_block(basis),)
        self.mean = np.zeros(basis.size) if mean is None else mean
        self._splines_size = basis.size
        self._corrections: Independent | None = None
        self.steps = []
        knots_m, self._splines = np.asarray(basis.radial_knots_m), KnotSplines(basis)
        self.field = MaternField(world, comm, self._splines.points_km, config.one_length_km, config.cells, threads)
        self._strength = of_radius(config.strength)(knots_m)
        self.approximation = near_precision(
            self.blocks[0], self._splines, knots_m / 1e3, self._strength, config.one_length_km
        )
        carried = 1.0 - float(np.mean(self.field.unresolved))
        self._say(
            f"Matern prior: correlation_km = {config.one_length_km:g} on a grid of {self.field.cells}^3 cells of "
            f"{self.field.cell_km:.0f} km, which carries {100 * carried:.0f}% of the variance"
        )

    def with_corrections(self, part: Independent) -> MaternPrior:
        """The same prior, and the part's unknowns behind its own."""
        found = copy.copy(self)
        found._corrections, found.blocks = part, (*self.blocks, part.block)
        found.mean = np.concatenate([self.mean, np.zeros(part.block.size)])
        return found

    def _say(self, text: str) -> None:
        if self._console is not None:
            self._console.print(text, highlight=False, markup=False, soft_wrap=True)

    # ------------------------------------------------------------------------------------------------------- products

    def covariance_times(self, weights: f64) -> f64:
        """C_m y."""
        own, more = np.split(weights, [self._splines_size])
        structure = self.root_times(*self.root_transposed_times(own))
        if self._corrections is None:
            return structure
        return np.concatenate([structure, self._corrections.covariance_times(more)])

    def root_times(self, own_noise: f64, knot_noise: f64) -> f64:
        """L of C_m = L L^T: a draw of the prior, where the arguments are standard normal (see MaternField.root_times)."""
        field = self.field.root_times(own_noise, knot_noise).reshape(-1, len(self._strength))
        return self._splines.solve(field * self._strength)

    def root_transposed_times(self, weights: f64) -> tuple[f64, f64]:
        """L^T."""
        field = self._splines.solve_transposed(weights) * self._strength
        return self.field.root_transposed_times(field.ravel())

    # ----------------------------------------------------------------------------------------------------- equation 2

    def step(self, equations: NormalEquations, gradient: f64, model: f64) -> Step:
        """Collective: dm of equation 2."""
        precision = self.near_precision_times
        solved = equations.factored(self.add_near_precision, precision).solve

        def apply(vector: f64, weights: f64) -> f64:
            smooth = self.covariance_times(weights)
            return smooth + solved(precision(vector - smooth))

        start = model - self.mean
        right_hand_side = start + solved(gradient - precision(start))
        with ProgressBar("Matern prior", MOST_STEPS, "steps", self._console) as bar:
            found = gmres(apply, right_hand_side, precision, lambda *state: self._go_on(bar, *state))
        weights = precision(found)
        return Step(self._agreed(self.covariance_times(weights)) - start, weights)

    def near_precision_times(self, vector: f64) -> f64:
        """P v, near C_m^-1 v."""
        own, more = np.split(vector, [self._splines_size])
        structure = self.approximation.times(own)
        if self._corrections is None:
            return structure
        return np.concatenate([structure, self._corrections.precision_times(more)])

    def add_near_precision(self, system: SymmetricMatrix) -> None:
        """Adds P. Call it on every rank."""
        self.approximation.add_to(system)
        if self._corrections is not None:
            self._corrections.add_to(system, 1.0)

    def _go_on(self, bar: ProgressBar, steps: int, residual: float) -> bool:
        """What rank 0 finds: nobody may go on alone. The total shown is what the rate of convergence so far makes likely."""
        residual = self._comm.bcast(residual)
        done = residual <= TOLERANCE
        likely = steps * np.log(TOLERANCE) / np.log(min(residual, 0.9)) if residual > 0.0 else steps
        bar.update(steps, steps if done else max(int(np.ceil(likely)), steps + 1))
        if not done and steps >= MOST_STEPS:
            raise UserError(
                f'[prior] correlation_km = {self._config.one_length_km:g} with kind = "matern": the residual of '
                f"equation 2 is {residual:.1e} after {steps} steps; allowed: {TOLERANCE:g}, which shorter correlation "
                "lengths or weaker strengths come to"
            )
        if done:
            self.steps.append((steps, residual))
            self._say(f"Matern prior: {steps} steps to a residual of {residual:.1e}")
        return not done

    def _agreed(self, vector: f64) -> f64:
        """Rank 0's: bit for bit the same on every rank."""
        vector = np.ascontiguousarray(vector)
        self._comm.Bcast(vector)
        return vector


def gmres(
    apply: Callable[[f64, f64], f64],
    right_hand_side: f64,
    metric: Callable[[f64], f64],
    go_on: Callable[[int, float], bool],
) -> f64:
    """The x of A x = b by GMRES without restarts (Saad & Schultz 1986, doi:10.1137/0907058), for a few dozen steps.

    Residuals are measured by r . M r, M symmetric positive definite: apply(v, M v) is A v, metric(v) is M v. After each step
    go_on(steps, residual as a fraction of b's) says whether another is wanted.
    """
    image = metric(right_hand_side)
    size = float(np.sqrt(right_hand_side @ image))
    if size == 0.0:
        return np.zeros_like(right_hand_side)
    basis, images = [right_hand_side / size], [image / size]
    hessenberg = np.zeros((1, 0))
    while True:
        product = apply(basis[-1], images[-1])
        column = np.zeros(len(basis) + 1)
        for _ in range(2):  # once more: rounding leaves the first pass not quite orthogonal
            for index, (vector, its_image) in enumerate(zip(basis, images, strict=True)):
                part = float(product @ its_image)
                product = product - part * vector
                column[index] += part
        image = metric(product)
        column[-1] = np.sqrt(max(float(product @ image), 0.0))
        steps = len(basis)
        hessenberg = np.column_stack([np.pad(hessenberg, ((0, 1), (0, 0))), column])
        first = np.eye(1, steps + 1)[0]
        weights = np.linalg.lstsq(hessenberg, first, rcond=None)[0]
        residual = float(np.linalg.norm(first - hessenberg @ weights))
        exhausted = column[-1] <= 1e-14 * np.linalg.norm(column)
        if not go_on(steps, residual) or exhausted:
            return np.asarray(size * (np.stack(basis, axis=1) @ weights))
        basis.append(product / column[-1])
        images.append(image / column[-1])
