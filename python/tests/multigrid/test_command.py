"""`craton multigrid`: its verbs, the files of a run, built-in problems, and what is said of wrong configurations."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import craton
from craton import UserError, World, multigrid
from craton.commands.main import invoke
from craton.multigrid.check import grids_of
from mpi4py import MPI

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "multigrid"


@pytest.fixture(scope="module")
def world():
    return World(MPI.COMM_SELF)


def configured(folder: Path, **tables: str) -> Path:
    """A configuration of 16^3 cells; each table's lines may be given."""
    lines = {"problem": "cells = 16", "grid": "box = 8"} | tables
    path = folder / "m.toml"
    path.write_text("".join(f"[{table}]\n{text}\n" for table, text in lines.items()))
    return path


def solution(folder: Path) -> np.ndarray:
    with h5py.File(folder / "solution.h5") as file:
        return file["u"][()]


def test_the_template_is_a_configuration(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = craton("multigrid", "template")
    assert (done.returncode, done.stderr) == (0, "")
    (tmp_path / "t.toml").write_text(done.stdout)
    from craton.multigrid.config import TABLES, load_config

    loaded = load_config("t.toml")
    (tmp_path / "again.toml").write_text(loaded.to_toml())
    assert load_config("again.toml").to_dict() == loaded.to_dict()
    assert all(f"[{name}]" in done.stdout for name in TABLES)
    assert all("#" in line for line in done.stdout.splitlines() if " = " in line and not line.startswith("#"))


def test_a_run_and_its_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    configured(tmp_path)
    done = craton("multigrid", "run", "m.toml")
    assert (done.returncode, done.stderr) == (0, "")
    run = tmp_path / "m-run"
    results = {"solution.h5", "record.json", "report.html"}
    assert {path.name for path in run.iterdir()} == results | {"config.toml"}
    record = json.loads((run / "record.json").read_text())
    assert record["converged"] and record["finished"] and record["residuals"][-1] <= 1e-8
    assert len(record["reached_s"]) == len(record["residuals"]) and record["unknowns_per_s"] > 0
    assert record["levels"][0]["box"] == 8 and "smooth" in " ".join(record["levels"][0]["seconds"])
    # sin(2 pi x) sin(2 pi y) sin(2 pi z) is an eigenvector, for walls at 0 as well
    x = np.sin(2 * np.pi * (np.arange(16) + 0.5) / 16)
    f = x[:, None, None] * x[None, :, None] * x[None, None, :]
    eigenvalue = 3 * 16**2 * (2 - 2 * np.cos(2 * np.pi / 16))
    np.testing.assert_allclose(solution(run), f / eigenvalue, rtol=0, atol=1e-7 / eigenvalue)

    report = (run / "report.html").read_text()
    assert report.count("<img") == 3  # residuals, a slice, seconds by level
    for word in ("Convergence", "F-cycle", "16 x 16 x 16 cells", "ghost exchange", "u in the plane z"):
        assert word in report
    (run / "report.html").unlink()
    done = craton("multigrid", "report", run)
    assert (done.returncode, done.stdout) == (0, f"{run / 'report.html'}\n")
    assert (run / "report.html").read_text() == report

    said = json.loads(craton("multigrid", "status", run, "--json").stdout)
    assert said["state"] == "finished" and said["rows"]["grid"] == "16 x 16 x 16 cells, 7pt"
    again = craton("multigrid", "run", "m.toml")
    assert again.returncode == 2
    assert "solution.h5 is there already; allowed: another folder, or --overwrite" in again.stderr
    over = craton("multigrid", "run", "m.toml", "--overwrite", "--no-report", "--json", "--operator", "fv4")
    assert over.returncode == 0
    assert json.loads(over.stdout)["operator"] == "fv4" and "F-cycle" in over.stderr
    assert not (run / "report.html").exists()


@pytest.mark.parametrize(("operator", "right_hand_side"), [("7pt", "charges"), ("fv4", "sines")])
def test_ranks_have_one_solution(tmp_path, monkeypatch, operator, right_hand_side):
    monkeypatch.chdir(tmp_path)
    configured(
        tmp_path,
        problem=f'cells = [16, 8, 24]\nright_hand_side = "{right_hand_side}"\nboundary = "dirichlet periodic neumann"\na = 2.0',
        grid="box = 4",
        solver="tolerance = 1e-12",
    )
    found = []
    for ranks in (1, 2, 3):
        done = craton(
            *("multigrid", "run", "m.toml", "--operator", operator, "--no-report"),
            *("--ranks", str(ranks), "--directory", f"on-{ranks}"),
        )
        assert (done.returncode, done.stderr) == (0, "")
        found.append(solution(tmp_path / f"on-{ranks}"))
    assert np.abs(found[0]).max() > 1e-4
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=0, atol=1e-11 * np.abs(found[0]).max())


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_examples(example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = craton("multigrid", "run", example, "--directory", "there")
    assert (done.returncode, done.stderr) == (0, "")
    assert (tmp_path / "there" / "report.html").stat().st_size > 10_000


def test_averages_over_cells_are_those_of_the_function(world):
    from craton.multigrid.built_in import BuiltInProblem

    problem = BuiltInProblem(Path("x"), (8, 8, 8), ("dirichlet",) * 3, "sines", "fv4", 0.0, 1.0, 1.0)
    solver = problem.solver(world, 8)
    edges = np.cos(2 * np.pi * np.arange(9) / 8)
    mean = (edges[:-1] - edges[1:]) * 8 / (2 * np.pi)
    wanted = mean[:, None, None] * mean[None, :, None] * mean[None, None, :]
    np.testing.assert_allclose(problem.right_hand_side(solver)[0], wanted, rtol=1e-7)
    for name, total in (("charges", 0.0), ("constant", 8.0**3)):
        other = BuiltInProblem(Path("x"), (8, 8, 8), ("dirichlet",) * 3, name, "7pt", 0.0, 1.0, 1.0)
        assert other.right_hand_side(solver).sum() == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize(
    ("cells", "box", "operator", "boundary"),
    [
        ((64, 64, 64), 16, "7pt", "dirichlet"),
        ((64, 32, 32), 16, "fv4", "dirichlet"),
        ((48, 32, 16), 8, "fv2", "periodic"),
        ((32, 32, 32), 32, "7pt", "neumann"),
        ((24, 24, 24), 4, "fv4", "dirichlet"),
        ((40, 40, 40), 8, "7pt", "dirichlet"),
        ((50, 97, 33), 16, "fv4", "dirichlet"),
        ((10, 100, 37), 16, "7pt", "neumann"),
    ],
)
def test_levels_that_check_tells_are_the_solvers(world, cells, box, operator, boundary):
    solver = multigrid.Solver(world, cells, box, operator=operator, boundary=boundary)
    assert grids_of(cells, operator, solver.singular) == solver.grids


def test_a_run_on_flat_cells_with_robin_sides(tmp_path, monkeypatch, world):
    """Of the command line as of Python; check tells the grids."""
    monkeypatch.chdir(tmp_path)
    configured(
        tmp_path,
        problem='cells = [16, 16, 24]\nspacing = [0.5, 2, 1]\nright_hand_side = "charges"\n'
        'boundary = "periodic robin(2,0.5) dirichlet:robin(0,1)"',
        solver="tolerance = 1e-11",
    )
    done = craton("multigrid", "check", "m.toml", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    done_run = craton("multigrid", "run", "m.toml", "--no-report")
    assert (done_run.returncode, done_run.stderr) == (0, "")
    solver = multigrid.Solver(
        world,
        (16, 16, 24),
        8,
        spacing=(0.5, 2, 1),
        boundary=("periodic", ("robin", 2, 0.5), ("dirichlet", ("robin", 0, 1))),
    )
    told = json.loads(done.stdout)
    assert told["grids"] == [list(grid) for grid in solver.grids]
    assert told["spacing"] == [0.5, 2, 1]
    assert "0.5 x 2 x 1" in craton("multigrid", "check", "m.toml").stdout

    def f(x, y, z):
        def charge(at):
            of = ((x / 8, at), (y / 32, 0.5), (z / 24, 0.5))
            return np.exp(-sum(((each - middle) / 0.06) ** 2 for each, middle in of) / 2)

        return charge(0.25) - charge(0.75)

    expected = solver.solve(f, tolerance=1e-11).u
    np.testing.assert_allclose(solution(tmp_path / "m-run"), expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    with h5py.File(tmp_path / "m-run" / "solution.h5") as file:
        assert file.attrs["spacing"].tolist() == [0.5, 2, 1]


def test_names_of_the_package():
    assert set(multigrid.__all__) <= set(dir(multigrid))
    assert all(getattr(multigrid, name) is not None for name in multigrid.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'solve'; its names: .*Solver"):
        multigrid.solve  # noqa: B018


def test_check(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    configured(tmp_path)
    done = craton("multigrid", "check", "m.toml", "--ranks", "3", "--unknowns-per-s", "1e4", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["boxes"], found["most_boxes_of_rank"], found["ranks"]) == (8, 3, 3)
    assert found["measured"] and found["time_s"] == pytest.approx(10 * 16**3 / 1e4)
    assert found["memory_of_rank"] > 3 * 8**3 * 8 * 7
    table = craton("multigrid", "check", "m.toml").stdout
    assert "16 x 16 x 16 = 4,096 cells, 7pt" in table and "assumed" in table
    assert [path.name for path in tmp_path.iterdir()] == ["m.toml"]


def test_not_converged_and_resumed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    configured(tmp_path, solver="cycles = 1\ntolerance = 1e-12")
    done = craton("multigrid", "run", "m.toml")
    assert done.returncode == 3
    assert re.fullmatch(
        r"craton: multigrid: residual .* after 1 cycle; allowed: 1e-12; .*resume .*m-run.*\n", done.stderr
    )
    assert "Not converged:" in (tmp_path / "m-run" / "report.html").read_text()
    status = craton("multigrid", "status", "m-run").stdout
    assert "failed" in status and "of 1e-12" in status
    assert re.search(r"craton multigrid resume \S*m-run --cycles N", status) and "checkpoint" not in status
    again = craton("multigrid", "run", "m.toml")
    assert again.returncode == 2 and "holds a run that has not finished" in again.stderr
    done = craton("multigrid", "resume", "m-run", "--cycles", "30", "--ranks", "2", "--json")
    assert done.returncode == 0
    record = json.loads(done.stdout)
    assert record["converged"] and record["residuals"][-1] <= 1e-12
    assert [each["ranks"] for each in record["sessions"]] == [1, 2]
    assert "from the beginning" in done.stderr
    assert not (tmp_path / "m-run" / "progress.json").exists()
    done = craton("multigrid", "resume", "m-run")
    assert done.returncode == 0 and "its run has finished" in done.stdout


def test_records_are_picklable_and_read_back(tmp_path, monkeypatch):
    from craton.multigrid.folder import MultigridFolder, MultigridRecord

    monkeypatch.chdir(tmp_path)
    configured(tmp_path)
    assert craton("multigrid", "run", "m.toml", "--no-report").returncode == 0
    record = MultigridFolder("m-run").read_record()
    assert pickle.loads(pickle.dumps(record)) == record
    assert MultigridRecord.from_dict(record.to_dict()) == record
    assert record.levels[1].cells == [8, 8, 8]


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"problem": "cells = 1"}, "m.toml: [problem] cells = 1; allowed: a whole number in [2, 100000], or three"),
        ({"problem": "cells = [16, 16]"}, "[problem] cells = [16, 16]; allowed"),
        ({"problem": "cells = true"}, "[problem] cells = true; allowed"),
        ({"problem": 'cells = 16\nboundary = "robin"'}, "[problem] boundary = 'robin'; allowed: dirichlet, neumann"),
        (
            {"problem": 'cells = 16\nboundary = "robin(1)"'},
            "[problem] boundary = 'robin(1)'; allowed: dirichlet, neumann",
        ),
        (
            {"problem": "cells = 16\nspacing = [1, 2]"},
            "[problem] spacing = [1, 2]; allowed: a number in [1e-30, 1e+30]",
        ),
        ({"problem": "cells = 16\nspacing = [1, 0, 2]"}, "[problem] spacing = [1, 0, 2]; allowed"),
        ({"problem": "cells = 16\nspacing = -1"}, "[problem] spacing = -1; allowed"),
        ({"problem": 'cells = 16\nright_hand_side = "none"'}, '"sines" or "charges" or "constant"'),
        ({"problem": "cells = 16\nbeta = -1"}, "[problem] beta = -1; allowed: a number in [1e-30, 1e+30]"),
        ({"problem": 'file = "none.h5"'}, "[problem] file"),
        ({"solver": 'operator = "fv3"'}, "[solver] operator"),
        ({"solver": 'smoother = "sor"'}, '[solver] smoother = "sor"; allowed: "gsrb" or "chebyshev" or "jacobi"'),
        ({"solver": "tolerance = 1"}, "[solver] tolerance = 1; allowed: a number in [1e-16, 0.999]"),
        ({"grid": "box = 8\nboxs = 3"}, "[grid] unknown key 'boxs'; did you mean 'box'?"),
        ({"run": "ranks = 9"}, "boxes = 8 on 9 ranks; allowed: at least one box per rank"),
    ],
)
def test_wrong_configurations(tmp_path, monkeypatch, tables, said):
    monkeypatch.chdir(tmp_path)
    configured(tmp_path, **tables)
    with pytest.raises(UserError) as raised:
        invoke(["multigrid", "check", "m.toml"])
    assert said in str(raised.value)
    assert [path.name for path in tmp_path.iterdir()] == ["m.toml"]


def test_a_problem_file_says_all_of_its_table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with h5py.File("p.h5", "w") as file:
        file["f"] = np.ones((8, 8, 8))
    configured(tmp_path, problem='file = "p.h5"\ncells = 8')
    with pytest.raises(UserError, match=r"\[problem\] cells = \[8, 8, 8\] with file; allowed: file alone"):
        invoke(["multigrid", "check", "m.toml"])


def test_a_right_hand_side_that_has_no_solution(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    configured(tmp_path, problem='cells = 16\nright_hand_side = "constant"\nboundary = "neumann"')
    done = craton("multigrid", "run", "m.toml", "--ranks", "2")
    assert done.returncode == 2
    assert "mean of the right-hand side = 1" in done.stderr and done.stderr.count("\n") == 1
    configured(tmp_path)
    assert craton("multigrid", "run", "m.toml", "--no-report").returncode == 0  # nothing is in its way


@pytest.mark.parametrize("verb", ["run", "resume"])
def test_ranks_of_another_launcher(tmp_path, monkeypatch, verb):
    """Mpirun has started three."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "3")
    with pytest.raises(
        UserError, match=r"--ranks 2, but this job was started with 3 ranks; allowed: --ranks 3, or none"
    ):
        invoke(["multigrid", verb, "any", "--ranks", "2"])


@pytest.mark.parametrize("verb", ["status", "report", "resume"])
def test_folders_without_a_run(tmp_path, monkeypatch, verb):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match="none"):
        invoke(["multigrid", verb, "none"])
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="empty"):
        invoke(["multigrid", verb, "empty"])


def test_hostile_names_in_a_report(tmp_path, monkeypatch):
    from craton.multigrid.folder import MultigridFolder
    from craton.multigrid.report import write_report

    monkeypatch.chdir(tmp_path)
    configured(tmp_path)
    assert craton("multigrid", "run", "m.toml", "--no-report").returncode == 0
    place = MultigridFolder("m-run")
    record = place.read_record()
    name = "<script>alert(1)</script>$x$"
    record.title = record.command = record.operator = record.smoother = record.stopped_because = name
    record.levels[0].seconds[name] = 1.0
    record.converged = False
    place.write_record(record)
    text = write_report(place.path).read_text()
    assert "<script>alert" not in text and "&lt;script&gt;alert" in text
    record.levels.clear()
    place.write_record(record)
    place.solution.unlink()
    with pytest.raises(UserError, match="solution.h5: no such file; allowed: the solution of a run"):
        write_report(place.path)
