"""What the arrays are to Python, NumPy and notebooks; operations on several ranks are in programs/array_operations.py."""

import copy
import functools
import importlib
import inspect
import pickle
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import craton
import numpy as np
import pytest
from craton import linalg
from craton._launch import run_under_mpi
from mpi4py import MPI

PROGRAM = Path(__file__).resolve().parents[1] / "programs" / "array_operations.py"


@pytest.mark.parametrize("ranks, ranks_per_node", [(1, None), (2, None), (2, 1), (3, 2), (4, 1), (4, None)])
def test_operations_on_several_ranks(ranks, ranks_per_node, capfd):
    code = run_under_mpi([str(PROGRAM)], ranks, ranks_per_node=ranks_per_node, program=[sys.executable])
    nodes = 1 if ranks_per_node is None else -(-ranks // ranks_per_node)
    out, err = capfd.readouterr()
    assert code == 0, err
    assert f"operations agree on {ranks} ranks of {nodes} nodes" in out
    assert "leaked" not in err


@pytest.fixture(scope="module")
def world():
    return craton.World(MPI.COMM_SELF)


def made(world):
    """One of every kind."""
    return {
        "ConvergentMatrix": craton.ConvergentMatrix(world, 10, 8, block=4),
        "SymmetricMatrix": craton.SymmetricMatrix(world, 10, block=4),
        "ReproducibleMatrix": craton.ReproducibleMatrix(world, 10, 8, largest=10.0, block=4),
        "ConvergentVector": craton.ConvergentVector(world, 10, block=4),
        "DistArray": craton.DistArray(world, (10, 8), tiles=4),
    }


APPLICATIONS = ["tomography", "waves", "hazard", "multigrid", "scf"]
KINDS = ["ConvergentMatrix", "SymmetricMatrix", "ReproducibleMatrix", "ConvergentVector", "DistArray"]


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


@pytest.fixture
def array(world, kind):
    return made(world)[kind]


def test_kinds_are_classes(world, kind, array):
    of_kind = getattr(craton, kind)
    assert isinstance(of_kind, type) and type(array) is of_kind and isinstance(array, of_kind)
    assert isinstance(array, craton.Matrix) == kind.endswith("Matrix")
    others = [getattr(craton, name) for name in KINDS if name != kind]
    assert not isinstance(array, tuple(others))
    m = made(world)
    assert isinstance(m["SymmetricMatrix"].to_matrix(), craton.ConvergentMatrix)
    assert isinstance(m["SymmetricMatrix"].packed, craton.ConvergentMatrix)
    assert isinstance(m["ReproducibleMatrix"].sums, craton.ConvergentMatrix)
    m["SymmetricMatrix"].fill(0)
    m["SymmetricMatrix"].compress(craton.ConvergentMatrix.from_array(world, np.eye(10), block=4))
    factor = linalg.cholesky(m["SymmetricMatrix"])
    assert isinstance(factor, craton.Cholesky) and "SymmetricMatrix 10 x 10" in repr(factor)


def test_one_default_precision(array):
    assert array.dtype == np.float64 and array.like().dtype == np.float64
    assert array.like("float32").dtype == np.float32


def test_attributes_as_numpys(kind, array):
    shape = {"ConvergentVector": (10,), "SymmetricMatrix": (10, 10)}.get(kind, (10, 8))
    assert array.shape == shape and array.ndim == len(shape) and array.size == np.prod(shape) and len(array) == 10
    assert array.world.size == 1


def test_repr_says_what_it_is(world, kind, array):
    text = repr(array)
    assert (
        text.startswith(f"<{kind} 10")
        and "float64" in text
        and "1 rank" in text
        and "1 ranks" not in text
        and "\n" not in text
    )
    if isinstance(array, craton.Matrix):
        assert "blocks of 4 x 4 on a process grid of 1 x 1, 1 rank>" in text
    smallest = craton.ConvergentMatrix(world, 3, 3, merge="min", dtype="int64")
    assert "merge 'min'" in repr(smallest)
    assert "'maximum'" in repr(craton.ConvergentMatrix(world, 3, 3, merge=np.maximum))


class Cells(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def test_a_notebook_gets_a_table(world, kind, array):
    cells = Cells()
    cells.feed(array._repr_html_())
    assert set(cells.tags) == {"table", "caption", "tr", "th", "td"} and cells.texts[0] == kind
    assert "float64" in cells.texts


def test_a_hostile_name_is_escaped(world):
    def merge(into, arriving):
        into += arriving

    merge.__name__ = "<script>alert(1)</script>"
    matrix = craton.ConvergentMatrix(world, 3, 3, merge=merge, identity=0)
    cells = Cells()
    cells.feed(matrix._repr_html_())
    assert "script" not in cells.tags and "'<script>alert(1)</script>'" in cells.texts


def test_dir_lists_what_there_is():
    program = "import craton, sys; print(*dir(craton)); assert 'mpi4py.MPI' not in sys.modules"
    names = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert set(craton.__all__) <= set(names)
    assert {"World", "WorkQueue", *KINDS, "linalg", "Checkpoint", "Cholesky", "UserError"} <= set(names)
    assert not [name for name in names if name.startswith("_") and not name.startswith("__")]
    assert all(hasattr(craton, name) for name in names)
    assert set(PACKAGES) <= {"craton", *(f"craton.{name}" for name in names)}
    assert {"ConvergentMatrix", "DistArray", "Segment"} <= set(dir(craton.arrays))
    with pytest.raises(AttributeError, match="no attribute 'Wurld'"):
        craton.Wurld  # noqa: B018


PACKAGES = ["craton", "craton.arrays", "craton.linalg", "craton.tasks", *(f"craton.{name}" for name in APPLICATIONS)]


@pytest.mark.parametrize("package", PACKAGES)
def test_every_name_that_completion_offers_says_what_it_is(package):
    module = importlib.import_module(package)
    names = [name for name in dir(module) if not name.startswith("_")]
    assert len(names) > 5 and set(module.__all__) - {"__version__"} <= set(names) and inspect.getdoc(module)
    assert not [name for name in names if name in ("TYPE_CHECKING", "annotations", "lazy_names", "np")]
    values = {name: getattr(module, name) for name in names}
    described = {name: value for name, value in values.items() if callable(value) or inspect.ismodule(value)}
    assert not {name for name in described if not inspect.getdoc(described[name])}
    classes = [value for value in values.values() if inspect.isclass(value)]
    assert not [text for each in classes for text in undocumented(each)]


@pytest.mark.parametrize("package", APPLICATIONS)
def test_what_draws_returns_a_figure(package):
    module = importlib.import_module(f"craton.{package}")
    for name in (name for name in dir(module) if name.endswith("_figure")):
        assert "Figure" in str(inspect.signature(getattr(module, name)).return_annotation), name


def undocumented(kind):
    """Methods and properties of a class and what it derives from, other than Python's own classes."""
    for name in dir(kind):
        value = inspect.getattr_static(kind, name)
        home = next(each for each in kind.__mro__ if name in vars(each))
        is_member = callable(value) or isinstance(value, property | classmethod | functools.cached_property)
        if is_member and not name.startswith("_") and home.__module__ != "builtins":
            docs = getattr(value, "__doc__", None) or inspect.getdoc(getattr(kind, name))
            if not docs:
                yield f"{kind.__name__}.{name}"


def test_dir_of_arrays_and_their_parts(kind, array):
    assert {"shape", "dtype", "norm", "gather", "copy", "dot", "sum"} <= set(dir(array))
    part = array[2:4]
    assert {"get", "accumulate", "sum", "T", "mean"} <= set(dir(part)) and "sort" not in dir(part)


def test_all_public_names_say_what_they_are(kind):
    of_kind = getattr(craton, kind)
    without = [name for name in dir(of_kind) if not name.startswith("_") and not getattr(of_kind, name).__doc__]
    assert not without and of_kind.__doc__


def test_adding_and_reading(kind, array):
    key = np.s_[2] if kind == "ConvergentVector" else np.s_[2, 3]
    array[key] += 2.5
    array[key] -= 1
    array.sync() if kind == "DistArray" else array.commit()
    assert array[key] == pytest.approx(1.5) and float(array[key]) == pytest.approx(1.5)
    whole = np.asarray(array)
    assert whole.dtype == np.float64 and whole.shape == array.shape and whole[key] == pytest.approx(1.5)
    np.testing.assert_array_equal(whole, array.gather())
    assert np.asarray(array, dtype="float32").dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        np.asarray(array, copy=False)
    with pytest.raises(TypeError):
        iter(array)


def test_what_cannot_be_pickled_says_what_can_be_done(kind, array):
    for use in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(craton.UserError) as error:
            use(array)
        assert str(error.value).startswith(f"{kind}: it cannot be pickled") and "gather()" in str(error.value)
        assert "\n" not in str(error.value)
    with pytest.raises(craton.UserError, match="cannot be pickled"):
        pickle.dumps(array[2:4])


def test_segments(world):
    segment = craton.Segment(world, 7, "float32")
    assert repr(segment) == "<Segment of float32, 7 elements on rank 0 of 1>"
    with pytest.raises(craton.UserError, match=r"Segment: it cannot be pickled.*; allowed: local or rget\(\)"):
        pickle.dumps(segment)


def test_worlds_and_layouts_say_what_they_are(world):
    assert repr(world) == "<World: rank 0 of 1 on 1 node>"
    layout = craton.ConvergentMatrix(world, 10, 8, block=(4, 3)).layout
    assert repr(layout) == "BlockCyclic(10, 8, 4, 3, 1, 1)"
    again = pickle.loads(pickle.dumps(layout))
    assert again == layout and hash(again) == hash(layout) and again.owner(9, 7) == 0
    assert layout != craton.BlockCyclic(10, 8, 4, 4, 1, 1) and layout != 3


def test_what_moves_work_says_what_it_is(world, tmp_path):
    assert repr(craton.Counter(world)) == "<Counter at rank 0>"
    assert repr(craton.WorkQueue(world, 12)) == "<WorkQueue of 12 tasks, 12 of them this rank's>"
    thread = craton.ProgressThread(world)
    assert repr(thread) == "<ProgressThread, at rest>"
    with thread:
        assert repr(thread) == "<ProgressThread, running>"
    with craton.Checkpoint(world, str(tmp_path / "saved.h5")) as saved:
        assert repr(saved) == f"<Checkpoint {tmp_path / 'saved.h5'}>"
    assert repr(saved) == f"<Checkpoint {tmp_path / 'saved.h5'}, closed>"


def test_sums_of_small_integers_do_not_overflow(world):
    a = craton.DistArray.from_array(world, np.full((3, 3), 2**29, "int32"))
    assert a.dtype == np.int32 and a.sum() == 9 * 2**29 and a.trace() == 3 * 2**29 and a.dot(a) == 9 * 2**58
    assert np.ndim(a.sum()) == np.ndim(a.max()) == 0 and (a @ np.ones(3, "int32")).tolist() == [3 * 2**29] * 3


def test_what_is_plain_is_pickled(world):
    matrix = craton.ConvergentMatrix(world, 10, 10, block=4)
    report = matrix.update_gram(np.ones((3, 2)), [1, 4])
    assert pickle.loads(pickle.dumps(report)) == report and report.samples == report.rank == 3
    a = craton.DistArray.from_array(world, np.arange(12.0).reshape(3, 4), tiles=2)
    pieces = a[...].get_above(5.0)[1]
    assert pickle.loads(pickle.dumps(pieces)) == pieces
    tile = pickle.loads(pickle.dumps(a.local_tiles[1]))
    np.testing.assert_array_equal(tile.array, a.local_tiles[1].array)
    assert tile.slices == a.local_tiles[1].slices


def test_whole_arrays_are_compared_by_identity(world, kind, array):
    again = made(world)[kind]
    assert array == array and array in [array, again] and array != None and array != "a"  # noqa: E711
    assert len({array, again}) == 2
    for other in (again, 3.0, np.ones(10)):
        with pytest.raises(craton.UserError, match=rf"{kind}.*(==|equal)"):
            array == other  # noqa: B015
        with pytest.raises(craton.UserError):
            array != other  # noqa: B015
    assert isinstance(array[2] == 0, np.ndarray | np.bool_)


def test_sums_of_single_precision_are_double(world):
    """A million tenths: a sum in single precision is some units off."""
    n = 1000
    values = np.full((n, n), np.float32(0.1))
    exact = n * float(np.float32(0.1))
    square = craton.ConvergentMatrix.from_array(world, values)
    for found in (
        square.trace(),
        square.diagonal().sum(dtype=float),
        craton.ConvergentVector.from_array(world, values[0]).sum(),
    ):
        assert found == pytest.approx(exact, rel=1e-12)
    assert square.trace().dtype == np.float64 and square.sum() == pytest.approx(n * exact, rel=1e-12)
    assert craton.DistArray.from_array(world, values).trace() == pytest.approx(exact, rel=1e-12)


def test_sums_as_numpy_asks_for_them(kind, array):
    array.fill(2) if hasattr(array, "fill") else None
    assert np.sum(array) == array.sum() == np.asarray(array).sum()
    if kind != "DistArray":
        with pytest.raises(craton.UserError, match=rf"{kind} sum: axis = 0, dtype = None, out = None; allowed: None"):
            np.sum(array, axis=0)


def test_arithmetic_of_whole_arrays(world):
    values = np.arange(12).reshape(3, 4)
    a = craton.DistArray.from_array(world, values, tiles=2)
    for found, wanted in ((a // 5, values // 5), (7 % (a + 1), 7 % (values + 1)), (+a, values), (a % 3, values % 3)):
        np.testing.assert_array_equal(found.gather(), wanted)
    assert (+a) is not a


def test_vectors_are_scaled(world):
    v = craton.ConvergentVector.from_array(world, np.arange(5), block=2)
    v *= 3
    v.scale(2)
    assert v.dtype == np.int64 and v.gather().tolist() == [0, 6, 12, 18, 24]
    for factor in (0.5, 1j, "abc", None, [1, 2]):
        with pytest.raises(
            craton.UserError, match=r"ConvergentVector scale: factor = .* of elements of int64; allowed"
        ):
            v.scale(factor)
    assert (v.copy().gather() == v.gather()).all()


def test_shapes_may_be_tuples(world):
    for kind, options in ((craton.ConvergentMatrix, {}), (craton.ReproducibleMatrix, {"largest": 1})):
        assert kind(world, (5, 6), **options).shape == kind(world, 5, 6, **options).shape == (5, 6)
        for wrong in ((5,), (5, 6, 7), 5, "ab", ("a", 6)):
            with pytest.raises(craton.UserError, match=r"Matrix: shape = .*; allowed: rows and columns"):
                kind(world, wrong, **options)


def test_blocks_fit_without_being_told(world):
    assert craton.ConvergentMatrix(world, 500, 3).block == (64, 64)
    assert craton.SymmetricMatrix(world, 3).block == 64


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (
            lambda m, s, r, v: m.__setitem__((2, 2), 4),
            "ConvergentMatrix: elements are not assigned; allowed: += and -=",
        ),
        (lambda m, s, r, v: m.__setitem__(np.s_[0], m[1]), "elements are not assigned"),
        (lambda m, s, r, v: v.__setitem__(2, 4), "ConvergentVector: elements are not assigned"),
        (lambda m, s, r, v: m[10], "ConvergentMatrix: index 0 is 10; allowed: -10 to 9"),
        (lambda m, s, r, v: m[[0, 12]], "index 0 has 12; allowed: -10 to 9"),
        (lambda m, s, r, v: m[1, 2, 3], "3 indices; allowed: 2 at most"),
        (lambda m, s, r, v: m[1.5], "index 0 is a float; allowed: integers, slices, one-dimensional arrays"),
        (
            lambda m, s, r, v: m[[1.5]],
            "index 0 is a float64 array of shape (1,); allowed: integers in one dimension, or 10",
        ),
        (lambda m, s, r, v: m[np.ones((10, 8), bool)], "index 0 is a bool array of shape (10, 8)"),
        (lambda m, s, r, v: m[None], "index 0 is a NoneType"),
        (lambda m, s, r, v: m["a":], "index 0 is slice"),
        (lambda m, s, r, v: v[[[1, 2], [3, 4]]], "index 0 is a int64 array of shape (2, 2)"),
        (
            lambda m, s, r, v: m[0:3, 0:3].accumulate(np.ones((2, 3))),
            "+=: a block of shape (2, 3) for a rectangle of shape (3, 3)",
        ),
        (lambda m, s, r, v: m[[0, 1], [2, 3]].accumulate(np.ones(2)), "shape (2, 2); allowed: the same, or one number"),
        (lambda m, s, r, v: m[0:3].accumulate(1j), "+=: elements of complex128 into an array of float64"),
        (lambda m, s, r, v: m[0:3].__imul__(2), "in place on a rectangle; allowed: += and -="),
        (lambda m, s, r, v: m + 1, "ConvergentMatrix: arithmetic on whole matrices; allowed: @, scale(), and +="),
        (lambda m, s, r, v: 2 * s, "SymmetricMatrix: arithmetic on whole matrices"),
        (
            lambda m, s, r, v: r.__imul__(2) if hasattr(r, "__imul__") else r * 2,
            "allowed: @, and += on m[rows, cols], to_matrix()",
        ),
        (lambda m, s, r, v: m < 1, "ConvergentMatrix: arithmetic on whole matrices"),
        (lambda m, s, r, v: v - v, "ConvergentVector: arithmetic on whole vectors"),
        (
            lambda m, s, r, v: m @ np.ones(3),
            "ConvergentMatrix @ a ndarray of shape (3,); allowed: a vector of 8 numbers",
        ),
        (lambda m, s, r, v: m @ np.ones((8, 2)), "allowed: a vector of 8 numbers, or a ConvergentMatrix (from_array)"),
        (
            lambda m, s, r, v: np.ones(3) @ m,
            "a ndarray of shape (3,) @ ConvergentMatrix; allowed: a vector of 10 numbers",
        ),
        (lambda m, s, r, v: m @ ["a"] * 8, "a list of shape (1,)"),
        (lambda m, s, r, v: m.trace(), "square"),
        (lambda m, s, r, v: m.norm("two"), "ConvergentMatrix norm: kind = 'two'; allowed: 'fro', 'max' or 'one'"),
        (lambda m, s, r, v: m.dot(m.like("float32").T), "allowed: one world and layout"),
        (lambda m, s, r, v: s.dot(m), "allowed: a SymmetricMatrix"),
        (lambda m, s, r, v: v.dot(np.ones(3)), "10 elements with shape (3,)"),
        (lambda m, s, r, v: s[1:4, 2:3].accumulate(1), "+= on both sides of the diagonal; allowed: on one side"),
        (lambda m, s, r, v: s[0:2, 0:2].accumulate([[1, 2], [3, 4]]), "+= of a block that is not symmetric"),
        (
            lambda m, s, r, v: m.like("int64").update_gram(np.ones((1, 1), int), [0]),
            "update_gram: a ConvergentMatrix of int64",
        ),
        (
            lambda m, s, r, v: craton.ConvergentMatrix.from_array(m.world, np.ones(3)),
            "shape = (3,); allowed: rows and columns",
        ),
        (
            lambda m, s, r, v: craton.SymmetricMatrix.from_array(m.world, np.ones((3, 2))),
            "3 x 2 values; allowed: a square",
        ),
        (
            lambda m, s, r, v: craton.ConvergentVector.from_array(m.world, np.ones((3, 2))),
            "shape (3, 2); allowed: one dim",
        ),
        (
            lambda m, s, r, v: craton.Cholesky(craton.DistArray(m.world, (3, 3))),
            "cholesky: DistArray of float64 elements",
        ),
    ],
)
def test_what_is_refused(world, use, says):
    arrays = made(world)
    with pytest.raises(craton.UserError) as error:
        use(*(arrays[name] for name in KINDS[:4]))
    assert says in str(error.value) and "\n" not in str(error.value)


def test_adding_where_the_merge_is_another(world):
    largest = craton.ConvergentMatrix(world, 5, 5, merge="max")
    with pytest.raises(craton.UserError, match=r"\+= where the merge is 'max'; allowed: update\(\), which merges"):
        largest[2, 3] += 1
    assert largest.merge == "max" and largest.like().merge == "max"


@pytest.mark.parametrize(
    ("use", "says"),
    [
        (lambda a: a < 1, "less: its result has bool elements; allowed: float32, "),
        (lambda a: a + a.redistributed(tiles=2), "whose layout is another; allowed: the same layout and world"),
        (lambda a: a * np.ones(5), "multiply: an array of shape (5,) with (10, 8); allowed: what broadcasts"),
        (lambda a: a * np.ones((2, 10, 8)), "an array of shape (2, 10, 8)"),
        (lambda a: np.add.outer(a, 1), "np.add.outer with a DistArray; allowed: functions of elements with one result"),
        (lambda a: np.modf(a), "np.modf with a DistArray"),
        (lambda a: np.add(a, 1, out=np.ones((10, 8))), "np.add with out"),
        (
            lambda a: a.astype("int64").__itruediv__(2),
            "elements of float64 in place of int64; allowed: what becomes int64",
        ),
        (lambda a: a.astype("complex128").max(), "max: elements of complex128 have no order"),
        (lambda a: a.max(axis=0), "max: axis = 0, out = None; allowed: None"),
        (lambda a: a.sum(axis=2), "axis = 2; allowed: dimensions from -2 to 1"),
        (lambda a: np.sum(a, dtype="float32"), "sum: dtype = float32"),
        (
            lambda a: a.dot(np.ones(8)),
            "DistArray dot: with an object of type ndarray; allowed: a DistArray of one layout",
        ),
        (lambda a: a @ np.ones(5), "DistArray of shape (10, 8) @ a ndarray of shape (5,); allowed: a vector of 8"),
        (lambda a: np.ones((2, 10)) @ a, "after a ndarray of shape (2, 10); allowed: a vector of 10"),
        (lambda a: a @ craton.ConvergentMatrix(a.world, 8, 8), "a DistArray and a ConvergentMatrix; allowed: one kind"),
        (lambda a: a.astype("float16"), "dtype = 'float16'; allowed: 'float32'"),
    ],
)
def test_what_a_dist_array_refuses(world, use, says):
    with pytest.raises(craton.UserError) as error:
        use(craton.DistArray(world, (10, 8), tiles=4))
    assert says in str(error.value) and "\n" not in str(error.value)


def test_functions_of_the_extension_take_the_classes(world, tmp_path):
    """Checkpoints, factors, products and files, of the objects as Python has them."""
    arrays = made(world)
    arrays.pop("DistArray")
    for array in arrays.values():
        key = np.s_[3] if array.ndim == 1 else np.s_[3, 4]
        array[key] += 1
        array.commit()
    with craton.Checkpoint(world, str(tmp_path / "c.h5")) as saved:
        for name, array in arrays.items():
            saved.add(name, array)
        assert saved.resume() is None
        saved.save({"round": 1})
    again = made(world)
    again.pop("DistArray")
    with craton.Checkpoint(world, str(tmp_path / "c.h5")) as saved:
        for name, array in again.items():
            saved.add(name, array)
        assert saved.resume()[0] == {"round": 1}
    for name, array in again.items():
        np.testing.assert_array_equal(array.gather(), arrays[name].gather())
    m = craton.ConvergentMatrix.from_array(world, 4 * np.eye(6), block=4)
    m.save(tmp_path / "m.h5", "m")
    loaded = m.like()
    loaded.load(tmp_path / "m.h5", "m")
    np.testing.assert_array_equal(linalg.matmul(m, loaded).gather(), 16 * np.eye(6))
    np.testing.assert_array_equal(craton.Cholesky(m).solve(craton.ConvergentVector.from_array(world, np.ones(6))), 0.25)


@pytest.mark.parametrize("verify", ["nothing", "some", "everything"])
def test_what_a_checkpoint_reads_back_is_chosen_by_name(world, tmp_path, verify):
    matrix = craton.ConvergentMatrix(world, 8, 8)
    with craton.Checkpoint(world, str(tmp_path / "c.h5"), verify=verify) as saved:
        saved.add("a", matrix)
        assert saved.resume() is None
        saved.save()
    with pytest.raises(craton.UserError, match=r"verify = 'all'; allowed: nothing, some, everything"):
        craton.Checkpoint(world, str(tmp_path / "d.h5"), verify="all")
