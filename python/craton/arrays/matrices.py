"""Distributed arrays by element type: each function below makes the extension's class for a dtype.

    float32  ConvergentMatrix_f32      complex64   ConvergentMatrix_c64      int64  ConvergentMatrix_i64
    float64  ConvergentMatrix_f64      complex128  ConvergentMatrix_c128

and so for SymmetricMatrix, ConvergentVector and (real numbers only) ReproducibleMatrix. The methods are described in
_craton.pyi.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import DTypeLike, NDArray

from craton import _craton
from craton.errors import UserError

# How an arriving element joins the one that is there.
Merge = Literal["add", "min", "max"] | np.ufunc | Callable[[NDArray[Any], NDArray[Any]], object]
Block = int | tuple[int, int]

_F32 = Literal["float32"] | type[np.float32]
_F64 = Literal["float64"] | type[np.float64] | type[float]
_C64 = Literal["complex64"] | type[np.complex64]
_C128 = Literal["complex128"] | type[np.complex128]
_I64 = Literal["int64"] | type[np.int64]

_SUFFIXES = {"float32": "f32", "float64": "f64", "complex64": "c64", "complex128": "c128", "int64": "i64"}
_REAL = ("float32", "float64")


def checked_dtype(kind: str, dtype: DTypeLike, allowed: tuple[str, ...]) -> str:
    """Its name; UserError for one that `kind` of array does not have."""
    try:
        name = np.dtype(dtype).name
    except TypeError:
        name = str(dtype)
    if name not in allowed:
        names = ", ".join(f"'{each}'" for each in allowed[:-1])
        raise UserError(f"{kind}: dtype = {name!r}; allowed: {names} or '{allowed[-1]}'")
    return name


def _made(kind: str, dtype: DTypeLike, allowed: tuple[str, ...] = tuple(_SUFFIXES)) -> Any:
    name = checked_dtype(kind, dtype, allowed)
    return getattr(_craton, f"{kind}_{_SUFFIXES[name]}")


# fmt: off
@overload
def ConvergentMatrix(world: _craton.World, rows: int, cols: int, dtype: _F32 = ..., block: Block = ..., grid: tuple[int, int] = ..., merge: Merge = ..., identity: float | None = ...) -> _craton.ConvergentMatrix_f32: ...  # type: ignore[overload-overlap]  # noqa: E501
@overload
def ConvergentMatrix(world: _craton.World, rows: int, cols: int, dtype: _F64, block: Block = ..., grid: tuple[int, int] = ..., merge: Merge = ..., identity: float | None = ...) -> _craton.ConvergentMatrix_f64: ...  # noqa: E501
@overload
def ConvergentMatrix(world: _craton.World, rows: int, cols: int, dtype: _C64, block: Block = ..., grid: tuple[int, int] = ..., merge: Merge = ..., identity: complex | None = ...) -> _craton.ConvergentMatrix_c64: ...  # type: ignore[overload-overlap]  # noqa: E501
@overload
def ConvergentMatrix(world: _craton.World, rows: int, cols: int, dtype: _C128, block: Block = ..., grid: tuple[int, int] = ..., merge: Merge = ..., identity: complex | None = ...) -> _craton.ConvergentMatrix_c128: ...  # noqa: E501
@overload
def ConvergentMatrix(world: _craton.World, rows: int, cols: int, dtype: _I64, block: Block = ..., grid: tuple[int, int] = ..., merge: Merge = ..., identity: int | None = ...) -> _craton.ConvergentMatrix_i64: ...  # noqa: E501
@overload
def ConvergentMatrix(world: _craton.World, rows: int, cols: int, dtype: DTypeLike, block: Block = ..., grid: tuple[int, int] = ..., merge: Merge = ..., identity: complex | None = ...) -> Any: ...  # noqa: E501
# fmt: on
def ConvergentMatrix(
    world: _craton.World,
    rows: int,
    cols: int,
    dtype: DTypeLike = "float32",
    block: Block = 64,
    grid: tuple[int, int] = (0, 0),
    merge: Merge = "add",
    identity: complex | None = None,
) -> Any:
    """A dense distributed matrix to which any thread of any rank adds blocks at any time. Collective.

    dtype: float32, float64, complex64, complex128 or int64. block: rows and columns of a block (one number: square, which
    linear algebra wants). grid: process rows and columns, (0, 0) for the most square grid.
    merge: how an arriving element joins the one that is there: "add", "min", "max" (not for complex numbers), a NumPy
    ufunc of two arguments, or a function of (into, arriving) that changes `into` in place; both are one-dimensional arrays of
    one length that must not be kept. It must be associative and commutative, and `identity` (of a ufunc: its own where it
    has one) the value that changes nothing: what all elements begin as. A function runs under a lock with the GIL taken,
    on whichever thread the update arrives: slow, it must not call Craton, and an exception in it is a UserError of that
    update(), which may be merged in part, or ends the job where the update came from another node.
    """
    kind = _made("ConvergentMatrix", dtype)
    return kind(world, rows, cols, block=block, grid=grid, merge=merge, identity=identity)


# fmt: off
@overload
def SymmetricMatrix(world: _craton.World, order: int, dtype: _F32 = ..., block: int = ..., grid: tuple[int, int] = ..., merge: Merge = ..., identity: float | None = ...) -> _craton.SymmetricMatrix_f32: ...  # type: ignore[overload-overlap]  # noqa: E501
@overload
def SymmetricMatrix(world: _craton.World, order: int, dtype: _F64, block: int = ..., grid: tuple[int, int] = ..., merge: Merge = ..., identity: float | None = ...) -> _craton.SymmetricMatrix_f64: ...  # noqa: E501
@overload
def SymmetricMatrix(world: _craton.World, order: int, dtype: DTypeLike, block: int = ..., grid: tuple[int, int] = ..., merge: Merge = ..., identity: complex | None = ...) -> Any: ...  # noqa: E501
# fmt: on
def SymmetricMatrix(
    world: _craton.World,
    order: int,
    dtype: DTypeLike = "float32",
    block: int = 64,
    grid: tuple[int, int] = (0, 0),
    merge: Merge = "add",
    identity: complex | None = None,
) -> Any:
    """A symmetric matrix that keeps its upper triangle only, in about half the memory of a ConvergentMatrix. Collective.

    Element types, grid and merge as there; complex matrices are symmetric, not Hermitian. UserError where a process column
    would own nothing (smaller blocks, or a grid with fewer columns, then).
    """
    kind = _made("SymmetricMatrix", dtype)
    return kind(world, order, block=block, grid=grid, merge=merge, identity=identity)


# fmt: off
@overload
def ReproducibleMatrix(world: _craton.World, rows: int, cols: int, dtype: _F64 = ..., *, largest: float, block: Block = ..., grid: tuple[int, int] = ...) -> _craton.ReproducibleMatrix_f64: ...  # type: ignore[overload-overlap]  # noqa: E501
@overload
def ReproducibleMatrix(world: _craton.World, rows: int, cols: int, dtype: _F32, *, largest: float, block: Block = ..., grid: tuple[int, int] = ...) -> _craton.ReproducibleMatrix_f32: ...  # noqa: E501
@overload
def ReproducibleMatrix(world: _craton.World, rows: int, cols: int, dtype: DTypeLike, *, largest: float, block: Block = ..., grid: tuple[int, int] = ...) -> Any: ...  # noqa: E501
# fmt: on
def ReproducibleMatrix(
    world: _craton.World,
    rows: int,
    cols: int,
    dtype: DTypeLike = "float64",
    *,
    largest: float,
    block: Block = 64,
    grid: tuple[int, int] = (0, 0),
) -> Any:
    """Sums whose bits depend neither on the number of ranks and threads nor on the order of updates. Collective.

    Every contribution is rounded once to a whole multiple of `resolution`, about largest * 2**-62, and added in 64-bit
    integers: 8 bytes per element. largest bounds the sum over all updates of their largest magnitudes. dtype: float32 or
    float64, what goes in and comes out.
    """
    kind = _made("ReproducibleMatrix", dtype, _REAL)
    return kind(world, rows, cols, largest, block=block, grid=grid)


# fmt: off
@overload
def ConvergentVector(world: _craton.World, size: int, block: int = ..., dtype: _F64 = ...) -> _craton.ConvergentVector_f64: ...  # type: ignore[overload-overlap]
@overload
def ConvergentVector(world: _craton.World, size: int, block: int = ..., *, dtype: _F32) -> _craton.ConvergentVector_f32: ...
@overload
def ConvergentVector(world: _craton.World, size: int, block: int = ..., *, dtype: DTypeLike) -> Any: ...
# fmt: on
def ConvergentVector(world: _craton.World, size: int, block: int = 64, dtype: DTypeLike = "float64") -> Any:
    """A distributed vector to which any thread of any rank adds at any time; dtypes as ConvergentMatrix. Collective."""
    return _made("ConvergentVector", dtype)(world, size, block=block)
