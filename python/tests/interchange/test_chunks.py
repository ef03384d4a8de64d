"""Chunked arrays into DistArray and ConvergentMatrix and out, each chunk once: Dask, Zarr, HDF5, memory maps."""

import sys

import craton
import h5py
import numpy as np
import pytest
from craton._launch import run_under_mpi
from craton.arrays.interchange import chunks
from mpi4py import MPI

WHOLE = np.random.default_rng(3).standard_normal((23, 14))


@pytest.fixture(scope="module")
def world():
    return craton.World(MPI.COMM_SELF)


class Counted:
    """An array in chunks that notes what is asked of it."""

    def __init__(self, whole, chunks):
        self.whole, self.chunks, self.asked = whole, chunks, []
        self.shape, self.dtype = whole.shape, whole.dtype

    def __getitem__(self, box):
        self.asked.append(tuple((along.start, along.stop) for along in box))
        return self.whole[box]


def test_each_chunk_is_read_once(world):
    source = Counted(WHOLE, (10, 5))
    found = chunks.from_chunks(world, source, tiles=4)
    np.testing.assert_array_equal(found.gather(), WHOLE)
    rows, cols = [(0, 10), (10, 20), (20, 23)], [(0, 5), (5, 10), (10, 14)]
    assert sorted(source.asked) == [(row, col) for row in rows for col in cols]


def test_a_named_byte_order_that_is_the_machines_does_no_harm(world):
    array = craton.DistArray(world, WHOLE.shape)
    array[...] = WHOLE.astype("<f8").view(np.dtype("f8").newbyteorder("<"))
    np.testing.assert_array_equal(array.gather(), WHOLE)
    swapped = WHOLE.astype(">f8")
    np.testing.assert_array_equal(chunks.from_chunks(world, swapped).gather(), WHOLE)


def test_without_chunks_tiles_are_read(world):
    source = Counted(WHOLE, None)
    np.testing.assert_array_equal(chunks.from_chunks(world, source, "float32", tiles=12).gather(), np.float32(WHOLE))
    assert len(source.asked) == 4


def test_a_matrix_is_filled(world):
    for given in ((10, 5), None):
        matrix = craton.ConvergentMatrix(world, *WHOLE.shape, block=3)
        matrix.update(1.0, 0, 0)
        chunks.fill(matrix, Counted(WHOLE, given))
        np.testing.assert_array_equal(matrix.gather(), WHOLE)


def test_dask_and_back_through_numpy(world):
    array = pytest.importorskip("dask.array")
    lazy = array.from_array(WHOLE, chunks=((3, 20), (14,))) * 2 + 1
    found = chunks.from_chunks(world, lazy, tiles=6)
    np.testing.assert_array_equal(found.gather(), WHOLE * 2 + 1)
    unknown = array.from_array(WHOLE[:, 0], chunks=5)
    with pytest.raises(craton.UserError, match="allowed: known extents"):
        chunks.from_chunks(world, unknown[unknown > 0])


def test_zarr_there_and_back(world, tmp_path):
    zarr = pytest.importorskip("zarr")
    stored = zarr.create_array(tmp_path / "in.zarr", shape=WHOLE.shape, chunks=(7, 7), dtype="f8")
    stored[...] = WHOLE
    found = chunks.from_chunks(world, zarr.open_array(tmp_path / "in.zarr", mode="r"))
    np.testing.assert_array_equal(found.gather(), WHOLE)
    for more in ({}, {"shards": (10, 8)}):
        name = tmp_path / f"out{len(more)}.zarr"
        target = zarr.create_array(name, shape=WHOLE.shape, chunks=(5, 4), dtype="f8", **more)
        chunks.to_chunks(found, target)
        np.testing.assert_array_equal(zarr.open_array(name, mode="r")[...], WHOLE)


def test_hdf5_and_memory_maps(world, tmp_path):
    with h5py.File(tmp_path / "some.h5", "w") as file:
        file.create_dataset("a", data=WHOLE, chunks=(6, 6))
        found = chunks.from_chunks(world, file["a"])
        np.testing.assert_array_equal(found.gather(), WHOLE)
        file.create_dataset("b", WHOLE.shape, "f8", chunks=(4, 4))
        chunks.to_chunks(found, file["b"])
        np.testing.assert_array_equal(file["b"][...], WHOLE)
    mapped = np.memmap(tmp_path / "raw", "f8", "w+", shape=WHOLE.shape)
    chunks.to_chunks(found, mapped)
    np.testing.assert_array_equal(chunks.from_chunks(world, mapped).gather(), WHOLE)


def test_what_is_refused(world):
    array = craton.DistArray(world, WHOLE.shape)
    with pytest.raises(craton.UserError, match="of type list; allowed: what has a shape"):
        chunks.from_chunks(world, [1, 2])
    with pytest.raises(craton.UserError, match="fill: an array of 14 x 23 and one of 23 x 14; allowed: the same shape"):
        chunks.fill(array, WHOLE.T)
    with pytest.raises(craton.UserError, match="elements of complex128 into an array of float64; allowed"):
        chunks.fill(array, WHOLE + 1j)
    with pytest.raises(craton.UserError, match="of type ndarray; allowed: a DistArray or ConvergentMatrix"):
        chunks.to_chunks(WHOLE, WHOLE)
    with pytest.raises(craton.UserError, match="merge is 'max'; allowed: 'add'"):
        chunks.fill(craton.ConvergentMatrix(world, *WHOLE.shape, merge="max"), WHOLE)


PROGRAM = """
import sys
import craton, h5py, numpy as np
from craton.arrays.interchange import chunks
from mpi4py import MPI

world = craton.World(MPI.COMM_WORLD)
whole = np.arange(23.0 * 14).reshape(23, 14)
mapped = np.memmap(sys.argv[1], "f8", "r", shape=(23, 14))

class Chunked:
    shape, dtype, chunks = (23, 14), np.dtype("f8"), (5, 4)
    asked, broken = 0, False
    def __getitem__(self, box):
        self.asked += 1
        if self.broken and world.rank == world.size - 1:
            raise OSError("the disk is gone")
        return mapped[box]

source = Chunked()
for layout in ({}, {"tiles": 3}, {"boundaries": [[0, 23], [0, 14]], "owners": [[world.size - 1]]}):
    source.asked = 0
    found = chunks.from_chunks(world, source, **layout)
    assert np.array_equal(found.gather(), whole)
    assert MPI.COMM_WORLD.allreduce(source.asked) == 20
matrix = craton.ConvergentMatrix(world, 23, 14, block=2)
chunks.fill(matrix, source)
assert np.array_equal(matrix.gather(), whole)
out = np.memmap(sys.argv[2], "f8", "r+", shape=(23, 14))
chunks.to_chunks(found, out)
assert np.array_equal(out, whole)
source.broken = True
try:
    chunks.from_chunks(world, source)
except craton.UserError as error:
    assert str(error) == f"rank {world.size - 1}: the disk is gone", error
else:
    raise AssertionError("nobody has said that the disk is gone")
source.broken = False
source.shape = (23, 14 + (world.rank == world.size - 1))  # as where one rank has opened another file
for call in (chunks.fill, chunks.to_chunks):
    try:
        call(found, source)
    except craton.UserError as error:
        assert str(error).endswith("an array of 23 x 15 and one of 23 x 14; allowed: the same shape"), error
    else:
        raise AssertionError("nobody has said that a shape is another")
source.shape = None if world.rank == world.size - 1 else (23, 14)
try:
    chunks.from_chunks(world, source)
except craton.UserError as error:
    assert "allowed: what has a shape" in str(error), error
else:
    raise AssertionError("nobody has said that there is no shape")
if world.rank == 0:
    print("chunks agree")
"""


@pytest.mark.parametrize(("ranks", "ranks_per_node"), [(1, None), (2, None), (3, 1)])
def test_on_several_ranks(ranks, ranks_per_node, tmp_path, capfd):
    (tmp_path / "program.py").write_text(PROGRAM)
    np.arange(23.0 * 14).tofile(tmp_path / "raw")
    np.zeros(23 * 14).tofile(tmp_path / "out")
    words = [str(tmp_path / "program.py"), str(tmp_path / "raw"), str(tmp_path / "out")]
    code = run_under_mpi(words, ranks, ranks_per_node=ranks_per_node, program=[sys.executable])
    out, err = capfd.readouterr()
    assert code == 0, err
    assert "chunks agree" in out
