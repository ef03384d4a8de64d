"""Seismograms of ruptures at a site from the site's strain Green's tensors (reciprocity; Cui et al. 2013, eq. 2).

    v_n(t) = sum over subfaults k of  slip_k  (M_k : H_n(r_k)) * f_k(t - onset_k)

M_k = mu area (s n + n s) is the moment tensor of unit slip, f_k the slip rate of unit slip (slip_rates.py). M_k : H_n(r_k) depends
on the rupture's surface alone: it is computed once and brought to frequencies. A variation is then a sum of products there
(include/craton/apps/hazard/kernels/subfault_sum.hpp), in which onsets are exact, between samples too. Time 0 is the beginning of
the rupture. Velocities are along the model's axes (z down), in m/s, and have gone through the pulse of the tensors' force.

Frequencies end where those above hold TOLERANCE of the whole (root of mean squares, of all subfaults). The period of the transform
is as long as tensors and delays together, so that nothing wraps around.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import TypedDict, Unpack

import numpy as np
import scipy
from numpy.typing import NDArray

from craton import _craton
from craton.described import Described
from craton.errors import UserError
from craton.hazard.forecast.rupture import Rupture, Surface, Variation
from craton.hazard.motion.green_tensors import COMPONENTS, GreenTensors
from craton.hazard.motion.slip_rates import SlipRates, slip_rates
from craton.seismology.sources.point_sources import double_couple

__all__ = ["BATCH", "How", "RuptureAtSite", "seismograms"]

Array = NDArray[np.float64]
TOLERANCE = 1e-4
BATCH = 32
"""Variations that are computed together."""
FADE = 32
"""Samples in which tensors that end before they are at rest go to 0, behind their end."""
EXTRACT_BYTES = 2**27
"""Of Green's tensors in memory at a time."""
SAME_AXES_DEG = 1e-6
TWICE_SHEAR = np.array([1.0, 1, 1, 2, 2, 2])
"""M : H from six components of each."""


class How(TypedDict, total=False):
    """Keywords of RuptureAtSite, and of all functions that make one."""

    slip_rate: str
    """shape of a subfault's slip rate: liu, which is the default, cosine or triangle"""
    interpolation: str
    """how subfaults find their points (GreenTensors.place)"""
    reach_m: float | None
    memory_mb: float
    """that a rupture may take; 1024 by default"""


def seismograms(
    green: GreenTensors,
    rupture: Rupture,
    variations: Iterable[Variation],
    *,
    batch: int = BATCH,
    **how: Unpack[How],
) -> Iterator[NDArray[np.float32]]:
    """Velocities (variation, direction, time), m/s, of variations in their order, up to `batch` at a time. Not collective.

    Samples are at 0, dt_s, 2 dt_s ... Variations are taken one batch after the other, so there may be any number: memory is what
    RuptureAtSite.bytes and bytes_per_variation times the batch say. UserError for a surface outside the points' reach or along
    other axes, variations that do not fit the surface, and memory.
    """
    if batch < 1:
        raise UserError(f"batch = {batch}; allowed: 1 or more")
    site = RuptureAtSite(green, rupture, **how)
    rest = iter(variations)
    while some := list(islice(rest, batch)):
        yield site.velocities(some)


class RuptureAtSite(Described):
    """A rupture's surface and a site: what all variations share."""

    def __init__(
        self,
        green: GreenTensors,
        rupture: Rupture,
        *,
        slip_rate: str = "liu",
        interpolation: str = "inverse_distance",
        reach_m: float | None = None,
        memory_mb: float = 1024.0,
    ) -> None:
        """Reads the tensors at the surface's subfaults, and no others. Not collective. The keywords: How.

        UserError for a surface outside their reach, for one whose x axis has another azimuth than theirs, and for one that would
        take more than memory_mb.
        """
        self.green, self.rupture, self.slip_rate, self.memory_mb = green, rupture, slip_rate, memory_mb
        self._period = 0
        self._delay_s = self._shortest_s = self._longest_s = 0.0
        self._table: SlipRates | None = None
        self._check_axes()
        self._check_memory(green.samples)
        placing = green.place(rupture.surface.positions, rupture.name, interpolation=interpolation, reach_m=reach_m)
        patterns = moments_of_unit_slip(rupture.surface, placing.mean(green.mu_Pa))
        self._series = _contracted(green, placing.point, placing.weight, patterns)

    def _facts(self) -> dict[str, object]:
        return {
            "rupture": f"{self.rupture.source} {self.rupture.number}",
            "samples": self.samples,
            "dt": f"{self.dt_s:g} s",
        }

    @property
    def dt_s(self) -> float:
        """Time between samples of a seismogram: as of the tensors."""
        return self.green.dt_s

    @property
    def samples(self) -> int:
        """Samples of a seismogram: from 0 until the tensors end."""
        return int(math.floor(self.green.duration_s / self.dt_s + 1e-9)) + 1

    @property
    def bytes(self) -> int:
        """Memory for all variations together, once some have been computed."""
        return self._series.nbytes + (self._spectra.bytes if self._period else 0)

    @property
    def bytes_per_variation(self) -> int:
        """Memory while a batch is computed, about: motions twice, spectra three times, seismograms twice."""
        values = len(self.green.directions) * (self._period or self.green.samples)
        return 64 * len(self.rupture.surface) + 20 * values

    @property
    def operations_per_variation(self) -> float:
        """Operations on real numbers of the sum over subfaults; once some have been computed."""
        return self._spectra.operations

    @property
    def frequencies(self) -> int:
        """How many frequencies are summed; once some variations have been computed."""
        return int(self._values.shape[2])

    def velocities(self, variations: Sequence[Variation]) -> NDArray[np.float32]:
        """Velocities (variation, direction, time), m/s, after the beginning of the rupture."""
        motions = self._prepared(variations)  # first: it may make new spectra
        whole: NDArray[np.float32] = scipy.fft.irfft(self._spectra.sum(*motions), n=self._period, axis=2)
        return whole[:, :, : self.samples]

    def seconds_of_sum(self, variations: Sequence[Variation]) -> float:
        """How long the sum over subfaults takes, for benchmarks."""
        motions = self._prepared(variations)
        begun = time.perf_counter()
        self._spectra.sum(*motions)
        return time.perf_counter() - begun

    def _prepared(self, variations: Sequence[Variation]) -> tuple[Array, Array, Array]:
        """Slip, delay and place of the rise time in the table, of each subfault of each variation."""
        slip, onset, rise = self._motions(variations)
        self._prepare(float((onset + rise).max()), float(rise.min()), float(rise.max()))
        assert self._table is not None
        return slip, (onset + self._table.centre * rise) / (self._period * self.dt_s), self._table.places(rise)

    def _motions(self, variations: Sequence[Variation]) -> tuple[Array, Array, Array]:
        count = len(self.rupture.surface)
        for one in variations:
            if len(one) != count:
                raise UserError(
                    f"variation {one.number} of {self.rupture.name}: {len(one)} subfaults; allowed: {count}, as its surface has"
                )
        slip, onset, rise = (np.stack([getattr(one, name) for one in variations]) for name in ("slip", "onset", "rise"))
        return slip, onset, rise

    def _prepare(self, delay_s: float, shortest_s: float, longest_s: float) -> None:
        """Spectra for delays and rise times up to these. Made anew, with room to spare, when one is beyond."""
        known = self._table is not None and self._table.covers(shortest_s, longest_s)
        if self._period and delay_s <= self._delay_s and known:
            return
        green = self.green
        if not self._period or delay_s > self._delay_s:
            self._delay_s = 1.25 * delay_s
            # tensors, their fading, delays, and what of the pulse is before its centre
            early = max(0.0, green.centre_s - green.first_time_s)
            needed = green.samples + FADE + math.ceil((self._delay_s + early) / self.dt_s)
            self._check_memory(needed)
            self._period = scipy.fft.next_fast_len(needed, real=True)
            self._values = _spectra(self._series, self._period, green)
        if self._table is not None:
            shortest_s, longest_s = min(shortest_s, self._shortest_s), max(longest_s, self._longest_s)
        self._shortest_s, self._longest_s = shortest_s, longest_s
        self._table = slip_rates(self.slip_rate, shortest_s, longest_s, self._period * self.dt_s, self._values.shape[2])
        self._spectra = _craton.RuptureSpectra(self._values, self._table.values)

    def _check_axes(self) -> None:
        own, theirs = self.rupture.surface.azimuth_deg, self.green.azimuth_deg
        if abs((own - theirs + 180) % 360 - 180) > SAME_AXES_DEG:
            raise UserError(
                f"{self.rupture.name}: its x axis has an azimuth of {own:g} degrees; allowed: {theirs:g}, as in "
                f"{self.green.paths[0]}"
            )

    def _check_memory(self, period: int) -> None:
        """Series, their spectra, and those once more in the form of the kernels."""
        needed = len(self.rupture.surface) * len(self.green.directions) * (4 * self.green.samples + 8 * period)
        if needed > self.memory_mb * 2**20:
            raise UserError(
                f"{self.rupture.name}: {len(self.rupture.surface)} subfaults with {self.green.samples} samples need "
                f"{needed / 2**20:.0f} MiB; allowed: memory_mb = {self.memory_mb:g} or less, or more memory_mb"
            )


def moments_of_unit_slip(surface: Surface, mu_Pa: Array) -> Array:
    """Moment tensors (n, 6), N m per m of slip, along the model's axes: xx, yy, zz, xy, xz, yz."""
    tensors = double_couple(surface.strike, surface.dip, surface.rake, -surface.azimuth_deg)
    return (mu_Pa * surface.area)[:, None] * tensors


def _contracted(green: GreenTensors, point: NDArray[np.int64], weight: Array, patterns: Array) -> NDArray[np.float32]:
    """Velocities (subfault, direction, time) after unit slip at once, m/s per m, in pulses of the force.

    Subfaults are taken in the order of their points, so many at a time that their tensors fit EXTRACT_BYTES.
    """
    count, directions = len(patterns), len(green.directions)
    out = np.empty((count, directions, green.samples), np.float32)
    order = np.argsort(point[:, 0], kind="stable")
    at_once = max(1, EXTRACT_BYTES // (green.bytes_per_point * point.shape[1]))
    for first in range(0, count, at_once):
        some = order[first : first + at_once]
        used = weight[some] > 0
        points, place = np.unique(point[some][used], return_inverse=True)
        # a row per subfault: weight times moment for each component of each of its points
        rows = np.broadcast_to(np.arange(len(some))[:, None], used.shape)[used]
        factor = weight[some][used][:, None] * (patterns[some] * TWICE_SHEAR)[rows]
        columns = place[:, None] * len(COMPONENTS) + np.arange(len(COMPONENTS))
        shape = (len(some), len(points) * len(COMPONENTS))
        matrix = scipy.sparse.csr_matrix((factor.ravel(), (np.repeat(rows, len(COMPONENTS)), columns.ravel())), shape)
        tensors = green.extract(points)
        for n, impulse in enumerate(green.impulse_Ns):
            flat = np.ascontiguousarray(tensors[:, n]).reshape(-1, green.samples)
            out[some, n] = (matrix / impulse) @ flat
    return out


def _spectra(series: NDArray[np.float32], period: int, green: GreenTensors) -> NDArray[np.complex64]:
    """(subfault, direction, frequency), about the centre of the pulse, as far as they matter."""
    count, directions, samples = series.shape
    fade = 0.5 + 0.5 * np.cos(np.pi * np.arange(1, FADE + 1) / (FADE + 1))
    shift = (green.first_time_s - green.centre_s) / green.dt_s
    turn = np.exp(-2j * np.pi * shift / period * np.arange(period // 2 + 1))
    out = np.empty((count, directions, period // 2 + 1), np.complex64)
    for k in range(count):
        longer = np.concatenate([series[k].astype(np.float64), series[k][:, -1:] * fade], axis=1)
        out[k] = scipy.fft.rfft(longer, n=period, axis=1) * turn
    power = np.einsum("kcf,kcf->f", out.real, out.real, dtype=float) + np.einsum(
        "kcf,kcf->f", out.imag, out.imag, dtype=float
    )
    above = np.cumsum(power[::-1])[::-1]
    needed = int(np.count_nonzero(above > TOLERANCE**2 * above[0]))
    return np.ascontiguousarray(out[:, :, : max(needed, 1)])
