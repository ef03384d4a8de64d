"""The directive `commands`: every command, argument and option below a word of the command line, from the program itself.

    ```{commands} waves
    ```

Without a word: the commands that belong to no application.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import page_parts as parts
from docutils import nodes
from docutils.parsers.rst import Directive

BOLD = re.compile(r"\[bold\]\s*(.*?)\[/bold\]")


def plain(text: str) -> str:
    """Help without the markup of the terminal."""
    return BOLD.sub(r"\1", text).replace("\\[", "[")


def help_nodes(text: str) -> Iterator[nodes.Node]:
    """The paragraphs of a command's help; commands to type are code."""
    for block in re.split(r"\n\s*\n", text.strip()):
        if block.lstrip().startswith("[bold]"):
            yield parts.code(plain(block))
        elif block:
            yield parts.paragraph(plain(" ".join(block.split())))


def is_group(command: Any) -> bool:
    """Whether it has commands of its own."""
    return hasattr(command, "commands")


def parameter_rows(command: Any, context: Any) -> Iterator[list[list[nodes.Node]]]:
    """Spelling and meaning of each argument and option, with its default."""
    for parameter in command.get_params(context):
        record = None if "--help" in parameter.opts else parameter.get_help_record(context)
        if record:
            spelling, meaning = (" ".join(plain(words).split()) for words in record)
            yield [[parts.paragraph(f"`{spelling}`")], [parts.paragraph(meaning)]]


def command_section(command: Any, words: str, parent: Any) -> nodes.section:
    """A command, or a group with its commands."""
    context = command.context_class(command, info_name=words.rpartition(" ")[2], parent=parent)
    content = list(help_nodes(command.help or ""))
    if rows := list(parameter_rows(command, context)):
        content.append(parts.table(["argument or option", "meaning"], [35, 65], rows))
    if is_group(command):
        content += [command_section(one, f"{words} {name}", context) for name, one in command.commands.items()]
    return parts.section(parts.identifier(words), [nodes.literal("", words)], content)


def sections(word: str | None) -> list[nodes.section]:
    """The commands below a word, or those of no application."""
    import typer
    from craton.commands.main import APPLICATIONS, app

    whole = typer.main.get_command(app)
    context = whole.context_class(whole, info_name="craton")
    if word is not None:
        chosen = whole.commands[word]
        inner = chosen.context_class(chosen, info_name=word, parent=context)
        return [command_section(one, f"craton {word} {name}", inner) for name, one in chosen.commands.items()]
    others = ((name, one) for name, one in whole.commands.items() if name not in APPLICATIONS)
    return [command_section(one, f"craton {name}", context) for name, one in others]


class CommandReference(Directive):
    """Its argument is an application, or nothing."""

    optional_arguments = 1

    def run(self) -> list[nodes.Node]:
        """The sections."""
        return list(sections(self.arguments[0] if self.arguments else None))


def setup(app: Any) -> dict[str, bool]:
    """Connects it to Sphinx."""
    app.add_directive("commands", CommandReference)
    return {"parallel_read_safe": True}
