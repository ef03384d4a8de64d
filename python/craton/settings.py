"""What configuration files share: readers of values, tables as dataclasses, and the one line that says what is wrong.

A configuration is one frozen dataclass per TOML table. Every setting carries its help, unit and range beside its default, so
that the check, the error message and the template come from one place.

    @dataclass(frozen=True)
    class RunConfig:
        directory: str = directory_setting()
        threads: int = setting(1, integer(1, 1024), "of each rank")

    @dataclass(frozen=True, kw_only=True, repr=False)
    class Config(Configuration):
        tables = {"run": RunConfig}
        run: RunConfig

    config = Config.build(read_toml(path, "craton waves template"), path)
    config.to_toml(), config.replaced("run", threads=2)
    print(template_of("A run of the wave solver.", Config.tables))
"""

from __future__ import annotations

import dataclasses
import difflib
import json
import math
import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any, ClassVar, Self, TypeVar

from craton.errors import UserError

REQUIRED = "<required>"

# A reader turns what TOML gave into the field's value, or raises ValueError with what is allowed.
Reader = Callable[[Any], Any]
Table = TypeVar("Table")


# ------------------------------------------------------------------------------------------------------------- readers


def finite(value: Any) -> float:
    """Reads a number that is neither infinite nor NaN, as a float."""
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
    """Reads a number from `low` to `high`, as a float. unit: for the error."""
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
    """Reads a whole number from `low` to `high`."""

    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or not low <= value <= high:
            raise ValueError(f"a whole number in [{low}, {high}]")
        return value

    return read


def boolean(value: Any) -> bool:
    """Reads true or false."""
    if not isinstance(value, bool):
        raise ValueError("true or false")
    return value


def choice(*choices: str) -> Reader:
    """Reads one of some words."""

    def read(value: Any) -> str:
        if value not in choices:
            raise ValueError(" or ".join(f'"{choice}"' for choice in choices))
        return str(value)

    return read


def text(value: Any) -> str:
    """Reads a string."""
    if not isinstance(value, str):
        raise ValueError("a string in quotes")
    if "\0" in value:
        raise ValueError("a string without the character NUL")
    return value


def folder_name(value: Any) -> str:
    """Reads a name that a folder can have."""
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}", value):
        raise ValueError("a name of letters, digits, '.', '_' and '-', because a folder is called so")
    return value


# ------------------------------------------------------------------------------------------------------------- tables


def setting(default: Any, read: Reader, text: str, *, path: str = "") -> Any:
    """A dataclass field: a default (or REQUIRED), its reader and its help.

    path: "" no path; "input" a file, "folder" a folder, relative to the configuration; "output" a folder, relative to where craton
    is started.
    """
    return field(default=default, metadata={"read": read, "help": text, "path": path})


def directory_setting() -> Any:
    """The setting `directory` of every application's [run]: the folder of the results."""
    return setting(
        "",
        text,
        'folder of the results, relative to where you start craton; "" is <name of this file>-run',
        path="output",
    )


def read_toml(source: Path, template: str, others: str = "") -> dict[str, Any]:
    """The content of a TOML file. UserError where it cannot be read.

    template: the command that prints one to begin with. others: what files of another kind are allowed, as messages say it.
    """
    allowed = f"allowed: a TOML file ({template} > my.toml makes one){others}"
    try:
        with source.open("rb") as stream:
            return tomllib.load(stream)
    except FileNotFoundError:
        raise UserError(f"{source}: no such file; {allowed}") from None
    except OSError as error:
        raise UserError(f"{source}: cannot be read: {error.strerror}; allowed: a readable TOML file") from None
    except UnicodeDecodeError as error:
        raise UserError(f"{source}: not UTF-8 text at byte {error.start}; {allowed}") from None
    except (ValueError, RecursionError) as error:  # also a number of thousands of digits, or thousands of brackets
        raise UserError(f"{source}: not valid TOML: {error}; {allowed}") from None


def read_table(table: type[Table], name: str, raw: Any, where: str, folder: Path) -> Table:
    """A table as TOML gave it, checked.

    name: of a list of tables "[[name]] 2", with its number. folder: that paths of inputs are relative to. UserError begins with
    `where`, then has [name] and the key.
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
        values[key] = _resolved(value, item.metadata["path"], folder, f"{where}: {label} {key}")
    return table(**values)


_FILES = {
    "input": "file, relative to this configuration's folder",
    "folder": "folder, relative to this configuration's",
    "output": "folder that can be made",
}


def _resolved(value: Any, kind: str, folder: Path, where: str) -> Any:
    if not kind or not value:
        return value
    try:
        path = Path(value).expanduser()
        if kind == "output":
            return str(path.absolute())
        path = (folder / path).absolute()
        if path.is_dir() if kind == "folder" else path.is_file():
            return str(path)
        other = {"folder": f"{path} is a file"}.get(kind, f"{path} is a directory")
        what = other if path.exists() else f"no such {'folder' if kind == 'folder' else 'file'} {path}"
    except (OSError, RuntimeError) as error:  # a name too long, a folder that may not be searched, ~ of an unknown user
        what = getattr(error, "strerror", None) or str(error)
    raise UserError(f"{where} = {shown(value)}: {what}; allowed: a {_FILES[kind]}")


def check_keys(
    raw: Mapping[str, Any],
    allowed: Mapping[str, Any],
    what: str,
    *,
    brackets: bool = False,
    elsewhere: Mapping[str, Sequence[str]] | None = None,
) -> None:
    """UserError for a key that is not allowed, with the nearest one that is.

    elsewhere: commands whose files are taken for such ones, with keys that only theirs have.
    """

    def shown(key: str) -> str:
        return f"[{key}]" if brackets else f"'{key}'"

    for key in raw:
        if key not in allowed:
            close = difflib.get_close_matches(key, allowed, n=1)
            hint = f" did you mean {shown(close[0])}?" if close else ""
            for command, keys in (elsewhere or {}).items():
                if key in keys:
                    hint = f" this is a file of {command};"
            raise UserError(f"{what} {shown(key)};{hint} allowed: {', '.join(allowed)}")


def shown(value: Any) -> str:
    """As TOML writes it, cut short, for messages."""
    text = toml_value(value)
    return text if len(text) <= 80 else text[:77] + "..."


def toml_value(value: Any) -> str:
    """A boolean, number, string or list as TOML writes it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    return repr(value)


def table_to_toml(name: str, table: Any) -> str:
    """A table with all its settings. name: "[name]" for one of a list of tables."""
    lines = [f"{key} = {toml_value(value)}" for key, value in dataclasses.asdict(table).items()]
    return "\n".join([f"[{name}]", *lines]) + "\n"


def template_of(
    heading: str,
    tables: Mapping[str, type],
    examples: Mapping[str, Any] | None = None,
    width: int = 44,
    commented: Sequence[str] = (),
) -> str:
    """A commented TOML file with every table, key and default.

    `heading`: its first line. `tables`: by name, "[name]" for one of a list of tables. `examples`: values to show instead of the
    defaults, by "table.key", or by "key" for whichever table has it. `width`: columns before the help of a key. `commented`: tables
    that stand there as comments, because they change what is computed.
    """
    lines, shown = [f"# {heading}", ""], examples or {}
    for name, table in tables.items():
        off = "# " if name in commented else ""
        lines += [f"# {' '.join((table.__doc__ or '').split())}", f"{off}[{name}]"]
        for item in dataclasses.fields(table):
            value = shown.get(f"{name.strip('[]')}.{item.name}", shown.get(item.name, item.default))
            lines.append(f"{f'{off}{item.name} = {toml_value(value)}':<{width}} # {item.metadata['help']}")
        lines.append("")
    return "\n".join(lines)


# -------------------------------------------------------------------------------------------------- the whole configuration


@dataclass(frozen=True, kw_only=True, repr=False)
class Configuration:
    """A whole configuration: an attribute for each table, and the file. Paths in it are absolute.

    An application derives from it and sets the following; an attribute of a table in `listed` is a tuple and ends in s.

        tables     name in the file -> dataclass
        listed     the same of tables that may be written any number of times, as [[name]]
        optional   names of tables whose attribute is None where the file does not have them
        elsewhere  commands whose files are taken for such ones, with tables that only theirs have
    """

    tables: ClassVar[Mapping[str, type]]
    listed: ClassVar[Mapping[str, type]] = {}
    optional: ClassVar[tuple[str, ...]] = ()
    elsewhere: ClassVar[Mapping[str, Sequence[str]]] = {}
    path: Path = Path("config.toml")

    @classmethod
    def build(cls, raw: Mapping[str, Any], path: Path) -> Self:
        """Makes it from what a TOML file holds, and checks it. UserError names the file, the key, the value and what is allowed."""
        allowed, what = {**cls.tables, **cls.listed}, f"{path}: unknown table"
        check_keys(raw, allowed, what, brackets=True, elsewhere=cls.elsewhere)
        config = cls(**cls._read(raw, path), path=path)
        config.check()
        return config

    @classmethod
    def _read(cls, raw: Mapping[str, Any], path: Path) -> dict[str, Any]:
        """The attributes; an empty [run] directory becomes <name of the file>-run."""
        folder, where = path.absolute().parent, str(path)
        values: dict[str, Any] = {
            name: None
            if name in cls.optional and name not in raw
            else read_table(table, name, raw.get(name, {}), where, folder)
            for name, table in cls.tables.items()
        }
        for name, table in cls.listed.items():
            given = raw.get(name, [])
            if not isinstance(given, list):
                raise UserError(
                    f"{path}: [{name}] is one table; allowed: [[{name}]], in double brackets, for each {name}"
                )
            values[f"{name}s"] = tuple(
                read_table(table, f"[[{name}]] {at}", one, where, folder) for at, one in enumerate(given, 1)
            )
        run = values.get("run")
        if run is not None and not run.directory:
            values["run"] = dataclasses.replace(run, directory=str(Path.cwd() / f"{path.stem}-run"))
        return values

    def __repr__(self) -> str:
        tables = ", ".join(f"[{name}]" for name in (*self.tables, *self.listed))
        return f"<{type(self).__name__} of {self.path.name}: {tables}; to_toml() has every setting>"

    def _repr_html_(self) -> str:
        return f"<b>{escape(self.path.name)}</b><pre>{escape(self.to_toml())}</pre>"

    def check(self) -> None:
        """Refuses, with wrong(), what no single setting can be wrong about alone."""

    def wrong(self, message: str) -> UserError:
        """An error that begins with the file's name."""
        return UserError(f"{self.path}: {message}")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as a TOML file holds them."""
        tables = {name: getattr(self, name) for name in self.tables}
        plain: dict[str, Any] = {name: dataclasses.asdict(table) for name, table in tables.items() if table is not None}
        return plain | {name: [dataclasses.asdict(one) for one in getattr(self, f"{name}s")] for name in self.listed}

    def to_toml(self, leave_out: Sequence[str] = ()) -> str:
        """A TOML file with every default written out, but for some tables; it can be read from any folder."""
        tables = [(name, getattr(self, name)) for name in self.tables if name not in leave_out]
        listed = [(f"[{name}]", one) for name in self.listed for one in getattr(self, f"{name}s")]
        return "\n".join(table_to_toml(name, table) for name, table in tables + listed if table is not None)

    def replaced(self, table: str, **values: Any) -> Self:
        """A copy with some settings of one table replaced, checked as if they had been written in the file."""
        raw = self.to_dict()
        raw.setdefault(table, {}).update(values)
        return type(self).build(raw, self.path)
