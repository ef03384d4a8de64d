"""Linear algebra on distributed matrices, where they lie (ScaLAPACK on the storage, no copy, no gather).

Every function is collective and blocking and releases the GIL. Matrices must be committed, of float32 or float64 elements, with
square blocks, and are left to the function until it returns. Vectors are the same whole float64 vector on every rank, and so are
results. UserError on every rank for shapes, grids or element types that do not fit.

Of a DistArray, of any layout, matmul, lu, qr, svd, eigh, eigvalsh, cholesky, triangular_inv and inverse_sqrt leave the operands as
they are and return new arrays. `workers` says who computes what is not computed where the tiles lie: "all" ranks (ScaLAPACK, on a
block-cyclic copy), "one" rank (LAPACK, on a dense copy), or "auto". That is one rank for orders of up to 1024, which have too
little work for many, and where there is only one.
"""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton._extension import extension as _craton
from craton.arrays.convergent_matrix import ConvergentMatrix
from craton.arrays.convergent_vector import ConvergentVector
from craton.arrays.dist_array import DistArray
from craton.arrays.matrix import Matrix
from craton.arrays.products import is_packed, matmul, matvec, require_full, require_real
from craton.arrays.symmetric_matrix import SymmetricMatrix
from craton.errors import UserError

__all__ = [
    "LU",
    "Cholesky",
    "OrderedSymmetric",
    "cholesky",
    "eigh",
    "eigvalsh",
    "inv",
    "inverse_diagonal",
    "inverse_sqrt",
    "log_determinant",
    "lu",
    "matmul",
    "matvec",
    "qr",
    "solve",
    "svd",
    "triangular_inv",
]


Real = ConvergentMatrix | SymmetricMatrix
Workers = Literal["auto", "one", "all"]


class Cholesky:
    """The factor U of U^T U, of a symmetric positive-definite matrix, in place. Collective, blocking constructor and methods.

    The upper triangle is overwritten, the lower one not looked at; n^3 / 3 flops. matrix: a committed ConvergentMatrix or
    SymmetricMatrix of float32 or float64, to be left alone while the factor is wanted. UserError on every rank: not positive
    definite (naming the order of the leading minor that is not), another element type.
    """

    __slots__ = ("__weakref__", "_core", "_matrix")

    def __init__(self, matrix: Real) -> None:
        require_real("cholesky", matrix)
        single = np.dtype(matrix.dtype) == np.float32
        self._core: Any = (_craton.Cholesky_f32 if single else _craton.Cholesky_f64)(matrix._core)
        self._matrix = matrix

    def __repr__(self) -> str:
        return f"<Cholesky factor in {self._matrix!r}>"

    def solve(self, rhs: ArrayLike | ConvergentVector | ConvergentMatrix) -> Any:
        """Solves A x = rhs. The result is x, float64, whole on every rank; None where rhs is a matrix, which becomes x.

        rhs: a ConvergentVector, or the same whole vector on every rank; or a committed ConvergentMatrix on the same process grid,
        whose columns are solved for in place.
        """
        return self._core.solve(_columns_or_vector(rhs))

    def solve_transposed_factor(self, rhs: ArrayLike | ConvergentVector | ConvergentMatrix) -> Any:
        """Gives U^-T rhs, half of a solution: its squared norm is rhs . A^-1 rhs. Otherwise as solve."""
        return self._core.solve_transposed_factor(_columns_or_vector(rhs))

    def solve_factor(self, rhs: ArrayLike | ConvergentVector | ConvergentMatrix) -> Any:
        """Gives U^-1 rhs: of independent standard normal numbers a draw of covariance A^-1. Otherwise as solve."""
        return self._core.solve_factor(_columns_or_vector(rhs))

    def log_determinant(self) -> float:
        """The natural logarithm of A's determinant. UserError after invert or inverse_diagonal."""
        found: float = self._core.log_determinant()
        return found

    def inverse_diagonal(self) -> NDArray[np.float64]:
        """The diagonal of the inverse on every rank. Overwrites the factor, which then solves no more. 2 n^3 / 3 flops."""
        found: NDArray[np.float64] = self._core.inverse_diagonal()
        return found

    def invert(self) -> None:
        """Overwrites the upper triangle of the matrix by that of its inverse."""
        self._core.invert()


class LU:
    """The factors P L U of a square matrix, with partial pivoting. Collective, blocking constructor and methods.

    2 n^3 / 3 flops. matrix: a committed ConvergentMatrix of float32 or float64, in square blocks, which the factors overwrite; it
    is to be left alone while they are wanted. Or a DistArray of any layout, which is only read. UserError on every rank: not
    square, an element that is not finite (naming it), singular (naming the column).
    """

    __slots__ = ("__weakref__", "_core", "_matrix")

    def __init__(self, matrix: ConvergentMatrix | DistArray) -> None:
        if not isinstance(matrix, DistArray):
            require_full("lu", matrix)
            require_real("lu", matrix)
        single = np.dtype(matrix.dtype) == np.float32
        self._core: Any = (_craton.LU_f32 if single else _craton.LU_f64)(matrix._core)
        self._matrix = matrix

    def __repr__(self) -> str:
        return f"<LU factors of {self._matrix!r}>"

    def solve(self, rhs: ArrayLike | ConvergentMatrix | DistArray, transposed: bool = False) -> Any:
        """Solves A x = rhs, or A^T x = rhs. The result is x, float64, whole on every rank; None where rhs becomes x.

        rhs: the same whole vector on every rank, or columns that are solved for in place. These are a DistArray of any layout. For
        the factors of a ConvergentMatrix they may be a committed one in blocks of as many rows on the same process grid.
        """
        given = rhs._core if isinstance(rhs, ConvergentMatrix | DistArray) else np.asarray(rhs)
        return self._core.solve(given, transposed)

    def slogdet(self) -> tuple[float, float]:
        """The sign of the determinant, and the natural logarithm of its magnitude, as numpy.linalg.slogdet has them."""
        sign, logarithm = self._core.determinant()
        return sign, logarithm


class OrderedSymmetric:
    """A copy of a symmetric matrix whose arithmetic has one order: the same bits on any number of ranks, nodes and threads.

    As long as processors and BLAS are the same. matrix: a committed SymmetricMatrix of float32 or float64; the copy lies in tiles
    of a fixed size, spread over the ranks, and becomes the factor. threads: of each rank. Collective, blocking constructor and
    methods.
    """

    __slots__ = ("__weakref__", "_core", "_of")

    def __init__(self, matrix: SymmetricMatrix, threads: int = 1) -> None:
        require_real("OrderedSymmetric", matrix)
        single = np.dtype(matrix.dtype) == np.float32
        kind = _craton.OrderedSymmetric_f32 if single else _craton.OrderedSymmetric_f64
        self._core: Any = kind(matrix._core, matrix.world, threads)
        self._of = repr(matrix)

    def __repr__(self) -> str:
        return f"<OrderedSymmetric copy of {self._of}>"

    def matvec(self, x: ArrayLike) -> NDArray[np.float64]:
        """A x, whole on every rank, as x. UserError for another length, and after factorise."""
        found: NDArray[np.float64] = self._core.matvec(x)
        return found

    def factorise(self) -> OrderedSymmetric:
        """U^T U = A in the place of the copy; n^3 / 3 flops. UserError: not finite, not positive definite. Once."""
        self._core.factorise()
        return self

    def solve(self, rhs: ArrayLike) -> NDArray[np.float64]:
        """The solution of A x = rhs, whole on every rank. UserError for another length, and before factorise."""
        found: NDArray[np.float64] = self._core.solve(rhs)
        return found


@overload
def cholesky(matrix: Real) -> Cholesky: ...
@overload
def cholesky(matrix: DistArray, workers: Workers = ...) -> DistArray: ...
def cholesky(matrix: Any, workers: Workers = "auto") -> Any:
    """Factors a symmetric positive-definite matrix: of a ConvergentMatrix or SymmetricMatrix in place.

    Of a DistArray: a new one of its layout, L of L L^T with zeros above the diagonal, as numpy.linalg.cholesky has it; the upper
    triangle is read. UserError: not square, not finite, or not positive definite (naming the order of the leading minor that is
    not).
    """
    if isinstance(matrix, DistArray):
        lower = matrix.like()
        _craton._dist_cholesky(matrix._core, lower._core, workers)
        return lower
    return Cholesky(matrix)


def solve(matrix: Real, rhs: ArrayLike) -> NDArray[np.float64]:
    """Solves A x = rhs for a symmetric positive-definite A, which its factor overwrites (cholesky)."""
    found: NDArray[np.float64] = cholesky(matrix).solve(rhs)
    return found


def lu(matrix: ConvergentMatrix | DistArray) -> LU:
    """Factors a general square matrix, so that the result's solve gives the solution of A x = b. See LU."""
    return LU(matrix)


def log_determinant(matrix: Real) -> float:
    """The natural logarithm of the determinant of a symmetric positive-definite matrix, which its factor overwrites."""
    return cholesky(matrix).log_determinant()


def inverse_diagonal(matrix: Real) -> NDArray[np.float64]:
    """The diagonal of the inverse of a symmetric positive-definite matrix, which is overwritten.

    It takes 2 n^3 / 3 flops, half of what the whole inverse takes, and no further memory.
    """
    return cholesky(matrix).inverse_diagonal()


def inv(matrix: Real) -> Any:
    """Overwrites the upper triangle of a symmetric positive-definite matrix by that of its inverse, and returns the matrix.

    ConvergentMatrix.fill_lower() makes it whole. n^3 flops.
    """
    cholesky(matrix).invert()
    return matrix


@overload
def triangular_inv(matrix: ConvergentMatrix, lower: bool = ...) -> ConvergentMatrix: ...
@overload
def triangular_inv(matrix: DistArray, lower: bool = ..., workers: Workers = ...) -> DistArray: ...
def triangular_inv(matrix: Any, lower: bool = False, workers: Workers = "auto") -> Any:
    """Overwrites the upper (or lower) triangle by its inverse, leaves the other alone, and returns the matrix. n^3 / 3 flops.

    Of a DistArray: a new one of its layout, with zeros on the other side of the diagonal. UserError where an element of the
    diagonal is zero (naming it).
    """
    if isinstance(matrix, DistArray):
        given = matrix if lower else matrix.transpose()
        inverse = given.like()
        _craton._dist_triangular_inv(given._core, inverse._core, workers)
        return inverse if lower else inverse.transpose()
    require_full("triangular_inv", matrix)
    _craton._invert_triangle(matrix._core, lower)
    return matrix


def eigvalsh(matrix: Real | DistArray, workers: Workers = "auto") -> NDArray[np.float64]:
    """The eigenvalues, ascending, of a symmetric matrix by its upper triangle. 4 n^3 / 3 flops.

    The storage of a ConvergentMatrix is overwritten; a SymmetricMatrix is expanded into a temporary full one.
    """
    if isinstance(matrix, DistArray):
        return _craton._dist_eigvalsh(matrix._core, workers)
    require_real("eigvalsh", matrix)
    return _craton._eigvalsh(_expanded(matrix)._core)


@overload
def eigh(matrix: Real) -> tuple[NDArray[np.float64], ConvergentMatrix]: ...
@overload
def eigh(
    matrix: DistArray, workers: Workers = ..., out: DistArray | None = ..., *, b: DistArray | None = ...
) -> tuple[NDArray[np.float64], DistArray]: ...
def eigh(
    matrix: Any, workers: Workers = "auto", out: DistArray | None = None, *, b: DistArray | None = None
) -> tuple[NDArray[np.float64], Any]:
    """The eigenvalues, ascending, and a matrix with the eigenvectors in its columns. Otherwise as eigvalsh; 9 n^3 flops at most.

    The matrix is a new one of the given one's layout, or `out`: another DistArray of its shape, of any layout.

    b: the symmetric positive-definite B of A x = w B x, as scipy.linalg.eigh has it, by its upper triangle; then x^T B x = 1. It is
    a DistArray, as A is.
    """
    if isinstance(matrix, DistArray):
        found = matrix.like() if out is None else out
        if b is None:
            return _craton._dist_eigh(matrix._core, found._core, workers), found
        return _craton._dist_eigh(matrix._core, b._core, found._core, workers), found
    if b is not None:
        raise UserError(f"eigh: b of a {type(matrix).__name__}; allowed: b of a DistArray")
    require_real("eigh", matrix)
    full = _expanded(matrix)
    vectors = full._new_full(*full.shape, full.block)
    return _craton._eigh(full._core, vectors._core), vectors


def qr(matrix: DistArray, workers: Workers = "auto") -> tuple[DistArray, DistArray]:
    """Q and R of Q R = A: of m x n elements m x k with orthonormal columns and k x n, k = min(m, n), as numpy.linalg.qr has them.

    R has zeros below its diagonal. Both are new arrays, cut as evenly as can be. 4 m n k flops at most.
    """
    q, r = _halves(matrix)
    _craton._dist_qr(matrix._core, q._core, r._core, workers)
    return q, r


def svd(matrix: DistArray, workers: Workers = "auto") -> tuple[DistArray, NDArray[np.float64], DistArray]:
    """U, the singular values, descending, and V^T, with U diag(s) V^T = A.

    As numpy.linalg.svd(A, full_matrices=False) has them: of m x n elements U is m x k and V^T k x n, k = min(m, n), new arrays, cut
    as evenly as can be. UserError also when the iteration does not converge.
    """
    u, vt = _halves(matrix)
    return u, _craton._dist_svd(matrix._core, u._core, vt._core, workers), vt


def _halves(matrix: DistArray) -> tuple[DistArray, DistArray]:
    """Arrays of m x k and k x n elements for one of m x n, k = min(m, n)."""
    if len(matrix.shape) != 2:
        raise UserError(f"linalg: a DistArray of {len(matrix.shape)} dimensions; allowed: 2")
    m, n = matrix.shape
    k = min(m, n)
    return DistArray(matrix.world, (m, k), matrix.dtype), DistArray(matrix.world, (k, n), matrix.dtype)


def inverse_sqrt(matrix: DistArray, smallest: float = 0.0, workers: Workers = "auto") -> DistArray:
    """The root S^-1/2 of the inverse of a symmetric positive-definite matrix, by its eigenproblem, in a new array of its layout.

    Of an overlap matrix it makes a basis orthonormal with the least change (Lowdin 1950). UserError when an eigenvalue is not above
    `smallest`.
    """
    values, vectors = eigh(matrix, workers)
    if not values[0] > smallest:
        raise UserError(
            f"inverse_sqrt: the smallest of {len(values)} eigenvalues is {values[0]:.3e}; allowed: above {smallest:g}"
        )
    scales = values**-0.25
    vectors.map(lambda block, where: block * scales[where[1]].astype(block.dtype), places=True)
    return matmul(vectors, vectors, matrix.like(), transpose_b=True)  # type: ignore[no-any-return]


def _expanded(matrix: Any) -> ConvergentMatrix:
    full: ConvergentMatrix = matrix.to_matrix() if is_packed(matrix) else matrix
    return full


def _columns_or_vector(rhs: Any) -> Any:
    return rhs._core if isinstance(rhs, Matrix) else np.asarray(rhs)


def __dir__() -> list[str]:
    return __all__
