"""Arrays in chunks from and to distributed ones, chunk by chunk: Dask, Zarr, HDF5 datasets, xarray, NumPy's memory maps.

Anything with a shape, a dtype and slices will do. Where it says what its chunks are, each chunk is read, computed or written once,
by one rank. No rank ever has more than a chunk beside its own part.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar, cast

import h5py
import numpy as np
from numpy.typing import DTypeLike, NDArray

from craton.arrays.array import times
from craton.arrays.convergent_matrix import ConvergentMatrix
from craton.arrays.dist_array import DistArray
from craton.errors import UserError, words_of

if TYPE_CHECKING:
    from craton._craton import World

__all__ = ["fill", "from_chunks", "to_chunks"]

Box = tuple[slice, ...]
Found = TypeVar("Found")
ALLOWED = "what has a shape, a dtype and slices: arrays of Dask, Zarr, xarray and NumPy, HDF5 datasets"
SLAB_BYTES = 2**24
"""Of rows of a matrix that are read at a time where the source has no chunks."""


def from_chunks(world: World, source: Any, dtype: DTypeLike | None = None, **layout: Any) -> DistArray:
    """A DistArray with the elements of a chunked array. Collective, blocking.

    dtype: None for the source's. layout: what DistArray takes after dtype. UserError as fill().
    """
    shape, found = _agreed(world, lambda: _shape_and_dtype(source))
    made = DistArray(world, shape, found if dtype is None else dtype, **layout)
    fill(made, source)
    return made


def fill(array: DistArray | ConvergentMatrix, source: Any) -> None:
    """Elements become those of a chunked array of the same shape. Collective, blocking.

    Every rank has the source open for itself. A rank reads the chunks whose middles it owns (of a matrix: chunks dealt in turn).
    UserError on every rank: another shape, elements of another kind, what a rank could not read.
    """
    _check_array("fill", array)
    _agreed(array.world, lambda: _check_source(array, source))
    if isinstance(array, ConvergentMatrix):
        if array.merge not in ("add", np.add):
            raise UserError(f"fill: a matrix whose merge is {array.merge!r}; allowed: 'add'")
        array.fill(0)
    else:
        array.sync()

    def read(box: Box) -> None:
        block = np.asarray(source[box])
        # of one type: without the byte order that Zarr writes into it, which is the machine's
        block = block.view(array.dtype) if block.dtype == array.dtype else block.astype(array.dtype)
        if isinstance(array, ConvergentMatrix):
            array.update(block, *(range(along.start, along.stop) for along in box))
        else:
            array[box] = block

    _each_chunk(array, getattr(source, "chunks", None), read)
    _complete(array)


def to_chunks(array: DistArray | ConvergentMatrix, target: Any) -> None:
    """Writes all elements to a chunked array of the same shape that takes slices, as a Zarr array does. Collective, blocking.

    Every rank has the target open for itself, and writes whole chunks (shards of Zarr). UserError on every rank: another shape, an
    HDF5 dataset on several ranks (save() writes those), what a rank could not write.
    """
    _check_array("to_chunks", array)
    _agreed(array.world, lambda: _check_shape("to_chunks", array, _shape_and_dtype(target)[0]))
    if isinstance(target, h5py.Dataset) and array.world.size > 1:
        raise UserError(f"to_chunks: an HDF5 dataset on {array.world.size} ranks; allowed: save(), or a Zarr array")
    _complete(array)

    def write(box: Box) -> None:
        target[box] = array[box].get()

    _each_chunk(array, getattr(target, "shards", None) or getattr(target, "chunks", None), write)
    _complete(array)  # nobody changes it while another still reads


def _check_source(array: DistArray | ConvergentMatrix, source: Any) -> None:
    shape, found = _shape_and_dtype(source)
    _check_shape("fill", array, shape)
    if not np.can_cast(found, array.dtype, "same_kind"):
        raise UserError(
            f"fill: elements of {found} into an array of {array.dtype}; allowed: what becomes {array.dtype} without another "
            "kind of number (astype first)"
        )


def _agreed(world: World, look: Callable[[], Found]) -> Found:
    """Collective: what look() says of the array that this rank has open; UserError on every rank where it refuses on any."""
    found, failure = None, ""
    try:
        found = look()
    except UserError as error:
        failure = str(error)
    world.agree(failure)
    return cast(Found, found)


def _each_chunk(array: DistArray | ConvergentMatrix, chunks: Any, work: Callable[[Box], None]) -> None:
    """Collective: this rank's chunks are worked on; UserError on every rank where one fails on any."""
    failure = ""
    try:
        for box in _own_boxes(array, chunks):
            work(box)
    except Exception as error:
        failure = f"rank {array.world.rank}: {words_of(error)}"
    array.world.agree(failure)


def _own_boxes(array: DistArray | ConvergentMatrix, chunks: Any) -> Iterator[Box]:
    cuts = _cuts(array, chunks)
    rank, size = array.world.rank, array.world.size
    numbered = itertools.product(*(range(len(each) - 1) for each in cuts))
    if isinstance(array, ConvergentMatrix):
        own = (number for n, number in enumerate(numbered) if n % size == rank)
    else:
        middles = [(each[:-1] + each[1:]) // 2 for each in cuts]
        tiles = [
            np.searchsorted(along, middle, "right") - 1 for along, middle in zip(array.boundaries, middles, strict=True)
        ]
        owners = array.owners[np.ix_(*tiles)]
        own = (number for number in numbered if owners[number] == rank)
    for number in own:
        yield tuple(slice(int(each[n]), int(each[n + 1])) for each, n in zip(cuts, number, strict=True))


def _cuts(array: DistArray | ConvergentMatrix, chunks: Any) -> list[NDArray[np.int64]]:
    """Along each dimension the first index of every chunk, then the extent."""
    if chunks is None:
        if isinstance(array, DistArray):
            return list(array.boundaries)
        rows, cols = array.shape
        chunks = (max(1, SLAB_BYTES // (cols * array.dtype.itemsize)), cols)
    cuts = []
    for extent, along in zip(array.shape, chunks, strict=True):
        if np.ndim(along) == 0:
            cuts.append(np.append(np.arange(0, extent, int(along)), extent))
            continue
        sizes = np.asarray(along, float)  # Dask says NaN where it does not know
        if not np.isfinite(sizes).all():
            raise UserError(
                f"chunks of unknown sizes along an extent of {extent}; allowed: known ones (compute_chunk_sizes)"
            )
        cuts.append(np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64))
    return cuts


def _shape_and_dtype(source: Any) -> tuple[tuple[int, ...], np.dtype[Any]]:
    shape, dtype = getattr(source, "shape", None), getattr(source, "dtype", None)
    if not isinstance(shape, tuple) or dtype is None or not hasattr(source, "__getitem__"):
        raise UserError(f"chunks of an object of type {type(source).__name__}; allowed: {ALLOWED}")
    if any(extent != extent for extent in shape):
        raise UserError(f"chunks of an array of shape {shape}; allowed: known extents (compute_chunk_sizes of Dask)")
    return shape, np.dtype(dtype)


def _check_array(call: str, array: Any) -> None:
    if not isinstance(array, DistArray | ConvergentMatrix):
        raise UserError(f"{call}: an object of type {type(array).__name__}; allowed: a DistArray or ConvergentMatrix")


def _check_shape(call: str, array: DistArray | ConvergentMatrix, shape: tuple[int, ...]) -> None:
    if array.shape != shape:
        raise UserError(f"{call}: an array of {times(shape)} and one of {times(array.shape)}; allowed: the same shape")


def _complete(array: DistArray | ConvergentMatrix) -> None:
    """All that was started before on any rank is done. Collective."""
    if isinstance(array, ConvergentMatrix):
        array.commit()
        array.world.barrier()
    else:
        array.sync()
