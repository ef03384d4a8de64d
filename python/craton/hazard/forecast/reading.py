"""What readers of rupture files share: text as a whole, numbers in words, and the file's name before an error."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from craton.errors import UserError

__all__ = ["located", "number_of", "text_of"]


def text_of(path: Path, what: str) -> str:
    """All of a file, in UTF-8. what: the kind of file, for the UserError where it cannot be read."""
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: not UTF-8 text at byte {error.start}; allowed: {what}") from None
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}; allowed: {what}") from None


def number_of(word: str) -> float:
    """The word's number; NaN where it is none."""
    try:
        return float(word)
    except ValueError:
        return math.nan


@contextmanager
def located(path: Path, line: int | None = None) -> Iterator[None]:
    """Puts the file, and the line, before a UserError of the block that does not name the file yet."""
    try:
        yield
    except UserError as error:
        begins = f"{path}: " if line is None else f"{path}:{line}: "
        raise UserError(str(error) if str(error).startswith(f"{path}:") else f"{begins}{error}") from None
