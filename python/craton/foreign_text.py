"""Words of files that others have written, as numbers and as errors name them."""

from __future__ import annotations

__all__ = ["begins_a_formula", "quoted", "whole_number"]

MOST_DIGITS = 18
"""Such numbers fit 64 bits."""


def whole_number(word: str) -> int | None:
    """A number of up to 18 of the digits 0 to 9; None for anything else, such as a superscript, which Python calls a digit too."""
    return int(word) if word.isascii() and word.isdigit() and len(word) <= MOST_DIGITS else None


def begins_a_formula(name: str) -> bool:
    """Whether a spreadsheet would compute a name that stands in a table: =HYPERLINK(...), +..., @SUM(...)."""
    return name.lstrip()[:1] in ("=", "+", "-", "@") and len(name.lstrip()) > 1


def quoted(text: str, most: int = 60) -> str:
    """The text between quotation marks, with single spaces; cut where it is longer than `most` characters."""
    text = " ".join(text.split())
    return f"'{text}'" if len(text) <= most else f"'{text[:most]}...'"
