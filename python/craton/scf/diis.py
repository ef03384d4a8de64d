"""Direct inversion in the iterative subspace (P. Pulay, J. Comput. Chem. 3, 556, 1982)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton.scf.algebra import NumpyAlgebra


class DIIS:
    """The combination of the last Fock matrices whose error vectors, added up alike, are shortest. Matrices of several spins count
    as one long vector."""

    def __init__(self, room: int = 8, algebra: Any = None) -> None:
        self.room = room
        self._algebra = algebra or NumpyAlgebra()
        self._focks: list[list[Any]] = []
        self._errors: list[list[Any]] = []
        self._products = np.zeros((0, 0))

    def update(self, focks: Sequence[Any], errors: Sequence[Any]) -> list[Any]:
        """Takes the newest Fock matrix of each spin and its error; returns the extrapolated ones."""
        self._focks = [*self._focks, list(focks)][-self.room :]
        self._errors = [*self._errors, list(errors)][-self.room :]
        self._extend_products()
        coefficients = self._coefficients()
        return [
            sum((float(c) * f for c, f in zip(coefficients[1:], row[1:], strict=True)), float(coefficients[0]) * row[0])
            for row in zip(*self._focks, strict=True)
        ]

    def _extend_products(self) -> None:
        """Inner products of all errors with each other, of which only those with the newest are not known."""
        count, newest = len(self._errors), self._errors[-1]
        products = np.empty((count, count))
        products[:-1, :-1] = self._products[len(self._products) - count + 1 :, len(self._products) - count + 1 :]
        for n, each in enumerate(self._errors):
            pairs = zip(each, newest, strict=True)
            products[n, -1] = products[-1, n] = sum(self._algebra.dot(a, b) for a, b in pairs)
        self._products = products

    def _coefficients(self) -> NDArray[np.float64]:
        count = len(self._errors)
        scale = self._products.diagonal().max()
        if scale == 0:  # nothing to improve
            return np.eye(count)[-1]
        bordered = np.zeros((count + 1, count + 1))
        bordered[:count, :count] = self._products / scale
        bordered[count, :count] = bordered[:count, count] = 1
        target = np.zeros(count + 1)
        target[count] = 1
        # old errors may be many orders longer than the newest: least squares leaves out what rounding made dependent
        return np.linalg.lstsq(bordered, target, rcond=1e-15)[0][:count]
