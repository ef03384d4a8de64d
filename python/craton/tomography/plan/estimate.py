"""The arithmetic of a plan: time, memory, messages and files of each phase, from counts (work.py) and rates (machine.py).

    assemble    (panels + products + updates) / (ranks threads), and the wait for whoever takes the last subset of paths
    factorise   n^3 / 3 flop in a copy of the Hessian, at a rate that grows with the order of a rank's part, n^2 sqrt(ranks)
                elements between nodes, and some passes through Hessian and factor to refine a solution
    save        the Hessian's bytes at the disk's rate, once or in each iteration

Where all wait for the slowest of many ranks, equal work takes it at most sqrt(2 ln ranks) standard deviations more than the mean.
This bounds the expected largest of so many normal deviates, and is near it for many (Cramer 1946, 28.6). What a phase spends most
of its time on is its limit.

All windows of a path are one update, of panels that may have been compressed. Updates to another node are made twice, once to
pack them and once to add them, and travel. Each thread packs its own; one thread of a rank at a time adds what arrives
(runtime/world.hpp), so that a rank with many threads may be slower to add than to compute. Memory of a rank is its own: what a
node's ranks share (the Hessian, where there is more than one of them) is counted for the node. Not collective.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from craton._craton import BlockCyclic
from craton.tomography.config.load import packed_shape, process_grid
from craton.tomography.model.target import SAMPLES_PER_LATERAL_KNOT, SAMPLES_PER_RADIAL_KNOT
from craton.tomography.plan.machine import Machine
from craton.tomography.plan.work import Geometry, Work
from craton.tomography.prior.matern_field import REACH
from craton.tomography.prior.matern_near import KNOTS_OF_DENSE

GIB, MIB = 2**30, 2**20

PHASES = (
    "modes",
    "kernels",
    "prior",
    "set-up",
    "data",
    "paths",
    "assemble",
    "factorise",
    "misfit",
    "save",
    "waveforms",
    "theory",
)
PARTS = ("panels", "products", "updates")
"""Parts of the phase assemble."""
BEFORE, AFTER = "start-up", "report"
"""What comes before and after the phases of a run, in no record of it."""
MEETINGS = 3
"""Of all ranks, for each panel of a factorisation: it is put, its square is factored, shares are solved (panel_cholesky.cpp)."""
MESSAGES_BYTES = 64 << 20
"""What a rank may have under way to other nodes at a time (World max_bytes_in_flight)."""
SAVE_BUFFER_BYTES = 64 << 20
"""A matrix goes to its file in pieces of about so much."""
HEAP_KEPT_BYTES = 32 << 20
"""What was freed and is not given back: the C library's largest threshold below which it keeps memory for reuse."""
SHIPPED_BYTES = 8 << 20
"""Panels for an owner to multiply are cut into messages of about so much (gram_updater.cpp)."""
NOISE_S_PER_PATH = 4e-5
"""A random generator for each path (data.add_noise)."""
PATH_BYTES = 400
"""Memory of a path beside its knots and weights."""
TARGET_FIELDS = 3
"""Copies of the sampled target at a time (target.sampled_target)."""
RICHER_COST = 40.0
"""A window by coupled modes takes so many times as long as by path averages: the demo's data by either, beyond 80 s."""
REFINEMENTS = 5
"""Steps of refinement of a float32 factor, each of which goes through the Hessian once and through the factor twice."""
PANEL_ROWS = 384
"""Of a panel that ranks eliminate together (panel_cholesky.cpp)."""
TILE_SIDE = 256
"""Of a tile of a solution in one order (linalg/ordered_symmetric.hpp)."""
EIGENVECTORS_FLOP = 9.0
"""Times n^3, at most, by which all eigenvectors of a matrix of order n are found."""
SPARSE_BYTES_PER_KNOT = 5500.0
"""Of a Matern prior's P with many lateral knots (prior/matern_near.py), and of the factor of its splines at the knots."""

CHUNK_BYTES = 64 * MIB
"""Of a prior that is dealt over ranks (inverse/parts.py)."""


@dataclass(frozen=True)
class Forecast:
    """One phase of a run, of all its iterations together."""

    name: str
    seconds: float
    """wall clock, the slowest rank's; of a part of assemble, the mean over its threads"""
    rank_bytes: float = 0.0
    """the largest rank's own memory at its peak"""
    node_bytes: float = 0.0
    """a node's, with what its ranks share"""
    sent_bytes: float = 0.0
    """to other nodes, of all ranks together"""
    written_bytes: float = 0.0
    """to files"""
    limit: str = ""
    """what most of the time is spent on"""


@dataclass(frozen=True)
class Estimate:
    """The arithmetic. Seconds are wall clock, or of one thread that does all, as it says."""

    work: Work
    geometry: Geometry
    machine: Machine
    ranks: int
    ranks_per_node: int

    @property
    def nodes(self) -> int:
        """Number of nodes; the last may have fewer ranks."""
        return -(-self.ranks // self.ranks_per_node)

    @property
    def away(self) -> float:
        """The share of the Hessian on other nodes."""
        return 1.0 - self.ranks_per_node / self.ranks if self.nodes > 1 else 0.0

    @property
    def crowding(self) -> float:
        """Threads per core."""
        return max(1.0, self.ranks_per_node * self.work.threads / self.machine.cores_per_node)

    @property
    def crew(self) -> float:
        """Threads of all ranks, as far as there are cores for them."""
        return self.ranks * self.work.threads / self.crowding

    @property
    def local_shape(self) -> tuple[int, int]:
        """Rows and columns of the packed Hessian on the rank that has most."""
        shape, block = packed_shape(self.work.unknowns, self.work.block), self.work.block
        layout = BlockCyclic(*shape, block, block, *process_grid(self.ranks))
        return layout.local_rows(0), layout.local_cols(0)

    @property
    def local_elements(self) -> float:
        """Its elements."""
        return float(math.prod(self.local_shape))

    # ------------------------------------------------------------------------------------------------------- seconds

    @property
    def part_s(self) -> tuple[float, float, float]:
        """Panels, products and updates of one assembly, of one thread that does all."""
        machine, work = self.machine, self.work
        per_term = machine.panel_ns_per_term + machine.panel_ns_per_radial_term * work.radial
        more = machine.seismogram_ns_per_term if work.coupled else machine.panel_ns_per_radial_term
        per_term += more * work.corrections_sums
        panel_s = 1e-9 * (per_term * work.sample_modes + machine.panel_ns_per_element * work.elements_of_panels)
        update_s = 1e-9 * machine.update_ns_per_element * work.elements_of_products * (1.0 + self.away)
        update_s += 2e-6 * machine.message_us * self.messages_per_assembly
        return panel_s, 1e-9 * work.product_flop / machine.product_gflops, update_s

    @property
    def merging_s(self) -> float:
        """Wall clock in which one thread of each rank adds what other nodes send it in one assembly.

        Where panels are sent instead (shipped_share) the owner's products are not in it: it is too short then.
        """
        elements_s = 1e-9 * self.machine.update_ns_per_element * self.work.elements_of_products * self.away
        return (elements_s + 1e-6 * self.machine.message_us * self.messages_per_assembly) / self.ranks * self.crowding

    @property
    def sent_per_assembly(self) -> float:
        """Bytes to other nodes: elements of products, or rows of panels where those are fewer, and gradients."""
        work = self.work
        hessian = work.element_bytes * work.elements_of_products * self.shipped_share
        return self.away * (hessian + 8.0 * work.updates * work.touched)

    @property
    def shipped_share(self) -> float:
        """What is sent in place of products where an owner multiplies, per element of them (gram_updater.hpp)."""
        if not self.work.coupled:
            return 1.0
        height, width = process_grid(self.ranks)
        products = self.geometry.products
        half, edge = (
            0.5 * products.touched,
            np.clip(SHIPPED_BYTES / (2.0 * self.work.element_bytes * products.rows), 64, 4096),
        )
        sent, whole = np.zeros_like(half), np.zeros_like(half)
        # A12 and A22: all columns of the panel times half of them; A11: half times half, and of those a triangle.
        for down, across, taken in ((products.touched, half, 0.75), (half, half, 0.5)):
            high, wide = down / height, across / width
            pieces_high, pieces_wide = np.ceil(high / edge), np.ceil(wide / edge)
            several = np.maximum(pieces_high, pieces_wide)
            share = 0.5 * (1.0 + 1.0 / several) if down is half else 1.0
            columns = np.where(
                several == 1,
                down - (down - high) * (1.0 - wide / down),
                share * (pieces_wide * high + pieces_high * wide),
            )
            sent += np.minimum(columns * products.rows, taken * high * wide)
            whole += taken * high * wide
        return float(np.sum(sent) / np.sum(whole))

    @property
    def messages_per_assembly(self) -> float:
        """Between nodes: of each update one to every rank that owns some of it, if they are fewer than its elements."""
        work = self.work
        return self.away * work.updates * min(self.ranks, work.elements_of_products / work.updates)

    @property
    def slowest(self) -> float:
        """Time of the slowest rank's equal share, over the mean."""
        return 1.0 + self.machine.jitter * math.sqrt(2.0 * math.log(self.ranks))

    def travel_s(self, sent_bytes: float) -> float:
        """Seconds in which all nodes send and receive so many bytes at the same time."""
        return sent_bytes / (1e9 * self.machine.network_gb_s * self.nodes)

    def shares_s(self, work_s: float) -> tuple[float, float]:
        """Wall clock of work on all paths: an equal share, and the wait for the last subset: half of one, and jitter."""
        subset_s = work_s / self.work.paths * min(self.work.subset, self.work.paths) / self.work.threads * self.crowding
        share_s = work_s / self.crew
        wait_s = (0.5 + self.slowest - 1.0) * subset_s if self.ranks > 1 else 0.0
        return share_s, max(wait_s, subset_s - share_s)

    def fixed_shares_s(self, work_s: float) -> float:
        """Wall clock of work on all paths, of which each rank has as many as the others: the longest share of samples."""
        samples = np.concatenate([[0], np.cumsum(self.geometry.samples)])
        ends = samples[np.arange(self.ranks + 1) * (len(samples) - 1) // self.ranks]
        return work_s / self.crew * self.ranks * float(np.max(np.diff(ends))) / float(samples[-1]) * self.slowest

    def zeros_s(self, gb_s: float) -> float:
        """Wall clock of zeros in a rank's part of the Hessian, at a rate of memory."""
        return self.work.element_bytes * self.local_elements / (1e9 * gb_s) * self.crowding

    @property
    def assembly_s(self) -> float:
        """Wall clock of one assembly. Updates travel, and are added, while others are computed."""
        spent = self.assembly_costs
        return max(spent["cores"] + spent["last paths"], spent["network"], spent["merging"]) + spent["memory"]

    @property
    def assembly_costs(self) -> dict[str, float]:
        """Seconds by what they are spent on."""
        share_s, wait_s = self.shares_s(sum(self.part_s))
        return {
            "cores": share_s,
            "last paths": wait_s,
            "network": self.travel_s(self.sent_per_assembly),
            "merging": self.merging_s,
            "memory": self.zeros_s(self.machine.memory_gb_s),
        }

    @property
    def seismograms_s(self) -> float:
        """One thread's time for the seismograms of all paths."""
        return 1e-9 * self.machine.seismogram_ns_per_term * self.work.sample_modes

    @property
    def assembly_limit(self) -> str:
        """What most of an assembly's time is spent on. Of computing, travelling and merging only the longest takes time."""
        costs = dict(self.assembly_costs)
        beside = {name: costs.pop(name) for name in ("network", "merging")}
        slowest = max(beside, key=lambda name: beside[name])
        if beside[slowest] > costs["cores"] + costs["last paths"]:
            costs = {slowest: beside[slowest], "memory": costs["memory"]}
        return max(costs, key=lambda name: costs[name])

    @property
    def factorise_s(self) -> float:
        """Wall clock of one factorisation, of adding C_m^-1 before, and of a copy of the matrix."""
        return sum(self.factorise_costs.values())

    @property
    def factorise_costs(self) -> dict[str, float]:
        """Seconds by what they are spent on."""
        machine, n, ranks = self.machine, self.work.unknowns, self.ranks
        flops_s = n**3 / 3.0 / self.dense_rate(n) / ranks * self.crowding * (self.slowest if ranks > 1 else 1.0)
        elements_s = 1e-9 * machine.prior_ns_per_element * self.local_elements * self.crowding
        work, refinements = self.work, REFINEMENTS if self.work.refined else 0
        passes = float((1 - work.in_place) * (work.element_bytes + work.solve_bytes))  # of the copy
        beside = math.sqrt(ranks) if work.reproducible else 1.0  # solutions go by rows and columns of the grid of ranks
        passes += refinements * ((1 - work.in_place) * work.element_bytes + 2 * work.solve_bytes * beside)
        passes_s = passes * self.local_elements / (1e9 * machine.memory_gb_s) * self.crowding
        read_s = work.in_place * refinements * self.hessian_bytes / (1e9 * machine.disk_gb_s)
        meetings = MEETINGS * n / PANEL_ROWS * math.log2(self.nodes)
        if work.reproducible:  # before and after each row of tiles, and four times in each solution
            meetings = (2 + 4 * (1 + refinements)) * n / TILE_SIDE * math.log2(self.nodes)
        return {
            "cores": flops_s + self.layers_s,
            "memory": elements_s + passes_s,
            "disk": read_s,
            "network": self.travel_s(self.sent_per_factor),
            "latency": 1e-6 * machine.network_latency_us * meetings,
        }

    @property
    def sent_per_factor(self) -> float:
        """Panels along rows and columns of the grid of ranks, as far as they leave the node."""
        return self.away * self.work.solve_bytes * self.work.unknowns**2 * math.sqrt(self.ranks)

    # --------------------------------------------------------------------------------------------------------- bytes

    @property
    def hessian_bytes(self) -> float:
        """The whole Hessian, of all ranks."""
        return float(self.work.element_bytes) * math.prod(packed_shape(self.work.unknowns, self.work.block))

    @property
    def saves(self) -> int:
        """How often a Hessian is written: the last one at the end, or each where all are kept or an assembly is long."""
        long = self.work.checkpoint_s <= self.assembly_s
        if long or self.work.in_place or self.work.keep_hessians == "all":
            return self.work.iterations
        return 0 if self.work.keep_hessians == "none" else 1

    @property
    def prior_bytes(self) -> float:
        """The prior's lateral matrices on each node: whole, or the node's share of what is dealt over all ranks.

        Each length takes one. Of a dealt one there is a triangle; in one order there are two.
        """
        if self.work.prior_kind != "gaussian":
            return 0.0
        triangles = 1.0 if self.work.reproducible else 0.5
        return sum(
            8.0 * knots**2 * lengths * (triangles / self.nodes if dealt else 1.0)
            for knots, lengths, dealt in self.lateral_parts
        )

    @property
    def matern_bytes(self) -> float:
        """Of a Matern prior on each rank: P, and this rank's part of what interpolates its grid at the knots."""
        work = self.work
        if work.prior_kind != "matern":
            return 0.0
        near = 3 * 8.0 * work.lateral**2 if work.lateral <= KNOTS_OF_DENSE else SPARSE_BYTES_PER_KNOT * work.lateral
        return near + 12.0 * (REACH + 1) ** 3 * work.structure / self.ranks

    @property
    def lateral_parts(self) -> list[tuple[int, int, bool]]:
        """Knots and correlation lengths of each lateral part of the prior, and whether it is dealt over all ranks."""
        work = self.work
        return list(zip((work.lateral, work.xi_lateral), work.prior_lengths, work.prior_dealt, strict=False))

    @property
    def layers_bytes(self) -> float:
        """A rank's part of the largest lateral matrix of several lengths, whole."""
        several = [knots for knots, lengths, dealt in self.lateral_parts if dealt and lengths > 1]
        return 8.0 * max(several, default=0) ** 2 / self.ranks

    @property
    def prior_s(self) -> float:
        """Wall clock of making it: by one rank of each node; or of all ranks, in float64.

        One length takes a factorisation, and twice as much for the inverse; or, in one order, solutions that go through the factor
        twice. Several take eigenvectors each.
        """
        machine, seconds = self.machine, 0.0
        if self.work.prior_kind == "matern" and self.work.lateral > KNOTS_OF_DENSE:
            return 0.0  # sparse
        for n, lengths, dealt in self.lateral_parts:
            if not dealt:
                seconds += 1e-9 * machine.prior_ns_per_knot3 * n**3 * lengths
                continue
            flop_s = n**3 / (self.dense_rate(n) * self.work.solve_bytes / 8.0) / self.ranks
            if lengths > 1:
                seconds += EIGENVECTORS_FLOP * lengths * flop_s
            elif self.work.reproducible:
                seconds += flop_s / 3.0 + 8.0 * n**3 / (1e9 * machine.memory_gb_s) / self.ranks
                seconds += 1e-6 * machine.network_latency_us * 4.0 * n * n / TILE_SIDE * math.log2(self.nodes)
            else:
                seconds += flop_s
        return seconds * self.crowding

    def dense_rate(self, order: float) -> float:
        """Operations per second of a rank in a factorisation of a matrix of some order, in the run's precision."""
        part, machine = order / math.sqrt(self.ranks), self.machine
        return 1e9 * machine.cholesky_gflops * part / (part + machine.cholesky_half_order)

    @property
    def layers_s(self) -> float:
        """Wall clock of the products of lateral matrices of different lengths, for each system."""
        flops = [
            (n, lengths * (lengths + 1.0) * n**3) for n, lengths, dealt in self.lateral_parts if dealt and lengths > 1
        ]
        seconds = (flop / (self.dense_rate(n) * self.work.solve_bytes / 8.0) for n, flop in flops)
        return sum(seconds) / self.ranks * self.crowding

    @property
    def kept_bytes(self) -> dict[str, float]:
        """What a rank keeps of each phase until the end, without the Hessian."""
        work, modes = self.work, self.geometry.forward.modes.arrays()
        return {
            # the catalogue, its arrays that travel to every rank, and what is kept of them
            "modes": self.machine.process_mib * MIB + 2.0 * sum(array.nbytes for array in modes.values()),
            "kernels": 8.0 * work.modes_used * (work.radial + 4) + work.coupling_bytes,
            "prior": self.matern_bytes + (0.0 if self.ranks_per_node > 1 else self.prior_bytes),
            "set-up": 5 * 8.0 * work.unknowns,
            "data": (0.0 if self.ranks_per_node > 1 else self.sample_bytes)
            + 32.0 * work.paths
            + (work.threads * 8.0 * work.modes_used**2) * (work.coupled or work.coupled_synthetics),
            "paths": self.path_bytes,
            "factorise": self.panel_bytes,
        }

    @property
    def sample_bytes(self) -> float:
        """Data and seismograms of the first and the last model, once for each node."""
        return 24.0 * self.work.samples

    @property
    def ordered_bytes(self) -> float:
        """Of all ranks, where sums have one order: more than a copy of the system. First its factor, then the Hessian to refine."""
        element = max(self.work.solve_bytes, 8 * self.work.refined)
        return float(element) * self.work.unknowns * (self.work.unknowns + TILE_SIDE) / 2.0

    @property
    def panel_bytes(self) -> float:
        """What a rank holds of a panel while several factorise: its share before and after, and what its own part needs of it."""
        if self.ranks == 1 or self.work.reproducible:
            return 0.0
        share = PANEL_ROWS + self.work.unknowns / self.ranks
        return self.work.solve_bytes * PANEL_ROWS * (2.0 * share + sum(self.local_shape))

    @property
    def path_bytes(self) -> float:
        """All paths with their knots and weights."""
        same = 1 if self.work.xi_lateral else self.work.parameters
        return self.work.paths * (PATH_BYTES + 16.0 * self.work.touched / self.work.radial / same)

    def extra_bytes(self, name: str) -> float:
        """What a rank needs for a phase only."""
        work = self.work
        if name == "prior" and any(work.prior_dealt):  # some elements at a time, and one more triangle in one order
            own = 4.0 * max(work.lateral, work.xi_lateral) ** 2 / self.ranks
            return 4.0 * min(CHUNK_BYTES, own) + work.reproducible * own + 3.0 * self.layers_bytes
        if name == "prior":
            return 6.0 * sum(8.0 * knots**2 for knots, *_ in self.lateral_parts) * (work.prior_kind == "gaussian")
        if name == "assemble":
            return work.threads * work.panel_bytes
        if name == "factorise":
            copy = 0.0 if self.ranks_per_node > 1 or work.in_place else work.solve_bytes * self.local_elements
            return copy + 2.0 * self.layers_bytes  # a root, and its product with another
        if name == "save":  # a piece in the file's order; of several ranks also in the library's buffers
            return (1 if self.ranks == 1 else 2) * min(SAVE_BUFFER_BYTES, work.element_bytes * self.local_elements)
        if name == "data":  # the paths are made here too, for the predictions
            field = 8.0 * SAMPLES_PER_LATERAL_KNOT * SAMPLES_PER_RADIAL_KNOT * work.lateral * work.radial
            target = TARGET_FIELDS * field * work.synthetic * (8 if work.finer else 1)
            return max(target, self.path_bytes)
        if name == "theory":
            return work.richer_bytes + 8.0 * work.threads * work.modes_used**2
        return 0.0

    def extra_bytes_of_rank_0(self, name: str) -> float:
        """More than that: of the rank that makes or reads all samples, or writes them."""
        traces = 8.0 * self.work.samples
        if name == "data":
            return max(0.0, 6.0 * traces + self.path_bytes - self.extra_bytes(name))
        return 3.0 * traces if name == "waveforms" else 0.0

    def memory(self, name: str) -> tuple[float, float]:
        """(the largest rank's own bytes, a node's) at the peak of a phase."""
        order, together = PHASES.index(name), self.ranks_per_node > 1
        kept_of = self.kept_bytes
        again = self.work.iterations > 1  # the first assembly and its file come before the first factorisation
        if name not in ("factorise", "misfit") and not (again and name in ("assemble", "save")):
            del kept_of["factorise"]
        kept = sum(size for phase, size in kept_of.items() if PHASES.index(phase) <= order or phase == "factorise")
        own, shared, alone = kept, 0.0, self.extra_bytes_of_rank_0(name)
        if name == "prior" and together and not any(self.work.prior_dealt):
            alone = self.extra_bytes("prior")  # one rank of a node makes it for all
        else:
            own += self.extra_bytes(name)
        if order >= PHASES.index("prior") and together:
            shared += self.prior_bytes
        if order >= PHASES.index("data") and together:
            shared += self.sample_bytes
        if order >= PHASES.index("assemble"):  # buffers of messages are kept for reuse
            own += min(MESSAGES_BYTES, 2.0 * self.sent_per_assembly / self.ranks)
        if order > PHASES.index("prior") and not any(self.work.prior_dealt):
            alone += min(self.extra_bytes("prior"), HEAP_KEPT_BYTES)
        if order >= PHASES.index("set-up"):
            held = self.hessian_bytes / self.nodes
            if name == "factorise" and together and not self.work.in_place:
                held += self.work.solve_bytes / self.work.element_bytes * self.hessian_bytes / self.nodes
            if name == "factorise" and self.work.reproducible:
                held += self.ordered_bytes / self.nodes
            if together:
                shared += held
            elif name not in ("set-up", "data", "paths") or self.nodes > 1:
                own += held  # of one rank: pages that nobody has written to take no memory yet
        own += alone
        return own, own * self.ranks_per_node - alone * (self.ranks_per_node - 1) + shared

    # -------------------------------------------------------------------------------------------------------- phases

    @cached_property
    def phases(self) -> tuple[Forecast, ...]:
        """Forecasts of BEFORE, in the order of PHASES, and of AFTER."""
        work, machine, geometry, times = self.work, self.machine, self.geometry, self.work.iterations
        data_bytes = 8.0 * work.samples + 64.0 * work.paths
        file_bytes = data_bytes + self.saves * self.hessian_bytes + (times + 1) * 8.0 * work.unknowns * (1 + times / 2)
        first_touch_s = self.zeros_s(machine.first_touch_gb_s)  # ranks that share memory touch it when it is made
        predicted = self.fixed_shares_s(self.seismograms_s) if work.synthetic else 0.0
        noise = NOISE_S_PER_PATH * work.paths if work.synthetic else 0.0
        writing_s = file_bytes / (1e9 * machine.disk_gb_s), (2 * times + self.saves + 5) * machine.file_s
        touching_s = first_touch_s * (self.ranks_per_node > 1)
        limit = {
            "set-up": "memory" if touching_s > geometry.spent_s["catalogues"] else "one core",
            "prior": "cores" if any(work.prior_dealt) else "one core",
            "assemble": self.assembly_limit,
            "factorise": max(self.factorise_costs, key=lambda name: self.factorise_costs[name]),
            "save": "disk" if writing_s[0] > writing_s[1] else "files",
            "data": "cores" if predicted > noise + geometry.spent_s["paths"] else "one core",
            "misfit": "cores",
            "theory": "cores",
        }
        seconds = {
            "modes": geometry.spent_s["modes"],
            "kernels": geometry.spent_s["kernels"] * self.crowding,
            "prior": self.prior_s,
            "set-up": geometry.spent_s["catalogues"] + touching_s,
            "data": predicted + noise * self.crowding + geometry.spent_s["paths"] * self.crowding,
            "paths": geometry.spent_s["paths"] * self.crowding,
            "assemble": times * self.assembly_s + first_touch_s * (self.ranks_per_node == 1),
            "factorise": times * self.factorise_s,
            "misfit": self.fixed_shares_s((times + 1) * self.seismograms_s),
            "save": sum(writing_s),
            "waveforms": 0.0,  # those of the first and the last model are there
            "theory": (1.0 if work.coupled_synthetics else RICHER_COST)
            * self.seismograms_s
            * work.checked
            / work.paths
            / self.crew,
        }
        sent = {"assemble": times * self.sent_per_assembly, "factorise": times * self.sent_per_factor}
        of_run = (
            Forecast(
                name,
                seconds[name],
                *self.memory(name),
                sent.get(name, 0.0),
                file_bytes if name == "save" else 0.0,
                limit.get(name, "each rank") if seconds[name] else "",
            )
            for name in PHASES
            if name != "theory" or work.checked
        )
        process = machine.process_mib * MIB
        return (
            Forecast(BEFORE, machine.start_s, process, process * self.ranks_per_node, limit="start"),
            *of_run,
            Forecast(AFTER, machine.report_s, limit="one core"),
        )

    @cached_property
    def parts(self) -> tuple[Forecast, ...]:
        """What each thread spends on the average on the parts of all assemblies."""
        return tuple(
            Forecast(name, self.work.iterations * spent / self.crew)
            for name, spent in zip(PARTS, self.part_s, strict=True)
            if spent
        )
