"""Kinematic sources of any size: subfaults become points with a moment tensor and a series each, read in parts of space and time.

`read_kinematic` reads a file whole (its part inside one brick); `partition_source` writes it once in a form from which each rank
then reads, for so many steps at a time, only what its brick needs: `StreamedSource`, whose memory stays below a bound. Both give
the same numbers, bit for bit.

The form is one HDF5 file. Points (a subfault's slip along and across the rake are two points of one place) are sorted by tiles of
the grid; the samples of a tile's points within a window of time lie together:

    position_m (n, 3), pattern (n, 6), begin_s (n), sample_s (n)           by tile
    tiles (t, 3), points (t + 1)                                           which tile, and its first point
    pieces (p, 4): point, first sample, count, offset                      by tile, then window
    groups (t * w + 1)                                                     the first piece of each tile and window
    samples (s) float32                                                    slip rates, m/s
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import h5py
import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.seismology.geometry.grid import Box, Grid
from craton.seismology.sources.point_sources import box_metres, double_couple, fault_vectors, turned
from craton.seismology.sources.source_time import means_over_steps
from craton.seismology.sources.srf import Subfault, iterate_subfaults

__all__ = ["KinematicPoints", "Rigidity", "StreamedSource", "partition_source", "read_kinematic"]

Array = NDArray[np.float64]

Rigidity = Callable[[Array, Array, Array], tuple[Array, Array]]
"""lambda and mu, Pa, at x, y, z in m: where the file does not know them, of the medium."""

TILE_CELLS = 64
WINDOW_S = 2.0
BUFFER_BYTES = 2**24
"""Of samples that the converter holds at a time."""
BATCH, BATCH_BYTES = 1024, 2**20
"""Subfaults that are placed together: so many, or fewer with so many bytes of samples."""
SCRATCH_BYTES = 2**22
"""About what interpolation of one group of points needs aside."""


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
        _add_means(
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
    """All subfaults of an SRF file (or its HDF5 form), or those inside a brick and `margin_cells` round it, which is what
    interpolation reaches. Not collective. UserError for a subfault outside the grid, and for more samples than memory_bytes."""
    low, high = box_metres(box, grid, margin_cells) if box else (np.full(3, -np.inf), np.full(3, np.inf))
    places, patterns, begins, intervals, series = [], [], [], [], []
    used = 0
    for one, at, north in _placed(path, grid):
        if not (np.all(at >= low) and np.all(at < high)):
            continue
        for pattern, rates in _points(one, at, north, rigidity):
            places.append(at)
            patterns.append(pattern)
            begins.append(one.start_s + start_s)
            intervals.append(one.sample_s)
            series.append(rates)
            used += rates.nbytes + 96
        if used > memory_bytes:
            raise UserError(
                f"{path}: more than {memory_bytes / 2**20:.0f} MiB of slip rates in one brick; allowed: more memory_mb, more "
                "ranks, or the source written in partitions once (craton.waves.partition_source), then streamed"
            )
    return KinematicPoints(
        np.array(places, float).reshape(-1, 3),
        np.array(patterns, float).reshape(-1, 6),
        np.array(begins, float),
        np.array(intervals, float),
        tuple(series),
    )


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
    """Writes the form above. Reads the source twice: to plan where each piece goes (an index is held, some hundred bytes per
    subfault), then to write, with at most about `buffer_bytes` of samples in memory. The file gets its name once it is whole.
    Not collective."""
    path, target = Path(path), Path(target)
    aside = target.with_name(f"{target.name}.partial")
    plan = _Plan(path, grid, rigidity, tile_cells, window_s, start_s)
    try:
        with h5py.File(aside, "w") as file:
            plan.write(file, grid)
            samples = file.create_dataset("samples", (plan.total,), dtype="f4")
            for offsets, values in plan.batches(buffer_bytes):
                _scatter(samples, offsets, values)
        os.replace(aside, target)
    except OSError as error:
        raise UserError(
            f"{target}: cannot be written: {' '.join(str(error).split())}; allowed: a file that can"
        ) from None
    finally:
        aside.unlink(missing_ok=True)
    return target


class _Plan:
    """Where everything goes: from a first pass over the source, which keeps no samples."""

    def __init__(
        self, path: Path, grid: Grid, rigidity: Rigidity, tile_cells: int, window_s: float, start_s: float
    ) -> None:
        self.path, self.window_s, self.tile_cells = path, window_s, tile_cells
        rows, patterns = [], []
        for one, at, north in _placed(path, grid):
            for pattern, rates in _points(one, at, north, rigidity):
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
            window = np.floor((t0 + np.arange(n) * dt) / self.window_s).astype(np.int64)
            starts = np.concatenate([[0], np.flatnonzero(np.diff(window)) + 1])
            lengths = np.diff(np.concatenate([starts, [n]]))
            group = tile_of[point] * self.windows + window[starts]
            pieces.append(np.stack([group, np.full_like(starts, point), starts, lengths], axis=1))
        flat = np.concatenate(pieces)
        self.sorted = np.argsort(flat[:, 0], kind="stable")
        flat = flat[self.sorted]
        offsets = np.concatenate([[0], np.cumsum(flat[:, 3])])
        self.total = int(offsets[-1])
        self.pieces = np.column_stack([flat[:, 1:], offsets[:-1]])
        self.groups = np.searchsorted(flat[:, 0], np.arange(len(self.tiles) * self.windows + 1)).astype(np.int64)
        # of each point its pieces in their order, for the second pass
        self.by_point = np.lexsort((self.pieces[:, 1], self.pieces[:, 0]))
        self.first_piece = np.searchsorted(self.pieces[self.by_point, 0], np.arange(len(self.table) + 1))

    def write(self, file: h5py.File, grid: Grid) -> None:
        """All but the samples."""
        file.attrs["grid"] = json.dumps(_frame(grid))
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
    order = sorted(range(len(offsets)), key=offsets.__getitem__)
    run: list[NDArray[np.float32]] = []
    begin = end = 0
    for n in order:
        if run and offsets[n] != end:
            samples[begin:end] = np.concatenate(run)
            run = []
        if not run:
            begin = offsets[n]
        run.append(values[n])
        end = offsets[n] + len(values[n])
    if run:
        samples[begin:end] = np.concatenate(run)


class StreamedSource:
    """A partitioned source within one brick: a Source whose samples are read when their steps come.

    What is held at any time, the points' places and patterns and all that `blocks` or `rates` need aside, stays below memory_bytes.
    Not collective; each rank opens the file by itself. close() when done, or use it in a with statement.
    """

    kind = "moment"

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
        self._file = _opened(self.path)
        try:
            self._check_frame(grid)
            self._select(grid, box or grid.box, margin_cells)
            self.steps_at_a_time = self._steps()
        except BaseException:
            self._file.close()
            raise

    def __enter__(self) -> StreamedSource:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._file.close()

    @property
    def position_m(self) -> Array:
        return self._position

    @property
    def pattern(self) -> Array:
        return self._pattern

    @property
    def end_s(self) -> float:
        """From when on nothing moves."""
        return float(self._windows * self._window_s + self._longest)

    def blocks(self, first_step: int, steps: int) -> Iterator[tuple[int, NDArray[np.float32]]]:
        """first_step .. first_step + steps - 1 in parts that fit the bound: the part's first step, and rates of (n, its steps)."""
        last = first_step + steps
        for at in range(first_step, last, self.steps_at_a_time):
            yield at, self.rates(at, min(self.steps_at_a_time, last - at), self.dt_s)

    def rates(self, first_step: int, steps: int, dt_s: float) -> NDArray[np.float32]:
        """(n, steps): means over these steps. UserError for more steps than the bound allows (steps_at_a_time)."""
        if len(self._position) and steps > self.steps_at_a_time:
            raise UserError(
                f"{self.path}: {steps} steps of {len(self._position)} points at once; allowed: {self.steps_at_a_time} "
                f"in {self.memory_bytes / 2**20:g} MiB"
            )
        out = np.zeros((len(self._position), steps), np.float32)
        begin, end = first_step * dt_s - self._longest, (first_step + steps) * dt_s + self._longest
        w0 = max(0, int(np.floor((begin - self._longest) / self._window_s)))
        w1 = min(self._windows, int(np.floor((end + self._longest) / self._window_s)) + 1)
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
        own = self._row_of(pieces[:, 0])
        pieces, own = pieces[own >= 0], own[own >= 0]
        order = np.lexsort((pieces[:, 1], own))
        pieces, own = pieces[order], own[order]
        joined, first, counts, flat = _joined(own, pieces, base)
        offsets = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.int64)
        _add_means(out, joined, first, counts, offsets, samples[flat], self._begin, self._sample, first_step, dt_s)

    def _row_of(self, points: NDArray[np.int64]) -> NDArray[np.int64]:
        """Rows of this brick's points; -1 for others."""
        at = np.clip(np.searchsorted(self._own, points), 0, max(len(self._own) - 1, 0))
        return np.where(self._own[at] == points, at, -1)

    def _check_frame(self, grid: Grid) -> None:
        try:
            frame = json.loads(self._file.attrs["grid"])
        except (KeyError, ValueError):
            raise UserError(f"{self.path}: not a partitioned source; allowed: what partition_source wrote") from None
        if frame != json.loads(json.dumps(_frame(grid))):
            raise UserError(f"{self.path}: written for a grid placed otherwise; allowed: that place, or write it again")

    def _select(self, grid: Grid, box: Box, margin: int) -> None:
        file = self._file
        low, high = box_metres(box, grid, margin)
        self._window_s, self._windows = float(file.attrs["window_s"]), int(file.attrs["windows"])
        self._groups = file["groups"][:]
        tiles, first, side = file["tiles"][:], file["points"][:], file.attrs["tile_cells"] * grid.spacing_m
        near = np.flatnonzero(np.all((tiles + 1) * side >= low, axis=1) & np.all(tiles * side <= high, axis=1))
        own, tables = [], []
        for tile in near:
            rows = slice(int(first[tile]), int(first[tile + 1]))
            position = file["position_m"][rows]
            inside = np.all(position >= low, axis=1) & np.all(position < high, axis=1)
            own.append(rows.start + np.flatnonzero(inside))
            tables.append(
                np.column_stack([position, file["pattern"][rows], file["begin_s"][rows], file["sample_s"][rows]])[
                    inside
                ]
            )
        self._own = np.concatenate([*own, np.empty(0, np.int64)]).astype(np.int64)
        table = np.concatenate([*tables, np.empty((0, 11))])
        self._position, self._pattern, self._begin, self._sample = (
            table[:, :3],
            table[:, 3:9],
            table[:, 9],
            table[:, 10],
        )
        self._own_tiles = near[[len(one) > 0 for one in own]] if len(near) else near
        self._longest = float(self._sample.max()) if len(table) else 0.0

    def _steps(self) -> int:
        """As many at a time as the bound allows: the rates, the samples of the fullest tile, and what interpolation needs."""
        n = len(self._position)
        if not n:
            return 2**31
        # the index; 11 numbers of each point, twice while they are gathered; interpolation's group
        fixed = self._groups.nbytes + 200 * n + 2 * SCRATCH_BYTES
        pieces_to, offset_of = self._groups, self._offsets()

        def needed(steps: int) -> float:
            windows = int(np.ceil((steps * self.dt_s + 4 * self._longest) / self._window_s)) + 2
            most = 0
            for tile in self._own_tiles:
                first = np.arange(self._windows) + tile * self._windows
                last = np.minimum(first + windows, (tile + 1) * self._windows)
                samples = offset_of[last] - offset_of[first]
                pieces = pieces_to[last] - pieces_to[first]
                # samples and a copy of them with their 8-byte index; pieces and their sorted copies
                most = max(most, int((samples * 16 + pieces * 160).max()))
            return fixed + (4 * n + 100) * steps + most

        if needed(1) > self.memory_bytes:
            raise UserError(
                f"{self.path}: {n} points in one brick need {needed(1) / 2**20:.1f} MiB for a single step; allowed: a bound above "
                f"that (it is {self.memory_bytes / 2**20:g} MiB), more ranks, or smaller tiles and windows in the partitioned file"
            )
        low, high = 1, 2
        while high < 2**20 and needed(high) <= self.memory_bytes:
            low, high = high, 2 * high
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if needed(middle) <= self.memory_bytes else (low, middle)
        return low

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


def _joined(
    own: NDArray[np.int64], pieces: NDArray[np.int64], base: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Of pieces sorted by row and sample: each row, its first sample, its count, and where all its samples are."""
    if not len(own):
        empty = np.empty(0, np.int64)
        return empty, empty, empty, empty
    starts = np.concatenate([[0], np.flatnonzero(np.diff(own)) + 1])
    counts = np.add.reduceat(pieces[:, 2], starts)
    within = np.arange(int(pieces[:, 2].sum())) - np.repeat(np.cumsum(pieces[:, 2]) - pieces[:, 2], pieces[:, 2])
    return own[starts], pieces[starts, 1], counts, np.repeat(pieces[:, 3] - base, pieces[:, 2]) + within


def _add_means(
    out: NDArray[np.float32],
    points: NDArray[np.int64],
    first: NDArray[np.int64],
    counts: NDArray[np.int64],
    offsets: NDArray[np.int64],
    samples: NDArray[np.float32],
    begin_s: Array,
    sample_s: Array,
    first_step: int,
    dt_s: float,
) -> None:
    """Means of the series of some points, into their rows; those of one interval together, a group at a time."""
    steps = out.shape[1]
    begin, interval_of = begin_s[points], sample_s[points]
    # of each series what lies about these steps, an interval to spare on both sides: its ends must not count as the series' own
    low = np.floor((first_step * dt_s - begin) / interval_of).astype(np.int64) - 1
    high = np.ceil(((first_step + steps) * dt_s - begin) / interval_of).astype(np.int64) + 2
    low, high = np.clip(low, first, first + counts), np.clip(high, first, first + counts)
    offsets, counts, first = offsets + (low - first), high - low, low
    for interval in np.unique(interval_of[counts > 0]):
        rows = np.flatnonzero((counts > 0) & (interval_of == interval))
        longest = int(counts[rows].max())
        group = max(1, SCRATCH_BYTES // (16 * longest + 100 * steps))
        for at in range(0, len(rows), group):
            some = rows[at : at + group]
            wide = np.arange(int(counts[some].max()))
            # beyond a row's end: anything, it is not looked at
            block = samples[np.minimum(offsets[some][:, None] + wide, len(samples) - 1)]
            out[points[some]] = means_over_steps(
                block, first[some], counts[some], begin[some], float(interval), first_step, steps, dt_s
            )


def _placed(path: str | os.PathLike[str], grid: Grid) -> Iterator[tuple[Subfault, Array, float]]:
    """All subfaults with their positions and the directions of north there; some at a time, because projecting many costs little
    more than one. UserError for one outside the grid."""
    number, some, held = 0, list[Subfault](), 0
    for one in iterate_subfaults(path):
        some.append(one)
        held += sum(rates.nbytes for rates in one.slip_rates_m_s)
        if len(some) == BATCH or held > BATCH_BYTES:
            yield from _projected(path, number, some, grid)
            number, some, held = number + len(some), [], 0
    if some:
        yield from _projected(path, number, some, grid)


def _projected(
    path: str | os.PathLike[str], before: int, some: list[Subfault], grid: Grid
) -> Iterator[tuple[Subfault, Array, float]]:
    lon, lat = (np.array([getattr(one, name) for one in some]) for name in ("longitude_deg", "latitude_deg"))
    at = np.column_stack([*grid.x_y(lon, lat), [one.depth_m for one in some]])
    assert grid.projection is not None
    north = grid.projection.north_deg(lon, lat) - grid.azimuth_deg
    outside = ~grid.contains(*at.T)
    if outside.any():
        n = int(np.argmax(outside))
        (x, y, z), (a, b, c) = at[n], grid.size_m
        raise UserError(
            f"{path}: subfault {before + n + 1} at lon {lon[n]:g}, lat {lat[n]:g}, depth {z:g} m is at (x, y, z) = "
            f"({x:.6g}, {y:.6g}, {z:.6g}) m, outside the grid; allowed: x in [0, {a:g}], y in [0, {b:g}], z in [0, {c:g}] m"
        )
    yield from zip(some, at, north.tolist(), strict=True)


def _points(one: Subfault, at: Array, north: float, rigidity: Rigidity) -> Iterator[tuple[Array, NDArray[np.float32]]]:
    """The pattern (moment per metre of slip, N m / m) and slip rates of each direction in which it slips."""
    lam, mu = 0.0, one.mu
    opening = len(one.slip_rates_m_s[2]) > 0
    if mu is None or opening:
        # lambda is of the medium always: the file does not know vp
        of_medium = rigidity(*at[:, None])
        lam, mu = float(of_medium[0][0]), float(of_medium[1][0]) if mu is None else mu
    for across, rates in zip((0.0, 90.0, None), one.slip_rates_m_s, strict=True):
        if not len(rates):
            continue
        if across is not None:
            tensor = mu * double_couple(one.strike_deg, one.dip_deg, one.rake_deg + across, north)
        else:
            _, (nx, ny, nz) = fault_vectors(one.strike_deg, one.dip_deg, one.rake_deg)
            normal = np.array([nx * nx, ny * ny, nz * nz, nx * ny, nx * nz, ny * nz])
            tensor = turned(2 * mu * normal + lam * np.array([1.0, 1, 1, 0, 0, 0]), north)
        yield one.area_m2 * tensor, rates


def _frame(grid: Grid) -> dict[str, object]:
    facts = grid.facts()
    return {name: facts[name] for name in ("spacing_m", "azimuth_deg", "origin_m", "projection", "origin_lon_lat")}


def _opened(path: Path) -> h5py.File:
    if not path.is_file():
        raise UserError(f"{path}: no such file; allowed: a partitioned source")
    try:
        return h5py.File(path, "r")
    except OSError as error:
        raise UserError(
            f"{path}: not a complete HDF5 file: {' '.join(str(error).split())}; allowed: a partitioned source"
        ) from None
