"""Every kind of bad input, at one rank and at four: one clear line, code 2, no hang, and saved files stay intact."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import command_line
import h5py
import numpy as np
import pytest
from helpers import OF_OPEN_MPI, environment_without_mpi

EXAMPLE = Path(__file__).parents[3] / "examples" / "global"

# 42 x 4 unknowns and a dozen paths: about a second
TINY = """
[run]
directory = "{folder}/{name}"
[modes]
shortest_period_s = 150.0
cache = "{folder}/cache"
[basis]
lateral_level = 2
radial = 4
[events]
file = "events.csv"
maximum = 4
[stations]
file = "stations.csv"
maximum = 4
[paths]
maximum = 8
[data]
filter_periods_s = [600.0, 400.0, 180.0, 150.0]
sample_interval_s = 20.0
[target]
[inversion]
max_iterations = 1
"""


def command_environment() -> dict[str, str]:
    return environment_without_mpi(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")


def run(command: list[str], folder: Path, seconds: float = 120) -> subprocess.CompletedProcess[str]:
    """A time-out is a failure: bad input must not hang."""
    return subprocess.run(
        command, cwd=folder, env=command_environment(), capture_output=True, text=True, timeout=seconds, check=False
    )


def craton(folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return command_line.craton(*arguments, cwd=folder, seconds=120)


def expect_one_line(done: subprocess.CompletedProcess[str], *words: str) -> None:
    lines = [line for line in done.stderr.splitlines() if line.startswith("craton: error:")]
    assert done.returncode == 2, done.stderr + done.stdout
    assert len(lines) == 1, done.stderr
    assert "Traceback" not in done.stderr + done.stdout and "rank 0: " not in lines[0]
    for word in words:
        assert word in lines[0]


def digests(folder: Path) -> dict[str, str]:
    return {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir()) if path.is_file()
    }


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a tiny configuration and the results of its run, made once."""
    folder = tmp_path_factory.mktemp("finished")
    for name in ("earthquakes", "stations"):
        text = (EXAMPLE / f"{name}.csv").read_text()
        (folder / f"{name.replace('earthquakes', 'events')}.csv").write_text(text)
    (folder / "tiny.toml").write_text(TINY.format(folder=folder, name="results"))
    done = craton(folder, "tomography", "run", "tiny.toml", "--ranks", "2", "--no-report")
    assert done.returncode == 0, done.stderr
    assert {"data.h5", "hessian.h5", "model.h5", "record.json"} <= set(digests(folder / "results"))
    return folder


@pytest.fixture
def intact(finished: Path):
    """The finished folder; fails if a test has changed what was saved there."""
    before = digests(finished / "results")
    yield finished
    assert digests(finished / "results") == before


@pytest.fixture
def work(tmp_path: Path, intact: Path) -> Path:
    """A fresh folder with copies of the tiny configuration and its tables, which shares the cache of modes."""
    for name in ("events.csv", "stations.csv"):
        (tmp_path / name).write_text((intact / name).read_text())
    text = TINY.format(folder=tmp_path, name="bad-run").replace(f'cache = "{tmp_path}/', f'cache = "{intact}/')
    (tmp_path / "tiny.toml").write_text(text)
    return tmp_path


def edited(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))


def first_row(path: Path) -> list[str]:
    """Cells of the first event or station."""
    rows = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    return rows[1].split(",")


def unknown_key(work: Path, finished: Path) -> list[str]:
    edited(work / "tiny.toml", "radial = 4", "radail = 4")
    return ["[basis]", "'radail'", "did you mean 'radial'", "allowed: lateral_level"]


def missing_file(work: Path, finished: Path) -> list[str]:
    (work / "events.csv").unlink()
    return ["[events] file", "events.csv", "no such file"]


def latitude_95(work: Path, finished: Path) -> list[str]:
    row = first_row(work / "stations.csv")
    edited(work / "stations.csv", ",".join(row), ",".join([row[0], "95", *row[2:]]))
    return ["stations.csv:", row[0], "latitude_deg = 95", "[-90, 90]"]


def zero_moment_tensor(work: Path, finished: Path) -> list[str]:
    row = first_row(work / "events.csv")
    edited(work / "events.csv", ",".join(row), ",".join([*row[:6], *["0"] * 6, *row[12:]]))
    return ["events.csv:", row[0], "moment tensor is all zeros"]


def nan_in_data(work: Path, finished: Path) -> list[str]:
    data = work / "observed.h5"
    data.write_bytes((finished / "results" / "data.h5").read_bytes())
    with h5py.File(data, "r+") as file:
        found: list[h5py.Dataset] = []
        file.visititems(lambda name, item: found.append(item) if name.split("/")[-1] == "observed" else None)
        found[0][7] = np.nan
    edited(work / "tiny.toml", "[data]", '[data]\nkind = "file"\nfile = "observed.h5"')
    return ["observed.h5", "path 0", "sample 7", "nan"]


BEFORE_RANKS = [pytest.param(spoil, 4, marks=pytest.mark.long) for spoil in (unknown_key, missing_file)]
"""What the launcher finds, before there are ranks."""


@pytest.mark.parametrize(
    ("spoil", "ranks"),
    [(spoil, 1) for spoil in (unknown_key, missing_file, latitude_95, zero_moment_tensor, nan_in_data)]
    + [(spoil, 4) for spoil in (latitude_95, nan_in_data)]
    + [*BEFORE_RANKS, pytest.param(zero_moment_tensor, 4, marks=pytest.mark.long)],
)
def test_bad_input_of_a_run(work: Path, finished: Path, spoil: Callable[[Path, Path], list[str]], ranks: int) -> None:
    words = spoil(work, finished)
    done = craton(work, "tomography", "run", "tiny.toml", "--ranks", str(ranks), "--no-report")
    expect_one_line(done, *words)


def test_more_ranks_than_blocks(work: Path) -> None:
    edited(work / "tiny.toml", "[inversion]", "[inversion]\nblock = 168")
    done = craton(work, "tomography", "run", "tiny.toml", "--ranks", "19", "--no-report")
    expect_one_line(done, "[inversion] block = 168", "more ranks than blocks", "at most 4")


@pytest.mark.parametrize("ranks", [1, 4])
def test_a_folder_that_holds_results_is_not_overwritten(intact: Path, ranks: int) -> None:
    done = craton(intact, "tomography", "run", "tiny.toml", "--ranks", str(ranks), "--no-report")
    expect_one_line(done, "results")


@pytest.mark.parametrize("ranks", [1, 4])
def test_bad_input_keeps_the_results_that_it_would_have_replaced(work: Path, intact: Path, ranks: int) -> None:
    latitude_95(work, intact)
    done = craton(
        work, "tomography", "run", "tiny.toml", "--directory", intact / "results", "--overwrite", "--ranks", ranks
    )
    expect_one_line(done, "latitude_deg = 95")


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize("kept", [0.02, 0.6])
def test_a_hessian_cut_short(tmp_path: Path, intact: Path, ranks: int, kept: float) -> None:
    whole = (intact / "results" / "hessian.h5").read_bytes()
    (tmp_path / "short.h5").write_bytes(whole[: int(kept * len(whole))])
    done = craton(tmp_path, "tomography", "solve", "short.h5", "--prior", "strength=0.05", "--ranks", ranks)
    expect_one_line(done, "short.h5")


@pytest.mark.parametrize("ranks", [1, pytest.param(4, marks=pytest.mark.long)])
def test_a_hessian_in_another_precision(tmp_path: Path, intact: Path, ranks: int) -> None:
    copy = tmp_path / "wide.h5"
    copy.write_bytes((intact / "results" / "hessian.h5").read_bytes())
    with h5py.File(copy, "r+") as file:
        wide = np.asarray(file["hessian"], dtype=np.float64)
        attributes = dict(file["hessian"].attrs)
        del file["hessian"]
        file.create_dataset("hessian", data=wide).attrs.update(attributes)
    done = craton(tmp_path, "tomography", "solve", "wide.h5", "--ranks", ranks)
    expect_one_line(done, "wide.h5", "float32", "float64")


@pytest.mark.parametrize("ranks", [1, pytest.param(4, marks=pytest.mark.long)])
def test_a_wrong_prior(tmp_path: Path, intact: Path, ranks: int) -> None:
    hessian = intact / "results" / "hessian.h5"
    done = craton(tmp_path, "tomography", "solve", hessian, "--prior", "strength=-1", "--ranks", ranks)
    expect_one_line(done, "strength = -1", "[1e-06, 1]")


# saves a matrix, then the last rank gives an index that the matrix does not have
OUT_OF_RANGE = """
    import sys
    import numpy as np
    from craton._launch import main_guard

    with main_guard():
        import craton
        from mpi4py import MPI
        comm, side = MPI.COMM_WORLD, 100
        world = craton.World(comm)
        matrix = craton.ConvergentMatrix(world, side, side, dtype="float64", block=16)
        everywhere = np.arange(side)
        matrix.update(np.ones((side, side)), everywhere, everywhere)
        matrix.commit()
        matrix.save("matrix.h5", "matrix")
        wrong = np.array([3, 100 if comm.rank == comm.size - 1 else 4])
        if sys.argv[1] == "caught":
            try:
                matrix.update(np.ones((2, 2)), wrong, wrong)
            except craton.UserError as error:
                print("caught:", error, flush=True)
            matrix.commit()
            assert matrix.read(3, 3) == 2 * comm.size - 1, matrix.read(3, 3)
        else:
            matrix.update(np.ones((2, 2)), wrong, wrong)
            matrix.commit()
"""

LAUNCH = """
    import sys
    from craton._launch import main_guard, run_under_mpi

    with main_guard():
        code = run_under_mpi(sys.argv[2:], int(sys.argv[1]), program=[sys.executable, "rank.py"])
    sys.exit(code)
"""


@pytest.mark.parametrize("ranks", [1, 4])
def test_an_index_out_of_range(tmp_path: Path, ranks: int) -> None:
    (tmp_path / "rank.py").write_text(textwrap.dedent(OUT_OF_RANGE))
    (tmp_path / "launch.py").write_text(textwrap.dedent(LAUNCH))
    done = run([sys.executable, "launch.py", str(ranks), "thrown"], tmp_path)
    expect_one_line(done, "[1] = 100", "allowed: 0 to 99", *(["rank 3"] if ranks == 4 else []))
    with h5py.File(tmp_path / "matrix.h5") as file:
        assert np.array_equal(file["matrix"], np.full((100, 100), float(ranks)))


@pytest.mark.parametrize("ranks", [1, pytest.param(4, marks=pytest.mark.long)])
def test_nothing_of_a_wrong_update_is_applied(tmp_path: Path, ranks: int) -> None:
    (tmp_path / "rank.py").write_text(textwrap.dedent(OUT_OF_RANGE))
    (tmp_path / "launch.py").write_text(textwrap.dedent(LAUNCH))
    done = run([sys.executable, "launch.py", str(ranks), "caught"], tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("caught:") == 1


def test_bad_input_under_the_users_own_mpiexec(work: Path) -> None:
    """Every rank learns of the error from rank 0; one of them tells it."""
    edited(work / "tiny.toml", "radial = 4", "radail = 4")
    done = subprocess.run(
        [
            "mpiexec",
            "-n",
            "4",
            "--oversubscribe",
            sys.executable,
            "-m",
            "craton.commands.main",
            "tomography",
            "run",
            "tiny.toml",
        ],
        cwd=work,
        env={**command_environment(), **OF_OPEN_MPI},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    expect_one_line(done, "'radail'")


# the last rank's part of the right-hand side, or of beta, has a NaN; or a zero
MULTIGRID = """
    import sys
    import numpy as np
    from craton._launch import main_guard

    with main_guard():
        import craton
        from craton import multigrid
        from mpi4py import MPI
        comm, fault = MPI.COMM_WORLD, sys.argv[1]
        world = craton.World(comm)
        beta = np.ones((16, 16, 16))
        faces = multigrid.faces_of_cells(beta)
        if fault == "beta":
            faces[2][15, 15, 16] = 0
        if fault == "cells":
            multigrid.Solver(world, (20, 0, 20), 8)
        if fault == "ranks":
            multigrid.Solver(world, 8 if comm.size > 1 else 1, 8)
        free = fault == "mean"
        solver = multigrid.Solver(world, 16, 8, beta=faces, boundary="periodic" if free else "dirichlet")
        f = np.ones(solver.own_shape)
        if fault == "nan" and comm.rank == comm.size - 1:
            f[-1, -1, -1, -1] = np.nan
        solver.solve(f)
"""


@pytest.mark.parametrize("ranks", [1, 4])
@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("nan", ["right-hand side at cell (15, 15, 15) = nan", "allowed: a finite number"]),
        ("beta", ["normal to z", "(15, 15, 16) = 0", "allowed: positive and finite"]),
        ("cells", ["cells = 20 x 0 x 20 with box = 8", "allowed: at least 1 of each"]),
        ("ranks", ["multigrid: ", "allowed: "]),
        ("mean", ["mean of the right-hand side = 1", "allowed: 0"]),
    ],
)
def test_a_bad_multigrid_problem(tmp_path: Path, ranks: int, fault: str, words: list[str]) -> None:
    (tmp_path / "rank.py").write_text(textwrap.dedent(MULTIGRID))
    (tmp_path / "launch.py").write_text(textwrap.dedent(LAUNCH))
    expect_one_line(run([sys.executable, "launch.py", str(ranks), fault], tmp_path), *words)
