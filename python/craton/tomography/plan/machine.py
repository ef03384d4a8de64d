"""What a machine does per second; machine.toml keeps it. calibration.py measures it.

Rates are of one rank of one thread while `measured_ranks` of them do the same: cores share caches and memory, and are slower
together. Only the disk's is of all of them, and the prior's of one while the others wait. What one node cannot measure, the
network, start and unevenness of a large job, is an assumption that machine.toml states and lets you change. profiles.py has
machines of which everything is stated.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from craton.runs.files import write_text
from craton.settings import REQUIRED, check_keys, integer, number, read_table, read_toml, setting, table_to_toml, text


def rate(help_text: str, low: float = 1e-6, high: float = 1e12, unit: str = "") -> Any:
    """A setting that was measured, and has no default."""
    return setting(REQUIRED, number(low, high, unit), help_text)


def assumed(value: float, low: float, high: float, help_text: str) -> Any:
    """A setting that one node cannot measure."""
    return setting(value, number(low, high), f"{help_text}; not measured, an assumption")


@dataclass(frozen=True)
class Machine:
    """One node, and what connects nodes."""

    name: str = setting("unnamed", text, "where the rates were measured")
    cores_per_node: int = setting(REQUIRED, integer(1, 10**6), "that threads of ranks share")
    memory_per_node_gib: float = rate("GiB free for a run", 0.01, 1e7, "GiB")
    measured_ranks: int = setting(
        1, integer(0, 10**6), "ranks at a time on the node while the rates were measured; 0: rates are stated"
    )
    panel_ns_per_term: float = rate("ns per sample and mode of a panel, without its radial splines")
    panel_ns_per_radial_term: float = rate("ns per sample, mode and radial spline of a panel", 0, 1e12)
    panel_ns_per_element: float = rate("ns per element of a panel", 0, 1e12)
    seismogram_ns_per_term: float = rate("ns per sample and mode of a seismogram alone")
    product_gflops: float = rate("GFLOP/s of products of panels")
    update_ns_per_element: float = rate("ns per element added to the Hessian in this node's memory")
    prior_ns_per_element: float = rate("ns per element of the Hessian to which C_m^-1 is added")
    prior_ns_per_knot3: float = rate("ns times lateral knots cubed: inverting the prior's covariance")
    cholesky_gflops: float = rate("GFLOP/s of factorising a large matrix, in the run's precision and block")
    cholesky_half_order: float = rate("order of the matrix at which it runs at half that", 0, 1e6)
    memory_gb_s: float = rate("GB/s of memory, STREAM triad")
    first_touch_gb_s: float = rate("GB/s of zeros in memory that the system has yet to hand out")
    disk_gb_s: float = rate("GB/s of a matrix saved to the run's folder, all ranks together")
    file_s: float = rate("seconds to make, synchronise and rename a file", 0, 1e4, "s")
    network_gb_s: float = assumed(10.0, 1e-6, 1e12, "GB/s into and out of a node")
    network_latency_us: float = assumed(2.0, 0, 1e7, "us of the shortest message between nodes")
    message_us: float = assumed(1.0, 0, 1e7, "us of a core for a message between nodes, at either end")
    jitter: float = assumed(0.01, 0, 10, "standard deviation of the time of equal work, as a part of it")
    start_s: float = assumed(3.0, 0, 1e6, "seconds until all ranks have started")
    report_s: float = assumed(15.0, 0, 1e6, "seconds of one process that draws the report when the ranks have ended")
    process_mib: float = rate("MiB of a rank before it holds anything", 1, 1e6, "MiB")


def load_machine(path: Path) -> Machine:
    """machine.toml; UserError names the key, the value and what is allowed."""
    tables = read_toml(path, "craton tomography plan CONFIG --calibrate machine.toml")
    check_keys(tables, {"machine": Machine}, f"{path}: unknown table", brackets=True)
    return read_table(Machine, "machine", tables.get("machine", {}), str(path), path.absolute().parent)


def save_machine(machine: Machine, path: Path) -> None:
    """With the meaning of each figure beside it."""
    lines = [
        "# Rates of one thread beside the others, as `craton tomography plan` measured them; change what you know better.",
        "",
    ]
    help_of = {item.name: item.metadata["help"] for item in dataclasses.fields(Machine)}
    for line in table_to_toml("machine", machine).splitlines():
        name = line.partition(" ")[0]
        lines.append(f"{line:<44} # {help_of[name]}" if name in help_of else line)
    write_text(path, "\n".join(lines) + "\n")
