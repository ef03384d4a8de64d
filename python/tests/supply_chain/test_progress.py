"""tools/progress: how far a command is, where its output goes, what is said when it fails."""

import os
import pty
import signal
import subprocess
import time
from pathlib import Path

import pytest

PROGRESS = Path(__file__).resolve().parents[3] / "tools" / "progress"
STEPS = 'for i in $(seq 1 40); do echo "  [$i/40] compiling file $i"; done'


def run(tmp_path: Path, script: str, *counted: str, code: int = 0) -> list[str]:
    """The lines that are told where nobody looks at a terminal."""
    command = [PROGRESS, "compiling", tmp_path / "folder" / "log", *counted, "--", "bash", "-c", script]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (code, "")
    return done.stderr.splitlines()


def log(tmp_path: Path) -> str:
    return (tmp_path / "folder" / "log").read_text()


def test_each_tenth_of_ninjas_steps_is_told(tmp_path):
    lines = run(tmp_path, STEPS)
    assert [line.split(",")[0] for line in lines[:-1]] == [f"compiling: {n} of 40" for n in range(4, 41, 4)]
    assert lines[-1].startswith("compiling: done in ")
    assert log(tmp_path).splitlines() == [f"  [{n}/40] compiling file {n}" for n in range(1, 41)]


def test_lines_that_fit_a_pattern_are_steps_too(tmp_path):
    lines = run(tmp_path, "for i in 1 2; do echo Collecting $i; echo other; done", "2", "Collecting")
    assert [line.split(",")[0] for line in lines] == ["compiling: 1 of 2", "compiling: 2 of 2", lines[-1]]


def test_of_more_steps_than_were_thought_nothing_is_said(tmp_path):
    lines = run(tmp_path, "for i in 1 2 3 4; do echo Collecting $i; done", "2", "Collecting")
    assert len(lines) == 3 and lines[-1].startswith("compiling: done in ")


@pytest.mark.parametrize("code", [1, 2, 127])
def test_of_a_command_that_fails_the_last_lines_and_the_exit_code_are_kept(tmp_path, code):
    lines = run(tmp_path, f"{STEPS}; echo the reason >&2; exit {code}", code=code)
    assert lines[-2:] == [
        "the reason",
        f"compiling: failed with exit status {code}; all that it said is in {tmp_path / 'folder' / 'log'}",
    ]


def test_a_command_that_speaks_of_an_exit_status_has_its_own(tmp_path):
    assert len(run(tmp_path, "echo exit status 0; echo exit status 9; exit 3", code=3)) == 3


def test_a_command_that_is_not_there(tmp_path):
    command = [PROGRESS, "x", tmp_path / "log", "--", "no-such-command"]
    assert subprocess.run(command, capture_output=True, timeout=60, check=False).returncode == 127


def test_on_a_terminal_one_line_is_written_over(tmp_path):
    ours, theirs = pty.openpty()
    command = [PROGRESS, "compiling", tmp_path / "log", "--", "bash", "-c", STEPS]
    with subprocess.Popen(command, stderr=theirs, stdout=subprocess.DEVNULL) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:  # the other end is closed
                break
            said += part
    os.close(ours)
    assert process.returncode == 0
    assert said.count(b"\n") == 1  # after "done"
    assert said.count(b"\r\033[Kcompiling: ") == 40 + 1 and b"\r\033[Kcompiling: done in " in said


def test_a_last_line_without_an_end_is_no_failure(tmp_path):
    assert len(run(tmp_path, "printf hi")) == 1
    assert log(tmp_path) == "hi\n"


def test_what_it_has_started_ends_with_it(tmp_path):
    script = f"echo $$ >{tmp_path}/id; sleep 60; echo late >{tmp_path}/late"
    process = subprocess.Popen([PROGRESS, "x", tmp_path / "log", "--", "bash", "-c", script], stderr=subprocess.DEVNULL)
    while not (tmp_path / "id").exists() or not (tmp_path / "id").read_text().strip():
        time.sleep(0.05)
    process.terminate()
    assert process.wait(20) != 0
    started = int((tmp_path / "id").read_text())
    for _ in range(100):
        if not Path(f"/proc/{started}").exists():
            return
        time.sleep(0.1)
    os.kill(started, signal.SIGKILL)
    raise AssertionError("the command goes on")
