"""Source-time functions: how a point source acts in time.

Each has a moment rate s(t), in 1/s, of unit integral (but Ricker's, whose moment comes back to 0), zero before t = 0:

    moment rate = M0 s(t),      force = F g(t),   g: s(t) over its largest value; for `step` and `ricker` their own history

    gaussian(sigma_s)       exp(-(t-tc)^2 / 2 sigma^2) / (sqrt(2 pi) sigma),  tc = 6 sigma unless given
    brune(period_s)         t/T^2 exp(-t/T)
    triangle(duration_s)    isosceles
    cosine(duration_s)      (1 - cos(2 pi t/T)) / T
    liu(duration_s)         Liu, Archuleta and Hartzell (2006), eq. 7a
    step(duration_s)        the history rises as (1 - cos(pi t/T)) / 2 from 0 to 1 and stays there
    ricker(frequency_hz)    the history is (1 - 2a) exp(-a), a = (pi f (t-tc))^2, tc = 1.5/f unless given
    file                    rows of time in s and rate, straight lines between them; scaled to unit integral
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton.errors import UserError
from craton.seismology.files import numbered_rows
from craton.settings import finite

Array = NDArray[np.float64]

LEVEL = 0.05
"""The highest frequency of a source is that above which its spectrum stays below this part of its largest value."""
PULSE_SAMPLES = 20000
PULSE_END = 1e-3
"""Of its largest value, below which a history counts as 0."""
SPECTRUM_SAMPLES = 4096
SPECTRUM_PADDING = 16


@dataclass(frozen=True)
class SourceTime:
    """The base of all; times in s from the source's own onset."""

    @property
    def end_s(self) -> float:
        """From when on the rate is (nearly) 0."""
        raise NotImplementedError

    def rate(self, t: ArrayLike) -> Array:
        """s(t), 1/s."""
        return self._rate(np.asarray(t, float))

    def _rate(self, t: Array) -> Array:
        raise NotImplementedError

    def history(self, t: ArrayLike) -> Array:
        """g(t) of a force: its largest value is 1."""
        return self._history(np.asarray(t, float))

    def _history(self, t: Array) -> Array:
        return self.rate(t) / self._largest

    def rate_in_steps(self, middles_s: ArrayLike, _dt_s: float) -> Array:
        """The rate that steps about these times take, 1/s: the value there, since s is smooth."""
        return self.rate(middles_s)

    def history_in_steps(self, middles_s: ArrayLike, _dt_s: float) -> Array:
        """The history that steps about these times take: the value there."""
        return self.history(middles_s)

    @cached_property
    def pulse_s(self) -> tuple[float, float] | None:
        """Integral of the history as a pulse, and its centre: the first moment over the integral, s.

        None where it is no pulse: one that does not come back to 0, or whose integral is 0.
        """
        step = self.end_s / PULSE_SAMPLES
        middles = (np.arange(PULSE_SAMPLES) + 0.5) * step
        history = self.history_in_steps(middles, step)
        integral = float(history.sum()) * step
        lasting = abs(float(self.history(1.5 * self.end_s))) > PULSE_END
        if lasting or abs(integral) < PULSE_END * float(np.abs(history).sum()) * step:
            return None
        return integral, float((history * middles).sum()) * step / integral

    @cached_property
    def centroid_s(self) -> float:
        """The first moment of the moment rate over its integral, s; of a rate whose integral is 0, of its square's."""
        step = self.end_s / PULSE_SAMPLES
        middles = (np.arange(PULSE_SAMPLES) + 0.5) * step
        rate = self.rate_in_steps(middles, step)
        if abs(float(rate.sum())) < PULSE_END * float(np.abs(rate).sum()):
            rate = rate**2
        return float((rate * middles).sum() / rate.sum())

    @cached_property
    def highest_frequency_hz(self) -> float:
        """Above it the rate's spectrum stays below LEVEL of its largest value."""
        return self.frequency_above_hz(LEVEL)

    def frequency_above_hz(self, level: float) -> float:
        """From there on the rate's spectrum stays below a part of its largest value, or is not known."""
        step = self.end_s / SPECTRUM_SAMPLES
        rate = self.rate((np.arange(SPECTRUM_SAMPLES) + 0.5) * step)
        spectrum = np.abs(np.fft.rfft(rate, SPECTRUM_SAMPLES * SPECTRUM_PADDING))
        above = np.flatnonzero(spectrum >= level * spectrum.max())[-1]
        return float((above + 1) / (SPECTRUM_SAMPLES * SPECTRUM_PADDING * step))

    @cached_property
    def _largest(self) -> float:
        return float(self.rate(np.linspace(0, self.end_s, 20001)).max())


@dataclass(frozen=True)
class Gaussian(SourceTime):
    """A bell of standard deviation sigma_s."""

    sigma_s: float
    centre_s: float | None = None

    @property
    def middle_s(self) -> float:
        """centre_s; by default 6 sigma, which begins quietly."""
        return 6 * self.sigma_s if self.centre_s is None else self.centre_s

    @property
    def end_s(self) -> float:
        """6 sigma after the middle."""
        return self.middle_s + 6 * self.sigma_s

    def _rate(self, t: Array) -> Array:
        bell = np.exp(-0.5 * ((t - self.middle_s) / self.sigma_s) ** 2) / (math.sqrt(2 * math.pi) * self.sigma_s)
        return np.where(t >= 0, bell, 0)


@dataclass(frozen=True)
class Brune(SourceTime):
    """t exp(-t / period) / period^2: rises at once, and falls slowly."""

    period_s: float

    @property
    def end_s(self) -> float:
        """25 periods."""
        return 25 * self.period_s

    def _rate(self, t: Array) -> Array:
        x = np.maximum(t, 0) / self.period_s
        return np.asarray(x * np.exp(-x) / self.period_s)


@dataclass(frozen=True)
class _Lasting(SourceTime):
    duration_s: float

    @property
    def end_s(self) -> float:
        return self.duration_s


@dataclass(frozen=True)
class Triangle(_Lasting):
    """Rises and falls along straight lines."""

    def _rate(self, t: Array) -> Array:
        x = 2 * t / self.duration_s - 1
        return np.asarray(np.maximum(1 - np.abs(x), 0) * 2 / self.duration_s)


@dataclass(frozen=True)
class Cosine(_Lasting):
    """One period of 1 - cos."""

    def _rate(self, t: Array) -> Array:
        x = np.clip(t / self.duration_s, 0, 1)
        return (1 - np.cos(2 * np.pi * x)) / self.duration_s


@dataclass(frozen=True)
class Liu(_Lasting):
    """Liu, Archuleta and Hartzell (2006): rises in 0.13 of its duration and falls slowly."""

    def _rate(self, t: Array) -> Array:
        t1 = 0.13 * self.duration_s
        t2 = self.duration_s - t1
        scale = np.pi / (1.4 * np.pi * t1 + 1.2 * t1 + 0.3 * np.pi * t2)
        rise = 0.7 - 0.7 * np.cos(np.pi * t / t1) + 0.6 * np.sin(0.5 * np.pi * t / t1)
        turn = 1.0 - 0.7 * np.cos(np.pi * t / t1) + 0.3 * np.cos(np.pi * (t - t1) / t2)
        fall = 0.3 + 0.3 * np.cos(np.pi * (t - t1) / t2)
        within = (t >= 0) & (t < self.duration_s)
        return np.where(within, scale * np.where(t < t1, rise, np.where(t < 2 * t1, turn, fall)), 0)


@dataclass(frozen=True)
class Step(_Lasting):
    """A force that rises to 1 within duration_s and stays; as a moment, half a period of a sine."""

    def _rate(self, t: Array) -> Array:
        x = np.clip(t / self.duration_s, 0, 1)
        return 0.5 * np.pi * np.sin(np.pi * x) / self.duration_s

    def _history(self, t: Array) -> Array:
        return 0.5 - 0.5 * np.cos(np.pi * np.clip(t / self.duration_s, 0, 1))


@dataclass(frozen=True)
class Ricker(SourceTime):
    """The second derivative of a bell, as a force; as a moment rate, that of it."""

    frequency_hz: float
    centre_s: float | None = None

    @property
    def middle_s(self) -> float:
        """centre_s; by default 1.5 periods."""
        return 1.5 / self.frequency_hz if self.centre_s is None else self.centre_s

    @property
    def end_s(self) -> float:
        """1.5 periods after the middle."""
        return self.middle_s + 1.5 / self.frequency_hz

    def _rate(self, t: Array) -> Array:
        c = (np.pi * self.frequency_hz) ** 2
        since = t - self.middle_s
        return np.where(t >= 0, c * since * (4 * c * since**2 - 6) * np.exp(-c * since**2), 0)

    def _history(self, t: Array) -> Array:
        a = (np.pi * self.frequency_hz * (t - self.middle_s)) ** 2
        return np.where(t >= 0, (1 - 2 * a) * np.exp(-a), 0)


@dataclass(frozen=True)
class Table(SourceTime):
    """Straight lines between samples, 0 outside.

    A step takes the mean over its length, so that no moment is lost however finely the samples lie.
    """

    times_s: tuple[float, ...]
    rates: tuple[float, ...]

    @property
    def end_s(self) -> float:
        """The last sample."""
        return self.times_s[-1]

    def _rate(self, t: Array) -> Array:
        return np.asarray(np.interp(t, self.times_s, self.rates, left=0, right=0))

    def rate_in_steps(self, middles_s: ArrayLike, dt_s: float) -> Array:
        """The mean over each step, 1/s."""
        middles = np.asarray(middles_s, float)
        return (self._integral(middles + 0.5 * dt_s) - self._integral(middles - 0.5 * dt_s)) / dt_s

    def history_in_steps(self, middles_s: ArrayLike, dt_s: float) -> Array:
        """The mean over each step; its largest value is about 1."""
        return self.rate_in_steps(middles_s, dt_s) / self._largest

    @cached_property
    def _largest(self) -> float:
        return float(np.abs(self.rates).max())

    @cached_property
    def _sums(self) -> Array:
        t, s = np.asarray(self.times_s), np.asarray(self.rates)
        return np.concatenate([[0], np.cumsum(0.5 * (s[1:] + s[:-1]) * np.diff(t))])

    def _integral(self, until: Array) -> Array:
        """Of the rate, from the first sample; nothing before it and after the last."""
        t, s = np.asarray(self.times_s), np.asarray(self.rates)
        until = np.clip(until, t[0], t[-1])
        at = np.clip(np.searchsorted(t, until, side="right") - 1, 0, len(t) - 2)
        since = until - t[at]
        slope = (s[at + 1] - s[at]) / (t[at + 1] - t[at])
        return np.asarray(self._sums[at] + since * (s[at] + 0.5 * slope * since))


def means_over_steps(
    samples: NDArray[np.float32],
    first_sample: NDArray[np.int64],
    counts: NDArray[np.int64],
    begin_s: Array,
    sample_s: float,
    first_step: int,
    steps: int,
    dt_s: float,
) -> NDArray[np.float32]:
    """Means of many series over steps [j dt, (j+1) dt], j = first_step .. first_step + steps - 1: float32 (n, steps).

    Row n of `samples` holds counts[n] samples of series n, from number first_sample[n] on; sample m is at begin_s[n] +
    m sample_s. Straight lines between them, and to 0 one interval before the first and after the last, so that the integral is
    their sum times sample_s. Each mean is summed from the samples about its own step alone: it has the same bits whatever part
    of a series is given, and wherever a run began.
    """
    start = (first_step + np.arange(steps)) * dt_s - begin_s[:, None]
    low = np.floor(start / sample_s).astype(np.int64)
    rows = np.arange(len(samples))[:, None]
    first, last = first_sample[:, None], (first_sample + counts)[:, None] - 1
    total = np.zeros(start.shape)
    for m in range(math.ceil(dt_s / sample_s) + 2):
        # the part of the step between samples low + m and low + m + 1
        index = low + m
        within = (index >= first - 1) & (index <= last)
        if not within.any():
            continue
        before = np.clip(start, index * sample_s, (index + 1) * sample_s)
        behind = np.clip(start + dt_s, index * sample_s, (index + 1) * sample_s)
        left, right = (
            np.where((at >= first) & (at <= last), samples[rows, np.clip(at - first, 0, samples.shape[1] - 1)], 0.0)
            for at in (index, index + 1)
        )
        middle = 0.5 * (before + behind) / sample_s - index
        total += np.where(within, (behind - before) * (left + (right - left) * middle), 0)
    return np.asarray(total / dt_s, dtype=np.float32)


def read_series(path: str | os.PathLike[str]) -> Table:
    """A series from rows of time in s and rate (any unit: the integral becomes 1); # begins a comment. UserError names the row."""
    path, rows = Path(path), list[tuple[float, float]]()
    for place, line, words in numbered_rows(path, "a text file of time and rate"):
        try:
            time, rate = (finite(float(word)) for word in words)
        except ValueError:
            raise UserError(f"{place}: '{line}'; allowed: a finite time in s and rate") from None
        if rows and time <= rows[-1][0] or not rows and time < 0:
            raise UserError(f"{place}: time {time:g} s; allowed: 0 or more, and above the row before")
        rows.append((time, rate))
    if len(rows) < 2:
        raise UserError(f"{path}: {len(rows)} samples; allowed: two or more rows of time in s and rate")
    t, s = np.array(rows).T
    integral = float(np.sum(0.5 * (s[1:] + s[:-1]) * np.diff(t)))
    if abs(integral) < 1e-6 * float(np.abs(s).max() * (t[-1] - t[0])) or integral == 0:
        raise UserError(f"{path}: the series' integral is {integral:g}; allowed: one that is not 0, to be scaled to 1")
    return Table(tuple(t.tolist()), tuple((s / integral).tolist()))


KINDS: dict[str, tuple[type[SourceTime], str]] = {
    "gaussian": (Gaussian, "sigma_s"),
    "brune": (Brune, "period_s"),
    "triangle": (Triangle, "duration_s"),
    "cosine": (Cosine, "duration_s"),
    "liu": (Liu, "duration_s"),
    "step": (Step, "duration_s"),
    "ricker": (Ricker, "frequency_hz"),
}
"""Each with the name of its one parameter; and "file"."""


def source_time(kind: str, parameter: float, centre_s: float | None = None) -> SourceTime:
    """A time function by its name, a key of KINDS, with the parameter named there. UserError for one that is not above 0.

    centre_s: of gaussian and ricker alone.
    """
    what, name = KINDS[kind]
    if not (parameter > 0 and math.isfinite(parameter)):
        raise UserError(f"time function {kind}: {name} = {parameter:g}; allowed: above 0, and finite")
    if centre_s is None:
        return what(parameter)  # type: ignore[call-arg]
    if what not in (Gaussian, Ricker):
        raise UserError(f"time function {kind}: centre_s = {centre_s:g}; allowed: of gaussian and ricker alone")
    return what(parameter, centre_s)


def check_frequency(
    highest_hz: float,
    slowest_m_s: float,
    spacing_m: float,
    points_per_wavelength: float,
    where: str = "source",
    slower: str = "a slower time function",
) -> None:
    """UserError where a source has shorter waves than the grid can carry. slower: what is allowed in its place."""
    carried = slowest_m_s / (spacing_m * points_per_wavelength)
    if highest_hz > carried * (1 + 1e-9):
        raise UserError(
            f"{where}: its spectrum reaches {highest_hz:.3g} Hz (where it falls below {LEVEL:.0%} of its largest value), but "
            f"{spacing_m:g} m cells carry {carried:.3g} Hz at {points_per_wavelength:g} points per wavelength of "
            f"{slowest_m_s:g} m/s; allowed: {slower}, cells of "
            f"{slowest_m_s / (highest_hz * points_per_wavelength):.3g} m, or another [grid] points_per_wavelength"
        )
