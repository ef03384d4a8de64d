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
from craton.tomography.waveforms.records.rotation import Place, back_azimuth_deg


@dataclass
class StationReader:
    """Processes what stations recorded of events."""

    archive: Archive
    instruments: Instruments
    config: WaveformConfig
    ledger: Ledger

    def components(
        self, event: str, centroid_time: Any, event_place: Place, station: str
    ) -> tuple[Instrument | None, dict[str, Displacement]]:
        """The wanted components that the station has of this event, all in the ledger.

        The first instrument that is used says where the station is; None for a station that cannot be placed.
        """
        settings, wanted = self.config.processing, self.config.windows.components
        about = {"event": event, "station": station}
        stream = self.archive.read(
            station, centroid_time - settings.before_s, centroid_time + settings.after_s, self.ledger
        )
        groups: dict[tuple[str, str], dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))
        for trace in stream:
            groups[trace.stats.location, trace.stats.channel[:2]][trace.id].append(trace)
        if not groups:
            self.ledger.reject("station", station, "no data", "nothing recorded at that time", **about)
            return None, {}
        for key in [key for key in groups if key[1] not in settings.bands]:
            for name in groups.pop(key):
                reason = f"allowed: {', '.join(settings.bands)}, as [processing] bands says"
                self.ledger.reject("channel", name, "other band", reason, **about)
        place: Instrument | None = None
        found: dict[str, Displacement] = {}
        for key in sorted(groups, key=self._preference):
            missing = [component for component in wanted if component not in found]
            if not missing:
                reason = "another location code or band has every component wanted"
                for name in groups[key]:
                    self.ledger.reject("channel", name, "not preferred", reason, **about)
                continue
            channels = self._channels(about, centroid_time, groups[key])
            if not channels:
                continue
            instruments = [instrument for instrument, _ in channels]
            place = place or instruments[0]
            toward = back_azimuth_deg(event_place, (place.latitude_deg, place.longitude_deg))
            for component in missing:
                made = component_of(component, [channel for _, channel in channels], instruments, toward)
                if made is not None:
                    found[component] = made
        for component in wanted:
            subject = f"{station} {component}"
            if component in found:
                used = ", ".join(part["channel"] for part in found[component].provenance["channels"])
                self.ledger.accept("station", subject, "component", f"from {used}", **about)
            else:
                reason = f"the channels left do not make {component}"
                self.ledger.reject("station", subject, "no component", reason, **about)
        return place, found

    def _preference(self, key: tuple[str, str]) -> tuple[int, int, str, str]:
        """Bands first: one long-period record is as good as another, at whatever location."""
        (location, band), settings = key, self.config.processing
        at = [*settings.locations, location].index(location)
        return settings.bands.index(band), at, location, band

    def _channels(
        self, about: dict[str, str], centroid_time: Any, group: dict[str, list[Any]]
    ) -> list[tuple[Instrument, Displacement]]:
        usable = []
        for name, traces in sorted(group.items()):
            try:
                raw = whole_channel(traces, self.config.processing.largest_gap_s)
                instrument = self.instruments.find(traces[0], centroid_time)
                usable.append((instrument, displacement_of(raw, instrument, centroid_time, self.config.processing)))
            except Unusable as problem:
                self.ledger.reject("channel", name, problem.code, problem.reason, **about)
            else:
                self.ledger.accept("channel", name, "usable", "; ".join(raw.steps) or "whole", **about)
        return usable
