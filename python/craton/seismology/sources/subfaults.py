"""Subfaults of a kinematic source as points of the grid: where each lies, the moment of a metre of slip, and how fast it slips.

A subfault's slip along and across the rake are two points of one place. Rates are means over the solver's steps.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from craton.seismology.geometry.grid import Grid
from craton.seismology.sources.point_sources import double_couple, fault_vectors, turned
from craton.seismology.sources.source_time import means_over_steps
from craton.seismology.sources.srf import Subfault, iterate_subfaults

Array = NDArray[np.float64]

Rigidity = Callable[[Array, Array, Array], tuple[Array, Array]]
"""lambda and mu, Pa, at x, y, z in m: where the file does not know them, of the medium."""

BATCH, BATCH_BYTES = 1024, 2**20
"""Subfaults that are placed together: so many, or fewer with so many bytes of samples."""
SCRATCH_BYTES = 2**22
"""About what interpolation of one group of points needs aside."""


def placed_subfaults(path: str | os.PathLike[str], grid: Grid) -> Iterator[tuple[Subfault, Array, float]]:
    """All subfaults with their positions and the directions of north there. UserError for one outside the grid.

    They are projected some at a time, because many cost little more than one.
    """
    number, some, held = 0, list[Subfault](), 0
    for one in iterate_subfaults(path):
        some.append(one)
        held += sum(rates.nbytes for rates in one.slip_rates_m_s)
        if len(some) == BATCH or held > BATCH_BYTES:
            yield from _projected(path, number, some, grid)
            number, some, held = number + len(some), [], 0
    yield from _projected(path, number, some, grid)


def _projected(
    path: str | os.PathLike[str], before: int, some: list[Subfault], grid: Grid
) -> Iterator[tuple[Subfault, Array, float]]:
    lon, lat = np.array([(one.longitude_deg, one.latitude_deg) for one in some], float).reshape(-1, 2).T
    at = np.column_stack([*grid.x_y(lon, lat), [grid.sea_level_m + one.depth_m for one in some]])
    assert grid.projection is not None
    north = grid.projection.north_deg(lon, lat) - grid.azimuth_deg

    def name(n: int) -> str:
        return f"{path}: subfault {before + n + 1} at lon {lon[n]:g}, lat {lat[n]:g}, depth {some[n].depth_m:g} m is"

    grid.check_inside(at, name)
    yield from zip(some, at, north.tolist(), strict=True)


def points_of(
    one: Subfault, at: Array, north: float, rigidity: Rigidity
) -> Iterator[tuple[Array, NDArray[np.float32]]]:
    """The pattern (moment per metre of slip, N m / m) and slip rates of each direction in which it slips."""
    lam, mu = 0.0, one.mu
    if mu is None or len(one.slip_rates_m_s[2]):
        # lambda is of the medium always: the file does not know vp
        lam, mu_there = (float(values[0]) for values in rigidity(*at[:, None]))
        mu = mu_there if mu is None else mu
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


def add_means(
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
    """Writes the means of the series of some points into their rows; those of one interval together, a group at a time."""
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
