"""Where integrals, J and K come from, for matrices in one process."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from craton._craton import FockBuilder, GaussianBasis, IntegralLibrary
from craton.scf.algebra import NumpyAlgebra

Matrix = NDArray[np.float64]


class LocalEngine:
    """NumPy matrices, threads of this process. Has what iterations need of an engine: `algebra`, overlap(), core(), build(),
    quartets."""

    def __init__(self, library: IntegralLibrary, basis: GaussianBasis, threshold: float, threads: int) -> None:
        self.algebra = NumpyAlgebra()
        self._library, self._basis = library, basis
        self._builder = FockBuilder(library, basis, threshold, threads)

    def overlap(self) -> Matrix:
        return self._library.overlap(self._basis)

    def core(self) -> Matrix:
        """Kinetic energy and attraction by the nuclei."""
        return self._library.kinetic(self._basis) + self._library.nuclear_attraction(self._basis)

    def build(self, densities: Sequence[Matrix]) -> tuple[Matrix, list[Matrix]]:
        """J of the sum of symmetric densities, K of each."""
        coulomb, exchange = self._builder.build(np.ascontiguousarray(densities, dtype=np.float64))
        return coulomb, list(exchange)

    @property
    def quartets(self) -> int:
        """Of shells, of which the last build has computed integrals."""
        return self._builder.counts["quartets"]
