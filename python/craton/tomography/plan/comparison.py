"""What a run took, beside what was foretold of it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from craton.errors import UserError
from craton.tomography.config.load import Config
from craton.tomography.folder import RunFolder, RunRecord
from craton.tomography.plan.forecast import Plan, make_plan


@dataclass(frozen=True)
class Compared:
    """A phase as it was predicted, and as it was."""

    name: str
    predicted_s: float
    measured_s: float
    predicted_bytes: float = 0.0
    measured_bytes: float = 0.0
    predicted_sent: float = 0.0
    measured_sent: float = 0.0
    """Only of assemble: what the factorisation sends is not counted by a run."""


def plan_of_run(directory: Path, machine_file: Path | None = None) -> tuple[Plan, list[Compared]]:
    """A plan for what a run has done: its ranks, nodes and iterations; beside what it took."""
    folder = RunFolder(directory)
    record = folder.read_record()
    config = Config.build(record.config, folder.record)
    done = max((entry.iteration for entry in record.iterations), default=0)
    if not done or not record.phase_s:
        raise UserError(f"{folder.record}: no iteration was finished; allowed: a run with at least one")
    config = config.replaced("inversion", max_iterations=done)
    per_node = -(-record.ranks // max(1, record.nodes))
    plan = make_plan(config, record.ranks, per_node, machine_file)
    return plan, compare(plan, record)


def compare(plan: Plan, record: RunRecord) -> list[Compared]:
    """Phase by phase; memory 0 where a run has not recorded it."""
    found = []
    for phase in plan.phases:
        measured_s = max(seconds.get(phase.name, 0.0) for seconds in record.phase_s)
        peaks = [own_peak(record, rank, phase.name) for rank in range(len(record.peak_bytes))]
        one = Compared(phase.name, phase.seconds, measured_s, phase.rank_bytes, max(peaks, default=0.0))
        if phase.name == "assemble":
            sent = sum(sent.get("assemble", 0) for sent in record.sent_bytes)
            one = replace(one, predicted_sent=phase.sent_bytes, measured_sent=float(sent))
        found.append(one)
    keys = {"panels": "panel_s", "products": "product_s", "updates": "update_s"}
    for part in plan.parts:
        spent = [seconds.get(keys[part.name], 0.0) for seconds in record.assembly_s]
        found.append(Compared(part.name, part.seconds, sum(spent) / len(spent) / plan.work.threads))
    return found


def own_peak(record: RunRecord, rank: int, phase: str) -> float:
    """A rank's memory at its peak without what it maps of others'."""
    shared = record.shared_bytes[rank] if rank < len(record.shared_bytes) else {}
    return float(record.peak_bytes[rank].get(phase, 0) - shared.get(phase, 0))
