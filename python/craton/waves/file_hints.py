"""What MPI-IO is told about the files of a wave run: striping and aggregation (craton/io/hints.hpp)."""

from __future__ import annotations

from craton.seismology.wave_run.config import Config

__all__ = ["file_hints"]

MB = 2**20


def file_hints(config: Config, stripe_mb: float = 0.0) -> dict[str, str]:
    """The hints that [run] asks for, by MPI's names. stripe_mb: of this file, instead of [run] striping_unit_mb; 0: as there."""
    run = config.run
    wanted = {
        "striping_factor": run.striping_factor,
        "striping_unit": round((stripe_mb or run.striping_unit_mb) * MB),
        "cb_nodes": run.cb_nodes,
    }
    return {name: str(value) for name, value in wanted.items() if value}
