"""Arrays cut into tiles that any rank may own, read and written by anyone with NumPy's slices.

In short:

    D = craton.DistArray(world, (n, n))                 # float64 zeros, one tile per rank
    F = D.like()
    block = D[i0:i1, j0:j1].get()                       # one-sided, whoever owns it
    F[k0:k1, l0:l1] += contribution                     # added whole, from any rank and thread
    F.sync()                                            # collective: everything started before it is done
    energy = D.dot(F)
    values, vectors = craton.linalg.eigh(F)
    P = vectors @ D
"""

from __future__ import annotations

import functools
import pickle
import weakref
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from craton._extension import extension as _craton
from craton.arrays import reductions, tile_layouts
from craton.arrays.array import Array, checked_dtype, ranks_text, times, whole_of
from craton.arrays.elementwise import ELEMENT_TYPES, Arithmetic
from craton.arrays.selection.indexing import OtherStepError, Picked, Place, rectangle_of, strided
from craton.arrays.selection.places import places_of
from craton.arrays.strided_view import StridedView
from craton.arrays.views import AppliedFunction, ArrayView, assign, is_in_place
from craton.errors import UserError

_MOST_DIMENSIONS = 4


@dataclass(frozen=True)
class LocalTile:
    """A tile of this rank, with the indices low <= i < high in the whole array."""

    number: int
    low: Place
    high: Place
    array: NDArray[Any]
    """View (no copy) of its elements, C order."""

    @property
    def slices(self) -> tuple[slice, ...]:
        """Where the tile is in the whole array."""
        return tuple(slice(low, high) for low, high in zip(self.low, self.high, strict=True))


class DistArray(Arithmetic, Array):
    """An array of 1 to 4 dimensions, cut into tiles by boundaries along each, every tile on any rank. Collective constructor.

    `dtype`: float32, float64, complex64, complex128, int32 or int64. All elements are zero. How it is cut, the same on every rank:

        nothing       as evenly as can be, a tile per rank of `grid`
        tiles         tiles of so many indices (one number, or one per dimension), dealt to `grid` in turn along each dimension:
                      block-cyclic, as ScaLAPACK does
        boundaries    along each dimension the first index of every tile, then the extent: [[0, 3, 10], [0, 5, 12]]
        owners        the rank of each tile, in an array of as many dimensions (or flat), instead of dealing them
        grid          ranks along each dimension, `world.size` in all; None: parts as near to cubes as can be

    A[i0:i1, j0:j1] is a view of a rectangle (ArrayView): NumPy functions and arithmetic fetch a copy of it, one-sided. A[...] =
    block puts; A[...] += block and -= add, each contribution whole and once. Indices are integers, slices and an ellipsis; slices
    with another step than 1, A[::2, 0:9:3], give a StridedView, which takes the same. A.gather() is the whole array on every rank;
    np.asarray(A) fetches it on one.

    Methods that say "collective" are called by every rank, and begin by completing all that was started before on any. Operators on
    whole arrays (A + B, A @ B, 2 * A, A += B) are collective, and take arrays of one layout but for @. What a rank gets must not be
    put, and what is put or summed not be got, until a sync() is between. A rank whose memory another cannot see (on another node)
    must poll, in any blocking call, or have a ProgressThread. UserError, on every rank of a collective call, for what does not fit.
    """

    __slots__ = ("_dtype", "_failures", "_functions", "_layout", "_shape")

    def __init__(
        self,
        world: _craton.World,
        shape: int | Sequence[int],
        dtype: DTypeLike = "float64",
        *,
        tiles: int | Sequence[int] | None = None,
        grid: Sequence[int] | None = None,
        boundaries: Sequence[ArrayLike] | None = None,
        owners: ArrayLike | None = None,
    ) -> None:
        extents = _checked_shape(shape)
        name = checked_dtype("DistArray", dtype, ELEMENT_TYPES)
        self._layout = tile_layouts.plan(extents, world.size, tiles, grid, boundaries, owners)
        cuts, given = self._layout.boundaries, self._layout.given
        ranks = [] if given is None else given.ravel().tolist()
        self._core = _craton._dist_array(world, name, [each.tolist() for each in cuts], ranks, self._layout.grid or ())
        self._shape, self._dtype = extents, np.dtype(name)
        self._functions: list[Callable[..., Any]] = []
        self._failures: list[str] = []

    @classmethod
    def from_array(cls, world: _craton.World, values: ArrayLike, **layout: Any) -> DistArray:
        """An array with the elements of one that every rank has whole. Collective; nothing travels.

        layout: what the constructor takes after dtype.
        """
        whole = whole_of(values)
        made = cls(world, whole.shape, whole.dtype, **layout)
        for tile in made.local_tiles:
            tile.array[...] = whole[tile.slices]
        world.barrier()
        return made

    def like(self, dtype: DTypeLike | None = None) -> DistArray:
        """Zeros in the same layout. Collective. dtype: None for this one's."""
        return DistArray(self.world, self.shape, dtype or self.dtype, **self._layout.arguments())

    # What it is. Not collective.

    @property
    def shape(self) -> Place:
        """Extents."""
        return self._shape

    @property
    def dtype(self) -> np.dtype[Any]:
        """The element type."""
        return self._dtype

    @property
    def boundaries(self) -> tile_layouts.Boundaries:
        """Along each dimension the first index of every tile, then the extent."""
        return self._layout.boundaries

    @property
    def owners(self) -> NDArray[np.int64]:
        """The rank of each tile; as many dimensions as the array. Made when it is asked for, where tiles are dealt in turn."""
        return self._layout.owners

    @property
    def local_tiles(self) -> list[LocalTile]:
        """This rank's tiles, views that keep the array alive. Use them between a sync() and what others do next."""
        counts = self._layout.counts
        found = []
        for number in self._core.own_tiles():
            along = np.unravel_index(number, counts)
            low = tuple(int(cuts[n]) for cuts, n in zip(self.boundaries, along, strict=True))
            high = tuple(int(cuts[n + 1]) for cuts, n in zip(self.boundaries, along, strict=True))
            found.append(LocalTile(number, low, high, self._core.tile_view(number)))
        return found

    def __repr__(self) -> str:
        tiles = times(self._layout.counts)
        return f"<DistArray {times(self.shape)} of {self.dtype}, {tiles} tiles on {ranks_text(self.world)}>"

    def _facts(self) -> dict[str, object]:
        return {
            "shape": times(self.shape),
            "elements": self.dtype,
            "tiles": f"{times(self._layout.counts)}, up to {times(max(np.diff(cuts)) for cuts in self.boundaries)}",
            "ranks": self.world.size,
        }

    # Rectangles. Not collective, any thread; see ArrayView.

    def __getitem__(self, key: Any) -> ArrayView | StridedView:
        try:
            return ArrayView(self, *rectangle_of(key, self._shape), key)
        except OtherStepError:
            return StridedView(self, strided(key, self._shape))

    def __setitem__(self, key: Any, value: ArrayLike | ArrayView | StridedView) -> None:
        if is_in_place(self, key, value):
            return
        of = self[key]
        if isinstance(of, StridedView):
            of.assign(value)
        else:
            assign(of, value)

    def _fetched(self, picks: tuple[Picked, ...]) -> NDArray[Any]:
        return self.get_elements(_mesh(picks))

    def _added(self, block: NDArray[Any], picks: tuple[Picked, ...]) -> None:
        self.add_elements(_mesh(picks), block)

    def _put(self, block: NDArray[Any], picks: tuple[Picked, ...]) -> None:
        self.put_elements(_mesh(picks), block)

    # The whole array. Collective, blocking.

    def sync(self) -> None:
        """Completes everything that was started before it on any rank. Collective, blocking.

        UserError on every rank where a function that was applied has raised anything: what one rank has met first.
        """
        self._core.sync()
        if self._functions:
            failures, self._failures = self._failures, []
            self.world.agree(failures[0] if failures else "")

    def get_elements(self, where: Any) -> NDArray[Any]:
        """Elements anywhere: where = (rows, columns) gives what A[rows, columns] gives of a NumPy array.

        where: arrays of integers, one for each dimension, broadcast together. A message goes to each owner on another node. Not
        collective, any thread, blocking. UserError for a place that is not in the array.
        """
        places, shape = places_of(where, self._shape)
        found = np.empty(len(places), self._dtype)
        self._core.get_elements(places, found)
        return found.reshape(shape)

    def put_elements(self, where: Any, values: ArrayLike) -> None:
        """Elements anywhere become values, which are broadcast. Otherwise as get_elements."""
        places, shape = places_of(where, self._shape)
        self._core.put_elements(places, self._as_elements(values, shape))

    def add_elements(self, where: Any, values: ArrayLike) -> None:
        """Adds values to elements anywhere, as np.add.at: a place may come more than once. Otherwise as get_elements."""
        places, shape = places_of(where, self._shape)
        self._core.add_elements(places, self._as_elements(values, shape))

    def fetch_add(self, where: int | tuple[int, ...], by: complex = 1) -> Any:
        """Adds to one element, and returns what it was before: no two calls of any threads and ranks see the same state.

        A counter in an array. Not collective, blocking. UserError for a place that is not in the array.
        """
        places, _ = places_of(where, self._shape)
        return self._dtype.type(self._core.fetch_add(places[0].tolist(), by))

    def _as_elements(self, values: ArrayLike, shape: Place) -> NDArray[Any]:
        try:
            spread = np.broadcast_to(np.asarray(values), shape)
        except ValueError:
            raise UserError(
                f"DistArray: values of shape {np.shape(values)} for places of shape {shape}; allowed: what NumPy broadcasts to it"
            ) from None
        if not np.can_cast(spread.dtype, self._dtype, "same_kind"):
            raise UserError(f"DistArray: {spread.dtype} values; allowed: {self._dtype}, or what NumPy turns into it")
        return np.ascontiguousarray(spread.ravel(), self._dtype)

    def register(self, function: Callable[[NDArray[Any], tuple[slice, ...], Any], None]) -> AppliedFunction:
        """Names a function for ArrayView.apply: the same ones in the same order on every rank.

        function(piece, where, argument) changes a view of a part of a tile in place; `where` are its slices in the whole array. It
        runs under the tile's lock, so that nobody else adds to the tile or applies anything to it meanwhile. It runs on any thread
        of any rank that has the memory: the caller's, or on other nodes the owner's. It must not wait, keep the view, or call
        anything of an array or a world.
        """
        self._functions.append(function)
        run = functools.partial(_run_applied, weakref.ref(self), len(self._functions) - 1)
        return AppliedFunction(weakref.ref(self), self._core.register_function(run))

    def gather(self) -> NDArray[Any]:
        """The whole array on every rank. Collective, blocking."""
        self.sync()
        whole = self[...].get()
        self.sync()  # nobody changes it while another still reads
        return whole

    def fill(self, value: complex) -> None:
        """Every element becomes the value. Collective, blocking."""
        self._core.fill(value)

    def copy(self) -> DistArray:
        """A new array with the same elements in the same layout. Collective, blocking."""
        made = self.like()
        made._core.copy(self._core)
        return made

    def copy_from(self, other: DistArray) -> None:
        """Elements become those of another array of this shape and element type, in any layout. Collective, blocking."""
        if other is not self:
            self._core.copy(other._core) if self._fits(other) else other._core.redistribute_to(self._core)

    def redistribute_to(self, other: DistArray) -> None:
        """Elements of another array of this shape and element type become this one's. Collective, blocking."""
        self._core.redistribute_to(other._core)

    def redistributed(self, **layout: Any) -> DistArray:
        """A new array with the same elements, laid out as the constructor's arguments after dtype say. Collective, blocking."""
        made = DistArray(self.world, self.shape, self.dtype, **layout)
        self.redistribute_to(made)
        return made

    def scale(self, by: complex) -> None:
        """Every element times a number, in place. Collective, blocking. UserError: another kind of number."""
        self._core.scale(by)

    def add(self, alpha: complex, a: DistArray, beta: complex, b: DistArray) -> None:
        """Becomes alpha a + beta b, of arrays of this layout and element type, which may be this one. Collective, blocking."""
        self._core.add(alpha, a._core, beta, b._core)

    def map(self, function: Callable[..., Any], *others: DistArray, places: bool = False) -> None:
        """Elements become function(tile, tiles of others at the same place...), called for each tile by its owner. Collective.

        Tiles are NumPy arrays: function is np.exp, say, or np.multiply with one other array of the same layout. places: the tile's
        slices in the whole array come last. An exception is raised on the rank that met it, when all ranks have done theirs.
        """
        for other in others:
            if not self._fits(other):
                raise UserError("DistArray map: another array of another layout; allowed: the same layout and world")
        self.sync()
        try:
            arguments = [[tile.array for tile in other.local_tiles] for other in others]
            for n, tile in enumerate(self.local_tiles):
                more = (tile.slices,) if places else ()
                tile.array[...] = function(tile.array, *(each[n] for each in arguments), *more)
        finally:
            self.world.barrier()

    def transpose(self, out: DistArray | None = None) -> DistArray:
        """The transposed array, out[j, i] = self[i, j], in `out` of any layout, or in a new array. Collective, blocking.

        A new array's tiles are the transposed ones on the same ranks.
        """
        if out is None:
            layout = self._layout
            out = DistArray(
                self.world, self.shape[::-1], self.dtype, boundaries=layout.boundaries[::-1], owners=layout.owners.T
            )
        self._core.transpose_to(out._core)
        return out

    @property
    def T(self) -> DistArray:
        """A new array: transpose(). Collective, blocking."""
        return self.transpose()

    def trace(self) -> Any:
        """The sum of the diagonal of a square array, on every rank, in double precision. Collective, blocking."""
        if self.ndim != 2:
            raise UserError(f"DistArray trace: an array of {self.ndim} dimensions; allowed: two")
        rows, cols = self.shape
        if rows != cols:
            raise UserError(f"DistArray trace: {rows} rows and {cols} columns; allowed: as many")
        self.sync()
        mine = reductions.wide(self.dtype).type(0)
        for tile in self.local_tiles:
            along = np.arange(max(tile.low), min(tile.high))
            mine += tile.array[along - tile.low[0], along - tile.low[1]].sum(dtype=mine.dtype)
        return reductions.of_all_ranks(self.world, mine).sum()

    def dot(self, other: DistArray) -> Any:
        """The sum of conj(self) * other over all elements, on every rank: of matrices the trace of A^H B. Collective, blocking.

        Both have one layout. Float sums depend in their last digits on the layout; float32 is summed in float64.
        """
        if not isinstance(other, DistArray):
            raise UserError(
                f"DistArray dot: with an object of type {type(other).__name__}; allowed: a DistArray of one layout (@ for products)"
            )
        return self._widened()._core.dot(other._widened()._core)

    def norm(self, kind: Literal["fro", "max", "one"] = "fro") -> float:
        """The norm of the elements as one vector, on every rank. Collective, blocking.

        kind: "fro" the root of the sum of squares, "max" the largest |element|, "one" the sum of |elements|. UserError: another.
        """
        found: float = self._core.norm(kind)
        return found

    def save(self, path: str, dataset: str, *, append: bool = False, hints: Mapping[str, str] | None = None) -> None:
        """Writes one HDF5 dataset of this shape, all ranks together. Collective, blocking.

        It is written beside the path and renamed when it is whole. append: adds it to a file that is there. hints: for MPI-IO, over
        those of CRATON_IO_HINTS. UserError on every rank when the file cannot be written.
        """
        self._core.save(str(path), dataset, append, dict(hints or {}))

    def load(self, path: str, dataset: str, *, hints: Mapping[str, str] | None = None) -> None:
        """Elements become those of a dataset, saved by any number of ranks in any layout. Collective, blocking.

        UserError with the array as it was: a missing file or dataset, a file cut short, another shape or precision (both named).
        UserError with the array overwritten: elements that are not those of the dataset's checksum, the attribute craton_checksum,
        which save() writes; a dataset without one is taken as it is.
        """
        self._core.load(str(path), dataset, dict(hints or {}))

    def _widened(self) -> DistArray:
        """The array itself, or one of int64 for int32 elements, in which their sums fit."""
        return self.astype("int64") if self.dtype == np.int32 else self

    def _fits(self, other: DistArray) -> bool:
        return self.world is other.world and self.shape == other.shape and self._layout.same_as(other._layout)


def _mesh(picks: tuple[Picked, ...]) -> tuple[NDArray[Any], ...]:
    return np.ix_(*[np.asarray(each.indices, np.int64) for each in picks])


def _run_applied(
    array: weakref.ref[DistArray], number: int, piece: NDArray[Any], low: Sequence[int], argument: bytes
) -> None:
    """Raises nothing: it may run while another rank waits for it."""
    of = array()
    if of is None:
        return
    try:
        where = tuple(slice(first, first + extent) for first, extent in zip(low, piece.shape, strict=True))
        of._functions[number](piece, where, pickle.loads(argument) if argument else None)
    except Exception as error:
        of._failures.append(f"DistArray apply: rank {of.world.rank}: {type(error).__name__}: {error}")


def _checked_shape(shape: int | Sequence[int]) -> Place:
    try:
        extents = tuple(int(each) for each in (shape if isinstance(shape, Sequence | np.ndarray) else (shape,)))
    except (TypeError, ValueError):
        extents = ()
    if not 1 <= len(extents) <= _MOST_DIMENSIONS or min(extents) < 1:
        raise UserError(f"DistArray: shape = {shape}; allowed: 1 to {_MOST_DIMENSIONS} extents of 1 or more")
    return extents
