"""`craton tomography plan`: what a run will take, phase by phase, before it is started."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from craton._launch import launched_size, usable_cores
from craton.runs import process_memory
from craton.tomography.config.load import check_ranks
from craton.tomography.plan.calibration import calibrate_alone, calibrate_on
from craton.tomography.plan.estimate import GIB, Estimate, Forecast
from craton.tomography.plan.machine import Machine, load_machine, save_machine
from craton.tomography.plan.words import duration, size
from craton.tomography.plan.work import Geometry, Work, count_work

if TYPE_CHECKING:
    from craton.tomography.config.load import Config


@dataclass(frozen=True)
class Plan:
    """What a run will take on a machine."""

    work: Work
    machine: Machine
    ranks: int
    ranks_per_node: int
    phases: tuple[Forecast, ...]
    parts: tuple[Forecast, ...]
    warnings: tuple[str, ...]

    @property
    def nodes(self) -> int:
        return -(-self.ranks // self.ranks_per_node)

    @property
    def seconds(self) -> float:
        return sum(phase.seconds for phase in self.phases)

    @property
    def node_bytes(self) -> float:
        return max(phase.node_bytes for phase in self.phases)

    @property
    def limit(self) -> str:
        """The phase that takes longest, in words."""
        slowest = max(self.phases, key=lambda phase: phase.seconds)
        name = slowest.name
        if name == "assemble":
            name += f", mostly {max(self.parts, key=lambda part: part.seconds).name}"
        return f"{name}: {duration(slowest.seconds)} of {duration(self.seconds)}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values, SI."""
        return {
            "work": vars(self.work) | {"unknowns": self.work.unknowns},
            "machine": vars(self.machine),
            "ranks": self.ranks,
            "ranks_per_node": self.ranks_per_node,
            "nodes": self.nodes,
            "seconds": self.seconds,
            "node_bytes": self.node_bytes,
            "limit": self.limit,
            "phases": [vars(phase) for phase in self.phases],
            "parts_of_assemble": [vars(part) for part in self.parts],
            "warnings": list(self.warnings),
        }


def make_plan(
    config: Config,
    ranks: int,
    ranks_per_node: int = 0,
    machine_file: Path | None = None,
    calibrate_to: Path | None = None,
    tell: Callable[[str], None] = lambda _: None,
) -> Plan:
    """A plan for a configuration; without a machine file this machine's rates are measured, and kept where `calibrate_to` says.

    For several ranks mpiexec is started to measure them, and SystemExit raised if they fail, which they have explained by then.
    tell: gets a line before that, which may take minutes. Not collective.
    """
    check_ranks(config, ranks)
    process_bytes = process_memory.resident_bytes()
    machine = None if machine_file is None else load_machine(machine_file)
    work, geometry = count_work(config)
    if machine is None:
        cores = usable_cores()
        at_once = min(min(ranks, ranks_per_node or ranks) * config.assembly.threads, cores)
        if launched_size() is not None:  # a process of an MPI job starts no other
            at_once = 1
        tell(f"measuring this machine with {at_once} of its {cores} cores busy: half a minute, or more with many cores")
        if at_once == 1:
            machine = calibrate_alone(config, geometry, process_bytes)
        else:
            machine, spent_s = calibrate_on(config, at_once)
            geometry = replace(geometry, spent_s=spent_s)
    if calibrate_to is not None:
        save_machine(machine, calibrate_to)
    return predict(work, geometry, machine, ranks, ranks_per_node)


def predict(work: Work, geometry: Geometry, machine: Machine, ranks: int, ranks_per_node: int = 0) -> Plan:
    """The forecast of every phase. ranks_per_node 0: as many as a node has cores for, of the threads of each."""
    per_node = min(ranks, ranks_per_node or max(1, machine.cores_per_node // work.threads))
    estimate = Estimate(work, geometry, machine, ranks, per_node)
    phases, parts = estimate.phases(), estimate.parts()
    return Plan(work, machine, ranks, per_node, phases, parts, tuple(warnings(work, machine, ranks, per_node, phases)))


def warnings(work: Work, machine: Machine, ranks: int, per_node: int, phases: tuple[Forecast, ...]) -> list[str]:
    """What a user should know before starting it."""
    found = []
    room = machine.memory_per_node_gib * GIB
    worst = max(phases, key=lambda phase: phase.node_bytes)
    if worst.node_bytes > room:
        found.append(
            f"memory does not suffice: {worst.name} needs {size(worst.node_bytes)} on a node that has {size(room)} free; "
            "more nodes, fewer ranks on each, or a smaller [basis]"
        )
    threads = per_node * work.threads
    if threads > machine.cores_per_node:
        found.append(f"{threads} threads on the {machine.cores_per_node} cores of a node take turns")
    if ranks * work.subset > work.paths:
        found.append(
            f"{work.paths} paths in subsets of {work.subset} are fewer than {ranks} ranks need: make [assembly] subset smaller"
        )
    if work.counted_paths < work.paths:
        found.append(
            f"touched parameters were counted for {work.counted_paths} of {work.paths} paths, chosen at random"
        )
    if work.prior_kind != "gaussian":
        found.append(
            f'the prior "{work.prior_kind}" is solved for by iterations whose time and memory are not in this plan'
        )
    busy = min(threads, machine.cores_per_node)
    if machine.measured_ranks < busy:
        found.append(
            f"rates were measured with {machine.measured_ranks} of a node's cores busy, the run has {busy}: expect it to be slower"
        )
    if -(-ranks // per_node) > 1:
        found.append(
            f"the network's {machine.network_gb_s:g} GB/s into and out of a node are taken from the machine file"
        )
    return found
