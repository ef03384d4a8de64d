"""Picks the windows of one path after the other: expected, cut, compared with the synthetic seismogram, accepted or not."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton.tomography.data.catalogue import Events, Stations
from craton.tomography.data.noise import SIGMA_TEXT, out_of_range
from craton.tomography.waveforms.config import WaveformConfig
from craton.tomography.waveforms.decisions import Decision, Ledger
from craton.tomography.waveforms.records.processing import Displacement
from craton.tomography.waveforms.records.rotation import distance_deg, place_of
from craton.tomography.waveforms.synthetics import SyntheticSource
from craton.tomography.waveforms.table import Window, provenance_text
from craton.tomography.waveforms.windows import (
    Candidate,
    agreement,
    correlation_time_s,
    expected_windows,
    noise_before,
    rms,
    verdict,
    without_shared_samples,
)


@dataclass(frozen=True)
class DrawnTrace:
    """For the record section: what a component looks like beside its synthetic."""

    event: int
    station: int
    component: str
    distance_deg: float
    observed: Displacement
    synthetic: NDArray[np.float64] | None


@dataclass
class Picker:
    """Looks for windows on one path after the other."""

    config: WaveformConfig
    events: Events
    stations: Stations
    source: SyntheticSource
    ledger: Ledger
    windows: list[Window] = field(default_factory=list)
    provenance: list[str] = field(default_factory=list)
    traces: list[DrawnTrace] = field(default_factory=list)

    def pick(self, event: int, station: int, components: dict[str, Displacement]) -> None:
        """All components of a path."""
        names = self.events.name[event], self.stations.name[station]
        distance = distance_deg(place_of(self.events, event), place_of(self.stations, station))
        least, most = self.config.windows.min_distance_deg, self.config.windows.max_distance_deg
        if not least <= distance <= most:
            reason = f"{distance:.2f} degrees; allowed: {least:g} to {most:g}"
            self.ledger.reject("station", names[1], "distance", reason, event=names[0], station=names[1])
            return
        for component, trace in components.items():
            self.provenance.append(provenance_text(*names, trace.provenance))
            synthetic = self.source.trace(event, station, component)
            self.traces.append(DrawnTrace(event, station, component, distance, trace, synthetic))
            self._pick_on(event, station, component, distance, trace, synthetic)

    def _pick_on(
        self, event: int, station: int, component: str, distance: float, trace: Displacement, synthetic: Any
    ) -> None:
        settings, interval_s = self.config.windows, self.config.processing.sample_interval_s
        candidates = expected_windows(distance, component, self.config.phases_of(component), settings.arcs, interval_s)
        names = self.events.name[event], self.stations.name[station]
        noise = noise_before(trace, distance, candidates, settings, interval_s)
        clear = [window for window in candidates if window.arc_overlap <= settings.max_arc_overlap]
        for window in (*(window for window in candidates if window not in clear), *without_shared_samples(clear)):
            quality = {"distance_deg": distance, "arc_overlap": window.arc_overlap}
            code, reason = self._obstacle(window, trace, synthetic, noise)
            sigma, observed = np.nan, None
            if not code:
                found = agreement(trace, synthetic, window, rms(noise), interval_s, settings.max_shift_s)
                quality |= vars(found) | {"noise_correlation_s": correlation_time_s(noise, interval_s)}
                code, reason = verdict(found, settings)
                sigma = float(np.hypot(found.noise_rms_m, settings.noise_floor * found.observed_rms_m))
                observed = trace.part(window.first, window.count)
                if not code and out_of_range(np.array(sigma)):
                    code, reason = "no noise", f"sigma = {sigma:.3g} m; allowed: {SIGMA_TEXT}"
            if code:
                sigma, observed = np.nan, None
            place = event, station, window.component, window.arc, window.phase
            span = window.first * interval_s, max(window.count, 0)
            self.windows.append(Window(*place, *span, code, reason, quality, observed, sigma))
            numbers = {name: value for name, value in quality.items() if np.isfinite(value)}
            decision = Decision("window", f"{names[1]} {window}", not code, code or "accepted", reason, *names, numbers)
            self.ledger.decisions.append(decision)

    def _obstacle(self, window: Candidate, trace: Displacement, synthetic: Any, noise: Any) -> tuple[str, str]:
        """What keeps a window from being compared with the synthetic seismogram: code and sentence, or two empty texts."""
        settings, interval_s = self.config.windows, self.config.processing.sample_interval_s
        own_s, noise_s = max(window.count, 0) * interval_s, len(noise) * interval_s
        if window.arc_overlap > settings.max_arc_overlap:
            covered = f"windows of the other arc cover {100 * window.arc_overlap:.0f}%"
            return "other arc", f"{covered}; allowed: {100 * settings.max_arc_overlap:g}%"
        if own_s < settings.min_length_s or window.count < 2:
            return "too short", f"{own_s:g} s are its own; allowed: {settings.min_length_s:g} s"
        if window.first < trace.first or window.last >= trace.end:
            return "not recorded", (
                f"{window.first * interval_s:g} to {window.last * interval_s:g} s; allowed: inside the record, "
                f"{trace.first * interval_s:g} to {(trace.end - 1) * interval_s:g} s"
            )
        if noise_s < settings.min_noise_s or len(noise) < 2:
            return "no noise", f"{noise_s:g} s before the first arrival; allowed: {settings.min_noise_s:g} s"
        if synthetic is None:
            return "no synthetic", f"{self.source.describe()} has no {window.component} seismogram"
        if window.last >= len(synthetic) or not np.all(np.isfinite(synthetic[window.first : window.last + 1])):
            return "no synthetic", f"{self.source.describe()} ends before {window.last * interval_s:g} s"
        return "", ""
