"""A plan: what a study of so many sites takes on a machine, and everything that is assumed for it.

Waves of a site are directions x steps x cells at the rate of the nodes that hold them. Post-processing is a time for each rupture,
by its subfaults and samples, and for each variation. On nodes with GPUs it goes on beside the waves, on the cores that they leave;
elsewhere after them. Tensors are written once and read once, while a node's memory holds those of a site; else each rupture reads
its own. Sites fill the nodes until the last one: nodes x wall clock is what is paid.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from craton.errors import UserError
from craton.hazard.plan.study import Study
from craton.seismology.plan.machine import Machine

__all__ = ["Plan", "make_plan"]


@dataclass(frozen=True)
class Plan:
    """Of one number of sites. Times in s, sizes in bytes."""

    sites: int
    nodes: int
    wave_runs: int
    seismograms: int
    nodes_of_run: int
    """that one wave run is spread over"""
    runs_at_a_time: int
    wave_run_s: float
    wave_node_s: float
    """of all wave runs, nodes x seconds"""
    post_core_s: float
    """of all post-processing, cores x seconds"""
    post_node_s: float
    """nodes x seconds that it takes beyond what runs beside waves"""
    tensor_bytes: float
    """of all sites, if they are kept"""
    site_bytes: float
    """of one site"""
    file_s: float
    """to write all tensors and to read them"""
    wall_s: float
    limit: str
    """what the wall clock is made of mostly"""

    @property
    def node_s(self) -> float:
        """Nodes x seconds of the allocation."""
        return self.nodes * self.wall_s


def make_plan(study: Study, machine: Machine, sites: int, nodes: int = 0) -> Plan:
    """The plan. nodes: of the machine's at a time; 0: all. UserError for fewer than a wave run needs."""
    nodes = nodes or machine.nodes
    if nodes > machine.nodes:
        raise UserError(f"--nodes {nodes}: {machine.name} has {machine.nodes}; allowed: 1 to {machine.nodes}")
    memory = study.cells * study.bytes_per_cell
    spread = math.ceil(memory / machine.wave_memory_bytes)
    if spread > nodes:
        raise UserError(
            f"a wave run of {study.cells:.3g} cells needs {memory / 2**30:.0f} GiB, {spread} nodes of {machine.name}; allowed: "
            f"--nodes {spread} or more, or a machine with more memory"
        )
    # a workstation computes runs of a core each side by side: the same node-seconds
    rate = machine.node_points_per_s * (machine.anelastic if study.anelastic else 1.0)
    rate *= machine.parallel if spread > 1 else 1.0
    wave_run_s = study.cells * study.steps / (spread * rate) + machine.start_s
    wave_runs = sites * study.directions
    wave_node_s = wave_runs * wave_run_s * spread
    of_variation_s = (
        1e-6 * machine.variation_us
        + 1e-9 * machine.subfault_ns * study.subfaults * study.directions * study.frequencies
        + 1e-9 * machine.sample_ns * study.directions * study.samples
    )
    of_ruptures_s = 1e-9 * machine.rupture_ns * study.ruptures * study.subfaults * study.directions * study.samples
    post_core_s = sites * (of_ruptures_s + study.variations * of_variation_s)
    beside = machine.cores_beside_waves / machine.cores_per_node
    post_all = post_core_s / machine.cores_per_node
    post_node_s = max(0.0, post_all - beside * wave_node_s) if beside else post_all
    computing_s = (wave_node_s + post_node_s) / (nodes * machine.busy)
    tensor_bytes = sites * study.tensor_bytes
    held = study.tensor_bytes <= machine.memory_per_node_gib * 2**30
    times_read = 1.0 if held else max(1.0, study.ruptures * study.subfaults / study.points)
    file_s = (1 + times_read) * tensor_bytes / (1e9 * machine.file_gb_s)
    parts = {"waves": wave_node_s, "post-processing": post_node_s}
    limit = "files" if file_s > computing_s else max(parts, key=lambda name: parts[name])
    return Plan(
        sites=sites,
        nodes=nodes,
        wave_runs=wave_runs,
        seismograms=sites * study.variations * study.directions,
        nodes_of_run=spread,
        runs_at_a_time=nodes // spread,
        wave_run_s=wave_run_s,
        wave_node_s=wave_node_s,
        post_core_s=post_core_s,
        post_node_s=post_node_s,
        tensor_bytes=tensor_bytes,
        site_bytes=study.tensor_bytes,
        file_s=file_s,
        # the last site's runs are not shared out any further
        wall_s=max(computing_s, file_s, study.directions * wave_run_s * spread / nodes),
        limit=limit,
    )
