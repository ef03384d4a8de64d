"""Docstrings as Craton writes them, which are plain text with Markdown's backticks, for autodoc, which expects reStructuredText.

Indented lines stay as they are, `words` are code, and every other character means itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

CODE = re.compile(r"(`[^`\n]+`)")
ITEM = re.compile(r"([-*]|\d+\.)\s+")
SPECIAL = re.compile(r"([\\*|_`])")


def inline(text: str) -> str:
    """A paragraph or item as reStructuredText."""
    parts = []
    for part in CODE.split(text):
        if CODE.fullmatch(part):
            inside = part[1:-1].strip()
            parts.append(rf"\ ``{inside}``\ " if inside else "")
        else:
            parts.append(SPECIAL.sub(r"\\\1", part))
    return "".join(parts).strip()


def blocks(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """The kind and the lines of each block: "code", "item" or "text"."""
    kind, block = "", [""][:0]
    for line in [*lines, ""]:
        indent = len(line) - len(line.lstrip())
        if kind == "code":
            if indent >= 4 or not line.strip():
                block.append(line)
                continue
        elif line.strip() and not (kind and ITEM.match(line)):
            begins_code = indent >= 4 and (not block or block[-1].rstrip().endswith(":"))
            if block and not begins_code:
                block.append(line)
                continue
        if block:
            yield kind, block
        kind = "code" if indent >= 4 else "item" if ITEM.match(line) else "text"
        block = [line] if line.strip() else []
        if not block:
            kind = ""
    if block:
        yield kind, block


def restructured(lines: list[str]) -> list[str]:
    """A docstring as reStructuredText."""
    result: list[str] = []
    for kind, block in blocks(lines):
        if kind == "code":
            while not block[-1].strip():
                block = block[:-1]
            result += ["::", "", *block, ""]
        elif kind == "item":
            text = " ".join(line.strip() for line in block)
            result += [f"- {inline(ITEM.sub('', text, count=1))}", ""]
        else:
            text = inline(" ".join(line.strip() for line in block))
            result += [re.sub(r"::$", ":", text), ""]
    return result


def convert(_app: Any, _what: str, _name: str, _obj: Any, _options: Any, lines: list[str]) -> None:
    """Replaces the lines of a docstring that autodoc has found."""
    lines[:] = restructured(lines)


def setup(app: Any) -> dict[str, bool]:
    """Connects it to Sphinx."""
    app.connect("autodoc-process-docstring", convert)
    return {"parallel_read_safe": True}
