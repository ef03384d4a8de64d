"""From counts to displacement in the inversion's band, on its grid of times, along Z, R or T.

Of each channel: mean and trend off, ends tapered, one transform in which the response is divided out and the band-pass applied,
and the sum over the band's frequencies at the times wanted (spectra.py). Because channels come out at the same times, however
they were sampled, rotation is a linear combination of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.signal import detrend

from craton.tomography.data.band import band_pass_gain
from craton.tomography.waveforms.config import ProcessingConfig
from craton.tomography.waveforms.records.channels import RawChannel, Unusable
from craton.tomography.waveforms.records.responses import Instrument
from craton.tomography.waveforms.records.rotation import channel_vector, channel_weights, component_vector
from craton.tomography.waveforms.records.spectra import in_band, with_ends_tapered

f64 = NDArray[np.float64]


@dataclass(frozen=True)
class Displacement:
    """Metres at first * interval, (first + 1) * interval, ... after the centroid time; `first` may be negative."""

    first: int
    samples: f64
    provenance: dict[str, Any] = field(default_factory=dict)

    @property
    def end(self) -> int:
        """One after the last sample."""
        return self.first + len(self.samples)

    def part(self, first: int, count: int) -> f64:
        """Samples by their index in time; they must be there."""
        return self.samples[first - self.first : first - self.first + count]


def displacement_of(
    raw: RawChannel, instrument: Instrument, centroid_time: Any, settings: ProcessingConfig
) -> Displacement:
    """A channel's own motion, positive along its azimuth and dip.

    Unusable where the response cannot be evaluated or the record is shorter than its tapers.
    """
    interval, periods = settings.sample_interval_s, settings.filter_periods_s
    if raw.delta_s > 0.5 * periods[3]:
        allowed = f"{0.5 * periods[3]:g} s, twice in the shortest period"
        raise Unusable("sampled too rarely", f"every {raw.delta_s:g} s; allowed: {allowed}")
    start_s = float(raw.start - centroid_time)
    edge = int(np.ceil(settings.taper_s / raw.delta_s))
    end_s = start_s + (len(raw.counts) - 1) * raw.delta_s
    first = int(np.ceil((start_s + settings.taper_s) / interval - 1e-6))
    last = int(np.floor((end_s - settings.taper_s) / interval + 1e-6))
    if last - first < 1:
        raise Unusable("too short", f"{end_s - start_s:g} s are left, tapers of {settings.taper_s:g} s included")
    level = 10.0 ** (-settings.water_level_dB / 20.0) if settings.water_level_dB else 0.0
    wide = settings.pre_filter_periods_s

    def inverse(frequency_Hz: f64) -> NDArray[np.complex128]:
        response = instrument.displacement_response(frequency_Hz)
        size = np.abs(response)
        raised = np.maximum(size, level * size.max()) / size
        return np.asarray((band_pass_gain(wide, frequency_Hz) if wide else 1.0) / (response * raised))

    tapered = with_ends_tapered(detrend(raw.counts, type="linear"), edge, edge)
    times_s = interval * np.arange(first, last + 1, dtype=float)
    samples = in_band(tapered, start_s, raw.delta_s, periods, times_s, inverse)
    water = f"water level {settings.water_level_dB:g} dB" if level else "no water level"
    steps = [
        *raw.steps,
        "linear trend removed",
        f"tapered over {settings.taper_s:g} s at both ends (half a cosine)",
        f"response to displacement divided out (evalresp), {water}",
        *([f"pre-filter {list(wide)} s"] if wide else []),
        f"band-pass {list(periods)} s, zero phase",
        f"evaluated every {interval:g} s from the centroid time",
    ]
    provenance = {
        "channel": raw.id,
        "files": list(raw.files),
        "span": [str(raw.start), str(raw.start + (len(raw.counts) - 1) * raw.delta_s)],
        "interval_s": raw.delta_s,
        "azimuth_deg": instrument.azimuth_deg,
        "dip_deg": instrument.dip_deg,
        "orientation_from": instrument.orientation_from,
        "response": response_in_words(instrument.response),
        "steps": steps,
    }
    return Displacement(first, samples, provenance)


def response_in_words(response: Any) -> str:
    """What was divided out, for the record."""
    overall = response.instrument_sensitivity
    stages = len(response.response_stages)
    if overall is None or overall.value is None:
        return f"{stages} stages"
    return f"{stages} stages, {overall.value:.6g} counts per {overall.input_units} at {overall.frequency} Hz"


def component_of(
    component: str, channels: Sequence[Displacement], instruments: Sequence[Instrument], back_azimuth_deg: float
) -> Displacement | None:
    """Z, N, E, R or T from whichever channels make it, over the time that they have in common; None where they do not."""
    vectors = [channel_vector(item.azimuth_deg, item.dip_deg) for item in instruments]
    weights = channel_weights(vectors, component_vector(component, back_azimuth_deg))
    if weights is None:
        return None
    used = [(float(w), channel) for w, channel in zip(weights, channels, strict=True) if w != 0.0]
    first = max(channel.first for _, channel in used)
    end = min(channel.end for _, channel in used)
    if end - first < 2:
        return None
    samples = np.sum([w * channel.part(first, end - first) for w, channel in used], axis=0)
    provenance = {
        "component": component,
        "back_azimuth_deg": back_azimuth_deg,
        "channels": [{"weight": w, **channel.provenance} for w, channel in used],
    }
    return Displacement(first, samples, provenance)
