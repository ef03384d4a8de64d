"""Where integrals, J and K come from, for matrices in one process."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from craton._craton import FockBuilder, GaussianBasis, IntegralLibrary, electronic_gradient, nuclear_gradient
from craton.scf.basis_sets import PlacedShell, basis_of_shells
from craton.scf.core_potentials import CorePotential, CorePotentials
from craton.scf.engines.algebra import NumpyAlgebra
from craton.scf.engines.fitting import FittedFock
from craton.scf.molecule import Molecule

if TYPE_CHECKING:
    from craton.scf.files.checkpoint import Checkpoint

Matrix = NDArray[np.float64]


class LocalEngine:
    """NumPy matrices, threads of this process. DistributedEngine has the same members for matrices over many ranks."""

    def __init__(
        self,
        library: IntegralLibrary,
        basis: GaussianBasis,
        threshold: float,
        threads: int,
        integral_bytes: int,
        auxiliary: GaussianBasis | None = None,
    ) -> None:
        """`auxiliary`: functions that fit densities; None: nothing is fitted."""
        self.algebra = NumpyAlgebra()
        self._library, self._basis = library, basis
        self._threshold, self._threads = threshold, threads
        self._potentials: CorePotentials | None = None
        self._builder: FockBuilder | FittedFock
        if auxiliary is None:
            self._builder = FockBuilder(library, basis, threshold, threads, integral_bytes=integral_bytes)
        else:
            self._builder = FittedFock(basis, auxiliary, threads)
        self.order = np.arange(basis.size)

    def overlap(self) -> Matrix:
        """Overlap of all functions."""
        return self._library.overlap(self._basis)

    def core(self) -> Matrix:
        """Kinetic energy, attraction by the nuclei, and core potentials."""
        found = self._library.kinetic(self._basis) + self._library.nuclear_attraction(self._basis)
        if self._potentials is not None:
            every = (0, self._basis.shell_count)
            found += self._potentials.block(every, every)
        return found

    def set_core_potentials(self, molecule: Molecule, potentials: Mapping[str, CorePotential]) -> None:
        """core() has them from now on."""
        self._potentials = CorePotentials(molecule, self._basis, potentials)

    def positions(self) -> Iterator[Matrix]:
        """x, y and z about the origin."""
        yield from self._library.position(self._basis)

    def matrix(self) -> Matrix:
        """A new one over the functions; zeros."""
        return np.zeros((self._basis.size,) * 2)

    def build(self, densities: Sequence[Matrix]) -> tuple[Matrix, list[Matrix]]:
        """J of the sum of symmetric densities, K of each."""
        coulomb, exchange = self._builder.build(np.ascontiguousarray(densities, dtype=np.float64))
        return coulomb, list(exchange)

    def add_repulsion(self, densities: Sequence[Matrix], exchange_part: float, into: Sequence[Matrix]) -> None:
        """Adds J of the sum of symmetric densities, less so much of K of each, to a matrix for each."""
        coulomb, exchange = self.build(densities)
        for to, each in zip(into, exchange, strict=True):
            self.algebra.combine(to, [(1.0, coulomb), (-exchange_part, each)], keep=1.0)

    def gradient(self, densities: Sequence[Matrix], weighted: Matrix, exchange_part: float) -> Matrix:
        """Derivative of the energy by the nuclei's positions, (atoms, 3); as _craton.electronic_gradient, with the nuclei's own."""
        found = electronic_gradient(
            self._library,
            self._basis,
            np.ascontiguousarray(densities, dtype=np.float64),
            np.ascontiguousarray(weighted, dtype=np.float64),
            exchange_part,
            self._threshold,
            self._threads,
        )
        return np.asarray(found + nuclear_gradient(self._basis))

    @property
    def quartets(self) -> int:
        """Shell quartets whose integrals the last build computed, or read where they are kept."""
        return self._builder.counts["quartets"]

    def block_diagonal(self, blocks: Sequence[Matrix]) -> Matrix:
        """A matrix of a block for each atom."""
        return np.asarray(scipy.linalg.block_diag(*blocks))

    def whole(self, matrix: Matrix) -> Matrix:
        """All of a matrix, as a NumPy array in the order of the basis."""
        return matrix

    def taken(self, matrix: Matrix) -> Matrix:
        """A matrix of the engine from a NumPy array of all functions, which is left alone."""
        return matrix.copy()

    def taken_as_stored(self, matrix: Matrix) -> Matrix:
        """A matrix of the engine from a NumPy array over other functions, in their own order."""
        return matrix.copy()

    def overlap_with(self, molecule: Molecule, shells: list[PlacedShell], others: list[PlacedShell]) -> Matrix:
        """Overlap of the functions of `shells` (rows) with others at the same molecule, in their own order."""
        both = basis_of_shells(molecule, [*shells, *others])
        return self._library.overlap(both)[: self._basis.size, self._basis.size :]

    def columns(self, matrix: Matrix, first: int, last: int) -> Matrix:
        """Some, as a NumPy array with the functions in the order of the basis."""
        return matrix[:, first:last]

    def row_dots(self, a: Matrix, b: Matrix) -> NDArray[np.float64]:
        """The product of each function's rows in two matrices."""
        return np.asarray(np.einsum("ij,ij->i", a, b))

    def agreed(self, number: float) -> float:
        """The number of rank 0, on all ranks."""
        return number

    def write(self, checkpoint: Checkpoint, path: Path) -> None:
        """UserError where it cannot be written."""
        checkpoint.write(path)
