"""A plan as tables for a console."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from craton.tomography.plan.comparison import Compared
from craton.tomography.plan.estimate import PARTS
from craton.tomography.plan.forecast import Plan
from craton.tomography.plan.words import duration, ratio, size

if TYPE_CHECKING:
    pass


def plan_table(plan: Plan) -> Table:
    """For a console of rich."""
    work = plan.work
    multiplied = f" of {100 * work.rows / work.samples:.0f}% of their rows" if work.coupled else ""
    table = Table(
        title=f"{work.paths} paths, {work.unknowns} unknowns ({work.touched:.0f} of them touched by a path), "
        f"{work.iterations} iterations of {work.updates:.0f} updates{multiplied}\n"
        f"{plan.ranks} ranks on {plan.nodes} nodes ({plan.machine.name}), "
        f"{work.threads} threads each",
        title_justify="left",
    )
    for column in ("phase", "time", "memory of a rank", "of a node", "sent", "written"):
        table.add_column(column, justify="left" if column == "phase" else "right")
    for phase in plan.phases:
        table.add_row(
            phase.name,
            duration(phase.seconds),
            size(phase.rank_bytes),
            size(phase.node_bytes),
            size(phase.sent_bytes) if phase.sent_bytes else "",
            size(phase.written_bytes) if phase.written_bytes else "",
        )
        if phase.name == "assemble":
            for part in plan.parts:
                table.add_row(f"  {part.name}", duration(part.seconds), "", "", "", "", style="dim")
    table.add_section()
    table.add_row("all", duration(plan.seconds), "", f"{size(plan.node_bytes)} at most", "", "", style="bold")
    return table


def compared_table(plan: Plan, rows: list[Compared]) -> Table:
    """Predicted beside measured."""
    table = Table(title=f"{plan.ranks} ranks on {plan.nodes} nodes: predicted and measured", title_justify="left")
    for column in (
        "phase",
        "predicted",
        "measured",
        "ratio",
        "memory of a rank",
        "measured",
        "ratio",
        "sent",
        "measured",
    ):
        table.add_column(column, justify="left" if column == "phase" else "right")
    for row in rows:
        table.add_row(
            f"  {row.name}" if row.name in PARTS else row.name,
            duration(row.predicted_s),
            duration(row.measured_s),
            ratio(row.predicted_s, row.measured_s),
            size(row.predicted_bytes) if row.predicted_bytes else "",
            size(row.measured_bytes) if row.measured_bytes else "",
            ratio(row.predicted_bytes, row.measured_bytes),
            size(row.predicted_sent) if row.predicted_sent else "",
            size(row.measured_sent) if row.measured_sent else "",
            style="dim" if row.name in PARTS else "",
        )
    return table
