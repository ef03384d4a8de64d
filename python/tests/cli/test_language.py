"""The pieces of the command language: help texts, choices, groups, files of JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import pytest
import typer
from craton.cli.group import OTHERS, RUNS, group
from craton.cli.help_text import rich_text
from craton.cli.options import choice, count, integer, numbers
from craton.cli.output import check_folders, save_json
from craton.cli.verbs import add_verbs
from craton.errors import UserError
from typer.testing import CliRunner


def test_paragraphs_flow_and_examples_stay() -> None:
    text = """Title.

    One sentence that is
    broken here, with a [table].

        craton waves run my.toml
        craton waves status my-run
    """
    assert rich_text(text).split("\n\n") == [
        "Title.",
        r"One sentence that is broken here, with a \[table].",
        "[bold]  craton waves run my.toml[/bold]\n[bold]  craton waves status my-run[/bold]",
    ]
    assert rich_text(rich_text("a [b]")) == r"a \[b]"
    example = rich_text("Title.\n\nExample:\n    craton waves status my-run\n")
    assert example == "Title.\n\nExample:\n\n[bold]  craton waves status my-run[/bold]"


def made_group(short_form: str | None = None) -> typer.Typer:
    app = group("What it does.", short_form)

    @app.command()
    def extra() -> None:
        """Do more."""

    @app.command()
    def run(name: str, kind: Annotated[str, choice("one", "two", text="Which.")] = "one", force: bool = False) -> None:
        """Compute."""
        typer.echo(f"{name} {kind}")

    @app.command()
    def template() -> None:
        """Print."""

    return app


def test_verbs_come_first_in_a_panel_of_their_own() -> None:
    command = typer.main.get_command(made_group())
    assert list(command.commands) == ["template", "run", "extra"]  # type: ignore[attr-defined]
    panels = {name: inner.rich_help_panel for name, inner in command.commands.items()}  # type: ignore[attr-defined]
    assert panels == {"template": RUNS, "run": RUNS, "extra": OTHERS}
    shown = CliRunner().invoke(made_group())
    assert shown.exit_code == 0 and shown.stdout.index("template") < shown.stdout.index("run") < shown.stdout.index(
        "extra"
    )


@pytest.mark.parametrize("words", [["run", "x"], ["x"], ["--kind", "one", "x"]])
def test_a_short_form(words: list[str]) -> None:
    assert CliRunner().invoke(made_group("run"), words).stdout == "x one\n"


def test_a_short_form_whose_option_has_the_name_of_a_command() -> None:
    """As in craton scf --basis sto-3g water.xyz --directory run."""
    assert CliRunner().invoke(made_group("run"), ["--kind", "one", "run.xyz"]).stdout == "run.xyz one\n"
    told = CliRunner().invoke(made_group("run"), ["--kind", "template", "run.xyz"])
    assert told.exit_code == 2 and "template" in told.output and "No such option" not in told.output


def test_without_a_short_form_the_command_is_named() -> None:
    assert CliRunner().invoke(made_group(), ["x"]).exit_code == 2


def test_verbs_that_are_alike(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    parts = SimpleNamespace(
        template=lambda: "a = 1",
        status=lambda folder: SimpleNamespace(to_dict=lambda: {"folder": str(folder)}, table=lambda: f"in {folder}"),
        write_report=lambda folder: folder / "report.html",
    )
    monkeypatch.setitem(sys.modules, "parts", parts)  # type: ignore[arg-type]
    app = made_group()
    add_verbs(app, "made", config="parts", status="parts", report="parts", shows="this and that", example="my-run")

    def said(*words: str) -> str:
        done = CliRunner().invoke(app, list(words))
        assert done.exit_code == 0, done.output
        return done.stdout

    assert said("template") == "a = 1\n"
    assert json.loads(said("status", "run", "--json")) == {"folder": "run"}
    assert said("status", "run") == "in run\n"
    assert Path(said("report", str(tmp_path)).strip()) == tmp_path / "report.html"
    assert json.loads(said("report", "run", "--json")) == {"report": "run/report.html"}
    assert "this and that. The run may be under way." in " ".join(said("status", "--help").split())
    assert "craton made report my-run" in said("report", "--help")


def test_flags_show_no_type() -> None:
    shown = CliRunner().invoke(made_group(), ["run", "--help"]).stdout
    assert "--force" in shown and "<bool>" not in shown


def test_a_choice_names_what_is_allowed() -> None:
    refused = CliRunner().invoke(made_group(), ["run", "x", "--kind", "three"])
    assert refused.exit_code == 2
    assert "'three'; allowed: one, two" in " ".join(refused.output.replace("│", " ").split())


def test_names_of_a_long_choice_stand_in_its_text() -> None:
    short, long = choice("a", "b", text="Which."), choice("lexicographic", "hilbert", "morton", text="Order.")
    assert (short.metavar, short.help) == ("a|b", "Which.")
    assert (long.metavar, long.help) == ("NAME", "Order. One of: lexicographic, hilbert, morton.")


@pytest.mark.parametrize("text", ["0", "-1", "x", "1.5", "9" * 20, str(2**31)])
def test_not_a_count(text: str) -> None:
    with pytest.raises(typer.BadParameter, match="at least 1"):
        count(text)


def test_parsers() -> None:
    assert (count("3"), integer("-2"), numbers("1,2.5", "--at")) == (3, -2, [1.0, 2.5])
    with pytest.raises(typer.BadParameter, match="'1.5'; allowed: a whole number"):
        integer("1.5")
    with pytest.raises(UserError, match="--at 1,x; allowed: numbers with commas between them"):
        numbers("1,x", "--at")


def test_files_of_json(tmp_path: Path) -> None:
    save_json(tmp_path / "a.json", {"x": [1]})
    assert json.loads((tmp_path / "a.json").read_text()) == {"x": [1]}
    with pytest.raises(UserError, match="--output .*: cannot be written: .*; allowed: a file"):
        save_json(tmp_path, {})
    with pytest.raises(
        UserError, match="--load-balance .*: no such folder .*; allowed: a file in a folder that exists"
    ):
        check_folders(load_balance=tmp_path / "none" / "x.png")
