"""The linear algebra that the iterations are written in, for NumPy arrays.

Besides what is here the iterations use a.shape of matrices. DistributedAlgebra has the same functions for matrices over many
ranks, so that the same iterations run on them.

Nothing makes a matrix but take(), scaled_columns() and eigh(): what is no longer needed is given back, and taken again. An
iteration that has run once makes no more.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

Matrix = NDArray[np.float64]
Vector = NDArray[np.float64]


class WorkArrays:
    """Matrices to compute with, kept by shape (and layout) when they are given back."""

    def __init__(self) -> None:
        self._free: dict[Hashable, list[Any]] = {}

    def _new(self, _like: Any, shape: tuple[int, ...]) -> Any:
        raise NotImplementedError

    def _kind(self, _like: Any, shape: tuple[int, ...]) -> Hashable:
        """What _new(like, shape) has in common with matrices that do as well."""
        return shape

    def take(self, like: Any, shape: tuple[int, ...] | None = None) -> Any:
        """A matrix of the shape of `like`, or of another; what it holds is not told."""
        wanted = tuple(like.shape) if shape is None else shape
        free = self._free.get(self._kind(like, wanted))
        return free.pop() if free else self._new(like, wanted)

    def give(self, *matrices: Any) -> None:
        """Returns matrices, to be taken again. Nobody may use them afterwards."""
        for each in matrices:
            self._free.setdefault(self._kind(each, tuple(each.shape)), []).append(each)

    @contextmanager
    def work(self, like: Any, count: int = 1) -> Iterator[list[Any]]:
        """Taken, and given back at the end."""
        taken = [self.take(like) for _ in range(count)]
        try:
            yield taken
        finally:
            self.give(*taken)

    def forget(self) -> None:
        """Gives up what nobody has taken."""
        self._free.clear()


class NumpyAlgebra(WorkArrays):
    """Matrices are NumPy arrays of this process; vectors too."""

    def _new(self, _like: Matrix, shape: tuple[int, ...]) -> Matrix:
        return np.empty(shape)

    def give(self, *matrices: Matrix) -> None:
        """Keeps those that are whole arrays of their own, not parts of others."""
        super().give(*(each for each in matrices if each.flags.c_contiguous and each.flags.owndata))

    def product(
        self, a: Matrix, b: Matrix, into: Matrix, *, transpose_a: bool = False, transpose_b: bool = False
    ) -> None:
        """`into`, which is neither of them, becomes a b, of either or both the transpose."""
        np.matmul(a.T if transpose_a else a, b.T if transpose_b else b, out=into)

    def transpose(self, a: Matrix, into: Matrix) -> None:
        """`into`, which is another matrix, becomes the transpose of a."""
        into[...] = a.T

    def combine(
        self, into: Matrix, terms: Sequence[tuple[float, Matrix]], *, keep: float = 0.0, identity: float = 0.0
    ) -> None:
        """`into` becomes keep times itself, and the sum of factor * matrix, and identity * 1.

        It is none of the matrices; with keep = 0 what it holds is not read.
        """
        combine_blocks(into, terms, keep)
        if identity:
            into[np.diag_indices_from(into)] += identity

    def inner(self, pairs: Sequence[tuple[Matrix, Matrix | None]]) -> list[float]:
        """The sum of products of elements of each pair; for (a, None) the trace of a."""
        return [float(np.trace(a) if b is None else np.vdot(a, b)) for a, b in pairs]

    def eigh(self, a: Matrix) -> tuple[Vector, Matrix]:
        """Eigenvalues of a symmetric matrix, ascending, and eigenvectors in the columns of a matrix that may be given back."""
        values, vectors = scipy.linalg.eigh(a)
        return values, vectors

    def scaled_columns(self, a: Matrix, factors: Vector) -> Matrix:
        """A new matrix: a times a diagonal matrix; columns at the ends whose factor is 0 are left out."""
        part = nonzero_part(factors)
        return a[:, part] * factors[part]

    def project_on_first(self, vectors: Matrix, count: int, into: Matrix) -> None:
        """`into` becomes V V^T of so many columns, the first ones; the others may be overwritten."""
        np.matmul(vectors[:, :count], vectors[:, :count].T, out=into)

    def spectrum_bounds(self, a: Matrix) -> tuple[float, float]:
        """Bounds of all eigenvalues of a symmetric matrix, by Gershgorin's circles."""
        diagonal = a.diagonal()
        radii = np.abs(a).sum(axis=1) - np.abs(diagonal)
        return float((diagonal - radii).min()), float((diagonal + radii).max())

    def done_by_one(self, work: Callable[[Matrix], Matrix], a: Matrix, into: Matrix) -> bool:
        """Where that is faster `into` becomes work(a) of one rank, which has a whole for the time; else nothing, and False."""
        del work, a, into
        return False


def combine_blocks(into: Matrix, terms: Sequence[tuple[float, Matrix]], keep: float) -> None:
    """`into` becomes keep times itself and the sum of factor * block."""
    left = iter(terms)
    if keep == 0:
        first = next(left, None)
        if first is None:
            into.fill(0.0)
        else:
            np.multiply(first[1], first[0], out=into)
    elif keep != 1:
        into *= keep
    for factor, block in left:
        into += block if factor == 1 else factor * block


def nonzero_part(factors: Vector) -> slice:
    """The range from the first to the last factor that is not 0."""
    kept = np.flatnonzero(factors)
    return slice(int(kept[0]), int(kept[-1]) + 1) if len(kept) else slice(0, 0)
