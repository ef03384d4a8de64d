"""Runs the command `craton` as a user would, in a process of its own."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from helpers import environment_without_mpi


def craton(*arguments: str | Path, seconds: float = 60, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "craton.commands.main", *map(str, arguments)]
    env = environment_without_mpi(**environment)
    return subprocess.run(command, capture_output=True, text=True, timeout=seconds, env=env, check=False)
