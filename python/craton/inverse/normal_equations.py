"""Systems (H + d 1 + M) x = b: H a distributed Hessian, d a damping, M a prior's matrix that is known by its elements and products.

The left-hand side is factored in a copy of H, one of three ways ([inversion] solve_precision):

    refined    in float32, and each solution refined in float64 by conjugate gradients that the factor preconditions. H stays in
               its own precision and M in float64, so what is solved is the system itself and not its rounding to float32. They end
               when the residual is as small as a float64 factorisation leaves it. Where float32 does not carry the factor, or the
               residual does not get there in MOST_STEPS, the factor is made again in float64.
    float64    in float64.
    float32    in float32, as it is: about six digits at best.

A float32 factor of the symmetric matrix takes a third of the memory of the copy in float64, and half of the time (Higham 2002,
sections 12.1 and 12.2; Carson & Higham 2017, SIAM J. Sci. Comput. 39, A2834, for preconditioned steps in the place of plain ones).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray

from craton import SymmetricMatrix, linalg
from craton.errors import UserError

f64 = NDArray[np.float64]


class Solves(Protocol):
    """A factor of a matrix. Collective, blocking."""

    def solve(self, rhs: f64) -> f64:
        """The solution, whole on every rank."""


Times = Callable[[f64], f64]
AddTo = Callable[[SymmetricMatrix], None]

MOST_STEPS = 40
"""Of conjugate gradients. Three to seven are usual; a system that needs more is better factored in float64."""
ROUNDING = float(np.finfo(np.float64).eps)


@dataclass
class NormalEquations:
    """H and the damping; the prior's matrix is what systems of them differ by."""

    hessian: SymmetricMatrix
    """Committed; it is left as it is unless `stored_times` is given."""
    comm: MPI.Comm
    """The ranks of its world."""
    way: str = "refined"
    damping: float = 0.0
    """Added to the diagonal, as a fraction of its mean."""
    say: Callable[[str], None] = lambda _: None
    """Tells rank 0's user where another way had to be taken."""
    stored_times: Times | None = None
    """H v from where else H is kept; the factor then takes the place of H in its own memory and precision."""
    told: str = ""
    """How the last system was solved."""
    damped: int | None = None
    """How many unknowns, the first ones, are damped; None: all."""
    threads: int = 1
    """Of each rank, where BLAS does not bring its own."""
    when_factored: Callable[[], None] = lambda: None
    """Called while the system and its factor are in memory."""

    @property
    def amount(self) -> float:
        """What damping adds to the diagonal. Collective."""
        if not self.damping:
            return 0.0
        return self.damping * float(np.mean(self.hessian.diagonal()[: self.damped], dtype=np.float64))

    def factored(self, add_to: AddTo, times: Times) -> Factored:
        """Collective. add_to: adds M to a matrix; times: M v. UserError where the left-hand side is not positive definite."""
        return Factored(self, add_to, times)


class Factored:
    """A factor of the left-hand side. All calls are collective and blocking; vectors are the same on every rank."""

    def __init__(self, equations: NormalEquations, add_to: AddTo, times: Times) -> None:
        self.equations, self._add_to, self._times = equations, add_to, times
        hessian = equations.hessian
        self._damping = equations.amount
        in_place = equations.stored_times is not None
        dtype = hessian.dtype.name if in_place else "float64" if equations.way == "float64" else "float32"
        self._refines = equations.way == "refined" and dtype == "float32"
        self._largest = 0.0
        self._factor: Solves | None = None
        why = ""
        try:
            self._factorise(dtype)
        except UserError as problem:
            if not self._refines:
                raise
            why = str(problem)
        if why:  # not before: the exception keeps the first copy alive
            self._change_to_float64(f"float32 does not carry the factor ({why})")

    def solve(self, right_hand_side: f64) -> f64:
        """X of the system, bit for bit the same on every rank."""
        right_hand_side = np.ascontiguousarray(right_hand_side, np.float64)
        if self._refines and right_hand_side.any():
            found = conjugate_gradients(self.apply, self._by_factor, right_hand_side, self._of_rounding, MOST_STEPS)
            if found is not None:
                self.equations.told = f"float32, refined in {found.steps} steps"
                return self._agreed(found.solution)
            self._change_to_float64(f"the residual is still large after {MOST_STEPS} refinements of a float32 factor")
        return self._agreed(self._by_factor(right_hand_side))

    def apply(self, vector: f64) -> f64:
        """(H + d 1 + M) v, in float64."""
        vector = np.ascontiguousarray(vector)
        product = self._hessian_times(vector)
        damped = vector if self.equations.damped is None else vector * (np.arange(len(vector)) < self.equations.damped)
        return np.asarray(product) + self._damping * damped + self._prior_times(vector)

    def _hessian_times(self, vector: f64) -> f64:
        """H v, in float64."""
        stored = self.equations.stored_times
        return np.asarray(linalg.matvec(self.equations.hessian, vector)) if stored is None else stored(vector)

    def _prior_times(self, vector: f64) -> f64:
        """M v."""
        return self._times(vector)

    def _factor_of(self, system: SymmetricMatrix) -> Solves:
        """A factor, for which the system may be overwritten."""
        return linalg.Cholesky(system)

    def _by_factor(self, vector: f64) -> f64:
        """What the factor alone makes of a right-hand side. A factor in float32 gets one that float32 has room for."""
        assert self._factor is not None
        size = float(np.max(np.abs(vector)))
        return size * np.asarray(self._factor.solve(vector / size)) if size else np.zeros_like(vector)

    def _of_rounding(self, residual: f64, solution: f64) -> float:
        """A residual relative to eps |A| |x|, which is what rounding makes; |A| from below, as its largest diagonal element."""
        size = ROUNDING * self._largest * inner(solution, solution) ** 0.5
        return float(self.equations.comm.bcast(inner(residual, residual) ** 0.5 / size if size else np.inf))

    def _factorise(self, dtype: str) -> None:
        self._factor = self._factor_of(self._system(dtype))
        self.equations.told = dtype
        self.equations.when_factored()

    def _system(self, dtype: str) -> SymmetricMatrix:
        """The left-hand side."""
        hessian = self.equations.hessian
        system = hessian.copy(dtype) if self.equations.stored_times is None else hessian
        self._add_to(system)
        add_to_diagonal(system, self._damping, self.equations.damped)
        self._largest = float(np.max(np.abs(system.diagonal())))
        return system

    def _change_to_float64(self, why: str) -> None:
        if self.equations.stored_times is not None:
            raise UserError(
                f"equation 2: {why}; allowed: [inversion] in_place = false, which has memory for a factor in float64"
            )
        self.equations.say(f"equation 2: {why}; it is factored in float64, which takes twice the memory")
        self._refines, self._factor = False, None
        self._factorise("float64")

    def _agreed(self, vector: f64) -> f64:
        """Rank 0's."""
        vector = np.ascontiguousarray(vector)
        self.equations.comm.Bcast(vector)
        return vector


def add_to_diagonal(system: SymmetricMatrix, amount: float, first: int | None = None) -> None:
    """Adds to each element of the diagonal, or to the first ones. Local; call it on every rank."""
    if amount:
        for part in system.triangle:
            both, rows, cols = np.intersect1d(part.rows, part.cols, assume_unique=True, return_indices=True)
            mine = both < (system.order if first is None else first)
            part.local[rows[mine], cols[mine]] += amount


def inner(one: f64, other: f64) -> float:
    """Summed in one order, whatever threads a BLAS would take."""
    return float(np.sum(one * other))


@dataclass(frozen=True)
class Refined:
    """What conjugate gradients have come to."""

    solution: f64
    steps: int


def conjugate_gradients(
    apply: Times, precondition: Times, right_hand_side: f64, of_rounding: Callable[[f64, f64], float], most: int
) -> Refined | None:
    """The solution of apply(x) = right_hand_side; None where it takes more than `most` steps.

    apply and precondition are symmetric and positive definite. of_rounding(residual, x) is a residual's size relative to one
    rounding error. The residual that steps carry along falls below any bound, while the true one, which they drift from, stays at
    some rounding errors, of a float64 factor too. So steps go on until the former is below one; they begin anew where the latter is
    then above the root of n, LAPACK's bound for its refined solutions (dsposv).
    """
    enough = float(np.sqrt(len(right_hand_side)))
    solution, residual, steps = np.zeros_like(right_hand_side), right_hand_side, 0
    while steps < most:
        direction = preconditioned = precondition(residual)
        along = inner(residual, preconditioned)
        while steps < most:
            steps += 1
            image = apply(direction)
            length = along / inner(direction, image)
            solution = solution + length * direction
            residual = residual - length * image
            if of_rounding(residual, solution) <= 1.0:
                break
            preconditioned = precondition(residual)
            along, before = inner(residual, preconditioned), along
            direction = preconditioned + (along / before) * direction
        residual = right_hand_side - apply(solution)
        if of_rounding(residual, solution) <= enough:
            return Refined(solution, steps)
    return None
