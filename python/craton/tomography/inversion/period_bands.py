"""Misfits by period: how the residuals of each band of the filter compare with the noise that is expected there.

Squared amplitudes of a window's spectrum add up to its squared samples (Parseval), so a window's misfit is a sum over bands. What
noise alone would leave in a band is

    white, or correlated       the band's share of all frequencies: whitened samples are independent
    of the filter's band       the spectrum of a piece of an endless record (data/noise.py), its ends included

A window is cut off sharply, so a strong residual shows a little in the bands beside its own too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton.tomography.data.band import band_pass_gain
from craton.tomography.data.observations import Observations
from craton.tomography.folder import PeriodBand

if TYPE_CHECKING:
    from mpi4py import MPI

f64 = NDArray[np.float64]
i64 = NDArray[np.int64]

FEWEST_BANDS = 3
"""A filter has so many bands, or one for each octave where that is more ..."""
FEWEST_SAMPLES = 10.0
"""... but fewer where a band would have fewer independent samples than this."""


def bands_of_periods(
    data: Observations, predicted: f64, filter_periods_s: Sequence[float], comm: MPI.Comm | None = None
) -> list[PeriodBand]:
    """Misfits of bands between T4 and T1 of the filter, the longest periods first; none where there are too few samples.

    Collective where there is a comm, whose ranks then share out the windows. The same on any number of ranks, bit for bit.
    """
    longest_s, shortest_s = filter_periods_s[0], filter_periods_s[-1]
    for count in range(max(FEWEST_BANDS, round(np.log2(longest_s / shortest_s))), 0, -1):
        edges_s = np.geomspace(longest_s, shortest_s, count + 1)
        samples = expected_squares(data, edges_s, filter_periods_s)[1:-1]
        if samples.min() >= FEWEST_SAMPLES:
            break
    else:
        return []
    squares = data.of_windows(lambda some, g: squares_by_band(some, g, edges_s).ravel(), predicted, comm)
    chi = squares.reshape(len(data.paths), -1).sum(axis=0)[1:-1]
    return [PeriodBand(*map(float, row)) for row in zip(edges_s[:-1], edges_s[1:], samples, chi / samples, strict=True)]


def squares_by_band(data: Observations, predicted: f64, edges_s: f64) -> f64:
    """Squared residuals, shape (windows, bands): beyond the first of the falling edges, between them, and below the last."""
    table, bands = data.paths, len(edges_s) + 1
    white = data.whitened(data.observed - predicted)
    found = np.empty((len(table), bands))
    for window, (first, last) in enumerate(zip(table.offsets[:-1], table.offsets[1:], strict=True)):
        samples = last - first
        power = weights(samples) * np.abs(np.fft.rfft(white[first:last])) ** 2 / samples
        found[window] = np.bincount(band_of(samples, table.sample_interval_s, edges_s), power, bands)
    return found


def expected_squares(data: Observations, edges_s: f64, filter_periods_s: Sequence[float]) -> f64:
    """What noise alone leaves of all windows in each band: its independent samples."""
    table, bands = data.paths, len(edges_s) + 1
    lengths, windows = np.unique(table.samples, return_counts=True)
    of_band = data.attributes.get("independent_part")
    correlations = np.empty(0)
    if of_band is not None:
        points = 1 << (8 * int(lengths[-1])).bit_length()
        gain = band_pass_gain(tuple(filter_periods_s), np.fft.rfftfreq(points, table.sample_interval_s))
        correlations = np.fft.irfft(gain**2, points)
        correlations *= float(of_band) / correlations[0]
    found = np.zeros(bands)
    for length, count in zip(map(int, lengths), windows, strict=True):
        power = weights(length)
        if of_band is not None:
            power = power * spectrum_of_piece(correlations[:length])
        found += count * np.bincount(band_of(length, table.sample_interval_s, edges_s), power, bands)
    return found


def weights(samples: int) -> f64:
    """How many of the frequencies of a whole transform each of a real one stands for."""
    found = np.full(samples // 2 + 1, 2.0)
    found[0] = 1.0
    if samples % 2 == 0:
        found[-1] = 1.0
    return found


def band_of(samples: int, sample_interval_s: float, edges_s: f64) -> i64:
    """The band of each frequency of a real transform."""
    return np.searchsorted(1.0 / edges_s, np.fft.rfftfreq(samples, sample_interval_s), side="right")


def spectrum_of_piece(correlations: f64) -> f64:
    """Mean squared amplitude, over n, of n samples of noise. correlations: at 0, 1, ..., n - 1 samples."""
    part = np.arange(len(correlations)) / len(correlations)
    wrapped = np.concatenate([correlations[:1], correlations[:0:-1]])
    return np.asarray(np.fft.rfft((1.0 - part) * correlations + part * wrapped).real)
