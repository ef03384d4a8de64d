"""What the distributed matrices have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from craton._extension import extension as _craton
from craton.arrays import products, reductions
from craton.arrays.describe import as_html, refuse_pickling, times
from craton.arrays.indexing import Picked, picked
from craton.arrays.parts import Part, check_assigned
from craton.errors import UserError

# How an arriving element joins the one that is there.
Merge = Literal["add", "min", "max"] | np.ufunc | Callable[[NDArray[Any], NDArray[Any]], object]
Block = int | tuple[int, int]
# Rows or columns: anything that NumPy makes a one-dimensional array of integers of.
Indices = NDArray[np.integer[Any]] | Sequence[int] | range


def fitting_block(world: _craton.World, rows: int, cols: int, grid: tuple[int, int]) -> int:
    """The side of square blocks: 64, or less where a process of the grid would own none of them."""
    down = next(p for p in range(math.isqrt(world.size), 0, -1) if world.size % p == 0)
    p, q = (max(1, each) for each in grid) if any(grid) else (down, world.size // down)
    return max(
        1, min(_BLOCK, rows // p if -(-rows // _BLOCK) < p else _BLOCK, cols // q if -(-cols // _BLOCK) < q else _BLOCK)
    )


_BLOCK = 64


class Matrix:
    """What ConvergentMatrix, SymmetricMatrix and ReproducibleMatrix have in common; isinstance(m, craton.Matrix) is true for
    each. It is not made itself.

    Contract: an update is applied exactly once between its call and the return of the next commit(), which is collective.
    Updates may be made by any thread of any rank at any time; concurrent ones leave what some serial order of them
    would. Elements are read after a commit and before the next update. Methods that are marked collective are
    called by every rank of the world, in one order, and block; all of them release the GIL.
    """

    __slots__ = ("__weakref__", "_core", "_merge")
    __array_ufunc__ = None  # x @ m is m's to answer
    __iter__ = None  # np.asarray(m) would otherwise fetch element by element
    _core: Any
    _merge: tuple[Merge, complex | None]

    @classmethod
    def _of(cls, core: Any, merge: tuple[Merge, complex | None] = ("add", None)) -> Any:
        """The matrix around an object of the extension."""
        made = cls.__new__(cls)
        made._core, made._merge = core, merge
        return made

    # What it is. Not collective.

    @property
    def world(self) -> _craton.World:
        """The ranks that hold it."""
        world: _craton.World = self._core.world
        return world

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)"""
        rows, cols = self._core.shape
        return rows, cols

    @property
    def ndim(self) -> int:
        """2"""
        return 2

    @property
    def size(self) -> int:
        """Elements in all: rows times columns."""
        return self.shape[0] * self.shape[1]

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        dtype: np.dtype[Any] = self._core.dtype
        return dtype

    @property
    def block(self) -> Any:
        """Rows and columns of a block of the block-cyclic layout."""
        return self._core.block

    @property
    def grid(self) -> tuple[int, int]:
        """Process rows and columns."""
        rows, cols = self._core.grid
        return rows, cols

    @property
    def merge(self) -> Merge:
        """How an arriving element joins the one that is there, as the constructor was told."""
        return self._merge[0]

    def _facts(self) -> dict[str, object]:
        facts: dict[str, object] = {
            "shape": times(self.shape),
            "elements": self.dtype,
            "blocks": times(np.broadcast_to(self.block, 2)),
            "process grid": f"{times(self.grid)}, {self.world.size} ranks",
        }
        if self.merge != "add":
            facts["merge"] = self._merge_name()
        return facts

    def _merge_name(self) -> str:
        return repr(self.merge if isinstance(self.merge, str) else getattr(self.merge, "__name__", "a function"))

    def __repr__(self) -> str:
        facts = self._facts()
        merge = f", merge {facts['merge']}" if "merge" in facts else ""
        return (
            f"<{type(self).__name__} {facts['shape']} of {self.dtype}, blocks of {facts['blocks']} on a process grid of "
            f"{facts['process grid']}{merge}>"
        )

    def _repr_html_(self) -> str:
        return as_html(type(self).__name__, self._facts())

    def __len__(self) -> int:
        return self.shape[0]

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self)

    # Updates. Not collective, any thread.

    def update(self, block: ArrayLike, rows: Any, cols: Any) -> None:
        """Merges block[a, b] into element (rows[a], cols[b]); repeated indices merge repeatedly. block: of this element
        type, with any strides, read where it lies. Any thread; not collective; blocks only while the bound on bytes in
        flight is reached; `block` may be reused on return. UserError, and nothing of the update is applied: an index out of
        range, a shape that does not match, another element type.
        """
        self._core.update(block, rows, cols)

    def update_symmetric(self, block: ArrayLike, indices: Indices) -> None:
        """Merges a symmetric block into the upper triangle: element (indices[a], indices[b]) only where row <= column. The
        matrix must be square. Otherwise as update.
        """
        self._core.update_symmetric(block, indices)

    def commit(self) -> None:
        """Collective, blocking: every update made before it on any rank has been applied exactly once when it returns. The
        threads of this rank must have returned from their updates.
        """
        self._core.commit()

    def reset(self) -> None:
        """Collective, blocking: commits, then makes all elements the merge's identity (zero for sums)."""
        self._core.reset()

    # Reading. Not collective, any thread, after a commit.

    def read(self, row: int, col: int) -> Any:
        """One element. Blocking, not collective, any thread; an owner on another node must poll. UserError: out of range."""
        return self._core.read(row, col)

    def read_slice(self, rows: Indices, cols: Indices) -> NDArray[Any]:
        """The block at (rows, cols), a new array of shape (len(rows), len(cols)). As read."""
        values: NDArray[Any] = self._core.read_slice(rows, cols)
        return values

    def __getitem__(self, key: Any) -> Part:
        """The elements at integers, slices or arrays of rows and columns: see Part. Nothing is fetched yet."""
        return Part(self, picked(type(self).__name__, key, self.shape))

    def __setitem__(self, key: Any, value: object) -> None:
        check_assigned(self, picked(type(self).__name__, key, self.shape), value)

    def _fetched(self, picks: tuple[Picked, ...]) -> NDArray[Any]:
        return self.read_slice(picks[0].indices, picks[1].indices)

    def _added(self, block: NDArray[Any], picks: tuple[Picked, ...]) -> None:
        if self.merge not in ("add", np.add):
            raise UserError(
                f"{type(self).__name__}: += where the merge is {self._merge_name()}; allowed: update(), which merges"
            )
        self._update(block, picks[0].indices, picks[1].indices)

    def _update(self, block: NDArray[Any], rows: Indices, cols: Indices) -> None:
        self._core.update(block, rows, cols)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """The whole matrix as it was at the last commit, fetched by the rank that asks. Blocking, not collective; owners on
        other nodes must poll. gather() is the collective way.
        """
        return self[...].__array__(dtype, copy)

    def gather(self) -> NDArray[Any]:
        """Collective, blocking: commits; the whole matrix on every rank, as a new array."""
        self.commit()
        whole = self[...].get()
        self.world.barrier()  # nobody updates while another still reads
        return whole

    # Of the whole matrix. Collective, blocking.

    def _diagonal(self) -> NDArray[Any]:
        diagonal: NDArray[Any] = self._core.diagonal()
        return diagonal

    def diagonal(self) -> NDArray[Any]:
        """Collective, blocking: commits; the whole diagonal of a square matrix on every rank. UserError: not square."""
        self.commit()
        return self._diagonal()

    def trace(self) -> Any:
        """Collective, blocking: commits; the sum of the diagonal on every rank, in double precision. UserError: not square."""
        return self.diagonal().sum()[()]

    def _storage(self) -> NDArray[Any]:
        """This rank's part of a matrix that has all elements, for sums over all of them."""
        raise NotImplementedError

    def sum(self) -> Any:
        """Collective, blocking: commits; the sum of all elements on every rank, of float32 and complex64 in double
        precision.
        """
        self.commit()
        mine = self._storage()
        total = mine.sum(dtype=reductions.wide(mine.dtype))
        return reductions.of_all_ranks(self.world, total).sum()

    def norm(self, kind: Literal["fro", "max", "one"] = "fro") -> float:
        """Collective, blocking: commits; of all elements as one vector, on every rank: the root of the sum of squares ("fro"),
        the largest |element| ("max"), or the sum of |elements| ("one"). UserError: another kind.
        """
        self.commit()
        return reductions.norm(self.world, self._storage(), kind, type(self).__name__)

    # Products. Collective, blocking.

    def __matmul__(self, other: Any) -> Any:
        return products.multiplied(self, other)

    def __rmatmul__(self, other: ArrayLike) -> Any:
        return products.multiplied_from_left(other, self)

    def _refuse(self, *_: object) -> NoReturn:
        raise UserError(
            f"{type(self).__name__}: arithmetic on whole matrices; allowed: @, scale(), and += on m[rows, cols] (a DistArray has "
            "the rest, element by element)"
        )

    __add__ = __radd__ = __iadd__ = __sub__ = __rsub__ = __isub__ = __rmul__ = __neg__ = __abs__ = _refuse
    __truediv__ = __rtruediv__ = __itruediv__ = __pow__ = _refuse

    def __mul__(self, factor: Any) -> Any:
        self._refuse()

    def _as_full(self) -> Any:
        """A ConvergentMatrix of the same elements: the matrix itself, or a new one (collective)."""
        raise NotImplementedError
