"""Instruments: where a channel stands, how it is oriented, and how it answers to displacement."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton.errors import words_of
from craton.tomography.waveforms.decisions import Ledger
from craton.tomography.waveforms.records.archive import read_by_obspy
from craton.tomography.waveforms.records.channels import Unusable

MOTION = ("M", "M/S", "M/S**2", "M/S/S", "M/(S**2)", "M/SEC", "M/SEC**2", "METER", "METERS", "NM", "NM/S", "NM/S**2")
"""Input units of an instrument that feels the ground move; all that evalresp turns to displacement."""


@dataclass(frozen=True)
class Instrument:
    """One channel during one epoch. Latitude geographic."""

    id: str
    latitude_deg: float
    longitude_deg: float
    elevation_m: float
    azimuth_deg: float
    """clockwise from north"""
    dip_deg: float
    """down from horizontal"""
    response: Any
    """ObsPy's"""
    orientation_from: str
    """where azimuth and dip come from"""
    known: dict[Any, NDArray[np.complex128]] = field(default_factory=dict, compare=False, repr=False)
    """what was evaluated before: events are alike in length, and evalresp takes longer than all other steps"""

    def displacement_response(self, frequency_Hz: NDArray[np.float64]) -> NDArray[np.complex128]:
        """Counts per metre, by evalresp (through ObsPy). Unusable where it cannot be evaluated."""
        key = id(self.response), len(frequency_Hz), float(frequency_Hz[0]), float(frequency_Hz[-1])
        if key not in self.known:
            self.known[key] = self._evaluated(frequency_Hz)
        return self.known[key]

    def _evaluated(self, frequency_Hz: NDArray[np.float64]) -> NDArray[np.complex128]:
        try:
            with warnings.catch_warnings(action="ignore"):
                found = self.response.get_evalresp_response_for_frequencies(frequency_Hz, output="DISP")
        except Exception as error:  # of evalresp
            raise Unusable("no response", f"the response cannot be evaluated: {words_of(error)}") from None
        if not np.all(np.isfinite(found)) or not np.all(np.abs(found) > 0.0):
            raise Unusable("no response", "the response cannot be evaluated: it is zero or not finite in the band")
        return np.asarray(found)


class Instruments:
    """Look-up of channels by name and time in any number of inventories."""

    def __init__(self, inventories: Iterable[Any]) -> None:
        self._epochs: dict[str, list[tuple[Any, Any]]] = defaultdict(list)
        self._known: dict[Any, NDArray[np.complex128]] = {}
        for inventory in inventories:
            for network in inventory:
                for station in network:
                    for channel in station:
                        name = f"{network.code}.{station.code}.{channel.location_code}.{channel.code}"
                        self._epochs[name].append((station, channel))

    def __len__(self) -> int:
        return len(self._epochs)

    def find(self, trace: Any, time: Any) -> Instrument:
        """The instrument of a trace's channel at a time. Unusable where there is none that will do."""
        epochs = [(station, channel) for station, channel in self._epochs.get(trace.id, ()) if runs_at(channel, time)]
        if not epochs:
            known = len(self._epochs.get(trace.id, ()))
            more = f"none of its {known} epochs holds {time}" if known else "no file has this channel"
            raise Unusable("no response", more)
        station, channel = epochs[-1]  # the latest, where epochs overlap
        if channel.response is None or not channel.response.response_stages:
            raise Unusable("no response", "the inventory has the channel, but not its response")
        units = (channel.response.response_stages[0].input_units or "").upper()
        if units and units not in MOTION:
            raise Unusable("not a seismometer", f"its input is {units}")
        latitude, longitude, elevation = place(trace, station, channel)
        azimuth, dip, source = orientation(trace, channel)
        return Instrument(trace.id, latitude, longitude, elevation, azimuth, dip, channel.response, source, self._known)


def runs_at(channel: Any, time: Any) -> bool:
    """Whether a time lies within the epoch of an ObsPy Channel."""
    begun = channel.start_date is None or channel.start_date <= time
    return bool(begun and (channel.end_date is None or time <= channel.end_date))


def place(trace: Any, station: Any, channel: Any) -> tuple[float, float, float]:
    """From the channel, the station, or a SAC header; RESP files have none, and give 0, 0."""
    for item in (channel, station):
        if item.latitude is not None and (float(item.latitude), float(item.longitude)) != (0.0, 0.0):
            return float(item.latitude), float(item.longitude), float(item.elevation or 0.0)
    sac = trace.stats.get("sac", {})
    if "stla" in sac and "stlo" in sac:
        return float(sac["stla"]), float(sac["stlo"]), float(sac.get("stel", 0.0))
    raise Unusable("no coordinates", "neither the inventory nor a SAC header says where the station is")


def orientation(trace: Any, channel: Any) -> tuple[float, float, str]:
    """From the inventory, a SAC header, or the last letter of the code where that is Z, N or E."""
    if channel.azimuth is not None and channel.dip is not None:
        return float(channel.azimuth), float(channel.dip), "inventory"
    sac = trace.stats.get("sac", {})
    if "cmpaz" in sac and "cmpinc" in sac:
        return float(sac["cmpaz"]), float(sac["cmpinc"]) - 90.0, "SAC header"
    by_letter = {"Z": (0.0, -90.0), "N": (0.0, 0.0), "E": (90.0, 0.0)}
    letter = trace.id[-1]
    if letter not in by_letter:
        raise Unusable("no orientation", f"no azimuth and dip, and the letter {letter} does not say")
    return (*by_letter[letter], "channel code")


def read_instruments(files: Iterable[Path], more: Iterable[Any], ledger: Ledger) -> Instruments:
    """From StationXML, RESP, dataless SEED and what else ObsPy reads, after `more` inventories.

    A file that cannot be read is a decision; a missing response is found out when a channel needs it.
    """
    from obspy import read_inventory

    return Instruments([*more, *(found for _, found in read_by_obspy(read_inventory, files, ledger))])
