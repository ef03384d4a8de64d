"""Long periods first: which periods an iteration fits, and which windows it leaves out.

A wave that arrives more than half a period early or late fits best one cycle off, and pulls the model the wrong way. Long periods
bear larger shifts, and arrival times and envelopes have no cycles. Where the starting model skips cycles, the run begins with
[inversion] first_misfit of periods beyond first_periods_s, one after the other, and ends with waveforms of all periods. In every
iteration of waveforms and arrival times, windows whose cycles are skipped, or whose sign is reversed, are left out until they fit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton.runs.words import counted
from craton.tomography.data.emphasis import COMPARED, filtered, low_pass_taps
from craton.tomography.inversion.judgement import reversed_windows, skipped_windows, unlike_windows

if TYPE_CHECKING:
    from mpi4py import MPI

    from craton.tomography.config.load import Config
    from craton.tomography.data.observations import Observations
    from craton.tomography.folder import IterationRecord

f64 = NDArray[np.float64]

SKIPS = 0.001
"""A run begins with long periods where more than this part of all windows skips cycles."""
FALL = 0.1
"""The next periods follow where an iteration lowers the misfit by less than this fraction ..."""
MOST_ITERATIONS = 8
"""... or after so many iterations."""


def usual_first_periods_s(filter_periods_s: Sequence[float]) -> tuple[float, ...]:
    """For a filter T1 to T4: the geometric mean of T1 and T2, T2, and the geometric mean of T2 and T3."""
    longest_s, long_s, short_s, _ = filter_periods_s
    return (float(np.sqrt(longest_s * long_s)), long_s, float(np.sqrt(long_s * short_s)))


class Schedule:
    """The order of periods of a run. What it says is the same on every rank."""

    def __init__(self, config: Config, data: Observations, comm: MPI.Comm | None = None) -> None:
        """comm: of the ranks that share out the windows; None: this one looks at all."""
        self.comm = comm
        self.data, self.filter_periods_s = data, config.data.filter_periods_s
        self.settings = config.inversion
        self.first_periods_s = self.settings.first_periods_s or usual_first_periods_s(self.filter_periods_s)

    def half_period_s(self, period_s: float) -> float:
        """Beyond which shift cycles are skipped, of the periods beyond one, or of all (0)."""
        _, long_s, short_s, _ = self.filter_periods_s
        return 0.5 * float(np.sqrt(long_s * max(short_s, min(period_s, long_s))))

    def skipped(self, predicted: f64, period_s: float) -> NDArray[np.bool_]:
        """The windows whose cycles are skipped among such periods. Collective where there is a comm."""
        return self.data.of_windows(
            lambda data, g: self._skipped(data, *long_periods(data, g, period_s), period_s), predicted, self.comm
        )

    def _skipped(self, data: Observations, observed: f64, predicted: f64, period_s: float) -> NDArray[np.bool_]:
        return skipped_windows(data, observed, predicted, self.half_period_s(period_s))

    def misfit(self, period_s: float) -> tuple[str, float]:
        """What iterations of such periods compare of a window, and the longest shift of arrival times, s."""
        kind = self.settings.first_misfit if period_s else "waveform"
        return kind, self.half_period_s(period_s) if kind == "arrival_time" else 0.0

    def left_out(self, predicted: f64, period_s: float) -> NDArray[np.bool_]:
        """The windows that tell nothing right of such periods by what is compared of them. Collective where there is a comm.

        Cycles are skipped, the sign is reversed, or, of arrival times, the waves are unlike the predicted ones however shifted. Of
        envelopes: none.
        """
        kind, furthest_s = self.misfit(period_s)
        if kind == "envelope":
            return np.zeros(len(self.data.paths), bool)

        def tell(data: Observations, g: f64) -> NDArray[np.bool_]:
            observed, predicted = long_periods(data, g, period_s)
            wrong = self._skipped(data, observed, predicted, period_s)
            wrong |= reversed_windows(data, observed, predicted, self.half_period_s(period_s))
            return wrong if kind == "waveform" else wrong | unlike_windows(data, observed, predicted, furthest_s)

        return self.data.of_windows(tell, predicted, self.comm)

    def first(self, predicted: f64) -> tuple[float, str]:
        """With which periods to begin (0: with all), and why, in words. Collective where there is a comm.

        predicted: g of the starting model.
        """
        if not self.settings.long_periods_first:
            return 0.0, ""
        skipped = int(self.skipped(predicted, 0.0).sum())
        if skipped <= SKIPS * len(self.data.paths):
            return 0.0, ""
        first_s = self.first_periods_s[0]
        why = (
            f"the starting model skips cycles in {counted(skipped, 'window')} of {len(self.data.paths)}: the first iterations fit "
            f"{COMPARED[self.settings.first_misfit]} beyond {first_s:.0f} s"
        )
        return first_s, why

    def after(self, period_s: float) -> float:
        """The periods that follow."""
        shorter = [each for each in self.first_periods_s if each < period_s]
        return max(shorter, default=0.0)

    def is_done_with(self, period_s: float, done: Sequence[IterationRecord]) -> bool:
        """Whether others follow the iterations so far: arrival times fit, or the last one has hardly lowered the misfit."""
        if not period_s:
            return False
        these = [entry for entry in done if entry.period_s == period_s]
        if not these:
            return False
        last = these[-1]
        in_time = last.misfit == "arrival_time" and last.fitted is not None and last.fitted <= 1.0
        return in_time or len(these) >= MOST_ITERATIONS or last.fall < FALL


def long_periods(data: Observations, predicted: f64, period_s: float) -> tuple[f64, f64]:
    """Data and prediction without shorter periods; 0: with all."""
    if not period_s:
        return data.observed, predicted
    taps = low_pass_taps(period_s, data.paths.sample_interval_s)
    return filtered(data.observed, taps, data.paths.offsets), filtered(predicted, taps, data.paths.offsets)
