"""craton.DistArray against NumPy: on several ranks (programs/dist_arrays.py), and what slices mean on one."""

import gc
import sys
import weakref
from pathlib import Path

import craton
import numpy as np
import pytest
from craton import linalg
from craton._launch import run_under_mpi
from craton.arrays import tile_layouts
from mpi4py import MPI

PROGRAM = Path(__file__).resolve().parents[1] / "programs" / "dist_arrays.py"


@pytest.mark.parametrize(("ranks", "ranks_per_node"), [(1, None), (2, None), (2, 1), (3, 2), (4, 1)])
def test_arrays_on_several_ranks(ranks, ranks_per_node, tmp_path, capfd):
    code = run_under_mpi([str(PROGRAM), str(tmp_path)], ranks, ranks_per_node=ranks_per_node, program=[sys.executable])
    nodes = 1 if ranks_per_node is None else -(-ranks // ranks_per_node)
    out, err = capfd.readouterr()
    assert code == 0, err
    assert f"arrays agree on {ranks} ranks of {nodes} nodes" in out
    assert "leaked" not in err


@pytest.fixture(scope="module")
def world():
    return craton.World(MPI.COMM_SELF)


@pytest.fixture
def pair(world):
    """An array of irregular tiles and the same numbers in NumPy."""
    whole = np.arange(12 * 9, dtype=float).reshape(12, 9)
    boundaries = [[0, 1, 7, 12], [0, 4, 5, 9]]
    return craton.DistArray.from_array(world, whole, boundaries=boundaries), whole.copy()


KEYS = [
    np.s_[2:9, 3:7],
    np.s_[:, :],
    np.s_[...],
    np.s_[4],
    np.s_[-3],
    np.s_[-3, -2],
    np.s_[np.int64(3), 2:],
    np.s_[..., 5],
    np.s_[5, ...],
    np.s_[3, ..., 4],
    np.s_[-5:-1, :4],
    np.s_[8:100, 2:1],
    np.s_[100:, :],
    np.s_[3:4, 8],
]


@pytest.mark.parametrize("key", KEYS, ids=str)
def test_a_rectangle_is_what_numpy_says(pair, key):
    a, whole = pair
    view = a[key]
    assert view.shape == whole[key].shape and view.ndim == whole[key].ndim and view.size == whole[key].size
    np.testing.assert_array_equal(view, whole[key])
    np.testing.assert_array_equal(view.get(), whole[key])
    np.testing.assert_array_equal(view.start_get().wait(), whole[key])
    block = np.random.default_rng(1).integers(-9, 9, whole[key].shape)
    a[key] += block
    whole[key] += block
    np.testing.assert_array_equal(a.gather(), whole)
    a[key] -= 2
    whole[key] -= 2
    np.testing.assert_array_equal(a.gather(), whole)
    a[key] = block
    whole[key] = block
    np.testing.assert_array_equal(a.gather(), whole)
    a[key] = a[key] * 2 + 1
    whole[key] = whole[key] * 2 + 1
    np.testing.assert_array_equal(a.gather(), whole)
    view.fill(7)
    whole[key] = 7
    np.testing.assert_array_equal(a.gather(), whole)


def test_a_rectangle_is_a_view_and_numpy_gets_a_copy(pair):
    a, whole = pair
    view = a[2:6, 1:4]
    kept = view.get()
    a.fill(1)
    np.testing.assert_array_equal(view, np.ones((4, 3)))
    np.testing.assert_array_equal(kept, whole[2:6, 1:4])
    kept[0, 0] = 1e9
    assert a[2, 1] == 1
    # An addition by another name is one too.
    view += np.arange(3)
    assert a[5, 3] == 3 and a[5, 4] == 1
    # A rectangle of a rectangle.
    view[1:, 0] += 10
    view[-1][2] = -5
    assert (a[3, 1], a[5, 3], view[1, 0]) == (11, -5, 11)
    assert view.array is a and view.low == (2, 1) and view.high == (6, 4) and view[1:, 0].low == (3, 1)


def test_numpy_takes_rectangles_as_arrays(pair):
    a, whole = pair
    view, block = a[2:6, 1:4], whole[2:6, 1:4]
    np.testing.assert_array_equal(view + 1, block + 1)
    np.testing.assert_array_equal(1 - view, 1 - block)
    np.testing.assert_array_equal(view.T @ view, block.T @ block)
    np.testing.assert_array_equal(np.sqrt(view), np.sqrt(block))
    np.testing.assert_array_equal(np.add.reduce(view, axis=1), block.sum(axis=1))
    np.testing.assert_array_equal(view > 30, block > 30)
    np.testing.assert_array_equal(np.einsum("ij,ij->i", view, view), (block * block).sum(1))
    np.testing.assert_array_equal(np.concatenate([view, view]), np.concatenate([block, block]))
    assert np.sum(view) == view.sum() == block.sum() and view.max() == block.max() and view.tolist() == block.tolist()
    assert np.linalg.norm(view) == np.linalg.norm(block)
    assert view.astype("float32").dtype == np.float32 and np.asarray(view, "int64").dtype == np.int64
    assert len(view) == 4 and [row.sum() for row in view] == block.sum(1).tolist() and block[1, 1] in view
    element = a[3, 2]
    assert float(element) == int(element) == complex(element) == whole[3, 2] and bool(element)
    assert f"{element:.3f}" == f"{whole[3, 2]:.3f}" and str(view) == str(block)
    assert "[2:6, 1:4]" in repr(view) and "float64" in repr(view)
    assert "12 x 9 of float64" in repr(a)
    with pytest.raises(TypeError):
        len(element)
    with pytest.raises(ValueError, match="copy"):
        np.asarray(view, copy=False)
    integers = a.like("int64")
    integers[3, 3] = 2
    assert "abc"[integers[3, 3]] == "c"
    into = np.zeros((4, 3))
    np.copyto(into, view)
    np.testing.assert_array_equal(into, block)


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (lambda a: a[0:9][::2], "index 0 has step 2; allowed: 1"),
        (lambda a: a[:, 0:9][:, ::-1], "index 1 has step -1; allowed: 1"),
        (lambda a: a[::2, [1, 2]], "index 1 is a list; allowed: integers, slices and an ellipsis"),
        (lambda a: a[::2, 9], "index 1 is 9; allowed: -9 to 8"),
        (lambda a: a[::0], "index 0 is slice(None, None, 0); allowed: slices of integers"),
        (lambda a: a[::2].put(np.ones((5, 9))), "put: a block of shape (5, 9) for a rectangle of shape (6, 9)"),
        (lambda a: a[::2].accumulate(1j), "+=: elements of complex128 into an array of float64"),
        (lambda a: a[::2].__imul__(2), "an operation in place on a rectangle; allowed: += and -="),
        (lambda a: a[12], "index 0 is 12; allowed: -12 to 11"),
        (lambda a: a[0, -10], "index 1 is -10; allowed: -9 to 8"),
        (lambda a: a[1, 2, 3], "3 indices; allowed: 2 at most"),
        (lambda a: a[..., ...], "one ellipsis"),
        (lambda a: a[[1, 2]], "index 0 is a list; allowed: integers, slices"),
        (lambda a: a[np.ones((12, 9), bool)], "index 0 is a ndarray"),
        (lambda a: a[None], "index 0 is a NoneType"),
        (lambda a: a[True], "index 0 is a bool"),
        (lambda a: a[1.5], "index 0 is a float"),
        (lambda a: a["x":], "index 0 is slice"),
        (lambda a: a[0:3, 0:3].put(np.ones((2, 3))), "put: a block of shape (2, 3) for a rectangle of shape (3, 3)"),
        (lambda a: a[0:3, 0:3].accumulate(np.ones((4, 3, 3))), "accumulate: a block of shape (4, 3, 3)"),
        (lambda a: a[0:3].put(1j), "put: elements of complex128 into an array of float64"),
        (lambda a: a.like("int64")[0:3].accumulate(1.5), "accumulate: elements of float64 into an array of int64"),
        (lambda a: a[0:3, 0:3].get(np.ones((3, 2))), "get: out is a float64 array of shape (3, 2); allowed: a float64"),
        (lambda a: a[0:3, 0:3].get(np.ones((3, 3), int)), "get: out is a int64 array"),
        (lambda a: a[0:3, 0:3].get([1.0]), "get: out is a list"),
        (lambda a: a[0:3, 0:3].get(np.broadcast_to(1.0, (3, 3))), "out is read-only"),
        (lambda a: a[0:3].get_above(float("nan")), "threshold is nan"),
        (lambda a: a[0:3].__imul__(2), "in place on a rectangle; allowed: += and -="),
        (lambda a: np.add(a[0], 1, out=a[0]), "in place on a rectangle"),
        (lambda a: a.norm("two"), "kind = 'two'; allowed: 'fro', 'max' or 'one'"),
        (lambda a: a.fill("one"), "fill: value: 'one'; allowed: a float64 number"),
        (lambda a: a.scale(1j), "scale: by"),
        (lambda a: a.trace(), "12 rows and 9 columns"),
        (lambda a: a.dot(a.like("float32")), "the other array is float32 of 2 dimensions; allowed: float64 of 2"),
        (lambda a: a.copy_from(craton.DistArray(a.world, (9, 12))), "extents are others"),
        (lambda a: a.redistribute_to(a), "into the array itself"),
        (lambda a: a.transpose(a), "transpose_to"),
        (lambda a: a + a.redistributed(tiles=2), "layout is another"),
        (lambda a: a.map(np.add, a.redistributed(tiles=2)), "map: another array of another layout"),
        (lambda a: craton.DistArray(a.world, (5,)).transpose(), "1 dimensions; allowed: two"),
        (lambda a: craton.DistArray(a.world, (5,)).trace(), "1 dimensions; allowed: two"),
        (lambda a: craton.DistArray(a.world, (0, 3)), "shape = (0, 3); allowed: 1 to 4 extents of 1 or more"),
        (lambda a: craton.DistArray(a.world, (2,) * 5), "shape = (2, 2, 2, 2, 2)"),
        (lambda a: craton.DistArray(a.world, "x"), "shape = x"),
        (lambda a: craton.DistArray(a.world, 5, "int16"), "dtype = 'int16'; allowed: 'float32'"),
        (lambda a: craton.DistArray(a.world, 5, "nonsense"), "dtype = 'nonsense'"),
        (lambda a: craton.DistArray(a.world, (5, 5), tiles=0), "tiles = 0 for shape (5, 5)"),
        (lambda a: craton.DistArray(a.world, (5, 5), tiles=(1, 2, 3)), "tiles = (1, 2, 3)"),
        (lambda a: craton.DistArray(a.world, (5, 5), grid=(2, 1)), "grid = (2, 1) for 2 dimensions on 1 ranks"),
        (lambda a: craton.DistArray(a.world, 5, tiles=2, boundaries=[[0, 5]]), "tiles and boundaries; allowed: one"),
        (lambda a: craton.DistArray(a.world, (5, 5), boundaries=[[0, 5]]), "boundaries of 1 dimensions"),
        (lambda a: craton.DistArray(a.world, 5, boundaries=[[0, 4]]), "ascending integers from 0 to 5"),
        (lambda a: craton.DistArray(a.world, 5, boundaries=[[0, 3, 3, 5]]), "boundary 2 of dimension 0 is 3 after 3"),
        (lambda a: craton.DistArray(a.world, 5, tiles=2, owners=[0, 0]), "owners is a int64 array of shape (2,)"),
        (lambda a: craton.DistArray(a.world, 5, owners=[0.0]), "owners is a float64 array"),
        (lambda a: craton.DistArray(a.world, 5, owners=[1]), "owner of tile 0 is rank 1; allowed: 0 to 0"),
        (lambda a: a.load("/no/such/file.h5", "a"), "there is no such file"),
        (lambda a: a.save("/no/such/file.h5", "a"), "cannot save array"),
        (lambda a: linalg.eigh(a), "symmetric_eigenproblem: the array is 12 x 9; allowed: square"),
        (lambda a: linalg.eigvalsh(a.like("int64")), "eigvalsh: int64 of 2 dimensions; allowed: DistArrays"),
        (lambda a: linalg.eigh(craton.DistArray(a.world, (3, 3)), "some"), "workers = 'some'; allowed: 'auto'"),
        (
            lambda a: linalg.cholesky(craton.DistArray(a.world, (3, 3))),
            "not positive definite: its leading minor of order 1",
        ),
        (lambda a: linalg.inverse_sqrt(craton.DistArray(a.world, (3, 3))), "smallest of 3 eigenvalues is 0.000e+00"),
        (lambda a: linalg.matmul(a, a), "(12 x 9) times (12 x 9)"),
        (lambda a: linalg.matmul(a, np.ones((9, 2))), "a DistArray and a ndarray; allowed: one kind"),
        (lambda a: linalg.matmul(a, a.transpose(), symmetric="a"), "symmetric = 'a' of DistArrays"),
        (lambda a: linalg.matmul(a, a.transpose(), beta=2), "beta = 2 without out"),
        (lambda a: a @ a.transpose().like("float32"), "float64 of 2 dimensions, float32 of 2 dimensions"),
        (lambda a: linalg.matmul(craton.DistArray(a.world, 5), a), "arrays of 1 and 2 dimensions; allowed: two"),
    ],
)
def test_what_is_refused(pair, use, says):
    a, whole = pair
    with pytest.raises(craton.UserError) as error:
        use(a)
    assert says in str(error.value) and "\n" not in str(error.value)
    np.testing.assert_array_equal(a.gather(), whole)


def test_what_python_itself_refuses(pair):
    a, _ = pair
    for use in (lambda: a + "x", lambda: a * "x", lambda: {} + a, lambda: iter(a)):
        with pytest.raises(TypeError):
            use()
    for name in ("sort", "data", "flags", "nonsense", "_private"):
        with pytest.raises(AttributeError):
            getattr(a[0:2], name)
    with pytest.raises(ValueError, match="read-only"):
        a.owners[0, 0] = 1


def test_blocks_of_any_strides_and_kinds(world):
    rng = np.random.default_rng(3)
    a = craton.DistArray(world, (8, 6), "float32", tiles=3)
    whole = np.zeros((8, 6), "float32")
    memory = rng.integers(-9, 9, (40, 40)).astype("float32")
    blocks = [memory[:16:2, 30:6:-4], memory[:6, :8].T, np.asfortranarray(memory[:8, :6]), memory[3, :6], 5, [1] * 6]
    blocks += [memory[:8, :6].astype("float64"), memory[:8, :6].astype(">f4"), memory[:8, :1], np.int64(3)]
    unaligned = np.frombuffer(b"x" + memory[:8, :6].tobytes(), "float32", offset=1).reshape(8, 6)
    for block in [*blocks, unaligned]:
        a[...] += block
        whole += np.asarray(block, "float32")
        a[2:4] = whole[2:4]
    np.testing.assert_array_equal(a.gather(), whole)


def test_views_and_operations_keep_the_array_alive(world):
    a = craton.DistArray(world, (20, 20), tiles=6)
    a.fill(3)
    gone = weakref.ref(a)
    tile, view, operation = a.local_tiles[1].array, a[3:5], a[...].start_get()
    del a
    gc.collect()
    assert tile.sum() == 3 * tile.size and view.sum() == 120 and operation.wait().sum() == 1200
    del view
    gc.collect()
    assert gone() is None
    assert tile[0, 0] == 3


def test_an_exception_in_a_mapped_function_is_raised(pair):
    a, _ = pair
    with pytest.raises(ZeroDivisionError):
        a.map(lambda block: 1 // 0)


@pytest.mark.parametrize(
    ("shape", "ranks", "grid"),
    [
        ((10, 10), 1, (1, 1)),
        ((10, 10), 2, (1, 2)),
        ((10, 10), 6, (2, 3)),
        ((10, 10), 4, (2, 2)),
        ((1000, 10), 4, (4, 1)),
        ((7,), 12, (12,)),
        ((8, 8, 8), 8, (2, 2, 2)),
        ((3, 100, 3), 7, (1, 7, 1)),
    ],
)
def test_grids_are_as_near_to_cubes_as_can_be(shape, ranks, grid):
    assert tile_layouts.process_grid(shape, ranks) == grid


def test_layouts_are_what_they_say():
    made = tile_layouts.plan((10, 7), 6)
    assert [each.tolist() for each in made.boundaries] == [[0, 3, 6, 10], [0, 3, 7]]
    assert made.owners.tolist() == [[0, 1], [2, 3], [4, 5]] and made.grid == (3, 2) and made.given is None
    made = tile_layouts.plan((2, 3), 16)  # more ranks than elements
    assert [each.tolist() for each in made.boundaries] == [[0, 1, 2], [0, 1, 2, 3]]
    assert made.owners.tolist() == [[0, 1, 2], [4, 5, 6]]
    made = tile_layouts.plan((10, 7), 4, tiles=(4, 2))
    assert [each.tolist() for each in made.boundaries] == [[0, 4, 8, 10], [0, 2, 4, 6, 7]]
    assert made.owners.tolist() == [[0, 1, 0, 1], [2, 3, 2, 3], [0, 1, 0, 1]]
    listed = tile_layouts.plan((10, 7), 4, boundaries=made.boundaries, owners=made.owners)
    assert listed.same_as(made) and made.same_as(listed) and listed.grid is None
    for layout in (made, listed):
        assert layout.owners_along(0).tolist() == [0, 2, 0] and layout.owners_along(1).tolist() == [0, 1, 0, 1]
    assert not made.same_as(tile_layouts.plan((10, 7), 4, tiles=(4, 2), grid=(1, 4)))
    assert tile_layouts.plan((4,), 3, tiles=1, grid=(3,)).owners.tolist() == [0, 1, 2, 0]
    made = tile_layouts.plan((4, 2), 3, boundaries=[[0, 1, 4], [0, 2]], owners=[2, 0])
    assert made.owners.tolist() == [[2], [0]] and not made.owners.flags.writeable


def test_a_view_is_put_elsewhere_but_not_into_its_own_place(world):
    """What Python assigns after += is known by its key; another key, another array and a view of a view are put."""
    a, b = craton.DistArray(world, (6, 6)), craton.DistArray(world, (6, 6))
    key = np.s_[0:2, 0:2]
    a[key] += np.ones((2, 2))
    view = a[key]
    a[key] = view  # its own place
    b[key] = view
    a[4:6, 4:6] = view
    a[4:6, 4:6][0:1] += 1.0
    world.barrier()
    assert a.gather().sum() == 10.0 and b.gather().sum() == 4.0
    for wrong in (None, (None, 0)):
        with pytest.raises(craton.UserError, match="allowed: integers"):
            a[wrong] = a[0:2][0:1]


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64", "complex128", "int32", "int64"])
def test_memory_of_any_strides(world, dtype):
    a = craton.DistArray(world, (8, 6), dtype)
    whole = np.arange(192).reshape(16, 12).astype(dtype)
    for number, block in enumerate(
        (whole[::2, ::2], whole[::-2, 11::-2], whole[:6, :8].T, np.broadcast_to(whole[0, :6], (8, 6)))
    ):
        fixed = np.array(block)
        fixed.flags.writeable = False
        if world.rank == 0:
            a[:, :] += block
            a[:, :] += fixed
        a.sync()
        np.testing.assert_array_equal(a.gather(), 2 * np.array(block), err_msg=str(number))
        if world.rank == 0:
            a[:, :] = 0
        a.sync()
    with pytest.raises(craton.UserError, match=f"elements of .* into an array of {dtype}|allowed"):
        a[:, :] += np.ones((8, 6), "datetime64[s]")
    unaligned = np.zeros(48 * whole.itemsize + 1, "u1")[1:].view(dtype).reshape(8, 6)
    assert not unaligned.flags.aligned
    np.testing.assert_array_equal(a[:, :].get(out=unaligned), np.zeros((8, 6)))
    swapped = np.ones((8, 6)).astype(np.dtype(dtype).newbyteorder())
    a[:, :] += swapped  # another byte order is converted
    a.sync()
    assert np.all(a.gather() == world.size)
