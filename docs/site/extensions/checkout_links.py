"""Links between pages of the checkout, which say what a repository browser understands, as links between pages of the site.

The README and its like stand beside docs/, where the site has no pages: a page in docs/site includes each. What a page links to
may also be a folder, which is no page; its name stays.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

LINK = re.compile(r"(!?)\[([^\]]*)\]\((?!\w+:|/|#)([^)#\s]+)(#[^)\s]*)?\)")
INCLUDED = re.compile(r"^```\{include\} (\S+)\n```$", re.MULTILINE)
PAGES = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "versions.md",
    "CODE_OF_CONDUCT.md": "conduct.md",
    "SECURITY.md": "security.md",
    "packaging/README.md": "packaging.md",
}
"""Files beside docs/, and the pages in docs/site that include them."""


def followed(text: str, source: Path, page: Path, docs: Path) -> str:
    """The text of a file as the page that holds it has to say it."""

    def replace(match: re.Match[str]) -> str:
        picture, said, target, anchor = match.groups()
        path = (source.parent / target).resolve()
        if path.is_relative_to(docs.parent) and (included := PAGES.get(path.relative_to(docs.parent).as_posix())):
            path = docs / "site" / included
        if path.is_dir():
            return said
        return f"{picture}[{said}]({os.path.relpath(path, page.parent)}{anchor or ''})"

    return LINK.sub(replace, text)


def on_source_read(app: Any, docname: str, content: list[str]) -> None:
    """Sphinx has read a page."""
    docs = Path(app.srcdir).resolve()
    page = docs / f"{docname}.md"
    if match := INCLUDED.search(content[0]):
        source = (page.parent / match[1]).resolve()
        app.env.note_dependency(str(source))
        content[0] = followed(source.read_text(encoding="utf-8"), source, page, docs)
    else:
        content[0] = followed(content[0], page, page, docs)


def setup(app: Any) -> dict[str, bool]:
    """Connects it to Sphinx."""
    app.connect("source-read", on_source_read)
    return {"parallel_read_safe": True}
