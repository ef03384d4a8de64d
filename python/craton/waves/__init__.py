"""Waves: an anelastic solver on a staggered grid, with strain Green's tensors.

    from craton import waves

    config = waves.load_config("run.toml")
    waves.examine(config).table()          # what the grid resolves, step, memory, time
    setup = waves.Setup(config)            # grid, medium, sources, receivers
    setup.medium.sample(setup.grid, box)   # vp, vs, rho, qp, qs of any box of cells
    setup.sources(box, dt_s)               # what reaches into it
    record = waves.run(config)             # collective: steps it, and leaves a folder with files, as `craton waves run`
    record.figures()                       # matplotlib Figures by name; record.write_report() draws report.html
    waves.Simulation(config, world, comm)  # what run() steps (collective)
    waves.read_seismograms("my-run")       # names, positions, velocity (station, 3, time); read_snapshots likewise
    record = waves.WavesFolder("my-run").read_record()
    waves.record_section_figure(waves.read_seismograms("my-run"), record)    # a matplotlib Figure; snapshots_figure, map_figure

Names are loaded when they are first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from craton.lazy import lazy_names

if TYPE_CHECKING:
    from craton.seismology.geometry.grid import Box, Grid, bricks, decompose
    from craton.seismology.ground.media import Constant, Layers, Material, Medium
    from craton.seismology.ground.media_files import open_awp, open_hdf5, open_netcdf, write_awp
    from craton.seismology.ground.media_partition import open_partitions, write_partitions
    from craton.seismology.ground.sw4_files import open_rfile, open_sfile
    from craton.seismology.ground.ucvm_text import open_ucvm_text
    from craton.seismology.sources.kinematic import read_kinematic
    from craton.seismology.sources.partitioned_source import partition_source
    from craton.seismology.sources.point_sources import PointSource, Source, point_source
    from craton.seismology.sources.source_time import SourceTime, source_time
    from craton.seismology.sources.srf import Subfault, iterate_srf, write_srf
    from craton.seismology.sources.streamed_source import StreamedSource
    from craton.seismology.wave_run.check import Findings, examine
    from craton.seismology.wave_run.config import Config, load_config, template
    from craton.seismology.wave_run.folder import WavesFolder, WavesRecord
    from craton.seismology.wave_run.receivers import Receivers, read_points, read_stations
    from craton.seismology.wave_run.results import (
        Seismograms,
        Snapshots,
        Spectra,
        read_seismograms,
        read_snapshots,
        read_spectra,
    )
    from craton.seismology.wave_run.setup import Setup
    from craton.waves.export import read_metadata
    from craton.waves.pictures import figures, map_figure, movie, record_section_figure, snapshots_figure
    from craton.waves.report import write_report
    from craton.waves.simulation import Simulation
    from craton.waves.start import resume, run

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
    "Seismograms",
    "Setup",
    "Simulation",
    "Snapshots",
    "Source",
    "SourceTime",
    "Spectra",
    "StreamedSource",
    "Subfault",
    "WavesFolder",
    "WavesRecord",
    "bricks",
    "decompose",
    "examine",
    "figures",
    "iterate_srf",
    "load_config",
    "map_figure",
    "movie",
    "open_awp",
    "open_hdf5",
    "open_netcdf",
    "open_partitions",
    "open_rfile",
    "open_sfile",
    "open_ucvm_text",
    "partition_source",
    "point_source",
    "read_kinematic",
    "read_metadata",
    "read_points",
    "read_seismograms",
    "read_snapshots",
    "read_spectra",
    "read_stations",
    "record_section_figure",
    "resume",
    "run",
    "snapshots_figure",
    "source_time",
    "template",
    "write_awp",
    "write_partitions",
    "write_report",
    "write_srf",
]

_, __getattr__, __dir__ = lazy_names(__name__)
