"""What commands print and write."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import typer

from craton.errors import UserError


def check_folders(**files: Path | None) -> None:
    """UserError unless the folder of each file exists that an option of this name asks for: before anything is computed."""
    for option, file in files.items():
        if file is not None and not file.absolute().parent.is_dir():
            folder = file.absolute().parent
            raise UserError(
                f"--{option.replace('_', '-')} {file}: no such folder {folder}; allowed: a file in a folder that exists"
            )


def print_json(content: Any) -> None:
    """Prints JSON to standard output, indented."""
    typer.echo(json.dumps(content, indent=2))


def print_table(table: Any) -> None:
    """Prints a table of rich."""
    from craton.runs.progress import make_console

    make_console().print(table)
