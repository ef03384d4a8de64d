"""The verbs that read a run's folder, or need none, and are alike in every application: template, status, report."""

from __future__ import annotations

import importlib
from typing import Any

import typer

from craton.cli.options import Json, RunDirectory
from craton.cli.output import print_found, print_json

DRAWS = "Draw report.html again, from the files in the folder of a run."


def add_verbs(
    app: typer.Typer,
    application: str,
    *,
    config: str,
    status: str,
    report: str,
    shows: str,
    example: str,
    draws: str = DRAWS,
) -> None:
    """Adds the commands `template`, `status` and `report` of an application.

    config, status, report: modules that have template(), status(directory) and write_report(directory). They are imported when a
    command runs, so that help stays quick. shows: what status tells. example: a run's folder. draws: what report does.
    """

    @app.command(
        "template",
        help=f"""Print a configuration file with every key explained.

        To begin with:

            craton {application} template > my.toml
        """,
    )
    def template() -> None:
        typer.echo(_from(config, "template")())

    @app.command(
        "status",
        help=f"""Show where a run is: {shows}. The run may be under way.

        Example:
            craton {application} status {example}
        """,
    )
    def show_status(directory: RunDirectory, as_json: Json = False) -> None:
        print_found(_from(status, "status")(directory), as_json)

    @app.command(
        "report",
        help=f"""{draws}

        Example:
            craton {application} report {example}
        """,
    )
    def draw_report(directory: RunDirectory, as_json: Json = False) -> None:
        written = str(_from(report, "write_report")(directory))
        if as_json:
            print_json({"report": written})
        else:
            typer.echo(written)


def _from(module: str, name: str) -> Any:
    return getattr(importlib.import_module(module), name)
