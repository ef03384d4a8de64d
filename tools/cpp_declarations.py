"""The public declarations of the headers below include/craton, as Doxygen's XML has them (docs/site/Doxyfile).

docs/site/extensions/cpp_reference.py makes pages of them, tools/api_coverage counts those without a comment.
"""

from __future__ import annotations

import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

CLASSES = {"class", "struct", "union"}
NO_PAGES = {"friend", "define"}


@dataclass
class Declaration:
    """A class, function, variable, type or concept."""

    kind: str
    name: str
    """without the scope that it stands in"""
    scope: str
    text: str
    """as in C++"""
    header: str
    line: int
    comments: list[ElementTree.Element]
    """the comment before it or behind it, in paragraphs"""
    follows: bool
    """special members and overrides: what they do follows from the comments of their class or its base"""
    members: list[Declaration] = field(default_factory=list)
    shares: bool = False
    """a comment before other declarations, of which no blank line parts it, speaks of this one too"""

    @property
    def is_documented(self) -> bool:
        """Whether it has a comment of its own."""
        return bool(self.comments)


def read(xml: Path, include: Path) -> dict[str, list[Declaration]]:
    """The declarations of each header, in their order, from Doxygen's folder and that of the headers."""
    compounds = [
        compound
        for path in sorted(xml.glob("*.xml"))
        for compound in ElementTree.parse(path).getroot().iter("compounddef")
        if compound.get("kind") in CLASSES | {"namespace", "concept"}
    ]
    private = {
        inner.get("refid")
        for compound in compounds
        for inner in compound.findall("innerclass")
        if inner.get("prot") != "public"
    }
    headers: dict[str, list[Declaration]] = {}
    for compound in compounds:
        name = compound.findtext("compoundname", "")
        if compound.get("id") in private or "detail" in name.split("::") or "@" in name:
            continue
        found = _members(compound, name) if compound.get("kind") == "namespace" else [_compound(compound, name)]
        for one in found:
            known = headers.setdefault(one.header, [])
            if (one.line, one.text) not in (
                (other.line, other.text) for other in known
            ):  # once more, in an inline namespace
                known.append(one)
    for header, found in headers.items():
        found.sort(key=lambda one: one.line)
        _share(found, (include / header).read_text(encoding="utf-8").splitlines(), None)
    return dict(sorted(headers.items()))


def storey(header: str) -> str:
    """The storey of a header: array, or apps/waves."""
    parts = header.split("/")
    return "/".join(parts[1:3]) if parts[1] == "apps" else parts[1]


def _share(declarations: list[Declaration], lines: list[str], parent: Declaration | None) -> None:
    """Finds those that share a comment. That of a class is also of the variables at its head."""
    before, speaks, of_class = parent, parent is not None and parent.is_documented, True
    for one in declarations:
        between = lines[before.line : one.line - 1] if before else []
        if one.is_documented and _comes_first(one, lines):
            speaks, of_class = True, False
        elif any(not line.strip() or line.lstrip().startswith("//") for line in between):
            speaks = False
        one.shares = speaks and not one.is_documented and (not of_class or one.kind == "variable")
        _share(one.members, lines, one)
        before = one


def _comes_first(one: Declaration, lines: list[str]) -> bool:
    """Whether the comment of a declaration stands before it, and not behind it on its line."""
    at = one.line - 2
    while (
        at > 0
        and not lines[at].lstrip().startswith("//")
        and lines[at].strip()
        and not lines[at].rstrip().endswith((";", "}", "{"))
    ):
        at -= 1  # template <class T>, or a return type
    return lines[at].lstrip().startswith("///")


def _compound(compound: ElementTree.Element, name: str) -> Declaration:
    scope, own = _split(name)
    kind = compound.get("kind", "")
    if kind == "concept":
        text = re.sub(r"\s+", " ", compound.findtext("initializer", "")).strip()
        text = re.sub(r"concept\s+\S*", f"concept {own}", text, count=1)
    else:
        bases = [_words(base) for base in compound.findall("basecompoundref") if base.get("prot") == "public"]
        text = (
            f"{_template(compound)}{kind} {own}{' : ' if bases else ''}{', '.join(f'public {base}' for base in bases)}"
        )
    header, line = _place(compound)
    members = _members(compound, name)
    follows = "<" in own  # a specialisation
    return Declaration(kind, own, scope, text, header, line, _comments(compound), follows, members)


def _members(compound: ElementTree.Element, scope: str) -> list[Declaration]:
    found = []
    for section in compound.findall("sectiondef"):
        for member in section.findall("memberdef"):
            name, type_of = member.findtext("name", ""), _words(member.find("type"))
            instantiates = re.match(r"(extern )?template\b(?! ?<)", type_of)
            if member.get("kind") in NO_PAGES or member.get("prot") != "public" or "@" in name or instantiates:
                continue
            header, line = _place(member)
            if header.endswith(".hpp"):
                kind = member.get("kind", "")
                comments = _comments(member)
                follows = _follows(member, scope)
                found.append(Declaration(kind, name, scope, _text(member), header, line, comments, follows))
    return sorted(found, key=lambda one: one.line)


def _follows(member: ElementTree.Element, scope: str) -> bool:
    name, arguments = member.findtext("name", ""), member.findtext("argsstring", "")
    own = re.sub(r"<.*", "", _split(scope)[1])
    special = name in (own, f"~{own}") or name.startswith("operator")
    return special or arguments.rstrip().endswith(("=default", "=delete")) or member.find("reimplements") is not None


def _text(member: ElementTree.Element) -> str:
    kind, name = member.get("kind"), member.findtext("name", "")
    type_of, arguments = _words(member.find("type")), member.findtext("argsstring", "")
    if kind == "typedef":
        return f"{_template(member)}using {name} = {type_of}{arguments};"
    if kind == "enum":
        values = ", ".join(value.findtext("name", "") for value in member.findall("enumvalue"))
        strong = "enum class" if member.get("strong") == "yes" else "enum"
        return f"{strong} {name}{f' : {type_of}' if type_of else ''} {{ {values} }};"
    words = [word for word in ("static", "explicit") if member.get(word) == "yes" and not type_of.startswith(word)]
    if member.get("virt") in ("virtual", "pure-virtual"):
        words.append("virtual")
    initial = _words(member.find("initializer")) if kind == "variable" else ""
    initial = f" {initial}" if initial and len(initial) < 40 else ""
    whole = " ".join([*words, *([type_of] if type_of else []), f"{name}{arguments}{initial};"])
    return _template(member) + re.sub(r"\(\* (\w)", r"(*\1", whole)


def _template(element: ElementTree.Element) -> str:
    listed = element.find("templateparamlist")
    if listed is None:
        return ""
    found = []
    for each in listed.findall("param"):
        name, default = each.findtext("declname", ""), _words(each.find("defval"))
        found.append(_words(each.find("type")) + (f" {name}" if name else "") + (f" = {default}" if default else ""))
    return f"template <{', '.join(found)}>\n"


def _comments(element: ElementTree.Element) -> list[ElementTree.Element]:
    parts = [element.find("briefdescription"), element.find("detaileddescription")]
    comments = [paragraph for part in parts if part is not None for paragraph in part.findall("para")]
    if element.get("kind") == "enum":
        for value in element.findall("enumvalue"):
            for paragraph in [*value.iterfind("briefdescription/para"), *value.iterfind("detaileddescription/para")]:
                named = ElementTree.Element("para")
                ElementTree.SubElement(named, "computeroutput").text = value.findtext("name", "")
                named[0].tail = f": {paragraph.text or ''}"
                named.extend(list(paragraph))
                comments.append(named)
    return comments


def _place(element: ElementTree.Element) -> tuple[str, int]:
    location = element.find("location")
    if location is None:
        return "", 0
    return location.get("file", ""), int(location.get("line", "0"))


def _words(element: ElementTree.Element | None) -> str:
    text = "" if element is None else " ".join("".join(element.itertext()).split())
    return text.replace("< ", "<").replace(" >", ">").replace(" &", "&").replace(" *", "*")


def _split(name: str) -> tuple[str, str]:
    """Scope and own name; colons between < and > belong to the own name."""
    outside = re.sub(r"<.*", lambda match: "." * len(match[0]), name)
    at = outside.rfind("::")
    return (name[:at], name[at + 2 :]) if at >= 0 else ("", name)


def every(declarations: list[Declaration]) -> Iterator[Declaration]:
    """Each declaration, members too; those that follow from others are left out."""
    for one in declarations:
        if not one.follows:
            yield one
        if "<" not in one.name:
            yield from every(one.members)
