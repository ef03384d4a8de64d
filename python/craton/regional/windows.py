"""Windows of seismograms: a filter, and what of a seismogram's transform makes the filtered samples.

The filter has no phase. Its gain is 1 between f2 and f3 and falls as a cosine to 0 at f1 and f4. Data and kernels go through the
same sum over the same frequencies. These should be multiples of 1 / (2 T), the default of [spectra]: a seismogram of length T is
then followed by as many zeros, and products of two transforms of length T, which last 2 T, do not wrap.

    u(t) = 2 df Re sum over f of gain(f) U(f) exp(2 pi i f t)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton.errors import UserError
from craton.seismology.band_pass import cosine_gain

f64 = NDArray[np.float64]
complex128 = NDArray[np.complex128]

__all__ = ["Band", "Window", "filtered"]


@dataclass(frozen=True)
class Band:
    """The filter: its four corners, Hz, increasing."""

    f1: float
    f2: float
    f3: float
    f4: float

    def __post_init__(self) -> None:
        if not 0 < self.f1 < self.f2 < self.f3 < self.f4:
            corners = f"[{self.f1:g}, {self.f2:g}, {self.f3:g}, {self.f4:g}]"
            raise UserError(f"filter {corners} Hz; allowed: four increasing frequencies above 0")

    def gain(self, frequency_hz: ArrayLike) -> f64:
        """0 to 1."""
        return cosine_gain((self.f1, self.f2, self.f3, self.f4), frequency_hz)


@dataclass(frozen=True)
class Window:
    """Samples of one component between two times, s from the run's beginning."""

    first_s: float
    last_s: float
    step_s: float
    band: Band

    def __post_init__(self) -> None:
        numbers = (self.first_s, self.last_s, self.step_s)
        if not (np.isfinite(numbers).all() and self.step_s > 0 and self.last_s >= self.first_s):
            raise UserError(
                f"window from {self.first_s:g} to {self.last_s:g} s in steps of {self.step_s:g} s; allowed: finite times, the "
                "first no later than the last, and a step above 0"
            )

    @property
    def reach_s(self) -> float:
        """Until when waves that arrive count: the filter brings forward what comes later by two of its longest periods."""
        return self.last_s + 2.0 / self.band.f1

    @property
    def times_s(self) -> f64:
        """Of its samples."""
        count = int(np.floor((self.last_s - self.first_s) / self.step_s + 1e-9)) + 1
        return self.first_s + self.step_s * np.arange(count, dtype=np.float64)

    def synthesis(self, frequencies_hz: f64, factor: complex128 | None = None) -> f64:
        """(sample, 2 frequency): what real and imaginary parts of a transform add to each sample.

        frequencies_hz: evenly spaced, all of the band. factor: what the transform is multiplied with before, of each frequency.
        UserError for frequencies that do not reach both ends of the band.
        """
        check_frequencies(frequencies_hz, self.band)
        spacing_hz = frequencies_hz[1] - frequencies_hz[0]
        gain = 2.0 * spacing_hz * self.band.gain(frequencies_hz) * (1.0 if factor is None else factor)
        turned = gain * np.exp(2j * np.pi * np.outer(self.times_s, frequencies_hz))
        found = np.empty((len(turned), 2 * len(frequencies_hz)))
        found[:, 0::2], found[:, 1::2] = turned.real, -turned.imag
        return found


def check_frequencies(frequencies_hz: f64, band: Band) -> None:
    """UserError for frequencies that leave out a part of the band, or are not evenly spaced."""
    spacing = np.diff(frequencies_hz)
    even = len(spacing) > 0 and bool(np.allclose(spacing, spacing[0], rtol=1e-6))
    if not even or frequencies_hz[0] - spacing[0] > band.f1 or frequencies_hz[-1] + spacing[0] < band.f4:
        raise UserError(
            f"{len(frequencies_hz)} frequencies from {frequencies_hz[0]:g} to {frequencies_hz[-1]:g} Hz; allowed: evenly spaced "
            f"ones over the whole filter, {band.f1:g} to {band.f4:g} Hz"
        )


def filtered(samples: ArrayLike, first_time_s: float, step_s: float, frequencies_hz: f64, window: Window) -> f64:
    """A seismogram's filtered samples in a window, by the same sum as kernels. samples: (..., time), from first_time_s on."""
    values = np.asarray(samples, np.float64)
    times_s = first_time_s + step_s * np.arange(values.shape[-1], dtype=np.float64)
    transform = step_s * values @ np.exp(-2j * np.pi * np.outer(times_s, frequencies_hz))
    pairs = np.stack([transform.real, transform.imag], axis=-1).reshape(*transform.shape[:-1], -1)
    return np.asarray(pairs @ window.synthesis(frequencies_hz).T)
