"""Who draws a run's report: the process that started several ranks, after they have ended, or a single rank."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from craton._launch import mpiexec_command
from craton.cli.launching import NOT_CONVERGED, RunReport
from helpers import OF_OPEN_MPI, command_of, environment_without_mpi
from rich.console import Console


def run(directory: Path, *words: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [*before, *command_of("multigrid", "run", "--directory", directory, *words)]
    environment = environment_without_mpi(**OF_OPEN_MPI)
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300, env=environment)


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    """A configuration that takes a second."""
    file = tmp_path / "problem.toml"
    file.write_text(
        subprocess.run(command_of("multigrid", "template"), capture_output=True, text=True, check=True).stdout
    )
    return file


def test_the_starter_of_the_ranks_draws_after_them(problem: Path, tmp_path: Path) -> None:
    done = run(tmp_path / "run", str(problem), "--ranks", "2")
    assert done.returncode == 0, done.stderr
    report = tmp_path / "run" / "report.html"
    assert done.stdout.splitlines()[-1] == f"report: {report}"
    assert report.is_file()


def test_with_json_the_line_is_on_standard_error(problem: Path, tmp_path: Path) -> None:
    done = run(tmp_path / "run", str(problem), "--ranks", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["finished"]
    assert f"report: {tmp_path / 'run' / 'report.html'}" in done.stderr


def test_without_a_report_none_is_drawn(problem: Path, tmp_path: Path) -> None:
    done = run(tmp_path / "run", str(problem), "--ranks", "2", "--no-report")
    assert done.returncode == 0, done.stderr
    assert "report: " not in done.stdout
    assert not (tmp_path / "run" / "report.html").exists()


def test_a_run_that_has_not_converged_has_a_report(problem: Path, tmp_path: Path) -> None:
    problem.write_text(re.sub("(?m)^cycles = .*$", "cycles = 1", problem.read_text()))
    done = run(tmp_path / "run", "--ranks", "2", "--tolerance", "1e-13", "--", str(problem))
    assert done.returncode == NOT_CONVERGED, done.stderr
    assert f"report: {tmp_path / 'run' / 'report.html'}" in done.stdout
    command = json.loads((tmp_path / "run" / "record.json").read_text())["command"]
    assert "no-report" not in command  # how to get it again


def test_ranks_that_mpirun_started_say_how_it_is_drawn(problem: Path, tmp_path: Path) -> None:
    done = run(tmp_path / "run", str(problem), before=(*mpiexec_command(), "--oversubscribe", "-n", "2"))
    assert done.returncode == 0, done.stderr
    words = done.stdout.split()
    assert " ".join(words).startswith("Several ranks draw no report. To draw it: craton multigrid report")
    assert not (tmp_path / "run" / "report.html").exists()


def test_one_rank_draws_itself(problem: Path, tmp_path: Path) -> None:
    done = run(tmp_path / "run", str(problem))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "report.html").is_file()


def test_nothing_is_drawn_of_a_run_that_awaits_something(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = RunReport("multigrid", "no.such.module", wanted=True, as_json=False)
    report.draw_after(tmp_path, 0)  # no record.json
    (tmp_path / "record.json").write_text("{}")
    (tmp_path / "progress.json").write_text("{}")
    report.draw_after(tmp_path, 0)
    assert capsys.readouterr() == ("", "")


def test_a_drawing_that_fails_is_told_in_a_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "record.json").write_text("{}")
    RunReport("multigrid", "no.such.module", wanted=True, as_json=False).draw_after(tmp_path, 0)
    told = capsys.readouterr().err
    assert told.startswith("craton: the run has ended, but its report was not drawn: No module named")
    assert told.endswith(f"to draw it: craton multigrid report {tmp_path}\n")


def test_by_ranks(tmp_path: Path) -> None:
    report = RunReport("waves", "craton.waves.report", wanted=True, as_json=False)
    console = Console(record=True, width=200)
    one: Any = SimpleNamespace(size=1)
    several: Any = SimpleNamespace(size=3)
    assert report.by_ranks(one, tmp_path, console)
    assert not report.by_ranks(several, tmp_path, console)
    assert console.export_text() == f"Several ranks draw no report. To draw it: craton waves report {tmp_path}\n"
