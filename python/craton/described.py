"""What an object says of itself: one line at a prompt, a table in a notebook.

class Solver(Described):
    def _facts(self) -> dict[str, object]:
        return {"cells": "64 x 64 x 64", "ranks": 2}

repr(solver)    # <Solver: cells 64 x 64 x 64, ranks 2>

A dataclass that derives from it is made with repr=False; else its own __repr__, which lists every field, would come first.
"""

from __future__ import annotations

from collections.abc import Mapping
from html import escape

__all__ = ["Described", "facts_html"]


class Described:
    """Has a line and a table that name what matters, and no addresses of memory."""

    __slots__ = ()

    def _facts(self) -> Mapping[str, object]:
        """Names and values, the most important ones first. Cheap, and neither collective nor of messages."""
        raise NotImplementedError

    def __repr__(self) -> str:
        facts = ", ".join(f"{name} {value}" for name, value in self._facts().items())
        return f"<{type(self).__name__}: {facts}>"

    def _repr_html_(self) -> str:
        return facts_html(type(self).__name__, self._facts())


def facts_html(title: str, facts: Mapping[str, object]) -> str:
    """A table of names and values, with every character that means something in HTML escaped."""
    left = '<{0} style="text-align:left">{1}</{0}>'
    rows = "".join(
        f"<tr>{left.format('th', escape(name))}{left.format('td', escape(str(value)))}</tr>"
        for name, value in facts.items()
    )
    return f"<table><caption>{escape(title)}</caption>{rows}</table>"
