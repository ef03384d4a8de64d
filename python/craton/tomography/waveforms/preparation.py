"""From raw counts to accepted windows: reads, processes, looks for windows and judges them.

One process. Raw records are in memory one station of one event at a time; seismograms on the inversion's grid all the time, 8 bytes
per sample, as they are drawn at the end.
"""

from __future__ import annotations

import datetime
import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import craton
from craton.errors import UserError
from craton.runs.progress import ProgressBar
from craton.seismology.files import need_obspy
from craton.tomography.data.catalogue import Events, Stations
from craton.tomography.waveforms.config import WaveformConfig
from craton.tomography.waveforms.decisions import Ledger
from craton.tomography.waveforms.picking import DrawnTrace, Picker
from craton.tomography.waveforms.records.archive import Archive, matching_files, open_archive
from craton.tomography.waveforms.records.earthquakes import read_earthquakes
from craton.tomography.waveforms.records.processing import Displacement
from craton.tomography.waveforms.records.responses import Instrument, Instruments, read_instruments
from craton.tomography.waveforms.records.rotation import place_of
from craton.tomography.waveforms.records.stations import StationReader
from craton.tomography.waveforms.synthetics import synthetic_source
from craton.tomography.waveforms.table import WindowTable

FETCHED = {"waveforms": "waveforms/**/*.mseed", "responses": "stations.xml", "events": "events.xml"}


@dataclass
class Inputs:
    """What the configuration's patterns have found."""

    archive: Archive
    instruments: Instruments
    events: Events
    ledger: Ledger


@dataclass
class Preparation:
    """The windows of all events and stations, and what led to them."""

    config: WaveformConfig
    table: WindowTable
    ledger: Ledger
    synthetics: str
    traces: list[DrawnTrace] = field(default_factory=list)

    def record(self) -> dict[str, Any]:
        """windows.json: strict JSON."""
        return {
            "craton": craton.__version__,
            "made": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
            "config": self.config.to_dict(),
            "synthetics": self.synthetics,
            "accepted_windows": len(self.table.accepted),
            "rejected_windows": len(self.table.rejected),
            "reasons": [
                {"stage": stage, "code": code, "count": count} for (stage, code), count in self.ledger.counts().items()
            ],
            "decisions": [asdict(decision) for decision in self.ledger.decisions],
            "traces": [json.loads(text) for text in self.table.provenance],
        }


def find_inputs(config: WaveformConfig, console: Any = None) -> Inputs:
    """Reads earthquakes and responses and indexes waveforms. UserError where there is nothing to begin with."""
    need_obspy(str(config.path))
    ledger = Ledger()
    files = {name: input_files(config, name) for name in FETCHED}
    if not files["waveforms"]:
        raise UserError(
            f"{config.path}: [input] waveforms names no files, and {config.fetch.directory} holds none; allowed: patterns of "
            "files, or `craton tomography data fetch` first"
        )
    with ProgressBar("indexing", len(files["waveforms"]), "files", console) as bar:
        archive = open_archive(files["waveforms"], ledger, bar.update, f"{config.path}: [input] waveforms")
    instruments = read_instruments(files["responses"], archive.inventories, ledger)
    events = read_earthquakes(files["events"], archive.events, ledger, f"{config.path}: [input] events")
    return Inputs(archive, instruments, events, ledger)


def input_files(config: WaveformConfig, name: str) -> list[Path]:
    """The files of a setting of [input], or else what fetch has left."""
    patterns = getattr(config.input, name)
    if patterns:
        return matching_files(patterns, config.folder, f"{config.path}: [input] {name}")
    return sorted(Path(config.fetch.directory).glob(FETCHED[name]))


def prepare(config: WaveformConfig, console: Any = None) -> Preparation:
    """Reads, processes, looks for windows and judges them; writes nothing. Not collective. UserError where there is nothing.

    What is wrong with single files, channels and windows is in the ledger.
    """
    inputs = find_inputs(config, console)
    from obspy import UTCDateTime

    ledger, events = inputs.ledger, inputs.events
    reader = StationReader(inputs.archive, inputs.instruments, config, ledger)
    names = inputs.archive.stations
    places: dict[str, Instrument] = {}
    found: list[tuple[int, str, dict[str, Displacement]]] = []
    with ProgressBar("processing", len(events) * len(names), "stations", console) as bar:
        for row, event in enumerate(events.name):
            time = UTCDateTime(events.origin_time[row])
            for name in names:
                place, components = reader.components(event, time, place_of(events, row), name)
                if place is not None:
                    places.setdefault(name, place)
                if components:
                    found.append((row, name, components))
                bar.advance()
    if not found:
        raise UserError(f"{config.path}: no channel is usable{most_frequent(ledger)}")
    stations = as_stations({name: places[name] for name in names if name in places})
    samples = int(config.processing.after_s / config.processing.sample_interval_s) + 1
    source = synthetic_source(config, events, stations, samples)
    picker = Picker(config, events, stations, source, ledger)
    with ProgressBar("looking for windows", len(found), "seismograms", console) as bar:
        for row, name, components in found:
            picker.pick(row, stations.name.index(name), components)
            bar.advance()
    settings = config.processing
    attributes = {
        "origin": f"observed seismograms, windows picked by `craton tomography data windows` against {source.describe()}",
        "configuration": json.dumps(config.to_dict()),
    }
    windows, provenance = tuple(picker.windows), tuple(picker.provenance)
    sampling = settings.sample_interval_s, settings.filter_periods_s
    table = WindowTable(events, stations, windows, *sampling, provenance, attributes)
    return Preparation(config, table, ledger, source.describe(), picker.traces)


def most_frequent(ledger: Ledger) -> str:
    """The reason that was given most often, for an error message."""
    counts = {key: count for key, count in ledger.counts().items() if key[0] in ("channel", "station", "window")}
    if not counts:
        return ""
    (stage, code), count = max(counts.items(), key=lambda entry: entry[1])
    example = next(item for item in ledger.decisions if not item.accepted and (item.stage, item.code) == (stage, code))
    return f"; most often ({count} times): {code}, as in {example.subject}: {example.reason}"


def as_stations(places: dict[str, Instrument]) -> Stations:
    """The inversion's table of stations, from an instrument of each."""
    columns = [[one.latitude_deg, one.longitude_deg, one.elevation_m] for one in places.values()]
    return Stations(tuple(places), *np.array(columns).T.copy())
