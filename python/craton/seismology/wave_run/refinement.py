"""Finer cells above a depth than below: the two grids of `[grid] coarser_below_m`, which share the plane at that depth.

docs/waves.md says what it is good for and how exact it is; include/craton/apps/waves/grid_interface.hpp has the scheme.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from craton.seismology.geometry.grid import THINNEST, Grid
from craton.seismology.ground.media import Medium, Range
from craton.settings import shown

if TYPE_CHECKING:
    from craton.seismology.wave_run.config import Config

COARSER = 3
"""Fine cells along the side of a coarse one (fine_per_coarse of interface_planes.hpp)."""
LEAST_PLANES = 14
"""Planes of cells that a grid needs above or below the other (grid_interface::least_planes)."""


@dataclass(frozen=True)
class GridPart:
    """One of the solver's grids: all of it, or what lies above or below the plane that two share."""

    cells: tuple[int, int, int]
    spacing_m: float
    top_m: float
    """z of its first plane"""
    layer_cells: int
    """of an absorbing side"""
    above: bool = False
    """whether a grid of finer cells lies above it"""
    below: bool = False
    """whether a grid of coarser cells follows below it"""

    @property
    def bottom_m(self) -> float:
        """Where it ends."""
        return self.top_m + self.cells[2] * self.spacing_m

    def whole_grid(self, grid: Grid) -> Grid:
        """The whole extent in this part's cells: where the medium is asked for them."""
        a, b, c = (round(size / self.spacing_m) for size in grid.size_m)
        return replace(grid, cells=(a, b, c), spacing_m=self.spacing_m)

    def range(self, medium: Medium, grid: Grid) -> Range:
        """Of the ground in it. Reads it once, part by part."""
        if not self.above:  # the part of the grid that begins at z = 0
            return medium.range(replace(grid, cells=self.cells))
        return medium.range(self.whole_grid(grid), round(self.top_m / self.spacing_m))


def parts_of(config: Config) -> tuple[GridPart, ...]:
    """The solver's grids, the uppermost first."""
    grid, layers = config.grid, config.boundary.layer_cells
    if not grid.coarser_below_m:
        return (GridPart(grid.cells, grid.spacing_m, 0.0, layers),)
    upper = GridPart(grid.upper_cells, grid.spacing_m, 0.0, COARSER * layers, below=True)
    return upper, GridPart(grid.lower_cells, COARSER * grid.spacing_m, upper.bottom_m, layers, above=True)


def wrong_refinement(config: Config) -> Iterator[str]:
    """What does not go with coarser cells below; widths of layers are counted in these."""
    grid, boundary, run = config.grid, config.boundary, config.run
    side, depth = COARSER * grid.spacing_m, f"coarser_below_m = {grid.coarser_below_m:g} m"
    sizes = [(f"size along {axis}", size) for axis, size in zip("xyz", grid.extent_m, strict=True)]
    for name, size in (*sizes, ("coarser_below_m", grid.coarser_below_m)):
        if abs(size / side - round(size / side)) > 1e-6:
            yield f"[grid] {name} = {size:g} m; allowed: a whole number of the coarse cells' side, {side:g} m"
    layers = boundary.layer_cells if boundary.absorbing != "none" else 0
    upper, lower = grid.upper_cells, grid.lower_cells
    for axis, n in zip("xy", lower, strict=False):
        if n < 2 * layers + 8:
            yield (
                f"[grid] {n} coarse cells along {axis}; allowed: {2 * layers + 8} or more, 2 absorbing layers of width_cells = "
                f"{layers} and 8 between"
            )
    if upper[2] < LEAST_PLANES:
        yield f"[grid] {depth}; allowed: {LEAST_PLANES} cells of spacing_m or more, {LEAST_PLANES * grid.spacing_m:g} m"
    if lower[2] < LEAST_PLANES + layers:
        yield (
            f"[grid] {max(lower[2], 0)} coarse cells below {depth}; allowed: {LEAST_PLANES + layers} or more, {layers} of them in "
            "the absorbing layer"
        )
    for wrong, what, allowed in (
        (boundary.top != "free", f'[boundary] top = "{boundary.top}"', 'top = "free"'),
        (config.topography is not None, "[topography]", "one of them"),
        (run.device != "cpu", f'[run] device = "{run.device}"', 'device = "cpu"'),
        (config.media.read != "parallel", f'[media] read = "{config.media.read}"', 'read = "parallel"'),
        (
            run.decomposition[2:] not in ((), (1,)),
            f"[run] decomposition = {shown(run.decomposition)}",
            "1 brick along z",
        ),
    ):
        if wrong:
            yield f"{what} with [grid] coarser_below_m; allowed: {allowed}"
    if any(n // p < THINNEST for p, n in zip(run.decomposition[:2], lower, strict=False)):
        most = [n // THINNEST for n in lower[:2]]
        yield (
            f"[run] decomposition = {shown(run.decomposition)}; allowed: at most {shown(most)} along x and y, for bricks of "
            f"{THINNEST} coarse cells a side"
        )
