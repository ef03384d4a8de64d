"""Who draws a run's report: the process that started several ranks, after they have ended, or a single rank."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from craton._launch import mpiexec_command
from craton.cli.launching import RunReport
from rich.console import Console


def multigrid(directory: Path, *words: str, before: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    command = [
        *before,
        sys.executable,
        "-m",
        "craton.commands.main",
        "multigrid",
        *words,
        "--directory",
        str(directory),
    ]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


@pytest.fixture
def problem(tmp_path: Path) -> Path:
    """A configuration that takes a second."""
    printed = subprocess.run(
        [sys.executable, "-m", "craton.commands.main", "multigrid", "template"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    file = tmp_path / "problem.toml"
    file.write_text(printed)
    return file


def test_the_starter_of_the_ranks_draws_after_them(problem: Path, tmp_path: Path) -> None:
    done = multigrid(tmp_path / "run", "run", str(problem), "--ranks", "2")
    assert done.returncode == 0, done.stderr
    report = tmp_path / "run" / "report.html"
    assert done.stdout.splitlines()[-1] == f"report: {report}"
    assert report.is_file()


def test_with_json_the_line_is_on_standard_error(problem: Path, tmp_path: Path) -> None:
    done = multigrid(tmp_path / "run", "run", str(problem), "--ranks", "2", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["finished"]
    assert f"report: {tmp_path / 'run' / 'report.html'}" in done.stderr


def test_without_a_report_none_is_drawn(problem: Path, tmp_path: Path) -> None:
    done = multigrid(tmp_path / "run", "run", str(problem), "--ranks", "2", "--no-report")
    assert done.returncode == 0, done.stderr
    assert "report: " not in done.stdout
    assert not (tmp_path / "run" / "report.html").exists()


def test_ranks_that_mpirun_started_say_how_it_is_drawn(problem: Path, tmp_path: Path) -> None:
    started_by = (*mpiexec_command(), "--oversubscribe", "-n", "2")
    done = multigrid(tmp_path / "run", "run", str(problem), before=started_by)
    assert done.returncode == 0, done.stderr
    assert f"afterwards: craton multigrid report {tmp_path / 'run'}" in done.stdout.replace("\n", "")
    assert not (tmp_path / "run" / "report.html").exists()


def test_one_rank_draws_itself(problem: Path, tmp_path: Path) -> None:
    done = multigrid(tmp_path / "run", "run", str(problem))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "report.html").is_file()


def test_nothing_is_drawn_of_a_run_that_awaits_something(tmp_path: Path) -> None:
    RunReport("multigrid", "no.such.module", wanted=True, as_json=False).draw(tmp_path)  # no record.json
    (tmp_path / "record.json").write_text("{}")
    (tmp_path / "progress.json").write_text("{}")
    RunReport("multigrid", "no.such.module", wanted=True, as_json=False).draw(tmp_path)


def test_by_ranks(tmp_path: Path) -> None:
    report = RunReport("waves", "craton.waves.report", wanted=True, as_json=False)
    console = Console(record=True, width=200)
    one: Any = SimpleNamespace(size=1)
    several: Any = SimpleNamespace(size=3)
    assert report.by_ranks(one, tmp_path, console)
    assert not report.by_ranks(several, tmp_path, console)
    assert console.export_text() == (
        f"no report is drawn while 3 ranks wait; afterwards: craton waves report {tmp_path}\n"
    )
