"""Media written once, a file for each brick, so that thousands of ranks need not share one file.

The folder has media.json, which says what grid and bricks it is for, and media-A-B-C.h5 for the brick at (A, B, C). Such a file
has the datasets vp, vs, rho (and qp, qs), stored [k, j, i]: of the brick's cells and `margin` cells round it, each cut into parts.
"""

from __future__ import annotations

import itertools
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.runs.files import replaced, write_text
from craton.runs.hdf5_files import opened_hdf5
from craton.runs.hdf5_writing import written_hdf5
from craton.seismology.files import readable
from craton.seismology.geometry.grid import Box, Grid, bricks
from craton.seismology.ground.media import Material, Medium, Range, Subsamples, parts_holding

Array = NDArray[np.float64]

MANIFEST = "media.json"


def write_partitions(
    medium: Medium,
    grid: Grid,
    parts: tuple[int, int, int],
    folder: str | os.PathLike[str],
    *,
    subsamples: Subsamples | None = None,
    margin: int = 2,
) -> Path:
    """Writes a medium for `parts` bricks along x, y and z, and gives the manifest's path. Not collective.

    A brick is written at a time, slab by slab, so that memory stays small. The manifest comes last: without it a folder is not
    complete. It has the range of the medium itself: that of the parts would count margins outside the grid, and would depend on how
    cells are cut; both would give another time step than the medium read whole. UserError when something cannot be written.
    """
    folder, cut = Path(folder), subsamples or medium.subsamples(grid)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MANIFEST).unlink(missing_ok=True)
        found = medium.range(grid)
        for at, box in zip(_places(parts), bricks(grid.cells, parts), strict=True):
            _write(folder / _name(at), medium, grid, box.grown(margin), cut)
        facts = {"grid": grid.facts(), "parts": parts, "subsamples": cut, "margin": margin, "range": vars(found)}
        write_text(
            folder / MANIFEST, json.dumps(facts, indent=2) + "\n"
        )  # not strict JSON: quality factors may be infinite
    except OSError as error:
        raise UserError(f"{folder}: cannot be written: {error.strerror or error}; allowed: a folder that can") from None
    return folder / MANIFEST


@dataclass(frozen=True, kw_only=True)
class PartitionedMedium(Medium):
    """Answers for points inside one of its bricks with their margins, by the sample nearest to them."""

    folder: Path
    facts: dict[str, Any]

    @property
    def parts(self) -> tuple[int, int, int]:
        """Bricks along x, y and z that the files are for."""
        a, b, c = self.facts["parts"]
        return a, b, c

    def subsamples(self, _grid: Grid) -> Subsamples:
        """Those that were written."""
        a, b, c = self.facts["subsamples"]
        return a, b, c

    def range(self, _grid: Grid, _below: int = 0) -> Range:
        """Of the medium that was written."""
        return Range(**self.facts["range"])

    def raw(self, grid: Grid, x: Array, y: Array, z: Array) -> Material:
        """Material of the part of a cell that each point lies in. UserError for another grid, or a part without its file."""
        if grid.facts() != self.facts["grid"]:
            raise UserError(f"{self.folder}: written for another grid; allowed: that one, or write the media again")
        cut = self.subsamples(grid)
        sides, counts = [grid.spacing_m / s for s in cut], [n * s for n, s in zip(grid.cells, cut, strict=True)]
        box, own = parts_holding((x, y, z), sides, counts)
        path, first = self._holding(grid, [side.start for side in box], [side.stop for side in box])
        part = tuple(slice(side.start - f, side.stop - f) for side, f in zip(box, first, strict=True))
        # [k, j, i] in the file is [i, j, k] with i fastest here
        with opened_hdf5(path, "write the media again", wrong="cannot be read") as file:
            return Material(**{name: np.asarray(file[name][part[::-1]]).T[own] for name in file})

    def _holding(self, grid: Grid, low: list[int], high: list[int]) -> tuple[Path, list[int]]:
        """The file that has samples low .. high - 1, and its first one."""
        cut, margin = self.subsamples(grid), self.facts["margin"]
        for at, brick in zip(_places(self.parts), bricks(grid.cells, self.parts), strict=True):
            stored = brick.grown(margin)
            first, last = ([n * s for n, s in zip(end, cut, strict=True)] for end in (stored.first, stored.last))
            if np.all(np.less_equal(first, low)) and np.all(np.less_equal(high, last)):
                return self.folder / _name(at), first
        cells = " x ".join(f"[{a // s}, {-(-b // s)})" for a, b, s in zip(low, high, cut, strict=True))
        raise UserError(
            f"{self.folder}: written for {' x '.join(map(str, self.parts))} bricks and {margin} cells round each, none of which "
            f"holds cells {cells}; allowed: that decomposition, or write the media again"
        )


def open_partitions(manifest: str | os.PathLike[str], **common: Any) -> PartitionedMedium:
    """The medium of a folder of parts. manifest: the media.json that write_partitions made. UserError where it is none."""
    path = Path(manifest)
    with readable(path, f"{MANIFEST} of media written in parts", ""):
        facts = json.loads(path.read_text(encoding="utf-8"))
        if not {"grid", "parts", "subsamples", "margin", "range"} <= set(facts):
            raise ValueError("not of media")
    return PartitionedMedium(folder=path.parent, facts=facts, **common)


def _places(parts: tuple[int, int, int]) -> list[tuple[int, int, int]]:
    return [(a, b, c) for c, b, a in itertools.product(*(range(p) for p in reversed(parts)))]


def _name(at: tuple[int, int, int]) -> str:
    return f"media-{at[0]}-{at[1]}-{at[2]}.h5"


def _write(path: Path, medium: Medium, grid: Grid, box: Box, cut: Subsamples) -> None:
    """Writes the file of a brick slab by slab."""
    shape = tuple(n * s for n, s in zip(box.shape, cut, strict=True))[::-1]
    with replaced(path) as aside, written_hdf5(aside) as file:
        for (k0, k1), material in medium.slabs(grid, box, subsamples=cut):
            planes = slice((k0 - box.first[2]) * cut[2], (k1 - box.first[2]) * cut[2])
            for name, values in material.fields().items():
                if name not in file:
                    file.create_dataset(name, shape, dtype="f4")
                file[name][planes] = values.transpose(2, 1, 0)
