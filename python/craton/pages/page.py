"""What a report is made of, and the one page that all applications make of it.

A report is data: a `Page` of sections, each of blocks. The templates beside this module turn it into HTML and escape every
text, so that a name from a file is shown as it is written. A page is one file that needs no other: pictures are inside it. Its
Content-Security-Policy lets a browser use these pictures and the page's own style, nothing else. So whatever a reader can do with
it is done without scripts: pictures are enlarged by boxes that are ticked, contents are links.

All applications have the same parts in the same order: a summary in words (`summary`), pictures and tables, commands to go on with
(`how_to_go_on`), and at the end where it comes from (`provenance`).
"""

from __future__ import annotations

import base64
import functools
import hashlib
import importlib.resources
import io
import json
import re
import shlex
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup
from PIL import Image

from craton.pages.figures import DPI, smallest
from craton.runs.words import counted

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from craton.runs.record import Record

LEFT_IN_SVG = " =/;,)!*+?|-._~"
"""Characters of an SVG file that a data URI has as they are. Colons are not: a page has no address in it, not even a namespace."""

__all__ = [
    "Block",
    "Code",
    "Columns",
    "Details",
    "Link",
    "Links",
    "Notice",
    "Numbers",
    "Page",
    "Part",
    "Picture",
    "Section",
    "Table",
    "Text",
    "anchor",
    "how_to_go_on",
    "made_by",
    "name_of",
    "portable",
    "portable_command",
    "provenance",
    "render",
    "render_part",
    "summary",
]


class Block:
    """Something between two others on a page."""

    @property
    def kind(self) -> str:
        """Names its HTML in templates/blocks.html.j2."""
        return type(self).__name__.lower()


@dataclass(frozen=True)
class Text(Block):
    """A paragraph."""

    text: str
    muted: bool = False


@dataclass(frozen=True)
class Notice(Block):
    """What a reader must know first; `strong` begins it in bold."""

    text: str
    strong: str = ""


@dataclass(frozen=True)
class Numbers(Block):
    """Key numbers side by side: (number with its unit, what it is)."""

    entries: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Picture(Block):
    """A figure, or the bytes of a PNG, GIF, WebP or SVG file, with its caption. narrow: not wider than half a page.

    seen: what the picture shows, in a sentence or two for a reader who does not see it; the caption says what it is of.
    """

    figure: Figure | bytes
    caption: str
    seen: str
    narrow: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.figure, bytes):
            object.__setattr__(self, "figure", smallest(self.figure))

    @property
    def source(self) -> str:
        """A data URI, for the `src` of an <img>: a browser runs no script of such a picture."""
        if self._kind == "svg+xml":
            return f"data:image/svg+xml,{urllib.parse.quote(self._content.decode(), safe=LEFT_IN_SVG)}"
        return f"data:image/{self._kind};base64,{base64.b64encode(self._content).decode('ascii')}"

    @property
    def width(self) -> int:
        """Width in the page's pixels, 96 per inch: letters have one size in all figures."""
        if self._kind == "gif":
            return int.from_bytes(self._content[6:8], "little")
        if self._kind == "webp":
            with Image.open(io.BytesIO(self._content)) as opened:
                return opened.width
        if self._kind == "png":
            return round(int.from_bytes(self._content[16:20], "big") * 96 / DPI)
        points = re.search(rb'^<svg[^>]* width="([0-9.]+)pt"', self._content)
        return round(float(points[1]) * 96 / 72) if points else 0

    @property
    def _content(self) -> bytes:
        assert isinstance(self.figure, bytes)
        return self.figure

    @property
    def _kind(self) -> str:
        if self._content[8:12] == b"WEBP":
            return "webp"
        return "gif" if self._content.startswith(b"GIF8") else "svg+xml" if self._content.startswith(b"<svg") else "png"


@dataclass(frozen=True)
class Link:
    """A place on this page ("#map") or a file beside it ("pictures/map.png"). ValueError for any other target."""

    text: str
    target: str

    def __post_init__(self) -> None:
        outside = ":" in self.target or self.target.startswith("/") or not self.target
        if outside and not self.target.startswith("#"):
            raise ValueError(f"link to {self.target!r}; allowed: #place, or a file beside the page")

    @property
    def address(self) -> str:
        """The target, quoted."""
        return urllib.parse.quote(self.target, safe="/#._-~()")

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Links(Block):
    """Links in a line."""

    links: Sequence[Link]


@dataclass(frozen=True)
class Table(Block):
    """Rows below a header, each as long as it. Cells are text, or links. No header: ().

    The first column is to the left and says what its row is of; numbers are to the right. words: all to the left, and long ones
    are wrapped.
    """

    header: Sequence[str]
    rows: Sequence[Sequence[str | Link]]
    words: bool = False


@dataclass(frozen=True)
class Code(Block):
    """Lines to be typed or copied."""

    text: str


@dataclass(frozen=True)
class Details(Block):
    """Blocks that open with a click; shown: they are open, and a click closes them."""

    summary: str
    blocks: Sequence[Block]
    shown: bool = False


@dataclass(frozen=True)
class Columns(Block):
    """Groups of blocks side by side; one below the other where the page is narrow."""

    groups: Sequence[Sequence[Block]]


@dataclass(frozen=True)
class Section(Block):
    """Blocks below a title. id: where links lead, of the title if it is ""; menu: its name in the contents, else the title."""

    title: str
    blocks: Sequence[Block]
    id: str = ""
    menu: str = ""
    level: int = 2

    @property
    def place(self) -> str:
        """The id of the element."""
        return self.id or ("" if self.level > 2 else anchor(self.title.lower().replace(" ", "-")))

    @property
    def links(self) -> list[Link]:
        """Its entry in the contents."""
        name = self.menu or self.title
        return [Link(name[:1].upper() + name[1:], f"#{self.place}")]


@dataclass(frozen=True)
class Part(Block):
    """HTML that `render_part` has made, perhaps in another process. links: to its sections, for the contents."""

    html: str
    links: Sequence[Link] = field(default_factory=tuple)

    @property
    def markup(self) -> Markup:
        """The HTML, which templates leave as it is."""
        return Markup(self.html)


@dataclass(frozen=True)
class Page:
    """A report. what: "an inversion", "a wave run"; about: a line below the title."""

    title: str
    what: str
    about: str
    blocks: Sequence[Block]

    @property
    def links(self) -> list[Link]:
        """The contents."""
        return [link for block in self.blocks if isinstance(block, Section | Part) for link in block.links]


def render(page: Page) -> str:
    """The whole HTML page."""
    style = "\n" + (importlib.resources.files("craton.pages") / "report.css").read_text(encoding="utf-8")
    return _environment().get_template("page.html.j2").render(page=page, style=Markup(style), policy=_policy(style))


def _policy(style: str) -> str:
    """What a browser may do for a page: show pictures that are in it, and this style. It runs no script and asks nobody.

    This holds where a text has become an element in spite of the templates, in a `Part` from a foreign folder say. But a policy
    cannot forbid an element that leads elsewhere (http-equiv=refresh) or has a name looked up (rel=dns-prefetch).
    """
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode("ascii")
    return f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def render_part(blocks: Sequence[Block]) -> str:
    """HTML of some blocks, for a `Part` of a page."""
    return _environment().get_template("part.html.j2").render(blocks=blocks)


@functools.cache
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("craton.pages"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


# ----------------------------------------------------------------------------------------------------- what all reports say


def summary(words: Sequence[Block], numbers: Numbers) -> Section:
    """What was done and found: words first, then key numbers."""
    return Section("Summary", [*words, numbers], "summary")


def how_to_go_on(commands: Sequence[tuple[str, str]]) -> Section:
    """What to type next, in the folder in which the run's folder is: (what it is for, command)."""
    found: list[Block] = []
    for meant, command in commands:
        found += [Text(f"{meant}:"), Code(command)]
    return Section("How to go on", found, "next")


def provenance(record: Record, crew: str = "") -> Section:
    """Where a page comes from: command, host, configuration and versions, without the folders of the computer.

    crew: who worked, where it was not ranks and threads.
    """
    versions = {name: version.splitlines()[0] if version else "" for name, version in record.versions.items()}
    where = f"{record.host}, " if record.host else ""
    crew = (
        crew
        or f"{counted(record.ranks, 'rank')} × {counted(record.threads, 'thread')}, {counted(record.nodes, 'node')}"
    )
    made = [["made by", made_by(record.versions, record.started)], ["on", f"{where}{crew}"]]
    blocks: list[Block] = [Table((), made, words=True)]
    blocks += [Code(portable_command(record.command))] if record.command else []
    text = json.dumps(portable(record.config), indent=1, default=str)
    blocks.append(Details("Configuration", [Code(text)]))
    rows = [[name, version] for name, version in versions.items()]
    blocks.append(Details("Versions", [Table(["what", "version"], rows, words=True)]))
    return Section("Where this comes from", blocks, "provenance", "Provenance")


def name_of(folder: Path) -> str:
    """The name of a run's folder as a word of a command."""
    return shlex.quote(folder.resolve().name)


def made_by(versions: Mapping[str, str], started: str) -> str:
    """Craton 0.1.0, started 2026-11-23 22:19 UTC. started: ISO 8601, of UTC."""
    version = versions.get("version", "").partition("\n")[0]
    when = re.sub(r"^(\d+-\d+-\d+)T(\d+:\d+):\d+\+00:00$", r"\1 \2 UTC", started)
    return f"Craton {version}, started {when}"


def portable_command(command: str) -> str:
    """The command without the absolute folders of the computer it ran on."""
    try:
        words = shlex.split(command)
    except ValueError:  # a quotation mark on its own
        words = command.split()
    return shlex.join(PurePath(word).name if PurePath(word).is_absolute() else word for word in words)


def portable(value: Any) -> Any:
    """A configuration without the absolute folders of the computer it ran on."""
    if isinstance(value, Mapping):
        return {key: portable(entry) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [portable(entry) for entry in value]
    if isinstance(value, str) and PurePath(value).is_absolute():
        return PurePath(value).name
    return value


def anchor(name: str) -> str:
    """An element's id, of any text: what is not a letter, digit, dot or hyphen becomes its number between underscores."""
    return re.sub(r"[^A-Za-z0-9.-]", lambda found: f"_{ord(found[0]):x}_", name)
