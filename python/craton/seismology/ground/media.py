"""What the ground is made of: velocities, density and quality factors at any point, for any box of cells.

A medium is asked for points (`at`), or for all cells of a box, each cut into parts (`sample`), so that every rank reads only what
its brick needs. The solver averages the parts (wave_run/sampling.py).

All in SI: m/s, kg/m^3. Without qp and qs (None) a medium is elastic.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton.errors import UserError
from craton.seismology.files import numbered_rows
from craton.seismology.geometry.grid import Box, Grid

Array = NDArray[np.float64]
Field = NDArray[np.float32]
Subsamples = tuple[int, int, int]

NAMES = ("vp", "vs", "rho", "qp", "qs")
SCRATCH_CELLS = 2**21
"""A box is sampled in slabs of about so many points, so that what a file's reader needs aside stays small."""
SAME_DEPTH = 1e-6
"""Of a cell, by which rounding may move a depth."""
SLOWEST_ROCK_M_S, LIGHTEST_ROCK_KG_M3 = 20.0, 100.0
"""Mud has some 30 m/s; nothing in km/s reaches 20. Fresh snow has 100 kg/m^3; nothing in g/cm^3 does."""
PARTS = 16
"""Of a cell along z, where no smaller number puts every interface between two parts."""


@dataclass(frozen=True)
class Material:
    """Arrays of one shape. qp and qs are both there or both None."""

    vp: Field
    vs: Field
    rho: Field
    qp: Field | None = None
    qs: Field | None = None

    @property
    def mu(self) -> Array:
        """Pa."""
        return np.asarray(np.asarray(self.rho, float) * np.asarray(self.vs, float) ** 2)

    @property
    def lam(self) -> Array:
        """Pa."""
        return np.asarray(np.asarray(self.rho, float) * np.asarray(self.vp, float) ** 2 - 2 * self.mu)

    def fields(self) -> dict[str, Field]:
        """The arrays that there are, by name."""
        named = {"vp": self.vp, "vs": self.vs, "rho": self.rho, "qp": self.qp, "qs": self.qs}
        return {name: values for name, values in named.items() if values is not None}


@dataclass(frozen=True)
class Range:
    """What lies in a medium: the figures that step and spacing follow from. Slowest vs is of solid rock."""

    slowest_vs: float
    fastest_vp: float
    lightest: float
    heaviest: float
    lowest_qp: float = math.inf
    lowest_qs: float = math.inf

    @staticmethod
    def over(ranges: Iterable[Range]) -> Range:
        """The range of all of them together; at least one."""
        columns = zip(*map(astuple, ranges), strict=True)
        return Range(*(pick(values) for pick, values in zip((min, max, min, max, min, min), columns, strict=True)))

    @staticmethod
    def of(material: Material) -> Range:
        """The range of some material."""
        solid = material.vs[material.vs > 0]
        return Range(
            float(solid.min()) if solid.size else math.inf,
            float(material.vp.max()),
            float(material.rho.min()),
            float(material.rho.max()),
            math.inf if material.qp is None else float(material.qp.min()),
            math.inf if material.qs is None else float(material.qs.min()),
        )


@dataclass(frozen=True)
class QualityRules:
    """Quality factors from velocities, or qp from qs; each rule gets what is known so far by name."""

    qp: Callable[[dict[str, Field]], Field]
    qs: Callable[[dict[str, Field]], Field]

    @staticmethod
    def of(qp: float | str, qs: float | str) -> QualityRules:
        """From numbers or rules such as "0.05 vs". UserError for what is neither."""
        return QualityRules(quality_rule("qp", qp), quality_rule("qs", qs))

    def applied(self, material: Material) -> Material:
        """The material with the quality factors of these rules."""
        known = {"vp": material.vp, "vs": material.vs}
        known["qs"] = self.qs(known)
        return replace(material, qs=known["qs"], qp=self.qp(known))


RULE = re.compile(r"\s*([0-9.]+(?:[eE][-+]?[0-9]+)?)\s*\*?\s*(vp|vs|qs)\s*")


def quality_rule(name: str, rule: float | str) -> Callable[[dict[str, Field]], Field]:
    """A number, or one times a velocity in m/s or (for qp) qs, as in "0.05 vs" or "2 qs". UserError for anything else."""
    others = ("vp", "vs", "qs") if name == "qp" else ("vp", "vs")
    found = RULE.fullmatch(rule) if isinstance(rule, str) else None
    try:
        factor = float(found[1] if found else rule)
    except ValueError:
        factor = math.nan
    other = found[2] if found else ""
    if not (0 < factor < 1e9) or other not in ("", *others):
        raise UserError(
            f'{name} = "{rule}"; allowed: a number above 0, or one times {", ".join(others[:-1])} or {others[-1]} (velocities '
            f'in m/s), as in "0.05 vs"'
        )

    def values(known: dict[str, Field]) -> Field:
        if not other:
            return np.full(known["vs"].shape, factor, np.float32)
        made = np.float32(factor) * known[other]
        # in water vs = 0: no shear, and no Q of it that matters
        return np.where(known["vs"] > 0, made, np.float32(1e4)) if other != "vp" else made

    return values


@dataclass(frozen=True)
class Medium:
    """The base of all. What derives from it has `raw`, and may have its own `range` and `subsamples`."""

    water: bool = False
    """vs = 0 is meant where it stands."""
    slowest_vs: float = 0.0
    """m/s; where 0 < vs is below it, vs becomes this, and vp grows by the same factor."""
    rules: QualityRules | None = None
    """Instead of the medium's own quality factors."""

    def raw(self, grid: Grid, x: Array, y: Array, z: Array) -> Material:
        """What the source says at points inside the grid, m, of any shapes that can be broadcast together."""
        raise NotImplementedError

    def range(self, grid: Grid, below: int = 0) -> Range:
        """The range of all that lies in the grid; reads it once, part by part. UserError for what cannot be.

        below: of the planes of cells from this one on.
        """
        first = (*grid.box.first[:2], below)
        return Range.over(Range.of(material) for _, material in self.slabs(grid, Box(first, grid.box.last)))

    def subsamples(self, _grid: Grid) -> Subsamples:
        """Into how many parts cells should be cut along x, y and z, so that their means are right."""
        return 2, 2, 2

    def at(self, grid: Grid, x: ArrayLike, y: ArrayLike, z: ArrayLike) -> Material:
        """Material at points, m, moved to the nearest face where they are outside the grid. UserError for what cannot be."""
        at = [np.clip(np.asarray(p, float), 0, size) for p, size in zip((x, y, z), grid.size_m, strict=True)]
        material = self.raw(grid, *at)
        if self.slowest_vs > 0:
            material = _raised(material, self.slowest_vs)
        if self.rules is not None:
            material = self.rules.applied(material)
        check_material(material, *at, water=self.water)
        return material

    def sample(self, grid: Grid, box: Box, subsamples: Subsamples = (1, 1, 1)) -> Material:
        """Material at the middles of all parts of a box's cells: float32, [i, j, k] of parts, i fastest in memory.

        Not collective: each rank reads what its box needs. Cells outside the grid are as its outer faces.
        """
        shape = tuple(n * s for n, s in zip(box.shape, subsamples, strict=True))
        out: dict[str, Field] = {}
        for (k0, k1), material in self.slabs(grid, box, subsamples=subsamples):
            planes = slice((k0 - box.first[2]) * subsamples[2], (k1 - box.first[2]) * subsamples[2])
            for name, values in material.fields().items():
                out.setdefault(name, np.empty(shape, np.float32, order="F"))[:, :, planes] = values
        return Material(**out)

    def slabs(
        self, grid: Grid, box: Box, planes: int = 0, subsamples: Subsamples = (1, 1, 1)
    ) -> Iterator[tuple[tuple[int, int], Material]]:
        """The parts of a box's cells from the top down: k0 and k1 of some planes, and their material as of `sample`.

        planes: so many at a time; 0: as many as need little memory. One rank can read all and deal it out.
        """
        per_plane = box.shape[0] * box.shape[1] * math.prod(subsamples)
        planes = planes or max(1, SCRATCH_CELLS // max(per_plane, 1))
        x = grid.axis(box.first[0], box.last[0], subsamples[0])[:, None, None]
        y = grid.axis(box.first[1], box.last[1], subsamples[1])[None, :, None]
        for k0 in range(box.first[2], box.last[2], planes):
            k1 = min(k0 + planes, box.last[2])
            z = grid.axis(k0, k1, subsamples[2])[None, None, :]
            yield (k0, k1), self.at(grid, x, y, z)


def parts_holding(
    at: Sequence[Array], side_m: Sequence[float], counts: Sequence[int]
) -> tuple[tuple[slice, ...], tuple[NDArray[np.int64], ...]]:
    """The box of parts of some sides, so many along x, y and z, that holds points; and the parts' numbers within that box."""
    index = [np.clip((p / s).astype(np.int64), 0, n - 1) for p, s, n in zip(at, side_m, counts, strict=True)]
    box = tuple(slice(int(i.min()), int(i.max()) + 1) for i in index)
    return box, tuple(i - part.start for i, part in zip(index, box, strict=True))


@dataclass(frozen=True)
class Constant(Medium):
    """The same everywhere."""

    vp: float = 6000.0
    vs: float = 3464.0
    rho: float = 2700.0
    qp: float | None = None
    qs: float | None = None

    def raw(self, _grid: Grid, x: Array, y: Array, z: Array) -> Material:
        """Material at x, y, z in m, the same everywhere."""
        shape = np.broadcast_shapes(x.shape, y.shape, z.shape)
        values = (self.vp, self.vs, self.rho, self.qp, self.qs)
        return Material(*(None if value is None else np.full(shape, value, np.float32) for value in values))  # type: ignore[arg-type]

    def range(self, grid: Grid, _below: int = 0) -> Range:
        """That of the one material."""
        return Range.of(self.at(grid, *np.zeros((3, 1))))

    def subsamples(self, _grid: Grid) -> Subsamples:
        """(1, 1, 1): whole cells."""
        return 1, 1, 1


@dataclass(frozen=True)
class Layers(Medium):
    """Flat layers, the last one without a bottom.

    Rows have thickness in m (of the last: any), vp, vs, rho and, in all rows or none, qp and qs.
    """

    rows: tuple[tuple[float, ...], ...] = ()
    where: str = "layers"

    def __post_init__(self) -> None:
        lengths = {len(row) for row in self.rows}
        if lengths not in ({4}, {6}):
            raise UserError(
                f"{self.where}: rows of {', '.join(map(str, sorted(lengths))) or 'no'} numbers; allowed: in each thickness in m, "
                "vp and vs in m/s, rho in kg/m^3, and in all or none qp and qs"
            )
        for number, row in enumerate(self.rows[:-1], 1):
            if not row[0] > 0:
                raise UserError(f"{self.where}: layer {number} is {row[0]:g} m thick; allowed: above 0")

    @property
    def interfaces_m(self) -> Array:
        """Depths of the interfaces, m."""
        return np.cumsum([row[0] for row in self.rows[:-1]])

    def raw(self, _grid: Grid, x: Array, y: Array, z: Array) -> Material:
        """Material of the layers at x, y, z in m."""
        shape = np.broadcast_shapes(x.shape, y.shape, z.shape)
        layer = np.searchsorted(self.interfaces_m, z, side="right")
        columns = np.asarray(self.rows, np.float32).T[1:]
        return Material(*(np.broadcast_to(column[layer], shape) for column in columns))

    def range(self, grid: Grid, below: int = 0) -> Range:
        """Over all layers that lie in the grid, or in its planes from one on."""
        h = grid.spacing_m
        tops = np.maximum(np.concatenate([[0], self.interfaces_m]), below * h)
        ends = np.concatenate([self.interfaces_m, [np.inf]])
        here = (tops < grid.size_m[2] - SAME_DEPTH * h) & (ends > below * h + SAME_DEPTH * h)
        origin = np.zeros(1)
        for number in np.flatnonzero(here):
            at = origin, origin, tops[number : number + 1]
            check_material(self.raw(grid, *at), *at, water=self.water, where=f"{self.where}: layer {number + 1}")
        tops = tops[here]
        return Range.of(self.at(grid, origin, origin, tops))

    def subsamples(self, grid: Grid) -> Subsamples:
        """As few along z as put every interface between two parts of half cells: fields of a cell also lie at its faces."""
        at = self.interfaces_m[self.interfaces_m < grid.size_m[2]] / grid.spacing_m
        for parts in range(2, PARTS + 1, 2):
            if np.allclose(at * parts, np.round(at * parts), rtol=0, atol=1e-6):
                return 1, 1, parts
        return 1, 1, PARTS


def wrong_unit(row: Sequence[float]) -> str:
    """What of a row of layers is so small that it must be in km/s or g/cm^3, and what is allowed; "" where nothing is."""
    for name, value in zip(("vp", "vs"), row[1:3], strict=True):
        if 0 < value < SLOWEST_ROCK_M_S:
            return f"{name} = {value:g} m/s; allowed: {SLOWEST_ROCK_M_S:g} or more (m/s, not km/s?)"
    if 0 < row[3] < LIGHTEST_ROCK_KG_M3:
        return f"rho = {row[3]:g} kg/m^3; allowed: {LIGHTEST_ROCK_KG_M3:g} or more (kg/m^3, not g/cm^3?)"
    return ""


def read_layers(path: str | os.PathLike[str], **common: object) -> Layers:
    """Layers of a text file with a row for each; # begins a comment. UserError names the row."""
    rows: list[tuple[float, ...]] = []
    places: list[str] = []
    for place, line, words in numbered_rows(Path(path), "a text file of layers"):
        try:
            row = tuple(map(float, words))
        except ValueError:
            row = ()
        if len(row) not in (4, 6) or not all(map(math.isfinite, row)):
            raise UserError(
                f"{place}: '{line}'; allowed: thickness in m, vp and vs in m/s, rho in kg/m^3, and perhaps qp and qs"
            )
        rows.append(row)
        places.append(place)
    if not rows:
        raise UserError(f"{path}: no layers; allowed: one or more rows of thickness_m vp vs rho [qp qs]")
    found = Layers(rows=tuple(rows), where=str(path), **common)  # type: ignore[arg-type]
    for place, row in zip(places, rows, strict=True):
        if wrong := wrong_unit(row):
            raise UserError(f"{place}: {wrong}")
    return found


def check_material(
    material: Material, x: ArrayLike, y: ArrayLike, z: ArrayLike, *, water: bool, where: str = "media"
) -> None:
    """UserError for the first point at which the ground cannot be so."""
    vp, vs, rho, fields = material.vp, material.vs, material.rho, material.fields().items()
    land = "above 0 m/s, or [media] water = true where water is meant"
    fastest = np.float32(math.sqrt(0.5) * (1 + 1e-6))
    with np.errstate(invalid="ignore"):
        wrong: Sequence[tuple[str, Field, NDArray[np.bool_], str]] = (
            *((name, one, ~np.isfinite(one), "a finite number everywhere in the grid") for name, one in fields),
            ("rho", rho, rho <= 0, "a density above 0 kg/m^3"),
            ("vp", vp, vp <= 0, "a velocity above 0 m/s"),
            ("vs", vs, vs < 0, "0 m/s (water) or more"),
            ("vs", vs, (vs == 0) & (not water), land),
            ("vs", vs, vs > vp * fastest, "at most vp / sqrt(2), so that lambda is not negative"),
            *((name, one, one <= 0, "a quality factor above 0") for name, one in fields if name.startswith("q")),
        )
    for name, values, found, allowed in wrong:
        if found.any():
            at = np.unravel_index(int(np.argmax(found)), found.shape)
            place = ", ".join(f"{float(np.broadcast_to(p, found.shape)[at]):g}" for p in (x, y, z))
            beside = f" (vp = {float(material.vp[at]):g})" if "vp /" in allowed else ""
            others = int(found.sum()) - 1
            more = f", and at {others} other points" if others > 0 else ""
            raise UserError(
                f"{where}: {name} = {float(values[at]):g}{beside} at (x, y, z) = ({place}) m{more}; allowed: {allowed}"
            )


def _raised(material: Material, slowest: float) -> Material:
    low = (material.vs > 0) & (material.vs < slowest)
    if not low.any():
        return material
    factor = np.where(low, slowest / np.where(low, material.vs, 1), 1).astype(np.float32)
    return replace(material, vs=np.where(low, np.float32(slowest), material.vs), vp=material.vp * factor)
