"""examples/host_programs/assemble.py: a program with mpi4py and threads of its own adopts the matrix in a few lines."""

import sys
from pathlib import Path

import pytest
from craton._launch import run_under_mpi

PROGRAM = Path(__file__).resolve().parents[3] / "examples" / "host_programs" / "assemble.py"
pytestmark = pytest.mark.skipif(not PROGRAM.exists(), reason="the examples are not beside the tests")


@pytest.mark.parametrize("ranks", [1, 2, 3])
@pytest.mark.parametrize("ranks_per_node", [None, 1], ids=["direct", "messages"])
def test_equals_the_serial_solution(ranks, ranks_per_node, capfd):
    assert run_under_mpi([str(PROGRAM)], ranks, ranks_per_node=ranks_per_node, program=[sys.executable]) == 0
    assert f"{ranks} ranks x 3 threads: largest difference from the serial solution" in capfd.readouterr().out


def test_adopts_the_matrix_in_fewer_than_30_lines():
    lines, inside = [], False
    for line in PROGRAM.read_text().splitlines():
        if line.strip() in {"# craton: begin", "# craton: end"}:
            assert inside == line.endswith("end"), "marks must come in pairs"
            inside = line.endswith("begin")
        elif inside:
            lines.append(line)
    assert not inside and 0 < len(lines) < 30
    # nothing of Craton is left outside the marks
    outside = [line for line in PROGRAM.read_text().split('"""', 2)[2].splitlines() if line not in lines]
    assert not [line for line in outside if "craton" in line and "craton: " not in line]
