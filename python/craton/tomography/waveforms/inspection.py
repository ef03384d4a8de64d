"""What a configuration has to work with, before anything is processed: earthquakes, stations, channels, responses."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from craton.tomography.waveforms.config import WaveformConfig
from craton.tomography.waveforms.preparation import find_inputs
from craton.tomography.waveforms.records.channels import Unusable
from craton.tomography.waveforms.records.rotation import distance_deg, place_of

MOST_LEFT_OUT = 20
"""Lines about files and earthquakes that cannot be used."""


def inspect(config: WaveformConfig, console: Any = None) -> str:
    """A text of several lines. UserError where there is nothing to begin with."""
    from obspy import UTCDateTime

    inputs = find_inputs(config, console)
    archive, events = inputs.archive, inputs.events
    lines = [
        f"{len(events)} earthquakes, {len(archive.stations)} stations, {len(inputs.instruments)} channels with a response"
    ]
    bands = config.processing.bands
    for row, name in enumerate(events.name):
        time = UTCDateTime(events.origin_time[row])
        start, end = time - config.processing.before_s, time + config.processing.after_s
        lines.append(f"{name}  {events.origin_time[row]}  {events.depth_km[row]:g} km  {events.region[row]}".rstrip())
        for station in archive.stations:
            pieces = [piece for piece in archive.pieces[station] if piece.meets(start, end)]
            texts = []
            for channel in sorted({piece.id for piece in pieces}):
                of_channel = [piece for piece in pieces if piece.id == channel]
                first = max(start, min(piece.start for piece in of_channel)) - time
                last = min(end, max(piece.end for piece in of_channel)) - time
                note = "" if channel.rpartition(".")[2][:2] in bands else ", band not used"
                try:
                    found = inputs.instruments.find(SimpleNamespace(id=channel, stats={}), time)
                    distance = distance_deg(place_of(events, row), (found.latitude_deg, found.longitude_deg))
                    note += f", {distance:.1f} degrees"
                except Unusable as problem:
                    note += f", {problem}"
                texts.append(f"    {channel:<18} {first:+.0f} to {last:+.0f} s{note}")
            lines += texts or [f"    {station:<18} nothing recorded at that time"]
    left_out = [item for item in inputs.ledger.decisions if not item.accepted]
    lines += [f"left out: {item.subject}: {item.code}: {item.reason}" for item in left_out[:MOST_LEFT_OUT]]
    if len(left_out) > MOST_LEFT_OUT:
        lines.append(f"left out: {len(left_out) - MOST_LEFT_OUT} more")
    return "\n".join(lines)
