"""Observed seismograms of all paths, and their uncertainty."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from craton import _craton
from craton.runs.agreement import share
from craton.tomography.data.emphasis import Emphasis, filtered
from craton.tomography.data.noise import neighbour_correlation
from craton.tomography.data.paths import PathTable

if TYPE_CHECKING:
    from mpi4py import MPI

f64 = NDArray[np.float64]


@dataclass(frozen=True)
class Observations:
    """Seismograms of all paths, one after the other, and the standard deviation of each path's noise, in metres."""

    paths: PathTable
    observed: f64
    sigma: f64
    """In metres; of noise in a band, that of white noise as strong within it."""
    attributes: dict[str, Any]
    """kind ("synthetic" or "file") and where the samples come from."""
    correlation_s: f64 | None = None
    """Per path, over how many seconds the noise's correlation falls to 1/e; None: independent samples."""
    emphasis: Emphasis = field(default_factory=Emphasis)
    """What the misfit of an iteration looks at."""

    def where(self, keep: NDArray[np.bool_]) -> Observations:
        """The observations of some paths. keep: of each path."""
        return self._of(keep, self.observed[np.repeat(keep, self.paths.samples)])

    @property
    def plain(self) -> Observations:
        """Where all windows and periods count alike."""
        return replace(self, emphasis=Emphasis())

    def part(self, first: int, last: int) -> Observations:
        """The observations of consecutive paths, whose samples are not copied."""
        if (first, last) == (0, len(self.paths)):
            return self
        begin, end = self.paths.offsets[[first, last]]
        return self._of(np.arange(first, last), self.observed[begin:end])

    def _of(self, keep: NDArray[np.bool_] | NDArray[np.int64], observed: f64) -> Observations:
        """With the samples of these paths."""
        lengths_s = None if self.correlation_s is None else self.correlation_s[keep]
        emphasis = self.emphasis.where(keep)
        return Observations(self.paths.rows(keep), observed, self.sigma[keep], self.attributes, lengths_s, emphasis)

    @property
    def independent(self) -> f64:
        """Independent samples of each window: all of them, or those of the noise's band."""
        return np.asarray(self.paths.samples, float) * float(self.attributes.get("independent_part", 1.0))

    @property
    def counted_samples(self) -> int:
        """Independent samples of the windows that are not left out, each as often as it weighs; an arrival time is one."""
        left_out, weights = self.emphasis.left_out, self.emphasis.weights
        of_each = np.ones(len(self.paths)) if self.emphasis.misfit == "arrival_time" else self.independent
        counted = of_each * (1.0 if weights is None else weights)
        return round(float(counted[... if left_out is None else ~left_out].sum()))

    @property
    def correlation(self) -> f64 | None:
        """Correlation rho of neighbouring samples of each path, C_d[t, u] = sigma^2 rho^|t - u|; None where all are 0."""
        if self.correlation_s is None or not self.correlation_s.any():
            return None
        return neighbour_correlation(self.correlation_s, self.paths.sample_interval_s)

    def of_windows(
        self, tell: Callable[[Observations, f64], NDArray[Any]], predicted: f64, comm: MPI.Comm | None = None
    ) -> NDArray[Any]:
        """What `tell` finds of each window. predicted: seismograms of all windows, m.

        Collective where there is a comm: each rank then asks it of its share of the windows and their seismograms, and all get the
        whole. The same on any number of ranks, bit for bit, if `tell` looks at each window alone.
        """
        count = len(self.paths)
        first, last = (0, count) if comm is None else share(count, comm.size, comm.rank)
        mine: NDArray[Any] = np.empty(0, bool)  # which with other numbers makes theirs
        if first < last:
            begin, end = self.paths.offsets[[first, last]]
            mine = tell(self.part(first, last), predicted[begin:end])
        return mine if comm is None else np.concatenate(comm.allgather(mine))

    def white_squares(self, predicted: f64) -> f64:
        """Squared residuals of each window, their sum, without what the emphasis says."""
        white = self.whitened(self.observed - predicted)
        return np.asarray(np.add.reduceat(white * white, self.paths.offsets[:-1]))

    def window_misfits(self, predicted: f64, comm: MPI.Comm | None = None) -> f64:
        """2 chi / N of each window, without what the emphasis says. Collective where there is a comm."""
        return np.asarray(self.of_windows(Observations.white_squares, predicted, comm) / self.independent)

    def weighted(self, traces: f64) -> f64:
        """F W times samples of all paths, with what the emphasis leaves out: the misfit is half the squared norm of it."""
        white = self.whitened(traces * np.repeat(self.sigma / self.emphasis.sigma(self.sigma), self.paths.samples))
        taps = self.emphasis.taps(self.paths.sample_interval_s)
        return white if taps is None else filtered(white, taps, self.paths.offsets)

    def chi(self, predicted: f64, comm: MPI.Comm | None = None) -> float:
        """What the emphasis makes of the misfit: half the squared residuals. predicted: seismograms of all windows, m.

        Collective where there is a comm: the ranks then share the windows. The same on any number of them, bit for bit.
        """
        return 0.5 * float(np.sum(self.of_windows(Observations.squares, predicted, comm)))

    def squares(self, predicted: f64) -> f64:
        """Squared residuals of each window, their sum, as the emphasis has them."""
        of, offsets = self.emphasis.misfit, self.paths.offsets
        if of == "waveform":
            residuals, begins = self.weighted(self.observed - predicted), offsets[:-1]
        else:
            weighted = self.weighted(self.observed), self.weighted(predicted)
            residuals = np.asarray(_craton.window_residuals(*weighted, offsets, of, self.furthest))
            begins = np.arange(len(self.paths)) if of == "arrival_time" else offsets[:-1]
        return np.asarray(np.add.reduceat(residuals * residuals, begins))

    @property
    def furthest(self) -> int:
        """Of arrival times, the longest shift that is tried, in samples."""
        return int(np.ceil(self.emphasis.furthest_s / self.paths.sample_interval_s))

    def weighted_norm(self, comm: MPI.Comm | None = None) -> float:
        """Half the squared data, weighted: the misfit of no seismograms at all. Collective where there is a comm."""

        def squares(data: Observations, _: f64) -> f64:
            white = data.weighted(data.observed)
            return np.asarray(np.add.reduceat(white * white, data.paths.offsets[:-1]))

        return 0.5 * float(np.sum(self.of_windows(squares, self.observed, comm)))

    def whitened(self, traces: f64) -> f64:
        """W times samples of all paths, C_d^-1 = W^T W: half the squared norm is the misfit of all windows and periods."""
        scaled = traces / np.repeat(self.sigma, self.paths.samples)
        if self.correlation is None:
            return scaled
        rho = np.repeat(self.correlation, self.paths.samples)
        white = np.empty_like(scaled)
        white[1:] = (scaled[1:] - rho[1:] * scaled[:-1]) / np.sqrt(1.0 - rho[1:] ** 2)
        white[self.paths.offsets[:-1]] = scaled[self.paths.offsets[:-1]]
        return white
