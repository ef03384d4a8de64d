"""Files of others, opened or refused in one line: "<path>: what is wrong; allowed: what would do"."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from craton.errors import UserError
from craton.runs.hdf5_files import refused


def present(path: str | os.PathLike[str], allowed: str) -> Path:
    """The path of a file that is there. UserError where it is not."""
    path = Path(path)
    if not path.is_file():
        raise UserError(f"{path}: no such file; allowed: {allowed}")
    return path


def readable(path: Path, allowed: str, wrong: str = "cannot be read") -> AbstractContextManager[None]:
    """Turns whatever a reader raises within the block into a UserError that names the file. wrong: what to say first."""
    return refused(path, wrong, allowed)


def numbered_rows(path: Path, allowed: str) -> Iterator[tuple[str, str, list[str]]]:
    """Rows of a text file that hold something: "<path>:<line>", the text, and its words.

    Blanks or commas lie between words; # begins a comment. UserError where the file cannot be read.
    """
    with readable(path, allowed):
        lines = path.read_text(encoding="utf-8").splitlines()
    for number, line in enumerate(lines, 1):
        if words := line.partition("#")[0].replace(",", " ").split():
            yield f"{path}:{number}", line.strip()[:60], words


def need_obspy(what: object) -> None:
    """UserError where ObsPy is not installed. what: the file or the command that needs it."""
    try:
        import obspy  # noqa: F401
    except ImportError:
        raise UserError(f"{what}: ObsPy is needed; allowed: pip install 'craton[seismology]'") from None


def read_by_obspy(reader: str, path: Path, allowed: str) -> Any:
    """What a function of ObsPy, such as "read_events", makes of a file. UserError where ObsPy is missing or refuses it."""
    need_obspy(path)
    import obspy

    with readable(path, allowed, ""):
        return getattr(obspy, reader)(str(path))
