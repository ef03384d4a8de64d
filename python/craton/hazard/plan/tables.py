"""A plan as tables for a console, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from craton.hazard.plan.estimate import Plan, assumptions
from craton.hazard.plan.machine import Machine
from craton.hazard.plan.study import Study

__all__ = ["Planned"]

HOUR = 3600.0
DAY = 86400.0
YEAR = 365.25 * DAY


@dataclass(frozen=True)
class Planned:
    """Plans of several numbers of sites on one machine."""

    study: Study
    machine: Machine
    plans: Sequence[Plan]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        plans = [
            asdict(plan) | {"node_hours": plan.node_s / HOUR, "wall_hours": plan.wall_s / HOUR} for plan in self.plans
        ]
        return {"study": asdict(self.study), "machine": asdict(self.machine), "plans": plans}

    def table(self) -> Table:
        """What it takes, a column for each number of sites; then what is assumed."""
        found = Table(title=f"{self.study.name}, on {self.machine.name}", title_justify="left")
        found.add_column("")
        for plan in self.plans:
            found.add_column(f"{plan.sites:,} sites", justify="right")
        for name, values in self._rows():
            found.add_row(name, *values)
        assumed = Table(title="Assumed: change what you know better", title_justify="left")
        for name, justify in (("", "left"), ("value", "right"), ("from", "left")):
            assumed.add_column(name, justify=justify)  # type: ignore[arg-type]
        for row in assumptions(self.study, self.machine):
            assumed.add_row(*row)
        both = Table.grid()
        for one in (found, assumed):
            both.add_row(one)
        return both

    def _rows(self) -> list[tuple[str, list[str]]]:
        plans = self.plans
        return [
            ("wave runs", [f"{plan.wave_runs:,}" for plan in plans]),
            ("seismograms", [f"{plan.seismograms:,}" for plan in plans]),
            (
                "nodes of a wave run; runs at a time",
                [f"{plan.nodes_of_run}; {plan.runs_at_a_time:,}" for plan in plans],
            ),
            ("a wave run", [duration(plan.wave_run_s) for plan in plans]),
            ("node hours, waves", [_hours(plan.wave_node_s) for plan in plans]),
            ("core hours, post-processing", [_hours(plan.post_core_s) for plan in plans]),
            ("node hours of it that waves do not hide", [_hours(plan.post_node_s) for plan in plans]),
            ("tensors of a site", [size(plan.site_bytes) for plan in plans]),
            ("tensors of all sites, if kept", [size(plan.tensor_bytes) for plan in plans]),
            ("to write and read them", [duration(plan.file_s) for plan in plans]),
            ("nodes", [f"{plan.nodes:,}" for plan in plans]),
            ("wall clock", [duration(plan.wall_s) for plan in plans]),
            ("node hours in all", [_hours(plan.node_s) for plan in plans]),
            ("most of it", [plan.limit for plan in plans]),
        ]


def _hours(seconds: float) -> str:
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
