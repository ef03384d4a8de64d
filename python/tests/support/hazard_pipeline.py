"""A small hazard run: two sites, two faults, a grid of 1 km; by the command, or in this process."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import command_line
import h5py
from craton.hazard.config import load_config
from craton.hazard.folder import HazardFolder, HazardRecord
from craton.hazard.pipeline.beside_models import models_beside, write_beside
from craton.hazard.pipeline.inputs import write_inputs
from craton.hazard.pipeline.post_processing import finish_site, measure_portion
from craton.hazard.pipeline.wave_runs import waves_of
from craton.hazard.pipeline.work import Work
from craton.hazard.report.page import write_results
from craton.hazard.results import Results, read_results
from craton.runs.record import facts_of
from craton.seismology.wave_run.config import load_config as load_waves_config
from craton.waves import start as waves
from helpers import environment_without_mpi
from mpi4py import MPI


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "craton.commands.main", "hazard", *map(str, arguments)]


def craton(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """A time-out is a failure: bad input must not hang."""
    return command_line.craton("hazard", *arguments, cwd=cwd, seconds=900)


def run_here(config: Path, directory: Path) -> Results:
    """What `craton hazard run` does, without processes of its own: seconds instead of tens of them."""
    settings = load_config(config, directory=directory)
    work, folder = Work.of(settings), HazardFolder(directory)
    steps, beside = waves_of(work).steps, models_beside(work)
    folder.make()
    write_inputs(work, folder)
    for number, site in enumerate(settings.all_sites):
        for direction in settings.green.directions:
            made = load_waves_config(folder.site(site.name) / f"{direction}.toml")
            waves.run(made, MPI.COMM_SELF, report=False)
        for portion in range(len(work.portions)):
            measure_portion(work, folder, number, portion)
        finish_site(work, folder, number)
    record = HazardRecord(
        **facts_of("hazard", config, settings.to_dict()),
        schedule="sequential",
        cores=1,
        jobs=1,
        seconds={"jobs": 1.0},
        given=1.0,
        computed=1.0,
        resumed=0,
        variations=sum(work.counts),
        ruptures=len(work.counts),
        cells=list(settings.ground.cells),
        steps=steps,
        points=len(work.points_m),
    )
    folder.write_record(record)
    write_beside(work, folder, beside)
    write_results(work, folder, record, beside)
    return read_results(folder, work)


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


def assert_refused(done: subprocess.CompletedProcess[str], *words: str) -> None:
    """One line, exit code 2."""
    lines = done.stderr.splitlines()
    assert done.returncode == 2 and len(lines) == 1, (done.returncode, done.stderr)
    assert lines[0].startswith("craton: error: ")
    for word in words:
        assert word in lines[0], lines[0]


class EndedTooSoon(AssertionError):
    """A run was over before anybody saw that it had come so far."""


def kill_when(arguments: list[str], cwd: Path, reached) -> None:
    """Starts a run, and ends it by kill -9 once it has come so far; then nothing of it runs any more.

    EndedTooSoon: on a busy machine a short run may end between two looks.
    """
    jobs = []
    run = subprocess.Popen(
        arguments, env=environment_without_mpi(), cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        until = time.monotonic() + 600
        while not reached():
            if run.poll() is not None:
                raise EndedTooSoon(run.communicate()[0])
            assert time.monotonic() < until
            time.sleep(0.005)
        jobs = children(run.pid)
    finally:
        run.kill()
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
