"""Seismograms of a run for other programs, through ObsPy: SAC, MiniSEED, ASDF.

Velocities in m/s, positive up, north and east (or along the grid's x and y, as components 1 and 2, where x does not point north).
Where the grid has no place on the Earth the time of the first step is 1970-01-01.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from craton.errors import UserError
from craton.runs.files import remove
from craton.seismology.wave_run.folder import WavesFolder
from craton.seismology.wave_run.results import Seismograms, read_seismograms

__all__ = ["FORMATS", "export"]

FORMATS = ("sac", "mseed", "asdf")
NETWORK = "SY"
"""FDSN's network code of synthetics."""


def export(run: Path, kind: str, target: Path | None, *, overwrite: bool = False) -> Path:
    """The folder (sac) or file that was written. UserError for what cannot be read or written, and where a package is missing."""
    if kind not in FORMATS:
        raise UserError(f"--format {kind}; allowed: {', '.join(FORMATS)}")
    _need("obspy", f"--format {kind}")
    if kind == "asdf":
        _need("pyasdf", "--format asdf")
    folder = WavesFolder(run)
    record = folder.read_record()
    found = read_seismograms(folder)
    to = target or run / {"sac": "sac", "mseed": "seismograms.mseed", "asdf": "seismograms.asdf.h5"}[kind]
    if to.exists() and not overwrite:
        raise UserError(f"{to}: exists; allowed: --overwrite, or another --output")
    aside = to.with_name(f"{to.name}.partial")
    remove(aside)
    try:
        _write(kind, found, aside, record.title)
        remove(to)
        aside.rename(to)
    except OSError as problem:
        raise UserError(f"{to}: cannot be written: {problem.strerror or problem}; allowed: a place with room") from None
    finally:
        remove(aside)
    return to


def stream_of(found: Seismograms) -> Any:
    """An obspy.Stream, a trace for each station and component."""
    from obspy import Stream, Trace, UTCDateTime

    traces = []
    band = _band(1 / found.dt_s)
    for letter, values in found.components().items():
        for number, (name, series) in enumerate(zip(found.names, values, strict=True)):
            network, station = _codes(name, number)
            header = {
                "network": network,
                "station": station,
                "channel": f"{band}X{letter}",
                "starttime": UTCDateTime(0) + found.first_time_s,
                "delta": found.dt_s,
            }
            traces.append(Trace(series.copy(), header))
    return Stream(traces)


def _write(kind: str, found: Seismograms, path: Path, title: str) -> None:
    stream = stream_of(found)
    if kind == "sac":
        path.mkdir()
        for number, trace in enumerate(stream):
            _write_sac(trace, found, number % len(found.names), path)
    elif kind == "mseed":
        stream.write(str(path), format="MSEED", encoding="FLOAT32")
    else:
        from pyasdf import ASDFDataSet

        with ASDFDataSet(str(path), mpi=False) as file:
            file.add_waveforms(stream, tag=re.sub("[^a-z0-9]+", "_", f"{title}_synthetic".lower()).strip("_"))


def _write_sac(trace: Any, found: Seismograms, station: int, folder: Path) -> None:
    from obspy.io.sac import SACTrace

    sac = SACTrace.from_obspy_trace(trace)
    sac.b = found.first_time_s
    x, y, z = found.position_m[station]
    sac.user0, sac.user1, sac.stdp = x, y, z  # m, along the grid's axes
    letter = trace.stats.channel[-1]
    sac.cmpinc = 0.0 if letter == "Z" else 90.0
    sac.cmpaz = {"Z": 0.0, "N": 0.0, "1": 0.0}.get(letter, 90.0) + (0.0 if letter == "Z" else found.azimuth_deg) % 360
    sac.idep = "ivel"
    if found.longitude_latitude_deg is not None:
        sac.stlo, sac.stla = found.longitude_latitude_deg[station]
    sac.write(str(folder / f"{trace.id}.sac"))


def _codes(name: str, number: int) -> tuple[str, str]:
    """Network and station from a name such as CI.PAS; codes are short and of letters and digits."""
    network, dot, station = name.partition(".")
    if not dot:
        network, station = NETWORK, name
    plain = re.sub("[^A-Za-z0-9]", "", station)
    return re.sub("[^A-Za-z0-9]", "", network)[:2] or NETWORK, plain.upper() if 0 < len(
        plain
    ) <= 5 else f"S{number:04d}"


def _band(rate_hz: float) -> str:
    """SEED's letter for the sampling rate."""
    for least, letter in ((1000, "F"), (250, "C"), (80, "H"), (10, "B"), (1.0001, "M"), (0.1, "L")):
        if rate_hz >= least:
            return letter
    return "V"


def _need(package: str, what: str) -> None:
    import importlib.util

    if importlib.util.find_spec(package) is None:
        raise UserError(
            f"{what}: the package {package} is not installed; allowed: pip install {package}, or another --format"
        )
