"""Kinematic sources that are read whole: subfaults become points with a moment tensor and a series each.

partitioned_source.py writes a source once in a form of which each rank reads only what its brick needs; streamed_source.py reads
that with bounded memory. Both give the same numbers, bit for bit.
"""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.seismology.geometry.grid import Box, Grid
from craton.seismology.sources.point_sources import box_metres
from craton.seismology.sources.subfaults import Rigidity, add_means, placed_subfaults, points_of

Array = NDArray[np.float64]


@dataclass(frozen=True)
class KinematicPoints:
    """Points with whole series in memory, a Source."""

    position_m: Array
    pattern: Array
    begin_s: Array
    sample_s: Array
    series: tuple[NDArray[np.float32], ...]
    kind: str = "moment"

    def rates(self, first_step: int, steps: int, dt_s: float) -> NDArray[np.float32]:
        """(n, steps): means over steps first_step .. of the slip rates (m/s; the pattern is per metre of slip)."""
        out = np.zeros((len(self.series), steps), np.float32)
        counts = np.array([len(one) for one in self.series], np.int64)
        samples = np.concatenate([*self.series, np.empty(0, np.float32)])
        offsets = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
        points = np.arange(len(self.series))
        add_means(
            out, points, np.zeros_like(counts), counts, offsets, samples, self.begin_s, self.sample_s, first_step, dt_s
        )
        return out


def read_kinematic(
    path: str | os.PathLike[str],
    grid: Grid,
    rigidity: Rigidity,
    *,
    box: Box | None = None,
    margin_cells: int = 4,
    memory_bytes: int = 2**30,
    start_s: float = 0.0,
) -> KinematicPoints:
    """All subfaults of an SRF file (or its HDF5 form), or those inside a brick and `margin_cells` round it.

    So far interpolation reaches. Not collective. UserError for a subfault outside the grid, and for more samples than memory_bytes.
    """
    low, high = box_metres(box, grid, margin_cells) if box else (np.full(3, -np.inf), np.full(3, np.inf))
    rows, series, used = [], [], 0
    for one, at, north in placed_subfaults(path, grid):
        if not (np.all(at >= low) and np.all(at < high)):
            continue
        for pattern, rates in points_of(one, at, north, rigidity):
            rows.append((*at, *pattern, one.start_s + start_s, one.sample_s))
            series.append(rates)
            used += rates.nbytes + 96
        if used > memory_bytes:
            raise UserError(
                f"{path}: more than {memory_bytes / 2**20:.0f} MiB of slip rates in one brick; allowed: more memory_mb, more "
                "ranks, or the source written in partitions once (craton.waves.partition_source), then streamed"
            )
    table = np.array(rows, float).reshape(-1, 11)
    return KinematicPoints(table[:, :3], table[:, 3:9], table[:, 9], table[:, 10], tuple(series))
