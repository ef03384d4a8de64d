"""Parts of generated pages, as docutils has them: sections, tables, definitions, code."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from docutils import nodes

CODE = re.compile(r"`([^`\n]+)`")


def text(words: str) -> list[nodes.Node]:
    """Words as the docstrings and comments have them: what is between backticks is code."""
    parts = CODE.split(words)
    made: list[nodes.Node] = [nodes.literal("", part) if at % 2 else nodes.Text(part) for at, part in enumerate(parts)]
    return [part for part in made if part.astext()]


def paragraph(words: str) -> nodes.paragraph:
    """A paragraph."""
    return nodes.paragraph("", "", *text(words))


def code(lines: str, language: str = "none") -> nodes.literal_block:
    """A block of code."""
    return nodes.literal_block(lines, lines, language=language, force=True)  # also where the highlighter stumbles


def identifier(*names: str) -> str:
    """An anchor that no other section of the site has, if no other has these names."""
    return re.sub(r"[^a-z0-9_]+", "-", "-".join(names).lower()).strip("-")


def section(anchor: str, title: Iterable[nodes.Node], content: Iterable[nodes.Node]) -> nodes.section:
    """A section with its heading."""
    made = nodes.section("", nodes.title("", "", *title), *content, ids=[anchor])
    made["names"] = [anchor]
    return made


def table(heads: Sequence[str], widths: Sequence[int], rows: Iterable[Sequence[Sequence[nodes.Node]]]) -> nodes.table:
    """A table; each cell is a list of paragraphs."""
    group = nodes.tgroup("", *(nodes.colspec(colwidth=width) for width in widths), cols=len(widths))
    group += nodes.thead("", nodes.row("", *(nodes.entry("", paragraph(head)) for head in heads)))
    group += nodes.tbody("", *(nodes.row("", *(nodes.entry("", *cell) for cell in row)) for row in rows))
    return nodes.table("", group, classes=["reference"])
