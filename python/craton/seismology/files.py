"""Files of others, opened or refused in one line: "<path>: what is wrong; allowed: what would do"."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import h5py

from craton.errors import UserError


def one_line(error: BaseException) -> str:
    """What an exception says, on one line of at most 200 columns; its type where it says nothing."""
    return " ".join(str(error).split())[:200] or type(error).__name__


def present(path: str | os.PathLike[str], allowed: str) -> Path:
    """The path of a file that is there. UserError where it is not."""
    path = Path(path)
    if not path.is_file():
        raise UserError(f"{path}: no such file; allowed: {allowed}")
    return path


@contextmanager
def readable(path: Path, allowed: str, wrong: str = "cannot be read: ") -> Iterator[None]:
    """Turns whatever a reader raises within the block into a UserError that names the file. wrong: what to say first."""
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # readers raise exceptions of many kinds
        raise UserError(f"{path}: {wrong}{one_line(error)}; allowed: {allowed}") from None


def opened_hdf5(path: Path, allowed: str, kind: str = "HDF5") -> h5py.File:
    """An HDF5 file, open to be read. UserError where it is missing, damaged or something else. kind: as the error calls it."""
    with readable(path, allowed, f"not a complete {kind} file: "):
        return h5py.File(present(path, allowed), "r")


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
