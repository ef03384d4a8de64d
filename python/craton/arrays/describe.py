"""What an array says of itself: one line for terminals, a table for notebooks, one line where it cannot be pickled."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from typing import Any, NoReturn

from craton.errors import UserError


def times(extents: Any) -> str:
    """200 x 300"""
    return " x ".join(str(each) for each in extents)


def as_html(kind: str, facts: Mapping[str, object]) -> str:
    """A table of two columns; text is escaped."""
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th><td style="text-align:left">{escape(str(value))}</td></tr>'
        for name, value in facts.items()
    )
    return f"<table><caption>{escape(kind)}</caption>{rows}</table>"


def refuse_pickling(array: Any) -> NoReturn:
    """UserError: elements are on many ranks."""
    raise UserError(
        f"{type(array).__name__}: it cannot be pickled, for its elements are on {array.world.size} ranks; "
        "allowed: gather() for a NumPy array, save() and load() for a file, copy() for another one"
    )
