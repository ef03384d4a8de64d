"""Direct inversion in the iterative subspace (P. Pulay, J. Comput. Chem. 3, 556, 1982)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


class DIIS:
    """The combination of the last Fock matrices whose error vectors, added up alike, are shortest."""

    def __init__(self, room: int = 8) -> None:
        self.room = room
        self._focks: list[NDArray[np.float64]] = []
        self._errors: list[NDArray[np.float64]] = []

    def update(self, fock: NDArray[np.float64], error: NDArray[np.float64]) -> NDArray[np.float64]:
        """Takes the newest Fock matrix and its error; returns the extrapolated one."""
        self._focks = [*self._focks, fock][-self.room :]
        self._errors = [*self._errors, error][-self.room :]
        return sum(c * f for c, f in zip(self._coefficients(), self._focks, strict=True))

    def _coefficients(self) -> NDArray[np.float64]:
        count = len(self._errors)
        products = np.array([[np.vdot(a, b) for b in self._errors] for a in self._errors])
        scale = products.diagonal().max()
        if scale == 0:  # nothing to improve
            return np.eye(count)[-1]
        bordered = np.zeros((count + 1, count + 1))
        bordered[:count, :count] = products / scale
        bordered[count, :count] = bordered[:count, count] = 1
        target = np.zeros(count + 1)
        target[count] = 1
        # old errors may be many orders longer than the newest: least squares leaves out what rounding made dependent
        return np.linalg.lstsq(bordered, target, rcond=1e-15)[0][:count]
