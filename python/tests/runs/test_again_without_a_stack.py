"""tests/again_without_a_stack: which failures under the thread sanitizer are no verdict, and run once more."""

import subprocess
from pathlib import Path

import pytest

SCRIPT = Path(__file__).resolve().parents[3] / "tests" / "again_without_a_stack"
pytestmark = pytest.mark.skipif(not SCRIPT.exists(), reason="the C++ tests are not beside these")
LOST = [
    "WARNING: ThreadSanitizer: data race",
    "    [failed to restore the stack]",
    "SUMMARY: ThreadSanitizer: data race",
]
WHOLE = ["WARNING: ThreadSanitizer: data race", "    #0 f", "SUMMARY: ThreadSanitizer: data race"]


@pytest.mark.parametrize(
    ("first", "code", "expected", "runs"),
    [
        ([], 0, 0, 1),
        (LOST, 66, 0, 2),
        (WHOLE, 66, 66, 1),
        ([*LOST, *WHOLE], 66, 66, 1),
        ([*LOST, "[  FAILED  ] a_test"], 66, 66, 1),
        (["[  FAILED  ] a_test"], 1, 1, 1),
        (["Segmentation fault"], 139, 139, 1),
    ],
)
def test_what_is_run_again(first, code, expected, runs, tmp_path):
    """A program that prints this and ends so when it is run first; then it is well."""
    (tmp_path / "said").write_text("".join(f"{line}\n" for line in first))
    program = (
        f'echo >>"{tmp_path}/runs"; [ $(wc -l <"{tmp_path}/runs") = 1 ] || exit 0; cat "{tmp_path}/said"; exit {code}'
    )
    done = subprocess.run([SCRIPT, "bash", "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == expected, done.stdout
    assert len((tmp_path / "runs").read_text().splitlines()) == runs
    assert all(line in done.stdout for line in first)
