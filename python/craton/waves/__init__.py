"""Waves: an anelastic solver on a staggered grid, with strain Green's tensors.

    from craton import waves

    config = waves.load_config("run.toml")
    waves.examine(config).table()          # what the grid resolves, step, memory, time
    setup = waves.Setup(config)            # grid, medium, sources, receivers
    setup.medium.sample(setup.grid, box)   # vp, vs, rho, qp, qs of any box of cells
    setup.sources(box, dt_s)               # what reaches into it
    waves.Simulation(config, world, comm)  # steps it (collective); `craton waves run` does that with files

Names are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from craton.waves.check import Findings, examine
    from craton.waves.config import Config, load_config, template
    from craton.waves.grid import Box, Grid, bricks, decompose
    from craton.waves.kinematic import StreamedSource, partition_source, read_kinematic
    from craton.waves.media import Constant, Layers, Material, Medium
    from craton.waves.media_files import open_awp, open_hdf5, open_netcdf, write_awp
    from craton.waves.media_partition import open_partitions, write_partitions
    from craton.waves.receivers import Receivers, read_points, read_stations
    from craton.waves.setup import Setup
    from craton.waves.simulation import Simulation
    from craton.waves.source_time import SourceTime, source_time
    from craton.waves.sources import PointSource, Source, point_source
    from craton.waves.srf import Subfault, iterate_srf, write_srf

__all__ = [
    "Box",
    "Config",
    "Constant",
    "Findings",
    "Grid",
    "Layers",
    "Material",
    "Medium",
    "PointSource",
    "Receivers",
    "Setup",
    "Simulation",
    "Source",
    "SourceTime",
    "StreamedSource",
    "Subfault",
    "bricks",
    "decompose",
    "examine",
    "iterate_srf",
    "load_config",
    "open_awp",
    "open_hdf5",
    "open_netcdf",
    "open_partitions",
    "partition_source",
    "point_source",
    "read_kinematic",
    "read_points",
    "read_stations",
    "source_time",
    "template",
    "write_awp",
    "write_partitions",
    "write_srf",
]

HOMES = {
    "Box": "grid",
    "Config": "config",
    "Constant": "media",
    "Findings": "check",
    "Grid": "grid",
    "Layers": "media",
    "Material": "media",
    "Medium": "media",
    "PointSource": "sources",
    "Receivers": "receivers",
    "Setup": "setup",
    "Simulation": "simulation",
    "Source": "sources",
    "SourceTime": "source_time",
    "StreamedSource": "kinematic",
    "Subfault": "srf",
    "bricks": "grid",
    "decompose": "grid",
    "examine": "check",
    "iterate_srf": "srf",
    "load_config": "config",
    "open_awp": "media_files",
    "open_hdf5": "media_files",
    "open_netcdf": "media_files",
    "open_partitions": "media_partition",
    "partition_source": "kinematic",
    "point_source": "sources",
    "read_kinematic": "kinematic",
    "read_points": "receivers",
    "read_stations": "receivers",
    "source_time": "source_time",
    "template": "config",
    "write_awp": "media_files",
    "write_partitions": "media_partition",
    "write_srf": "srf",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'craton.waves' has no attribute {name!r}")
    return getattr(importlib.import_module(f"craton.waves.{HOMES[name]}"), name)
