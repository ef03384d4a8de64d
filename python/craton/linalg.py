"""Linear algebra on distributed matrices, where they lie (ScaLAPACK on the storage, no copy, no gather).

Every function is collective and blocking and releases the GIL. Matrices must be committed, of float32 or float64
elements, with square blocks, and are left to the function until it returns. Vectors are the same whole float64 vector on
every rank, and so are results. UserError on every rank for shapes, grids or element types that do not fit.

Of a DistArray, of any layout, matmul, eigh, eigvalsh, cholesky, triangular_inv and inverse_sqrt leave the operands as they
are and return new arrays. `workers` says who computes what is not computed where the tiles lie: "all" ranks (ScaLAPACK, on a
block-cyclic copy), "one" rank (LAPACK, on a dense copy), or "auto": one for orders of up to 1024, which have too little work
for many, and on one rank.
"""

from __future__ import annotations

from typing import Any, Literal, TypeVar, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton import _craton
from craton.arrays.dist_array import DistArray
from craton.arrays.matrices import ConvergentMatrix
from craton.errors import UserError

Full = _craton.ConvergentMatrix_f32 | _craton.ConvergentMatrix_f64
Packed = _craton.SymmetricMatrix_f32 | _craton.SymmetricMatrix_f64
Factor = _craton.Cholesky_f32 | _craton.Cholesky_f64
AnyFull = TypeVar("AnyFull", _craton.ConvergentMatrix_f32, _craton.ConvergentMatrix_f64)
AnyReal = TypeVar(
    "AnyReal",
    _craton.ConvergentMatrix_f32,
    _craton.ConvergentMatrix_f64,
    _craton.SymmetricMatrix_f32,
    _craton.SymmetricMatrix_f64,
)
Workers = Literal["auto", "one", "all"]
_PACKED = (_craton._SymmetricMatrix_f32, _craton._SymmetricMatrix_f64)
_FULL = (_craton._ConvergentMatrix_f32, _craton._ConvergentMatrix_f64)


@overload
def cholesky(matrix: Full | Packed) -> Factor: ...
@overload
def cholesky(matrix: DistArray, workers: Workers = ...) -> DistArray: ...
def cholesky(matrix: Any, workers: Workers = "auto") -> Any:
    """U^T U of a symmetric positive-definite matrix, in place: its upper triangle is overwritten, the lower one not looked
    at. n^3 / 3 flops. The factor's methods are collective: solve, log_determinant, inverse_diagonal, invert.

    Of a DistArray: a new one of its layout, L of L L^T with zeros above the diagonal, as numpy.linalg.cholesky has it; the
    upper triangle is read. UserError: not square, not finite, or not positive definite (naming the order of the leading minor
    that is not)."""
    if isinstance(matrix, DistArray):
        lower = matrix.like()
        _craton._dist_cholesky(matrix._core, lower._core, workers)
        return lower
    _require_real("cholesky", matrix)
    single = np.dtype(matrix.dtype) == np.float32
    factor: Factor = (_craton.Cholesky_f32 if single else _craton.Cholesky_f64)(matrix)  # type: ignore[arg-type]
    return factor


def solve(matrix: Full | Packed, rhs: ArrayLike) -> NDArray[np.float64]:
    """x of A x = rhs for a symmetric positive-definite A, which its factor overwrites (cholesky)."""
    return cholesky(matrix).solve(rhs)


def log_determinant(matrix: Full | Packed) -> float:
    """The natural logarithm of the determinant of a symmetric positive-definite matrix, which its factor overwrites."""
    return cholesky(matrix).log_determinant()


def inverse_diagonal(matrix: Full | Packed) -> NDArray[np.float64]:
    """The diagonal of the inverse of a symmetric positive-definite matrix, which is overwritten. 2 n^3 / 3 flops: half of
    what the whole inverse takes, and no further memory."""
    return cholesky(matrix).inverse_diagonal()


def inv(matrix: AnyReal) -> AnyReal:
    """Overwrites the upper triangle of a symmetric positive-definite matrix by that of its inverse, and returns the matrix
    (ConvergentMatrix.fill_lower() makes it whole). n^3 flops."""
    cholesky(matrix).invert()
    return matrix


@overload
def triangular_inv(matrix: AnyFull, lower: bool = ...) -> AnyFull: ...
@overload
def triangular_inv(matrix: DistArray, lower: bool = ..., workers: Workers = ...) -> DistArray: ...
def triangular_inv(matrix: Any, lower: bool = False, workers: Workers = "auto") -> Any:
    """Overwrites the upper (or lower) triangle by its inverse, leaves the other alone, and returns the matrix. n^3 / 3
    flops. Of a DistArray: a new one of its layout, with zeros on the other side of the diagonal. UserError where an element of
    the diagonal is zero (naming it)."""
    if isinstance(matrix, DistArray):
        given = matrix if lower else matrix.transpose()
        inverse = given.like()
        _craton._dist_triangular_inv(given._core, inverse._core, workers)
        return inverse if lower else inverse.transpose()
    _require_full("triangular_inv", matrix)
    _craton._invert_triangle(matrix, lower)
    return matrix


def eigvalsh(matrix: Full | Packed | DistArray, workers: Workers = "auto") -> NDArray[np.float64]:
    """The eigenvalues, ascending, of a symmetric matrix by its upper triangle. The storage of a ConvergentMatrix is
    overwritten; a SymmetricMatrix is expanded into a temporary full one. 4 n^3 / 3 flops."""
    if isinstance(matrix, DistArray):
        return _craton._dist_eigvalsh(matrix._core, workers)
    _require_real("eigvalsh", matrix)
    return _craton._eigvalsh(_expanded(matrix))


@overload
def eigh(matrix: Full | Packed) -> tuple[NDArray[np.float64], Full]: ...
@overload
def eigh(
    matrix: DistArray, workers: Workers = ..., out: DistArray | None = ...
) -> tuple[NDArray[np.float64], DistArray]: ...
def eigh(matrix: Any, workers: Workers = "auto", out: DistArray | None = None) -> tuple[NDArray[np.float64], Any]:
    """(eigenvalues, ascending; eigenvectors in the columns of a new matrix, of the given one's layout, or of `out`: another
    DistArray of its shape, of any layout). Otherwise as eigvalsh; 9 n^3 flops at most."""
    if isinstance(matrix, DistArray):
        found = matrix.like() if out is None else out
        return _craton._dist_eigh(matrix._core, found._core, workers), found
    _require_real("eigh", matrix)
    full = _expanded(matrix)
    vectors = _new(full, full.shape[0], full.shape[1], full.block)
    return _craton._eigh(full, vectors), vectors


def inverse_sqrt(matrix: DistArray, smallest: float = 0.0, workers: Workers = "auto") -> DistArray:
    """S^-1/2 of a symmetric positive-definite matrix by its eigenproblem, in a new array of its layout: of an overlap matrix
    what makes a basis orthonormal with the least change (Lowdin). UserError when an eigenvalue is not above `smallest`."""
    values, vectors = eigh(matrix, workers)
    if not values[0] > smallest:
        raise UserError(
            f"inverse_sqrt: the smallest of {len(values)} eigenvalues is {values[0]:.3e}; allowed: above {smallest:g}"
        )
    scales = values**-0.25
    vectors.map(lambda block, where: block * scales[where[1]].astype(block.dtype), places=True)
    return matmul(vectors, vectors, matrix.like(), transpose_b=True)  # type: ignore[no-any-return]


def matvec(a: Full | Packed, x: ArrayLike, *, transpose: bool = False, symmetric: bool = False) -> NDArray[np.float64]:
    """A x, or A^T x. symmetric: of a ConvergentMatrix only the upper triangle is read; a SymmetricMatrix always is."""
    _require_real("matvec", a)
    if symmetric or _is_packed(a):
        return _craton._symmetric_matvec(a, x)
    return _craton._matvec(a, x, transpose)


def matmul(
    a: Full | Packed | DistArray,
    b: Full | Packed | DistArray,
    out: AnyFull | DistArray | None = None,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    symmetric: Literal["a", "b"] | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Any:
    """alpha op(A) op(B) + beta out, in `out` or a new matrix, which is returned. 2 m n k flops.

    One factor may be symmetric, of which only the upper triangle is read: a SymmetricMatrix always, a ConvergentMatrix
    named by `symmetric`. All matrices are of one element type, in one world, on one process grid; `out` is neither of the
    factors. With beta = 0 what `out` holds is not read.

    DistArrays may have any layouts, and are not symmetric; a new result has the boundaries of op(A)'s rows and op(B)'s columns,
    and its tiles a factor's owners where it is cut as that factor is, else dealt to a grid of ranks in turn.
    """
    if any(isinstance(each, DistArray) for each in (a, b, out)):
        return _dist_matmul(a, b, out, transpose_a, transpose_b, symmetric, alpha, beta)
    for matrix in (a, b):
        _require_real("matmul", matrix)
        if matrix.dtype != a.dtype:
            raise UserError(f"matmul: {a.dtype} times {matrix.dtype}; allowed: one element type")
    left, right = _is_packed(a) or symmetric == "a", _is_packed(b) or symmetric == "b"
    if left and right:
        raise UserError("matmul: both factors are symmetric; allowed: one (SymmetricMatrix.to_matrix of the other)")
    if (left or right) and (transpose_a or transpose_b):
        raise UserError("matmul: a transposed factor beside a symmetric one; allowed: neither transposed")
    if out is None:
        if beta != 0.0:
            raise UserError(f"matmul: beta = {beta} without out; allowed: 0")
        rows, cols = a.shape[int(transpose_a)], b.shape[1 - int(transpose_b)]
        result: Any = _new(a, rows, cols, block=_block(b if left else a))
    else:
        _require_full("matmul", out)
        if out.dtype != a.dtype:
            raise UserError(f"matmul: out is {out.dtype}; allowed: {a.dtype}, as the factors")
        result = out
    if left or right:
        factor, other = (a, b) if left else (b, a)
        _craton._symmetric_matmul(right, alpha, factor, other, beta, result)
    else:
        _craton._matmul(alpha, a, transpose_a, b, transpose_b, beta, result)
    return result


def _dist_matmul(
    a: Any, b: Any, out: Any, transpose_a: bool, transpose_b: bool, symmetric: Any, alpha: float, beta: float
) -> DistArray:
    for each in (a, b) if out is None else (a, b, out):
        if not isinstance(each, DistArray):
            raise UserError(f"matmul: a DistArray and a {type(each).__name__}; allowed: one kind of array")
    if symmetric is not None:
        raise UserError(f"matmul: symmetric = {symmetric!r} of DistArrays; allowed: None")
    if out is None:
        if beta != 0.0:
            raise UserError(f"matmul: beta = {beta} without out; allowed: 0")
        out = _new_product(a, b, transpose_a, transpose_b)
    _craton._dist_matmul(alpha, a._core, transpose_a, b._core, transpose_b, beta, out._core)
    result: DistArray = out
    return result


def _new_product(a: DistArray, b: DistArray, transpose_a: bool, transpose_b: bool) -> DistArray:
    if a.ndim != 2 or b.ndim != 2:
        raise UserError(f"matmul: arrays of {a.ndim} and {b.ndim} dimensions; allowed: two")
    cuts = (a.boundaries[int(transpose_a)], b.boundaries[1 - int(transpose_b)])
    owners = next((each.owners for each in (a, b) if all(map(np.array_equal, each.boundaries, cuts))), None)
    shape = (int(cuts[0][-1]), int(cuts[1][-1]))
    return DistArray(a.world, shape, a.dtype, boundaries=cuts, owners=owners)


def _is_packed(matrix: Any) -> bool:
    return isinstance(matrix, _PACKED)


def _require_real(call: str, matrix: Any) -> None:
    if not isinstance(matrix, _FULL + _PACKED):
        kind = f"{type(matrix).__name__} of {getattr(matrix, 'dtype', 'no')} elements"
        raise UserError(f"{call}: {kind}; allowed: ConvergentMatrix or SymmetricMatrix of float32 or float64")


def _require_full(call: str, matrix: Any) -> None:
    _require_real(call, matrix)
    if _is_packed(matrix):
        raise UserError(f"{call}: a SymmetricMatrix; allowed: a ConvergentMatrix (SymmetricMatrix.to_matrix)")


def _block(matrix: Any) -> tuple[int, int]:
    return (matrix.block, matrix.block) if _is_packed(matrix) else matrix.block


def _expanded(matrix: Any) -> Any:
    return matrix.to_matrix() if _is_packed(matrix) else matrix


def _new(like: Any, rows: int, cols: int, block: tuple[int, int]) -> Any:
    grid = like.packed.grid if _is_packed(like) else like.grid
    return ConvergentMatrix(like.world, rows, cols, dtype=like.dtype, block=block, grid=grid)
