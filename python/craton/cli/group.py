"""Groups of commands: every application lists the verbs of a run first."""

from __future__ import annotations

import difflib
import itertools
from pathlib import Path
from typing import Any

import typer
from typer.core import TyperGroup

from craton.cli.help_text import arrange_help, arrange_parameter

VERBS = ("template", "check", "run", "resume", "status", "report")
"""What every application can do with a run, in the order of a run's life."""

RUNS = "Runs"
OTHERS = "More"
"""The panels, in the help of a group, of the verbs and of commands that name no panel."""


LONGEST_SLIP = 20
"""Letters of a word that may be a command with a slip."""


class Group(TyperGroup):
    """A group whose help is arranged as `craton.cli.help_text` says, on whatever terminal."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        for command in (self, *self.commands.values()):
            if command is self or not isinstance(command, Group):
                arrange_help(command)

    def list_commands(self, ctx: Any) -> list[str]:
        """Names of the commands, in the order in which they were added."""
        del ctx
        return list(self.commands)

    def get_params(self, ctx: Any) -> list[Any]:
        """The group's options, with their help arranged."""
        return [arrange_parameter(parameter) for parameter in super().get_params(ctx)]


class Application(Group):
    """The commands of an application: the verbs of a run in a panel of their own, then the others as they were defined."""

    short_form: str | None = None
    """The command that is meant where none is named: `craton scf water.xyz` for `craton scf run water.xyz`."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        commands: dict[str, Any] = dict(self.commands)
        verbs = {name: commands[name] for name in VERBS if name in commands}
        for name, command in commands.items():
            command.rich_help_panel = RUNS if name in verbs else command.rich_help_panel or (OTHERS if verbs else None)
        self.commands = verbs | {name: command for name, command in commands.items() if name not in verbs}

    def _slip(self, args: list[str]) -> bool:
        """Whether the words are a command with a slip, which is told as such.

        The first is no file and like a command; or it is an option that should come after the command.
        """
        first = args[0]
        if first.startswith("-"):
            options = self.commands[self.short_form].params if self.short_form else []
            valued = {name for one in options if not getattr(one, "is_flag", True) for name in one.opts}
            return any(word in self.commands and before not in valued for before, word in itertools.pairwise(args))
        if not first.isalpha() or len(first) > LONGEST_SLIP or Path(first).exists():
            return False
        return bool(difflib.get_close_matches(first, self.commands))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts in the short form's command where the first word names none."""
        if self.short_form and args and args[0] not in (*self.commands, "--help") and not self._slip(args):
            args = [self.short_form, *args]
        return super().parse_args(ctx, args)


def group(text: str, short_form: str | None = None) -> typer.Typer:
    """An application's commands. Without a command its help is printed: `text`, then the commands.

    `short_form` names the command that is meant where the first word is none.
    """
    kind = type("Application", (Application,), {"short_form": short_form})
    made = typer.Typer(cls=kind, help=text, rich_markup_mode="rich", pretty_exceptions_enable=False)

    @made.callback(invoke_without_command=True)
    def show_help(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    return made
