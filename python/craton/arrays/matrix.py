"""What the distributed matrices, and the vector, have in common."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from craton._extension import extension as _craton
from craton.arrays import products, reductions
from craton.arrays.array import Array, ranks_text, times
from craton.arrays.selection.indexing import Picked, picked
from craton.arrays.selection.parts import Part, check_assigned
from craton.errors import UserError

# How an arriving element joins the one that is there.
Merge = Literal["add", "min", "max"] | np.ufunc | Callable[[NDArray[Any], NDArray[Any]], object]
Block = int | tuple[int, int]
# Rows or columns: anything that NumPy makes a one-dimensional array of integers of.
Indices = NDArray[np.integer[Any]] | Sequence[int] | range

_BLOCK = 64


def fitting_block(world: _craton.World, rows: int, cols: int, grid: tuple[int, int]) -> int:
    """The side of square blocks: 64, or less where a process of the grid would own none of them."""
    down = next(p for p in range(math.isqrt(world.size), 0, -1) if world.size % p == 0)
    processes = tuple(max(1, each) for each in grid) if any(grid) else (down, world.size // down)
    sides = (n // p if -(-n // _BLOCK) < p else _BLOCK for n, p in zip((rows, cols), processes, strict=True))
    return max(1, min(sides))


def checked_shape(kind: str, rows: Any, cols: Any) -> tuple[int, int]:
    """Rows and columns, or `rows` a sequence of both; UserError for anything else."""
    given = rows if cols is None else (rows, cols)
    try:
        first, second = given
        return int(first), int(second)
    except (TypeError, ValueError):
        raise UserError(f"{kind}: shape = {given}; allowed: rows and columns, whole numbers") from None


@dataclass(frozen=True)
class TrianglePart:
    """Elements of a symmetric matrix's upper triangle that a rank has, in a rectangle of its storage.

    local[r, c] is element (rows[r], cols[c]) where rows[r] <= cols[c]. In a `mirrored` part it is element (cols[c], rows[r]), where
    rows[r] >= cols[c]. The rest of the rectangle is not the triangle's. Both lists ascend.
    """

    local: NDArray[Any]
    """A view, to be read and written between a commit and the next update."""
    rows: NDArray[np.int64]
    cols: NDArray[np.int64]
    mirrored: bool = False

    def taken(self, rows: Any = slice(None), cols: Any = slice(None)) -> NDArray[np.bool_]:
        """Where the triangle is in some rows and columns of the rectangle."""
        down, across = self.rows[rows][:, None], self.cols[cols]
        return np.asarray(down >= across if self.mirrored else down <= across)


class Convergent(Array):
    """An array that updates converge in: each is applied exactly once before the next commit() returns."""

    __slots__ = ()
    __array_ufunc__ = None  # x @ m is m's to answer
    _instead: ClassVar[str]
    """The end of the line that refuses arithmetic on whole arrays: their kind, and what is allowed instead."""

    def like(self, dtype: DTypeLike | None = None) -> Self:
        """A new one of this layout, all elements zero. Collective, blocking. dtype: None for this one's."""
        raise NotImplementedError

    # Updates. Not collective, any thread.

    def commit(self) -> None:
        """Applies every update made before it on any rank exactly once. Collective, blocking.

        The threads of this rank must have returned from their updates.
        """
        self._core.commit()

    def reset(self) -> None:
        """Commits, then makes all elements the merge's identity (zero for sums). Collective, blocking."""
        self._core.reset()

    # Elements. Nothing is fetched by indexing alone.

    def __getitem__(self, key: Any) -> Part:
        """The elements at integers, slices or arrays of indices: see Part."""
        return Part(self, picked(type(self).__name__, key, self.shape))

    def __setitem__(self, key: Any, value: object) -> None:
        check_assigned(self, picked(type(self).__name__, key, self.shape), value)

    def _fetched(self, picks: tuple[Picked, ...]) -> NDArray[Any]:
        raise NotImplementedError

    def _added(self, block: NDArray[Any], picks: tuple[Picked, ...]) -> None:
        raise NotImplementedError

    # The whole. Collective, blocking.

    def _storage(self) -> NDArray[Any]:
        """This rank's part of all elements, for sums over them."""
        raise NotImplementedError

    def norm(self, kind: Literal["fro", "max", "one"] = "fro") -> float:
        """Commits; the norm of all elements as one vector, on every rank. Collective, blocking.

        kind: "fro" the root of the sum of squares, "max" the largest |element|, "one" the sum of |elements|. UserError: another.
        """
        self.commit()
        return reductions.norm(self.world, self._storage(), kind, type(self).__name__)

    def sum(self, axis: None = None, dtype: None = None, out: None = None) -> Any:
        """Commits; the sum of all elements on every rank, of float32 and complex64 in double precision. Collective, blocking.

        axis, dtype and out are NumPy's, and must be None.
        """
        reductions.check_plain(f"{type(self).__name__} sum", axis=axis, dtype=dtype, out=out)
        self.commit()
        mine = self._storage()
        total = mine.sum(dtype=reductions.wide(mine.dtype))
        return reductions.of_all_ranks(self.world, total).sum()

    def _refuse(self, *_: object) -> NoReturn:
        raise UserError(
            f"{type(self).__name__}: arithmetic on whole {self._instead} (a DistArray has the rest, element by element)"
        )

    __add__ = __radd__ = __iadd__ = __sub__ = __rsub__ = __isub__ = __rmul__ = __neg__ = __abs__ = _refuse
    __truediv__ = __rtruediv__ = __itruediv__ = __pow__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse

    def __mul__(self, factor: Any) -> Any:
        self._refuse()


class Held(Convergent):
    """One whose storage holds its elements as they are."""

    __slots__ = ()

    def _held(self) -> NDArray[Any]:
        """This rank's storage, to be read and written."""
        raise NotImplementedError

    def copy(self, dtype: DTypeLike | None = None) -> Self:
        """Commits; a new one with the same elements in the same layout. Collective, blocking.

        dtype: None for this one's.
        """
        self.commit()
        made = self.like(dtype)
        made._held()[...] = self._held()
        self.world.barrier()
        return made

    def fill(self, value: complex) -> None:
        """Commits, then every element becomes the value. Collective, blocking."""
        self.commit()
        self._held()[...] = value
        self.world.barrier()

    def scale(self, factor: complex) -> None:
        """Commits, then multiplies every element. Collective, blocking. UserError: a factor of another kind of number."""
        self._core.scale(factor)

    def __imul__(self, factor: Any) -> Self:
        self.scale(factor)
        return self


class Matrix(Convergent):
    """What ConvergentMatrix, SymmetricMatrix and ReproducibleMatrix have in common; isinstance(m, craton.Matrix) holds for each.

    It is not made itself. Contract: an update is applied exactly once between its call and the return of the next commit(), which
    is collective. Updates may be made by any thread of any rank at any time; concurrent ones leave what some serial order of them
    would. Elements are read after a commit and before the next update. Methods that are marked collective are called by every rank
    of the world, in one order, and block; all of them release the GIL.
    """

    __slots__ = ("_merge",)
    _instead = "matrices; allowed: @, scale(), and += on m[rows, cols]"
    _merge: tuple[Merge, complex | None]

    @classmethod
    def _of(cls, core: Any, merge: tuple[Merge, complex | None] = ("add", None)) -> Any:
        """The matrix around an object of the extension."""
        made = cls.__new__(cls)
        made._core, made._merge = core, merge
        return made

    # What it is. Not collective.

    @property
    def shape(self) -> tuple[int, int]:
        """(rows, columns)."""
        rows, cols = self._core.shape
        return rows, cols

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
            "process grid": f"{times(self.grid)}, {ranks_text(self.world)}",
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

    # Updates. Not collective, any thread.

    def update(self, block: ArrayLike, rows: Any, cols: Any) -> None:
        """Merges block[a, b] into element (rows[a], cols[b]), or one number into the element (row, col).

        block: of this element type, with any strides, read where it lies, quickest in Fortran order; it may be reused on return.
        Repeated indices merge repeatedly. Any thread; not collective; blocks only while the bound on bytes in flight is reached.
        UserError, and nothing of the update is applied: an index out of range, a shape that does not match, another element type.
        """
        self._core.update(block, rows, cols)

    def update_symmetric(self, block: ArrayLike, indices: Indices) -> None:
        """Merges a symmetric block into the upper triangle of a square matrix. Otherwise as update.

        Element (indices[a], indices[b]) takes part only where its row <= its column. The block is to be symmetric: where its rows
        lie in one piece (C order) the lower triangle is read, and UserError says so if some elements, which are compared, differ
        from their mirror images. In Fortran order the upper triangle alone will do, if the indices ascend.
        """
        self._core.update_symmetric(block, indices)

    # Reading. Not collective, any thread, after a commit.

    def read(self, row: int, col: int) -> Any:
        """One element. Blocking, not collective, any thread; an owner on another node must poll. UserError: out of range."""
        return self._core.read(row, col)

    def read_slice(self, rows: Indices, cols: Indices) -> NDArray[Any]:
        """The block at (rows, cols), a new array of shape (len(rows), len(cols)). As read."""
        values: NDArray[Any] = self._core.read_slice(rows, cols)
        return values

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

    def gather(self) -> NDArray[Any]:
        """Commits; the whole matrix on every rank, as a new array. Collective, blocking."""
        self.commit()
        whole = self[...].get()
        self.world.barrier()  # nobody updates while another still reads
        return whole

    # Of the whole matrix. Collective, blocking.

    def _diagonal(self) -> NDArray[Any]:
        diagonal: NDArray[Any] = self._core.diagonal()
        return diagonal

    def diagonal(self) -> NDArray[Any]:
        """Commits; the whole diagonal of a square matrix on every rank. Collective, blocking. UserError: not square."""
        self.commit()
        return self._diagonal()

    def trace(self) -> Any:
        """Commits; the sum of the diagonal on every rank, in double precision. Collective, blocking. UserError: not square."""
        return self.diagonal().sum()[()]

    # Products. Collective, blocking.

    def __matmul__(self, other: Any) -> Any:
        return products.multiplied(self, other)

    def __rmatmul__(self, other: ArrayLike) -> Any:
        return products.multiplied_from_left(other, self)

    def _as_full(self) -> Any:
        """A ConvergentMatrix of the same elements: the matrix itself, or a new one (collective)."""
        raise NotImplementedError
