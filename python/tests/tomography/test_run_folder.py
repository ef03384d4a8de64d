"""The run folder: earlier results and the user's own files survive, one run at a time, a full disk is told in one line."""

import collections
import dataclasses
import os
import shutil
import subprocess
import sys

import h5py
import numpy as np
import pytest
from craton import UserError
from helpers import environment_without_mpi, replaced_dataset

MPI = pytest.importorskip("mpi4py.MPI")

from craton.runs.files import write_hdf5
from craton.runs.folder import reserved
from craton.tomography import start as inversion
from craton.tomography.folder import RunFolder
from craton.tomography.inversion.assembly import Assembly
from craton.tomography.inversion.persistence import RunFiles
from craton.tomography.inversion.step import StepSearch
from craton.tomography.report.page import write_report
from craton.tomography.stored.solve import solve_again


@pytest.fixture
def config(small_config, tmp_path):
    """One iteration, into a folder of the test's own."""
    return (
        small_config.replaced("run", directory=str(tmp_path / "run"))
        .replaced("inversion", max_iterations=1)
        .replaced("paths", maximum=40)
    )


@pytest.fixture
def folder(config):
    """A finished run."""
    inversion.run(config, MPI.COMM_SELF, report=False)
    return RunFolder(config.run.directory)


def contents(folder):
    return {file.name: file.read_bytes() for file in folder.path.iterdir() if file.is_file()}


def test_a_run_leaves_its_results_and_nothing_else(folder):
    assert set(contents(folder)) == {"data.h5", "hessian.h5", "model.h5", "record.json"}


def test_only_the_rank_that_draws_loads_matplotlib():
    """On thousands of ranks its time and memory would add up."""
    modules = ("start", "stored.solve", "posterior.run", "posterior.strength")
    program = "import sys\n" + "".join(f"import craton.tomography.{name}\n" for name in modules)
    program += "assert not {'matplotlib', 'scipy.signal'} & set(sys.modules)\n"
    subprocess.run([sys.executable, "-c", program], env=environment_without_mpi(), timeout=60, check=True)


def test_overwrite_replaces_everything(config, folder):
    write_report(folder.path)
    before = contents(folder)
    inversion.run(config.replaced("run", seed=7), MPI.COMM_SELF, overwrite=True, report=False)
    after = contents(folder)
    assert set(after) == set(before) - {"report.html"}
    assert all(after[name] != before[name] for name in after)


@pytest.mark.parametrize(
    ("stage", "worth"),
    [
        ((RunFiles, "save_data"), False),
        ((Assembly, "check_finite"), False),
        ((RunFiles, "save_step"), False),
        ((StepSearch, "line_search"), True),
    ],
)
def test_a_run_that_fails_leaves_the_earlier_results(config, folder, monkeypatch, stage, worth):
    """And the step that it has found itself, which `resume` can go on with."""
    before = contents(folder)

    def fail(*_):
        raise UserError("bad")

    monkeypatch.setattr(*stage, fail)
    with pytest.raises(UserError, match="bad"):
        inversion.run(config, MPI.COMM_SELF, overwrite=True, report=False)
    assert contents(folder) == before
    assert (folder.path / ".next-run").exists() == worth == (folder.unfinished is not None)


@pytest.mark.parametrize("name", ["data.h5", "report.html"])
def test_what_a_run_reads_is_not_replaced(config, folder, name):
    if name == "data.h5":
        config = config.replaced("data", kind="file", file=str(folder.data))
    else:
        folder.report.write_text("events")
        config = dataclasses.replace(config, events=dataclasses.replace(config.events, file=str(folder.report)))
    before = contents(folder)
    with pytest.raises(UserError, match=rf"file = \S+{name} is among the results in the output folder"):
        inversion.run(config, MPI.COMM_SELF, overwrite=True, report=False)
    assert contents(folder) == before


HOLDER = """
import sys
from craton.tomography.folder import RunFolder
folder = RunFolder(sys.argv[1])
folder.make()
folder.lock()
print("held", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path / "run")], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.communicate()


def test_a_folder_in_use_is_refused_until_its_run_is_gone(config, holder):
    with pytest.raises(UserError, match=rf"is in use by another run \(pid {holder.pid} on "):
        inversion.run(config, MPI.COMM_SELF, report=False)
    holder.kill()
    holder.wait()
    folder = RunFolder(config.run.directory)
    with reserved(MPI.COMM_SELF, folder, lambda: None):
        assert (folder.path / ".lock").read_text().startswith(f"{os.getpid()} on ")
    assert contents(folder) == {}


def test_a_refused_folder_is_not_held(tmp_path):
    def refuse():
        raise UserError("no")

    for _ in range(2):
        with pytest.raises(UserError, match="no"), reserved(MPI.COMM_SELF, RunFolder(tmp_path), refuse):
            pass
    assert list(tmp_path.iterdir()) == []


def test_a_killed_runs_unfinished_results_are_cleared_away(config, folder):
    inside = folder.path / ".next-run"
    inside.mkdir()
    (inside / "hessian.h5").write_text("half")
    inversion.run(config, MPI.COMM_SELF, overwrite=True, report=False)
    assert set(contents(folder)) == {"data.h5", "hessian.h5", "model.h5", "record.json"}


def test_what_a_killed_run_left_is_cleared_away(tmp_path):
    (tmp_path / "hessian.h5.123.new").write_text("half")
    (tmp_path / "mine.new").write_text("the user's")
    with reserved(MPI.COMM_SELF, RunFolder(tmp_path), lambda: None):
        pass
    assert [file.name for file in tmp_path.iterdir()] == ["mine.new"]


def test_a_full_disk_is_told_before_hdf5_meets_it(config, tmp_path, monkeypatch):
    usage = collections.namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10**6, 10**6 - 100, 100))
    with pytest.raises(UserError, match=r"model\.h5: needs \d+ bytes but 100 are free"):
        write_hdf5(tmp_path / "model.h5", {"models": np.zeros(10)})
    with pytest.raises(UserError, match=r"data\.h5\S*: needs \d+ bytes but 100 are free"):
        inversion.run(config, MPI.COMM_SELF, report=False)
    assert not RunFolder(config.run.directory).results


# --------------------------------------------------------------------------------------------------------- the solution


def test_a_solution_replaces_no_other_and_no_run(config, folder, tmp_path):
    again = tmp_path / "again"
    solve_again(folder.hessian, config.prior, again, MPI.COMM_SELF)
    with pytest.raises(UserError, match=r"model\.h5 is there already; allowed: another folder, or --overwrite"):
        solve_again(folder.hessian, config.prior, again, MPI.COMM_SELF)
    solve_again(folder.hessian, config.prior, again, MPI.COMM_SELF, overwrite=True)
    (again / "record.json").write_text("{}")
    with pytest.raises(UserError, match=r"record\.json of a run is there; allowed: another folder"):
        solve_again(folder.hessian, config.prior, again, MPI.COMM_SELF, overwrite=True)


def test_solve_keeps_the_runs_damping(config, folder, tmp_path, capsys):
    damped = config.replaced("inversion", damping=0.5).replaced("run", directory=str(tmp_path / "damped"))
    inversion.run(damped, MPI.COMM_SELF, report=False)
    summary = solve_again(tmp_path / "damped" / "hessian.h5", config.prior, tmp_path / "again", MPI.COMM_SELF)
    assert summary.rms_difference < 1e-6 * summary.rms_model
    assert "damping 0.5" in capsys.readouterr().out


def test_solve_says_what_precision_it_has(config, tmp_path):
    inversion.run(config.replaced("inversion", precision="float64"), MPI.COMM_SELF, report=False)
    hessian = RunFolder(config.run.directory).hessian
    with pytest.raises(
        UserError, match=r"--precision float32: the Hessian in \S+ is float64; allowed: refined or float64"
    ):
        solve_again(hessian, config.prior, tmp_path / "again", MPI.COMM_SELF, precision="float32")


def place(file, row, col):
    """Where an element on or above the diagonal lies in the packed Hessian of a file."""
    order, block = (int(file["hessian"].attrs[name]) for name in ("order", "block"))
    first = -(-order // block) // 2 * block
    return (first + block + col, row) if col < first else (row, col - first)


def changed_element(row, col, value, as_saved=False):
    """Of the Hessian in a file. as_saved: it keeps the checksum of what was saved; else it has none, as of another program."""

    def change(file):
        file["hessian"][place(file, row, col)] = value
        if not as_saved:
            del file["hessian"].attrs["craton_checksum"]

    return change


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda file: file["gradient"].__setitem__(3, np.nan), r"gradient\[3\] = nan"),
        (lambda file: file["model"].__setitem__(0, np.inf), r"model\[0\] = inf"),
        (
            changed_element(2, 5, 0.0, as_saved=True),
            r"its checksum is \w+ but the file says \w+; allowed: a dataset as it",
        ),
        (changed_element(2, 5, np.nan), r"hessian\[2, 5\] = nan"),
        (changed_element(7, 7, np.inf), r"hessian\[7, 7\] = inf"),
        (changed_element(9, 900, np.inf), r"hessian\[9, 900\] = inf"),
        (changed_element(700, 800, np.nan), r"hessian\[700, 800\] = nan"),
        (
            lambda file: file["hessian"].attrs.__setitem__("block", 0),
            r"hessian is in blocks of 0; allowed: .* 1 to 972",
        ),
        (lambda file: file["hessian"].attrs.__setitem__("order", 971), r"its order is 971 but"),
        (replaced_dataset("gradient", np.zeros(5)), r"gradient is float64 of shape \(5,\); allowed: 972 numbers"),
        (replaced_dataset("model", np.zeros((2, 486))), r"model is float64 of shape \(2, 486\)"),
        (replaced_dataset("prior_mean", [b"a"]), r"prior_mean is \S+ of shape"),
        (replaced_dataset("radial_knots_m", np.ones(6)), r"radial_knots_m = \[1.0, 1.0.*increasing"),
        (lambda file: file.attrs.__setitem__("lateral_level", 40), r"lateral_level = .*40.*from 1 to 8"),
        (lambda file: file.attrs.__setitem__("lateral_level", "x"), r"lateral_level = 'x'"),
        (lambda file: file.attrs.__setitem__("linearised_at_iteration", 0.5), r"linearised_at_iteration = .*0.5"),
        (lambda file: file.attrs.__delitem__("linearised_at_iteration"), r"'linearised_at_iteration' is missing"),
        (lambda file: file.attrs.__setitem__("precision", 3), r"precision = .*3.*allowed: float32 or float64"),
        (lambda file: file.attrs.__setitem__("config", "{"), r"config is not a configuration"),
        (lambda file: file.attrs.__setitem__("config", '{"inversion": {"block": -1}}'), r"block = -1"),
        (lambda file: file.attrs.__setitem__("config", '{"inversion": {"damping": "a"}}'), r"damping = 'a'"),
    ],
)
def test_a_damaged_hessian_is_named(config, module_hessian, tmp_path, change, complaint):
    copy = tmp_path / "copy.h5"
    copy.write_bytes(module_hessian)
    with h5py.File(copy, "a") as file:
        change(file)
    with pytest.raises(UserError, match=rf"copy\.h5.*{complaint}"):
        solve_again(copy, config.prior, tmp_path / "again", MPI.COMM_SELF)


@pytest.fixture(scope="module")
def module_hessian(small_config, tmp_path_factory):
    config = small_config.replaced("run", directory=str(tmp_path_factory.mktemp("hessian") / "run"))
    config = config.replaced("inversion", max_iterations=1).replaced("paths", maximum=20)
    inversion.run(config, MPI.COMM_SELF, report=False)
    return RunFolder(config.run.directory).hessian.read_bytes()
