"""Wave runs of one rank in processes that are forked: the bits of `craton waves run`, and what they leave and say."""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

import command_line
import h5py
import numpy as np
import pytest
from craton.hazard.config import load_config
from craton.hazard.folder import HazardFolder
from craton.hazard.pipeline.graph import tasks_of
from craton.hazard.pipeline.inputs import write_inputs
from craton.hazard.pipeline.work import Work
from craton.runs import probe
from craton.seismology.wave_run.folder import WavesFolder
from craton.tasks.forked import JobServer
from hazard_config import write_config
from helpers import environment_without_mpi


@pytest.fixture
def work(tmp_path):
    found = Work.of(load_config(write_config(tmp_path), directory=tmp_path / "run"))
    folder = HazardFolder(tmp_path / "run")
    folder.make()
    write_inputs(found, folder)
    return found, folder


def ended(server, within_s=120.0):
    until = time.monotonic() + within_s
    while not (found := server.ended()) and time.monotonic() < until:
        time.sleep(0.02)
    return found[0]


def test_a_forked_run_has_the_bits_of_the_command(work, tmp_path):
    work, folder = work
    first = next(task for task in tasks_of(work, folder) if task.kind == "waves")
    assert first.module == "craton.waves.forked_run" and first.words()[0] == "run"
    temporary = Path(tempfile.mkdtemp())  # a short name, as sockets want; nobody else's folders are in it
    server = JobServer(first.module, environment_without_mpi(TMPDIR=str(temporary)))
    try:
        server.begin(first.name, first.words(), first.log)
        assert ended(server).code == 0, first.log.read_text()
        assert first.result.is_file() and "Waves: 100%" in first.log.read_text()
        assert not list(temporary.glob("craton-mpi-*")), "folders of MPI"
        own = WavesFolder(first.result.parent)
        assert own.read_record().command.startswith("craton waves run") and own.read_record().finished
        done = command_line.craton(
            "waves", "run", first.words()[1], "--no-report", "--directory", tmp_path / "w", cwd=tmp_path
        )
        assert done.returncode == 0, done.stderr
        with h5py.File(own.path / "sgt.h5") as one, h5py.File(tmp_path / "w" / "sgt.h5") as other:
            assert one["sgt"].size > 1000 and np.array_equal(one["sgt"][()], other["sgt"][()])
        # what cannot be computed is told in a line
        config = Path(first.words()[1])
        config.write_text(
            config.read_text()
            .replace("duration_s = 20.0", "duration_s = 20.0\ndt_s = 0.5", 1)
            .replace("dt_s = 0.0\n", "")
        )
        server.begin("wrong", first.words(), tmp_path / "wrong.log")
        assert ended(server).code == 2
        (line,) = (tmp_path / "wrong.log").read_text().splitlines()
        assert line.startswith("craton: error: ") and "[time] dt_s = 0.5: unstable" in line
    finally:
        server.close()
        shutil.rmtree(temporary, ignore_errors=True)


def test_several_ranks_are_started_by_the_command(work):
    work, folder = work
    several = Work.of(work.config.replaced("run", ranks=2))
    first = next(task for task in tasks_of(several, folder) if task.kind == "waves")
    assert first.module == "" and first.words()[-2:] == ["--ranks", "2"] and "run" in first.words()


def test_a_file_is_not_read_again_by_processes_that_follow(tmp_path, monkeypatch):
    """The file of the ground, by hundreds of wave runs: the first process tells the others. A changed file is read again."""
    path, calls = tmp_path / "ground.h5", []
    with h5py.File(path, "w") as file:
        file["vs"] = np.ones(3)
    monkeypatch.delenv(probe.READ, raising=False)
    monkeypatch.setattr(probe, "_survives", lambda *facts: calls.append(facts[0]))
    probe.survives(path)
    probe.survives(path)
    assert calls == [str(path)] and len(os.environ[probe.READ].split()) == 1
    shutil.copy(path, tmp_path / "other.h5")
    probe.survives(tmp_path / "other.h5")
    os.utime(path, ns=(1, 1))
    probe.survives(path)
    assert [Path(name).name for name in calls] == ["ground.h5", "other.h5", "ground.h5"]
