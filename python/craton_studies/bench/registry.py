"""The list of benchmarks, how one is run on all ranks, and the records it leaves."""

from __future__ import annotations

import difflib
import importlib
import itertools
import pkgutil
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import craton
from craton.errors import UserError

import craton_studies.bench

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = [
    "Benchmark",
    "Measurement",
    "Option",
    "Record",
    "Run",
    "benchmark",
    "find",
    "measure",
    "show_help",
    "show_list",
    "show_records",
    "list_of_dicts",
    "to_dicts",
]


@dataclass(frozen=True)
class Measurement:
    """What a benchmark yields: a figure, one value per repeat, and those of the limit in the same unit.

    limit_values may be empty where a figure has no limit of its own; values too, and then `note` says why.
    target: what value / limit must be at least, or at most where less is better.
    """

    name: str
    values: Sequence[float]
    unit: str
    limit_values: Sequence[float] = ()
    limit: str | None = None
    """The limit's name where it is not the benchmark's own."""
    target: float | None = None
    less_is_better: bool = False
    ranks: int | None = None
    """How many, where not all of the job."""
    note: str = ""
    group: str = ""
    """What several figures share; stands before the name in the JSON file and above them in the table."""


@dataclass(frozen=True)
class Record:
    """One line of the table and one object of the JSON file.

    value and limit_value are medians, best and limit_best the best of all repeats; spread = (largest - smallest) / median.
    """

    name: str
    value: float | None
    best: float | None
    unit: str
    limit_name: str
    limit_value: float | None
    limit_best: float | None
    ratio: float | None
    ratio_of_bests: float | None
    target: float | None
    reached: bool | None
    less_is_better: bool
    ranks: int
    threads: int
    repeats: int
    spread: float | None
    host: str
    commit: str
    flags: str
    note: str
    group: str


@dataclass(frozen=True)
class Option:
    """What --set NAME=VALUE may change: the default, whose type the value must have, and what it means."""

    default: int | float | str
    help: str


@dataclass(frozen=True)
class Run:
    """What a benchmark is given, the same on every rank."""

    comm: MPI.Comm
    threads: int
    repeats: int
    ranks_per_node: int
    options: Mapping[str, Any] = field(default_factory=dict)
    """Every option of the benchmark, its default or what --set says."""
    output: Path | None = None
    """The JSON file that was asked for: a benchmark that draws puts its pictures beside it."""

    def seconds(self, work: Callable[[], Any], before: Callable[[], Any] | None = None) -> list[float]:
        """Collective: the seconds of each repeat, from a common start to the last rank's end; one more warms up."""
        from mpi4py import MPI

        times = []
        for _ in range(self.repeats + 1):
            if before is not None:
                before()
            self.comm.barrier()
            start = time.perf_counter()
            work()
            times.append(self.comm.allreduce(time.perf_counter() - start, MPI.MAX))
        return times[1:]

    def deliveries(self, what: str) -> Iterator[tuple[str, int]]:
        """Within a node and between virtual nodes of one rank each: (name, ranks per node), announced as `what`."""
        for name, ranks_per_node in (("direct", 0), ("messages", 1)):
            self.say(f"{what}, {name} ...")
            yield name, ranks_per_node

    def say(self, text: str) -> None:
        """A line on standard error, from rank 0, so that nobody wonders what takes so long."""
        if self.comm.rank == 0:
            from craton.runs.progress import make_console

            make_console(stderr=True).print(text, style="dim", highlight=False)


Function = Callable[[Run], Iterable[Measurement]]


@dataclass(frozen=True)
class Benchmark:
    """What `craton bench` lists and runs."""

    name: str
    what: str
    limit: str
    function: Function
    ranks: int
    options: Mapping[str, Option]

    def chosen(self, settings: Sequence[str]) -> dict[str, Any]:
        """All options, changed by NAME=VALUE each."""
        values: dict[str, Any] = {name: option.default for name, option in self.options.items()}
        for setting in settings:
            name, equals, text = setting.partition("=")
            if name not in values or not equals:
                allowed = ", ".join(f"{known}=..." for known in values) or "none, this benchmark has no settings"
                raise UserError(f"--set {setting}; allowed for '{self.name}': {allowed}")
            kind = type(self.options[name].default)
            try:
                values[name] = kind(text)
            except ValueError:
                words = {int: "a whole number", float: "a number"}[kind]
                raise UserError(f"--set {setting}; allowed: {words}, such as {self.options[name].default}") from None
        return values


REGISTRY: dict[str, Benchmark] = {}


def benchmark(
    name: str, what: str, limit: str, ranks: int = 1, options: Mapping[str, Option] | None = None
) -> Callable[[Function], Function]:
    """Registers a function as the benchmark `name`.

    limit: the name of what it is compared with. ranks: how many are started where the user does not say.
    """

    def register(function: Function) -> Function:
        REGISTRY[name] = Benchmark(name, what, limit, function, ranks, dict(options or {}))
        return function

    return register


def known() -> dict[str, Benchmark]:
    """All benchmarks: those of every module in this folder."""
    for module in pkgutil.iter_modules(craton_studies.bench.__path__):
        importlib.import_module(f"{craton_studies.bench.__name__}.{module.name}")
    return dict(sorted(REGISTRY.items()))


def find(name: str) -> Benchmark:
    """The benchmark of this name; UserError, with the nearest one, where there is none."""
    benchmarks = known()
    if name not in benchmarks:
        close = difflib.get_close_matches(name, benchmarks, n=1)
        hint = f" did you mean '{close[0]}'?" if close else ""
        raise UserError(f"no benchmark '{name}';{hint} allowed: {', '.join(benchmarks)}")
    return benchmarks[name]


def measure(
    chosen: Benchmark,
    comm: MPI.Comm,
    threads: int,
    repeats: int,
    ranks_per_node: int,
    settings: Sequence[str] = (),
    output: Path | None = None,
) -> list[Record]:
    """Collective: runs a benchmark and condenses its measurements. On ranks other than 0 they may lack figures."""
    run = Run(comm, threads, repeats, ranks_per_node, chosen.chosen(settings), output)
    return [condense(found, run, chosen.limit) for found in chosen.function(run)]


def condense(found: Measurement, run: Run, limit_name: str) -> Record:
    """Medians, bests, ratios, and whether the target is reached."""

    def typical(values: Sequence[float]) -> float | None:
        return statistics.median(values) if values else None

    def best(values: Sequence[float]) -> float | None:
        return (min(values) if found.less_is_better else max(values)) if values else None

    def ratio(a: float | None, b: float | None) -> float | None:
        return a / b if a is not None and b else None

    value, limit = typical(found.values), typical(found.limit_values)
    ratio_of_bests = ratio(best(found.values), best(found.limit_values))
    reached = None
    if found.target is not None and ratio_of_bests is not None:
        reached = ratio_of_bests <= found.target if found.less_is_better else ratio_of_bests >= found.target
    build = craton.build_info()
    return Record(
        name=f"{found.group}: {found.name}" if found.group else found.name,
        value=value,
        best=best(found.values),
        unit=found.unit,
        limit_name=(found.limit or limit_name) if found.limit_values else "",
        limit_value=limit,
        limit_best=best(found.limit_values),
        ratio=ratio(value, limit),
        ratio_of_bests=ratio_of_bests,
        target=found.target,
        reached=reached,
        less_is_better=found.less_is_better,
        ranks=found.ranks or run.comm.size,
        threads=run.threads,
        repeats=len(found.values),
        spread=(max(found.values) - min(found.values)) / value if value else None,
        host=platform.node(),
        commit=build.get("commit", "unknown"),
        flags=build.get("flags", "unknown"),
        note=found.note,
        group=found.group,
    )


def show_list() -> None:
    """Prints the list of benchmarks."""
    from craton.runs.progress import make_console
    from rich.table import Table

    table = Table(title="craton bench NAME runs one of", title_justify="left")
    for heading in ("name", "measures", "beside the limit"):
        table.add_column(heading)
    table.add_column("ranks", justify="right")
    for entry in known().values():
        table.add_row(entry.name, entry.what, entry.limit, str(entry.ranks))
    console = make_console()
    console.print(table)
    console.print("craton bench NAME --explain says what one does and what --set may change.", markup=False)


def show_help(chosen: Benchmark) -> None:
    """Prints what one benchmark does, and its settings."""
    import inspect

    from craton.runs.progress import make_console
    from rich.table import Table

    console = make_console()
    console.print(f"[bold]craton bench {chosen.name}[/bold]  --ranks {chosen.ranks}: {chosen.what}")
    if text := inspect.getdoc(chosen.function):
        console.print(f"\n{text}\n", markup=False)
    if chosen.options:
        table = Table(title="--set NAME=VALUE", title_justify="left")
        for heading in ("name", "default", "meaning"):
            table.add_column(heading)
        for name, option in chosen.options.items():
            table.add_row(name, str(option.default), option.help)
        console.print(table)


def show_records(records: Sequence[Record]) -> None:
    """The tables for people, one for each group of figures."""
    from craton.runs.progress import make_console
    from rich.markup import escape

    console = make_console()
    if not console.is_terminal:
        console.width = max(console.width, 180)  # a file has no edge to wrap at
    first = records[0]
    most = max(record.ranks for record in records)
    repeats = max(record.repeats for record in records)
    console.print(f"{most} ranks x {first.threads} threads, up to {repeats} repeats, {first.host}, {first.commit}")
    for group, members in itertools.groupby(records, key=lambda record: record.group):
        if group:
            console.print(f"\n[bold]{escape(group)}[/bold]")
        console.print(_table(list(members)))


def _table(records: Sequence[Record]) -> Any:
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, padding=(0, 1, 0, 0))
    table.add_column("measured", no_wrap=True)
    for heading in ("median", "best"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("unit", no_wrap=True)
    for heading in ("limit", "medians", "bests", "target", "spread"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("limit is", no_wrap=True)
    noted = any(record.note for record in records)
    if noted:
        table.add_column("note", min_width=24)
    for record in records:
        target = "" if record.target is None else f"{'<=' if record.less_is_better else '>='} {record.target:g}"
        if record.reached is not None:
            target += " yes" if record.reached else " NO"
        cells = [
            record.name.removeprefix(f"{record.group}: "),
            _text(record.value),
            _text(record.best),
            record.unit,
            _text(record.limit_value),
            _text(record.ratio, 3),
            _text(record.ratio_of_bests, 3),
            target,
            "" if record.spread is None else f"{record.spread:.0%}",
            record.limit_name,
        ]
        if noted:
            cells.append(escape(record.note))
        table.add_row(*cells, style="red" if record.reached is False else None)
    return table


def _text(value: float | None, digits: int = 4) -> str:
    return "" if value is None else f"{value:.{digits}g}"


def list_of_dicts() -> list[dict[str, Any]]:
    """The benchmarks as JSON lists them."""
    return [{"name": one.name, "what": one.what, "limit": one.limit, "ranks": one.ranks} for one in known().values()]


def to_dicts(records: Sequence[Record]) -> list[dict[str, Any]]:
    """The records as JSON has them."""
    return [asdict(record) for record in records]
