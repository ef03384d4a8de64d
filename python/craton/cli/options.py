"""Arguments and options that mean the same in every command: each text is written once."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import typer

from craton.errors import UserError

WIDEST_CHOICE = 24
"""Characters of the names of a choice that stand beside its option; longer ones stand in its text."""


def count(text: str) -> int:
    """Parses a positive whole number."""
    number = int(text) if re.fullmatch("[0-9]{1,10}", str(text)) else 0  # a default is a number already
    if not 1 <= number < 2**31:
        raise typer.BadParameter(f"'{text}'; allowed: a whole number of at least 1 and less than {2**31}")
    return number


def integer(text: str) -> int:
    """Parses a whole number, with or without a sign."""
    if not re.fullmatch("[+-]?[0-9]{1,6}", str(text)):
        raise typer.BadParameter(f"'{text}'; allowed: a whole number")
    return int(text)


def numbers(text: str, option: str) -> list[float]:
    """Parses numbers separated by commas."""
    try:
        return [float(part) for part in text.split(",")]
    except ValueError:
        raise UserError(f"{option} {text}; allowed: numbers with commas between them") from None


def choice(*names: str, text: str, option: str = "") -> Any:
    """An option that takes one of these names, with `text` as its help; the shell completes them.

    `option` names it on the command line where it is not called like its parameter.
    """

    def parse(given: str) -> str:
        if given not in names:
            raise typer.BadParameter(f"'{given}'; allowed: {', '.join(names)}")
        return given

    def complete() -> list[str]:
        return list(names)

    metavar = "|".join(names)
    if len(metavar) > WIDEST_CHOICE:
        metavar, text = "NAME", f"{text} One of: {', '.join(names)}."
    spelling = (option,) if option else ()
    return typer.Option(*spelling, metavar=metavar, parser=parse, autocompletion=complete, help=text)


ConfigFile = Annotated[
    Path,
    typer.Argument(metavar="CONFIG", help="TOML file. The command `template` prints one with every key explained."),
]
RunDirectory = Annotated[Path, typer.Argument(metavar="DIR", help="Folder of a run.")]
ChangedConfig = Annotated[
    Path | None,
    typer.Argument(
        metavar="CONFIG",
        help="TOML file with settings that a resumed run may change. Default: the configuration that the run began with.",
    ),
]
Ranks = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        parser=count,
        help="Processes to start with mpiexec. Leave it out under your own mpirun or srun.",
    ),
]
RanksPerNode = Annotated[
    int | None,
    typer.Option(
        metavar="K",
        parser=count,
        help="Treat every K consecutive ranks as one node, to try out on one machine what happens between several.",
    ),
]
PLANNED_RANKS = typer.Option(
    "--ranks", metavar="N", parser=count, help="Ranks of the run to come. This command starts none."
)
PlannedRanks = Annotated[int | None, PLANNED_RANKS]
Threads = Annotated[int | None, typer.Option(metavar="T", parser=count, help="Threads of each rank.")]
Directory = Annotated[Path | None, typer.Option(metavar="DIR", help="Folder of the results.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace results that are already there.")]
Report = Annotated[
    bool,
    typer.Option(
        "--report/--no-report",
        help="Write report.html, a page with pictures and tables. Several ranks of your own mpirun or srun write none.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
Engine = Annotated[
    str | None,
    choice(
        "local", "parsl", text="What runs the jobs: this machine, or Parsl (a cluster, a cloud) as --parsl-config says."
    ),
]
ParslConfig = Annotated[
    Path | None,
    typer.Option(metavar="FILE", help="Python file with config = parsl.Config(...), for --engine parsl."),
]
Cores = Annotated[int | None, typer.Option(metavar="N", parser=count, help="Cores of all jobs together.")]


def engine_settings(engine: str | None, parsl_config: Path | None) -> dict[str, str | None]:
    """Settings of [run] that options for the engine stand for. A file for Parsl alone means Parsl."""
    if parsl_config is None:
        return {"engine": engine}
    return {"engine": engine or "parsl", "parsl_config": str(parsl_config.absolute())}
