"""Seismograms of a run for other programs, through ObsPy: SAC, MiniSEED, ASDF; with them StationXML and QuakeML.

Velocities in m/s, positive up, north and east (or along the grid's x and y, as components 1 and 2, where x does not point north).
Times are UTC where the run knows when it takes place; else it begins at 1970-01-01, and the notes say so.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from craton.errors import UserError
from craton.runs.files import remove
from craton.seismology.files import need_obspy
from craton.seismology.wave_run.config import build
from craton.seismology.wave_run.folder import WavesFolder
from craton.seismology.wave_run.results import read_seismograms
from craton.seismology.wave_run.setup import grid_of, topography_of
from craton.waves.metadata import Metadata

__all__ = ["FORMATS", "Exported", "export", "read_metadata"]

FORMATS = ("sac", "mseed", "asdf")
NAMES = {"sac": "sac", "mseed": "seismograms.mseed", "asdf": "seismograms.asdf.h5"}


@dataclass(frozen=True)
class Exported:
    """What was written: the file of seismograms (of sac: the folder), files beside it, and what a reader should know."""

    file: Path
    beside: list[Path] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def export(run: Path, kind: str, target: Path | None, *, overwrite: bool = False) -> Exported:
    """Writes the seismograms of a run. Stations and earthquake are described inside the file or folder; for mseed in files beside.

    UserError for what cannot be read or written, and where a package is missing.
    """
    if kind not in FORMATS:
        raise UserError(f"--format {kind}; allowed: {', '.join(FORMATS)}")
    _need("obspy", f"--format {kind}")
    if kind == "asdf":
        _need("pyasdf", "--format asdf")
    told = read_metadata(run)
    to = target or run / NAMES[kind]
    writers: dict[Path, Callable[[Path], None]] = {to: lambda aside: _write(kind, told, aside)}
    if kind == "mseed":
        writers |= {to.with_suffix(f".{name}"): write for name, write in _descriptions(told).items()}
    for path in writers:
        if path.exists() and not overwrite:
            raise UserError(f"{path}: exists; allowed: --overwrite, or another --output")
    for path, write in writers.items():
        _replace(path, write)
    return Exported(to, list(writers)[1:], told.notes)


def read_metadata(run: str | os.PathLike[str]) -> Metadata:
    """A run's seismograms, stations and earthquake for ObsPy: stream(), inventory() and catalogue() of what it returns.

    UserError for a folder without them, and where ObsPy is missing.
    """
    need_obspy("read_metadata")
    folder = WavesFolder(run)
    record = folder.read_record()
    config = build(record.config, folder.config)
    grid = grid_of(config)
    return Metadata(record, read_seismograms(folder), grid, topography_of(config, grid))


def _replace(to: Path, write: Callable[[Path], None]) -> None:
    """Whole or not at all."""
    aside = to.with_name(f"{to.name}.partial")
    remove(aside)
    try:
        write(aside)
        remove(to)
        aside.rename(to)
    except OSError as problem:
        raise UserError(f"{to}: cannot be written: {problem.strerror or problem}; allowed: a place with room") from None
    finally:
        remove(aside)


def _descriptions(told: Metadata) -> dict[str, Callable[[Path], None]]:
    """By file name, what writes stations and earthquake, where the grid has a place."""
    writers: dict[str, Callable[[Path], None]] = {}
    if (stations := told.inventory()) is not None:
        writers["stations.xml"] = lambda path: stations.write(str(path), format="STATIONXML", validate=True)
    if (events := told.catalogue()) is not None:
        writers["event.xml"] = lambda path: events.write(str(path), format="QUAKEML")
    return writers


def _write(kind: str, told: Metadata, path: Path) -> None:
    stream = told.stream()
    if kind == "sac":
        path.mkdir()
        for number, trace in enumerate(stream):
            _write_sac(trace, told, number % len(told.found.names), path)
        for name, write in _descriptions(told).items():
            write(path / name)
    elif kind == "mseed":
        stream.write(str(path), format="MSEED", encoding="FLOAT32")
    else:
        _write_asdf(told, stream, path)


def _write_asdf(told: Metadata, stream: Any, path: Path) -> None:
    from pyasdf import ASDFDataSet

    tag = re.sub("[^a-z0-9]+", "_", f"{told.record.title}_synthetic".lower()).strip("_")
    events, stations = told.catalogue(), told.inventory()
    with ASDFDataSet(str(path), mpi=False) as file:
        if events is not None:
            file.add_quakeml(events)
        file.add_waveforms(stream, tag=tag, event_id=events[0] if events is not None else None)
        if stations is not None:
            file.add_stationxml(stations)


def _write_sac(trace: Any, told: Metadata, station: int, folder: Path) -> None:
    from obspy.io.sac import SACTrace

    sac = SACTrace.from_obspy_trace(trace)
    sac.reftime = told.origin_time
    sac.b = told.found.first_time_s
    x, y, z = told.found.position_m[station]
    sac.user0, sac.user1, sac.stdp = x, y, z  # m, along the grid's axes
    azimuth, dip = told.direction(trace.stats.channel[-1], station)
    sac.cmpaz, sac.cmpinc = azimuth, dip + 90  # from upwards
    sac.idep = "ivel"
    if told.found.longitude_latitude_deg is not None:
        sac.stlo, sac.stla = told.found.longitude_latitude_deg[station]
    if told.centroid is not None:
        sac.lcalda = True  # distance and azimuths follow from the places
        sac.evlo, sac.evla, sac.evdp = told.centroid.longitude_deg, told.centroid.latitude_deg, told.centroid.depth_m
    sac.write(str(folder / f"{trace.id}.sac"))


def _need(package: str, what: str) -> None:
    import importlib.util

    if importlib.util.find_spec(package) is None:
        raise UserError(
            f"{what}: the package {package} is not installed; allowed: pip install {package}, or another --format"
        )
