"""`craton example`: copies an example that comes with Craton into a folder of the user's."""

from __future__ import annotations

import difflib
import shlex
import shutil
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

import craton
from craton.cli.options import Json, Overwrite
from craton.cli.output import print_json, print_table
from craton.errors import UserError

CONTENTS = "examples.toml"


@dataclass(frozen=True)
class Example:
    """A folder of files to start with."""

    name: str
    about: str
    commands: tuple[str, ...]
    """Commands to type in the folder of the copy."""
    source: Path

    @property
    def files(self) -> list[str]:
        """Names of the files, relative to the folder."""
        return sorted(str(file) for file in self._all_files() if not _is_result(file))

    def _all_files(self) -> list[Path]:
        return [file.relative_to(self.source) for file in self.source.rglob("*") if file.is_file()]

    def copy(self, directory: Path, overwrite: bool = False) -> None:
        """Copies the files. UserError where a file is there already, or cannot be written."""
        there = next((directory / file for file in self.files if (directory / file).exists()), None)
        if there and not overwrite:
            raise UserError(
                f"craton example {self.name}: {there} is there already; allowed: another folder, or --overwrite"
            )
        try:
            for file in self.files:
                (directory / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(self.source / file, directory / file)
        except OSError as error:
            raise UserError(
                f"craton example {self.name}: {directory}: {error.strerror}; allowed: a folder that may be written to"
            ) from None


def folder() -> Path:
    """The folder of the examples: inside an installed package, or at the top of the checkout."""
    package = Path(craton.__file__).parent
    found = next((place / "examples" for place in (package, *package.parents[:2]) if _holds_examples(place)), None)
    if found is None:
        raise UserError(f"craton example: no folder 'examples' in {package}; install Craton again")
    return found


def examples() -> dict[str, Example]:
    """All examples by name."""
    place = folder()
    contents: dict[str, dict[str, Any]] = tomllib.loads((place / CONTENTS).read_text(encoding="utf-8"))
    return {
        name: Example(name, told["about"], tuple(told["commands"]), place / name) for name, told in contents.items()
    }


def example(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME",
            help="Name of an example. Without it all are listed.",
            autocompletion=lambda: list(examples()),
        ),
    ] = None,
    directory: Annotated[
        Path | None, typer.Argument(metavar="DIR", help="Folder of the copy. Default: a new one called NAME.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Copy an example that comes with Craton, to run and to change.

    List them:

        craton example

    Copy one and run it:

        craton example global
        cd global
        craton tomography run demo.toml --ranks 2
    """
    known = examples()
    if name is None:
        _show(known, as_json)
        return
    if name not in known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f" did you mean '{close[0]}'?" if close else ""
        raise UserError(f"craton example {name}: no such example;{hint} allowed: {', '.join(known)}")
    directory = directory or Path(name)
    known[name].copy(directory, overwrite)
    if as_json:
        print_json({"directory": str(directory), "files": known[name].files, "commands": known[name].commands})
        return
    typer.echo(f"{directory}: {', '.join(known[name].files)}\n\nTo run it:")
    for command in (f"cd {shlex.quote(str(directory))}", *known[name].commands):
        typer.echo(f"    {command}")


def _show(known: dict[str, Example], as_json: bool) -> None:
    if as_json:
        print_json({one.name: {"about": one.about, "files": one.files} for one in known.values()})
        return
    from rich.table import Table

    table = Table(title="craton example NAME copies one of", title_justify="left")
    for heading in ("name", "what it is", "files"):
        table.add_column(heading)
    for one in known.values():
        table.add_row(one.name, one.about, ", ".join(one.files))
    print_table(table)


def _holds_examples(place: Path) -> bool:
    return (place / "examples" / CONTENTS).is_file()


def _is_result(file: Path) -> bool:
    """Whether a file is of a run in a checkout, beside the examples."""
    return any(part == "__pycache__" or part.endswith(("-run", "-data", "-fetched")) for part in file.parts)
