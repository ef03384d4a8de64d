"""What commands print and write."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import typer

from craton.errors import UserError

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


def check_folders(**files: Path | None) -> None:
    """UserError unless the folder of each file exists that an option of this name asks for: before anything is computed."""
    for option, file in files.items():
        if file is not None and not file.absolute().parent.is_dir():
            folder = file.absolute().parent
            raise UserError(
                f"--{option.replace('_', '-')} {file}: no such folder {folder}; allowed: a file in a folder that exists"
            )


def say(console: Console | None, text: str, style: str | None = None) -> None:
    """Prints a line as it is; nothing on ranks without a console."""
    if console is not None:
        console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)


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


class Found(Protocol):
    """What a command has found: as JSON takes it, and as a table of rich."""

    def to_dict(self) -> Any:
        """Plain lists, dictionaries, numbers and text."""

    def table(self) -> Table:
        """A table for a console."""


def print_found(found: Found, as_json: bool) -> None:
    """Prints JSON, or the table."""
    if as_json:
        print_json(found.to_dict())
    else:
        print_table(found.table())


def facts_table(rows: Iterable[tuple[str, str]], title: str | None = None) -> Table:
    """A table of rich without a head: labels, in bold, and what they say."""
    from rich.markup import escape
    from rich.table import Table

    table = Table(title=title, title_justify="left", show_header=False)
    table.add_column(style="bold")
    table.add_column(overflow="fold")
    for label, text in rows:
        table.add_row(label, escape(text))
    return table


def print_table(table: Table) -> None:
    """Prints a table of rich."""
    from craton.runs.progress import make_console

    make_console().print(table)
