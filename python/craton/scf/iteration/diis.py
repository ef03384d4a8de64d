"""Direct inversion in the iterative subspace (P. Pulay, J. Comput. Chem. 3, 556, 1982)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton.described import Described
from craton.scf.engines.algebra import NumpyAlgebra


class DIIS(Described):
    """The combination of the last Fock matrices whose error vectors, added up alike, are shortest.

    Matrices of several spins count as one long vector.
    """

    def __init__(self, room: int = 8, algebra: Any = None) -> None:
        self.room = room
        self._algebra = algebra or NumpyAlgebra()
        self._focks: list[list[Any]] = []
        self._errors: list[list[Any]] = []
        self._products = np.zeros((0, 0))

    def _facts(self) -> dict[str, object]:
        return {"matrices": f"{len(self._products)} of at most {self.room}"}

    def update(self, focks: Sequence[Any], errors: Sequence[Any], into: Sequence[Any] | None = None) -> list[Any]:
        """Takes over the newest Fock matrix of each spin and its error; returns the extrapolated ones, in `into` or in new ones.

        Matrices that are too old go back to the algebra's work arrays.
        """
        self._focks.append(list(focks))
        self._errors.append(list(errors))
        while len(self._focks) > self.room:
            self._algebra.give(*self._focks.pop(0), *self._errors.pop(0))
        self._extend_products()
        coefficients = self._coefficients()
        found = [self._algebra.take(each) for each in focks] if into is None else list(into)
        for spin, each in enumerate(found):
            kept = [matrices[spin] for matrices in self._focks]
            self._algebra.combine(each, [(float(c), f) for c, f in zip(coefficients, kept, strict=True)])
        return found

    def _extend_products(self) -> None:
        """Inner products of all errors with each other, of which only those with the newest are not known."""
        count, newest = len(self._errors), self._errors[-1]
        products = np.empty((count, count))
        products[:-1, :-1] = self._products[len(self._products) - count + 1 :, len(self._products) - count + 1 :]
        found = self._algebra.inner([(a, b) for each in self._errors for a, b in zip(each, newest, strict=True)])
        products[:, -1] = products[-1, :] = np.reshape(found, (count, -1)).sum(axis=1)
        self._products = products

    def _coefficients(self) -> NDArray[np.float64]:
        count = len(self._errors)
        scale = self._products.diagonal().max()
        if scale == 0:  # nothing to improve
            return np.asarray(np.eye(count)[-1])
        bordered = np.zeros((count + 1, count + 1))
        bordered[:count, :count] = self._products / scale
        bordered[count, :count] = bordered[:count, count] = 1
        target = np.zeros(count + 1)
        target[count] = 1
        # old errors may be many orders longer than the newest: least squares leaves out what rounding made dependent
        return np.asarray(np.linalg.lstsq(bordered, target, rcond=1e-15)[0][:count], dtype=np.float64)
