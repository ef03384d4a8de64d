"""What the iterations ask of an engine and of its linear algebra, whatever a matrix is: a NumPy array of one process, or a
DistArray over the ranks of a world. LocalEngine and DistributedEngine are engines.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from craton.scf.basis_sets import PlacedShell
from craton.scf.files.checkpoint import Checkpoint
from craton.scf.molecule import Molecule

__all__ = ["Algebra", "Engine"]

Matrix = Any
Vector = NDArray[np.float64]


class Algebra(Protocol):
    """Linear algebra in matrices that are made once and used again. Collective over a world."""

    def take(self, like: Matrix, shape: tuple[int, ...] | None = None) -> Matrix:
        """A matrix to compute with; what it holds is not told."""

    def give(self, *matrices: Matrix) -> None:
        """To be taken again: nobody may look at them any more."""

    def work(self, like: Matrix, count: int = 1) -> AbstractContextManager[list[Matrix]]:
        """Taken, and given back at the end."""

    def forget(self) -> None:
        """Gives up what nobody has taken."""

    def product(
        self, a: Matrix, b: Matrix, into: Matrix, *, transpose_a: bool = False, transpose_b: bool = False
    ) -> None:
        """`into`, which is neither of them, becomes a b, of either or both the transpose."""

    def transpose(self, a: Matrix, into: Matrix) -> None:
        """`into`, which is another matrix, becomes the transpose of a."""

    def combine(
        self, into: Matrix, terms: Sequence[tuple[float, Matrix]], *, keep: float = 0.0, identity: float = 0.0
    ) -> None:
        """`into` becomes keep times itself, and the sum of factor * matrix, and identity * 1."""

    def inner(self, pairs: Sequence[tuple[Matrix, Matrix | None]]) -> list[float]:
        """Of each pair the sum of products of elements; of (a, None) the trace of a."""

    def eigh(self, a: Matrix) -> tuple[Vector, Matrix]:
        """Eigenvalues of a symmetric matrix, ascending, and eigenvectors in columns."""

    def scaled_columns(self, a: Matrix, factors: Vector) -> Matrix:
        """A new matrix: a times a diagonal one; columns at the ends whose factor is 0 are left out."""

    def project_on_first(self, vectors: Matrix, count: int, into: Matrix) -> None:
        """`into` becomes V V^T of so many columns, the first ones."""

    def spectrum_bounds(self, a: Matrix) -> tuple[float, float]:
        """Between which all eigenvalues of a symmetric matrix lie, by Gershgorin."""

    def done_by_one(self, work: Callable[[Any], Any], a: Matrix, into: Matrix) -> bool:
        """Where that is faster `into` becomes work(a) of one rank; else nothing, and False."""


class Engine(Protocol):
    """Integrals, J and K. Collective over a world, but for columns()."""

    @property
    def algebra(self) -> Algebra:
        """Of its matrices."""

    @property
    def order(self) -> NDArray[np.int64]:
        """The number in the given basis of each function of the matrices."""

    @property
    def quartets(self) -> int:
        """Of shells, of which the last build has computed integrals."""

    def overlap(self) -> Matrix:
        """Of all functions."""

    def core(self) -> Matrix:
        """Kinetic energy and attraction by the nuclei."""

    def positions(self) -> Iterator[Matrix]:
        """x, y and z about the origin."""

    def matrix(self) -> Matrix:
        """A new one over the functions; zeros."""

    def build(self, densities: Sequence[Matrix]) -> tuple[Matrix, list[Matrix]]:
        """J of the sum of symmetric densities, K of each."""

    def add_repulsion(self, densities: Sequence[Matrix], exchange_part: float, into: Sequence[Matrix]) -> None:
        """Adds J of the sum of symmetric densities, less so much of K of each, to a matrix for each."""

    def block_diagonal(self, blocks: Sequence[NDArray[np.float64]]) -> Matrix:
        """A matrix of a block for each atom."""

    def taken(self, matrix: Any) -> Matrix:
        """From an array of all functions in the order of the given basis."""

    def taken_as_stored(self, matrix: Any) -> Matrix:
        """From an array over other functions, in their own order."""

    def overlap_with(self, molecule: Molecule, shells: list[PlacedShell], others: list[PlacedShell]) -> Matrix:
        """Of the functions of `shells`, in rows, with others at the same molecule, in their own order."""

    def columns(self, matrix: Matrix, first: int, last: int) -> NDArray[np.float64]:
        """Some, with the functions in the order of the given basis."""

    def row_dots(self, a: Matrix, b: Matrix) -> Vector:
        """For each function of the given basis the product of its rows in two matrices."""

    def agreed(self, number: float) -> float:
        """The number of rank 0, on all ranks."""

    def write(self, checkpoint: Checkpoint, path: Path) -> None:
        """UserError on every rank where it cannot be written."""
