"""Equation 2 solved with sums of one order: the same bits, however many ranks have assembled the Hessian and share the work.

A factorisation by panels sums in blocks that follow from the number of ranks. Here the Hessian's copies lie in tiles of a fixed
size (linalg.OrderedSymmetric). Over all ranks they take half of order^2 elements of float64, and as much again, or half of that in
float32, for the factor.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from craton import SymmetricMatrix, linalg
from craton.inverse.normal_equations import AddTo, Factored, NormalEquations, Solves, Times

f64 = NDArray[np.float64]


class EquationsInOneOrder(NormalEquations):
    """As NormalEquations."""

    def factored(self, add_to: AddTo, times: Times) -> FactoredInOneOrder:
        """As NormalEquations says."""
        assert self.stored_times is None  # the factor is made of a copy
        return FactoredInOneOrder(self, add_to, times)


class FactoredInOneOrder(Factored):
    """As Factored."""

    def __init__(self, equations: NormalEquations, add_to: AddTo, times: Times) -> None:
        self._hessian: linalg.OrderedSymmetric | None = None
        super().__init__(equations, add_to, times)

    def solve(self, right_hand_side: f64) -> f64:
        """As Factored says."""
        found = super().solve(self._agreed(right_hand_side))
        self.equations.told += ", in one order"
        return found

    def _hessian_times(self, vector: f64) -> f64:
        if self._hessian is None:
            self._hessian = linalg.OrderedSymmetric(self.equations.hessian, self.equations.threads)
        return self._hessian.matvec(vector)

    def _prior_times(self, vector: f64) -> f64:
        return self._agreed(super()._prior_times(vector))

    def _factor_of(self, system: SymmetricMatrix) -> Solves:
        copy = linalg.OrderedSymmetric(system, self.equations.threads)
        del system  # nobody else has it
        return copy.factorise()

    def _change_to_float64(self, why: str) -> None:
        self._hessian = None  # what is left is not refined
        super()._change_to_float64(why)
