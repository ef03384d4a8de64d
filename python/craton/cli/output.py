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


def save_json(path: Path, content: Any) -> None:
    """Writes the JSON file that --output names. UserError where it cannot be written."""
    try:
        path.write_text(json.dumps(content, indent=2, allow_nan=False) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(
            f"--output {path}: cannot be written: {error.strerror}; allowed: a file in a folder that may be written to"
        ) from None


def print_table(table: Any) -> None:
    """Prints a table of rich."""
    from craton.runs.progress import make_console

    make_console().print(table)
