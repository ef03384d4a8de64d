"""Runs of examples/global with some settings changed, for programs that make tables of docs/tomography.md and docs/hybrid.md."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from craton.tomography.config.load import load_config
from craton.tomography.folder import RunFolder, RunRecord

EXAMPLES = Path(__file__).parents[3] / "examples" / "global"


def run_example(
    name: str, folder: Path, changes: dict[str, dict[str, Any]], ranks: int = 2
) -> tuple[RunRecord, list[str]]:
    """Runs `craton tomography run` on an example. Returns the record and the lines printed.

    changes: settings by table. folder: of the results; a finished run there is read, not run again.
    """
    results, said = RunFolder(folder), folder.with_name(f"{folder.name}.txt")
    if results.record.is_file() and results.read_record().finished:
        return results.read_record(), said.read_text().splitlines()
    config = load_config(EXAMPLES / name)
    for table, settings in changes.items():
        config = config.replaced(table, **settings)
    folder.parent.mkdir(parents=True, exist_ok=True)
    changed = folder.with_name(f"{folder.name}.toml")
    changed.write_text(config.to_toml())
    command = [
        "craton",
        "tomography",
        "run",
        changed,
        "--ranks",
        str(ranks),
        "--directory",
        folder,
        "--overwrite",
        "--no-report",
    ]
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    said.write_text(run.stdout + run.stderr)
    if run.returncode:
        sys.exit(f"{folder.name}: {run.stderr}")
    return results.read_record(), run.stdout.splitlines()


def skipped_windows(lines: list[str]) -> int | None:
    """How many windows skipped cycles before the first iteration, as the run printed it; None where it began with all periods."""
    found = [re.search(r"skips cycles in (\d+) windows? of", line) for line in lines]
    return next((int(each[1]) for each in found if each), None)
