"""Fourier transforms of a run's fields on a lattice of cells: where, at which frequencies, how often sampled, and what they take.

The lattice has the middles of every `coarsen`-th cell of a box, x slowest: what kernels of waveforms integrate over. Frequencies
are multiples of spacing_hz in the band. They are right where the fields hold nothing above the samples' rate less the band's end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton.settings import shown

if TYPE_CHECKING:
    from craton.seismology.geometry.grid import Box
    from craton.seismology.wave_run.config import Config

__all__ = ["COMPONENTS", "Lattice", "SpectraPlan", "lattice_of", "spectra_of", "wrong_spectra"]

Array = NDArray[np.float64]

COMPONENTS = {"strain": 6, "velocity": 3}
QUIET = 1e-3
"""Of a source's largest spectrum: what is weaker may be taken for another frequency."""
WHERE_UNKNOWN = 10.0
"""Times the band's end: samples a second, where no source says how high it reaches."""
SAMPLES_TOGETHER, COPIES = 16, 2
"""Samples that fourier_output.cpp adds at a time, and copies that wait for it (in_situ.hpp)."""
MOST_FREQUENCIES = 100_000
READING_BYTES = {"strain": 1100, "velocity": 430}
"""A point's cells and weights (recorders.hpp)."""
WRITTEN_AT_ONCE, COPIES_WRITTEN = 1 << 26, 5
"""Bytes of a file that a rank puts together at a time (transfer_options::buffer_bytes), and how often it then has them."""
WIDEST = 1e-6
"""Of the spacing of frequencies, by which rounding may leave one out at the band's ends."""


@dataclass(frozen=True)
class Lattice:
    """The middles of every stride-th cell of a box of cells."""

    first: tuple[int, int, int]
    """cell"""
    counts: tuple[int, int, int]
    stride: int
    spacing_m: float
    """of the grid"""

    @property
    def step_m(self) -> float:
        """Between neighbours."""
        return self.stride * self.spacing_m

    @property
    def axes_m(self) -> tuple[Array, Array, Array]:
        """Coordinates along x, y and z."""
        x, y, z = (
            (first + self.stride * np.arange(n, dtype=np.float64) + 0.5) * self.spacing_m
            for first, n in zip(self.first, self.counts, strict=True)
        )
        return x, y, z

    @property
    def points_m(self) -> Array:
        """(n, 3), z fastest."""
        return np.stack(np.meshgrid(*self.axes_m, indexing="ij"), axis=-1).reshape(-1, 3)

    def __len__(self) -> int:
        return math.prod(self.counts)

    def points_in(self, box: Box) -> int:
        """How many of them lie in a box of cells."""
        found = 1
        for start, count, low, high in zip(self.first, self.counts, box.first, box.last, strict=True):
            cells = start + self.stride * np.arange(count)
            found *= int(np.count_nonzero((cells >= low) & (cells < high)))
        return found


@dataclass(frozen=True)
class SpectraPlan:
    """What is summed, and what it takes."""

    lattice: Lattice
    frequencies_hz: Array
    fields: tuple[str, ...]
    """strain, velocity"""
    every: int
    """steps between samples"""
    half: bool

    def _values(self, field: str) -> int:
        return len(self.lattice) * COMPONENTS[field]

    def memory_bytes(self, points: int) -> int:
        """Of a rank with so many of the points, at the end of the run.

        Sums, the samples to be added, what reads the fields, what of one file is put together and read back, and places of all.
        """
        part = points / len(self.lattice)
        sums = [4 * self._values(field) * 2 * len(self.frequencies_hz) * part for field in self.fields]
        waiting = sum(4 * self._values(field) * (SAMPLES_TOGETHER + COPIES) for field in self.fields) * part
        reading = sum(READING_BYTES[field] for field in self.fields) * points + 24 * len(self.fields) * len(
            self.lattice
        )
        writing = max(max(one, COPIES_WRITTEN * min(one, WRITTEN_AT_ONCE)) for one in sums)
        return math.ceil(sum(sums) + waiting + reading + writing)

    @property
    def file_bytes(self) -> int:
        """Of the files on disk: elements, exponents, places and moduli."""
        rows, each = 2 * len(self.frequencies_hz), 2 if self.half else 4
        of_values = sum(self._values(field) * (rows * each + 4 * self.half) for field in self.fields)
        return of_values + len(self.fields) * len(self.lattice) * 6 * 8

    @property
    def text(self) -> str:
        """A line."""
        f, lattice = self.frequencies_hz, self.lattice
        return (
            f"{' and '.join(self.fields)} at {len(f)} frequencies, {f[0]:.4g} to {f[-1]:.4g} Hz, of {len(lattice):,} points "
            f"{lattice.step_m:g} m apart; every {self.every} steps; {self.file_bytes / 1e6:.3g} MB on disk"
        )


def lattice_of(config: Config) -> Lattice:
    """The lattice of [spectra]; without low_m and high_m all but the absorbing sides."""
    given, h = config.spectra, config.grid.spacing_m
    edge = config.boundary.layer_cells if config.boundary.absorbing != "none" else 0
    top = edge if config.boundary.top == "absorbing" else 0
    first, counts = [], []
    for d, (n, least) in enumerate(zip(config.cells, (edge, edge, top), strict=True)):
        low = max(0, round(given.low_m[d] / h)) if given.low_m else least
        high = min(n, round(given.high_m[d] / h)) if given.high_m else n - edge
        start = low + given.coarsen // 2
        first.append(start)
        counts.append(max(0, math.ceil((high - start) / given.coarsen)))
    return Lattice((first[0], first[1], first[2]), (counts[0], counts[1], counts[2]), given.coarsen, h)


def frequencies_of(config: Config) -> Array:
    """Multiples of the spacing within the band, Hz."""
    low, high, step = in_steps(config)
    return step * np.arange(math.ceil(low - WIDEST), math.floor(high + WIDEST) + 1, dtype=np.float64)


def in_steps(config: Config) -> tuple[float, float, float]:
    """The band's ends, in steps between frequencies, and the step, Hz."""
    given = config.spectra
    low, high = given.band_hz
    step = given.spacing_hz or 0.5 / config.time.duration_s
    return low / step, high / step, step


def sampling_steps(highest_hz: float, highest_source_hz: float, dt_s: float) -> int:
    """Steps between samples that carry a band up to highest_hz of fields that are quiet above highest_source_hz."""
    known = math.isfinite(highest_source_hz)
    rate = highest_hz + max(highest_hz, highest_source_hz) if known else WHERE_UNKNOWN * highest_hz
    return max(1, math.floor(1.0 / (rate * dt_s)))


def spectra_of(config: Config, highest_source_hz: float, dt_s: float, steps: int) -> SpectraPlan | None:
    """None where nothing is asked for. UserError for samples that do not carry the band.

    highest_source_hz: above it all sources are QUIET; NaN where that is unknown.
    """
    given = config.spectra
    if not given.band_hz:
        return None
    frequencies = frequencies_of(config)
    every = given.every or min(steps, sampling_steps(given.band_hz[1], highest_source_hz, dt_s))
    if frequencies[-1] * every * dt_s >= 0.5:
        most = max(1, math.ceil(0.5 / (frequencies[-1] * dt_s)) - 1)
        raise config.wrong(
            f"[spectra] every = {every} steps, {every * dt_s:.4g} s: too seldom for {frequencies[-1]:g} Hz; allowed: at most "
            f"{most}, or 0 for what the sources need"
        )
    return SpectraPlan(lattice_of(config), frequencies, given.fields, every, given.bits == 16)


def wrong_spectra(config: Config) -> Iterator[str]:
    """What is wrong with [spectra], or does not go with it."""
    given, checkpoint = config.spectra, config.checkpoint
    if not given.band_hz:
        return
    low, high, step = in_steps(config)
    band = f"[spectra] band_hz = {shown(given.band_hz)}"
    if not 0 <= low <= high or not high > 0:
        yield f"{band}; allowed: [lowest, highest] Hz, the lowest first, the highest above 0"
    elif not high - low < MOST_FREQUENCIES:
        yield f"{band}: {high - low:.3g} frequencies {step:g} Hz apart; allowed: {MOST_FREQUENCIES} at most"
    elif not len(frequencies_of(config)):
        yield f"{band}: no multiple of spacing_hz = {step:g} Hz; allowed: a wider band"
    sizes = config.grid.extent_m
    for name in ("low_m", "high_m"):
        if any(at > size * (1 + WIDEST) for at, size in zip(getattr(given, name), sizes, strict=False)):
            yield f"[spectra] {name} = {shown(getattr(given, name))}; allowed: inside the grid, up to {shown(sizes)} m"
    lattice = lattice_of(config)
    if 0 in lattice.counts:
        axis = "xyz"[lattice.counts.index(0)]
        yield (
            f"[spectra] no point along {axis} of every {given.coarsen} cells from low_m to high_m; allowed: a box inside the grid "
            "with one or more, by default all but the absorbing sides"
        )
    for wrong, what, allowed in (
        (config.grid.coarser_below_m > 0, "[grid] coarser_below_m", "cells of one size"),
        (config.topography is not None, "[topography]", "one of them"),
        (
            checkpoint.every_s > 0 or checkpoint.every_steps > 0,
            "[checkpoint]",
            "one of them: what has been summed is not kept",
        ),
    ):
        if wrong:
            yield f"[spectra] with {what}; allowed: {allowed}"
