"""Time windows: where waves of a kind are expected, and how the observed and the synthetic seismogram agree there.

Windows are ranges of sample numbers; sample j is at j times the interval after the centroid time.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from craton.tomography.model.sphere import EARTH_RADIUS_KM
from craton.tomography.waveforms.config import PhaseConfig, WindowsConfig
from craton.tomography.waveforms.records.processing import Displacement

f64 = NDArray[np.float64]

SEARCHED = 2.0
"""The best time shift is looked for over so many times the largest allowed, to tell a large one from a small one's side lobe."""


@dataclass(frozen=True)
class Candidate:
    """A window that is looked for on one component of one path."""

    component: str
    arc: str
    phase: str
    first: int
    last: int
    """the last sample, included"""
    arc_overlap: float = 0.0
    """the part of it that windows of the other arc cover"""

    @property
    def count(self) -> int:
        """Number of samples; 0 or less where nothing is left."""
        return self.last - self.first + 1

    def __str__(self) -> str:
        return f"{self.component} {self.arc} {self.phase}"


@dataclass(frozen=True)
class Agreement:
    """Of an observed window with the synthetic one."""

    noise_rms_m: float
    observed_rms_m: float
    synthetic_rms_m: float
    signal_to_noise: float
    correlation: float
    shift_s: float
    """positive where the observed waves are late"""
    amplitude_ratio: float
    """rms of the observed window, shifted, over that of the synthetic one"""


def arc_length_km(distance_deg: float, arc: str) -> float:
    """The short way round the Earth, or the long one."""
    return float(np.radians(distance_deg if arc == "minor" else 360.0 - distance_deg) * EARTH_RADIUS_KM)


def expected_windows(
    distance_deg: float, component: str, phases: Sequence[PhaseConfig], arcs: Sequence[str], interval_s: float
) -> list[Candidate]:
    """From group velocities, in the order in which they begin. They may overlap: see `without_shared_samples`."""
    found = []
    for arc in arcs:
        length_km = arc_length_km(distance_deg, arc)
        for phase in phases:
            first = max(0, int(np.floor((length_km / phase.fastest_km_s - phase.pad_s) / interval_s)))
            last = int(np.ceil((length_km / phase.slowest_km_s + phase.pad_s) / interval_s))
            found.append(Candidate(component, arc, phase.name, first, last))
    return [with_arc_overlap(window, found) for window in sorted(found, key=lambda window: (window.first, window.last))]


def with_arc_overlap(window: Candidate, windows: Sequence[Candidate]) -> Candidate:
    """The part of its samples that also belong to a window of the other arc."""
    covered = np.zeros(window.count, bool)
    for other in windows:
        if other.arc != window.arc:
            covered[max(0, other.first - window.first) : max(0, other.last - window.first + 1)] = True
    return dataclasses.replace(window, arc_overlap=float(covered.mean()))


def without_shared_samples(windows: Sequence[Candidate]) -> list[Candidate]:
    """Windows that overlap are cut in the middle of what they share, so that no sample counts twice in the misfit.

    One that nothing is left of has last < first.
    """
    cut = sorted(windows, key=lambda window: (window.first, window.last))
    for left in range(len(cut)):
        for right in range(left + 1, len(cut)):
            a, b = sorted((cut[left], cut[right]), key=lambda window: (window.first + window.last, window.first))
            begin, end = max(a.first, b.first), min(a.last, b.last)
            if begin <= end:
                middle = (begin + end) // 2
                early, late = dataclasses.replace(a, last=middle), dataclasses.replace(b, first=middle + 1)
                cut[left], cut[right] = (early, late) if a is cut[left] else (late, early)
    return cut


def noise_before(
    trace: Displacement, distance_deg: float, windows: Sequence[Candidate], settings: WindowsConfig, interval_s: float
) -> f64:
    """Samples before anything can have arrived, and before the first window."""
    arrival = int(np.floor(arc_length_km(distance_deg, "minor") / settings.fastest_arrival_km_s / interval_s))
    end = min([arrival, *(window.first for window in windows)])
    return trace.samples[: max(0, end - trace.first)]


def agreement(
    trace: Displacement, synthetic: f64, window: Candidate, noise_rms_m: float, interval_s: float, max_shift_s: float
) -> Agreement:
    """Correlation, time shift and amplitude ratio at the shift that correlates best.

    c(s) = sum d(t + s) g(t) / (|d| |g|) over the window of g; between samples the shift is that of the parabola through the
    three values about the largest. The synthetic begins at time 0 and must hold the window.
    """
    observed = trace.part(window.first, window.count)
    wanted = synthetic[window.first : window.last + 1]
    reach = int(np.ceil(SEARCHED * max_shift_s / interval_s))
    lags = np.arange(max(-reach, trace.first - window.first), min(reach, trace.end - 1 - window.last) + 1)
    stretch = trace.part(window.first + int(lags[0]), window.count + len(lags) - 1)
    shifted = np.lib.stride_tricks.sliding_window_view(stretch, window.count)
    sizes = np.sqrt(np.sum(shifted**2, axis=1) * np.sum(wanted**2))
    correlations = np.divide(shifted @ wanted, sizes, out=np.zeros(len(lags)), where=sizes > 0.0)
    best = int(np.argmax(correlations))
    correlation, offset = peak(correlations, best)
    observed_rms, synthetic_rms = rms(observed), rms(wanted)
    return Agreement(
        noise_rms_m=noise_rms_m,
        observed_rms_m=observed_rms,
        synthetic_rms_m=synthetic_rms,
        signal_to_noise=observed_rms / noise_rms_m if noise_rms_m > 0.0 else np.inf,
        correlation=min(correlation, 1.0),
        shift_s=float(lags[best] + offset) * interval_s,
        amplitude_ratio=rms(shifted[best]) / synthetic_rms if synthetic_rms > 0.0 else np.inf,
    )


def peak(values: f64, best: int) -> tuple[float, float]:
    """Height and place (in samples from `best`) of the parabola through three values; of `best` itself at an end."""
    if not 0 < best < len(values) - 1:
        return float(values[best]), 0.0
    before, at, after = values[best - 1 : best + 2]
    curvature = before - 2.0 * at + after
    if curvature >= 0.0:
        return float(at), 0.0
    offset = 0.5 * (before - after) / curvature
    return float(at - 0.25 * (before - after) * offset), float(offset)


def correlation_time_s(noise: f64, interval_s: float) -> float:
    """The time after which noise of this correlation r between neighbouring samples is down to 1/e: -interval / ln r, s.

    0 where neighbours are not alike.
    """
    together = float(noise[1:] @ noise[:-1]) / max(float(noise @ noise), 1e-300) if len(noise) > 1 else 0.0
    return float(-interval_s / np.log(together)) if 0.0 < together < 1.0 else 0.0


def rms(samples: f64) -> float:
    """The root of the mean square."""
    return float(np.sqrt(np.mean(samples**2)))


def verdict(found: Agreement, settings: WindowsConfig) -> tuple[str, str]:
    """The first criterion that fails, as a code and a sentence; two empty texts for an accepted window."""
    least, most = settings.amplitude_ratio
    if not found.signal_to_noise >= settings.min_signal_to_noise:
        text = f"signal to noise {found.signal_to_noise:.3g}; allowed: at least {settings.min_signal_to_noise:g}"
        return "noise", text
    if not found.synthetic_rms_m > 0.0:
        return "no synthetic", "the synthetic seismogram is zero there"
    if not found.correlation >= settings.min_correlation:
        return "correlation", f"correlation {found.correlation:.3f}; allowed: at least {settings.min_correlation:g}"
    if not abs(found.shift_s) <= settings.max_shift_s:
        return "time shift", f"time shift {found.shift_s:.1f} s; allowed: {settings.max_shift_s:g} s either way"
    if not least <= found.amplitude_ratio <= most:
        return "amplitude", f"amplitude ratio {found.amplitude_ratio:.3g}; allowed: {least:g} to {most:g}"
    return "", ""
