"""A partitioned source (partitioned_source.py) within one brick, read for so many steps at a time, with memory below a bound."""

from __future__ import annotations

import json
import os
from bisect import bisect_right
from collections.abc import Iterator
from pathlib import Path
from typing import Self

import numpy as np
from numpy.typing import NDArray

from craton.described import Described
from craton.errors import UserError
from craton.runs.hdf5_files import hdf5_file, refused
from craton.seismology.geometry.grid import Box, Grid
from craton.seismology.sources.partitioned_source import frame_of
from craton.seismology.sources.point_sources import box_metres
from craton.seismology.sources.subfaults import SCRATCH_BYTES, add_means

Array = NDArray[np.float64]

ALLOWED = "a partitioned source"
DAMAGED = "not a complete HDF5 file"


class StreamedSource(Described):
    """A partitioned source within one brick: a Source whose samples are read when their steps come.

    Memory stays below memory_bytes: the points' places and patterns, and all that `blocks` and `rates` need aside. Not collective;
    each rank opens the file by itself. close() when done, or use it in a with statement. UserError for a file that is missing,
    damaged, or of a grid that lies elsewhere, and for a bound too small for a single step.
    """

    kind = "moment"
    position_m: Array
    """(n, 3), m"""
    pattern: Array
    """(n, 6): moment per metre of slip, N m / m"""

    def __init__(
        self,
        path: str | os.PathLike[str],
        grid: Grid,
        dt_s: float,
        *,
        box: Box | None = None,
        margin_cells: int = 4,
        memory_bytes: int = 2**28,
    ) -> None:
        self.path, self.dt_s, self.memory_bytes = Path(path), dt_s, memory_bytes
        self._file = hdf5_file(self.path, ALLOWED)
        try:
            with refused(self.path, DAMAGED, ALLOWED):
                self._check_frame(grid)
                self._select(grid, box or grid.box, margin_cells)
                self.steps_at_a_time = self._steps()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _facts(self) -> dict[str, object]:
        return {"file": self.path, "points": len(self.position_m), "dt": f"{self.dt_s:g} s"}

    def close(self) -> None:
        """Closes the file."""
        self._file.close()

    @property
    def end_s(self) -> float:
        """From when on nothing moves."""
        return float(self._windows * self._window_s + self._longest)

    def blocks(self, first_step: int, steps: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """Parts of steps first_step .. first_step + steps - 1 that fit the bound: first step, and rates of (n, its steps)."""
        last = first_step + steps
        for at in range(first_step, last, self.steps_at_a_time):
            yield at, self.rates(at, min(self.steps_at_a_time, last - at), self.dt_s)

    def rates(self, first_step: int, steps: int, dt_s: float) -> NDArray[np.float32]:
        """(n, steps): means over these steps. UserError for more steps than the bound allows (steps_at_a_time)."""
        if len(self.position_m) and steps > self.steps_at_a_time:
            raise UserError(
                f"{self.path}: {steps} steps of {len(self.position_m)} points at once; allowed: {self.steps_at_a_time} "
                f"in {self.memory_bytes / 2**20:g} MiB"
            )
        out = np.zeros((len(self.position_m), steps), np.float32)
        begin, end = first_step * dt_s - self._longest, (first_step + steps) * dt_s + self._longest
        w0 = max(0, int(np.floor((begin - self._longest) / self._window_s)))
        w1 = min(self._windows, int(np.floor((end + self._longest) / self._window_s)) + 1)
        with refused(self.path, DAMAGED, ALLOWED):
            for tile in self._own_tiles if w0 < w1 else ():
                self._add_tile(out, int(tile), w0, w1, first_step, dt_s)
        return out

    def _add_tile(self, out: NDArray[np.float32], tile: int, w0: int, w1: int, first_step: int, dt_s: float) -> None:
        p0, p1 = (int(self._groups[tile * self._windows + w]) for w in (w0, w1))
        if p0 == p1:
            return
        pieces = self._file["pieces"][p0:p1]
        # of one tile and some windows the pieces lie together, and so do their samples
        base = int(pieces[0, 3])
        samples = self._file["samples"][base : int(pieces[-1, 3] + pieces[-1, 2])]
        if (
            np.any(pieces[:, 2] < 0)
            or np.any(pieces[:, 3] < base)
            or np.any(pieces[:, 3] - base > len(samples) - pieces[:, 2])
        ):
            raise ValueError(f"pieces {p0} to {p1 - 1} go beyond the samples")
        own = self._row_of(pieces[:, 0])
        pieces, own = pieces[own >= 0], own[own >= 0]
        if not len(own):
            return
        order = np.lexsort((pieces[:, 1], own))
        pieces, own = pieces[order], own[order]
        joined, first, counts, flat = _joined(own, pieces, base)
        offsets = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
        add_means(out, joined, first, counts, offsets, samples[flat], self._begin, self._sample, first_step, dt_s)

    def _row_of(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of this brick's points; -1 for others."""
        at = np.clip(np.searchsorted(self._own, points), 0, max(len(self._own) - 1, 0))
        return np.where(self._own[at] == points, at, -1)

    def _check_frame(self, grid: Grid) -> None:
        try:
            frame = json.loads(self._file.attrs["grid"])
        except (KeyError, ValueError):
            raise UserError(f"{self.path}: not a partitioned source; allowed: what partition_source wrote") from None
        if frame != json.loads(json.dumps(frame_of(grid))):
            raise UserError(f"{self.path}: written for a grid placed otherwise; allowed: that place, or write it again")

    def _select(self, grid: Grid, box: Box, margin: int) -> None:
        file = self._file
        low, high = box_metres(box, grid, margin)
        self._window_s, self._windows = float(file.attrs["window_s"]), int(file.attrs["windows"])
        self._groups = file["groups"][:]
        tiles, first, side = file["tiles"][:], file["points"][:], file.attrs["tile_cells"] * grid.spacing_m
        if len(self._groups) != len(tiles) * self._windows + 1:
            raise ValueError(f"{len(self._groups)} groups for {len(tiles)} tiles and {self._windows} windows")
        near = np.flatnonzero(np.all((tiles + 1) * side >= low, axis=1) & np.all(tiles * side <= high, axis=1))
        own, tables = [], []
        for tile in near:
            rows = slice(int(first[tile]), int(first[tile + 1]))
            position = file["position_m"][rows]
            inside = np.all(position >= low, axis=1) & np.all(position < high, axis=1)
            own.append(rows.start + np.flatnonzero(inside))
            columns = [position, *(file[name][rows] for name in ("pattern", "begin_s", "sample_s"))]
            tables.append(np.column_stack(columns)[inside])
        self._own = np.concatenate([*own, np.empty(0, np.int64)]).astype(np.int64)
        table = np.concatenate([*tables, np.empty((0, 11))])
        self.position_m, self.pattern = table[:, :3], table[:, 3:9]
        self._begin, self._sample = table[:, 9], table[:, 10]
        self._own_tiles = near[[len(one) > 0 for one in own]] if len(near) else near
        self._longest = float(self._sample.max()) if len(table) else 0.0

    def _steps(self) -> int:
        """As many at a time as the bound allows: the rates, the samples of the fullest tile, and what interpolation needs."""
        n = len(self.position_m)
        if not n:
            return 2**31
        # the index; 11 numbers of each point, twice while they are gathered; interpolation's group
        fixed = self._groups.nbytes + 200 * n + 2 * SCRATCH_BYTES
        offset_of, tiles = self._offsets(), self._windows * self._own_tiles[:, None]

        def needed(steps: int) -> int:
            windows = int(np.ceil((steps * self.dt_s + 4 * self._longest) / self._window_s)) + 2
            window = np.arange(self._windows)
            first, last = tiles + window, tiles + np.minimum(window + windows, self._windows)
            # samples and a copy of them with their 8-byte index; pieces and their sorted copies
            each = 16 * (offset_of[last] - offset_of[first]) + 160 * (self._groups[last] - self._groups[first])
            return int(fixed + (4 * n + 100) * steps + each.max())

        if needed(1) > self.memory_bytes:
            raise UserError(
                f"{self.path}: {n} points in one brick need {needed(1) / 2**20:.1f} MiB for a single step; allowed: a bound above "
                f"that (it is {self.memory_bytes / 2**20:g} MiB), more ranks, or smaller tiles and windows in the partitioned file"
            )
        return bisect_right(range(1, 2**20), self.memory_bytes, key=needed)

    def _offsets(self) -> NDArray[np.int64]:
        """The first sample of each group."""
        total = self._file["samples"].shape[0]
        # pieces are read a part at a time: of a large source they are many
        starts = np.full(len(self._groups), total, np.int64)
        pieces, count, part = self._file["pieces"], self._file["pieces"].shape[0], 2**16
        for first in range(0, count, part):
            offset = pieces[first : first + part, 3]
            inside = (self._groups >= first) & (self._groups < first + len(offset))
            starts[inside] = offset[self._groups[inside] - first]
        return starts


def _joined(own: NDArray[np.int64], pieces: NDArray[np.int64], base: int) -> tuple[NDArray[np.int64], ...]:
    """Of pieces sorted by row and sample: each row, its first sample, its count, and where all its samples are."""
    starts = np.concatenate([[0], np.flatnonzero(np.diff(own)) + 1])
    counts = np.add.reduceat(pieces[:, 2], starts)
    within = np.arange(int(pieces[:, 2].sum())) - np.repeat(np.cumsum(pieces[:, 2]) - pieces[:, 2], pieces[:, 2])
    return own[starts], pieces[starts, 1], counts, np.repeat(pieces[:, 3] - base, pieces[:, 2]) + within
