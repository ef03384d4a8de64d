"""A plan: what an inversion takes on a machine, and everything that is assumed for it.

Each iteration runs the waves of every station's components and of every earthquake; one step length is taken to do. Kernels are
products of two runs' spectra at every point and frequency. Their panels are added to the Hessian: k n^2 operations for k samples
and n unknowns of a window. A factorisation is n^3 / 3. Spectra are written once, and read once by each rank that needs them: those
of stations once, those of earthquakes once for each group of stations that a node works on.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from craton.errors import UserError
from craton.regional.plan.study import Study
from craton.seismology.plan.machine import OF_HAZARD, Machine
from craton.seismology.plan.tables import HOUR, assumed, duration, hours, size, table_of

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Plan", "Planned", "make_plan"]

SPECTRA = 1.3
"""Time of a wave run with spectra over that of one without, about."""


@dataclass(frozen=True)
class Plan:
    """Of one inversion. Times in s, sizes in bytes."""

    study: str
    nodes: int
    iterations: int
    wave_runs: int
    nodes_of_run: int
    """that one wave run is spread over"""
    wave_run_s: float
    wave_node_s: float
    """of all wave runs, nodes x seconds"""
    adjoint_runs: int
    """wave runs of so many iterations of an adjoint method: two for each earthquake"""
    kernels_core_s: float
    gram_core_s: float
    factor_core_s: float
    spectra_bytes: float
    """of all runs of an iteration"""
    run_bytes: float
    """of one run"""
    hessian_bytes: float
    hessian_nodes: int
    """whose memory holds it, and its factor"""
    file_s: float
    wall_s: float
    limit: str
    """what the wall clock is made of mostly"""

    @property
    def node_s(self) -> float:
        """Nodes x seconds of the allocation."""
        return self.nodes * self.wall_s


def make_plan(study: Study, machine: Machine, nodes: int = 0) -> Plan:
    """The plan. nodes: of the machine's at a time; 0: all. UserError for fewer than a wave run, or the Hessian, needs."""
    nodes = nodes or machine.nodes
    if nodes > machine.nodes:
        raise UserError(f"--nodes {nodes}: {machine.name} has {machine.nodes}; allowed: 1 to {machine.nodes}")
    own = study.fields * 8.0 * study.points * study.frequencies
    spread = math.ceil((study.cells * study.bytes_per_cell + own) / machine.wave_memory_bytes)
    held = math.ceil(2 * study.hessian_bytes / (machine.memory_per_node_gib * 2**30))
    if max(spread, held) > nodes:
        what = (
            f"a wave run of {study.cells:.3g} cells" if spread >= held else f"a Hessian of {study.unknowns:,} unknowns"
        )
        raise UserError(
            f"{what} needs {max(spread, held)} nodes of {machine.name}; allowed: --nodes {max(spread, held)} or more, or a machine "
            "with more memory"
        )
    rate = machine.node_points_per_s * (machine.anelastic if study.anelastic else 1.0)
    rate *= machine.parallel if spread > 1 else 1.0
    wave_run_s = SPECTRA * study.cells * study.steps / (spread * rate) + machine.start_s
    each = study.stations * study.components + study.events
    wave_runs = study.iterations * each + study.events
    wave_node_s = wave_runs * wave_run_s * spread
    windows = study.iterations * study.windows * study.events * study.stations * study.components
    kernels_core_s = 1e-9 * machine.product_ns * windows * study.points * study.frequencies
    flops = 1e9 * machine.gram_gflops
    gram_core_s = windows * study.samples * (study.touched * study.unknowns) ** 2 / flops
    factor_core_s = study.iterations * study.unknowns**3 / 3 / flops
    computing_s = (wave_node_s + (kernels_core_s + gram_core_s + factor_core_s) / machine.cores_per_node) / (
        nodes * machine.busy
    )
    groups = max(1.0, study.stations * study.components / (nodes * machine.cores_per_node))
    read = study.stations * study.components + study.events * min(groups, study.stations * study.components)
    file_s = study.iterations * (each + read) * study.spectra_bytes / (1e9 * machine.file_gb_s)
    parts = {
        "waves": wave_node_s,
        "kernels": kernels_core_s / machine.cores_per_node,
        "panels into the Hessian": gram_core_s / machine.cores_per_node,
        "factorisation": factor_core_s / machine.cores_per_node,
    }
    limit = "files" if file_s > computing_s else max(parts, key=lambda name: parts[name])
    return Plan(
        study=study.name,
        nodes=nodes,
        iterations=study.iterations,
        wave_runs=wave_runs,
        nodes_of_run=spread,
        wave_run_s=wave_run_s,
        wave_node_s=wave_node_s,
        adjoint_runs=2 * study.iterations * study.events,
        kernels_core_s=kernels_core_s,
        gram_core_s=gram_core_s,
        factor_core_s=factor_core_s,
        spectra_bytes=each * study.spectra_bytes,
        run_bytes=study.spectra_bytes,
        hessian_bytes=study.hessian_bytes,
        hessian_nodes=held,
        file_s=file_s,
        wall_s=max(computing_s, file_s),
        limit=limit,
    )


@dataclass(frozen=True)
class Planned:
    """Plans of several studies on one machine."""

    studies: Sequence[Study]
    machine: Machine
    plans: Sequence[Plan]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        plans = [
            asdict(plan) | {"node_hours": plan.node_s / HOUR, "wall_hours": plan.wall_s / HOUR} for plan in self.plans
        ]
        return {"studies": [asdict(one) for one in self.studies], "machine": asdict(self.machine), "plans": plans}

    def table(self) -> Table:
        """What it takes, a column for each study; then what is assumed."""
        plans = self.plans
        rows = [
            ("iterations", [f"{plan.iterations}" for plan in plans]),
            ("wave runs", [f"{plan.wave_runs:,}" for plan in plans]),
            ("of an adjoint method, as many iterations", [f"{plan.adjoint_runs:,}" for plan in plans]),
            ("nodes of a wave run", [f"{plan.nodes_of_run}" for plan in plans]),
            ("a wave run", [duration(plan.wave_run_s) for plan in plans]),
            ("node hours, waves", [hours(plan.wave_node_s) for plan in plans]),
            ("core hours, kernels", [hours(plan.kernels_core_s) for plan in plans]),
            ("core hours, panels into the Hessian", [hours(plan.gram_core_s) for plan in plans]),
            ("core hours, factorisation", [hours(plan.factor_core_s) for plan in plans]),
            ("spectra of a run", [size(plan.run_bytes) for plan in plans]),
            ("spectra of an iteration", [size(plan.spectra_bytes) for plan in plans]),
            ("to write and read them", [duration(plan.file_s) for plan in plans]),
            ("Hessian; nodes that hold it", [f"{size(plan.hessian_bytes)}; {plan.hessian_nodes}" for plan in plans]),
            ("nodes", [f"{plan.nodes:,}" for plan in plans]),
            ("wall clock", [duration(plan.wall_s) for plan in plans]),
            ("node hours in all", [hours(plan.node_s) for plan in plans]),
            ("most of it", [plan.limit for plan in plans]),
        ]
        names = [one.name.partition(":")[0] for one in self.studies]
        first = assumed(self.studies[0], self.machine, OF_HAZARD)
        for study, name in zip(self.studies[1:], names[1:], strict=True):
            first += [
                (f"{label} ({name})", value, origin)
                for (label, value, origin) in assumed(study, self.machine, OF_HAZARD)[: len(study.origin)]
            ]
        return table_of(f"{' and '.join(names)}, on {self.machine.name}", names, rows, first)
