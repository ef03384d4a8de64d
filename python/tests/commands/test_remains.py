"""Nothing is left of jobs that were killed, and nothing is said of imports that were interrupted."""

from __future__ import annotations

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from craton import _mpi_folders
from craton.tasks.graph import Task
from craton.tasks.local import LocalBackend
from helpers import environment_without_mpi

HERE = "OMPI_MCA_orte_tmpdir_base", "OMPI_MCA_btl_vader_backing_directory"


@pytest.fixture
def places(tmp_path, monkeypatch):
    """Folders that stand for TMPDIR and /dev/shm."""
    found = tmp_path / "tmp", tmp_path / "shm"
    for place in found:
        place.mkdir()
    monkeypatch.setattr(_mpi_folders.tempfile, "gettempdir", lambda: str(found[0]))
    monkeypatch.setattr(_mpi_folders, "SHARED_MEMORY", found[1])
    for name in HERE:
        monkeypatch.delenv(name, raising=False)
    return found


def test_a_job_has_folders_of_its_own(places):
    with _mpi_folders.own_folders() as settings:
        made = [Path(settings[name]) for name in HERE]
        assert [folder.parent for folder in made] == list(places)
        (made[0] / "ompi.host.0" / "pid.1").mkdir(parents=True)
        (made[1] / "vader_segment.host.0.1").write_bytes(b"x")
    assert not any(list(place.iterdir()) for place in places)


def test_what_the_user_has_set_stays(places, monkeypatch):
    monkeypatch.setenv(HERE[0], "/somewhere")
    with _mpi_folders.own_folders() as settings:
        assert HERE[0] not in settings and HERE[1] in settings


def test_a_place_that_cannot_be_written_to(places):
    places[1].rmdir()
    with _mpi_folders.own_folders() as settings:
        assert HERE[0] in settings and HERE[1] not in settings


def test_a_job_on_other_hosts_too_has_none(places):
    with _mpi_folders.own_folders(elsewhere=True) as settings:
        assert not settings


def test_folders_of_launchers_that_were_killed_go_and_others_stay(places):
    names = [f"{_mpi_folders.PREFIX}{name}" for name in ("a", "b", "c")] + ["craton-mpi-of-another-host-d"]
    abandoned, held, being_made, of_another = (places[0] / name for name in names)
    for folder in (abandoned, held, being_made, of_another):
        folder.mkdir()
        (folder / "pid.1").mkdir()
    for folder in (abandoned, held, of_another):
        (folder / "in-use").touch()
    with (held / "in-use").open() as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with _mpi_folders.own_folders():
            assert not abandoned.exists()
            assert held.exists() and being_made.exists() and of_another.exists()


PROGRAM = """
import sys
from craton._launch import run_under_mpi
sleeps = "from mpi4py import MPI; import time; MPI.COMM_WORLD.Barrier(); print('ready', flush=True); time.sleep(60)"
sys.exit(run_under_mpi([], 2, program=[sys.executable, "-c", sleeps]))
"""


def children(pid: int) -> list[int]:
    """Processes that a process has started."""
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def shared_memory_of(pid: int) -> list[Path]:
    """Folders below /dev/shm of which a process holds the lock."""
    opened = [Path(os.readlink(each)) for each in Path(f"/proc/{pid}/fd").iterdir() if each.exists()]
    return [path.parent for path in opened if path.match("/dev/shm/craton-mpi-*/in-use")]


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_nothing_is_left_of_a_job_whose_mpiexec_was_killed(tmp_path):
    environment = environment_without_mpi(TMPDIR=str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as job:
        assert job.stdout is not None
        said = ""
        while said.count("ready") < 2:  # mpiexec may tear what two ranks say at once
            line = job.stdout.readline()
            assert line
            said += line
        assert list(tmp_path.glob("craton-mpi-*/ompi.*"))
        (shared,) = shared_memory_of(job.pid)
        (mpiexec,) = children(job.pid)
        ranks = children(mpiexec)
        assert len(ranks) == 2
        for process in (mpiexec, *ranks):
            os.kill(process, signal.SIGKILL)
        _, said = job.communicate(timeout=60)
    assert job.returncode != 0
    assert "Traceback" not in said
    deadline = time.monotonic() + 10
    while list(tmp_path.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not list(tmp_path.iterdir())
    assert not shared.exists()


ALONE = """
import sys, time
from craton.cli.launching import communicator
communicator()
print("ready", flush=True)
time.sleep(float(sys.argv[1]))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_the_next_command_removes_what_one_rank_left_that_was_killed(tmp_path):
    environment = environment_without_mpi(TMPDIR=str(tmp_path))
    with subprocess.Popen(
        [sys.executable, "-c", ALONE, "60"], env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as job:
        assert job.stdout is not None
        assert job.stdout.readline() == "ready\n"
        assert [path.name.startswith(_mpi_folders.PREFIX) for path in tmp_path.iterdir()] == [True]
        (shared,) = shared_memory_of(job.pid)
        assert not children(job.pid)  # no daemon of Open MPI's
        job.kill()
        job.communicate(timeout=60)
    assert list(tmp_path.iterdir())
    done = subprocess.run(
        [sys.executable, "-c", ALONE, "0"], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "ready\n", "")
    assert not list(tmp_path.iterdir())
    assert not shared.exists()


@pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")
def test_a_task_that_is_killed_leaves_none(places, tmp_path):
    backend = LocalBackend(environment_without_mpi(TMPDIR=str(places[0])))
    log = tmp_path / "log"
    backend.begin(Task("a", tmp_path / "done", lambda: [sys.executable, "-c", ALONE, "60"], log), [0])
    until = time.monotonic() + 60
    while "ready" not in log.read_text() and time.monotonic() < until:
        time.sleep(0.05)
    assert list(places[0].iterdir())
    (pid,) = backend._pids()
    os.kill(pid, signal.SIGTERM)
    (ended,) = backend.ended(60)
    assert ended.code == -signal.SIGTERM
    assert not list(places[0].iterdir())


def test_what_is_still_being_written_into_goes_too(places):
    ends = time.monotonic() + 0.5

    def write(folder: Path) -> None:
        number = 0
        while time.monotonic() < ends:
            number += 1
            with contextlib.suppress(OSError):
                folder.mkdir(exist_ok=True)
                (folder / f"pid.{number}").mkdir()

    with _mpi_folders.own_folders() as settings:
        folder = Path(settings[HERE[0]]) / "ompi.host.0"
        writer = threading.Thread(target=write, args=(folder,))
        writer.start()
        while not folder.exists():
            time.sleep(0.001)
    writer.join()
    assert not list(places[0].iterdir())


def test_a_folder_whose_lock_has_gone_already_goes_too(tmp_path):
    """A rank wrote into it after the lock had gone and before the folder had: it stayed for ever."""
    folder = tmp_path / "job"
    (folder / "ompi.host.0").mkdir(parents=True)
    _mpi_folders._remove(folder)
    assert not folder.exists()


INTERRUPTED = """
import os, signal, sys

class Interrupts:
    def find_spec(self, name, path=None, target=None):
        if name == "craton":
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupts())
import craton_command
craton_command.main()
"""


def test_an_interrupted_import_says_nothing():
    done = subprocess.run([sys.executable, "-c", INTERRUPTED], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == -signal.SIGINT
    assert done.stdout == done.stderr == ""


def test_the_module_is_the_command():
    done = subprocess.run(
        [sys.executable, "-m", "craton_command", "--version"], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0 and done.stdout.startswith("craton ") and not done.stderr
