"""The directive `configuration`: every table and key of an application, from the class that reads and checks its file.

    ```{configuration} craton.multigrid.config.Config
    ```

More words, such as phases=craton.tomography.waveforms.config.PhaseConfig, are tables [[phases]] that the class reads by itself.
Default, meaning and what is allowed are those of the template and of the error messages: `craton.settings` has one line for all.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator, Sequence
from typing import Any

import page_parts as parts
from docutils import nodes
from docutils.parsers.rst import Directive

FROM = {"input": "relative to the configuration's folder", "output": "relative to where craton starts"}


def named(name: str) -> Any:
    """What a dotted name stands for."""
    module, _, attribute = name.rpartition(".")
    return getattr(importlib.import_module(module), attribute)


def tables_of(words: Sequence[str]) -> Iterator[tuple[str, type, str]]:
    """Name as the file has it, class, and how often it may stand there."""
    config = named(words[0])
    listed = {**config.listed, **{name: named(table) for name, table in (word.split("=") for word in words[1:])}}
    for name, table in config.tables.items():
        yield f"[{name}]", table, "may be left out" if name in config.optional else ""
    for name, table in listed.items():
        yield f"[[{name}]]", table, "any number of them"


def allowed(read: Any) -> str:
    """What a reader says of a value that is none."""
    try:
        read(object())
    except ValueError as error:
        return str(error)
    except Exception as error:
        raise RuntimeError(f"a reader of a setting does not refuse an object in a line: {error!r}") from error
    return ""


def key_rows(table: Any) -> Iterator[list[list[nodes.Node]]]:
    """Key, default and meaning of each setting of a table."""
    from craton.settings import REQUIRED, toml_value

    for item in dataclasses.fields(table):
        default = "required" if item.default == REQUIRED else f"`{toml_value(item.default)}`"
        meaning = [parts.paragraph(item.metadata["help"])]
        limits = [allowed(item.metadata["read"]), FROM.get(item.metadata["path"], "")]
        if said := "; ".join(filter(None, limits)):
            meaning.append(parts.paragraph(f"Allowed: {said}"))
        yield [[parts.paragraph(f"`{item.name}`")], [parts.paragraph(default)], meaning]


def sections(words: Sequence[str]) -> Iterator[nodes.section]:
    """A section for each table of a configuration."""
    for name, table, often in tables_of(words):
        about = " ".join((table.__doc__ or "").split())
        content: list[nodes.Node] = [parts.paragraph(about)]
        if often:
            content.append(parts.paragraph(f"In a file: {often}."))
        content.append(parts.table(["key", "default", "meaning"], [20, 20, 60], key_rows(table)))
        yield parts.section(parts.identifier("table", name.strip("[]")), [nodes.literal("", name)], content)


class ConfigurationReference(Directive):
    """Its arguments are the class, with its module, and tables."""

    required_arguments = 1
    optional_arguments = 9

    def run(self) -> list[nodes.Node]:
        """The sections."""
        return list(sections(self.arguments))


def setup(app: Any) -> dict[str, bool]:
    """Connects it to Sphinx."""
    app.add_directive("configuration", ConfigurationReference)
    return {"parallel_read_safe": True}
