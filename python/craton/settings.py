"""What configuration files share: readers of values, tables as dataclasses, and the one line that says what is wrong.

A configuration is one frozen dataclass per TOML table. Every setting carries its help, unit and range beside its default, so
that the check, the error message and the template come from one place.
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Any, TypeVar

from craton.errors import UserError

REQUIRED = "<required>"

# A reader turns what TOML gave into the field's value, or raises ValueError with what is allowed.
Reader = Callable[[Any], Any]
Table = TypeVar("Table")


def finite(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError("a finite number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError("a finite number")
    return number


def number(low: float, high: float, unit: str = "") -> Reader:
    allowed = f"a number in [{low:g}, {high:g}] {unit}".rstrip()

    def read(value: Any) -> float:
        try:
            number = finite(value)
        except ValueError:
            raise ValueError(allowed) from None
        if not low <= number <= high:
            raise ValueError(allowed)
        return number

    return read


def integer(low: int, high: int) -> Reader:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"a whole number in [{low}, {high}]")
        return value

    return read


def boolean(value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def choice(*choices: str) -> Reader:
    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError(" or ".join(f'"{choice}"' for choice in choices))
        return str(value)

    return read


def text(value: Any) -> str:
    if not isinstance(value, str):
        raise ValueError("a string in quotes")
    if "\0" in value:
        raise ValueError("a string without the character NUL")
    return value


def setting(default: Any, read: Reader, text: str, *, path: str = "") -> Any:
    """A dataclass field. path: "" no path; "input" a file, relative to the configuration; "output" as it is."""
    return field(default=default, metadata={"read": read, "help": text, "path": path})


def read_toml(source: Path, template: str) -> dict[str, Any]:
    """template: the command that prints a configuration to begin with."""
    try:
        with source.open("rb") as stream:
            return tomllib.load(stream)
    except FileNotFoundError:
        raise UserError(f"{source}: no such file; allowed: a TOML file ({template} > my.toml makes one)") from None
    except OSError as error:
        raise UserError(f"{source}: cannot be read: {error.strerror}; allowed: a readable TOML file") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{source}: not UTF-8 text at byte {error.start}; allowed: a TOML file") from None
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits, or thousands of brackets
        raise UserError(f"{source}: not valid TOML: {error}") from None


def read_table(table: type[Table], name: str, raw: Any, where: str, folder: Path) -> Table:
    """A table as TOML gave it, checked. UserError begins with `where`, then has [name] (of a list of tables [[name]] and the
    number: give both) and the key.
    """
    label = name if name.startswith("[") else f"[{name}]"
    if not isinstance(raw, Mapping):
        raise UserError(f"{where}: {name} = {raw!r} is not a table; allowed: a line {label} with keys below it")
    fields = {item.name: item for item in dataclasses.fields(table)}  # type: ignore[arg-type]
    check_keys(raw, fields, f"{where}: {label} unknown key")
    values: dict[str, Any] = {}
    for key, item in fields.items():
        if key not in raw:
            if item.default == REQUIRED:
                raise UserError(f"{where}: {label} {key} is missing; allowed: {item.metadata['help']}")
            continue
        try:
            value = item.metadata["read"](raw[key])
        except ValueError as error:
            raise UserError(f"{where}: {label} {key} = {shown(raw[key])}; allowed: {error}") from None
        values[key] = resolved(value, item.metadata["path"], folder, f"{where}: {label} {key}")
    return table(**values)


FILES = {"input": "file, relative to this configuration's folder", "output": "folder that can be made"}


def resolved(value: Any, kind: str, folder: Path, where: str) -> Any:
    if not kind or not value:
        return value
    try:
        path = Path(value).expanduser()
        if kind == "output":
            return str(path.absolute())
        path = (folder / path).absolute()
        if path.is_file():
            return str(path)
        what = f"{path} is a directory" if path.is_dir() else f"no such file {path}"
    except (OSError, RuntimeError) as error:  # a name too long, a folder that may not be searched, ~ of an unknown user
        what = getattr(error, "strerror", None) or str(error)
    raise UserError(f"{where} = {shown(value)}: {what}; allowed: a {FILES[kind]}")


def check_keys(raw: Mapping[str, Any], allowed: Mapping[str, Any], what: str, *, brackets: bool = False) -> None:
    """UserError for a key that is not allowed, with the nearest one that is."""

    def shown(key: str) -> str:
        return f"[{key}]" if brackets else f"'{key}'"

    for key in raw:
        if key not in allowed:
            close = difflib.get_close_matches(key, allowed, n=1)
            hint = f" did you mean {shown(close[0])}?" if close else ""
            raise UserError(f"{what} {shown(key)};{hint} allowed: {', '.join(allowed)}")


def shown(value: Any) -> str:
    """As TOML writes it, cut short, for messages."""
    text = toml_value(value)
    return text if len(text) <= 80 else text[:77] + "..."


def toml_value(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    return repr(value)


def table_to_toml(name: str, table: Any) -> str:
    lines = [f"{key} = {toml_value(value)}" for key, value in dataclasses.asdict(table).items()]
    return "\n".join([f"[{name}]", *lines]) + "\n"
