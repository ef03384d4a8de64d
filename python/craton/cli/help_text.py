"""Arranges help texts for a terminal of any width.

The docstring of a command is its help. Paragraphs are separated by blank lines and may be broken anywhere: the terminal breaks
them anew. Indented lines are commands to type: they are a paragraph of their own and stay as they are, in bold. Brackets mean
themselves.
"""

from __future__ import annotations

import inspect
import re
from typing import Any


def arrange_help(command: Any) -> None:
    """Arranges the help of a command of Typer and of its options, in place."""
    command.help = rich_text(command.help or "")
    for parameter in command.params:
        arrange_parameter(parameter)
    find = command.get_help_option

    def help_option(context: Any) -> Any:
        return arrange_parameter(find(context))

    command.get_help_option = help_option


def arrange_parameter(parameter: Any) -> Any:
    """Arranges the help of an option or argument of Typer, in place; doing it again changes nothing."""
    parameter.help = rich_text(parameter.help or "")
    if getattr(parameter, "is_flag", False):
        parameter.metavar = ""  # flags take no value; Typer would print <bool>
    return parameter


def rich_text(text: str) -> str:
    """The text with the markup of rich: commands to type in bold, brackets escaped, every paragraph on one line."""
    separated = re.sub(r"(?m)^(\S.*)\n(?=    )", r"\1\n\n", inspect.cleandoc(text))
    return "\n\n".join(map(_paragraph, re.split(r"\n[^\S\n]*\n", separated)))


def _paragraph(text: str) -> str:
    escaped = re.sub(r"(?<!\\)\[", r"\\[", text)
    if text.startswith("    "):
        return "\n".join(f"[bold]  {line.strip()}[/bold]" for line in escaped.splitlines())
    return " ".join(escaped.split("\n"))
