"""An assembly as `craton tomography plan` predicts it, beside the simulated one."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, replace
from pathlib import Path

from studies.assembly import LAYERS, FineTimes, Point, Work, simulate_job
from studies.found import Found, Panel
from studies.machine import BYTES_PER_S, MESSAGE_S


UNEVEN = 0.01  # of the time between updates, uniformly more or less (simulated/programs/assembly.cpp)
FINE = FineTimes(1e-6, 2e-5, 32, 8)  # for updates of milliseconds, of which a rank gets more messages at a time
PLAN_SIDE = LAYERS * 1601  # messages of milliseconds are short: folded more, their lists would weigh more than their elements
FEW_UPDATES = 20  # of a rank: all of them are simulated where the first ones are not handed on in time
NEAR = 0.25  # a plan's error that is allowed
ALL_PATHS = 10**6  # of the tables of a configuration: what one machine does in minutes is little for 1,024 ranks


@dataclass(frozen=True)
class Planned:
    """What `craton tomography plan` says of an assembly, and what the simulator is told of it."""

    ranks: int
    unknowns: int
    columns: float  # that an update touches on the mean
    updates: float  # of each rank
    pace_s: float  # of a rank's team of threads, from update to update
    byte_s: float  # to pack a byte of an update, or to merge it
    seconds: float  # of the assembly, predicted
    limit: str


def planned(config: Path, machine: Path, ranks: int, threads: int) -> Planned:
    """The plan of one assembly: one rank to a simulated host, paths dealt one by one, the simulated network."""
    from craton.tomography.config.load import load_config
    from craton.tomography.plan.forecast import predict
    from craton.tomography.plan.machine import load_machine
    from craton.tomography.plan.work import count_work

    given = load_config(config).replaced("assembly", subset=1, threads=threads).replaced("paths", maximum=ALL_PATHS)
    network = {"network_gb_s": 1e-9 * BYTES_PER_S, "message_us": 0.5e6 * MESSAGE_S}  # the simulator charges one end
    at = replace(load_machine(machine), cores_per_node=threads, jitter=UNEVEN / math.sqrt(3), **network)
    work, geometry = count_work(given.replaced("inversion", max_iterations=1))
    plan = predict(work, geometry, at, ranks, 1)
    panels_s, products_s, _ = plan.part_s
    return Planned(
        ranks, work.unknowns, work.touched, work.updates / ranks, (panels_s + products_s) / work.updates / threads,
        1e-9 * at.update_ns_per_element / work.element_bytes, plan.assembly_s, plan.assembly_limit,
    )  # fmt: skip


def simulate_plan(plan: Planned, updates: int, work: Work, threads: int) -> Point:
    """The first updates of the planned assembly, by the planned paces, on the folded side; `work` says what an index takes."""
    side = min(PLAN_SIDE, LAYERS * round(plan.unknowns / LAYERS))
    fold = plan.unknowns / side
    columns = LAYERS * max(1, round(plan.columns / fold / LAYERS))
    # Each thread of a rank packs its own updates, beside the others; what arrives is added by one of them at a time.
    rates = Work(work.bin_s / threads, plan.byte_s / threads, plan.byte_s)
    return simulate_job(plan.unknowns, plan.ranks, updates, rates, fold, columns, plan.pace_s, fine=FINE, folded_side=side)


def compare_plans(given: argparse.Namespace, work: Work) -> Found:
    """Predicted beside simulated, for each number of ranks."""
    found = Found("an assembly as it was planned, and as it was simulated: seconds")
    print("\n  ranks  updates  every, ms   predicted, s  limit        simulated, s   predicted / simulated")
    right = True
    for ranks in given.ranks or [64, 256, 1024]:
        plan = planned(given.plan, given.machine, ranks, given.threads)
        updates = min(given.updates, math.ceil(plan.updates))
        whole = updates >= plan.updates  # all updates are there: none need be added at their pace
        point = simulate_plan(plan, updates, work, given.threads)
        if not point.keeps_up and not whole and plan.updates <= FEW_UPDATES:
            updates, whole = math.ceil(plan.updates), True
            point = simulate_plan(plan, updates, work, given.threads)
        simulated_s = point.seconds * plan.updates / updates if whole else point.seconds_of(plan.updates)
        ratio = plan.seconds / simulated_s
        right &= point.sums_right and (point.keeps_up or whole) and abs(ratio - 1) < NEAR
        found.rows.append({"ranks": ranks, "predicted": plan.seconds, "simulated": simulated_s, "limit": plan.limit})
        kept = "" if point.keeps_up else f"   does not keep up: {1e3 * point.longest_update_s:.1f} ms in an update"
        print(
            f"  {ranks:5d} {plan.updates:8.1f} {1e3 * plan.pace_s:10.2f} {plan.seconds:14.2f}  {plan.limit:<11}"
            f" {simulated_s:13.2f} {ratio:13.2f}{kept}   (took {point.host_s:.0f} s)",
            flush=True,
        )
    found.holds = {f"sums right, updates handed on in time or all simulated, and within {100 * NEAR:.0f}%": right}
    curves = [found.curve("simulated", "simulated"), found.curve("craton tomography plan", "predicted", reference=True)]
    found.panels = [Panel("An assembly", "s", curves, log=True)]
    return found
