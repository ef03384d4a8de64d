"""The noise of seismograms: its standard deviation, its correlation, and how it is made."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.tomography.data.paths import PathTable

f64 = NDArray[np.float64]

QUIETEST_TRACE = 0.1
"""A trace's rms counts as at least this fraction of its event's median: a nodal trace gets no undue weight."""

SIGMA_RANGE_M = (1e-18, 1e6)
"""Far beyond any seismogram; their squares and quotients still are numbers of single precision."""

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


def add_noise(paths: PathTable, traces: f64, sigma: f64, seed: int, correlation: f64 | None = None) -> f64:
    """The traces with Gaussian noise added; each path has its own random stream, whichever rank computes it.

    sigma: standard deviation per path. correlation: rho of neighbouring samples per path, of an autoregressive process of order
    one; None for independent samples.
    """
    noisy = traces.copy()
    offsets = paths.offsets
    for path in range(len(paths)):
        random = np.random.default_rng([seed, NOISE_STREAM, path])
        noise = random.standard_normal(paths.samples[path])
        if correlation is not None:
            noise = autoregressive(noise, float(correlation[path]))
        noisy[offsets[path] : offsets[path + 1]] += sigma[path] * noise
    return noisy


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
