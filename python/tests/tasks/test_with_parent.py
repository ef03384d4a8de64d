"""Programs that end with their parent."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest
from craton import _with_parent

AS_A_PROGRAM = [sys.executable, "-P", "-s", "-S", _with_parent.__file__]


def run(parent: int, *command: str, given: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*AS_A_PROGRAM, str(parent), *command], input=given, capture_output=True, text=True, timeout=60, check=False
    )


def test_the_command_has_its_arguments_and_its_input():
    done = run(os.getpid(), "sh", "-c", 'cat; echo "$1"; exit 3', "sh", "two words", given="from outside\n")
    assert (done.returncode, done.stdout, done.stderr) == (3, "from outside\ntwo words\n", "")


def test_a_command_that_does_not_exist_is_one_line():
    done = run(os.getpid(), "/no/such/program")
    assert (done.returncode, done.stderr) == (127, "/no/such/program: does not start: No such file or directory\n")


@pytest.mark.skipif(sys.platform != "linux", reason="Linux alone ends children so")
def test_it_ends_with_its_parent_and_does_not_begin_without_it():
    assert run(os.getppid(), "echo", "begun").stdout == ""
    parent = subprocess.Popen(
        [sys.executable, "-c", f"""
import os, subprocess, time
child = subprocess.Popen([*{AS_A_PROGRAM!r}, str(os.getpid()), "sh", "-c", "echo $$; exec sleep 600"])
time.sleep(600)
"""],
        stdout=subprocess.PIPE,
        text=True,
    )  # fmt: skip
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    until = time.monotonic() + 30
    while _runs(child) and time.monotonic() < until:
        time.sleep(0.01)
    assert not _runs(child)


def _runs(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False
