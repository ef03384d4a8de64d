"""Runs that meet a fault after their first save, and go on: a few of those of `make faults`, and what it makes of wrong ones."""

from __future__ import annotations

import itertools
import subprocess
import sys
from pathlib import Path

import faults
import h5py
import numpy as np
import pytest
import saving_runs
from helpers import environment_without_mpi

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

TOOL = Path(__file__).resolve().parents[3] / "tools" / "faults"
PHASES = {name: case.phases for name, case in saving_runs.CASES.items()}


def done(*words: object, program: Path = TOOL) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(program), *map(str, words)]
    return subprocess.run(
        command, env=environment_without_mpi(), capture_output=True, text=True, timeout=600, check=False
    )


FEW = {
    "tasks": ("SIGTERM", "deleted"),
    "checkpoint": ("SIGKILL", "full disk"),
    "scf": ("read-only",),
}


@pytest.mark.parametrize(("case", "kind"), [(case, kind) for case, kinds in FEW.items() for kind in kinds])
def test_a_disturbed_run_ends_as_if_nothing_had_happened(case, kind):
    told = done("--cases", case, "--faults", kind, "--count", 1)
    assert told.returncode == 0, told.stdout + told.stderr
    assert told.stdout.splitlines()[-1].startswith("1 faults (seed 0): 1 "), told.stdout


@pytest.mark.long
def test_forty_faults():
    told = done("--count", 40, "--seed", 7)
    assert told.returncode == 0, told.stdout + told.stderr


def test_the_plan_is_the_seeds():
    first, again, other = (list(itertools.islice(faults.plan(seed, PHASES), 300)) for seed in (3, 3, 4))
    assert first == again != other
    assert [fault.number for fault in first] == list(range(300))
    pairs = {(fault.case, fault.phase, fault.kind) for fault in first}
    assert pairs == {(case, phase, kind) for case, its in PHASES.items() for phase in its for kind in faults.KINDS}


WRONG = """
import sys
from pathlib import Path
sys.path.insert(0, {support!r})
import fault_campaign
import faults
import saving_runs

PROGRAM = '''
import sys, time
from pathlib import Path
folder = Path(sys.argv[1])
folder.mkdir(exist_ok=True)
again = (folder / "state").exists()
(folder / "state").write_text("saved")
if again:
    (folder / "result").write_text({value!r})
    {more}
else:
    time.sleep(1.0)
    (folder / "result").write_text("right")
'''
words = lambda place: [sys.executable, "-c", PROGRAM, str(place.folder)]
saving_runs.CASES["toy"] = saving_runs.Case(
    lambda place: None, words, words, lambda folder: (folder / "state").exists(), lambda folder: (folder / "result").exists()
)
[end] = fault_campaign.ends_of([faults.Fault(0, "toy", "", "SIGKILL", "command", "", 0.5, 0.0)], mounts=False)
print(end.end, end.lines)
"""


@pytest.mark.parametrize(
    ("value", "more", "found"),
    [
        ("right", "", "resumed []"),
        ("other", "", "wrong ['resumed: result differs']"),
        ("right", "Path(__import__('tempfile').gettempdir(), 'mine').touch()", "left of the resumed run: tmp/mine"),
        ("right", "__import__('subprocess').Popen(['sleep', '30'])", "left of the resumed run: process sleep 30"),
        ("right", "sys.exit('no')", "resumed, it ended with 1: ['no']"),
    ],
    ids=["right", "another result", "a file", "a process", "a failure"],
)
def test_what_is_wrong_is_told(tmp_path, value, more, found):
    support = str(Path(saving_runs.__file__).parent)
    (tmp_path / "toy.py").write_text(WRONG.format(support=support, value=value, more=more))
    told = done(program=tmp_path / "toy.py")
    assert found in told.stdout, told.stdout + told.stderr


def test_files_are_compared(tmp_path):
    """Bit by bit, or within what a kind of run promises."""
    case = saving_runs.CASES["tomography, sums as they come"]
    for name, change in (("a", 0.0), ("b", 1e-9), ("c", 1e-6)):
        (tmp_path / name).mkdir()
        with h5py.File(tmp_path / name / "model.h5", "w") as file:
            file["models"] = np.array([1.0, 2.0 + change])
            file.attrs["assemble_s"] = len(name) + change
    a, b, c = (tmp_path / name for name in "abc")
    assert list(saving_runs.differences(case, b, a)) == []
    assert list(saving_runs.differences(case, c, a)) == [
        "model.h5: models differs by 5e-07 of its largest; allowed: 1e-07"
    ]
    strict = saving_runs.CASES["tomography"]
    [line] = saving_runs.differences(strict, b, a)
    assert line == "model.h5: models differs by 5e-10 of its largest; allowed: 0"
    (b / "step.h5").touch()
    assert "step.h5 is there" in list(saving_runs.differences(strict, b, a))
