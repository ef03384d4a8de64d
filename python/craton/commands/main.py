"""The command `craton`. Everything that needs MPI or takes time to import is imported by the command that needs it."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Sequence
from typing import Annotated, Any

import typer

import craton
from craton._launch import main_guard
from craton.cli.group import Group
from craton.cli.hints import hint
from craton.cli.options import Json
from craton.cli.output import print_json
from craton.commands.example import example
from craton.errors import UserError

COMPLETION = "_CRATON_COMPLETE"
"""Set by the shell when it asks what may follow on the command line."""

APPLICATIONS = ("tomography", "waves", "hazard", "multigrid", "scf", "regional")


class _Craton(Group):
    """Lists the applications first, then the tools."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        commands: dict[str, Any] = {name: self.commands[name] for name in APPLICATIONS} | dict(self.commands)
        for name, command in commands.items():
            command.rich_help_panel = "Applications" if name in APPLICATIONS else "Tools"
        self.commands = commands


app = typer.Typer(
    name="craton",
    help="Six scientific applications on one parallel array library: many ranks add to one distributed array at once.",
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    cls=_Craton,
)


@app.callback(invoke_without_command=True)
def _craton(
    context: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version and exit.")] = False,
) -> None:
    if version:
        build = craton.build_info()
        typer.echo(
            f"craton {craton.__version__} ({build.get('commit', 'unknown')}, {build.get('build_type', 'unknown')})"
        )
    elif context.invoked_subcommand is None:
        typer.echo(context.get_help())


for name in APPLICATIONS:
    app.add_typer(importlib.import_module(f"craton.{name}.commands").app, name=name)
# Not where only the applications are installed, nor where Python finds its folder in a checkout that was built for the demo.
if importlib.util.find_spec("craton_studies") and importlib.util.find_spec("craton_studies._studies"):
    app.add_typer(importlib.import_module("craton_studies.commands").app)
else:

    @app.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})
    def bench() -> None:
        """Measure Craton beside limits of the machine. Needs the package craton_studies, which is not installed."""
        raise UserError(
            "craton bench: craton_studies is not installed; install it with `CRATON_STUDIES=ON pip install .` or "
            "`make build` in Craton's source folder"
        )


app.command()(example)


@app.command()
def doctor(as_json: Json = False) -> None:
    """Examine this installation and machine: MPI, BLAS, HDF5, threads, memory. Say what is wrong and how to cure it.

    The exit code is 1 if something keeps Craton from working.
    """
    from craton.commands import doctor as examination

    findings = examination.examine()
    if as_json:
        print_json([finding.to_dict() for finding in findings])
    else:
        examination.show(findings)
    raise typer.Exit(1 if any(finding.status == "fail" for finding in findings) else 0)


def main() -> None:
    """The console command, on the machine where it is typed and again on every rank that it starts."""
    with main_guard():
        if COMPLETION in os.environ:
            app(prog_name="craton")  # prints what may follow, and exits
        code = invoke(sys.argv[1:])
    sys.exit(code)


def invoke(arguments: Sequence[str]) -> int:
    """Runs a command and returns its exit code. A wrong command line is a UserError like any other.

    Calling `app` instead would make a silent exit code of Ctrl-C.
    """
    command = typer.main.get_command(app)
    try:
        with command.make_context("craton", list(arguments)) as context:
            command.invoke(context)
    except typer.Exit as ended:
        return int(ended.exit_code)
    except Exception as error:
        explain = getattr(error, "format_message", None)  # of the command-line library's own exceptions
        if explain is None:
            raise
        said = explain().rstrip(".") + hint(error, arguments)
        raise UserError(f"{said}; see {_help_command(error)}") from None
    return 0


def _help_command(error: Exception) -> str:
    context = getattr(error, "ctx", None)
    return f"{context.command_path if context else 'craton'} --help"


if __name__ == "__main__":
    main()
