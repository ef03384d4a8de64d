"""Machines for a plan, by their rates: stated profiles, or a file of one's own with the same keys.

Rates of the workstation and the cluster are those of cores of an AMD EPYC, of the GPU those of an H200 (docs/gpu.md), rounded. On
other machines they may be wrong by a factor of two or three; files, network and queue are assumptions.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, replace
from pathlib import Path

from craton.errors import UserError
from craton.runs.files import write_text
from craton.settings import REQUIRED, check_keys, integer, number, read_table, read_toml, setting, table_to_toml, text

__all__ = ["OF_HAZARD", "OF_INVERSIONS", "PROFILES", "Machine", "machine_of", "save_machine"]


@dataclass(frozen=True)
class Machine:
    """One node, and what nodes share."""

    name: str = setting("unnamed", text, "name")
    nodes: int = setting(REQUIRED, integer(1, 10**6), "that a run may have at a time")
    cores_per_node: int = setting(REQUIRED, integer(1, 10**6), "cores of a node")
    memory_per_node_gib: float = setting(REQUIRED, number(0.01, 1e7, "GiB"), "GiB free for runs, of a node")
    gpus_per_node: int = setting(0, integer(0, 1024), "GPUs of a node, which compute the waves; 0: its cores do")
    gpu_memory_gib: float = setting(0.0, number(0, 1e6, "GiB"), "GiB of a GPU")
    core_mpoints_per_s: float = setting(
        60.0, number(1e-3, 1e9), "million cells a second, elastic, of a core while all cores do the same"
    )
    gpu_mpoints_per_s: float = setting(0.0, number(0, 1e9), "million cells a second, elastic, of a GPU with its layers")
    anelastic: float = setting(0.6, number(1e-3, 1), "part of these rates that anelastic ground leaves")
    parallel: float = setting(0.85, number(1e-3, 1), "part of these rates that a wave run on several nodes keeps")
    start_s: float = setting(1.5, number(0, 1e6, "s"), "s until a wave run makes its first step")
    rupture_ns: float = setting(
        40.0,
        number(0, 1e9, "ns"),
        "ns of a core for a rupture's subfault, direction and sample: tensors read, times moments, as spectra",
    )
    variation_us: float = setting(
        400.0,
        number(0, 1e9, "us"),
        "us of a core for a variation, whatever its size: random slip, onsets, a row of measures",
    )
    subfault_ns: float = setting(
        0.25, number(0, 1e9, "ns"), "ns of a core for a variation's subfault, direction and frequency"
    )
    sample_ns: float = setting(
        35.0,
        number(0, 1e9, "ns"),
        "ns of a core for a variation's direction and sample: back in time, oscillators, RotD50",
    )
    product_ns: float = setting(
        70.0,
        number(0, 1e9, "ns"),
        "ns of a core for a point and frequency of two runs: kernels of an inversion, and their sum at knots",
    )
    gram_gflops: float = setting(
        20.0, number(1e-3, 1e9), "billion operations a second of a core that adds panels to a Hessian, or factors it"
    )
    file_gb_s: float = setting(0.5, number(1e-6, 1e6, "GB/s"), "GB/s to and from files, of all nodes together")
    busy: float = setting(0.85, number(1e-3, 1), "part of its time that a node computes; the rest it waits for tasks")

    @property
    def node_points_per_s(self) -> float:
        """Cells a second of a node, elastic."""
        rate = self.gpus_per_node * self.gpu_mpoints_per_s or self.cores_per_node * self.core_mpoints_per_s
        return 1e6 * rate

    @property
    def wave_memory_bytes(self) -> float:
        """Of a node, for the fields of waves."""
        return (self.gpus_per_node * self.gpu_memory_gib or self.memory_per_node_gib) * 2**30

    @property
    def cores_beside_waves(self) -> int:
        """Of a node whose GPUs compute waves: one core is left to each GPU (Cui et al. 2013, section VII.A). Without GPUs 0."""
        return max(1, self.cores_per_node - self.gpus_per_node) if self.gpus_per_node else 0


_WORKSTATION = Machine(
    name="workstation", nodes=1, cores_per_node=8, memory_per_node_gib=28.0, core_mpoints_per_s=100.0, parallel=1.0
)
OF_INVERSIONS, OF_HAZARD = ("product_ns", "gram_gflops"), ("rupture_ns", "variation_us", "subfault_ns", "sample_ns")
"""Rates that only plans of inversions use, and those that only plans of hazard do."""

PROFILES = {
    "workstation": _WORKSTATION,
    "cluster": replace(
        _WORKSTATION,
        name="cluster",
        nodes=100,
        cores_per_node=64,
        memory_per_node_gib=240.0,
        core_mpoints_per_s=60.0,
        parallel=0.85,
        start_s=30.0,
        file_gb_s=10.0,
    ),
    "gpu": replace(
        _WORKSTATION,
        name="gpu",
        nodes=25,
        cores_per_node=64,
        memory_per_node_gib=480.0,
        gpus_per_node=4,
        gpu_memory_gib=130.0,
        gpu_mpoints_per_s=24e3,
        anelastic=0.7,
        parallel=0.85,
        start_s=30.0,
        file_gb_s=10.0,
    ),
}
"""By name: eight cores and an SSD; 100 nodes of 64 cores; 25 nodes of four H200; the latter two with files of 10 GB/s."""


def machine_of(given: str) -> Machine:
    """A profile by its name, or the machine of a TOML file. UserError for what is neither."""
    if given in PROFILES:
        return PROFILES[given]
    path = Path(given)
    if not path.is_file():
        raise UserError(
            f"--machine {given}: no profile and no file; allowed: {', '.join(PROFILES)}, or a file of --save-machine"
        )
    tables = read_toml(path, "craton hazard plan --save-machine machine.toml")
    check_keys(tables, {"machine": Machine}, f"{path}: unknown table", brackets=True)
    return read_table(Machine, "machine", tables.get("machine", {}), str(path), path.absolute().parent)


def save_machine(machine: Machine, path: Path) -> None:
    """Writes it with the meaning of each figure beside it."""
    help_of = {item.name: item.metadata["help"] for item in dataclasses.fields(Machine)}
    lines = [
        "# A machine for craton hazard plan --machine THIS_FILE, or craton regional plan: change what you know better.",
        "",
    ]
    for line in table_to_toml("machine", machine).splitlines():
        name = line.partition(" ")[0]
        lines.append(f"{line:<36} # {help_of[name]}" if name in help_of else line)
    write_text(path, "\n".join(lines) + "\n")
