"""A run that is killed in any of its phases and resumed ends with the model of one that nobody disturbed.

Hessians are in double precision, where the order of sums changes the last digits only. The quick tests kill a process of its
own on one rank and resume here; the long one kills and resumes on one to four ranks.
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import command_line
import h5py
import numpy as np
import pytest
from craton import UserError
from craton._craton import EarthModel
from helpers import OF_OPEN_MPI, environment_without_mpi

MPI = pytest.importorskip("mpi4py.MPI")

from craton.runs.folder import reserved
from craton.runs.progress_file import read_progress
from craton.runs.words import duration, size_text
from craton.tomography import start as inversion
from craton.tomography.folder import RunFolder
from craton.tomography.inversion.assembly import Assembly
from craton.tomography.inversion.forward import ModeTheory
from craton.tomography.inversion.hessian_file import whole_hessian
from craton.tomography.inversion.persistence import RunFiles
from craton.tomography.inversion.status import status as find_status
from craton.tomography.inversion.step import StepSearch
from craton.tomography.model.knots import largest_at_knots
from craton.tomography.model.splines import make_basis

PROGRAM = Path(__file__).parents[1] / "programs" / "ended_inversion.py"
ENVIRONMENT = {
    **OF_OPEN_MPI,
    "OMPI_MCA_mpi_yield_when_idle": "1",
    "OMPI_MCA_hwloc_base_binding_policy": "none",
    "OPENBLAS_NUM_THREADS": "1",
}
SAME = 1e-10
"""Relative to the largest parameter, on one rank."""
SAME_ON_OTHER_RANKS = 1e-7
"""The model's last digit decides how some elements of the single-precision Jacobian are rounded; found up to 2e-9."""
MOMENTS = [
    ("data", 1),
    ("assembly", 1),
    ("assembly", 2),
    ("hessian", 2),
    ("step", 1),
    ("step-found", 2),
    ("line-search", 3),
    ("model", 1),
    ("accepted", 2),
    ("finish", 3),
    ("report", 3),
]
"""All phases, over the three iterations."""


@pytest.fixture(scope="module")
def config(small_config):
    """210 parameters, 100 paths, three iterations, a checkpoint at every pause."""
    return (
        small_config.replaced("basis", lateral_level=2, radial=5)
        .replaced("paths", maximum=100)
        .replaced("inversion", precision="float64", block=32, tolerance=0.0, max_iterations=3)
        .replaced("assembly", checkpoint_minutes=1e-4, subset=2)
    )


@pytest.fixture(scope="module")
def undisturbed(config, tmp_path_factory):
    """The models of a run without checkpoints."""
    return models_undisturbed(config, tmp_path_factory)


def models_undisturbed(config, tmp_path_factory):
    quiet = config.replaced("run", directory=str(tmp_path_factory.mktemp("undisturbed") / "run"))
    record = inversion.run(quiet.replaced("assembly", checkpoint_minutes=0.0), MPI.COMM_SELF, report=False)
    assert len(record.iterations) == 4
    return RunFolder(quiet.run.directory).read_model()["models"]


@pytest.fixture
def here(config, tmp_path):
    """The configuration with a folder of the test's own, and its file."""
    config = config.replaced("run", directory=str(tmp_path / "run"))
    (tmp_path / "small.toml").write_text(config.to_toml())
    return dataclasses.replace(config, path=tmp_path / "small.toml")


def ended(what, moment, iteration, ranks=1, options=()):
    """Runs the program; its code, standard error and output."""
    words = [str(word) for word in (what, moment, iteration, *options)]
    if ranks == 1:
        done = command_line.program(PROGRAM, *words, **OF_OPEN_MPI)
    else:
        command = ["mpiexec", "--oversubscribe", "-n", str(ranks), sys.executable, str(PROGRAM), *words]
        env = environment_without_mpi(**ENVIRONMENT)
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, done.stderr, done.stdout


def killed(what, moment, iteration, ranks=1):
    code, err, _ = ended(what, moment, iteration, ranks)
    assert code == (-9 if ranks == 1 else 137), err


def models_of(folder):
    return RunFolder(folder).read_model()["models"]


def largest_difference(models, others):
    """Relative to the largest parameter."""
    assert models.shape == others.shape
    return np.abs(models - others).max() / np.abs(others).max()


def craton(*words):
    return command_line.craton("tomography", *words, seconds=300, COLUMNS="200")  # no path is broken into lines


# ------------------------------------------------------------------------------------------------------ every phase


SHORT = (("assembly", 1), ("step-found", 2), ("model", 1))
"""Moments that are tried each time; the others take as long again."""


@pytest.mark.parametrize(
    ("moment", "iteration"),
    [moment if moment in SHORT else pytest.param(*moment, marks=pytest.mark.long) for moment in MOMENTS],
)
def test_a_killed_run_goes_on(here, undisturbed, moment, iteration):
    killed(here.path, moment, iteration)
    folder = RunFolder(here.run.directory)
    assert folder.progress.is_file() and (moment in ("finish", "report") or not finished(folder))
    assert (folder.checkpoint.is_file()) == (moment in ("assembly", "hessian"))
    saved_before = find_status(folder.path).saved
    record = inversion.resume(folder.path, None, MPI.COMM_SELF, report=False)
    found = largest_difference(models_of(folder.path), undisturbed)
    print(f"killed in {moment} of iteration {iteration} ({saved_before} paths saved): models differ by {found:.1e}")
    assert found < SAME
    assert record.finished and [entry.iteration for entry in record.iterations] == [0, 1, 2, 3]
    assert [len(record.sessions), record.sessions[0].at] == [2, ""] and record.sessions[1].at
    assert {file.name for file in folder.path.iterdir()} - {"report.html"} == {
        "data.h5", "hessian.h5", "model.h5", "record.json"
    }  # fmt: skip


def finished(folder):
    return folder.record.is_file() and folder.read_record().finished


def test_only_the_rest_of_an_assembly_is_done(here, undisturbed, monkeypatch):
    killed(here.path, "assembly", 2)
    saved = find_status(here.run.directory).saved
    assert 0 < saved < 100
    done = []
    until_pause = Assembly.until_pause

    def counted(self, state, *arguments):
        before = self.run.phases.assembly["paths"]
        left = until_pause(self, state, *arguments)
        done.append((len(state.models), int(self.run.phases.assembly["paths"] - before)))
        return left

    monkeypatch.setattr(Assembly, "until_pause", counted)
    inversion.resume(here.run.directory, None, MPI.COMM_SELF, report=False)
    assert sum(count for iteration, count in done if iteration == 2) == 100 - saved
    assert sum(count for iteration, count in done if iteration == 3) == 100
    assert not [count for iteration, count in done if iteration == 1]


def test_a_killed_resumption_goes_on(here, undisturbed):
    killed(here.path, "assembly", 1)
    killed(here.run.directory, "line-search", 1)
    killed(here.run.directory, "hessian", 3)
    record = inversion.resume(here.run.directory, None, MPI.COMM_SELF, report=False)
    assert largest_difference(models_of(here.run.directory), undisturbed) < SAME
    assert len(record.sessions) == 4
    assert all(session.seconds > 0.0 for session in record.sessions)


def test_under_the_other_prior(here, tmp_path):
    """Whose weights cannot be had from the model: model.h5 has them."""
    config = here.replaced("prior", kind="matern", correlation_km=3000.0).replaced("inversion", max_iterations=2)
    here.path.write_text(config.to_toml())
    whole = config.replaced("run", directory=str(tmp_path / "whole"))
    inversion.run(whole, MPI.COMM_SELF, report=False)
    killed(here.path, "step", 2)
    record = inversion.resume(here.run.directory, None, MPI.COMM_SELF, report=False)
    assert largest_difference(models_of(here.run.directory), models_of(whole.run.directory)) < SAME
    others = RunFolder(whole.run.directory).read_record().iterations
    assert [entry.chi for entry in record.iterations] == pytest.approx([entry.chi for entry in others], rel=1e-10)


def test_on_other_ranks_by_the_command(here, tmp_path_factory):
    """With so many paths that two ranks do not assemble them before the first checkpoint."""
    here = dataclasses.replace(here.replaced("paths", maximum=600), path=here.path)
    here.path.write_text(here.to_toml())
    undisturbed = models_undisturbed(here, tmp_path_factory)
    killed(here.path, "assembly", 2, ranks=2)
    done = craton("resume", here.run.directory, "--ranks", 3, "--no-report")
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert largest_difference(models_of(here.run.directory), undisturbed) < SAME_ON_OTHER_RANKS
    assert "stopped: all 3 iterations" in done.stdout


@pytest.mark.parametrize("lost", [False, True])
def test_a_killed_run_goes_on_from_what_its_nodes_have(here, tmp_path, tmp_path_factory, lost):
    """Checkpoints in two levels. lost: what the second rank's node had is gone."""
    nodes = tmp_path / "nodes"
    here = here.replaced("paths", maximum=600).replaced("assembly", checkpoint_local=str(nodes))
    here = dataclasses.replace(here, path=tmp_path / "small.toml")
    here.path.write_text(here.to_toml())
    undisturbed = models_undisturbed(here, tmp_path_factory)
    killed(here.path, "assembly", 2, ranks=2)
    folder = RunFolder(here.run.directory)
    assert folder.levels.is_file() and folder.worth_resuming
    parts = {rank: list(nodes.glob(f"craton-*-{rank}.*")) for rank in range(2)}
    assert all(parts.values())
    for part in parts[1] if lost else ():
        part.unlink()
    done = craton("resume", here.run.directory, "--ranks", 2, "--no-report")
    assert done.returncode == 0, done.stdout
    assert (f"has no part of it in '{nodes}'" in done.stderr) == lost, done.stderr
    assert largest_difference(models_of(here.run.directory), undisturbed) < SAME_ON_OTHER_RANKS
    assert not list(nodes.iterdir()) and not folder.levels.exists()


@pytest.mark.long
@pytest.mark.parametrize(("ranks", "others"), [(1, 4), (2, 1), (3, 2), (4, 3)])
def test_every_phase_on_other_ranks(here, tmp_path, tmp_path_factory, ranks, others):
    """With so many paths that four ranks do not assemble them before the first checkpoint."""
    here = dataclasses.replace(here.replaced("paths", maximum=600), path=here.path)
    (tmp_path / "small.toml").write_text(here.to_toml())
    undisturbed = models_undisturbed(here, tmp_path_factory)
    worst = 0.0
    for moment, iteration in MOMENTS:
        killed(here.path, moment, iteration, ranks)
        report = "--report" if moment == "report" else "--no-report"  # which takes longer than all else
        done = craton("resume", here.run.directory, "--ranks", others, report)
        assert (done.returncode, done.stderr) == (0, ""), done.stdout
        found = largest_difference(models_of(here.run.directory), undisturbed)
        assert found < SAME_ON_OTHER_RANKS, (moment, iteration)
        worst = max(worst, found)
        assert RunFolder(here.run.directory).report.exists() == (moment == "report")
        shutil.rmtree(here.run.directory)
    print(f"killed on {ranks} and resumed on {others} ranks in {len(MOMENTS)} moments: models differ by {worst:.1e}")


@pytest.mark.long
@pytest.mark.parametrize(("moment", "iteration"), [("assembly", 1), ("step", 2), ("line-search", 3)])
def test_single_precision(here, tmp_path, moment, iteration):
    """On one rank. On several the order of the paths is another each time, and so are the sums' last digits, disturbed or not."""
    config = here.replaced("inversion", precision="float32")
    here.path.write_text(config.to_toml())
    whole = config.replaced("run", directory=str(tmp_path / "whole"))
    inversion.run(whole, MPI.COMM_SELF, report=False)
    killed(here.path, moment, iteration)
    inversion.resume(here.run.directory, None, MPI.COMM_SELF, report=False)
    assert largest_difference(models_of(here.run.directory), models_of(whole.run.directory)) < SAME


def test_a_run_in_place_of_another_goes_on_where_it_was(here, undisturbed):
    once = here.replaced("inversion", max_iterations=1).replaced("run", seed=7)
    inversion.run(once, MPI.COMM_SELF, report=False)
    folder = RunFolder(here.run.directory)
    before = {file.name: file.read_bytes() for file in folder.results}
    code, err, _ = ended(here.path, "step", 1, options=["overwrite"])
    assert code == -9, err
    assert {file.name: file.read_bytes() for file in folder.results} == before
    assert find_status(folder.path).phase == "step"
    inversion.resume(folder.path, None, MPI.COMM_SELF, report=False)
    assert largest_difference(models_of(folder.path), undisturbed) < SAME
    assert not (folder.path / ".next-run").exists() and not folder.progress.exists()


@pytest.mark.parametrize("moved", range(5))
def test_taking_the_place_of_an_earlier_run_is_finished_if_it_was_interrupted(tmp_path, monkeypatch, moved):
    folder = RunFolder(tmp_path)
    for file in (folder.data, folder.hessian, folder.report, folder.hessian_of(1)):
        file.write_text("earlier")
    place = folder.place_to_write()
    new = (place.data, place.model, place.record, place.progress)
    for file in new:
        file.write_text("new")
    replace, count = os.replace, []

    class Killed(BaseException):
        pass

    def some(source, target):
        if Path(target).parent == tmp_path:
            count.append(target)
            if len(count) > moved:
                raise Killed
        replace(source, target)

    monkeypatch.setattr(os, "replace", some)
    if moved < len(new):
        with pytest.raises(Killed):
            folder.adopt(place)
        monkeypatch.setattr(os, "replace", replace)
        assert folder.place_to_resume().path == tmp_path
    else:
        folder.adopt(place)
    assert {file.name for file in tmp_path.iterdir()} == {file.name for file in new}
    assert all(file.read_text() == "new" for file in tmp_path.iterdir())


def test_a_folder_does_not_adopt_from_itself(tmp_path, monkeypatch):
    """As `craton tomography resume` of a relative path meets it: the configuration has the absolute one."""
    monkeypatch.chdir(tmp_path.parent)
    (tmp_path / "progress.json").write_text("{}")
    RunFolder(tmp_path).adopt(RunFolder(tmp_path.name))
    assert [file.name for file in tmp_path.iterdir()] == ["progress.json"]


# ------------------------------------------------------------------------------------------- what a run may have besides


def with_start(config, folder, **more):
    """It begins at degree 1 of spherical harmonics."""
    rows = [" ".join(f"{0.01 * np.cos(n + 7 * row):.5f}" for n in range(4)) for row in range(21)]
    (folder / "start.sph").write_text("\n".join(rows) + "\n")
    return config.replaced("start", file=str(folder / "start.sph"), **more)


def with_crust(config, folder, **more):
    """A Moho that is deeper towards the poles; modes are kept in a place of its own."""
    rows = [f"{lon} {lat} {20 + abs(lat) / 3}" for lat in range(-75, 90, 30) for lon in range(0, 360, 30)]
    (folder / "moho.txt").write_text("\n".join(rows) + "\n")
    return config.replaced("earth", crust=str(folder / "moho.txt"), **more)


def with_corrections(config, _folder):
    """Earthquakes are late, and the run looks for that."""
    late = config.replaced("target", wrong_origin_time_s=2.0, wrong_station_time_s=1.0)
    return late.replaced("corrections", origin_time_s=2.0, station_time_s=1.0)


BESIDES = {
    "corrections": with_corrections,
    "theory check": lambda config, _folder: config.replaced("theory", check_windows=40),
    "start": with_start,
    "start, expected": lambda config, folder: with_start(config, folder, prior_mean=True),
    "huber": lambda config, _folder: config.replaced("inversion", robust="huber"),
    "student": lambda config, _folder: config.replaced("inversion", robust="student").replaced(
        "data", redundancy_km=500.0
    ),
    "ellipticity": lambda config, _folder: config.replaced("earth", ellipticity=True, rotation=True),
    "crust": with_crust,
}


@pytest.mark.parametrize(
    ("what", "moment", "iteration"),
    [
        ("corrections", "line-search", 2),
        ("theory check", "theory-check", 2),
        ("start", "assembly", 1),
        ("start", "line-search", 1),
        ("start, expected", "step-found", 1),
        ("huber", "accepted", 1),
        ("huber", "step-found", 2),
        ("student", "assembly", 2),
        ("ellipticity", "other-earths", 2),
        ("crust", "other-earths", 4),
        ("crust", "assembly", 2),
    ],
)
def test_a_killed_run_goes_on_with_what_it_has_besides(here, tmp_path, what, moment, iteration):
    """With the model, the misfits and the judgement of one that nobody disturbed."""
    config = BESIDES[what](here.replaced("inversion", max_iterations=2), tmp_path)
    whole = config.replaced("run", directory=str(tmp_path / "whole"))
    if moment == "other-earths":
        config = config.replaced("modes", cache=str(tmp_path / "modes"))
    here.path.write_text(config.to_toml())
    undisturbed = inversion.run(whole, MPI.COMM_SELF, report=False)
    killed(here.path, moment, iteration)
    solved = list((tmp_path / "modes").glob("frequencies-*"))
    assert len(solved) == (iteration - 1 if moment == "other-earths" else 0)
    times = [file.stat().st_mtime_ns for file in solved]
    for file in tmp_path.glob("start.sph"):
        file.write_text("0 0 0 0\n" * 21)  # the first session has read it, and has kept what it said
    record = inversion.resume(config.run.directory, None, MPI.COMM_SELF, report=False)
    found = largest_difference(models_of(config.run.directory), models_of(whole.run.directory))
    print(f"{what}, killed in {moment} {iteration}: models differ by {found:.1e}")
    assert found < SAME
    assert [file.stat().st_mtime_ns for file in solved] == times
    assert record.finished and len(record.sessions) == 2
    for ours, theirs in zip(record.iterations, undisturbed.iterations, strict=True):
        assert (ours.chi_data, ours.chi_prior) == pytest.approx((theirs.chi_data, theirs.chi_prior), rel=1e-8)
    assert record.earth == undisturbed.earth
    for name in ("corrections", "start", "judgement"):
        assert as_numbers(getattr(record, name)) == pytest.approx(as_numbers(getattr(undisturbed, name)), rel=1e-6)
    assert bool(record.corrections) == (what == "corrections") and bool(record.start) == what.startswith("start")


def as_numbers(found):
    """The numbers of part of a record, one after the other; of texts those that they hold are left out."""
    if dataclasses.is_dataclass(found):
        found = [getattr(found, item.name) for item in dataclasses.fields(found)]
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list | tuple):
        return [number for each in found for number in as_numbers(each)]
    return [float(found)] if isinstance(found, int | float) else []


# ----------------------------------------------------------------------------------------------------------- refusals


def test_a_finished_run_says_so(here):
    inversion.run(here, MPI.COMM_SELF, report=False)
    before = RunFolder(here.run.directory).model.stat().st_mtime_ns
    done = craton("resume", here.run.directory)
    assert (done.returncode, done.stderr) == (0, "")
    assert "this run has finished: all 3 iterations allowed were used up" in done.stdout
    assert inversion.resume(here.run.directory, None, MPI.COMM_SELF).finished
    assert RunFolder(here.run.directory).model.stat().st_mtime_ns == before


HOLDER = """
import sys
from craton.tomography.folder import RunFolder
folder = RunFolder(sys.argv[1])
folder.lock()
print("held", flush=True)
sys.stdin.read()
"""


def test_a_folder_in_use_is_refused(here):
    killed(here.path, "step", 1)
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, here.run.directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    try:
        holder.stdout.readline()
        assert find_status(here.run.directory).state == "running"
        with pytest.raises(UserError, match=rf"is in use by another run \(pid {holder.pid} on "):
            inversion.resume(here.run.directory, None, MPI.COMM_SELF)
    finally:
        holder.kill()
        holder.communicate()
    assert find_status(here.run.directory).state == "interrupted"


def test_another_configuration_is_refused_by_its_key(here):
    killed(here.path, "step", 1)
    for table, changes, said in (
        ("prior", {"strength": 0.01}, r"small\.toml: \[prior\] strength = 0\.01; allowed: 0\.03, as the run in"),
        ("run", {"seed": 3}, r"\[run\] seed = 3; allowed: 2015"),
        ("basis", {"radial": 6}, r"\[basis\] radial = 6; allowed: 5"),
        ("inversion", {"step_percent": 1.0}, r"\[inversion\] step_percent = 1\.0; allowed: 0\.0"),
    ):
        with pytest.raises(UserError, match=said):
            inversion.resume(here.run.directory, here.replaced(table, **changes), MPI.COMM_SELF)
    free = here.replaced("inversion", max_iterations=1, keep_hessians="none").replaced("assembly", threads=2)
    record = inversion.resume(here.run.directory, free, MPI.COMM_SELF, report=False)
    assert len(record.iterations) == 2 and record.threads == 2
    assert not RunFolder(here.run.directory).hessian.exists()


def test_what_is_no_unfinished_run_is_refused(here, tmp_path):
    with pytest.raises(UserError, match="absent: no such folder; allowed: the folder of a run"):
        inversion.resume(tmp_path / "absent", None, MPI.COMM_SELF)
    for command in ("resume", "status"):
        done = craton(command, tmp_path / "absent")
        assert done.returncode == 2
        [line] = done.stderr.splitlines()
        assert line.startswith("craton: error: run folder ") and "no such folder; allowed: the folder of a run" in line
    with pytest.raises(UserError, match=r"no progress\.json to go on from"):
        inversion.resume(tmp_path, None, MPI.COMM_SELF)
    with pytest.raises(UserError, match="absent: no such folder"):
        find_status(tmp_path / "absent")
    (tmp_path / "progress.json").write_text("{}")
    with pytest.raises(UserError, match=r"progress\.json: not a run's progress"):
        inversion.resume(tmp_path, None, MPI.COMM_SELF)


def test_a_new_run_does_not_take_an_unfinished_ones_place(here):
    killed(here.path, "step", 1)
    with pytest.raises(UserError, match="has not finished; allowed: `craton tomography resume"):
        inversion.run(here, MPI.COMM_SELF)
    inversion.run(here, MPI.COMM_SELF, overwrite=True, report=False)
    assert not RunFolder(here.run.directory).progress.exists()


@pytest.mark.parametrize("name", ["hessian", "step", "model"])
def test_a_damaged_file_is_named(here, name):
    killed(here.path, "step" if name == "hessian" else "step-found", 1)
    file = getattr(RunFolder(here.run.directory), name)
    file.write_bytes(file.read_bytes()[:700])
    with pytest.raises(UserError, match=rf"{file.name}: not a complete"):
        inversion.resume(here.run.directory, None, MPI.COMM_SELF)


def test_a_full_disk_leaves_the_checkpoint_before(here, undisturbed):
    killed(here.path, "assembly", 1)
    assert json.loads(RunFolder(here.run.directory).progress.read_text())["saved"] <= here.paths.maximum // 2
    checkpoint = RunFolder(here.run.directory).checkpoint
    before = checkpoint.read_bytes()
    code, err, _ = ended(here.run.directory, "full-disk", 1)
    assert code == 2
    [line] = err.splitlines()
    assert re.search(r"craton: error: .*hessian\.checkpoint\.h5.*(too large|limit)", line), line
    assert checkpoint.read_bytes() == before
    inversion.resume(here.run.directory, None, MPI.COMM_SELF, report=False)
    assert largest_difference(models_of(here.run.directory), undisturbed) < SAME


# ------------------------------------------------------------------------------------------------- steps and Hessians


@pytest.mark.parametrize("kept", ["last", "all", "none"])
def test_hessians_are_kept_as_asked(here, kept):
    inversion.run(here.replaced("inversion", keep_hessians=kept), MPI.COMM_SELF, report=False)
    folder = RunFolder(here.run.directory)
    found = {file.name for file in folder.path.glob("hessian*")}
    assert found == {
        "last": {"hessian.h5"}, "all": {"hessian-1.h5", "hessian-2.h5", "hessian.h5"}, "none": set()
    }[kept]  # fmt: skip
    models = folder.read_model()["models"]
    for iteration, file in enumerate([*folder.earlier_hessians, folder.hessian][: len(found)], 3 - len(found)):
        with h5py.File(file) as opened:
            assert opened.attrs["linearised_at_iteration"] == iteration
            np.testing.assert_array_equal(opened["model"], models[iteration])


@pytest.mark.parametrize(
    ("kept", "minutes", "times"), [("last", 10.0, 1), ("last", 1e-4, 3), ("all", 10.0, 3), ("none", 10.0, 0)]
)
def test_a_hessian_is_written_once_unless_its_assembly_is_long(here, monkeypatch, kept, minutes, times):
    written = []
    save = RunFiles.save_hessian
    monkeypatch.setattr(RunFiles, "save_hessian", lambda *given: written.append(given[4]) or save(*given))
    config = here.replaced("inversion", keep_hessians=kept).replaced("assembly", checkpoint_minutes=minutes)
    inversion.run(config, MPI.COMM_SELF, report=False)
    assert written == [0, 1, 2][3 - times :]


@pytest.mark.parametrize(("moment", "iteration"), [("hessian", 3), ("step-found", 2), ("step-found", 3), ("finish", 3)])
def test_a_hessian_that_was_only_in_memory_is_there_in_the_end(here, undisturbed, moment, iteration):
    here.path.write_text(here.replaced("assembly", checkpoint_minutes=10.0).to_toml())
    killed(here.path, moment, iteration)
    folder = RunFolder(here.run.directory)
    assert folder.hessian.is_file() == (moment == "finish")
    inversion.resume(folder.path, None, MPI.COMM_SELF, report=False)
    assert largest_difference(models_of(folder.path), undisturbed) < SAME
    with h5py.File(folder.hessian) as opened:
        assert opened.attrs["linearised_at_iteration"] == 2
        np.testing.assert_array_equal(opened["model"], models_of(folder.path)[2])


def test_a_hessian_in_place_gives_the_same_model(here, undisturbed):
    wide = here.replaced("inversion", solve_precision="float64").replaced("run", directory=f"{here.run.directory}-wide")
    inversion.run(wide, MPI.COMM_SELF, report=False)
    of_float64 = models_of(wide.run.directory)
    for precision, close in (("float64", SAME), ("float32", 1e-3)):
        config = here.replaced("inversion", in_place=True, precision=precision).replaced(
            "run", directory=f"{here.run.directory}-{precision}"
        )
        record = inversion.run(config, MPI.COMM_SELF, report=False)
        expected = undisturbed if precision == "float32" else of_float64  # which is factored in float64, not refined
        assert largest_difference(models_of(config.run.directory), expected) < close
        assert record.iterations[-1].solved_in.startswith(precision)
        assert whole_hessian(RunFolder(config.run.directory).hessian).shape == (210, 210)


def test_a_step_is_no_longer_than_allowed(here, undisturbed):
    record = inversion.run(here.replaced("inversion", step_percent=0.5), MPI.COMM_SELF, report=False)
    models = models_of(here.run.directory)
    basis = make_basis(here, EarthModel.by_name(here.earth.model))
    changes = [100 * largest_at_knots(basis, step) for step in np.diff(models, axis=0)]
    assert 100 * largest_at_knots(basis, undisturbed[1]) > 0.6
    assert max(changes) <= 0.5 * (1 + 1e-12) and changes[0] == pytest.approx(0.5, rel=1e-12)
    assert record.iterations[1].step_length < 1.0
    np.testing.assert_allclose(models[1], record.iterations[1].step_length * undisturbed[1], rtol=0, atol=1e-10)


def test_halvings_end_where_they_are_told_to(here, monkeypatch):
    calls = []
    monkeypatch.setattr(ModeTheory, "chi_data", lambda *_: calls.append(1) or 1e9)
    record = inversion.run(here.replaced("inversion", step_halvings=2), MPI.COMM_SELF, report=False)
    assert len(calls) == 3 and "with 0.25 of it" in record.stopped_because


# ------------------------------------------------------------------------------------------------------------- status


def test_status_of_a_killed_and_of_a_finished_run(here):
    killed(here.path, "assembly", 2)
    found = find_status(here.run.directory)
    assert (found.state, found.phase, found.iteration, found.most_iterations) == ("interrupted", "assembly", 2, 3)
    assert 0 < found.saved < found.total == 100
    assert found.spent_s > 0.0 and found.left_s is not None and found.left_s >= 0.0
    assert {"data.h5", "hessian.h5", "hessian.checkpoint.h5", "model.h5"} <= found.files.keys()
    assert found.hessian_of_iteration == 1
    text = craton("status", here.run.directory)
    assert (text.returncode, text.stderr) == (0, "")
    for words in (
        "iteration 2 of at most 3",
        "assembly (3 of 6)",
        "checkpoint",
        f"craton tomography resume {here.run.directory}",
    ):
        assert words in text.stdout
    told = json.loads(craton("status", here.run.directory, "--json").stdout)
    assert told["saved"] == found.saved
    inversion.resume(here.run.directory, None, MPI.COMM_SELF, report=False)
    found = find_status(here.run.directory)
    assert found.state == "finished" and "all 3 iterations" in found.stopped_because and len(found.sessions) == 2


def test_status_of_a_run_under_way(here, monkeypatch):
    seen = []
    line_search = StepSearch.line_search

    def look(self, *arguments):
        seen.append(find_status(here.run.directory))
        return line_search(self, *arguments)

    monkeypatch.setattr(StepSearch, "line_search", look)
    inversion.run(here, MPI.COMM_SELF, report=False)
    assert [(one.state, one.phase, one.iteration) for one in seen] == [("running", "step", k) for k in (1, 2, 3)]
    assert seen[0].owner.startswith(f"{os.getpid()} on ")
    assert seen[2].left_s is not None and len(seen[2].iterations) == 3


def test_progress_remembers_what_was_asked(here):
    killed(here.path, "step", 1)
    found = read_progress(RunFolder(here.run.directory).progress)
    assert found.configuration == json.loads(json.dumps(here.to_dict())) and found.source == str(here.path)
    with reserved(MPI.COMM_SELF, RunFolder(here.run.directory), lambda: None):
        pass
    assert RunFolder(here.run.directory).step.exists() is False


def test_words_for_times_and_sizes():
    assert [duration(seconds) for seconds in (3.25, 61.0, 3725.0)] == ["3.2 s", "1:01 min", "1:02:05"]
    assert [size_text(size) for size in (12, 1234, 1_234_567, 5e14)] == ["12 B", "1.2 kB", "1.2 MB", "500.0 TB"]
