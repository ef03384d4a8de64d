"""A plan as tables for a console."""

from __future__ import annotations

from rich.box import SIMPLE_HEAD
from rich.table import Table

from craton.tomography.plan.estimate import PARTS
from craton.tomography.plan.forecast import Compared, Plan, duration, size


def plan_table(plan: Plan) -> Table:
    """The phases of a plan, for a console of rich."""
    work = plan.work
    multiplied = f" of {100 * work.rows / work.samples:.0f}% of their rows" if work.coupled else ""
    table = new_table(
        f"{work.paths} paths, {work.unknowns} unknowns ({work.touched:.0f} of them touched by a path), "
        f"{work.iterations} iterations of {work.updates:.0f} updates{multiplied}\n"
        f"{plan.ranks} ranks on {plan.nodes} nodes ({plan.machine.name}), "
        f"{work.threads} threads each",
        ("phase", "time", "limited by", "memory of a rank", "of a node", "sent", "written"),
    )
    for phase in plan.phases:
        memory = some(phase.rank_bytes), some(phase.node_bytes)
        sent, written = some(phase.sent_bytes), some(phase.written_bytes)
        table.add_row(phase.name, duration(phase.seconds), phase.limit, *memory, sent, written)
        if phase.name == "assemble":
            for part in plan.parts:
                table.add_row(f"  {part.name}", duration(part.seconds), "", "", "", "", "", style="dim")
    table.add_section()
    table.add_row("all", duration(plan.seconds), "", "", f"{size(plan.node_bytes)} at most", "", "", style="bold")
    return table


def compared_table(plan: Plan, rows: list[Compared]) -> Table:
    """Predicted beside measured."""
    table = new_table(
        f"{plan.ranks} ranks on {plan.nodes} nodes: predicted and measured",
        ("phase", "predicted", "measured", "ratio", "memory of a rank", "measured", "ratio", "sent", "measured"),
    )
    for row in rows:
        part = row.name in PARTS
        table.add_row(
            f"  {row.name}" if part else row.name,
            *(duration(row.predicted_s), duration(row.measured_s), ratio(row.predicted_s, row.measured_s)),
            *(some(row.predicted_bytes), some(row.measured_bytes), ratio(row.predicted_bytes, row.measured_bytes)),
            *(some(row.predicted_sent), some(row.measured_sent)),
            style="dim" if part else "",
        )
    return table


def new_table(title: str, columns: tuple[str, ...]) -> Table:
    """The first column holds names, the others numbers."""
    table = Table(title=title, title_justify="left", box=SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="right" if number else "left")
    return table


def some(count: float) -> str:
    """Bytes in words; nothing where there are none."""
    return size(count) if count else ""


def ratio(predicted: float, measured: float) -> str:
    """Predicted over measured; nothing where one of them is 0."""
    return f"{predicted / measured:.2f}" if predicted and measured else ""
