"""What to add to an error of the command-line library: where the option belongs, or where the command is."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Any

INSTEAD = {
    (
        "craton hazard run",
        "--ranks",
    ): "--cores N, of all jobs together; [run] ranks in the configuration, of each wave run",
    ("craton hazard resume", "--ranks"): "--cores N, of all jobs together",
}
"""What is allowed where other applications have an option."""


def hint(error: Exception, arguments: Sequence[str]) -> str:
    """The end of a line about a wrong command line; "" where there is nothing to add. arguments: all words after `craton`."""
    context = getattr(error, "ctx", None)
    if context is None:
        return ""
    option = getattr(error, "option_name", "")
    if option and (instead := INSTEAD.get((context.command_path, option))):
        return f"; allowed: {instead}"
    commands = getattr(context.command, "commands", None)
    if not commands:
        return ""
    return _after_the_verb(context.find_root().command, option, arguments) if option else _in_a_group(error, commands)


def _after_the_verb(command: Any, option: str, arguments: Sequence[str]) -> str:
    """The same command line with the option at its end, where the verb has that option."""
    at = next((at for at, word in enumerate(arguments) if word == option or word.startswith(f"{option}=")), None)
    if at is None:
        return ""
    for value in (0, 1) if "=" not in arguments[at] else (0,):  # a flag, or an option with a value
        moved, others = arguments[at : at + 1 + value], [*arguments[:at], *arguments[at + 1 + value :]]
        found = next((one for one in _options(command, others) if option in one.opts), None)
        if found is not None and ("=" in arguments[at] or bool(getattr(found, "is_flag", False)) == (value == 0)):
            return f"; allowed after the verb: {shlex.join(['craton', *others, *moved])}"
    return ""


def _options(command: Any, words: Sequence[str]) -> Iterator[Any]:
    """Of the command that the first words name."""
    for word in words:
        command = getattr(command, "commands", {}).get(word)
        if command is None:
            return
        if not getattr(command, "commands", None):
            yield from command.params
            return


def _in_a_group(error: Any, commands: dict[str, Any]) -> str:
    """Where a group beside has the command that this one lacks."""
    named = re.match(r"No such command '(.+?)'", error.format_message())
    for name, one in commands.items() if named else ():
        if named is not None and named[1] in getattr(one, "commands", ()):
            return f"; did you mean '{name} {named[1]}'?"
    return ""
