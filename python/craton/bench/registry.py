"""The list of benchmarks, how one is run on all ranks, and the records it leaves."""

from __future__ import annotations

import difflib
import importlib
import json
import pkgutil
import platform
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import craton
import craton.bench
from craton.errors import UserError

if TYPE_CHECKING:
    from mpi4py import MPI

__all__ = [
    "Benchmark",
    "Measurement",
    "Record",
    "Run",
    "benchmark",
    "find",
    "measure",
    "show_list",
    "show_records",
    "write_json",
]


@dataclass(frozen=True)
class Measurement:
    """What a benchmark yields: a rate, one value per repeat, and those of the limit in the same unit."""

    name: str
    values: Sequence[float]
    unit: str
    limit_values: Sequence[float]


@dataclass(frozen=True)
class Record:
    """One line of the table and one object of the JSON file; medians, and spread = (largest - smallest) / median."""

    name: str
    value: float
    unit: str
    limit_name: str
    limit_value: float
    ratio: float
    ranks: int
    threads: int
    repeats: int
    spread: float
    host: str
    commit: str


@dataclass(frozen=True)
class Run:
    """What a benchmark is given, the same on every rank."""

    comm: MPI.Comm
    threads: int
    repeats: int
    ranks_per_node: int

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


Function = Callable[[Run], Iterable[Measurement]]


@dataclass(frozen=True)
class Benchmark:
    name: str
    what: str
    limit: str
    function: Function


REGISTRY: dict[str, Benchmark] = {}


def benchmark(name: str, what: str, limit: str) -> Callable[[Function], Function]:
    """Registers a function as the benchmark `name`. limit: the name of what it is compared with."""

    def register(function: Function) -> Function:
        REGISTRY[name] = Benchmark(name, what, limit, function)
        return function

    return register


def known() -> dict[str, Benchmark]:
    """All benchmarks: those of every module in this folder."""
    for module in pkgutil.iter_modules(craton.bench.__path__):
        importlib.import_module(f"{craton.bench.__name__}.{module.name}")
    return dict(sorted(REGISTRY.items()))


def find(name: str) -> Benchmark:
    benchmarks = known()
    if name not in benchmarks:
        close = difflib.get_close_matches(name, benchmarks, n=1)
        hint = f" did you mean '{close[0]}'?" if close else ""
        raise UserError(f"no benchmark '{name}';{hint} allowed: {', '.join(benchmarks)}")
    return benchmarks[name]


def measure(chosen: Benchmark, comm: MPI.Comm, threads: int, repeats: int, ranks_per_node: int) -> list[Record]:
    """Collective: runs a benchmark and condenses its measurements."""
    run = Run(comm, threads, repeats, ranks_per_node)
    records = []
    for found in chosen.function(run):
        value, limit = statistics.median(found.values), statistics.median(found.limit_values)
        records.append(
            Record(
                name=found.name,
                value=value,
                unit=found.unit,
                limit_name=chosen.limit,
                limit_value=limit,
                ratio=value / limit,
                ranks=comm.size,
                threads=threads,
                repeats=len(found.values),
                spread=(max(found.values) - min(found.values)) / value,
                host=platform.node(),
                commit=craton.build_info().get("commit", "unknown"),
            )
        )
    return records


def show_list() -> None:
    """What there is, for people."""
    from rich.table import Table

    from craton.progress import make_console

    table = Table(title="craton bench NAME runs one of", title_justify="left")
    for heading in ("name", "measures", "beside the limit"):
        table.add_column(heading)
    for entry in known().values():
        table.add_row(entry.name, entry.what, entry.limit)
    make_console().print(table)


def show_records(records: Sequence[Record]) -> None:
    """The table for people."""
    from rich.table import Table

    from craton.progress import make_console

    first = records[0]
    title = f"{first.ranks} ranks x {first.threads} threads, median of {first.repeats}, {first.host}, {first.commit}"
    table = Table(title=title, title_justify="left")
    table.add_column("measured")
    for heading in ("value", "limit", "ratio", "spread"):
        table.add_column(heading, justify="right")
    table.add_column("unit")
    table.add_column("limit is")
    for record in records:
        numbers = (f"{record.value:.4g}", f"{record.limit_value:.4g}", f"{record.ratio:.2f}", f"{record.spread:.0%}")
        table.add_row(record.name, *numbers, record.unit, record.limit_name)
    make_console().print(table)


def write_json(records: Sequence[Record], path: Path) -> None:
    try:
        path.write_text(json.dumps([asdict(record) for record in records], indent=2, allow_nan=False) + "\n")
    except OSError as error:
        raise UserError(
            f"--json {path}: cannot be written: {error.strerror}; allowed: a file in a folder that may be written to"
        ) from None
