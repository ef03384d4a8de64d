"""The runtime under random schedules of ranks and threads: programs/random_schedules.py.

What is drawn is the same every time, but in the long test, which prints its seed.
"""

import random
import sys
from pathlib import Path

import pytest
from craton._launch import run_under_mpi

PROGRAM = Path(__file__).resolve().parents[1] / "programs" / "random_schedules.py"


def schedules_hold(capfd, ranks, *arguments):
    code = run_under_mpi([str(PROGRAM), *arguments], ranks, program=[sys.executable])
    out, err = capfd.readouterr()
    assert code == 0, err
    assert f"schedules on {ranks} ranks: each sum as NumPy's" in out


@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_sums_do_not_depend_on_the_schedule(ranks, capfd):
    schedules_hold(capfd, ranks, "40")


@pytest.mark.long
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_many_schedules(ranks, capfd):
    seed = random.randrange(2**31)
    print(f"seed {seed}")
    schedules_hold(capfd, ranks, "1000", str(seed))
