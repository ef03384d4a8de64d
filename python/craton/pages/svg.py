"""Figures as SVG: what matplotlib writes, without what no reader sees, and no longer than a bound.

Letters are outlines, so they look alike wherever the page is opened, and no text of a figure is text of the file.
"""

from __future__ import annotations

import base64
import io
import re
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from craton.pages.palettes import with_palette

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["svg"]

AS_DRAWN = 6
"""matplotlib's files are up to so many times longer than what is left of them here."""
DIGITS = 1
"""Behind the point of a coordinate, in points of a 72th of an inch: a reader who enlarges four times sees half a pixel."""
COLOURS_OF_CELLS = 64
"""Of the pixels in an SVG file: steps of a colour scale that none sees."""
SPACE = "{http://www.w3.org/2000/svg}"
LINK = "{http://www.w3.org/1999/xlink}href"
NUMBER = r"-?(?:\d+\.?\d*|\.\d+)(?:e-?\d+)?"


class _TooLong(Exception):
    """The file would be longer than it may be."""


class _Bounded(io.StringIO):
    """Takes so many characters."""

    def __init__(self, most: int) -> None:
        super().__init__()
        self.left = most

    def write(self, text: str) -> int:
        self.left -= len(text)
        if self.left < 0:
            raise _TooLong
        return super().write(text)


def svg(figure: Figure, most: int, dpi: float) -> str:
    """The figure, laid out before, as an SVG file; "" where it would have more than `most` characters.

    dpi: of the parts that are pixels all the same, as the cells of a map. The same figure gives the same text.
    """
    import matplotlib

    drawn = _Bounded(AS_DRAWN * most)
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "craton", "svg.image_inline": True}):
        try:
            figure.savefig(drawn, format="svg", dpi=dpi, metadata=nothing)
        except _TooLong:
            return ""
    text = _shortened(drawn.getvalue())
    return text if len(text) <= most else ""


def _shortened(text: str) -> str:
    """Without comments, names of parts, white space and digits behind those that are seen; pictures have palettes."""
    root = ElementTree.fromstring(text)
    linked = {one.get(LINK, "#")[1:] for one in root.iter() if not one.get(LINK, "").startswith("data:")}
    linked |= set(re.findall(r"url\(#([^)]+)\)", text))
    short = {name: f"a{number}" for number, name in enumerate(sorted(linked))}
    for one in root.iter():
        one.text = (one.text or "").strip() if one.tag == f"{SPACE}style" else None
        one.tail = None
        one.tag = one.tag.removeprefix(SPACE)
        if "id" in one.attrib:
            name = one.attrib.pop("id")
            one.attrib |= {"id": short[name]} if name in short else {}
        if "d" in one.attrib:
            one.set("d", _path(one.attrib["d"], exact="transform" in one.attrib))
        if "clip-path" in one.attrib:
            one.set("clip-path", re.sub(r"#([^)]+)", lambda found: f"#{short[found[1]]}", one.attrib["clip-path"]))
        if LINK in one.attrib:
            one.set("href", _link(one.attrib.pop(LINK), short))
        for name in {"x", "y", "width", "height"} & set(one.attrib) if one is not root else ():
            one.set(name, re.sub(NUMBER, lambda found: _rounded(float(found[0])), one.attrib[name]))
    for parent in root.iter():
        for child in list(parent):
            if child.tag == "metadata":
                parent.remove(child)
    root.set("xmlns", SPACE[1:-1])
    return ElementTree.tostring(root, encoding="unicode")


def _link(target: str, short: dict[str, str]) -> str:
    """To a part of the file, by its new name; or a picture in it."""
    if not target.startswith("data:"):
        return f"#{short[target[1:]]}"
    content = with_palette(base64.b64decode(target.partition(",")[2]), COLOURS_OF_CELLS)
    return f"data:image/png;base64,{base64.b64encode(content).decode('ascii')}"


def _rounded(value: float) -> str:
    text = f"{value:.{DIGITS}f}".rstrip("0").rstrip(".")
    return {"-0": "0", "": "0"}.get(text, text)


def _path(text: str, *, exact: bool) -> str:
    """Steps in place of coordinates, rounded so that their errors do not add up. exact: a letter, which is scaled later."""
    commands = [
        (one[0], [float(n) for n in re.findall(NUMBER, one[1])]) for one in re.findall(r"([A-Za-z])([^A-Za-z]*)", text)
    ]
    if any(letter not in "MLQCz" for letter, _ in commands):
        return " ".join(text.split())
    scale = 1 if exact else 10**DIGITS
    at, begun, last, words = (0, 0), (0, 0), "", []
    for letter, numbers in commands:
        if letter == "z":
            words.append("z")
            at, last = begun, "z"
            continue
        points = [(round(scale * x), round(scale * y)) for x, y in zip(numbers[::2], numbers[1::2], strict=True)]
        steps = [(x - at[0], y - at[1]) for x, y in points]
        lower = "l" if letter == "L" else letter.lower()
        if lower == "l" and last in ("l", "m"):
            lower = ""  # goes on without the letter
        words.append(lower + " ".join(_step(n, scale) for step in steps for n in step))
        at = points[-1]
        if letter == "M":
            begun = at
        last = letter.lower()
    return (
        re.sub(r" -", "-", " ".join(words))
        .replace(" m", "m")
        .replace(" l", "l")
        .replace(" z", "z")
        .replace(" q", "q")
        .replace(" c", "c")
    )


def _step(count: int, scale: int) -> str:
    """Of a number of the smallest steps."""
    text = f"{count / scale:.{DIGITS}f}".rstrip("0").rstrip(".") if scale > 1 else str(count)
    return re.sub(r"^(-?)0\.", r"\1.", "0" if text == "-0" else text)
