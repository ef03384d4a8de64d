"""The code blocks of the pages, and what the comment before each says is to be done with it.

    <!-- run -->                                 python, or commands of a shell: in a folder of the page, in the page's order
    <!-- run: long -->                           takes minutes
    <!-- run: folder=examples/scf -->            in a copy of this folder
    <!-- check: waves -->                        tables of a configuration, put into the template: `craton waves check`
    <!-- check: hazard examples/hazard/basin.toml -->      put into this file
    <!-- save: NAME -->                          a file of the page's folder that later blocks need
    <!-- save: NAME, below what is there -->     more of it
    <!-- compile -->                             C++, as the body of a function: syntax and types
    <!-- compile: whole -->                      C++, a whole program
    <!-- tested: python/tests/waves/test_exchange.py -->   a test of this file runs it
    <!-- not run: the output of a command -->    and why

Lines of the comment below its first stand before the block in what is run or compiled. A block without such a comment is
unclassified.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARK = re.compile(r"<!-- (run|check|save|compile|tested|not run)(?:: ([^\n]*?))?(?:\n(.*?))?\s*-->\s*$", re.DOTALL)
FENCE = re.compile(r"\s*```(\S*)\s*$")
UNCLASSIFIED = "unclassified"


@dataclass(frozen=True)
class Block:
    """A code block of a page. `line` is that of its first fence; `before` are hidden lines that it needs."""

    page: Path
    line: int
    language: str
    text: str
    kind: str
    said: str
    before: str

    @property
    def place(self) -> str:
        """Page and line, for messages."""
        return f"{self.page.relative_to(ROOT) if self.page.is_relative_to(ROOT) else self.page}:{self.line}"

    @property
    def is_long(self) -> bool:
        """Whether it takes minutes."""
        return self.kind == "run" and "long" in self.said.split()

    @property
    def folder(self) -> str:
        """The folder of the checkout of which it wants a copy; empty: none."""
        return next((word.removeprefix("folder=") for word in self.said.split() if word.startswith("folder=")), "")


def blocks(page: Path) -> Iterator[Block]:
    """The code blocks of a page."""
    lines = page.read_text(encoding="utf-8").splitlines()
    start, language = -1, ""
    for at, line in enumerate(lines):
        fence = FENCE.match(line)
        if start < 0 and fence:
            start, language = at, fence[1]
        elif start >= 0 and line.strip() == "```":
            inside = lines[start + 1 : at]
            indent = min((len(each) - len(each.lstrip()) for each in inside if each.strip()), default=0)
            kind, said, before = mark_of(lines[:start])
            text = "".join(f"{each[indent:]}\n" for each in inside)
            yield Block(page, start + 1, language, text, kind, said, before)
            start = -1


def mark_of(lines: list[str]) -> tuple[str, str, str]:
    """Kind, options and hidden lines that the comment at the end of these lines has."""
    if not lines or not lines[-1].rstrip().endswith("-->"):
        return UNCLASSIFIED, "", ""
    first = next((at for at in range(len(lines) - 1, -1, -1) if lines[at].lstrip().startswith("<!--")), 0)
    match = MARK.fullmatch("\n".join(lines[first:]).strip())
    return (match[1], match[2] or "", match[3] or "") if match else (UNCLASSIFIED, "", "")


def pages() -> list[Path]:
    """The pages whose blocks are classified."""
    listed = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md")), ROOT / "CONTRIBUTING.md"]
    return [page for page in listed if page.exists()]


def every_block() -> list[Block]:
    """The blocks of all pages; directives of the site, in braces, are no code."""
    return [block for page in pages() for block in blocks(page) if not block.language.startswith("{")]


def faults(found: list[Block]) -> Iterator[str]:
    """Comments that say what cannot be done."""
    for block in found:
        words = block.said.split()
        if block.kind == "run" and block.language not in ("python", "py", "sh", "console", ""):
            yield f"{block.place}: run, of {block.language}; allowed: python, sh, or no language"
        if block.kind == "compile" and block.language != "cpp":
            yield f"{block.place}: compile, of {block.language or 'no language'}; allowed: cpp"
        if block.kind == "check" and (block.language != "toml" or not words):
            yield f"{block.place}: check: {block.said}; allowed: an application, before a block of toml"
        if block.kind == "compile" and block.said not in ("", "whole"):
            yield f"{block.place}: compile: {block.said}; allowed: whole, or nothing more"
        if block.kind == "save" and (not words or block.said.partition(",")[2] not in ("", " below what is there")):
            yield f"{block.place}: save: {block.said}; allowed: the name of a file, or NAME, below what is there"
        if block.kind == "not run" and len(words) < 2:
            yield f"{block.place}: not run: {block.said}; allowed: the reason, in words"
        if block.kind == "tested":
            test = ROOT / block.said
            if not test.is_file() or block.page.name not in test.read_text(encoding="utf-8"):
                yield f"{block.place}: tested: {block.said}; allowed: the file of a test that names {block.page.name}"
