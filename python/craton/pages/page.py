"""What report.html of every application is made of: a style, tables, pictures. A page needs no other file."""

from __future__ import annotations

import base64
import html
import importlib.resources
from collections.abc import Sequence

__all__ = ["picture", "style", "table"]


def style() -> str:
    """CSS."""
    return (importlib.resources.files("craton.pages") / "report.css").read_text(encoding="utf-8")


def picture(png: bytes, description: str, *, narrow: bool = False) -> str:
    """With its description below, and for those who do not see it."""
    encoded, text = base64.b64encode(png).decode("ascii"), html.escape(description)
    return (
        f'<figure{" class=narrow" if narrow else ""}><img alt="{text}" src="data:image/png;base64,{encoded}">'
        f"<figcaption>{text}</figcaption></figure>"
    )


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Of plain text."""

    def cells(tag: str, row: Sequence[str]) -> str:
        return "<tr>" + "".join(f"<{tag}>{html.escape(cell)}</{tag}>" for cell in row) + "</tr>"

    return (
        '<div class="scroll"><table>'
        + cells("th", header)
        + "".join(cells("td", row) for row in rows)
        + "</table></div>"
    )
