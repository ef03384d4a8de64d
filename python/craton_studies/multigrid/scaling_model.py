"""Weak scaling of the F-cycle by model, from exact counts of what goes between ranks and from a machine's figures.

It gives seconds on any number of ranks of a dragonfly, for each step of the ladder of Shan et al. (2015). A phase takes as long as
its slowest rank. First come its processor's copies, packing, messages and acknowledgements. Then what its node sends or receives
through the network. Then the latency of the farthest rank that it gives something to, twice where it waits for an acknowledgement.
Then the waits. Nothing overlaps, and nobody is late: no noise, no other jobs, no unlucky placement.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from craton.errors import UserError
from numpy.typing import NDArray

from craton_studies.multigrid import scaling_layout as layout
from craton_studies.multigrid.scaling_layout import Flows, Grid, Method, Phase
from craton_studies.multigrid.scaling_machine import GLOBAL, NODE, OWN, ROUTER, Machine, words

Numbers = NDArray[np.float64]

RUNGS = {
    "baseline": "each contiguous row is a copy of its own through the runtime, on the node too; barriers before and after",
    "shared memory": "rows between ranks of a node by load and store, still a call of the runtime each (small-copies)",
    "local loops": "parts of boxes on the node in one loop each (local-loops)",
    "strided": "off the node one message per part of a box, packed by the runtime, acknowledged by another (strided)",
    "neighbours": "signals to and from the ranks beside it instead of barriers (neighbours)",
    "one wait": "one message per rank beside it, packed by the runtime; who receives counts what arrives and keeps what comes "
    "early: no acknowledgements, no signals off the node (one-wait)",
    "bulk": "packed by hand, one message per rank beside it, which is the signal too; no acknowledgement (bulk)",
}
"""The ladder; in brackets what the library calls the step (it has no step without shared memory)."""
SLOWEST_FIRST = tuple(RUNGS)
MESSAGE_BYTES, HEADER_BYTES = 512 * 1024, 128
"""Size of copies that travel together, and the header of each."""
PARTS = ("smoothing", "residual", "restriction", "prolongation")
MOST_RANKS = 8**6

TABLE_I = {8: 0.348, 64: 0.366, 512: 0.382, 4096: 0.385, 32768: 0.405}
"""Seconds of the paper's bulk version (UPC++)."""
TABLE_I_MPI = {8: 0.351, 64: 0.373, 512: 0.387, 4096: 0.388, 32768: 0.409}
BASELINE_OVER_BULK = {8: 1.44, 64: 2.2, 32768: 2.4}
"""Figure 6 as section VI-B puts it into numbers; its other curves are drawn only."""


@dataclass
class Tally:
    """Counts of each rank in one phase, or summed over phases."""

    seconds: float
    """until the slowest has ended"""
    messages: Numbers
    """that carry values"""
    acknowledgements: Numbers
    signals: Numbers
    waits: float
    bytes: Numbers
    """sent off the node"""

    @classmethod
    def nothing(cls, ranks: int) -> Tally:
        """Zeros."""
        return cls(0.0, np.zeros(ranks), np.zeros(ranks), np.zeros(ranks), 0.0, np.zeros(ranks))

    def add(self, other: Tally, times: int) -> None:
        """Adds another one so many times."""
        for name in self.__dataclass_fields__:
            setattr(self, name, getattr(self, name) + times * getattr(other, name))


@dataclass
class Cycle:
    """An F-cycle on so many ranks."""

    ranks: int
    rung: str
    cells: int
    computing: dict[str, float]
    """seconds by part"""
    communication: dict[str, float]
    """seconds by part, and "bottom": its reductions"""
    by_level: list[tuple[int, int, int, float, float]]
    """box side, boxes, ranks that have some, seconds of computing and of communication; the finest first"""
    total: Tally = field(repr=False)

    @property
    def seconds(self) -> float:
        """The whole F-cycle."""
        return sum(self.computing.values()) + sum(self.communication.values())

    @property
    def share(self) -> float:
        """The part of the seconds that is communication."""
        return sum(self.communication.values()) / self.seconds

    def to_dict(self) -> dict[str, Any]:
        """Counts are of the busiest rank."""
        t = self.total
        names = ("side", "boxes", "ranks", "computing", "communication")
        return {
            "ranks": self.ranks,
            "rung": self.rung,
            "cells": self.cells,
            "seconds": self.seconds,
            "computing": self.computing,
            "communication": self.communication,
            "messages": int(t.messages.max()),
            "acknowledgements": int(t.acknowledgements.max()),
            "signals": int(t.signals.max()),
            "waits": int(t.waits),
            "bytes": int(t.bytes.max()),
            "by_level": [dict(zip(names, each, strict=True)) for each in self.by_level],
        }


def at_least(rung: str, other: str) -> bool:
    """Whether a rung of the ladder is `other` or above it."""
    return SLOWEST_FIRST.index(rung) >= SLOWEST_FIRST.index(other)


class _Sums:
    """Sums columns of flows by rank."""

    def __init__(self, ranks: int) -> None:
        self.ranks = ranks

    def __call__(self, who: NDArray[np.int64], what: NDArray[Any]) -> Numbers:
        sums = np.bincount(who, weights=what.astype(float), minlength=self.ranks)
        return sums.astype(float)  # of nothing: whole numbers

    def most(self, who: NDArray[np.int64], what: Numbers) -> Numbers:
        found = np.zeros(self.ranks)
        np.maximum.at(found, who, what)
        return found


def _wire(machine: Machine, flows: Flows, place: NDArray[np.int64], ranks: int) -> Numbers:
    """Per rank: the time its node needs to get everything out or in, whichever is longer."""
    of_node = int(machine["ranks_per_node"])
    nodes = -(-ranks // of_node)

    def longest(kept: NDArray[np.bool_], bandwidth: float) -> Numbers:
        ends = (
            np.bincount(end[kept] // of_node, weights=flows.bytes[kept].astype(float), minlength=nodes)
            for end in (flows.source, flows.target)
        )
        return np.maximum(*ends) / bandwidth

    everything = np.ones(len(place), dtype=bool)
    per_node = np.maximum(
        longest(everything, machine["node_bandwidth"]), longest(place == GLOBAL, machine["global_bandwidth"])
    )
    return per_node[np.arange(ranks) // of_node]


def _waiting(machine: Machine, flows: Flows, ranks: int, rung: str, waits: float) -> tuple[Numbers, Numbers]:
    """Per rank: seconds of so many waits for the others, and signals that it sends off the node."""
    sums = _Sums(ranks)
    if not at_least(rung, "neighbours"):
        return np.full(ranks, waits * machine.barrier(ranks)), np.zeros(ranks)
    here, there = flows.beside
    place = machine.distance(here, there)
    off = place >= ROUTER
    seconds = sums(here, machine["flag"] * ~off)
    seconds += sums(here, 2 * machine["signal_overhead"] * off)
    seconds += sums.most(here, machine.latencies[place] * off)
    return waits * seconds, waits * sums(here, off)


def _flags(machine: Machine, flows: Flows, ranks: int) -> Numbers:
    """Per rank: seconds to tell its neighbours on the node that their values are there."""
    here, there = flows.beside
    return _Sums(ranks)(here, machine["flag"] * (machine.distance(here, there) <= NODE))


def tally(machine: Machine, phase: Phase, ranks: int, rung: str) -> Tally:
    """What one phase costs on one rung.

    Between levels the library has counted copies on every rung, and waits for nothing before them in an F-cycle: what was gathered
    has been spread since. In an exchange with counted copies it waits before for those on the node who may still read, at most for
    all where `phase.waits` says both.
    """
    if phase.what != "exchange" and rung != "baseline":
        rung = "one wait"
    flows, sums = phase.flows, _Sums(ranks)
    place = machine.distance(flows.source, flows.target)
    if rung == "bulk":
        return _bulk(machine, flows, place, ranks)
    off = place > OWN if rung == "baseline" else place > NODE
    near, far = flows.between(~off), flows.between(off)
    packed, counted = at_least(rung, "strided"), rung == "one wait"

    per_byte, row = 1 / machine["copy_bandwidth"], machine["row"]
    in_loops = near.copies * machine["shared_copy"] + near.rows * row
    calls = in_loops if at_least(rung, "local loops") else near.rows * machine["shared_copy"]
    processor = sums(near.source, calls + near.bytes * per_byte)
    sent = far.messages if packed else far.rows
    if counted:  # everything of a round for one rank together
        sent = np.maximum(1, np.ceil((far.bytes + HEADER_BYTES * far.copies) / MESSAGE_BYTES))
    if packed:
        at_source = at_target = far.rows * row + far.bytes * per_byte + sent * machine["message_overhead"]
    else:
        at_source, at_target = sent * machine["put_overhead"], sent * machine["put_overhead_target"]
    # The network's hardware knows itself when a put of its own has arrived.
    acknowledged = 0 * sent if counted else sent
    answers = packed or machine["put_overhead_target"] > 0
    answering = acknowledged * machine["acknowledgement_overhead"] * answers
    processor += sums(far.source, at_source + answering) + sums(far.target, at_target + answering)

    latency = sums.most(far.target if counted else far.source, machine.latencies[place[off]])
    syncs = 2 if phase.what != "spread" else 1
    if counted:
        syncs = 1 if phase.what == "exchange" and phase.waits == "both" else 0
    if counted:  # before and after on the node; off it nothing is written before its rank is in the exchange itself
        waiting, signals = (syncs + 1) * _flags(machine, flows, ranks), np.zeros(ranks)
    else:
        waiting, signals = _waiting(machine, flows, ranks, rung, syncs)
    seconds = processor + _wire(machine, far, place[off], ranks) + (1 if counted else 2) * latency + waiting
    return Tally(
        float(seconds.max(initial=0.0)),
        sums(far.source, sent),
        sums(far.target, acknowledged),
        signals,
        syncs + counted,
        sums(far.source, far.bytes),
    )


def _bulk(machine: Machine, flows: Flows, place: NDArray[np.int64], ranks: int) -> Tally:
    sums = _Sums(ranks)
    own, others = flows.between(place == OWN), flows.between(place > OWN)
    off = place[place > OWN] > NODE
    far = others.between(off)
    moved = flows.bytes / machine["copy_bandwidth"] + flows.rows * machine["row"]
    of_own, of_others = moved[place == OWN], moved[place > OWN]
    processor = sums(own.source, of_own) + _flags(machine, flows, ranks)
    # packing, to the target's memory on a node; unpacking
    processor += sums(others.source, of_others) + sums(others.target, of_others)
    messages = np.ones(len(far.source))
    processor += sums(far.source, messages * machine["message_overhead"])
    processor += sums(far.target, messages * machine["message_overhead"])
    latency = sums.most(far.target, machine.latencies[place[place > NODE]])
    seconds = processor + _wire(machine, far, place[place > NODE], ranks) + latency
    sent = sums(far.source, messages)
    nothing = np.zeros(ranks)
    return Tally(float(seconds.max(initial=0.0)), sent, nothing, nothing, 1, sums(far.source, far.bytes))


@dataclass
class Counted:
    """The phases of an F-cycle of a layout; the same for all machines and rungs."""

    method: Method
    levels: list[Grid]
    phases: list[Phase]

    @classmethod
    def of(cls, along: int, side: int, ranks: int, order: str, method: Method) -> Counted:
        """Counts for a cube of along^3 boxes of side^3 cells."""
        levels = layout.hierarchy(along, side, ranks, order, method)
        return cls(method, levels, list(layout.phases(levels, method)))


def cycle(machine: Machine, counted: Counted, rung: str) -> Cycle:
    """The F-cycle's seconds, by part and by level."""
    levels, method = counted.levels, counted.method
    ranks = levels[0].ranks
    share = words(method)
    whole = sum(share.values())
    computing = dict.fromkeys((*PARTS, "bottom"), 0.0)
    communication = dict.fromkeys((*PARTS, "bottom"), 0.0)
    rows = [[grid.side, grid.along**3, int(np.count_nonzero(grid.cells_of_ranks)), 0.0, 0.0] for grid in levels]
    for number, grid in enumerate(levels):
        seconds = (number + 1) * machine.computing(float(grid.cells_of_ranks.max()), method)
        rows[number][3] = seconds
        if grid is levels[-1]:
            computing["bottom"] = seconds
            continue
        for part in PARTS:
            computing[part] += seconds * share[part] / whole
    total = Tally.nothing(ranks)
    for phase in counted.phases:
        one = tally(machine, phase, ranks, rung)
        total.add(one, phase.times)
        communication[phase.part] += phase.times * one.seconds
        rows[phase.level][4] += phase.times * one.seconds
    reductions = layout.reductions(levels, method)
    communication["bottom"] = 2 * reductions * machine.barrier(ranks)
    rows[-1][4] += communication["bottom"]
    cells = (levels[0].along * levels[0].side) ** 3
    by_level = [(int(a), int(b), int(c), float(d), float(e)) for a, b, c, d, e in rows]
    return Cycle(ranks, rung, cells, computing, communication, by_level, total)


def fitted(machine: Machine, side: int = 128) -> Machine:
    """The machine with its speed of computing and its cost of a small put fitted to the paper's times on 8 ranks.

    These are of bulk (table I) and baseline (1.44 times that). Both enter linearly.
    """
    counted = Counted.of(2, side, 8, "lexicographic", machine.method)
    bulk = cycle(machine, counted, "bulk")
    factor = (TABLE_I[8] - sum(bulk.communication.values())) / sum(bulk.computing.values())
    source = "fitted: the paper's bulk version on 8 ranks takes 0.348 s (table I)"
    per_cell = {n: factor * value for n, value in machine.seconds_per_cell.items()}
    machine = Machine(machine.name, machine.figures, per_cell, source, machine.method)
    wanted = BASELINE_OVER_BULK[8] * TABLE_I[8]
    ends = [cycle(machine.with_figures(put_overhead=put), counted, "baseline").seconds for put in (0.0, 1e-6)]
    put = 1e-6 * (wanted - ends[0]) / (ends[1] - ends[0])
    figure = type(machine.figures["put_overhead"])(
        put, "fitted: the paper's baseline on 8 ranks takes 1.44 times bulk (VI-B)"
    )
    return Machine(machine.name, machine.figures | {"put_overhead": figure}, per_cell, source, machine.method)


def ranks_up_to(most: int) -> list[int]:
    """1, 8, 64 ...: cubes of ranks with one box each."""
    if not 1 <= most <= MOST_RANKS:
        raise UserError(f"study scale: --ranks-up-to {most}; allowed: 1 to {MOST_RANKS}")
    return [8**k for k in range(7) if 8**k <= most]


@dataclass
class Scaling:
    """Weak scaling: one box of side^3 cells on each rank."""

    machine: Machine
    method: Method
    side: int
    order: str
    ranks: list[int]
    cycles: dict[str, list[Cycle]]
    """by rung"""

    def efficiency(self, rung: str, at: int) -> float:
        """Seconds on one rank over those on ranks[at]."""
        return self.cycles[rung][0].seconds / self.cycles[rung][at].seconds

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as --output writes them."""
        return {
            "machine": self.machine.to_dict(),
            "operator": self.method.operator,
            "smoother": self.method.smoother,
            "pairs": self.method.pairs,
            "box": self.side,
            "order": self.order,
            "cycles": [one.to_dict() for cycles in self.cycles.values() for one in cycles],
            "paper": {
                "table_I_upcxx_bulk_s": TABLE_I,
                "table_I_mpi_s": TABLE_I_MPI,
                "baseline_over_bulk": BASELINE_OVER_BULK,
            },
        }


def scale(
    machine: Machine, method: Method, most: int = 32768, side: int = 128, order: str = "lexicographic"
) -> Scaling:
    """The model on 1, 8, 64 ... ranks."""
    ranks = ranks_up_to(most)
    cycles: dict[str, list[Cycle]] = {rung: [] for rung in RUNGS}
    for p in ranks:
        counted = Counted.of(round(p ** (1 / 3)), side, p, order, method)
        for rung in RUNGS:
            cycles[rung].append(cycle(machine, counted, rung))
    return Scaling(machine, method, side, order, ranks, cycles)
