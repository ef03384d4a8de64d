"""Products of distributed matrices with vectors and with each other, where they lie."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton._extension import extension as _craton
from craton.arrays.reductions import pieces, summed, wide
from craton.errors import UserError

_PACKED = (_craton._SymmetricMatrix_f32, _craton._SymmetricMatrix_f64)
_FULL = (_craton._ConvergentMatrix_f32, _craton._ConvergentMatrix_f64)


def core_of(matrix: Any) -> Any:
    """The extension's object inside an array of Craton's; anything else as it is."""
    return getattr(matrix, "_core", matrix)


def is_packed(matrix: Any) -> bool:
    """True for a SymmetricMatrix of float32 or float64."""
    return isinstance(core_of(matrix), _PACKED)


def require_real(call: str, matrix: Any) -> None:
    """UserError for what is no ConvergentMatrix or SymmetricMatrix of real numbers."""
    if not isinstance(core_of(matrix), _FULL + _PACKED):
        kind = f"{type(matrix).__name__} of {getattr(matrix, 'dtype', 'no')} elements"
        raise UserError(f"{call}: {kind}; allowed: ConvergentMatrix or SymmetricMatrix of float32 or float64")


def require_full(call: str, matrix: Any) -> None:
    """UserError for what is no ConvergentMatrix of real numbers."""
    require_real(call, matrix)
    if is_packed(matrix):
        raise UserError(f"{call}: a SymmetricMatrix; allowed: a ConvergentMatrix (SymmetricMatrix.to_matrix)")


def matvec(a: Any, x: ArrayLike, *, transpose: bool = False, symmetric: bool = False) -> NDArray[np.float64]:
    """A x, or A^T x, of a ConvergentMatrix or SymmetricMatrix of float32 or float64. Collective, blocking.

    x: the same whole vector on every rank; so is the result, float64. symmetric: of a ConvergentMatrix only the upper triangle is
    read, as of a SymmetricMatrix always. UserError: another kind of matrix, a vector of another length.
    """
    require_real("matvec", a)
    if symmetric or is_packed(a):
        return _craton._symmetric_matvec(a._core, x)
    return _craton._matvec(a._core, x, transpose)


def matmul(
    a: Any,
    b: Any,
    out: Any = None,
    *,
    transpose_a: bool = False,
    transpose_b: bool = False,
    symmetric: Literal["a", "b"] | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
) -> Any:
    """The product alpha op(A) op(B) + beta out, in `out` or a new matrix, which is returned. 2 m n k flops. Collective, blocking.

    One factor may be symmetric, of which only the upper triangle is read: a SymmetricMatrix always, a ConvergentMatrix
    named by `symmetric`. All matrices are of one element type (float32 or float64), in one world, on one process grid; `out`
    is neither of the factors. With beta = 0 what `out` holds is not read.

    DistArrays may have any layouts, and are not symmetric. A new result has the boundaries of op(A)'s rows and op(B)'s columns. Its
    tiles have a factor's owners where it is cut as that factor is; else they are dealt to a grid of ranks in turn.

    UserError on every rank: shapes, grids or element types that do not fit.
    """
    if any(isinstance(core_of(each), _craton.DistArrayCore) for each in (a, b, out)):
        return _dist_matmul(a, b, out, transpose_a, transpose_b, symmetric, alpha, beta)
    for matrix in (a, b):
        require_real("matmul", matrix)
        if matrix.dtype != a.dtype:
            raise UserError(f"matmul: {a.dtype} times {matrix.dtype}; allowed: one element type")
    left, right = is_packed(a) or symmetric == "a", is_packed(b) or symmetric == "b"
    if left and right:
        raise UserError("matmul: both factors are symmetric; allowed: one (SymmetricMatrix.to_matrix of the other)")
    if (left or right) and (transpose_a or transpose_b):
        raise UserError("matmul: a transposed factor beside a symmetric one; allowed: neither transposed")
    if out is None:
        if beta != 0.0:
            raise UserError(f"matmul: beta = {beta} without out; allowed: 0")
        rows, cols = a.shape[int(transpose_a)], b.shape[1 - int(transpose_b)]
        out = a._new_full(rows, cols, (b if left else a).block)
    else:
        require_full("matmul", out)
        if out.dtype != a.dtype:
            raise UserError(f"matmul: out is {out.dtype}; allowed: {a.dtype}, as the factors")
    if left or right:
        factor, other = (a, b) if left else (b, a)
        _craton._symmetric_matmul(right, alpha, factor._core, other._core, beta, out._core)
    else:
        _craton._matmul(alpha, a._core, transpose_a, b._core, transpose_b, beta, out._core)
    return out


def _dist_matmul(
    a: Any, b: Any, out: Any, transpose_a: bool, transpose_b: bool, symmetric: Any, alpha: float, beta: float
) -> Any:
    for each in (a, b) if out is None else (a, b, out):
        if not isinstance(core_of(each), _craton.DistArrayCore):
            raise UserError(f"matmul: a DistArray and a {type(each).__name__}; allowed: one kind of array")
    if symmetric is not None:
        raise UserError(f"matmul: symmetric = {symmetric!r} of DistArrays; allowed: None")
    if out is None:
        if beta != 0.0:
            raise UserError(f"matmul: beta = {beta} without out; allowed: 0")
        out = _new_product(a, b, transpose_a, transpose_b)
    _craton._dist_matmul(alpha, a._core, transpose_a, b._core, transpose_b, beta, out._core)
    return out


def _new_product(a: Any, b: Any, transpose_a: bool, transpose_b: bool) -> Any:
    if a.ndim != 2 or b.ndim != 2:
        raise UserError(f"matmul: arrays of {a.ndim} and {b.ndim} dimensions; allowed: two")
    cuts = (a.boundaries[int(transpose_a)], b.boundaries[1 - int(transpose_b)])
    shape = (int(cuts[0][-1]), int(cuts[1][-1]))
    for each in (a, b):
        if all(map(np.array_equal, each.boundaries, cuts)):
            return each.like(a.dtype)
    return type(a)(a.world, shape, a.dtype, boundaries=cuts)


# ---------------------------------------------------------------------------------------------------------- the operator


def multiplied(a: Any, other: Any) -> Any:
    """What `a @ other` means for a matrix: a matrix, or a vector that is whole on every rank."""
    if hasattr(other, "_core") and other.ndim == 2:
        a.commit()
        return matmul(a, other)
    return _times_vector(a, _whole_vector(a, other, a.shape[1], f"{type(a).__name__} @ "), False)


def multiplied_from_left(other: Any, a: Any) -> Any:
    """What `x @ a` means for a vector and a matrix."""
    return _times_vector(a, _whole_vector(a, other, a.shape[0], "", f" @ {type(a).__name__}"), True)


def _whole_vector(a: Any, given: Any, length: int, before: str, after: str = "") -> NDArray[Any]:
    x = given.gather() if hasattr(given, "gather") else np.asarray(given)
    if x.ndim != 1 or len(x) != length or x.dtype.kind not in "iufcb":
        kind = f"a {type(given).__name__} of shape {x.shape}"
        raise UserError(
            f"{before}{kind}{after}; allowed: a vector of {length} numbers, or a {type(a).__name__} (from_array)"
        )
    return x


def _times_vector(a: Any, x: NDArray[Any], transpose: bool) -> NDArray[Any]:
    a.commit()
    if isinstance(core_of(a), _FULL + _PACKED) and x.dtype.kind != "c":
        return matvec(a, x, transpose=transpose and not is_packed(a))
    full = a._as_full()
    mine, rows, cols = full.local, full.local_rows_global, full.local_cols_global
    if transpose:
        mine, rows, cols = mine.T, cols, rows
    sums = np.zeros(full.shape[int(transpose)], wide(np.result_type(mine.dtype, x.dtype)))
    for some in pieces(mine):
        sums[rows] += mine[:, some] @ x[cols[some]]
    return summed(full.world, sums)
