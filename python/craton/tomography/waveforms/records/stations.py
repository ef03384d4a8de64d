"""The channels of a station for an event: which location and band serve, and what became of the others."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from craton.tomography.waveforms.config import WaveformConfig
from craton.tomography.waveforms.decisions import Ledger
from craton.tomography.waveforms.records.archive import Archive
from craton.tomography.waveforms.records.channels import Unusable, whole_channel
from craton.tomography.waveforms.records.processing import Displacement, component_of, displacement_of
from craton.tomography.waveforms.records.responses import Instrument, Instruments
from craton.tomography.waveforms.records.rotation import back_azimuth_deg

OTHER_BAND = "other band"


@dataclass(frozen=True)
class Place:
    """Of a station; the first channel that is used says where it is."""

    name: str
    latitude_deg: float
    longitude_deg: float
    elevation_m: float


@dataclass
class StationReader:
    """Processes what stations recorded of events."""

    archive: Archive
    instruments: Instruments
    config: WaveformConfig
    ledger: Ledger

    def components(
        self, event: str, centroid_time: Any, event_place: tuple[float, float], station: str
    ) -> tuple[Place | None, dict[str, Displacement]]:
        """The wanted components that the station has of this event, all in the ledger. No station that cannot be placed."""
        settings = self.config.processing
        stream = self.archive.read(station, centroid_time - settings.before_s, centroid_time + settings.after_s)
        groups: dict[tuple[str, str], dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        for trace in stream:
            groups[trace.stats.location, trace.stats.channel[:2]][trace.id].append(trace)
        if not groups:
            self.ledger.reject(
                "station", station, "no data", "nothing recorded at that time", event=event, station=station
            )
            return None, {}
        self._leave_out_other_bands(event, station, groups)
        place: Place | None = None
        found: dict[str, Displacement] = {}
        for key in sorted(groups, key=self._preference):
            missing = [component for component in self.config.windows.components if component not in found]
            if not missing:
                for name in groups[key]:
                    self._reject(
                        event,
                        station,
                        name,
                        "not preferred",
                        "another location code or band has every component wanted",
                    )
                continue
            channels = self._channels(event, station, centroid_time, groups[key])
            if not channels:
                continue
            instruments = [instrument for instrument, _ in channels]
            if place is None:
                first = instruments[0]
                place = Place(station, first.latitude_deg, first.longitude_deg, first.elevation_m)
            toward = back_azimuth_deg(event_place, (place.latitude_deg, place.longitude_deg))
            for component in missing:
                made = component_of(component, [channel for _, channel in channels], instruments, toward)
                if made is not None:
                    found[component] = made
        for component in self.config.windows.components:
            subject = f"{station} {component}"
            if component in found:
                used = ", ".join(part["channel"] for part in found[component].provenance["channels"])
                self.ledger.accept("station", subject, "component", f"from {used}", event=event, station=station)
            else:
                self.ledger.reject(
                    "station",
                    subject,
                    "no component",
                    f"the channels left do not make {component}",
                    event=event,
                    station=station,
                )
        return place, found

    def _preference(self, key: tuple[str, str]) -> tuple[int, int, str, str]:
        """Bands first: one long-period record is as good as another, at whatever location."""
        location, band = key
        settings = self.config.processing
        locations = settings.locations
        at = locations.index(location) if location in locations else len(locations)
        return settings.bands.index(band), at, location, band

    def _leave_out_other_bands(
        self, event: str, station: str, groups: dict[tuple[str, str], dict[str, list[Any]]]
    ) -> None:
        bands = self.config.processing.bands
        for key in [key for key in groups if key[1] not in bands]:
            for name in groups.pop(key):
                self._reject(
                    event, station, name, OTHER_BAND, f"allowed: {', '.join(bands)}, as [processing] bands says"
                )

    def _channels(
        self, event: str, station: str, centroid_time: Any, group: dict[str, list[Any]]
    ) -> list[tuple[Instrument, Displacement]]:
        usable = []
        for name, traces in sorted(group.items()):
            try:
                raw = whole_channel(traces, self.config.processing.largest_gap_s)
                instrument = self.instruments.find(traces[0], centroid_time)
                usable.append((instrument, displacement_of(raw, instrument, centroid_time, self.config.processing)))
            except Unusable as problem:
                self._reject(event, station, name, problem.code, str(problem))
            except ValueError as problem:  # of Instruments.find
                code, _, reason = str(problem).partition(": ")
                self._reject(event, station, name, code, reason)
            else:
                text = "; ".join(raw.steps) or "whole"
                self.ledger.accept("channel", name, "usable", text, event=event, station=station)
        return usable

    def _reject(self, event: str, station: str, channel: str, code: str, reason: str) -> None:
        self.ledger.reject("channel", channel, code, reason, event=event, station=station)
