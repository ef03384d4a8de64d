"""Groups of commands: every application lists the verbs of a run first."""

from __future__ import annotations

from typing import Any

import typer
from typer.core import TyperGroup

VERBS = ("template", "check", "run", "resume", "status", "report")
"""What every application can do with a run, in the order of a run's life."""

RUNS = "Runs"
OTHERS = "More"
"""The panels, in the help of a group, of the verbs and of commands that name no panel."""


class _VerbsFirst(TyperGroup):
    """Lists the verbs of a run first, in a panel of their own; then the other commands as they were defined."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        verbs = {name: self.commands[name] for name in VERBS if name in self.commands}
        for name, command in self.commands.items():
            command.rich_help_panel = RUNS if name in verbs else command.rich_help_panel or OTHERS
        self.commands = verbs | {name: command for name, command in self.commands.items() if name not in verbs}

    def list_commands(self, ctx: Any) -> list[str]:
        return list(self.commands)


def group(text: str) -> typer.Typer:
    """An application's commands. Its help is `text`; without a command it is printed."""
    made = typer.Typer(cls=_VerbsFirst, help=text, rich_markup_mode="rich", pretty_exceptions_enable=False)

    @made.callback(invoke_without_command=True)
    def show_help(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    return made
