"""Programs whose results must not depend on the number of ranks."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from craton._launch import run_under_mpi


def assert_ranks_do_not_show(program: str, folder: Path, capfd: Any, rel: float = 1e-9) -> None:
    """On 1 to 4 ranks a program prints the same JSON list of numbers, to rounding."""
    (folder / "program.py").write_text(program)
    found = []
    for ranks in (1, 2, 3, 4):
        assert run_under_mpi([str(folder / "program.py")], ranks, program=[sys.executable]) == 0
        found.append(json.loads(capfd.readouterr().out))
    for other in found[1:]:
        assert other == pytest.approx(found[0], rel=rel)
