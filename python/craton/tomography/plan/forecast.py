"""`craton tomography plan`: what a run will take, phase by phase, before it is started; and what one took, beside that."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from craton._launch import launched_size, usable_cores
from craton.errors import UserError
from craton.runs import process_memory
from craton.tomography.config.load import Config, as_it_was, check_ranks
from craton.tomography.folder import RunFolder, RunRecord
from craton.tomography.plan.estimate import GIB, MIB, PHASES, Estimate
from craton.tomography.plan.machine import Machine, load_machine, save_machine
from craton.tomography.plan.profiles import DEFAULT, PROFILES, profile
from craton.tomography.plan.work import Geometry, Work, count_work


def duration(seconds: float) -> str:
    """Three digits, in seconds, minutes or hours."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"


def size(count: float) -> str:
    """Three digits, in MiB, GiB or TiB."""
    if count < 999 * MIB:
        return f"{count / MIB:.3g} MiB"
    return f"{count / GIB:.3g} GiB" if count < 999 * GIB else f"{count / (1024 * GIB):.3g} TiB"


class Plan(Estimate):
    """What a run will take on a machine, and what a user should know of it."""

    @property
    def seconds(self) -> float:
        """Sum over all phases."""
        return sum(phase.seconds for phase in self.phases)

    @property
    def node_bytes(self) -> float:
        """Memory of a node in the phase that needs most."""
        return max(phase.node_bytes for phase in self.phases)

    @property
    def limit(self) -> str:
        """The phase that takes longest, in words; and what comes before and after, of which a short run mostly consists."""
        slowest = max((phase for phase in self.phases if phase.name in PHASES), key=lambda phase: phase.seconds)
        name = f"{slowest.name}, by {slowest.limit}"
        if slowest.name == "assemble":
            name += f", mostly {max(self.parts, key=lambda part: part.seconds).name}"
        around = [f"{phase.name} {duration(phase.seconds)}" for phase in self.phases if phase.name not in PHASES]
        return f"{name}: {duration(slowest.seconds)} of {duration(self.seconds)}; before and after: {', '.join(around)}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know before starting the run."""
        work, machine, found = self.work, self.machine, []
        room = machine.memory_per_node_gib * GIB
        worst = max(self.phases, key=lambda phase: phase.node_bytes)
        if worst.node_bytes > room:
            found.append(
                f"memory does not suffice: {worst.name} needs {size(worst.node_bytes)} on a node that has {size(room)} free; "
                "more nodes, fewer ranks on each, or a smaller [basis]"
            )
        threads = self.ranks_per_node * work.threads
        if threads > machine.cores_per_node:
            found.append(f"{threads} threads on the {machine.cores_per_node} cores of a node take turns")
        if self.ranks > 1 and self.ranks * work.subset > work.paths:
            found.append(
                f"{work.paths} paths in subsets of {work.subset} are fewer than {self.ranks} ranks need: make [assembly] subset "
                "smaller"
            )
        if work.counted_paths < work.paths:
            counted = f"{work.counted_paths} of {work.paths} paths"
            found.append(f"touched parameters were counted for {counted}, chosen at random")
        if work.prior_kind != "gaussian":
            solved = f'the prior "{work.prior_kind}" is solved for by iterations'
            found.append(f"{solved} whose time, and memory of the grid, are not in this plan")
        if work.outside:
            found.append("[synthetics] names an outside solver, whose time and memory are not in this plan")
        busy = min(threads, machine.cores_per_node)
        if machine.measured_ranks == 0:
            stated = (
                f"rates are stated, not measured: those of a {machine.name} of {machine.cores_per_node} cores a node"
            )
            found.append(f"{stated}; `craton tomography plan --measure` measures this machine")
        elif machine.measured_ranks < busy:
            measured = f"rates were measured with {machine.measured_ranks} of a node's cores busy"
            found.append(f"{measured}, the run has {busy}: expect it to be slower")
        if self.nodes > 1:
            network = f"{machine.network_gb_s:g} GB/s and {machine.network_latency_us:g} us of the network"
            found.append(f"{network} between nodes, and {100 * machine.jitter:g}% of jitter, are assumed, not measured")
        return tuple(found)

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
    measure: bool = False,
) -> Plan:
    """A plan for a configuration, by the rates of a machine file; of this machine, with `measure`; or else by stated ones.

    machine_file: a file, or a name in PROFILES. calibrate_to: where measured rates are kept; it makes `measure` true. For several
    ranks mpiexec is started to measure them, and SystemExit raised if they fail, which they have explained by then.
    tell: gets a line before that, which may take minutes. Not collective.
    """
    check_ranks(config, ranks)
    process_bytes = process_memory.resident_bytes()
    name = DEFAULT if machine_file is None else str(machine_file)
    stated = not (measure or calibrate_to) and (machine_file is None or (name in PROFILES and not Path(name).is_file()))
    if machine_file is not None and not stated and len(machine_file.parts) == 1 and not machine_file.exists():
        raise UserError(
            f"--machine {name}: no such file; allowed: {', '.join(PROFILES)}, or a file that `craton tomography plan CONFIG "
            "--calibrate FILE` writes"
        )
    machine = None if machine_file is None or stated else load_machine(machine_file)  # before what takes longer
    work, geometry = count_work(config)
    if stated:
        machine = profile(name, work.coupled, work.element_bytes, work.solve_bytes)
        if machine_file is None:  # cores and memory are those of this machine
            here_gib = max(0.01, round(process_memory.available_bytes() / GIB, 2))
            machine = replace(machine, cores_per_node=usable_cores(), memory_per_node_gib=here_gib)
    if machine is None:
        from craton.tomography.plan import calibration  # starts MPI

        cores = usable_cores()
        at_once = min(min(ranks, ranks_per_node or ranks) * config.assembly.threads, cores)
        if launched_size() is not None:  # a process of an MPI job starts no other
            at_once = 1
        tell(f"measuring this machine with {at_once} of its {cores} cores busy: half a minute, or more with many cores")
        if at_once == 1:
            machine = calibration.calibrate_alone(config, geometry, process_bytes)
        else:
            machine, spent_s = calibration.calibrate_on(config, at_once)
            geometry = replace(geometry, spent_s=spent_s)
    if calibrate_to is not None:
        save_machine(machine, calibrate_to)
    return predict(work, geometry, machine, ranks, ranks_per_node)


def predict(work: Work, geometry: Geometry, machine: Machine, ranks: int, ranks_per_node: int = 0) -> Plan:
    """The forecast of every phase. ranks_per_node 0: as many as a node has cores for, of the threads of each."""
    per_node = min(ranks, ranks_per_node or max(1, machine.cores_per_node // work.threads))
    return Plan(work, geometry, machine, ranks, per_node)


# ----------------------------------------------------------------------------------------------------- of a run that was


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
    config = Config.build(as_it_was(record.config), folder.record)
    done = max((entry.iteration for entry in record.iterations), default=0)
    if not done or not record.phase_s:
        raise UserError(f"{folder.record}: no iteration was finished; allowed: a run with at least one")
    config = config.replaced("inversion", max_iterations=done)
    per_node = -(-record.ranks // max(1, record.nodes))
    plan = make_plan(config, record.ranks, per_node, machine_file, measure=machine_file is None)
    return plan, compare(plan, record)


def compare(plan: Plan, record: RunRecord) -> list[Compared]:
    """Phase by phase; memory 0 where a run has not recorded it."""
    found = []
    for phase in plan.phases:
        if phase.name not in PHASES:
            continue
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
