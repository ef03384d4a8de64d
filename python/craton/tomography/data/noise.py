"""The noise of seismograms: its standard deviation, its correlation, and how it is made."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.tomography.data.band import band_pass_gain
from craton.tomography.data.paths import PathTable

f64 = NDArray[np.float64]

QUIETEST_TRACE = 0.1
"""A trace's rms counts as at least this fraction of its event's median: a nodal trace gets no undue weight."""

SIGMA_RANGE_M = (1e-18, 1e6)
"""Far beyond any seismogram; their squares and quotients still are numbers of single precision."""

PERIODS_AROUND = 2
"""Noise of a band is made for so many of its longest periods more on either side: a filter of tapers rings no longer."""

NOISE_STREAM = 2
"""The random stream; the choice of paths has another."""


def neighbour_correlation(correlation_s: f64, sample_interval_s: float) -> f64:
    """Correlation of neighbouring samples, rho = exp(-dt / tau); 0 for tau = 0."""
    times = np.maximum(correlation_s, 1e-300)
    return np.where(correlation_s > 0.0, np.exp(-sample_interval_s / times), 0.0)


def noise_deviation(paths: PathTable, traces: f64, fraction: float) -> f64:
    """Standard deviation per path: a fraction of the trace's rms, which counts as at least QUIETEST_TRACE of its event's median.

    UserError for a trace of zeros.
    """
    rms = np.sqrt(np.add.reduceat(traces**2, paths.offsets[:-1]) / paths.samples)
    for event in paths.event_rows:
        rows = paths.event == event
        rms[rows] = np.maximum(rms[rows], QUIETEST_TRACE * np.median(rms[rows]))
    silent = np.flatnonzero(~(rms > 0.0))
    if len(silent):
        raise UserError(f"{paths.describe(int(silent[0]))}: all samples are zero; allowed: seismograms with a signal")
    return fraction * rms


Band = tuple[float, float, float, float]
"""Corner periods of a filter, s."""


def add_noise(
    paths: PathTable, traces: f64, sigma: f64, seed: int, correlation: f64 | None = None, band: Band | None = None
) -> f64:
    """The traces with Gaussian noise added; each path has its own random stream, whichever rank computes it.

    sigma: standard deviation per path. correlation: rho of neighbouring samples per path, of an autoregressive process of order
    one; None for independent samples. band: the noise has gone through this filter; `correlation` is not looked at.
    """
    noisy = traces.copy()
    offsets = paths.offsets
    for path in range(len(paths)):
        random = np.random.default_rng([seed, NOISE_STREAM, path])
        noise = random.standard_normal(paths.samples[path])
        if band is not None:
            noise = of_band(noise, random, band, paths.sample_interval_s)
        elif correlation is not None:
            noise = autoregressive(noise, float(correlation[path]))
        noisy[offsets[path] : offsets[path + 1]] += sigma[path] * noise
    return noisy


def of_band(white: f64, random: np.random.Generator, band: Band, sample_interval_s: float) -> f64:
    """White noise through a filter, of variance one: a piece of an endless record, whose ends know nothing of each other."""
    margin = np.zeros(int(np.ceil(PERIODS_AROUND * band[0] / sample_interval_s)))
    longer = np.concatenate([random.standard_normal(len(margin)), white, random.standard_normal(len(margin))])
    gain = band_pass_gain(band, np.fft.rfftfreq(len(longer), sample_interval_s))
    filtered = np.fft.irfft(np.fft.rfft(longer) * gain, len(longer))
    power = np.sum(gain[1:-1] ** 2) * 2.0 / len(longer)  # of each sample
    return np.asarray(filtered[len(margin) : len(margin) + len(white)] / np.sqrt(power))


def independent_part(band: Band, sample_interval_s: float) -> float:
    """Independent samples per sample of noise in a band: 2 dt times the integral of the squared gain over frequency; at most 1.

    Of noise with that spectrum and standard deviation sigma, whatever lies in the passband is as strong as in white noise of
    sigma / sqrt(part).
    """
    frequency_hz = np.linspace(0.0, 1.0 / band[3], 4001)
    power = band_pass_gain(band, frequency_hz) ** 2
    return min(1.0, 2.0 * sample_interval_s * float(np.sum(power)) * float(frequency_hz[1]))


def autoregressive(white: f64, correlation: float) -> f64:
    """A process of variance one throughout: e[0] = z[0], e[t] = rho e[t-1] + sqrt(1 - rho^2) z[t]."""
    from scipy.signal import lfilter  # scipy.signal takes most of a second to load, and few data have correlated noise

    driven = np.sqrt(1.0 - correlation**2) * white
    driven[0] = white[0]
    return np.asarray(lfilter([1.0], [1.0, -correlation], driven))


SIGMA_TEXT = f"a number of metres from {SIGMA_RANGE_M[0]:g} to {SIGMA_RANGE_M[1]:g}"


def out_of_range(sigma: f64) -> NDArray[np.bool_]:
    """Where a standard deviation is outside SIGMA_RANGE_M, or NaN."""
    return ~((sigma >= SIGMA_RANGE_M[0]) & (sigma <= SIGMA_RANGE_M[1]))
