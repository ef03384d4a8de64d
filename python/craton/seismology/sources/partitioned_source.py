"""A kinematic source of any size, written once in a form of which a brick's part and some steps are read together.

One HDF5 file. Points are sorted by tiles of the grid; the samples of a tile's points within a window of time lie together:

    position_m (n, 3), pattern (n, 6), begin_s (n), sample_s (n)           by tile
    tiles (t, 3), points (t + 1)                                           which tile, and its first point
    pieces (p, 4): point, first sample, count, offset                      by tile, then window
    groups (t * w + 1)                                                     the first piece of each tile and window
    samples (s) float32                                                    slip rates, m/s

streamed_source.py reads it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.runs.files import replaced
from craton.runs.hdf5_writing import written_hdf5
from craton.seismology.geometry.grid import Grid
from craton.seismology.sources.srf import iterate_subfaults
from craton.seismology.sources.subfaults import Rigidity, placed_subfaults, points_of

TILE_CELLS = 64
WINDOW_S = 2.0
BUFFER_BYTES = 2**24
"""Of samples that the converter holds at a time."""


def partition_source(
    path: str | os.PathLike[str],
    target: str | os.PathLike[str],
    grid: Grid,
    rigidity: Rigidity,
    *,
    tile_cells: int = TILE_CELLS,
    window_s: float = WINDOW_S,
    buffer_bytes: int = BUFFER_BYTES,
    start_s: float = 0.0,
) -> Path:
    """Writes the form above; the file gets its name once it is whole. Not collective.

    Reads the source twice: to plan where each piece goes (an index is held, some hundred bytes per subfault), then to write, with
    at most about `buffer_bytes` of samples in memory. UserError for a source that cannot be read, or a file that cannot be written.
    """
    target = Path(target)
    plan = _Plan(Path(path), grid, rigidity, tile_cells, window_s, start_s)
    with replaced(target) as aside, written_hdf5(aside) as file:
        plan.write(file, grid)
        samples = file.create_dataset("samples", (plan.total,), dtype="f4")
        for offsets, values in plan.batches(buffer_bytes):
            _scatter(samples, offsets, values)
    return target


class _Plan:
    """Where everything goes: from a first pass over the source, which keeps no samples."""

    def __init__(
        self, path: Path, grid: Grid, rigidity: Rigidity, tile_cells: int, window_s: float, start_s: float
    ) -> None:
        self.path, self.window_s, self.tile_cells = path, window_s, tile_cells
        rows, patterns = [], []
        for one, at, north in placed_subfaults(path, grid):
            for pattern, rates in points_of(one, at, north, rigidity):
                rows.append((*at, one.start_s + start_s, one.sample_s, len(rates)))
                patterns.append(pattern)
        if not rows:
            raise UserError(f"{path}: no subfault slips; allowed: a source that moves")
        table = np.array(rows, float)
        tile = np.clip((table[:, :3] / (tile_cells * grid.spacing_m)).astype(np.int64), 0, None)
        self.order = np.lexsort((tile[:, 0], tile[:, 1], tile[:, 2]))
        self.rank_of = np.argsort(self.order)
        self.table, self.pattern = table[self.order], np.array(patterns, float)[self.order]
        tile = tile[self.order]
        changed = np.flatnonzero(np.any(np.diff(tile, axis=0) != 0, axis=1)) + 1
        self.first_point = np.concatenate([[0], changed, [len(tile)]]).astype(np.int64)
        self.tiles = tile[self.first_point[:-1]]
        self._plan_pieces()

    def _plan_pieces(self) -> None:
        begin, sample, count = self.table[:, 3], self.table[:, 4], self.table[:, 5].astype(np.int64)
        if begin.min() < 0:
            raise UserError(f"{self.path}: a subfault begins at {begin.min():g} s; allowed: 0 s or later")
        last = np.floor((begin + (count - 1) * sample) / self.window_s).astype(np.int64)
        self.windows = int(last.max()) + 1
        tile_of = np.repeat(np.arange(len(self.tiles)), np.diff(self.first_point))
        pieces = []
        for point, (t0, dt, n) in enumerate(zip(begin, sample, count, strict=True)):
            at = np.floor((t0 + np.arange(n) * dt) / self.window_s).astype(np.int64)
            window, starts, lengths = np.unique(at, return_index=True, return_counts=True)
            group = tile_of[point] * self.windows + window
            pieces.append(np.stack([group, np.full_like(starts, point), starts, lengths], axis=1))
        flat = np.concatenate(pieces)
        flat = flat[np.argsort(flat[:, 0], kind="stable")]
        offsets = np.concatenate([[0], np.cumsum(flat[:, 3])])
        self.total = int(offsets[-1])
        self.pieces = np.column_stack([flat[:, 1:], offsets[:-1]])
        self.groups = np.searchsorted(flat[:, 0], np.arange(len(self.tiles) * self.windows + 1)).astype(np.int64)
        # of each point its pieces in their order, for the second pass
        self.by_point = np.lexsort((self.pieces[:, 1], self.pieces[:, 0]))
        self.first_piece = np.searchsorted(self.pieces[self.by_point, 0], np.arange(len(self.table) + 1))

    def write(self, file: h5py.File, grid: Grid) -> None:
        """All but the samples."""
        file.attrs["grid"] = json.dumps(frame_of(grid))
        file.attrs["window_s"], file.attrs["tile_cells"] = self.window_s, self.tile_cells
        file.attrs["windows"] = self.windows
        file["position_m"], file["pattern"] = self.table[:, :3], self.pattern
        file["begin_s"], file["sample_s"] = self.table[:, 3], self.table[:, 4]
        file["tiles"], file["points"] = self.tiles, self.first_point
        file["pieces"], file["groups"] = self.pieces, self.groups

    def batches(self, buffer_bytes: int) -> Iterator[tuple[list[int], list[NDArray[np.float32]]]]:
        """The second pass: pieces of samples with their offsets, so many bytes at a time."""
        offsets: list[int] = []
        values: list[NDArray[np.float32]] = []
        held, number = 0, 0
        for one in iterate_subfaults(self.path):
            for rates in one.slip_rates_m_s:
                if not len(rates):
                    continue
                point = int(self.rank_of[number])
                number += 1
                for piece in self.by_point[self.first_piece[point] : self.first_piece[point + 1]]:
                    _, first, count, offset = self.pieces[piece]
                    offsets.append(int(offset))
                    values.append(rates[first : first + count])
                held += rates.nbytes
            if held > buffer_bytes:
                yield offsets, values
                offsets, values, held = [], [], 0
        yield offsets, values


def _scatter(samples: h5py.Dataset, offsets: list[int], values: list[NDArray[np.float32]]) -> None:
    """Pieces that follow one another are written together."""
    if not offsets:
        return
    order = np.argsort(offsets)
    begins, lengths = np.array(offsets)[order], np.array([len(values[n]) for n in order])
    breaks = np.flatnonzero(begins[1:] != (begins + lengths)[:-1]) + 1
    for run in np.split(np.arange(len(order)), breaks):
        begin, end = begins[run[0]], begins[run[-1]] + lengths[run[-1]]
        samples[begin:end] = np.concatenate([values[order[n]] for n in run])


def frame_of(grid: Grid) -> dict[str, object]:
    """Where the grid lies, which a partitioned source is written for."""
    return {name: fact for name, fact in grid.facts().items() if name != "cells"}
