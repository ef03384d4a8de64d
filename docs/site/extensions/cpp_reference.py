"""The directive `headers`: the public declarations of a storey, from the comments of its headers.

    ```{headers} apps/waves
    ```

Doxygen has read them before (docs/site/Doxyfile); a section for each header, in it one for each class.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import cpp_declarations
import page_parts as parts
from cpp_declarations import CLASSES, Declaration
from docutils import nodes
from docutils.parsers.rst import Directive

INCLUDE = Path(__file__).resolve().parents[3] / "include"
reading = functools.cache(cpp_declarations.read)


def comment(paragraph: Element) -> Iterator[nodes.Node]:
    """A paragraph of a comment; lists and tables in it stand after its words."""
    words: list[nodes.Node] = [nodes.Text(paragraph.text or "")]
    blocks: list[nodes.Node] = []
    for child in paragraph:
        if child.tag in ("itemizedlist", "orderedlist"):
            items = [
                nodes.list_item("", *(node for inner in item.findall("para") for node in comment(inner)))
                for item in child.findall("listitem")
            ]
            blocks.append((nodes.bullet_list if child.tag == "itemizedlist" else nodes.enumerated_list)("", *items))
        elif child.tag in ("verbatim", "preformatted"):
            blocks.append(parts.code("".join(child.itertext()).strip("\n")))
        elif child.tag == "computeroutput":
            words.append(nodes.literal("", "".join(child.itertext())))
        else:
            words.append(nodes.Text("".join(child.itertext())))
        words.append(nodes.Text(child.tail or ""))
    if any(word.astext().strip() for word in words):
        yield nodes.paragraph("", "", *words)
    yield from blocks


def comments(one: Declaration) -> list[nodes.Node]:
    """The whole comment."""
    return [node for paragraph in one.comments for node in comment(paragraph)]


def groups(declarations: Sequence[Declaration]) -> Iterator[list[Declaration]]:
    """Declarations that share a comment, or have none and stand together."""
    group: list[Declaration] = []
    for one in declarations:
        together = group and not one.comments and (one.shares or not group[0].comments)
        if group and not together:
            yield group
            group = []
        group = [*group, one]
    if group:
        yield group


def members(declarations: Sequence[Declaration]) -> Iterator[nodes.Node]:
    """Declarations with their comments."""
    for group in groups(declarations):
        shown = parts.code("\n".join(one.text for one in group), "cpp")
        yield nodes.container("", shown, *comments(group[0]), classes=["declaration"])


def class_section(one: Declaration) -> nodes.section:
    """A class with its members."""
    content = [parts.code(one.text, "cpp"), *comments(one), *members(one.members)]
    scope = one.scope.removeprefix("craton::")
    anchor = parts.identifier(scope, one.name)
    return parts.section(anchor, [nodes.literal("", f"{scope}::{one.name}" if scope else one.name)], content)


def header_section(header: str, declarations: Sequence[Declaration]) -> nodes.section:
    """A header: classes in sections of their own, after all else."""
    content: list[nodes.Node] = [parts.code(f"#include <{header}>", "cpp")]
    content += members([one for one in declarations if one.kind not in CLASSES])
    content += [class_section(one) for one in declarations if one.kind in CLASSES]
    return parts.section(parts.identifier(header), [nodes.literal("", header.removeprefix("craton/"))], content)


class Headers(Directive):
    """Its argument is a storey."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The sections."""
        environment = self.state.document.settings.env
        xml = Path(environment.config.craton_doxygen_xml)
        environment.note_dependency(str(xml / "index.xml"))
        chosen = {
            header: found
            for header, found in reading(xml, INCLUDE).items()
            if cpp_declarations.storey(header) == self.arguments[0]
        }
        if not chosen:
            raise self.error(f"no headers of {self.arguments[0]} in {xml}")
        return [header_section(header, found) for header, found in chosen.items()]


def setup(app: Any) -> dict[str, bool]:
    """Connects it to Sphinx."""
    app.add_config_value("craton_doxygen_xml", "", "env")
    app.add_directive("headers", Headers)
    return {"parallel_read_safe": True}
