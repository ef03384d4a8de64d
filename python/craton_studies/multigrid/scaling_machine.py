"""The machines of the scaling model: every figure with its unit and where it is from."""

from __future__ import annotations

import json
import math
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from craton.errors import UserError
from numpy.typing import NDArray

from craton_studies.multigrid.scaling_layout import Integers, Method

OWN, SOCKET, NODE, ROUTER, CHASSIS, GROUP, GLOBAL = range(7)
PLACES = ("own boxes", "socket", "node", "router", "rank-1", "rank-2", "rank-3")
"""How far one rank is from another; table II of Shan et al. calls a hop from node to node of one router PCIe."""

COUNTS = {
    "ranks_per_socket": "ranks of a socket",
    "ranks_per_node": "ranks of a node, which share memory and the way to the network",
    "nodes_per_router": "nodes of a router",
    "nodes_per_chassis": "nodes whose routers are one hop apart (rank-1)",
    "nodes_per_group": "nodes of a group of the dragonfly: routers two hops apart (rank-2)",
}
SECONDS = {
    "latency_node": "one way between ranks of a node, where memory is not shared (baseline)",
    "latency_router": "one way between nodes of a router",
    "latency_chassis": "one way between nodes of a chassis",
    "latency_group": "one way between nodes of a group",
    "latency_global": "one way between groups",
    "put_overhead": "processor time of a small copy off the node, at its origin",
    "put_overhead_target": "the same at its target",
    "message_overhead": "processor time of a message that holds a packed copy, at either end",
    "acknowledgement_overhead": "processor time of an acknowledgement, at either end",
    "signal_overhead": "processor time of a signal off the node, at either end",
    "flag": "signal and wait for one neighbour on the node",
    "shared_copy": "a call of the runtime that copies within the node, beside the bytes",
    "row": "a contiguous row of a strided copy, beside the bytes, each time it is packed, unpacked or copied",
    "barrier_step": "of a barrier or reduction: each doubling of the ranks of a node",
}
BANDWIDTHS = {
    "copy_bandwidth": "of one rank that copies, packs or unpacks",
    "node_bandwidth": "of a node into the network, shared by its ranks",
    "global_bandwidth": "of a node to other groups: its share of the links between them",
}
EVERYWHERE = COUNTS | SECONDS | BANDWIDTHS


@dataclass(frozen=True)
class Figure:
    """A number, in SI units, and where it is from."""

    value: float
    source: str


@dataclass(frozen=True)
class Machine:
    """What the model knows of a machine: figures by the names of EVERYWHERE, and its speed of computing."""

    name: str
    figures: dict[str, Figure]
    seconds_per_cell: dict[int, float]
    """n: seconds per cell of all the work that one visit of a V-cycle does on n^3 cells of a rank"""
    computing_source: str
    method: Method = field(default_factory=Method)
    """for which the seconds per cell hold"""

    def __getitem__(self, name: str) -> float:
        return self.figures[name].value

    def distance(self, a: Integers, b: Integers) -> Integers:
        """Numbers in PLACES, elementwise for two arrays of ranks, which fill nodes one after the other."""
        sockets = int(self["ranks_per_socket"])
        nodes = int(self["ranks_per_node"])
        found = np.full(a.shape, OWN)
        for place, ranks in (
            (OWN, 1),
            (SOCKET, sockets),
            (NODE, nodes),
            (ROUTER, nodes * int(self["nodes_per_router"])),
            (CHASSIS, nodes * int(self["nodes_per_chassis"])),
            (GROUP, nodes * int(self["nodes_per_group"])),
        ):
            found[a // ranks != b // ranks] = place + 1
        return found

    @property
    def latencies(self) -> NDArray[np.float64]:
        """Seconds by place."""
        near = self["latency_node"]
        names = ("latency_router", "latency_chassis", "latency_group", "latency_global")
        return np.array([0.0, near, near, *(self[name] for name in names)])

    def barrier(self, ranks: int) -> float:
        """Seconds of a barrier by doubling: within the node, then between nodes, in steps of a signal and a latency."""
        of_node = min(ranks, int(self["ranks_per_node"]))
        nodes = -(-ranks // of_node)
        seconds = self["barrier_step"] * math.ceil(math.log2(of_node))
        reached, doublings = 1, 0
        while reached < nodes:
            place = self.distance(np.array([0]), np.array([reached * of_node]))[0]
            seconds += self.latencies[place] + 2 * self["signal_overhead"]
            reached, doublings = 2 * reached, doublings + 1
        return seconds

    def computing(self, cells: float, method: Method) -> float:
        """Seconds of one visit of a level on a rank that has so many of its cells.

        Between the sizes of the table by interpolation of logarithms, beyond them as at its ends.
        """
        if cells <= 0:
            return 0.0
        sizes = sorted(self.seconds_per_cell)
        values = [math.log(max(self.seconds_per_cell[n], 1e-300)) for n in sizes]
        per_cell = math.exp(np.interp(math.log(cells) / 3, [math.log(n) for n in sizes], values))
        scale = sum(words(method).values()) / sum(words(self.method).values())
        return cells * per_cell * scale

    def with_figures(self, **values: float) -> Machine:
        """A copy with some figures changed."""
        changed = {name: replace(self.figures[name], value=value) for name, value in values.items()}
        return replace(self, figures=self.figures | changed)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as from_file reads them."""
        return {
            "name": self.name,
            "figures": {name: {"value": f.value, "from": f.source} for name, f in self.figures.items()},
            "seconds_per_cell": {str(n): value for n, value in self.seconds_per_cell.items()},
            "computing_from": self.computing_source,
            "operator": self.method.operator,
            "smoother": self.method.smoother,
            "pairs": self.method.pairs,
        }


def words(method: Method) -> dict[str, float]:
    """Doubles moved per cell in one visit, if each array passes through the processor once per sweep.

    They say how the work divides, and stand in for operators that were not measured.
    """
    # u, f, 1/D, 3 beta, what is written; Chebyshev's u before
    sweep = {"chebyshev": 8, "gsrb": 7, "jacobi": 7}[method.smoother]
    return {
        "smoothing": 2.0 * method.traits.sweeps[method.smoother] * sweep,
        "residual": 6.0,
        "restriction": 1.125,
        "prolongation": 2.125,
    }


PAPER = "Shan et al. 2015, section VI-A"
ARIES = "Aries as its maker describes it (Alverson et al. 2012, Cray WP-Aries01-1112)"
ASSUMED = "assumed"


def edison() -> Machine:
    """Like the Cray XC30 of the paper. What nobody has published is assumed; `scaling_model.fitted` fits two figures."""
    figures = {
        "ranks_per_socket": Figure(8, PAPER),
        "ranks_per_node": Figure(16, PAPER),
        "nodes_per_router": Figure(4, ARIES),
        "nodes_per_chassis": Figure(64, ARIES + ": 16 routers"),
        "nodes_per_group": Figure(384, ARIES + ": 6 chassis"),
        "latency_node": Figure(0.5e-6, ASSUMED),
        "latency_router": Figure(1.3e-6, ARIES + ": MPI between neighbours, about"),
        "latency_chassis": Figure(1.4e-6, ASSUMED + ": 0.1 us more per hop between routers"),
        "latency_group": Figure(1.5e-6, ASSUMED + ": 0.1 us more per hop between routers"),
        "latency_global": Figure(2.0e-6, ASSUMED + ": up to five hops, one of them by an optical cable"),
        "put_overhead": Figure(0.6e-6, ASSUMED),
        "put_overhead_target": Figure(0.0, "puts are done by the network's hardware"),
        "message_overhead": Figure(1.0e-6, ASSUMED + ": an active message of GASNet"),
        "acknowledgement_overhead": Figure(0.3e-6, ASSUMED),
        "signal_overhead": Figure(0.3e-6, ASSUMED + ": a put of one word"),
        "flag": Figure(0.2e-6, ASSUMED + ": two misses of the cache between cores"),
        "shared_copy": Figure(0.05e-6, ASSUMED),
        "row": Figure(4e-9, ASSUMED),
        "copy_bandwidth": Figure(103e9 / 16 / 2, PAPER + ": STREAM 103 GB/s of a node, 16 ranks, read and written"),
        "node_bandwidth": Figure(8e9, "MPI bandwidth that NERSC stated for Edison, about"),
        "global_bandwidth": Figure(23.7e12 / 5576, "global bandwidth of Edison, 23.7 TB/s, over its 5,576 nodes"),
        "barrier_step": Figure(0.2e-6, ASSUMED),
    }
    method = Method("7pt", "chebyshev", pairs=False)
    return Machine("Edison-like (Cray XC30, Aries dragonfly)", figures, {128: 5e-8}, ASSUMED, method)


RUNTIME = "runtime_benchmark on 2 ranks"


def this_machine(method: Method, measured: dict[int, float], source: str, network: Path | None = None) -> Machine:
    """Computing as measured (`measured_seconds_per_cell`), communication as in `network_figures`."""
    figures = network_figures(network)
    name = "this machine's cores, its runtime's messages on a dragonfly of two-core nodes"
    return Machine(name, figures, measured, source, method)


TWO_CORES = {
    # operation, bytes: microseconds but for the last two, as `runtime_benchmark` printed them on two virtual cores of a Xeon
    "one_way_8": 2.553,
    "stream_8": 1 / 4.767,
    "put_8": 4.618,
    "strided_put": 47.18,
    "put_32768": 14.15,
    "sync_off_node": 4.987,
    "stream_262144_GB_s": 5.43,
    "put_8_on_node": 0.0673,
    "strided_put_on_node": 16.36,
    "put_32768_on_node": 0.9481,
    "put_1048576_on_node": 43.48,
    "sync_on_node": 0.2156,
    "barrier_on_node": 0.7592,
}


def network_figures(file: Path | None) -> dict[str, Figure]:
    """Figures of communication from what runtime_benchmark has written, or those of TWO_CORES.

    file: {"between_nodes": its output with --ranks-per-node 1, "on_node": its output without}.
    """
    m, source = (TWO_CORES, f"{RUNTIME} (two virtual cores of a Xeon)") if file is None else _read_benchmarks(file)
    elements = 64 * 64
    o = m["stream_8"] * 1e-6
    latency = max(m["one_way_8"] * 1e-6 - 2 * o, 0.0)
    alone = max((m["sync_off_node"] * 1e-6 - latency) / 4, o)
    row = max(m["strided_put_on_node"] - m["put_32768_on_node"], 0.0) * 1e-6 / elements
    between = f"{source}, virtual nodes"
    from_one_way = f"{between}: one way of 8 B - 2 overheads; every distance alike, since no network could be measured"
    return {
        "ranks_per_socket": Figure(2, "two cores"),
        "ranks_per_node": Figure(2, "two cores"),
        "nodes_per_router": Figure(4, "as Aries"),
        "nodes_per_chassis": Figure(64, "as Aries"),
        "nodes_per_group": Figure(384, "as Aries"),
        "latency_node": Figure(latency, from_one_way),
        "latency_router": Figure(latency, from_one_way),
        "latency_chassis": Figure(latency + 0.1e-6, "one way + 0.1 us per hop between routers (assumed)"),
        "latency_group": Figure(latency + 0.2e-6, "one way + 0.1 us per hop between routers (assumed)"),
        "latency_global": Figure(latency + 0.7e-6, "one way + five hops and an optical cable (assumed)"),
        "put_overhead": Figure(o, f"{between}: rate of a stream of 8 B"),
        "put_overhead_target": Figure(o, f"{between}: rate of a stream of 8 B"),
        "message_overhead": Figure(alone, f"{between}: as a signal, which travels alone too"),
        "acknowledgement_overhead": Figure(o, f"{between}: rate of a stream of 8 B"),
        "signal_overhead": Figure(alone, f"{between}: (neighbour sync - latency) / 4"),
        "flag": Figure(m["sync_on_node"] * 1e-6 / 2, f"{source}, one node: neighbour sync / 2"),
        "shared_copy": Figure(m["put_8_on_node"] * 1e-6, f"{source}, one node: put of 8 B"),
        "row": Figure(row, f"{source}, one node: strided put of 64 x 64 doubles, less that of 32 KiB in one piece"),
        "copy_bandwidth": Figure(2**20 / (m["put_1048576_on_node"] * 1e-6), f"{source}, one node: put of 1 MiB"),
        "node_bandwidth": Figure(m["stream_262144_GB_s"] * 1e9, f"{between}: stream of 256 KiB"),
        "global_bandwidth": Figure(
            m["stream_262144_GB_s"] * 1e9 * 0.5, "half of a node's, as tapered as Edison (assumed)"
        ),
        "barrier_step": Figure(m["barrier_on_node"] * 1e-6, f"{source}, one node: barrier of 2"),
    }


WANTED = {
    "one_way_8": ("between_nodes", "message one-way", 8, "us"),
    "stream_8": ("between_nodes", "message stream rate", 8, "million/s"),
    "put_8": ("between_nodes", "rput latency", 8, "us"),
    "strided_put": ("between_nodes", "strided put 64 x 64 doubles", 32768, "us"),
    "put_32768": ("between_nodes", "rput latency", 32768, "us"),
    "sync_off_node": ("between_nodes", "neighbour sync, two neighbours", 0, "us"),
    "stream_262144_GB_s": ("between_nodes", "message stream bandwidth", 262144, "GB/s"),
    "put_8_on_node": ("on_node", "rput latency", 8, "us"),
    "strided_put_on_node": ("on_node", "strided put 64 x 64 doubles", 32768, "us"),
    "put_32768_on_node": ("on_node", "rput latency", 32768, "us"),
    "put_1048576_on_node": ("on_node", "rput latency", 1048576, "us"),
    "sync_on_node": ("on_node", "neighbour sync, two neighbours", 0, "us"),
    "barrier_on_node": ("on_node", "barrier", 0, "us"),
}


def _read_benchmarks(file: Path) -> tuple[dict[str, float], str]:
    given = _read_json(file)
    found = {}
    for name, (where, operation, size, unit) in WANTED.items():
        try:
            rows = given[where]["figures"]
            value = next(
                float(row["median"])
                for row in rows
                if (row["operation"], row["by"], row["bytes"], row["unit"]) == (operation, "craton", size, unit)
            )
        except (KeyError, TypeError, ValueError, StopIteration):
            raise UserError(
                f"{file}: no '{operation}' of {size} bytes in '{where}'; allowed: "
                '{"between_nodes": ..., "on_node": ...}, what runtime_benchmark wrote with --ranks-per-node 1 and without'
            ) from None
        if not (math.isfinite(value) and value > 0):
            raise UserError(f"{file}: '{operation}' of {size} bytes in '{where}' = {value}; allowed: more than 0")
        found[name] = 1 / value if unit == "million/s" else value
    return found, f"{RUNTIME} ({file.name})"


def measured_seconds_per_cell(method: Method, side: int) -> tuple[dict[int, float], str]:
    """Seconds per cell of a visit by sides of grids, and how they were measured.

    From F-cycles of one rank on grids of 1^3, 2^3 ... side^3 cells, each one box, best of several. An F-cycle's time T(n) is the
    sum of the V-cycles from every level, V(n) = T(n) - T(n / 2), and one visit of a level takes V(n) - V(n / 2).
    """
    import craton

    craton.check_mpi()
    from craton import _craton
    from mpi4py import MPI

    solver = _craton.MultigridSolver(
        craton.World(MPI.COMM_SELF), (1, 1, 1), side, "lexicographic", method.operator, method.smoother, 0.0, 1.0
    )
    seconds: dict[int, float] = {}
    for level, (box, _, _) in enumerate(solver.levels):
        solver.f_cycle(level)
        times = []
        for _ in range(8 if level == 0 else 20 if level < 3 else 40):
            begun = time.perf_counter()
            solver.f_cycle(level)
            times.append(time.perf_counter() - begun)
        seconds[box] = min(times)
    per_cell = {}
    for n, t in seconds.items():
        visit = t - 2 * seconds.get(n // 2, 0.0) + seconds.get(n // 4, 0.0)
        per_cell[n] = max(visit, 1e-3 * t) / n**3
    return per_cell, f"F-cycles of {method.operator} {method.smoother} on one rank, best of 8 to 40, just now"


def from_file(file: Path) -> Machine:
    """A machine as `craton study scale --output` writes it under "machine"."""
    given = _read_json(file)
    given = given.get("machine", given) if isinstance(given, dict) else given
    try:
        figures, table = given["figures"], given["seconds_per_cell"]
        names, sizes = set(figures), [int(n) for n in table]
        method = Method(given.get("operator", "7pt"), given.get("smoother", "chebyshev"), given.get("pairs") is True)
        sum(words(method).values())
    except (KeyError, TypeError, ValueError, AttributeError):
        raise UserError(
            f"{file}: no machine; allowed: what craton study scale --output writes, with figures, seconds_per_cell, "
            "operator and smoother"
        ) from None
    odd = sorted(names ^ set(EVERYWHERE))
    if odd:
        what = "is missing" if odd[0] in EVERYWHERE else "is unknown"
        raise UserError(f"{file}: figure '{odd[0]}' {what}; allowed: {', '.join(EVERYWHERE)}")
    read = {name: Figure(_number(file, name, figures[name]), _source(figures[name])) for name in EVERYWHERE}
    per_cell = {n: _number(file, f"seconds_per_cell {n}", table[str(n)]) for n in sizes}
    if not per_cell or min(per_cell) < 1:
        raise UserError(f"{file}: seconds_per_cell of {sizes}; allowed: sizes of at least 1")
    return Machine(
        str(given.get("name", file.stem)), read, per_cell, str(given.get("computing_from", file.name)), method
    )


def _number(file: Path, name: str, given: Any) -> float:
    value = given["value"] if isinstance(given, dict) and "value" in given else given
    count, bandwidth = name in COUNTS, name in BANDWIDTHS
    good = isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    if count:
        good = good and value >= 1 and value == int(value)
    elif good:
        good = value > 0 if bandwidth else value >= 0
    if not good:
        allowed = "a whole number of at least 1" if count else "more than 0" if bandwidth else "a number of at least 0"
        raise UserError(f"{file}: {name} = {value!r}; allowed: {allowed}")
    return float(value)


def _source(given: Any) -> str:
    return str(given.get("from", "given")) if isinstance(given, dict) else "given"


def _read_json(file: Path) -> Any:
    try:
        return json.loads(file.read_text())
    except OSError as error:
        raise UserError(f"{file}: {error.strerror}; allowed: a JSON file") from None
    except ValueError as error:
        raise UserError(f"{file}: no JSON: {error}; allowed: a JSON file") from None
