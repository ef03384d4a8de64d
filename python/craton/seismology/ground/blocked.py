"""Media on blocks of grids, finer near the surface, as SW4's files have them (sw4_files.py).

A block has points at a spacing of its own, i along its x, j along its y, k downwards between two surfaces. The first point of all
blocks lies in the same corner. Depth in the file counts from sea level. The solver's ground is flat, so a depth in it is taken from
the file's topography, and the model follows the ground; or from sea level, and what lies above it is left out.

Points that the file has in air or water take the values of the first point of ground below them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.seismology.files import readable
from craton.seismology.geometry.grid import Grid
from craton.seismology.ground.media import NAMES, Material, Medium

__all__ = ["Block", "BlockedMedium", "Surface"]

Array = NDArray[np.float64]
Field = NDArray[np.float32]
Window = tuple[slice, slice, slice]
NO_GROUND = -998.0
"""A vs below it marks air and water: SW4 writes -999."""


@dataclass(frozen=True)
class Surface:
    """Depths in m at points (i, j) at a spacing, from the corner on; bilinear between them."""

    spacing_m: float
    depth_m: Array

    def at(self, u: Array, v: Array) -> Array:
        """Depths at places in the file's frame, m."""
        (i, p), (j, q) = (_between(w / self.spacing_m, n) for w, n in zip((u, v), self.depth_m.shape, strict=True))
        low = self.depth_m[i, j] * (1 - q) + self.depth_m[i, j + 1] * q
        high = self.depth_m[i + 1, j] * (1 - q) + self.depth_m[i + 1, j + 1] * q
        return np.asarray(low * (1 - p) + high * p)


@dataclass(frozen=True)
class Block:
    """Points (i, j, k), evenly between two surfaces. read: vp, vs, rho (qp, qs) of a window, one after the other, in SI."""

    spacing_m: float
    shape: tuple[int, int, int]
    top: Surface
    bottom: Surface
    read: Callable[[Window], list[Field]]


@dataclass(frozen=True, kw_only=True)
class BlockedMedium(Medium):
    """Values on blocks from the top down, in a file that is read part by part."""

    path: Path
    blocks: tuple[Block, ...]
    ground: Surface
    """Depth of the ground's surface below sea level: above it, negative."""
    size_m: tuple[float, float]
    place: Callable[[Grid, Array, Array], tuple[Array, Array]]
    """From the solver's grid to the file's frame, m."""
    depth_from: str = "surface"
    """or "sea_level" """
    outside: str = "refuse"
    """or "nearest": beyond its ends the file goes on as at them"""

    def raw(self, grid: Grid, x: Array, y: Array, z: Array) -> Material:
        """Material at x, y, z in m, linear between the points of a block. UserError outside the file."""
        shape = np.broadcast_shapes(x.shape, y.shape, z.shape)
        u, v = (np.asarray(w, float) for w in self.place(grid, x, y))
        u, v = (self._inside(name, w, size) for name, w, size in zip("xy", (u, v), self.size_m, strict=True))
        depth = np.asarray(z + self.ground.at(u, v) if self.depth_from == "surface" else z + 0 * u)
        depth = self._above_the_bottom(u, v, depth)
        u, v, depth = (np.broadcast_to(w, shape).ravel(order="F") for w in (u, v, depth))
        out: list[Field] = []
        left = np.ones(depth.shape, bool)
        for number, block in enumerate(self.blocks):
            last = number == len(self.blocks) - 1
            here = left if last else left & (depth < block.bottom.at(u, v))
            left = left & ~here
            if here.any():
                for n, values in enumerate(self._in_block(number, u[here], v[here], depth[here])):
                    if len(out) <= n:
                        out.append(np.empty(depth.shape, np.float32))
                    out[n][here] = values
        return Material(**{name: values.reshape(shape, order="F") for name, values in zip(NAMES, out, strict=False)})

    def _inside(self, name: str, values: Array, size: float) -> Array:
        low, high, slack = float(values.min()), float(values.max()), 1e-6 * size
        if self.outside != "nearest" and not (low >= -slack and high <= size + slack):
            raise UserError(
                f"{self.path}: {size:g} m along its {name} axis, but the grid needs {low:g} to {high:g} m of it; allowed: a grid "
                'inside the file, or [media] outside = "nearest"'
            )
        return np.clip(values, 0, size)

    def _above_the_bottom(self, u: Array, v: Array, depth: Array) -> Array:
        bottom = self.blocks[-1].bottom.at(u, v)
        deeper = float((depth - bottom).max())
        if self.outside != "nearest" and deeper > 1e-6 * max(1.0, float(np.abs(bottom).max())):
            raise UserError(
                f"{self.path}: the grid goes {deeper:g} m below its bottom; allowed: a grid inside the file, or [media] outside = "
                '"nearest"'
            )
        return np.minimum(depth, bottom)

    def _in_block(self, number: int, u: Array, v: Array, depth: Array) -> list[Field]:
        """At places that lie in a block, or above the first one: (n), one array for each of vp, vs, rho (qp, qs)."""
        block = self.blocks[number]
        top, bottom = block.top.at(u, v), block.bottom.at(u, v)
        thickness = np.where(bottom > top, bottom - top, 1.0)
        levels = np.where(bottom > top, (depth - top) / thickness, 0.0) * (block.shape[2] - 1)
        near = [
            _between(w, n) for w, n in zip((u / block.spacing_m, v / block.spacing_m, levels), block.shape, strict=True)
        ]
        window = tuple(slice(int(low.min()), int(low.max()) + 2) for low, _ in near)
        found = self._ground_in(number, window)  # type: ignore[arg-type]
        low = [at - part.start for (at, _), part in zip(near, window, strict=True)]
        weight = [part.astype(np.float32) for _, part in near]
        out = []
        for values in found:
            total = np.zeros(len(u), np.float32)
            for corner in np.ndindex(2, 2, 2):
                share: Any = 1
                for w, c in zip(weight, corner, strict=True):
                    share = share * (w if c else 1 - w)
                at = values[tuple(i + c for i, c in zip(low, corner, strict=True))]
                total += np.where(share > 0, share * at, 0).astype(np.float32)
            out.append(total)
        return out

    def _ground_in(self, number: int, window: Window) -> list[Field]:
        """A window of a block in which air and water have the values of the ground below them."""
        block, (rows, columns, levels) = self.blocks[number], window
        found = self._read(block, window)
        empty = found[1] < NO_GROUND
        if empty[:, :, -1].any():  # the ground begins further down
            below: list[Field] | None = None
            if levels.stop < block.shape[2]:
                below = self._ground_in(number, (rows, columns, slice(levels.stop, block.shape[2])))
            elif number + 1 < len(self.blocks):
                u, v = (block.spacing_m * np.arange(some.start, some.stop) for some in (rows, columns))
                u, v = (w.ravel() for w in np.meshgrid(u, v, indexing="ij"))
                next_one = self.blocks[number + 1]
                shape = (rows.stop - rows.start, columns.stop - columns.start, 1)
                below = [w.reshape(shape) for w in self._in_block(number + 1, u, v, next_one.top.at(u, v))]
            at = empty[:, :, -1]
            for values, under in zip(found, below or [], strict=False):
                values[:, :, -1][at] = under[:, :, 0][at]
        for k in range(empty.shape[2] - 2, -1, -1):
            at = empty[:, :, k]
            for values in found:
                values[:, :, k][at] = values[:, :, k + 1][at]
        return found

    def _read(self, block: Block, window: Window) -> list[Field]:
        with readable(self.path, "a whole file"):
            return [np.array(values, np.float32) for values in block.read(window)]


def _between(at: Array, count: int) -> tuple[NDArray[np.int64], Array]:
    """The point below each place, in spacings, and how far it is from there to the next one, 0 to 1."""
    inside = np.clip(at, 0, count - 1)
    low = np.minimum(inside.astype(np.int64), count - 2)
    return low, inside - low
