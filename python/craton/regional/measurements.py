"""What of a window is compared: its samples, or travel times and amplitudes, as functionals of the same samples.

    waveform            the samples
    cross_correlation   the shift at which the observed window is most like the predicted one u, and ln of how much larger it is
    gsdf                the same at frequencies: of cross-correlations filtered about each of them (Gee & Jordan 1992)

A small change du of the prediction shifts and enlarges it by

    dt = -sum u' du / sum u'^2            dln A = sum u du / sum u^2                                (cross_correlation)
    dln A - 2 pi i f dt = sum_k g_k dU_k U_k* / sum_k g_k |U_k|^2                                     (gsdf)

u' is du/dt, U the Fourier transform of the tapered window, g a Gaussian about the frequency f. Panels of samples times these are
panels of travel times and amplitudes. Standard deviations follow from those of the samples, whose noise has the filter's band.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from craton.regional.observations import Observations
from craton.regional.study import Pairing, Study
from craton.regional.windows import Window

__all__ = ["Misfit"]

f64 = NDArray[np.float64]
complex128 = NDArray[np.complex128]

FINER = 32
"""Shifts tried between two samples."""
FREQUENCIES = 64
"""Of a window's transform within the filter, for gsdf."""
TAPERED = 0.1
"""Of a window at each end."""


@dataclass(frozen=True)
class Misfit:
    """Data of a run, and what a prediction misses of them."""

    study: Study
    data: Observations

    @property
    def kind(self) -> str:
        """[data] measure."""
        return self.study.config.data.measure

    def count(self, one: Pairing) -> int:
        """Data of a window."""
        if self.kind == "waveform":
            return len(one.window.times_s)
        return 2 * max(1, len(self.measured_hz))

    @property
    def measured_hz(self) -> tuple[float, ...]:
        """Frequencies of gsdf; none for others."""
        return self.study.measured_hz if self.kind == "gsdf" else ()

    def uses(self, one: Pairing) -> bool:
        """Whether there are data of a window."""
        return bool(np.isfinite(self.data.sigma[one.first]))

    @cached_property
    def size(self) -> int:
        """Data of all windows that are used."""
        return sum(self.count(one) for one in self.study.pairings if self.uses(one))

    def residual_of(self, one: Pairing, predicted: f64) -> f64:
        """What the prediction misses of a window's data, in standard deviations. predicted: samples of all windows."""
        d, u = self.data.observed[one.samples], predicted[one.samples]
        if self.kind == "waveform":
            return np.asarray((d - u) / self.data.sigma[one.samples])
        rows = self._rows(one.window, u)
        missed = (
            self._shift_and_size(one.window, d, u) if self.kind == "cross_correlation" else self._gsdf(one.window, d, u)
        )
        return np.asarray(missed / self._sigma(one, rows))

    def rows_of(self, one: Pairing, predicted: f64) -> f64:
        """(datum, sample): derivatives of a window's data by its samples, over the data's standard deviations."""
        if self.kind == "waveform":
            return np.diag(1.0 / self.data.sigma[one.samples])
        rows = self._rows(one.window, predicted[one.samples])
        return np.asarray(rows / self._sigma(one, rows)[:, None])

    def residual(self, predicted: f64) -> f64:
        """Of all windows that are used, one after the other."""
        return np.concatenate([self.residual_of(one, predicted) for one in self.study.pairings if self.uses(one)])

    def chi(self, predicted: f64) -> float:
        """Half the squared residual: the first part of equation 1."""
        return 0.5 * float(np.sum(self.residual(predicted) ** 2))

    # ------------------------------------------------------------------------------------------------- what is measured

    def _rows(self, window: Window, u: f64) -> f64:
        """(datum, sample): travel time and ln of amplitude, or these of each frequency in turn."""
        if self.kind == "cross_correlation":
            taper = _taper(len(u))
            rate, like = self._rate(window, u), taper * u
            return np.stack([-taper * rate / _above_0(float(rate @ rate)), taper * like / _above_0(float(like @ like))])
        turned, gains = self._turned(window), self._gains(window)
        spectrum = turned @ u
        rows = []
        for frequency_hz, gain in zip(self.measured_hz, gains, strict=True):
            row = (gain * spectrum.conj()) @ turned / _above_0(float(gain @ np.abs(spectrum) ** 2))
            rows += [-row.imag / (2 * np.pi * frequency_hz), row.real]
        return np.stack(rows)

    def _shift_and_size(self, window: Window, d: f64, u: f64) -> f64:
        """Travel time, s, and ln of amplitude of d beside u."""
        half_s = 0.5 / float(np.sqrt(window.band.f2 * window.band.f3))
        d = d * _taper(len(d))
        shifts_s = np.arange(-half_s, half_s, window.step_s / FINER)
        shifted = self._between(window, u, shifts_s)  # (shift, sample): u(t - shift)
        sizes = shifted @ d / np.sqrt(np.maximum(np.sum(shifted**2, axis=1), np.finfo(float).tiny))
        best = int(np.argmax(sizes))
        shift_s = _vertex(shifts_s, sizes, best)
        like = self._between(window, u, np.array([shift_s]))[0]
        return np.array([shift_s, np.log(_above_0(float(like @ d)) / _above_0(float(like @ like)))])

    def _gsdf(self, window: Window, d: f64, u: f64) -> f64:
        """The same at each frequency, in turn."""
        turned = self._turned(window)
        observed, predicted = turned @ d, turned @ u
        found = []
        for frequency_hz, gain in zip(self.measured_hz, self._gains(window), strict=True):
            like = complex(gain @ (observed * predicted.conj())) / _above_0(float(gain @ np.abs(predicted) ** 2))
            found += [-np.angle(like) / (2 * np.pi * frequency_hz), np.log(_above_0(abs(like)))]
        return np.array(found)

    def _sigma(self, one: Pairing, rows: f64) -> f64:
        """Standard deviations of data that are rows of samples: of noise, and of [data] delay_floor_s and amplitude_floor."""
        synthesis = one.window.synthesis(self.study.frequencies_hz)
        noise = float(self.data.sigma[one.first]) * synthesis / np.sqrt(np.sum(synthesis[0] ** 2))
        data, floors = self.study.config.data, np.empty(len(rows))
        floors[0::2], floors[1::2] = data.delay_floor_s, data.amplitude_floor
        return np.asarray(np.sqrt(np.sum((rows @ noise) ** 2, axis=1) + floors**2))

    # --------------------------------------------------------------------------------------------------- of band-limited samples

    def _rate(self, window: Window, u: f64) -> f64:
        """du/dt, by the trigonometric interpolation of the samples."""
        frequencies = np.fft.rfftfreq(len(u), window.step_s)
        return np.asarray(np.fft.irfft(2j * np.pi * frequencies * np.fft.rfft(u * _taper(len(u))), len(u)))

    def _between(self, window: Window, u: f64, shifts_s: f64) -> f64:
        """(shift, sample): the tapered window, shifted."""
        frequencies = np.fft.rfftfreq(len(u), window.step_s)
        turned = np.exp(-2j * np.pi * np.outer(shifts_s, frequencies))
        return np.asarray(np.fft.irfft(turned * np.fft.rfft(u * _taper(len(u))), len(u), axis=1))

    def _turned(self, window: Window) -> complex128:
        """(frequency, sample): the transform of the tapered window."""
        times_s = window.times_s
        frequencies = np.linspace(window.band.f1, window.band.f4, FREQUENCIES)
        return np.asarray(np.exp(-2j * np.pi * np.outer(frequencies, times_s)) * _taper(len(times_s)))

    def _gains(self, window: Window) -> f64:
        """(measured, frequency): Gaussians about the measured frequencies."""
        frequencies = np.linspace(window.band.f1, window.band.f4, FREQUENCIES)
        width = self.study.config.data.measured_width
        return np.stack([np.exp(-0.5 * ((frequencies - f) / (width * f)) ** 2) for f in self.measured_hz])


def _taper(count: int) -> f64:
    """1 in the middle, falling as a cosine to 0 at both ends."""
    part = np.minimum(np.arange(count) + 0.5, count - np.arange(count) - 0.5) / (TAPERED * count)
    return np.asarray(0.5 - 0.5 * np.cos(np.pi * np.minimum(part, 1.0)))


def _vertex(at: f64, values: f64, best: int) -> float:
    """Where the parabola through a largest value and its neighbours is largest."""
    if not 0 < best < len(at) - 1:
        return float(at[best])
    before, here, after = values[best - 1 : best + 2]
    curved = before - 2 * here + after
    return float(at[best] + 0.5 * (before - after) / curved * (at[1] - at[0])) if curved < 0 else float(at[best])


def _above_0(value: float) -> float:
    """Divides and has a logarithm."""
    return max(value, float(np.finfo(float).tiny))
