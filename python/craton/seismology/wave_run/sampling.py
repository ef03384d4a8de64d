"""The medium as the solver asks for it: plane by plane, at the points of a plane, by one of the three ways to read it.

parallel      each rank asks the medium for the points of its own planes
serial        rank 0 reads slab by slab and gives each rank the part of its brick
partitioned   each rank reads the file of its own brick
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.runs.agreement import on_root
from craton.seismology.geometry.grid import Box, Grid
from craton.seismology.ground.media import Material, Medium, Subsamples
from craton.seismology.wave_run.refinement import GridPart
from craton.seismology.wave_run.setup import Setup

if TYPE_CHECKING:
    from mpi4py import MPI

Planes = tuple[NDArray[np.float32], ...]
Fields = dict[str, NDArray[np.float32]]
Ground = Callable[[float, float, float, float, int, int], Planes]
"""(x0_m, y0_m, z_m, spacing_m, nx, ny) -> vp, vs, rho and, where there is attenuation, qp, qs, each (ny, nx)."""

MOST_SIDE = 4
"""Samples of a cell along x and y; along z a plane may stand for several."""


def samples_per_side(setup: Setup, part: GridPart) -> int:
    """Samples of a part's cell along x and y for the solver's averages."""
    cut = setup.subsamples_of(part.whole_grid(setup.grid))
    if setup.config.media.subsamples:
        return cut[0]
    return 1 if max(cut) == 1 else min(max(2, cut[0], cut[1]), MOST_SIDE)


def ground_of(setup: Setup, comm: MPI.Comm, own: Box, part: GridPart | None = None) -> Ground:
    """Collective: the ground as the solver asks for it, read as [media] read says.

    own: this rank's cells. part: which of the solver's grids asks; None: the only one. Depths count from its first plane.
    """
    reading = setup.config.media.read
    anelastic = setup.config.attenuation is not None
    if part is not None and (part.above or part.below):
        grid = part.whole_grid(setup.grid)
        return Asked(setup.medium, grid, setup.subsamples_of(grid)[2], anelastic, part.top_m)
    around = _around(own)
    if reading == "partitioned":
        cut = setup.medium.subsamples(setup.grid)
        return Parts(setup.grid, around, cut, setup.medium.sample(setup.grid, around, cut), anelastic)
    if reading == "serial":
        cut = setup.subsamples
        return Parts(setup.grid, around, cut, _dealt_out(setup.medium, setup.grid, comm, around, cut), anelastic)
    return Asked(setup.medium, setup.grid, setup.subsamples[2], anelastic)


@dataclass(frozen=True)
class Asked:
    """Asks the medium. Each plane is the mean of several within its thickness, so that thin layers count as they are."""

    medium: Medium
    grid: Grid
    parts: int
    """of a cell along z"""
    anelastic: bool
    top_m: float = 0.0
    """from which z counts"""

    def __call__(self, x0: float, y0: float, z: float, spacing: float, nx: int, ny: int) -> Planes:
        """As of Ground."""
        x = x0 + spacing * np.arange(nx)[None, None, :]
        y = y0 + spacing * np.arange(ny)[None, :, None]
        planes = max(1, math.ceil(self.parts * spacing / self.grid.spacing_m - 1e-6))
        at = self.top_m + z + spacing * ((np.arange(planes) + 0.5) / planes - 0.5)
        return _mean(self.medium.at(self.grid, x, y, at[:, None, None]), self.anelastic)


@dataclass(frozen=True)
class Parts:
    """Looks into an array of the parts of some cells."""

    grid: Grid
    box: Box
    cut: Subsamples
    material: Material
    anelastic: bool

    def __call__(self, x0: float, y0: float, z: float, spacing: float, nx: int, ny: int) -> Planes:
        """As of Ground."""
        i = self._parts(0, x0 + spacing * np.arange(nx))[:, None]
        j = self._parts(1, y0 + spacing * np.arange(ny))[None, :]
        # all parts within the plane's thickness
        k = np.unique(self._parts(2, z + spacing * ((np.arange(16) + 0.5) / 16 - 0.5)))
        columns = Material(
            **{name: values[i, j][..., k].transpose(2, 1, 0) for name, values in self.material.fields().items()}
        )
        return _mean(columns, self.anelastic)

    def _parts(self, d: int, at: NDArray[np.floating[Any]]) -> NDArray[np.int64]:
        part = (
            np.floor(at / self.grid.spacing_m * self.cut[d] + 1e-9).astype(np.int64) - self.box.first[d] * self.cut[d]
        )
        return np.asarray(np.clip(part, 0, self.box.shape[d] * self.cut[d] - 1))


def _around(own: Box) -> Box:
    """With the cell below along each axis, of which averages take in a half."""
    a, b, c = (max(first - 1, 0) for first in own.first)
    return Box((a, b, c), own.last)


def _mean(material: Material, anelastic: bool) -> Planes:
    """Mean over the first axis, as the solver averages, so that means of means are means."""
    if anelastic and (material.qp is None or material.qs is None):
        raise UserError("media: no quality factors in the model; allowed: [attenuation] qp and qs")
    if len(material.vp) == 1:
        planes = [values[0] for values in material.fields().values()]
        return tuple(planes) if anelastic else tuple(planes[:3])
    rho = np.asarray(material.rho, float).mean(axis=0)
    mu, along = (_harmonic(modulus) for modulus in (material.mu, material.lam + 2 * material.mu))
    found = [np.sqrt(along / rho), np.sqrt(mu / rho), rho]
    if anelastic:
        found += [_harmonic(np.asarray(q, float)) for q in (material.qp, material.qs)]
    return tuple(values.astype(np.float32) for values in found)


def _harmonic(values: NDArray[np.float64]) -> NDArray[np.float64]:
    with np.errstate(divide="ignore"):
        return np.asarray(1 / (1 / values).mean(axis=0))


def _dealt_out(medium: Medium, grid: Grid, comm: MPI.Comm, box: Box, cut: Subsamples) -> Material:
    """Collective: rank 0 reads each slab once and all ranks keep their parts of it."""
    shape = tuple(n * s for n, s in zip(box.shape, cut, strict=True))
    out: Fields = {}
    slabs = medium.slabs(grid, grid.box, subsamples=cut)
    while (slab := on_root(comm, lambda: _whole(next(slabs, None)))) is not None:
        (k0, k1), fields = slab
        low, high = max(k0, box.first[2]), min(k1, box.last[2])
        if low >= high:
            continue
        i, j = (slice(box.first[d] * cut[d], box.last[d] * cut[d]) for d in (0, 1))
        here = slice((low - box.first[2]) * cut[2], (high - box.first[2]) * cut[2])
        there = slice((low - k0) * cut[2], (high - k0) * cut[2])
        for name, values in fields.items():
            out.setdefault(name, np.empty(shape, np.float32, order="F"))[:, :, here] = values[i, j, there]
    return Material(**out)


def _whole(slab: tuple[tuple[int, int], Material] | None) -> tuple[tuple[int, int], Fields] | None:
    """A slab with a value for each of its points; None at the end."""
    if slab is None:
        return None
    planes, material = slab
    full = np.broadcast_shapes(*(values.shape for values in material.fields().values()))
    return planes, {name: np.broadcast_to(values, full) for name, values in material.fields().items()}
