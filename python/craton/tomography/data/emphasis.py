"""What a misfit looks at for the time being: which periods and windows, with which weights, and what of a window it compares.

    chi = 1/2 |F W (d - g)|^2,    C_d^-1 = W^T W

or, of arrival times and envelopes, 1/2 |e|^2 with residuals e of F W d and F W g (window_misfit.hpp).

F is a Gaussian low-pass of each window, which counts as zero beyond its ends. Its gain is 1/2 at the period that is given, near 1
far beyond it. It weighs data and seismograms alike, so that those of any origin need no other filter. Bunks et al. (1995),
doi:10.1190/1.1443880, is the source of going from long periods to short ones.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

f64 = NDArray[np.float64]

LEFT_OUT = 1e6
"""sigma of a window that is left out is so many times its own: it weighs nothing, and stays finite."""
COMPARED = {"waveform": "periods", "arrival_time": "arrival times of periods", "envelope": "envelopes of periods"}
"""What is compared where not all periods are, in words that "beyond 300 s" follows."""
REACH = 4.0
"""Standard deviations of the filter's bell that its taps cover."""


@dataclass
class Emphasis:
    """The same on every rank. Changes between iterations, never within one."""

    period_s: float = 0.0
    """Shorter periods are weakened; 0: all count."""
    left_out: NDArray[np.bool_] | None = None
    """Of each window; None: all count."""
    weights: f64 | None = None
    """Of each window's misfit, from redundancy and robust weights; None: all are 1."""

    misfit: str = "waveform"
    """What of a window it compares: "waveform", "arrival_time" or "envelope"."""
    furthest_s: float = 0.0
    """Of arrival times, the longest shift that is tried."""

    @property
    def text(self) -> str:
        """What it compares, "" for waveforms of all periods."""
        return f"{COMPARED[self.misfit]} beyond {self.period_s:.0f} s" if self.period_s else ""

    def taps(self, interval_s: float) -> f64 | None:
        """Of F at a sample interval, from the middle one on; None where all periods count."""
        return low_pass_taps(self.period_s, interval_s) if self.period_s else None

    def sigma(self, sigma: f64) -> f64:
        """The standard deviations that weigh the windows."""
        weighed = sigma if self.weights is None else sigma / np.sqrt(self.weights)
        return weighed if self.left_out is None else np.where(self.left_out, LEFT_OUT * sigma, weighed)

    def where(self, keep: NDArray[np.bool_] | NDArray[np.int64]) -> Emphasis:
        """That of some windows. keep: of each whether it is one; or their numbers."""
        left_out = None if self.left_out is None else self.left_out[keep]
        weights = None if self.weights is None else self.weights[keep]
        return replace(self, left_out=left_out, weights=weights)

    def stored(self) -> dict[str, Any]:
        """What hessian.h5 keeps of it."""
        found: dict[str, Any] = {"period_s": self.period_s, "misfit": self.misfit, "furthest_s": self.furthest_s}
        if self.left_out is not None:
            found["left_out"] = self.left_out.astype(np.uint8)
        return found if self.weights is None else {**found, "window_weights": self.weights}

    def clear(self) -> None:
        """Everything counts."""
        self.period_s, self.left_out, self.weights = 0.0, None, None
        self.misfit, self.furthest_s = "waveform", 0.0


def low_pass_taps(period_s: float, interval_s: float) -> f64:
    """Samples of the bell whose spectrum is exp(-ln 2 (f T)^2), from the middle one on; all of them together sum to 1."""
    deviation_s = period_s * np.sqrt(0.5 * np.log(2.0)) / np.pi
    lags = np.arange(int(np.ceil(REACH * deviation_s / interval_s)) + 1)
    bell = np.exp(-0.5 * (lags * interval_s / deviation_s) ** 2)
    return np.asarray(bell / (2.0 * bell.sum() - bell[0]))


def filtered(traces: f64, taps: f64, offsets: NDArray[np.int64]) -> f64:
    """F times the samples of all windows, one after the other. offsets: where each begins, and the end."""
    both = np.concatenate([taps[:0:-1], taps])
    result = np.empty_like(traces)
    for first, last in zip(offsets[:-1], offsets[1:], strict=True):
        whole = np.convolve(traces[first:last], both, "full")
        result[first:last] = whole[len(taps) - 1 : len(taps) - 1 + last - first]
    return result
