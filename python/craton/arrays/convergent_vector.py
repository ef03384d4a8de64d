"""A distributed vector that many ranks add to at once."""

from __future__ import annotations

from typing import Any, Literal, NoReturn

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from craton._extension import extension as _craton
from craton.arrays import reductions
from craton.arrays.describe import as_html, refuse_pickling
from craton.arrays.element_types import core_class
from craton.arrays.indexing import Picked, picked
from craton.arrays.matrix import Indices
from craton.arrays.parts import Part, check_assigned
from craton.errors import UserError


class ConvergentVector:
    """A distributed vector, block-cyclic over all ranks, to which any thread of any rank adds at any time: the gradient
    beside a Hessian. Collective, blocking constructor.

    size: elements. block: elements of a block. dtype: as ConvergentMatrix's. Contract and arguments are ConvergentMatrix's;
    sums only. UserError on every rank: a size or block below 1, too little memory.
    """

    __slots__ = ("__weakref__", "_core", "_world")
    __array_ufunc__ = None  # m @ v is m's to answer
    __iter__ = None

    def __init__(self, world: _craton.World, size: int, block: int = 64, dtype: DTypeLike = "float64") -> None:
        self._core = core_class("ConvergentVector", dtype)(world, size, block=block)
        self._world = world

    @classmethod
    def from_array(
        cls, world: _craton.World, values: ArrayLike, dtype: DTypeLike | None = None, block: int = 64
    ) -> ConvergentVector:
        """Collective, blocking: a vector with the elements of one that every rank has whole. dtype: None for the array's
        own.
        """
        whole = np.asarray(values)
        if whole.ndim != 1:
            raise UserError(f"ConvergentVector from_array: an array of shape {whole.shape}; allowed: one dimension")
        made = cls(world, len(whole), block, dtype or whole.dtype)
        first, last = (len(whole) * n // world.size for n in (world.rank, world.rank + 1))
        made.update(np.asarray(whole[first:last], made.dtype), range(first, last))
        made.commit()
        return made

    def like(self, dtype: DTypeLike | None = None) -> ConvergentVector:
        """Collective, blocking: zeros in this layout. dtype: None for this one's."""
        return ConvergentVector(self.world, self.size, self.block, dtype or self.dtype)

    def copy(self) -> ConvergentVector:
        """Collective, blocking: commits; a new vector with the same elements in the same layout."""
        self.commit()
        made = self.like()
        made.local[...] = self.local
        self.world.barrier()
        return made

    # What it is. Not collective.

    @property
    def world(self) -> _craton.World:
        """The ranks that hold it."""
        return self._world

    @property
    def size(self) -> int:
        """Elements in all."""
        size: int = self._core.size
        return size

    @property
    def shape(self) -> tuple[int]:
        """(size,)"""
        return (self.size,)

    @property
    def ndim(self) -> int:
        """1"""
        return 1

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        dtype: np.dtype[Any] = self._core.dtype
        return dtype

    @property
    def block(self) -> int:
        """Elements of a block, dealt to the ranks in turn."""
        block: int = self._core.block
        return block

    @property
    def local(self) -> NDArray[Any]:
        """View (no copy) of this rank's elements. It keeps the memory alive. Read and write it between a commit() and the next
        update.
        """
        view: NDArray[Any] = self._core.local
        return view

    @property
    def local_indices_global(self) -> NDArray[np.int64]:
        """The index in the whole vector of each element of `local`."""
        indices = np.arange(self.size)
        return indices[indices // self.block % self.world.size == self.world.rank]

    def __len__(self) -> int:
        return self.size

    def __repr__(self) -> str:
        ranks = self.world.size
        return f"<ConvergentVector {self.size} of {self.dtype}, blocks of {self.block} dealt to {ranks} ranks>"

    def _repr_html_(self) -> str:
        facts = {"size": self.size, "elements": self.dtype, "blocks": self.block, "ranks": self.world.size}
        return as_html("ConvergentVector", facts)

    def __reduce__(self) -> NoReturn:
        refuse_pickling(self)

    # Updates. Not collective, any thread.

    def update(self, values: ArrayLike, indices: Indices) -> None:
        """Adds values[a] to element indices[a]. values: of this element type, any strides. Any thread; not collective.
        UserError, with nothing applied: an index out of range, lengths that differ, another element type.
        """
        self._core.update(values, indices)

    def commit(self) -> None:
        """Collective, blocking: every update made before it on any rank has been applied exactly once when it returns."""
        self._core.commit()

    def reset(self) -> None:
        """Collective, blocking: commits, then makes all elements zero."""
        self._core.reset()

    def fill(self, value: complex) -> None:
        """Collective, blocking: commits, then every element becomes the value."""
        self.commit()
        self.local[...] = value
        self.world.barrier()

    def scale(self, factor: complex) -> None:
        """Collective, blocking: commits, then multiplies every element."""
        self.commit()
        self.local[...] *= factor
        self.world.barrier()

    # Indexing. v[indices] += values is an update; reading is collective.

    def __getitem__(self, key: Any) -> Part:
        """The elements at an integer, a slice or an array of indices. += and -= are updates (any thread, not collective);
        what wants their values gathers the vector, which is collective.
        """
        return Part(self, picked("ConvergentVector", key, self.shape))

    def __setitem__(self, key: Any, value: object) -> None:
        check_assigned(self, picked("ConvergentVector", key, self.shape), value)

    def _fetched(self, picks: tuple[Picked, ...]) -> NDArray[Any]:
        return self.gather()[np.asarray(picks[0].indices)]

    def _added(self, block: NDArray[Any], picks: tuple[Picked, ...]) -> None:
        self.update(block, picks[0].indices)

    # The whole vector. Collective, blocking.

    def gather(self) -> NDArray[Any]:
        """Collective, blocking: commits; the whole vector on every rank, as a new array."""
        self.commit()
        whole: NDArray[Any] = self._core.gather()
        return whole

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> NDArray[Any]:
        """gather(): collective, every rank must ask."""
        return self[...].__array__(dtype, copy)

    def sum(self) -> Any:
        """Collective, blocking: commits; the sum of the elements on every rank, of float32 and complex64 in double
        precision.
        """
        return self.gather().sum(dtype=reductions.wide(self.dtype))

    def norm(self, kind: Literal["fro", "max", "one"] = "fro") -> float:
        """Collective, blocking: commits; on every rank the root of the sum of squares ("fro"), the largest |element|
        ("max"), or the sum of |elements| ("one"). UserError: another kind.
        """
        self.commit()
        return reductions.norm(self.world, self.local, kind, "ConvergentVector")

    def dot(self, other: Any) -> Any:
        """Collective, blocking: commits; the sum of conj(self) * other on every rank, in double precision. other: a vector of
        Craton's or a NumPy one that every rank has whole.
        """
        others = other.gather() if hasattr(other, "gather") else np.asarray(other)
        if others.shape != self.shape:
            raise UserError(f"ConvergentVector dot: {self.size} elements with shape {others.shape}; allowed: as many")
        wide = reductions.wide(np.result_type(self.dtype, others.dtype))
        return np.vdot(self.gather().astype(wide), others.astype(wide))

    def __matmul__(self, other: Any) -> Any:
        return NotImplemented if hasattr(other, "_core") and other.ndim == 2 else self.gather() @ np.asarray(other)

    def __rmatmul__(self, other: Any) -> Any:
        return np.asarray(other) @ self.gather()

    def _refuse(self, *_: object) -> NoReturn:
        raise UserError(
            "ConvergentVector: arithmetic on whole vectors; allowed: +=  on v[indices], scale(), dot(), gather() for NumPy's (a "
            "DistArray has the rest, element by element)"
        )

    __add__ = __radd__ = __iadd__ = __sub__ = __rsub__ = __isub__ = __mul__ = __rmul__ = __neg__ = __abs__ = _refuse
    __truediv__ = __rtruediv__ = __itruediv__ = __pow__ = _refuse
