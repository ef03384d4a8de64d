"""Orthonormal functions in the space of a basis: Fock matrices, errors and projectors are those among them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from craton.scf.iteration.purification import write_projector


class OrthonormalFunctions:
    """X with X^T S X = 1: eigenvectors of the overlap S, those that nearly depend on others left out."""

    def __init__(self, overlap: Any, linear_dependence: float, algebra: Any) -> None:
        """linear_dependence: eigenvalues of the overlap below it are left out."""
        self._algebra = algebra
        values, vectors = algebra.eigh(overlap)
        kept = values > linear_dependence
        self.count = int(kept.sum())
        """How many there are."""
        self.matrix = algebra.scaled_columns(vectors, np.where(kept, 1 / np.sqrt(np.where(kept, values, 1)), 0))
        """(n, orthonormal functions); fewer columns than n where some were left out at an end of the spectrum."""
        algebra.give(vectors)

    def inside(self, matrix: Any, functions: Any = None) -> Any:
        """X^T M X, or of other `functions` as many as X has, in a work array."""
        algebra = self._algebra
        used = self.matrix if functions is None else functions
        size = used.shape[1]
        found = algebra.take(self.matrix, (size, size))
        with algebra.work(used) as [half]:
            algebra.product(matrix, used, half)
            algebra.product(used, half, found, transpose_a=True)
        return found

    def projectors(self, densities: Sequence[Any], overlap: Any) -> list[Any]:
        """P = X^T S D S X of each D = X P X^T."""
        algebra = self._algebra
        with algebra.work(self.matrix) as [dual]:
            algebra.product(overlap, self.matrix, dual)
            return [self.inside(each, dual) for each in densities]

    def error(self, fock: Any, projector: Any) -> Any:
        """F P - P F, in a work array: X^T (F D S - S D F) X, 0 where the density is of the Fock matrix's own orbitals."""
        algebra = self._algebra
        error = algebra.take(fock)
        with algebra.work(fock) as [turned]:
            algebra.product(fock, projector, error)
            algebra.transpose(error, turned)
            algebra.combine(error, [(-1.0, turned)], keep=1.0)
        return error

    def fill(
        self,
        focks: Sequence[Any],
        occupied: Sequence[int],
        weight: float,
        method: str,
        projectors: Sequence[Any],
        densities: Sequence[Any],
    ) -> None:
        """`projectors` and `densities` become those of the lowest orbitals of `focks`, each with `weight` electrons.

        method: as write_projector. UserError as purification.
        """
        algebra = self._algebra
        for fock, count, projector, density in zip(focks, occupied, projectors, densities, strict=True):
            write_projector(fock, count, method, algebra, projector)
            algebra.combine(projector, [], keep=weight)
            with algebra.work(self.matrix) as [half]:
                algebra.product(self.matrix, projector, half)
                algebra.product(half, self.matrix, density, transpose_b=True)
            make_symmetric(density, algebra)


def make_symmetric(density: Any, algebra: Any) -> None:
    """Makes a matrix symmetric to the last bit."""
    with algebra.work(density) as [turned]:
        algebra.transpose(density, turned)
        algebra.combine(density, [(0.5, turned)], keep=0.5)
