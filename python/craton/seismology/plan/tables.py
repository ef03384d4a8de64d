"""Tables of a plan: what it takes, a column for each size, and everything that is assumed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from craton.seismology.plan.machine import Machine

__all__ = ["assumed", "duration", "hours", "size", "table_of"]

HOUR = 3600.0
DAY = 86400.0
YEAR = 365.25 * DAY


def table_of(
    title: str, columns: Sequence[str], rows: Sequence[tuple[str, Sequence[str]]], assumptions: Sequence[Sequence[str]]
) -> Table:
    """Both tables, one below the other. rows: a name and a value for each column. assumptions: name, value, origin."""
    found = Table(title=title, title_justify="left")
    found.add_column("")
    for column in columns:
        found.add_column(column, justify="right")
    for name, values in rows:
        found.add_row(name, *values)
    below = Table(title="Assumed: change what you know better", title_justify="left")
    for name, justify in (("", "left"), ("value", "right"), ("from", "left")):
        below.add_column(name, justify=justify)  # type: ignore[arg-type]
    for row in assumptions:
        below.add_row(*row)
    both = Table.grid()
    for one in (found, below):
        both.add_row(one)
    return both


def assumed(study: Any, machine: Machine, leave_out: Sequence[str] = ()) -> list[tuple[str, str, str]]:
    """Name, value and where it comes from, of everything that a plan uses.

    study: with `origin`, where each of its numbers comes from. leave_out: of the machine's.
    """
    origins: Mapping[str, str] = study.origin
    rows = [
        (name.replace("_", " "), _shown(getattr(study, name)), origin)
        for name, origin in origins.items()
        if name != "sites"
    ]
    help_of = {item.name: item.metadata["help"] for item in dataclasses.fields(Machine)}
    stated: dict[str, Any] = dataclasses.asdict(machine)
    unused = () if machine.gpus_per_node else ("gpu_memory_gib", "gpu_mpoints_per_s", "gpus_per_node")
    rows += [
        (name.replace("_", " "), _shown(value), f"{machine.name}: {help_of[name]}")
        for name, value in stated.items()
        if name not in ("name", *unused, *leave_out) and not (machine.gpus_per_node and name == "core_mpoints_per_s")
    ]
    return rows


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:,.6g}" if isinstance(value, int | float) else str(value)


def hours(seconds: float) -> str:
    """Three digits."""
    return f"{seconds / HOUR:,.3g}" if seconds < 1000 * HOUR else f"{seconds / HOUR:,.0f}"


def duration(seconds: float) -> str:
    """Three digits, in seconds, minutes, hours, days or years."""
    for unit, length in (("years", YEAR), ("days", DAY), ("h", HOUR), ("min", 60.0)):
        if seconds >= 2 * length:
            return f"{seconds / length:.3g} {unit}"
    return f"{seconds:.3g} s"


def size(count: float) -> str:
    """Three digits, in MB to PB, powers of ten as file systems sell them."""
    for unit, length in (("PB", 1e15), ("TB", 1e12), ("GB", 1e9)):
        if count >= length:
            return f"{count / length:.3g} {unit}"
    return f"{count / 1e6:.3g} MB"
