"""`craton hazard run`: a small one from end to end, killed in each of its phases, and what is said of what cannot be."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

import h5py
import numpy as np
import pytest
from craton.errors import UserError
from craton.hazard.command import loaded
from craton.hazard.config import load_config, template
from craton.hazard.export import read_openquake_curves
from craton.hazard.plan import Plan
from craton.hazard.run_folder import HazardFolder
from helpers import environment_without_mpi

CONFIG = """
[grid]
size_km = [30.0, 26.0, 14.0]
spacing_m = 1000.0
origin_lon_lat = [10.0, 45.0]
points_per_wavelength = 3.0

[time]
duration_s = 20.0

[boundary]
absorbing = "sponge"
width_cells = 4

[green]
sigma_s = 1.0
every = 2

[forecast]
years = 50.0
subfault_m = 2000.0

[variations]
slips = 2
strike_spacing_km = 5.0

[measures]
periods_s = [3.0, 5.0]

[hazard]
levels_g = [1e-5, 1e-4, 3e-4, 1e-3, 2e-3, 5e-3, 1e-2, 1.0]
probabilities = [0.1]

[run]
variations_per_task = 4
cores = 2

[[site]]
name = "A"
position_m = [9000.0, 9000.0]

[[site]]
name = "B"
position_m = [20000.0, 12000.0]

[[fault]]
name = "north"
trace_m = [[8000.0, 16000.0], [20000.0, 18000.0]]
upper_depth_km = 1.0
lower_depth_km = 7.0
rake_deg = 180.0
slip_rate_mm_yr = 5.0

[[fault]]
name = "south"
trace_m = [[8000.0, 12000.0], [16000.0, 13000.0]]
upper_depth_km = 1.0
lower_depth_km = 5.0
dip_deg = 60.0
rake_deg = 90.0
annual_rate = 0.01
"""
LEFT = ("hazard.h5", "curves.csv", "maps.csv", "disaggregation.csv", "report.html", "record.json", "pictures/map.png")


def write_config(folder: Path, *changes: tuple[str, str]) -> Path:
    text = CONFIG
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path = folder / "small.toml"
    path.write_text(text)
    return path


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "craton.cli", "hazard", *map(str, arguments)]


def craton(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A time-out is a failure: bad input must not hang."""
    return subprocess.run(
        command(*arguments),
        env=environment_without_mpi(),
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        cwd=cwd,
    )


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run in a pipeline."""
    folder = tmp_path_factory.mktemp("hazard")
    done = craton("run", write_config(folder), "--directory", "whole", cwd=folder)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout + done.stderr
    assert "variations/s" in done.stdout and "points/s" in done.stdout
    return folder / "whole"


def contents(folder: Path) -> dict[str, object]:
    """Of everything that is computed, as arrays: HDF5 files themselves hold times."""
    found = {}
    for path in sorted(folder.glob("sites/*/*.h5")):
        with h5py.File(path) as file:

            def collect(name, item, of=path):
                if isinstance(item, h5py.Dataset):
                    values = item.asstr()[()].tolist() if item.dtype.kind == "O" else item[()].tobytes()
                    found[f"{of.relative_to(folder)}:{name}"] = values

            file.visititems(collect)
    return found


def same_results(one: Path, other: Path) -> None:
    a, b = contents(one), contents(other)
    assert a.keys() == b.keys() and len(a) > 50
    assert [name for name in a if a[name] != b[name]] == []
    for name in ("curves.csv", "maps.csv", "disaggregation.csv"):
        assert (one / name).read_text() == (other / name).read_text()


def test_a_run_leaves_everything_a_person_asks_for(finished):
    for name in LEFT:
        assert (finished / name).stat().st_size > 100, name
    assert not list(finished.rglob("*.new")) and not list(finished.rglob("*.partial"))
    page = (finished / "report.html").read_text()
    for site in "AB":
        for step in ("site", "curve", "disaggregation", "rupture", "seismogram"):
            assert page.count(f'id="{step}-{site}"') == 1, (step, site)
        assert f'href="#seismogram-{site}"' in page
    sites, curves = read_openquake_curves(finished / "openquake" / "hazard_curve-mean-SA(3.0).csv")
    assert len(sites) == len(curves) == 2


def test_curves_are_those_of_the_measures(finished):
    """By the formula itself, in plain loops."""
    plan = Plan.of(load_config(finished / "config.toml"))
    for site in "AB":
        with h5py.File(finished / "sites" / site / "site.h5") as file:
            rupture, rotd50 = file["measures/rupture"][()], file["measures/rotd50"][()] / 9.80665
            assert list(np.bincount(rupture)) == list(plan.counts) == [4, 4]
            for column, period in enumerate((3.0, 5.0)):
                curve = file[f"curves/SA({period})"]
                for level, found in zip(curve["levels"], curve["probability"], strict=True):
                    none = 1.0
                    for index, one in enumerate(plan.forecast.ruptures):
                        above = [value > level for value in rotd50[rupture == index, column]]
                        none *= (1 - (1 - np.exp(-50 * one.annual_rate))) ** (sum(above) / len(above))
                    assert found == pytest.approx(1 - none, rel=1e-12, abs=1e-15)
            assert 0 < curve["probability"][4] < 1, "levels that say something"


def test_the_record_says_what_each_core_did(finished):
    record = HazardFolder(finished).read_record()
    assert len(record.tasks) == 10 and record.resumed == 0 and record.cores == 2
    for core in range(2):
        mine = sorted((task["begun_s"], task["ended_s"]) for task in record.tasks if core in task["cores"])
        assert all(end <= begin for (_, end), (begin, _) in zip(mine, mine[1:], strict=False))
    assert 0 < record.computed <= 1.05 and 0.3 < record.given <= 1
    # a pipeline: post-processing of the first site begins before the waves of the second have ended
    first = min(task["begun_s"] for task in record.tasks if task["kind"] == "measures" and task["site"] == "A")
    assert first < max(task["ended_s"] for task in record.tasks if task["kind"] == "waves")


def test_phase_after_phase_gives_the_same(finished, tmp_path):
    done = craton("run", write_config(tmp_path), "--directory", "run", "--schedule", "sequential", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    same_results(finished, tmp_path / "run")
    tasks = HazardFolder(tmp_path / "run").read_record().tasks
    waves = [task for task in tasks if task["kind"] == "waves"]
    assert [len(task["cores"]) for task in waves] == [2] * 4
    for wave in waves:
        assert not [
            t for t in tasks if t is not wave and t["begun_s"] < wave["ended_s"] and wave["begun_s"] < t["ended_s"]
        ]


PHASES = {
    "waves": lambda run: bool(list(run.glob("sites/A/*/sgt.h5.partial"))),
    "measures": lambda run: (run / "sites/A/measures-0000.log").is_file(),
    "curves": lambda run: (run / "sites/A/curves.log").is_file(),
}


def test_a_run_that_is_killed_goes_on_where_it_was(finished, tmp_path):
    """In waves, in post-processing and in what follows, one after the other, with kill -9."""
    config, run = write_config(tmp_path), tmp_path / "run"
    for number, (phase, reached) in enumerate(PHASES.items()):
        before = kept(run)
        kill_when(
            command("run", config, "--directory", run, *["--resume"][: int(number > 0)]),
            tmp_path,
            partial(reached, run),
        )
        after = kept(run)
        assert before.items() <= after.items(), f"{phase}: finished files were touched"
        assert not (run / "report.html").exists()
    before = kept(run)
    done = craton("run", config, "--directory", run, "--resume", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert before.items() <= kept(run).items()
    record = HazardFolder(run).read_record()
    tasks = sum(1 for name in before if name.endswith((".h5", "record.json")) and "sgt" not in name)
    assert record.resumed == tasks >= 3 and len(record.tasks) == 10 - record.resumed
    same_results(finished, run)


def kept(run: Path) -> dict[str, tuple[int, str]]:
    """Results that have their names, when they were written and what is in them."""
    names = ("sites/*/*.h5", "sites/*/*/record.json")
    files = [path for name in names for path in run.glob(name)]
    files += [path.with_name("sgt.h5") for path in run.glob("sites/*/*/record.json")]
    return {
        str(path.relative_to(run)): (path.stat().st_mtime_ns, hashlib.sha256(path.read_bytes()).hexdigest())
        for path in files
    }


def kill_when(arguments: list[str], cwd: Path, reached) -> None:
    """Starts a run, and ends it by kill -9 once it has come so far; then nothing of it runs any more."""
    run = subprocess.Popen(
        arguments, env=environment_without_mpi(), cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        until = time.monotonic() + 600
        while not reached():
            assert run.poll() is None, run.communicate()[0]
            assert time.monotonic() < until
            time.sleep(0.005)
        jobs = children(run.pid)
    finally:
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    until = time.monotonic() + 20
    while any(alive(job) for job in jobs):
        assert time.monotonic() < until, "a job has outlived its run"
        time.sleep(0.02)


def children(process: int) -> list[int]:
    try:
        tasks = list(Path(f"/proc/{process}/task").iterdir())
        return [int(child) for task in tasks for child in (task / "children").read_text().split()]
    except OSError:
        return []


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


# --------------------------------------------------------------------------------------------------------------- bad input


def refused(folder: Path, *changes: tuple[str, str]) -> str:
    """By a check of the configuration and all it names."""
    with pytest.raises(UserError) as caught:
        Plan.of(loaded(write_config(folder, *changes)))
    line = str(caught.value)
    assert "\n" not in line and "allowed" in line, line
    return line


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("probabilities = [0.1]", "probabilities = [1.5]"), ("[hazard] probabilities = [1.5]", "above 0 and below 1")),
        (("probabilities = [0.1]", "probabilities = [0.0]"), ("[hazard] probabilities",)),
        (("[run]", "[runs]"), ("unknown table [runs]", "did you mean [run]")),
        (("years = 50.0", "yeers = 50.0"), ("[forecast] unknown key 'yeers'", "'years'")),
        (("sigma_s = 1.0", ""), ("[green] neither of highest_hz and sigma_s",)),
        (("sigma_s = 1.0", "sigma_s = 1.0\nhighest_hz = 0.5"), ("[green] both of highest_hz and sigma_s",)),
        (('name = "B"', 'name = "A"'), ('[[site]] 2 name = "A" again',)),
        (('name = "B"', 'name = "B/.."'), ("[[site]] 2 name", "letters")),
        (("position_m = [9000.0, 9000.0]", ""), ("[[site]] 1 neither of position_m and lon_lat",)),
        (
            ("position_m = [9000.0, 9000.0]", "position_m = [1000.0, 9000.0]"),
            ("[[site]] A at (1000, 9000, 0) m", "[4000, 26000]"),
        ),
        (("[8000.0, 16000.0], [20000.0", "[8000.0, 16000.0], [28000.0"), ("'north'", "outside the volume", "subfault")),
        (("lower_depth_km = 5.0", "lower_depth_km = 13.0"), ("'south'", "outside the volume", "z in [0, 10000] m")),
        (("origin_lon_lat = [10.0, 45.0]", ""), ("[grid] origin_lon_lat",)),
        (("spacing_m = 1000.0", "spacing_m = 1000.0\nazimuth_deg = 30.0"), ("[grid] azimuth_deg = 30",)),
        (("years = 50.0", "years = 0.0"), ("[forecast] years = 0.0",)),
        (("periods_s = [3.0, 5.0]", "periods_s = [5.0, 3.0]"), ("[measures] periods_s", "each above the one before")),
        (("[[fault]]", "[[faults]]"), ("unknown table [faults]",)),
    ],
)
def test_a_configuration_that_cannot_be(tmp_path, change, words):
    line = refused(tmp_path, change)
    for word in words:
        assert word in line, line


def test_probabilities_in_a_table_are_checked(tmp_path):
    (tmp_path / "ruptures.csv").write_text(
        "source,rupture,magnitude,probability,rake,dip,upper_depth_km,lower_depth_km,trace\n"
        "a,0,6.2,1.2,180,90,1,5,10.15 45.1; 10.2 45.1\n"
    )
    line = refused(
        tmp_path, ('[[site]]\nname = "A"', '[[model]]\nkind = "table"\nfile = "ruptures.csv"\n\n[[site]]\nname = "A"')
    )
    assert "ruptures.csv" in line and "probability = 1.2" in line and "0 to 1" in line


def test_a_truncated_srf_file(finished, tmp_path):
    """Refused by the command in a line; what an earlier run has left stays."""
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    before = contents(run)
    (tmp_path / "cut.srf").write_text(
        "2.0\nPLANE 1\n10.2 45.1 2 1 2.0 1.0\n0 90 0 0 0\nPOINTS 2\n10.19 45.1 2.0 0 90 1e10 0.0 0.1\n"
    )
    config = write_config(
        tmp_path,
        (
            '[[site]]\nname = "A"',
            '[[model]]\nkind = "srf"\nfile = "cut.srf"\nannual_rate = 0.01\n\n[[site]]\nname = "A"',
        ),
    )
    done = craton("run", config, "--directory", "run", "--resume", cwd=tmp_path)
    assert_refused(done, "cut.srf")
    assert contents(run) == before and (run / "report.html").is_file()


def assert_refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """One line, exit code 2."""
    lines = done.stderr.splitlines()
    assert done.returncode == 2 and len(lines) == 1, (done.returncode, done.stderr)
    assert lines[0].startswith("craton: error: ")
    for word in words:
        assert word in lines[0], lines[0]


@pytest.mark.parametrize("what", ["another site", "another time step"])
def test_tensors_that_do_not_belong_there(finished, tmp_path, what):
    """The site that they are of fails, in a line; the other one's results are made and kept."""
    run = tmp_path / "run"
    shutil.copytree(finished, run)
    for path in [*run.glob("sites/*/*.h5"), run / "hazard.h5"]:
        if path.parent.name != "B" or path.name == "site.h5":
            path.unlink()
    own = run / "sites" / "A" / "y" / "sgt.h5"
    if what == "another site":
        shutil.copy(run / "sites" / "B" / "y" / "sgt.h5", own)
    else:
        with h5py.File(own, "r+") as file:
            file["sgt"].attrs["dt_s"] *= 1.5
    config = write_config(tmp_path)
    done = craton("run", config, "--directory", "run", "--resume", cwd=tmp_path)
    assert_refused(done, "A: measures ", "SGT file of another site or time step", "sites/A/", "--resume")
    assert not (run / "sites/A/site.h5").exists()
    with h5py.File(run / "hazard.h5") as file:
        assert [name.decode() for name in file["sites/name"]] == ["B"]
    page = (run / "report.html").read_text()
    assert "Not finished: A." in page and 'id="seismogram-B"' in page
    # with the right file again, what is missing is done
    shutil.copy(finished / "sites/A/y/sgt.h5", own)
    done = craton("run", config, "--directory", "run", "--resume", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    same_results(finished, run)


def test_results_are_kept_unless_told_otherwise(finished, tmp_path):
    config = write_config(tmp_path)
    assert_refused(
        craton("run", config, "--directory", finished, cwd=tmp_path), "is there already", "--resume", "--overwrite"
    )
    other = write_config(tmp_path, ("slips = 2", "slips = 3"))
    assert_refused(
        craton("run", other, "--directory", finished, "--resume", cwd=tmp_path),
        "not the configuration of this run",
        "slips = 2",
    )


def test_questions_are_answered_from_the_folder(finished, tmp_path):
    done = craton(
        "curve", finished, "--site", "B", "--measure", "SA(5.0)", "--output", tmp_path / "b.csv", cwd=tmp_path
    )
    assert done.returncode == 0 and "SA(5.0) at B, 50 years" in done.stdout
    assert len((tmp_path / "b.csv").read_text().splitlines()) == 9
    done = craton("map", finished, "--probability", "0.2", "--output", tmp_path / "map.png", cwd=tmp_path)
    assert done.returncode == 0 and (tmp_path / "map.png").stat().st_size > 1000
    done = craton("disagg", finished, "--site", "A", "--level", "0.0003", "--output", tmp_path / "d.csv", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    rows = [line.split(",") for line in (tmp_path / "d.csv").read_text().splitlines()[1:]]
    assert sum(float(row[-1]) for row in rows) == pytest.approx(100.0)
    for arguments, words in (
        (("curve", finished, "--site", "C"), ("site C", "A, B")),
        (("curve", finished, "--measure", "PGA"), ("measure PGA", "SA(3.0)")),
        (("map", finished, "--probability", "1.5"), ("--probability 1.5",)),
        (("disagg", finished, "--level", "50"), ("no rupture exceeds 50",)),
        (("curve", tmp_path), ("config.toml", "craton hazard run")),
    ):
        assert_refused(craton(*arguments, cwd=tmp_path), *words)


def test_the_template_is_a_configuration(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(template())
    assert Plan.of(load_config(path)).points_m.shape[1] == 3


def test_check_says_what_a_run_needs(tmp_path):
    done = craton("check", write_config(tmp_path), "--json", cwd=tmp_path)
    found = json.loads(done.stdout)
    assert (
        found["ruptures"] == "2 of 2 sources, 8 variations"
        and "MiB" in found["memory"]
        and "s on 2 cores" in found["time"]
    )
    assert not (tmp_path / "small-run").exists()


EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "hazard" / "basin.toml"


def test_the_example_is_what_its_page_says():
    plan = Plan.of(load_config(EXAMPLE))
    assert len(plan.position_m) == 3 and len(set(plan.forecast.sources)) == 2
    assert (len(plan.forecast.ruptures), sum(plan.counts)) == (46, 3200)


@pytest.mark.long
def test_the_example_runs(tmp_path):
    done = subprocess.run(
        command("run", EXAMPLE, "--directory", "run"),
        env=environment_without_mpi(),
        cwd=tmp_path,
        timeout=1200,
        check=False,
    )
    assert done.returncode == 0
    with h5py.File(tmp_path / "run" / "hazard.h5") as file:
        probability = file["curves/SA(5.0)/probability"][()]
    assert (
        probability.shape == (3, 51) and np.all(np.diff(probability, axis=1) <= 0) and np.all(probability[:, 20] > 0.01)
    )
