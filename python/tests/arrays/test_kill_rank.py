"""kill -9 of one rank of four in the middle of assembly: the job ends at once, names the rank, and keeps its files."""

from __future__ import annotations

import os
import queue
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import h5py
from helpers import environment_without_mpi

EXAMPLE = Path(__file__).parents[3] / "examples" / "global"

# enough paths for half a minute of assembly on two cores; the killing takes place in its first seconds
SLOW = """
[run]
directory = "{folder}/slow-run"
[modes]
shortest_period_s = 100.0
cache = "{folder}/cache"
[basis]
lateral_level = 3
radial = 10
[events]
file = "{example}/earthquakes.csv"
[stations]
file = "{example}/stations.csv"
[paths]
maximum = 4000
[data]
filter_periods_s = [400.0, 250.0, 125.0, 100.0]
[target]
[inversion]
max_iterations = 1
[assembly]
subset = 2
"""


def test_a_rank_killed_in_the_middle_of_assembly(rank_processes, tmp_path: Path) -> None:
    (tmp_path / "slow.toml").write_text(SLOW.format(folder=tmp_path, example=EXAMPLE))
    job = subprocess.Popen(
        [sys.executable, "-m", "craton.commands.main", "tomography", "run", "slow.toml", "--ranks", "4", "--no-report"],
        cwd=tmp_path,
        env=environment_without_mpi(PYTHONUNBUFFERED="1"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        lines = collected(job)
        wait_for(lines, "assembling", 90)
        victim = rank_processes(job.pid)[2]
        os.kill(victim, signal.SIGKILL)
        start = time.monotonic()
        job.wait(timeout=10)
        assert time.monotonic() - start < 10
    finally:
        job.terminate()
        job.wait()
    assert job.stderr is not None
    err = job.stderr.read()
    assert job.returncode == 1, err
    [line] = [line for line in err.splitlines() if line.startswith("craton: error:")]
    for words in ("rank 2 (", f"process {victim}", "signal 9 (Killed)", "intact", str(tmp_path / "slow-run")):
        assert words in line
    assert "Traceback" not in err
    with h5py.File(tmp_path / "slow-run" / "data.h5") as file:
        assert len(file) > 0
    assert not (tmp_path / "slow-run" / "hessian.h5").exists()


def collected(job: subprocess.Popen[str]) -> queue.Queue[str]:
    """Lines of standard output as they come."""
    lines: queue.Queue[str] = queue.Queue()

    def read() -> None:
        assert job.stdout is not None
        for line in job.stdout:
            lines.put(line)
        lines.put("")

    threading.Thread(target=read, daemon=True).start()
    return lines


def wait_for(lines: queue.Queue[str], words: str, seconds: float) -> None:
    deadline = time.monotonic() + seconds
    while True:
        line = lines.get(timeout=max(0.1, deadline - time.monotonic()))
        assert line, f"the job ended before it printed '{words}'"
        if words in line:
            return
