"""Reads a report as a browser would: elements, attributes, text, what is not closed."""

import base64
import hashlib
import html.parser
import re
import urllib.parse
from xml.etree import ElementTree

VOID = frozenset({"meta", "img", "br", "link", "input"})
ALLOWED = {
    "html": {"lang"}, "head": set(), "meta": {"charset", "http-equiv", "name", "content"}, "title": set(), "style": set(),
    "body": set(), "main": set(), "header": set(), "nav": {"aria-label"}, "ul": set(), "li": set(), "a": {"href"},
    "section": {"id"}, "h1": set(), "h2": set(), "h3": set(), "p": {"class"}, "b": set(),
    "div": {"class", "tabindex", "role", "aria-label"}, "figure": {"class"}, "label": {"class"}, "span": {"class"},
    "input": {"type", "aria-label"}, "img": {"alt", "width", "src"}, "figcaption": set(), "table": {"class"}, "thead": set(),
    "tbody": set(), "tr": set(), "th": {"scope"}, "td": set(), "pre": {"tabindex"}, "details": {"open"}, "summary": set(),
}  # fmt: skip
"""Elements and attributes that templates write."""
CLASSES = {"what", "muted", "notice", "numbers", "narrow", "scroll", "columns", "links", "words", "zoom"}
DRAWN = {"svg", "defs", "style", "g", "path", "use", "clipPath", "rect", "image", "pattern"}
"""Elements of pictures."""


class ReadPage(html.parser.HTMLParser):
    """A page that is read: `open` (not closed), `pictures`, `metas` (attributes), `sources` (src, href), `text`, `ids`, `captions`.

    `style` is the text of the style element. AssertionError for an element, attribute or class that no template writes.
    """

    def __init__(self, page):
        super().__init__()
        self.open, self.pictures, self.metas, self.sources, self.ids, self.words = [], [], [], [], [], []
        self.captions = []
        self.style = ""
        self.feed(page)
        self.close()
        self.text = re.sub(r"\s+", " ", " ".join(self.words))

    def handle_starttag(self, tag, attrs):
        assert tag in ALLOWED, tag
        attributes = dict(attrs)
        assert set(attributes) <= ALLOWED[tag], (tag, attributes)
        assert attributes.get("class", "what") in CLASSES
        self.sources += [attributes[name] for name in ("src", "href") if name in attributes]
        self.ids += [attributes["id"]] if "id" in attributes else []
        if tag == "img":
            self.pictures.append(attributes)
        if tag == "meta":
            self.metas.append(attributes)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" in self.open:
            self.style += data
        else:
            self.words.append(data)
        if "figcaption" in self.open:
            self.captions.append(data)

    def handle_comment(self, data):
        raise AssertionError(f"a comment: {data}")

    def handle_pi(self, data):
        raise AssertionError(f"an instruction: {data}")


def the_policy(style):
    """The element that lets a page use its pictures and this style; no script, no file, no address."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    rules = f"default-src 'none'; img-src data:; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return {"http-equiv": "Content-Security-Policy", "content": rules}


def only_drawn(text):
    """An SVG file has lines, letters as outlines and pixels: no script, no text of ours, no address outside of it."""
    elements = list(ElementTree.fromstring(text).iter())
    assert {one.tag.removeprefix("{http://www.w3.org/2000/svg}") for one in elements} <= DRAWN
    assert all(not (one.text or "").strip() for one in elements if not one.tag.endswith("style"))
    assert "<!" not in text and not re.search("script|@import|data:(?!image/png;base64,)", text)
    attributes = [(name, value) for one in elements for name, value in one.attrib.items()]
    assert not any(name.startswith("on") for name, _ in attributes)
    assert all(value.startswith(("#", "data:image/png;base64,")) for name, value in attributes if name.endswith("href"))
    assert all(found.startswith("#") for _, value in attributes for found in re.findall(r"url\((.)", value))


def checked(page):
    """The page, once it is known to be whole, well formed, and to need no other file but those beside it."""
    read = ReadPage(page)
    assert read.open == []
    assert len(read.ids) == len(set(read.ids))
    for picture in read.pictures:
        assert picture["alt"]
        kind, content = re.match(r"data:image/([a-z+]+)(?:;base64)?,(.*)", picture["src"], re.DOTALL).groups()
        if kind == "svg+xml":
            only_drawn(urllib.parse.unquote(content, errors="strict"))
        else:
            assert base64.b64decode(content).startswith({"png": b"\x89PNG", "gif": b"GIF8", "webp": b"RIFF"}[kind])
    for source in read.sources:
        assert source.startswith(("data:image/", "#")) or ":" not in source
        assert not source.startswith("#") or source[1:] in read.ids, source
    assert not re.search(r"@import|url\(", read.style)
    assert read.metas[:2] == [{"charset": "utf-8"}, the_policy(read.style)]  # what comes before a policy is free of it
    return read
