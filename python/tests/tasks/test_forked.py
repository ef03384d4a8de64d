"""Jobs forked from a process that has imported their module before."""

from __future__ import annotations

import os
import signal
import tempfile
import time

import pytest
from craton.tasks import Ended, Task, run_tasks
from craton.tasks.forked import JobServer

MODULE = """
import os, sys, time
from craton.errors import UserError
imported = os.getpid()
def main(words):
    what, path = words
    print("says", what, flush=True)
    if what == "wrong":
        raise UserError(f"{path}: a line; allowed: another")
    if what == "killed in MPI":
        from craton._mpi_folders import own_folders
        with own_folders():
            os.kill(os.getpid(), 9)
    if what == "crash":
        os.abort()
    if what == "sleep":
        time.sleep(60)
    if what == "exit":
        sys.exit(int(os.path.basename(path)))
    if what == "same":
        with open(path, "a") as file:
            file.write(f"{os.getpid()}\\n")
        return
    assert imported == os.getppid() != os.getpid()
    assert sys.stdin.read() == ""
    open(path, "w").close()
"""


@pytest.fixture
def environment(tmp_path, monkeypatch):
    (tmp_path / "served_work.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=os.pathsep)
    return dict(os.environ)


def ended(server, within_s=20.0):
    until = time.monotonic() + within_s
    while not (found := server.ended()) and time.monotonic() < until:
        time.sleep(0.01)
    return found


def task(folder, what, name, **more):
    return Task(
        name=name,
        result=folder / name,
        command=lambda: [what, str(folder / name)],
        log=folder / f"{name}.log",
        module="served_work",
        **more,
    )


@pytest.mark.parametrize("shares", [False, True])
def test_the_scheduler_serves_a_module(tmp_path, environment, shares):
    whats = {"wrong": "wrong", "crash": "crash"} | {f"t{n}": "work" for n in range(6)}
    tasks = [task(tmp_path, what, name, shares_process=shares) for name, what in whats.items()]
    found = run_tasks(tasks, cores=2, jobs=4)
    assert len(found.records) == 8 and all((tmp_path / f"t{n}").is_file() for n in range(6))
    assert {one.name: one.code for one in found.records} == dict.fromkeys((f"t{n}" for n in range(6)), 0) | {
        "wrong": 2,
        "crash": -signal.SIGABRT,
    }
    assert shares or all(one.cpu_s > 0 for one in found.records)
    said = dict(line.split(": ", 1) for line in found.failures)
    assert said["wrong"] == f"{tmp_path / 'wrong'}: a line; allowed: another"
    assert said["crash"].startswith("ended by SIGABRT")
    assert (tmp_path / "t0.log").read_text() == "says work\n"


def test_jobs_that_share_their_process(tmp_path, environment, monkeypatch):
    """One after the other in the same one, until it has done enough of them."""
    server = JobServer("served_work", environment)
    for n in range(1003):
        server.begin(f"{n}", ["same", str(tmp_path / "pids")], tmp_path / "log", shares_process=True)
        assert ended(server) == [Ended(f"{n}", 0, cpu_s=pytest.approx(0, abs=1))]
    server.begin("exits", ["exit", str(tmp_path / "7")], tmp_path / "log", shares_process=True)
    assert ended(server)[0].code == 7
    server.begin("last", ["same", str(tmp_path / "pids")], tmp_path / "log", shares_process=True)
    assert ended(server)[0].code == 0
    pids = (tmp_path / "pids").read_text().split()
    assert pids == [pids[0]] * 1000 + [pids[1000]] * 4 and pids[0] != pids[1000]
    server.close()


@pytest.mark.parametrize("shares", [False, True])
def test_an_interrupt_ends_served_jobs(tmp_path, environment, shares):
    seen = []

    def interrupt(_ended, running):
        if len(running) == 2 and all((tmp_path / f"t{n}.log").is_file() for n in range(2)):
            seen.append(len(running))
            raise KeyboardInterrupt

    before = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        sleepers = [task(tmp_path, "sleep", f"t{n}", shares_process=shares) for n in range(2)]
        run_tasks(sleepers, cores=2, jobs=2, progress=interrupt)
    assert seen == [2] and time.monotonic() - before < 30


def test_jobs_end_with_their_server_and_the_next_has_another(tmp_path, environment):
    server = JobServer("served_work", environment)
    server.begin("sleeper", ["sleep", ""], tmp_path / "log")
    until = time.monotonic() + 20
    while not server.pids and time.monotonic() < until:
        assert server.ended() == []
        time.sleep(0.01)
    (job,) = server.pids
    os.kill(os.getpgid(server._process.pid), signal.SIGKILL)
    why = f"served_work: its server ended with code {-signal.SIGKILL}"
    assert ended(server) == [Ended("sleeper", -signal.SIGTERM, why=why)]
    until = time.monotonic() + 10
    while time.monotonic() < until:
        try:
            os.kill(job, 0)
        except ProcessLookupError:
            break
        time.sleep(0.02)
    else:
        pytest.fail("the job is still there")
    server.begin("next", ["work", str(tmp_path / "done")], tmp_path / "log")
    (again,) = ended(server)
    assert again.name == "next" and again.code == 0 and again.cpu_s > 0 and (tmp_path / "done").is_file()
    server.close()


def test_an_interrupted_server_says_nothing(tmp_path, environment, capfd):
    """Its jobs end with it, and who has asked for them tells."""
    server = JobServer("served_work", environment)
    server.begin("done", ["work", str(tmp_path / "done")], tmp_path / "log")
    assert ended(server)[0].code == 0
    server.begin("sleeper", ["sleep", ""], tmp_path / "log")
    os.kill(server._process.pid, signal.SIGINT)
    (one,) = ended(server)
    assert one.why == f"served_work: its server ended with code {-signal.SIGINT}"
    server.close()
    assert capfd.readouterr().err == ""


def test_an_interrupt_during_the_imports_is_no_traceback(environment, tmp_path, capfd):
    """Each at another moment of the second that they take."""
    for at_s in (0.0, 0.02, 0.06, 0.15):
        server = JobServer("served_work", environment)
        server.start()
        time.sleep(at_s)
        os.kill(server._process.pid, signal.SIGINT)
        server.begin("a", ["work", str(tmp_path / "a")], tmp_path / "a.log")
        (one,) = ended(server)
        server.close()
        assert one.code == 0 and (tmp_path / "a").is_file()
    assert "Traceback" not in capfd.readouterr().err


@pytest.mark.parametrize("shares", [False, True])
def test_an_interrupted_job_says_so(tmp_path, environment, shares):
    server = JobServer("served_work", environment)
    server.begin("sleeper", ["sleep", ""], tmp_path / "log", shares_process=shares)
    log, until = tmp_path / "log", time.monotonic() + 20
    while not (server.pids and log.is_file() and "says" in log.read_text()) and time.monotonic() < until:
        assert server.ended() == []
        time.sleep(0.01)
    os.kill(server.pids[0], signal.SIGINT)
    (one,) = ended(server)
    assert one.code == 130 and log.read_text().endswith("craton: interrupted\n")
    server.close()


def test_a_module_that_cannot_be_imported(tmp_path, environment):
    """Its tasks fail, in a line; others go on."""
    wrong = Task(
        "wrong", result=tmp_path / "x", log=tmp_path / "x.log", command=lambda: ["work", ""], module="served_nothing"
    )
    found = run_tasks([wrong, task(tmp_path, "work", "good")], cores=2, jobs=2)
    assert found.failures == ["wrong: served_nothing: its server ended with code 1"]
    assert (tmp_path / "good").is_file()


@pytest.mark.usefixtures("environment")
def test_a_job_that_is_killed_leaves_no_folders_of_mpi(tmp_path, monkeypatch):
    """No later job may come that would take them away."""
    place = tmp_path / "tmp"
    place.mkdir()
    monkeypatch.setenv("TMPDIR", str(place))
    monkeypatch.setattr(tempfile, "tempdir", None)
    found = run_tasks([task(tmp_path, "killed in MPI", "a")], cores=1, jobs=1)
    assert [one.code for one in found.records] == [-signal.SIGKILL]
    assert list(place.iterdir()) == []
