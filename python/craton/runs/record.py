"""record.json: what was run, how far it came and how long it took. The same for every application, which adds fields.

@dataclass(kw_only=True)
class WavesRecord(Record):
    cells: list[int]
    "..."

record = WavesRecord(cells=[30, 28, 24], **facts_of("waves", config.path, config.to_dict(), comm.size, world.node_count, threads))
"""

from __future__ import annotations

import importlib
import json
import platform
import shlex
import sys
import types
import typing
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from craton._extension import extension as _craton
from craton.described import Described
from craton.errors import UserError
from craton.runs.files import strict_json
from craton.runs.words import counted, duration

if TYPE_CHECKING:
    from craton.pages.figures import Figures

__all__ = ["Plain", "Record", "Session", "command_line", "facts_of", "now", "rebuilt", "title_of", "versions"]


class Plain:
    """A dataclass of plain data: JSON, or a dictionary as JSON has it."""

    def to_json(self) -> str:
        """Strict JSON, indented. ValueError for NaN and infinity."""
        return strict_json(asdict(typing.cast(Any, self)))

    def to_dict(self) -> dict[str, Any]:
        """Plain lists, dictionaries, numbers and text."""
        return typing.cast(dict[str, Any], json.loads(self.to_json()))


@dataclass
class Session:
    """One start of a run: the first, or a resumption."""

    started: str
    """UTC, ISO 8601."""
    ranks: int = 1
    threads: int = 1
    """Threads of each rank."""
    at: str = ""
    """Where it went on; empty for the first session."""
    seconds: float = 0.0
    """Wall clock."""


@dataclass(kw_only=True, repr=False)
class Record(Plain, Described):
    """What record.json holds. A run writes it at the latest when it has finished; unknown fields are left out in reading.

    Run and resume return it: its figures() and write_report() draw what is in the run's folder, each time that they are called.
    """

    app: str
    """The application: tomography, waves, hazard, multigrid, scf."""
    title: str
    command: str
    """The command line that was typed."""
    config: dict[str, Any]
    """The configuration with all defaults."""
    versions: dict[str, str]
    """Versions of Craton, its compiler and libraries, NumPy and Python."""
    started: str
    """UTC, ISO 8601: when the first session began."""
    ranks: int = 1
    nodes: int = 1
    threads: int = 1
    """Threads of each rank."""
    host: str = ""
    """Name of the computer on which rank 0 began; empty in records of earlier versions."""
    sessions: list[Session] = field(default_factory=list)
    """When the run was started and resumed."""
    finished: bool = False
    stopped_because: str = ""
    """Why it ended, in words, where there is a choice."""
    seconds: dict[str, float] = field(default_factory=dict)
    """Wall clock of rank 0 by what it was spent on, in the last session."""

    @property
    def spent_s(self) -> float:
        """Wall clock of all sessions."""
        return sum(session.seconds for session in self.sessions)

    @property
    def directory(self) -> Path | None:
        """The run's folder; None for a record that was not read from one and is of no run of this process."""
        found: Path | None = vars(self).get("_directory")
        return found

    def in_directory(self, path: Path) -> Self:
        """The same record, which knows its folder now. record.json does not name it: folders are moved."""
        vars(self)["_directory"] = path.absolute()
        return self

    def figures(self) -> Figures:
        """The run's pictures by name, drawn from the files in its folder: figures of matplotlib. Not collective."""
        found: Figures = self._drawing().figures(self._known_directory())
        return found

    def write_report(self) -> Path:
        """Draws the run's report.html, and returns its path. Not collective."""
        found: Path = self._drawing().write_report(self._known_directory())
        return found

    def _drawing(self) -> Any:
        """The application's package, by its name: it stands above this one, which must not import it."""
        return importlib.import_module(f"craton.{self.app}")

    def _known_directory(self) -> Path:
        if self.directory is None:
            raise UserError(
                f"{type(self).__name__}: its folder is not known; allowed: the record that run() returns or read_record() reads"
            )
        return self.directory

    @property
    def told(self) -> dict[str, str]:
        """What the application says of the run in a few words: label, text."""
        return {}

    def _facts(self) -> dict[str, object]:
        state = "finished" if self.finished else "not finished"
        by = f"{counted(self.ranks, 'rank')} of {counted(self.threads, 'thread')}"
        facts: dict[str, object] = {"run": f"craton {self.app}, {self.title}: {state}", **self.told}
        return facts | {"time": f"{duration(self.spent_s)} on {by}", "folder": self.directory or "not known"}

    @classmethod
    def from_dict(cls, content: dict[str, Any]) -> Self:
        """The inverse of to_dict; see rebuilt."""
        return rebuilt(cls, content)


Made = typing.TypeVar("Made")


def rebuilt(kind: type[Made], content: Any) -> Made:
    """A dataclass from what JSON holds: fields that are dataclasses, or lists of them, become such; unknown ones are left out.

    ValueError, KeyError or TypeError where the content is something else.
    """
    if not isinstance(content, dict):
        raise TypeError(f"{kind.__name__} from {type(content).__name__}")
    hints = _hints(kind)  # type: ignore[arg-type]
    known = {entry.name for entry in fields(kind)}  # type: ignore[arg-type]
    return kind(**{name: _value(hints[name], value) for name, value in content.items() if name in known})


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return typing.get_type_hints(kind)


def _value(hint: Any, value: Any) -> Any:
    """As its field's type says: a dataclass, one or None, a list of them; else as it is. TypeError for another type of JSON."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in inside:
            return None
        rest = [one for one in inside if one is not type(None)]
        return _value(rest[0], value) if len(rest) == 1 else value
    if is_dataclass(hint) and isinstance(hint, type):
        return rebuilt(hint, value)
    if origin is list:
        _need(isinstance(value, list), hint, value)
        return [_value(inside[0], one) for one in value] if inside else value
    if origin is dict or hint is dict:
        _need(isinstance(value, dict), hint, value)
    elif hint is str or hint is bool:
        _need(isinstance(value, hint), hint, value)
    elif hint is int or hint is float:
        _need(isinstance(value, int if hint is int else int | float) and not isinstance(value, bool), hint, value)
    return value


def _need(right: bool, hint: Any, value: Any) -> None:
    if not right:
        raise TypeError(f"{value!r:.80} instead of {getattr(hint, '__name__', hint)}")


def facts_of(
    app: str, source: Path, config: dict[str, Any], ranks: int = 1, nodes: int = 1, threads: int = 1
) -> dict[str, Any]:
    """The common fields of a Record that are known when a run begins. source: the configuration file."""
    return {
        "app": app,
        "title": title_of(source),
        "command": command_line(),
        "config": json.loads(strict_json(config)),
        "versions": versions(),
        "host": platform.node(),
        "started": now(),
        "ranks": ranks,
        "nodes": nodes,
        "threads": threads,
    }


def now() -> str:
    """UTC, to the second, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def versions() -> dict[str, str]:
    """Versions of Craton, its compiler and libraries, NumPy and Python."""
    return {**_craton.build_info(), "numpy": np.__version__, "python": platform.python_version()}


def command_line() -> str:
    """The command line, quoted for a shell."""
    return shlex.join(["craton", *sys.argv[1:]])


def title_of(source: Path) -> str:
    """my_first-run.toml -> "my first run"."""
    return source.stem.replace("_", " ").replace("-", " ")
