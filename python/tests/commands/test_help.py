"""Every help text: it fits the terminal, its sentences are whole, and options mean the same everywhere."""

from __future__ import annotations

import functools
import itertools
import re
import typing
from collections.abc import Iterator
from typing import Any

import pytest
import typer
from craton.cli import options
from craton.cli.group import RUNS, VERBS
from craton.commands.example import examples as shipped_examples
from craton.commands.main import APPLICATIONS, app
from rich.cells import cell_len

MOST_WORDS = 40
EXAMPLE_WIDTH = 76
"""Of 80 columns: two before it, and two that are free."""

SHARED = {
    "--ranks": options.Ranks,
    "--ranks-per-node": options.RanksPerNode,
    "--threads": options.Threads,
    "--directory": options.Directory,
    "--overwrite": options.Overwrite,
    "--report": options.Report,
    "--json": options.Json,
}
PLANNED = {"check", "plan", "place", "partition"}
"""Commands whose --ranks and --ranks-per-node are those of a run to come; they start none."""

OTHER_SPELLINGS = {
    "--dir": "--directory",
    "--force": "--overwrite",
    "--out": "--output",
    "--np": "--ranks",
    "--nprocs": "--ranks",
    "--restart": "the command resume",
    "--resume": "the command resume",
    "--verbose": "nothing",
}


def walk(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    yield path, command
    for name, inner in getattr(command, "commands", {}).items():
        yield from walk(inner, (*path, name))


COMMANDS = dict(walk(typer.main.get_command(app)))
IDS = [" ".join(path) or "craton" for path in COMMANDS]
every_command = pytest.mark.parametrize("path", COMMANDS, ids=IDS)


def context_of(path: tuple[str, ...]) -> Any:
    context = typer.Context(COMMANDS[()], info_name="craton")
    for length in range(1, len(path) + 1):
        context = typer.Context(COMMANDS[path[:length]], info_name=path[length - 1], parent=context)
    return context


def paragraphs(path: tuple[str, ...]) -> list[str]:
    """Of the help, as the terminal gets them; those to type begin with a mark of bold."""
    return [text for text in (COMMANDS[path].help or "").split("\n\n") if text]


def is_example(paragraph: str) -> bool:
    return paragraph.startswith("[bold]  ")


def examples(path: tuple[str, ...]) -> list[str]:
    found = [line for text in paragraphs(path) if is_example(text) for line in text.splitlines()]
    return [line.replace("[bold]", "").replace("[/bold]", "").replace("\\[", "[").strip() for line in found]


def parameters(path: tuple[str, ...]) -> list[Any]:
    return [each for each in COMMANDS[path].get_params(context_of(path)) if not getattr(each, "hidden", False)]


def check_sentences(text: str) -> None:
    plain = re.sub(r"\[/?bold\]", "", text).replace("\\[", "[")
    assert not re.search(r" [.,;:](\s|$)", plain), plain
    for sentence in re.split(r"(?<=[.:;]) ", plain):
        assert len(sentence.split()) <= MOST_WORDS, sentence


@pytest.mark.parametrize("width", [80, 120])
@every_command
def test_fits_the_terminal(path: tuple[str, ...], width: int, monkeypatch: Any, capsys: Any) -> None:
    monkeypatch.setenv("COLUMNS", str(width))
    COMMANDS[path].get_help(context_of(path))
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 5
    assert max(map(cell_len, lines)) <= width
    for example in examples(path):
        assert any(line.strip() == example for line in lines), f"broken: {example}"


@every_command
def test_sentences_are_whole(path: tuple[str, ...]) -> None:
    texts = paragraphs(path)
    assert texts, "no help"
    assert not is_example(texts[0]) and texts[0].endswith("."), texts[0]
    for text, following in zip(texts, [*texts[1:], ""], strict=True):
        if is_example(text):
            continue
        assert re.match(r"[A-Z0-9`]", text), f"begins within a sentence: {text}"
        assert text.endswith(":") == is_example(following), (
            f"a colon stands before what is typed, and only there: {text}"
        )
        assert text.endswith((".", ":")), f"ends within a sentence: {text}"
        check_sentences(text)


@every_command
def test_examples_can_be_typed(path: tuple[str, ...]) -> None:
    for example in examples(path):
        assert len(example) <= EXAMPLE_WIDTH, example
        words = example.split()
        if "craton" not in words:
            assert re.match(r"(\[[a-z]+\] )?[a-z_]+ = |\[[a-z]+\]$|cd ", example), (
                f"neither a command nor a setting: {example}"
            )
            continue
        check_command(words[words.index("craton") + 1 :], example)


def check_command(words: list[str], example: str) -> None:
    """Its names are those of commands, and its options those of the command."""
    path: tuple[str, ...] = ()
    while words and (*path, words[0]) in COMMANDS:
        path, words = (*path, words[0]), words[1:]
    assert path, example
    command = COMMANDS[path]
    if short_form := getattr(command, "short_form", None):
        path = (*path, short_form) if words else path
    known = {spelling for each in parameters(path) for spelling in (*each.opts, *each.secondary_opts)}
    for word in words:
        if word.startswith("-") and not re.match(r"-[0-9]", word):
            assert word in known, f"{word} is no option: {example}"


WRITING = (">", "-o", "--output", "--picture", "--csv", "--calibrate")


@every_command
def test_files_of_examples_are_there(path: tuple[str, ...]) -> None:
    """Each comes with `craton example`, is written by a command of a help text, is a run's result, or is called the user's own."""
    for example in examples(path):
        for before, word in itertools.pairwise(example.split()):
            if re.fullmatch(r"[\w./-]+\.(toml|xyz|h5|txt|csv|json)", word) and before not in WRITING:
                own = word.startswith(("my.", "my-")) or word.split("/")[0].endswith("-run")
                assert own or word in made_by_commands(), f"{word}: {example}"


@functools.cache
def made_by_commands() -> set[str]:
    shipped = {file for one in shipped_examples().values() for file in one.files}
    pairs = [pair for path in COMMANDS for line in examples(path) for pair in itertools.pairwise(line.split())]
    return shipped | {word for before, word in pairs if before in WRITING}


@every_command
def test_every_option_has_a_text(path: tuple[str, ...]) -> None:
    for parameter in parameters(path):
        assert parameter.help, parameter.name
        assert re.match(r"[A-Z0-9`.\-]", parameter.help), f"{parameter.name}: {parameter.help}"
        assert parameter.help.endswith((".", ".)")), f"{parameter.name}: {parameter.help}"
        check_sentences(parameter.help)


@every_command
def test_options_mean_the_same_everywhere(path: tuple[str, ...]) -> None:
    for parameter in parameters(path):
        for spelling in (*parameter.opts, *parameter.secondary_opts):
            assert spelling not in OTHER_SPELLINGS, f"{spelling}: the language has {OTHER_SPELLINGS[spelling]}"
            assert re.fullmatch(r"--[a-z0-9]+(-[a-z0-9]+)*|-o|[a-z_0-9]+", spelling), spelling
        shared = next((SHARED[spelling] for spelling in parameter.opts if spelling in SHARED), None)
        if path[-1:] and path[-1] in PLANNED and parameter.opts[0] == "--ranks":
            shared = options.PlannedRanks
        if path[:1] == ("hazard",) and parameter.opts[0] == "--ranks":
            assert parameter.help.startswith("Processes of each wave run.")  # the command itself is one process
            continue
        if shared is None or (path[-1] in PLANNED and parameter.opts[0] == "--ranks-per-node"):
            continue
        info = typing.get_args(shared)[1]
        assert parameter.help.startswith(info.help), f"{parameter.opts[0]}: {parameter.help}"
        assert (parameter.metavar or None) == info.metavar


@every_command
def test_results_go_to_a_directory(path: tuple[str, ...]) -> None:
    """--output names a file; a folder of results is --directory's."""
    for parameter in parameters(path):
        if "--output" in parameter.opts:
            assert parameter.metavar and "DIR" not in parameter.metavar, parameter.metavar
            assert "-o" in parameter.opts
        if parameter.param_type_name == "argument":
            assert parameter.metavar and parameter.metavar == parameter.metavar.upper(), parameter.metavar
            assert parameter.metavar != "RUN", "the folder of a run is called DIR"


@pytest.mark.parametrize("application", APPLICATIONS)
def test_every_application_has_the_verbs(application: str) -> None:
    group = COMMANDS[(application,)]
    assert list(group.commands)[: len(VERBS)] == list(VERBS)
    assert {name for name, command in group.commands.items() if command.rich_help_panel == RUNS} == set(VERBS)


@pytest.mark.parametrize("application", APPLICATIONS)
@pytest.mark.parametrize(
    ("verb", "expected"),
    [
        ("template", set()),
        ("check", {"CONFIG", "--json"}),
        ("run", {"CONFIG", "--directory", "--overwrite", "--report", "--json"}),
        ("resume", {"DIR", "--json"}),
        ("status", {"DIR", "--json"}),
        ("report", {"DIR", "--json"}),
    ],
)
def test_a_verb_takes_the_same_everywhere(application: str, verb: str, expected: set[str]) -> None:
    found = parameters((application, verb))
    names = {spelling for each in found for spelling in (*each.opts, each.metavar)}
    assert expected <= names
