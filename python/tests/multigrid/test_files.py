"""craton.multigrid's problems and fields in HDF5 files, and `craton multigrid run PROBLEM.h5`, on one rank and several."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import craton
from craton import UserError, World, multigrid
from helpers import environment_without_mpi
from mpi4py import MPI

CELLS = (16, 24, 8)


@pytest.fixture(scope="module")
def world():
    return World(MPI.COMM_SELF)


def solve(path: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A time-out is a failure: bad input must not hang."""
    return craton("multigrid", "run", path, "--no-report", *arguments, cwd=path.parent)


def write_problem(path: Path) -> dict[str, np.ndarray]:
    random = np.random.default_rng(1)
    fields = {
        "f": random.normal(size=CELLS),
        "alpha": random.uniform(0, 3, size=CELLS),
        "beta": random.uniform(1, 10, size=CELLS),
    }
    with h5py.File(path, "w") as file:
        for name, values in fields.items():
            file[name] = values
        file["boundary_values/x_before"] = 2.0
        file["boundary_values/z_behind"] = np.ones((16, 24), dtype=np.float32)
        file.attrs["boundary"] = "dirichlet periodic neumann:dirichlet"
        file.attrs["a"] = 100
    return fields


@pytest.mark.parametrize(("ranks", "method"), [(1, "cg"), (3, "cycles")])
def test_a_problem_from_a_file_is_that_from_arrays(world, tmp_path, ranks, method):
    fields = write_problem(tmp_path / "p.h5")
    done = solve(
        tmp_path / "p.h5", "--box", 8, "--ranks", ranks, "--method", method, "--tolerance", 1e-11, "--operator", "fv2"
    )
    assert (done.returncode, done.stderr) == (0, "")
    solver = multigrid.Solver(
        world,
        CELLS,
        8,
        beta=multigrid.faces_of_cells(fields["beta"], (False, True, False)),
        alpha=fields["alpha"],
        a=100,
        boundary=("dirichlet", "periodic", ("neumann", "dirichlet")),
        operator="fv2",
    )
    told = []
    expected = solver.solve(
        fields["f"],
        boundary_values=((2, None), None, (None, 1)),
        tolerance=1e-11,
        method=method,
        progress=lambda step, residual: told.append((step, residual)),
    )
    assert told == list(enumerate(expected.residuals))
    with h5py.File(tmp_path / "p-run" / "solution.h5") as file:
        np.testing.assert_allclose(file["u"], expected.u, rtol=0, atol=1e-10 * np.abs(expected.u).max())
        np.testing.assert_allclose(file.attrs["residuals"], expected.residuals, rtol=1e-3)
        assert file.attrs["converged"] and file.attrs["operator"] == "fv2"
    lines = re.findall(r"^  (F-cycle|cycle \d+|step \d+) +residual (\d\.\d{3}e[+-]\d\d)  \d", done.stdout, re.MULTILINE)
    assert len(lines) == len(expected.residuals)
    assert float(lines[-1][1]) == pytest.approx(expected.residuals[-1], rel=1e-2)


def test_spacing_and_robin_sides_of_a_file(world, tmp_path):
    fields = write_problem(tmp_path / "p.h5")
    with h5py.File(tmp_path / "p.h5", "r+") as file:
        file.attrs["spacing"] = [0.1, 0.3, 0.2]
        file.attrs["boundary"] = "robin(2,0.5) periodic neumann:robin(1e-2,3)"
    done = solve(tmp_path / "p.h5", "--box", 8, "--ranks", 2, "--tolerance", 1e-11, "--operator", "fv2")
    assert (done.returncode, done.stderr) == (0, "")
    solver = multigrid.Solver(
        world,
        CELLS,
        8,
        beta=multigrid.faces_of_cells(fields["beta"], (False, True, False)),
        alpha=fields["alpha"],
        a=100,
        boundary=(("robin", 2, 0.5), "periodic", ("neumann", ("robin", 1e-2, 3))),
        operator="fv2",
        spacing=(0.1, 0.3, 0.2),
    )
    values = ((2.0, None), None, (None, 1.0))
    expected = solver.solve(fields["f"], boundary_values=values, tolerance=1e-11).u
    with h5py.File(tmp_path / "p-run" / "solution.h5") as file:
        np.testing.assert_allclose(file["u"][()], expected, rtol=0, atol=1e-9 * np.abs(expected).max())
        assert file.attrs["spacing"].tolist() == [0.1, 0.3, 0.2]


def test_fields_go_to_files_and_back(world, tmp_path):
    path = tmp_path / "field.h5"
    solver = multigrid.Solver(world, CELLS, 8)
    field = np.random.default_rng(2).normal(size=CELLS)
    multigrid.write_field(path, "group/rough", solver, solver.own_part(field), {"step": 3})
    np.testing.assert_array_equal(multigrid.read_field(path, "group/rough", solver), solver.own_part(field))
    with h5py.File(path) as file:
        np.testing.assert_array_equal(file["group/rough"], field)
        assert file.attrs["step"] == 3
        # datasets are arrays as any other, of which each rank reads its part
        np.testing.assert_array_equal(solver.apply(file["group/rough"]), solver.apply(field))
    with pytest.raises(UserError, match=r"no dataset smooth"):
        multigrid.read_field(path, "smooth", solver)
    with pytest.raises(UserError, match=r"group/rough of shape \(16, 24, 8\); allowed: \(8, 8, 8\)"):
        multigrid.read_field(path, "group/rough", multigrid.Solver(world, 8, 8))
    with pytest.raises(UserError, match=r"u of shape \(3,\); allowed: \(6, 8, 8, 8\)"):
        multigrid.write_field(path, "u", solver, np.ones(3))
    with pytest.raises(UserError, match="cannot be written"):
        multigrid.write_field(tmp_path / "none" / "field.h5", "u", solver, solver.own_part(field))
    assert [file.name for file in tmp_path.iterdir()] == ["field.h5"]


@pytest.mark.parametrize("boundary", ["dirichlet", "periodic", "periodic:periodic"])
def test_faces_of_a_file_are_those_of_its_cells(world, tmp_path, boundary):
    periodic = boundary != "dirichlet"
    path = tmp_path / "p.h5"
    fields = write_problem(path)
    with h5py.File(path, "r+") as file:
        file.attrs["boundary"] = boundary
        del file["boundary_values"]
    by_file = multigrid.read_problem(path).solver(world, 8, operator="7pt")
    faces = multigrid.faces_of_cells(fields["beta"], (periodic,) * 3)
    with h5py.File(path, "r+") as file:
        del file["beta"]
        for axis, values in zip("xyz", faces, strict=True):
            file[f"beta_{axis}"] = values
    by_faces = multigrid.read_problem(path).solver(world, 8, operator="7pt")
    np.testing.assert_array_equal(by_file.apply(fields["f"]), by_faces.apply(fields["f"]))
    wrapped = np.take(fields["beta"], [-1, 0] if periodic else [0, 0], axis=0)
    np.testing.assert_allclose(faces[0][0], 2 / (1 / wrapped[0] + 1 / wrapped[1]))


def put(name: str, values: object) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        if name in file:
            del file[name]
        file[name] = values

    return change


def say(name: str, value: object) -> Callable[[h5py.File], None]:
    return lambda file: file.attrs.__setitem__(name, value)


def with_nan(name: str) -> Callable[[h5py.File], None]:
    def change(file: h5py.File) -> None:
        file[name][15, 23, 7] = np.nan  # of the last box: one rank's only

    return change


BAD_FILES = [
    (lambda file: file.__delitem__("f"), "p.h5: no dataset f; allowed: a file that has one"),
    (put("f", np.ones(7)), "p.h5: f of shape (7,); allowed: three dimensions"),
    (put("f", np.array([[[b"x"]]])), "p.h5: f of type |S1; allowed: numbers"),
    (put("f", np.ones((16, 20, 8))), "alpha of shape (16, 24, 8); allowed: (16, 20, 8)"),
    (put("alpha", np.ones(3)), "p.h5: alpha of shape (3,); allowed: (16, 24, 8)"),
    (put("alhpa", np.ones(3)), "p.h5: dataset 'alhpa'; allowed: f, alpha, beta"),
    (put("beta_x", np.ones(3)), "p.h5: beta in several ways"),
    (put("boundary_values/w_before", 1.0), "p.h5: boundary value 'w_before'; allowed: x_before, "),
    (put("boundary_values/y_before", 1.0), "values on the side before the first y; allowed: none, it is periodic"),
    (put("boundary_values/x_behind", np.ones(5)), "values on the side behind the last x of shape (5,)"),
    (say("boundary", "robin"), "p.h5: attribute boundary = 'robin'; allowed: dirichlet, neumann, periodic"),
    (say("boundary", "periodic neumann"), "p.h5: attribute boundary = 'periodic neumann'; allowed"),
    (
        say("boundary", "dirichlet periodic:neumann neumann"),
        "p.h5: attribute boundary = 'dirichlet periodic:neumann neumann'",
    ),
    (say("boundary", "neumann:neumann:neumann"), "p.h5: attribute boundary = 'neumann:neumann:neumann'; allowed"),
    (say("boundary", "periodic:"), "p.h5: attribute boundary = 'periodic:'; allowed"),
    (say("a", -1.0), "p.h5: attribute a = -1; allowed: 0 or more, and finite"),
    (say("a", 1j), "p.h5: attribute a = 1j; allowed: a number"),
    (say("b", 0.0), "p.h5: attribute b = 0; allowed: above 0, and finite"),
    (say("a", "x"), "p.h5: attribute a = 'x'; allowed: a number"),
    (say("c", 1), "p.h5: attribute 'c'; allowed: a, b, beta, boundary, operator"),
    (
        say("boundary", "robin(1)"),
        "p.h5: attribute boundary = 'robin(1)'; allowed: dirichlet, neumann, periodic, robin(A,C)",
    ),
    (say("boundary", "robin(1,x)"), "p.h5: attribute boundary = 'robin(1,x)'; allowed"),
    (
        say("boundary", "dirichlet periodic:robin(1,2) neumann"),
        "p.h5: attribute boundary = 'dirichlet periodic:robin(1,2)",
    ),
    (
        say("boundary", "dirichlet periodic neumann:robin(1,-2)"),
        "a = 1, c = -2 in a u + c beta du/dn on the side behind the last z",
    ),
    (say("spacing", "x"), "p.h5: attribute spacing = 'x'; allowed: a number above 0, or three"),
    (say("spacing", [1.0, 2.0]), "p.h5: attribute spacing = [1.0, 2.0]; allowed: a number above 0, or three"),
    (say("spacing", [1.0, 0.0, 2.0]), "p.h5: attribute spacing = [1.0, 0.0, 2.0]; allowed"),
    (say("operator", "fv3"), "p.h5: attribute operator = 'fv3'; allowed: 7pt, fv2, fv4"),
    (with_nan("f"), "right-hand side at cell (15, 23, 7) = nan; allowed: a finite number"),
    (with_nan("beta"), "beta of a cell = nan; allowed: positive and finite"),
    (with_nan("alpha"), "alpha at cell (15, 23, 7) = nan; allowed: 0 or more"),
    (put("beta", np.zeros(CELLS)), "beta of a cell = 0; allowed: positive and finite"),
]


[BAD_BOUNDARY] = [n for n, (_, words) in enumerate(BAD_FILES) if "on the side behind the last x" in words]
[BAD_BETA] = [n for n, (_, words) in enumerate(BAD_FILES) if "beta of a cell = nan" in words]


@pytest.mark.parametrize(("change", "words"), BAD_FILES)
def test_bad_files(world, tmp_path, change, words):
    write_problem(tmp_path / "p.h5")
    with h5py.File(tmp_path / "p.h5", "r+") as file:
        change(file)
    with pytest.raises(UserError, match=re.escape(words)):
        problem = multigrid.read_problem(tmp_path / "p.h5")
        solver = problem.solver(world, 8)
        solver.solve(problem.right_hand_side(solver), boundary_values=problem.boundary_values)


def one_line(done: subprocess.CompletedProcess[str]) -> str:
    assert done.returncode == 2, done.stderr
    [line] = done.stderr.splitlines()
    assert line.startswith("craton: error: ")
    assert "allowed: " in line
    return line


# On every number of ranks: what the file says, what all ranks see, what one alone sees.
@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("number", [BAD_BOUNDARY, BAD_BETA])
def test_bad_files_end_the_command_with_one_line(tmp_path, ranks, number):
    change, words = BAD_FILES[number]
    write_problem(tmp_path / "p.h5")
    with h5py.File(tmp_path / "p.h5", "r+") as file:
        change(file)
    assert words in one_line(solve(tmp_path / "p.h5", "--box", 8, "--ranks", ranks))
    # boundary values are looked at when the solve begins
    left = ["config.toml", "p-run"] if number == BAD_BOUNDARY else []
    assert sorted(file.name for file in tmp_path.rglob("*")) == [*left, "p.h5"]


@pytest.mark.parametrize(
    ("ranks", "arguments", "words"),
    [
        (3, ["none.h5"], "none.h5: no such file; allowed: a TOML file, or an HDF5 file of a problem"),
        (1, ["text.h5"], "text.h5: not a complete HDF5 file"),
        (3, ["p.h5", "--box", 30], "boxes = 1 on 3 ranks; allowed: at least one box per rank"),
        (2, ["p.h5", "--tolerance", 3], "tolerance = 3"),
        (1, ["p.h5", "--directory", "text.h5"], "text.h5"),
        (2, ["old/solution.h5", "--directory", ".", "--overwrite"], "is among the results in the output folder"),
        (1, ["p.h5", "--directory", "old"], "solution.h5 is there already; allowed: another folder, or --overwrite"),
    ],
)
def test_bad_command_lines(tmp_path, ranks, arguments, words):
    write_problem(tmp_path / "p.h5")
    (tmp_path / "old").mkdir()
    write_problem(tmp_path / "old" / "solution.h5")
    (tmp_path / "text.h5").write_text("no HDF5")
    box = [] if "--box" in arguments else ["--box", 8]
    before = (tmp_path / "old" / "solution.h5").read_bytes()
    assert words in one_line(solve(tmp_path / arguments[0], *arguments[1:], *box, "--ranks", ranks))
    assert (tmp_path / "old" / "solution.h5").read_bytes() == before


def test_more_ranks_than_boxes(tmp_path):
    with h5py.File(tmp_path / "p.h5", "w") as file:
        file["f"] = np.ones((8, 8, 16))
    assert "boxes = 2 on 3 ranks; allowed: at least one box per rank" in one_line(
        solve(tmp_path / "p.h5", "--box", 8, "--ranks", 3)
    )


def test_what_has_not_converged_is_written_all_the_same(tmp_path):
    write_problem(tmp_path / "p.h5")
    (tmp_path / "p.toml").write_text(
        '[problem]\nfile = "p.h5"\n[solver]\ncycles = 1\ntolerance = 1e-14\n[grid]\nbox = 8\n[run]\nthreads = 2\n'
    )
    done = solve(tmp_path / "p.toml", "--ranks", 2)
    assert done.returncode == 3
    [line] = done.stderr.splitlines()
    assert "after 1 cycle; " in line and "--cycles" in line and "allowed: 1e-14" in line
    with h5py.File(tmp_path / "p-run" / "solution.h5") as file:
        assert not file.attrs["converged"] and len(file.attrs["residuals"]) == 2
    done = solve(tmp_path / "p.h5", "--box", 8, "--overwrite")
    assert done.returncode == 0


def on_ranks(ranks: int, program: Path, code: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """A time-out is a failure here too."""
    program.write_text(code)
    launch = "import sys; from craton._launch import run_under_mpi as run; "
    launch += f"sys.exit(run({[str(program), *map(str, arguments)]}, {ranks}, program=[sys.executable]))"
    return subprocess.run(
        [sys.executable, "-c", launch],
        env=environment_without_mpi(OMP_NUM_THREADS="1"),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


OF_ONE_RANK = """
import sys
from pathlib import Path
from craton._launch import main_guard
with main_guard():
    import craton
    import h5py
    import numpy as np
    from craton import multigrid
    from mpi4py import MPI
    comm = MPI.COMM_WORLD
    solver = multigrid.Solver(craton.World(comm), 8, 4)
    folder = Path(sys.argv[1])
    field = np.ones(solver.own_shape)

    def expect_refused(words, call):
        try:
            call()
            told, still_open = "accepted", 0
        except craton.UserError as error:  # whose frames hold what has not been closed
            told, still_open = str(error), h5py.h5f.get_obj_count(h5py.h5f.OBJ_ALL, h5py.h5f.OBJ_FILE)
        assert words in told and still_open == 0, (told, still_open)

    # rank 0 creates the file, the others wait
    for attributes in ({"x": None}, {"x": object()}, {"x": np.ones(100_000)}):
        expect_refused("u.h5: cannot be written (", lambda: multigrid.write_field(folder / "u.h5", "u", solver, field, attributes))
    multigrid.write_field(folder / "u.h5", "u", solver, field)
    # a file that one rank alone cannot open
    name = "none.h5" if comm.rank + 1 == comm.size else "u.h5"
    expect_refused("none.h5: no such file", lambda: multigrid.read_field(folder / name, "u", solver))
    assert (multigrid.read_field(folder / "u.h5", "u", solver) == field).all()
    if comm.rank == 0:
        print("told")
"""


@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_what_one_rank_alone_cannot_write_or_open_is_told_by_all(tmp_path, ranks):
    (tmp_path / "data").mkdir()
    done = on_ranks(ranks, tmp_path / "program.py", OF_ONE_RANK, tmp_path / "data")
    assert (done.returncode, done.stdout, done.stderr) == (0, "told\n", "")
    assert [file.name for file in (tmp_path / "data").iterdir()] == ["u.h5"]
