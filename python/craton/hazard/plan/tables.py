"""A plan as tables for a console, and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

from rich.table import Table

from craton.hazard.plan.estimate import Plan
from craton.hazard.plan.study import Study
from craton.seismology.plan.machine import OF_INVERSIONS, Machine
from craton.seismology.plan.tables import HOUR, assumed, duration, hours, size, table_of

__all__ = ["Planned"]


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
        title = f"{self.study.name}, on {self.machine.name}"
        columns = [f"{plan.sites:,} sites" for plan in self.plans]
        return table_of(title, columns, self._rows(), assumed(self.study, self.machine, OF_INVERSIONS))

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
            ("node hours, waves", [hours(plan.wave_node_s) for plan in plans]),
            ("core hours, post-processing", [hours(plan.post_core_s) for plan in plans]),
            ("node hours of it that waves do not hide", [hours(plan.post_node_s) for plan in plans]),
            ("tensors of a site", [size(plan.site_bytes) for plan in plans]),
            ("tensors of all sites, if kept", [size(plan.tensor_bytes) for plan in plans]),
            ("to write and read them", [duration(plan.file_s) for plan in plans]),
            ("nodes", [f"{plan.nodes:,}" for plan in plans]),
            ("wall clock", [duration(plan.wall_s) for plan in plans]),
            ("node hours in all", [hours(plan.node_s) for plan in plans]),
            ("most of it", [plan.limit for plan in plans]),
        ]
