"""A picture of an orbital: where it is positive and negative, as surfaces around the molecule."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from craton.pages.figures import new_figure, save_picture
from craton.pages.style import drawing
from craton.scf.functions import orbital_values
from craton.scf.molecule import BOHR_ANGSTROM, Molecule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from craton.scf.files.orbitals import Orbitals

Array = NDArray[np.float64]

ENCLOSED = 0.7
"""Share of the orbital's square inside the surfaces."""
MARGIN_BOHR = 4.5
COMPUTED_BOHR = 0.3
"""Spacing of the points at which the orbital is computed; between them it is a cubic spline."""
FINER_DEPTHS = 2
PIXELS = 520
"""Pixels along the longer side, before the margin is cut off."""
MARGIN_PIXELS = 12
MOST_POINTS = 600_000
TILT = np.radians(35)
LIGHT = np.array([-0.35, 0.45, 0.82])
POSITIVE, NEGATIVE = (0.80, 0.16, 0.14), (0.16, 0.32, 0.78)
BOND_RADIUS, ATOM_RADIUS, SMALLEST_ATOM = 0.28, 0.38, 0.45
"""Bohr; an atom's in units of its covalent radius, and at least."""
BOND_STRETCH = 1.25
"""Atoms nearer than this times the sum of their covalent radii are joined."""
COVALENT_ANGSTROM = {
    "H": 0.31, "He": 0.28, "Li": 1.28, "Be": 0.96, "B": 0.84, "C": 0.76, "N": 0.71, "O": 0.66, "F": 0.57, "Ne": 0.58,
    "Na": 1.66, "Mg": 1.41, "Al": 1.21, "Si": 1.11, "P": 1.07, "S": 1.05, "Cl": 1.02, "Ar": 1.06,
}  # fmt: skip
"""B. Cordero et al., Dalton Trans. 2832 (2008)."""
OTHER_ANGSTROM = 1.4
COLOURS = {
    "H": (0.93, 0.93, 0.93), "C": (0.35, 0.35, 0.35), "N": (0.25, 0.35, 0.85), "O": (0.85, 0.2, 0.15),
    "F": (0.5, 0.8, 0.3), "Cl": (0.3, 0.75, 0.3), "S": (0.9, 0.8, 0.2), "P": (0.95, 0.55, 0.1),
}  # fmt: skip
OTHER_COLOUR = (0.75, 0.55, 0.7)


def draw_orbital(
    calculation: Orbitals, path: str | Path | None = None, which: str | int = "homo", spin: int = 0
) -> Figure:
    """orbital_figure, also written to a file where a path is given. UserError also for a file that cannot be written."""
    figure = orbital_figure(calculation, which, spin)
    if path is not None:
        save_picture(figure, Path(path))
    return figure


@drawing
def orbital_figure(calculation: Orbitals, which: str | int = "homo", spin: int = 0) -> Figure:
    """The orbital seen across the molecule's flattest direction, red where it is positive, blue where it is negative.

    Its sign as a whole means nothing. which, spin: as HartreeFock.orbital. Not collective. UserError for an orbital that is not
    there.
    """
    coefficients, number = calculation.orbital(which, spin)
    molecule = calculation.molecule
    axes, centre = _view(molecule)
    seen = (molecule.positions_bohr - centre) @ axes.T
    low, spacing, field = _field(calculation, coefficients, axes, centre, seen)
    level = _level(field)
    pixel = spacing * (max(field.shape[:2]) - 1) / PIXELS
    factors = np.array([spacing / pixel, spacing / pixel, FINER_DEPTHS])
    counts = np.round(factors * (np.array(field.shape) - 1)).astype(int) + 1
    scene = _Scene(low, pixel, spacing / FINER_DEPTHS, _finer(field, counts))
    scene.draw_molecule(molecule, seen)
    image = _without_margin(scene.with_surfaces(level))

    figure = new_figure(7, 7 * image.shape[0] / image.shape[1] + 0.6)
    plot = figure.add_subplot()
    plot.imshow(image, origin="lower", interpolation="bilinear")
    plot.set_axis_off()
    energies = np.atleast_2d(calculation.mo_energy)
    energy = energies[spin if len(energies) > 1 else 0, number - 1]
    name = f"{str(which).upper()} (orbital {number}" if not str(which).isdigit() else f"orbital ({number}"
    spins = f", spin {'down' if spin else 'up'}" if len(energies) > 1 else ""
    plot.set_title(
        f"{molecule.formula}, {calculation.method}/{calculation.basis_name}: {name}{spins}), {energy:.4f} hartree\n"
        f"surfaces at ±{level:.2g} bohr^-3/2, which enclose {ENCLOSED:.0%}",
    )
    return figure


def _view(molecule: Molecule) -> tuple[Array, Array]:
    """Rows: right, up, towards who looks; and the centre."""
    positions = molecule.positions_bohr
    centre = positions.mean(axis=0)
    vectors = np.linalg.eigh((positions - centre).T @ (positions - centre))[1].T[::-1]
    right, up = vectors[0], vectors[1]
    towards = np.cross(right, up)
    tilted = np.cos(TILT) * up + np.sin(TILT) * towards
    return np.stack([right, tilted, np.cross(right, tilted)]), centre


def _field(
    calculation: Orbitals, coefficients: Array, axes: Array, centre: Array, seen: Array
) -> tuple[Array, float, Array]:
    """The lowest corner, the spacing, and the orbital at [up, right, towards]."""
    low, high = seen.min(axis=0) - MARGIN_BOHR, seen.max(axis=0) + MARGIN_BOHR
    spacing = max(COMPUTED_BOHR, float(np.prod(high - low) / MOST_POINTS) ** (1 / 3))
    right, up, towards = (np.arange(a, b, spacing) for a, b in zip(low, high, strict=True))
    grid = np.stack(np.meshgrid(up, right, towards, indexing="ij"), axis=-1)[..., [1, 0, 2]]
    return low, spacing, orbital_values(calculation.molecule, calculation.shells, coefficients, grid @ axes + centre)


def _finer(field: Array, counts: NDArray[np.int64]) -> NDArray[np.float32]:
    """A cubic spline through the values at so many points from end to end: a matrix product along each axis, shortest first."""
    fine = field.astype(np.float32)
    for axis in np.argsort(counts / field.shape):
        size = field.shape[axis]
        weights = ndimage.zoom(np.eye(size), (counts[axis] / size, 1), output=np.float32, order=3)
        fine = np.moveaxis(np.tensordot(weights, fine, axes=(1, axis)), 0, axis)
    return np.ascontiguousarray(fine)


def _without_margin(image: Array) -> Array:
    """The image without the white around it, but for a narrow margin."""
    drawn = np.any(image < 1, axis=2)
    ends = []
    for axis, count in ((1, image.shape[0]), (0, image.shape[1])):
        used = np.flatnonzero(drawn.any(axis=axis))
        ends.append(slice(max(used[0] - MARGIN_PIXELS, 0), min(used[-1] + MARGIN_PIXELS + 1, count)))
    return image[ends[0], ends[1]]


def _level(field: Array) -> float:
    """The value at which surfaces enclose ENCLOSED of the orbital's square on the grid."""
    squares = np.sort(field.ravel() ** 2)[::-1]
    reached = np.searchsorted(np.cumsum(squares), ENCLOSED * squares.sum())
    return float(np.sqrt(squares[min(reached, len(squares) - 1)]))


class _Scene:
    """Colours and depths of pixels; greater depths are nearer to who looks."""

    def __init__(self, low: Array, pixel: float, step: float, field: NDArray[np.float32]) -> None:
        """field: [up, right, towards], at distances of a pixel and, towards who looks, a step."""
        self._low, self._pixel, self._step, self._field = low, pixel, step, field
        self._up = (low[1] + pixel * np.arange(field.shape[0]))[:, None]
        self._right = (low[0] + pixel * np.arange(field.shape[1]))[None, :]
        self._depth = np.full(field.shape[:2], -np.inf)
        self._colour = np.ones((*field.shape[:2], 3))

    def draw_molecule(self, molecule: Molecule, seen: Array) -> None:
        radii = np.array([COVALENT_ANGSTROM.get(s, OTHER_ANGSTROM) for s in molecule.symbols]) / BOHR_ANGSTROM
        colours = [np.array(COLOURS.get(s, OTHER_COLOUR)) for s in molecule.symbols]
        for a in range(len(seen)):
            self._ball(seen[a], max(ATOM_RADIUS * radii[a], SMALLEST_ATOM), colours[a])
            for b in range(a):
                if np.linalg.norm(seen[a] - seen[b]) < BOND_STRETCH * (radii[a] + radii[b]):
                    middle = (seen[a] + seen[b]) / 2
                    self._rod(seen[a], middle, colours[a])
                    self._rod(seen[b], middle, colours[b])

    def _ball(self, at: Array, radius: float, colour: Array) -> None:
        across, along = self._right - at[0], self._up - at[1]
        inside = across**2 + along**2 < radius**2
        height = np.sqrt(np.where(inside, radius**2 - across**2 - along**2, 0))
        normals = np.stack(np.broadcast_arrays(across, along, height), axis=-1) / radius
        self._paint(inside, at[2] + height, _shaded(colour, normals))

    def _rod(self, start: Array, end: Array, colour: Array) -> None:
        """A cylinder drawn as if it lay across the view; its tilt does not show in its shading."""
        way = end[:2] - start[:2]
        square = way @ way
        if square < 1e-12:
            return
        across, along = self._right - start[0], self._up - start[1]
        part = np.clip((across * way[0] + along * way[1]) / square, 0, 1)
        off_x, off_y = across - part * way[0], along - part * way[1]
        inside = off_x**2 + off_y**2 < BOND_RADIUS**2
        height = np.sqrt(np.where(inside, BOND_RADIUS**2 - off_x**2 - off_y**2, 0))
        normals = np.stack(np.broadcast_arrays(off_x, off_y, height), axis=-1) / BOND_RADIUS
        self._paint(inside, start[2] + part * (end[2] - start[2]) + height, _shaded(colour, normals))

    def _paint(self, inside: NDArray[np.bool_], depth: Array, colour: Array) -> None:
        nearer = inside & (depth > self._depth)
        self._depth[nearer] = depth[nearer]
        self._colour[nearer] = colour[nearer]

    def with_surfaces(self, level: float) -> Array:
        """The image (up, right, colours): the first surface of each line of sight, through which the molecule is seen faintly."""
        beyond = np.abs(self._field) > level
        count = self._field.shape[2]
        first = count - 1 - np.argmax(beyond[:, :, ::-1], axis=2)
        hit = beyond.any(axis=2)
        ups, rights = np.nonzero(hit)
        k = first[hit]
        value = self._field[ups, rights, k]
        before = np.abs(self._field[ups, rights, np.minimum(k + 1, count - 1)])
        part = (np.abs(value) - level) / np.maximum(np.abs(value) - before, 1e-300)
        part = np.clip(part, 0, 1)[:, None]
        depth = self._low[2] + self._step * (k + part[:, 0])
        nearer = np.minimum(k + 1, count - 1)
        gradients = (1 - part) * self._gradients(ups, rights, k) + part * self._gradients(ups, rights, nearer)
        outwards = -np.sign(value)[:, None] * gradients
        outwards /= np.maximum(np.linalg.norm(outwards, axis=1, keepdims=True), 1e-300)
        colour = _shaded(np.where(value[:, None] > 0, POSITIVE, NEGATIVE), outwards)
        image, behind = self._colour.copy(), self._colour[ups, rights]
        in_front = depth > self._depth[ups, rights]
        weight = np.where(in_front, 0.8, 0.0)[:, None]
        image[ups, rights] = weight * colour + (1 - weight) * behind
        return np.clip(image, 0, 1)

    def _gradients(self, *at: NDArray[np.int64]) -> Array:
        """(points, right up towards), by differences of neighbours."""
        found = []
        for axis, step in ((1, self._pixel), (0, self._pixel), (2, self._step)):
            beyond, before = list(at), list(at)
            beyond[axis] = np.minimum(at[axis] + 1, self._field.shape[axis] - 1)
            before[axis] = np.maximum(at[axis] - 1, 0)
            found.append((self._field[tuple(beyond)] - self._field[tuple(before)]) / step)
        return np.stack(found, axis=-1)


def _shaded(colour: Array, normals: Array) -> Array:
    """Matt, with a highlight."""
    light = LIGHT / np.linalg.norm(LIGHT)
    towards = np.clip(normals @ light, 0, 1)[..., None]
    return np.asarray(np.asarray(colour) * (0.45 + 0.6 * towards) + 0.35 * towards**24)
