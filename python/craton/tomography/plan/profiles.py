"""Machines whose rates are stated, for a plan that takes no measuring.

The rates of a core were measured with two cores of an AMD EPYC at work, in float32, and rounded; what is beside them is assumed. On
other cores they may be wrong by a factor of two or three: `craton tomography plan --measure` measures.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from craton.tomography.plan.machine import Machine

__all__ = ["DEFAULT", "PROFILES", "profile"]

_CORE: dict[str, Any] = {
    "measured_ranks": 0,
    "update_ns_per_element": 2.5,
    "prior_ns_per_element": 3.8,
    "prior_ns_per_knot3": 0.25,
    "cholesky_gflops": 100.0,
    "cholesky_half_order": 3000.0,
    "process_mib": 100.0,
}
"""Of a core, whatever the theory."""
_PATH_AVERAGES: dict[str, Any] = {
    "panel_ns_per_term": 5.0,
    "panel_ns_per_radial_term": 0.13,
    "panel_ns_per_element": 0.0,
    "seismogram_ns_per_term": 28.0,
    "product_gflops": 1.2,
}
_COUPLED: dict[str, Any] = {
    "panel_ns_per_term": 260.0,
    "panel_ns_per_radial_term": 14.0,
    "panel_ns_per_element": 0.0,
    "seismogram_ns_per_term": 98.0,
    "product_gflops": 50.0,
}
"""Panels of modes that couple."""

_WORKSTATION = Machine(
    **_CORE,
    **_PATH_AVERAGES,
    name="workstation",
    cores_per_node=8,
    memory_per_node_gib=32.0,
    memory_gb_s=10.0,
    first_touch_gb_s=1.0,
    disk_gb_s=0.5,
    file_s=0.005,
)
PROFILES = {
    "workstation": _WORKSTATION,
    "cluster": replace(
        _WORKSTATION,
        name="cluster",
        cores_per_node=64,
        memory_per_node_gib=256.0,
        memory_gb_s=4.0,
        first_touch_gb_s=0.5,
        disk_gb_s=10.0,
        file_s=0.05,
        network_gb_s=12.5,
        start_s=30.0,
        jitter=0.02,
    ),
}
"""By name: eight cores and an SSD; and nodes of 64 cores, 100 Gb/s between them and a parallel file system of 10 GB/s."""
DEFAULT = "workstation"


def profile(name: str, coupled: bool, element_bytes: int = 4, solve_bytes: int = 4) -> Machine:
    """One of PROFILES, with the rates of panels of path averages or of coupled modes.

    element_bytes, solve_bytes: of an element of the Hessian and of its factor. Of 8 bytes half as many fit a register, a cache or a
    second of memory's time: rates are half as high.
    """
    machine = replace(PROFILES[name], **(_COUPLED if coupled else _PATH_AVERAGES))
    longer, factor_longer = element_bytes / 4, solve_bytes / 4
    return replace(
        machine,
        product_gflops=machine.product_gflops / longer,
        update_ns_per_element=machine.update_ns_per_element * longer,
        prior_ns_per_element=machine.prior_ns_per_element * longer,
        cholesky_gflops=machine.cholesky_gflops / factor_longer,
    )
