"""What a configuration has to work with, before anything is processed: earthquakes, stations, channels, responses."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from craton.errors import UserError
from craton.tomography.waveforms.config import WaveformConfig
from craton.tomography.waveforms.preparation import Inputs, find_inputs
from craton.tomography.waveforms.records.channels import Unusable
from craton.tomography.waveforms.records.rotation import distance_deg, place_of

MOST_LEFT_OUT = 20
"""Lines about files and earthquakes that cannot be used."""
IN_A_HEADER = ("no coordinates", "no orientation")
"""What the header of a SAC file may say after all; it is read with the samples."""
SILENT = "nothing recorded at that time"


@dataclass
class Inspection:
    """What was found, and whether a window may come of it."""

    config: WaveformConfig
    inputs: Inputs
    usable: int = 0
    """Channels of an earthquake, in a band that is used, at a distance that is allowed, with a response."""
    obstacles: Counter[str] = field(default_factory=Counter)
    """Why the others, and stations that recorded nothing, are not usable: how often each reason was met."""
    lines: list[str] = field(default_factory=list)
    """For people."""

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "earthquakes": list(self.inputs.events.name),
            "stations": list(self.inputs.archive.stations),
            "channels_with_response": len(self.inputs.instruments),
            "usable_channels": self.usable,
            "left_out": [vars(item) for item in self.inputs.ledger.decisions if not item.accepted],
        }

    def require_usable(self) -> None:
        """UserError where no window can be cut."""
        if self.usable:
            return
        [(reason, count)] = self.obstacles.most_common(1) or [("no station has a record", 1)]
        raise UserError(
            f"{self.config.path}: no window can be cut, because no channel is usable; most often "
            f"({count} of {max(1, self.obstacles.total())} times): {reason}; allowed: a channel with a response that "
            "recorded an earthquake"
        )


def inspect(config: WaveformConfig, console: Any = None) -> Inspection:
    """Collects what the configuration finds. UserError where there is nothing to begin with."""
    inputs = find_inputs(config, console)
    found = Inspection(config, inputs)
    events, archive = inputs.events, inputs.archive
    found.lines.append(
        f"{len(events)} earthquakes, {len(archive.stations)} stations, {len(inputs.instruments)} channels with a response"
    )
    for row, name in enumerate(events.name):
        found.lines.append(
            f"{name}  {events.origin_time[row]}  {events.depth_km[row]:g} km  {events.region[row]}".rstrip()
        )
        for station in archive.stations:
            _inspect_station(found, row, station)
    left_out = [item for item in inputs.ledger.decisions if not item.accepted]
    found.lines += [f"left out: {item.subject}: {item.code}: {item.reason}" for item in left_out[:MOST_LEFT_OUT]]
    if len(left_out) > MOST_LEFT_OUT:
        found.lines.append(f"left out: {len(left_out) - MOST_LEFT_OUT} more")
    return found


def _inspect_station(found: Inspection, row: int, station: str) -> None:
    """Adds what a station recorded of an earthquake, channel by channel."""
    from obspy import UTCDateTime

    settings = found.config.processing
    time = UTCDateTime(found.inputs.events.origin_time[row])
    start, end = time - settings.before_s, time + settings.after_s
    pieces = [piece for piece in found.inputs.archive.pieces[station] if piece.meets(start, end)]
    if not pieces:
        found.obstacles[SILENT] += 1
        found.lines.append(f"    {station:<18} {SILENT}")
    for channel in sorted({piece.id for piece in pieces}):
        of_channel = [piece for piece in pieces if piece.id == channel]
        first = max(start, min(piece.start for piece in of_channel)) - time
        last = min(end, max(piece.end for piece in of_channel)) - time
        notes, obstacle = _judged(found, row, channel, time)
        if obstacle:
            found.obstacles[obstacle] += 1
        else:
            found.usable += 1
        found.lines.append(f"    {channel:<18} {first:+.0f} to {last:+.0f} s{''.join(f', {note}' for note in notes)}")


def _judged(found: Inspection, row: int, channel: str, time: Any) -> tuple[list[str], str]:
    """What to say of a channel, and what keeps it from being used: nothing where it can be."""
    notes, obstacle = [], ""
    if channel.rpartition(".")[2][:2] not in found.config.processing.bands:
        obstacle = "band not used"
        notes.append(obstacle)
    try:
        instrument = found.inputs.instruments.find(SimpleNamespace(id=channel, stats={}), time)
    except Unusable as problem:
        return [*notes, str(problem)], obstacle or ("" if problem.code in IN_A_HEADER else str(problem))
    place = instrument.latitude_deg, instrument.longitude_deg
    distance = distance_deg(place_of(found.inputs.events, row), place)
    least, most = found.config.windows.min_distance_deg, found.config.windows.max_distance_deg
    if least <= distance <= most:
        return [*notes, f"{distance:.1f} degrees"], obstacle
    too_far = f"[windows] allows {least:g} to {most:g} degrees"
    return [*notes, f"{distance:.1f} degrees", too_far], obstacle or too_far
