"""Raw channels: gaps, overlaps, dead and clipped ones, each a reason in words."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

LEAST_CLIPPED_RUN = 5
"""So many samples in a row at the largest value: a flat top."""
LEAST_CLIPPED = 10
"""So many samples in flat tops and bottoms."""
STUCK = 0.95
"""More than this part of the samples equal to the one before: a channel that says nothing."""


class Unusable(ValueError):
    """A channel that cannot be used: `code` for counting, `reason` for people."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(f"{code}: {reason}")
        self.code, self.reason = code, reason


@dataclass(frozen=True)
class RawChannel:
    """One channel's samples at one rate without gaps, in the digitiser's units."""

    id: str
    start: Any
    """UTCDateTime"""
    delta_s: float
    counts: NDArray[np.float64]
    files: tuple[str, ...]
    steps: tuple[str, ...]
    """what was done to make it whole"""


def whole_channel(traces: list[Any], largest_gap_s: float) -> RawChannel:
    """One record from the pieces of a channel. Unusable where they do not make one, or where it is dead or clipped."""
    from obspy import Stream

    rates = sorted({float(trace.stats.sampling_rate) for trace in traces})
    if len(rates) > 1:
        raise Unusable("sampling rates", f"pieces of {' and '.join(f'{rate:g}' for rate in rates)} Hz")
    for trace in traces:
        if trace.data.dtype.kind not in "iuf":
            raise Unusable("not numbers", f"samples of type {trace.data.dtype}")
        if not np.all(np.isfinite(trace.data)):
            raise Unusable("not finite", f"{int(np.sum(~np.isfinite(trace.data)))} samples are NaN or infinite")
    files = tuple(dict.fromkeys(trace.stats.craton_file for trace in traces))
    steps, overlap_s, pieces = [], overlap(traces), Stream(traces).copy()
    for piece in pieces:
        piece.data = np.asarray(piece.data, np.float64)
    try:
        with warnings.catch_warnings(action="ignore"):
            merged = pieces.merge(method=0)
    except Exception as error:  # ObsPy raises bare Exceptions here
        raise Unusable("not mergeable", str(error)) from None
    if len(merged) != 1:
        raise Unusable("not mergeable", f"{len(merged)} pieces that do not belong together")
    trace = merged[0]
    delta_s = float(trace.stats.delta)
    if overlap_s > 0.0:
        steps.append(f"merged pieces that overlap by {overlap_s:g} s")
    elif len(traces) > 1:
        steps.append(f"merged {len(traces)} pieces")
    counts, bridged = bridged_gaps(trace.data, delta_s, largest_gap_s)
    if bridged:
        steps.append(bridged)
    check_alive(counts)
    return RawChannel(trace.id, trace.stats.starttime, delta_s, counts, files, tuple(steps))


def overlap(traces: list[Any]) -> float:
    """Seconds that pieces have in common, the most between neighbours."""
    ordered = sorted(traces, key=lambda trace: trace.stats.starttime)
    common = [
        min(left.stats.endtime, right.stats.endtime) - right.stats.starttime + left.stats.delta
        for left, right in pairwise(ordered)
    ]
    return max([float(seconds) for seconds in common if seconds > 0.5 * traces[0].stats.delta], default=0.0)


def bridged_gaps(data: Any, delta_s: float, largest_gap_s: float) -> tuple[NDArray[np.float64], str]:
    """Short gaps become straight lines; ObsPy masks gaps, and overlaps whose samples differ. Unusable for a long one."""
    if not np.ma.is_masked(data):
        return np.asarray(data, np.float64), ""
    missing = np.ma.getmaskarray(data)
    lengths = run_lengths(missing)
    longest_s = float(lengths.max()) * delta_s
    if longest_s > largest_gap_s:
        raise Unusable(
            "gap",
            f"{len(lengths)} gaps (or overlaps that differ), the longest {longest_s:g} s; allowed: {largest_gap_s:g} s",
        )
    index = np.arange(len(data))
    counts = np.array(np.ma.getdata(data), np.float64)
    counts[missing] = np.interp(index[missing], index[~missing], counts[~missing])
    return counts, f"bridged {len(lengths)} gaps, the longest {longest_s:g} s"


def check_alive(counts: NDArray[np.float64]) -> None:
    """Unusable for a dead or clipped channel."""
    if len(counts) < 2:
        raise Unusable("too short", f"{len(counts)} samples")
    same = float(np.mean(np.diff(counts) == 0.0))
    if same > STUCK:
        raise Unusable("dead", f"{100 * same:.1f}% of the samples equal the one before; allowed: {100 * STUCK:g}%")
    clipped = flat_samples(counts, counts.max()) + flat_samples(counts, counts.min())
    if clipped >= LEAST_CLIPPED:
        raise Unusable("clipped", f"{clipped} samples in flat tops at {counts.max():g} or {counts.min():g} counts")


def flat_samples(counts: NDArray[np.float64], level: float) -> int:
    """Samples at this level in runs of at least LEAST_CLIPPED_RUN."""
    lengths = run_lengths(counts == level)
    return int(lengths[lengths >= LEAST_CLIPPED_RUN].sum())


def run_lengths(mask: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Length of each run of True."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(np.int8), [0]])))
    return edges[1::2] - edges[::2]
