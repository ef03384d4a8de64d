"""Band-limited seismograms at any time: transform, weigh, and sum the few frequencies of the band directly."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.fft import next_fast_len, rfft

from craton.tomography.data.band import band_pass_gain

f64 = NDArray[np.float64]
Transfer = Callable[[f64], NDArray[np.complexfloating] | f64]

FREQUENCIES_AT_A_TIME = 256


def triangle_gain(half_duration_s: float, frequency_Hz: ArrayLike) -> f64:
    """Spectrum of the catalogues' moment rate: a triangle of unit area that is centred on the centroid time."""
    return np.asarray(np.sinc(np.asarray(frequency_Hz, float) * half_duration_s) ** 2)


def in_band(
    samples: f64, start_s: float, delta_s: float, periods_s: tuple[float, ...], times_s: f64, transfer: Transfer
) -> f64:
    """The seismogram times transfer(frequency_Hz) times the band-pass, at times_s.

    The first sample is at start_s. Outside its samples the seismogram counts as 0, for at least two longest periods: it must be
    tapered. The band ends below the Nyquist frequency of what comes in. So the sum over frequencies is the filtered seismogram
    itself at times between samples too. Nothing is interpolated, and series of any start and interval come out on one grid.
    (2 / N) sum_k Re X_k G_k e^{2 pi i f_k t}: 8 flops per frequency and time.
    """
    length = next_fast_len(len(samples) + int(np.ceil(2.0 * periods_s[0] / delta_s)), real=True)
    spectrum = rfft(samples, length)
    frequency = np.arange(len(spectrum)) / (length * delta_s)
    gain = band_pass_gain(periods_s, frequency)
    inside = np.flatnonzero(gain > 0.0)
    weighted = 2.0 / length * spectrum[inside] * gain[inside] * transfer(frequency[inside])
    after_start_s = np.asarray(times_s) - start_s
    out = np.zeros(len(after_start_s))
    for begin in range(0, len(inside), FREQUENCIES_AT_A_TIME):
        part = slice(begin, begin + FREQUENCIES_AT_A_TIME)
        phase = 2.0 * np.pi * np.outer(after_start_s, frequency[inside[part]])
        out += np.cos(phase) @ weighted[part].real - np.sin(phase) @ weighted[part].imag
    return out


def with_ends_tapered(samples: f64, begin: int, end: int) -> f64:
    """A copy whose first `begin` and last `end` samples rise and fall as half a cosine."""
    out = np.array(samples, float)
    begin, end = min(begin, len(out)), min(end, len(out))
    if begin:
        out[:begin] *= 0.5 * (1.0 - np.cos(np.pi * (np.arange(begin) + 0.5) / begin))
    if end:
        out[len(out) - end :] *= 0.5 * (1.0 + np.cos(np.pi * (np.arange(end) + 0.5) / end))
    return out
