"""What is not known of earthquakes and stations: unknowns behind those of the ground.

An earthquake, or a station, shifts its windows by a time and multiplies them by an amplitude: u(t) becomes A u(t - T), and its
transform A exp(-2 pi i f T) U(f). The unknowns are T, in s, and ln A. Each is expected to be 0, with the standard deviation that
[corrections] has.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from craton.inverse.blocks import ParameterBlock
from craton.inverse.parts import Independent
from craton.regional.config import CorrectionsConfig

__all__ = ["Corrections", "drawn"]

f64 = NDArray[np.float64]
complex128 = NDArray[np.complex128]

KINDS = ("event_time_s", "event_amplitude", "station_time_s", "station_amplitude")


@dataclass(frozen=True)
class Corrections:
    """Which unknowns there are, and how they act."""

    settings: CorrectionsConfig
    events: int
    stations: int

    @property
    def kinds(self) -> list[tuple[str, int, float]]:
        """Name, how many, standard deviation, in the unknowns' order."""
        counts = (self.events, self.events, self.stations, self.stations)
        given = [(name, count, float(getattr(self.settings, name))) for name, count in zip(KINDS, counts, strict=True)]
        return [one for one in given if one[2] > 0]

    @property
    def size(self) -> int:
        """How many unknowns."""
        return sum(count for _, count, _ in self.kinds)

    @property
    def precision(self) -> f64:
        """1 / variance of each."""
        return np.concatenate([np.full(count, deviation**-2) for _, count, deviation in self.kinds] or [np.zeros(0)])

    def prior(self, offset: int) -> Independent:
        """What is expected of them. offset: of the first, in the model."""
        return Independent(ParameterBlock("corrections", offset, self.size, 1), self.precision)

    def of(self, event: int, station: int) -> Iterator[tuple[int, bool]]:
        """Number of each unknown that acts on a window, and whether it is a time."""
        first = 0
        for name, count, _ in self.kinds:
            yield first + (event if name.startswith("event") else station), name.endswith("time_s")
            first += count

    def names(self, events: Sequence[str], stations: Sequence[str]) -> list[tuple[str, str]]:
        """Whose each unknown is, and which: ("A", "station_time_s")."""
        return [
            (name, kind) for kind, _, _ in self.kinds for name in (events if kind.startswith("event") else stations)
        ]

    def factor(self, values: f64, event: int, station: int, frequencies_hz: f64) -> complex128:
        """What a window's transform is multiplied with. values: of all unknowns."""
        time_s = size = 0.0
        for number, is_time in self.of(event, station):
            time_s, size = time_s + values[number] * is_time, size + values[number] * (not is_time)
        return np.asarray(np.exp(size - 2j * np.pi * frequencies_hz * time_s), np.complex128)

    def derivatives(
        self, transform: complex128, event: int, station: int, frequencies_hz: f64
    ) -> dict[int, complex128]:
        """Of a window's transform, by each unknown that acts on it."""
        by_time = -2j * np.pi * frequencies_hz * transform
        return {number: by_time if is_time else transform for number, is_time in self.of(event, station)}


def drawn(errors: Corrections, seed: int) -> f64:
    """Errors of a catalogue, of the standard deviations in its settings."""
    random = np.random.default_rng([seed, 17])
    return np.concatenate(
        [deviation * random.standard_normal(count) for _, count, deviation in errors.kinds] or [np.zeros(0)]
    )
