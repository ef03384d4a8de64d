"""Points and weights to integrate densities of molecules with.

Around each atom shells of points: radii of O. Treutler and R. Ahlrichs (J. Chem. Phys. 102, 346, 1995, M4), directions of V. I.
Lebedev. Space is shared among atoms with the weights of A. D. Becke (J. Chem. Phys. 88, 2547, 1988), whose cells reach by the radii
of J. C. Slater (J. Chem. Phys. 41, 3199, 1964).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.scf.molecule import BOHR_ANGSTROM, NUMBERS, Molecule

__all__ = ["GRIDS", "Grid", "becke_share", "directions", "make_grid", "radii"]

Array = NDArray[np.float64]

GRIDS = {"coarse": ((30, 40, 50, 60), 17), "medium": ((50, 75, 95, 110), 29), "fine": ((80, 110, 130, 150), 41)}
"""Radii of atoms of the first period, the second, the third, all others; the degree that the directions integrate exactly."""
PERIODS = (2, 10, 18)
"""The last atomic numbers of periods."""

ATOM_RADII_ANGSTROM = [
    0.35, 1.4, 1.45, 1.05, 0.85, 0.7, 0.65, 0.6, 0.5, 1.5, 1.8, 1.5, 1.25, 1.1, 1.0, 1.0, 1.0, 1.8, 2.2, 1.8, 1.6, 1.4, 1.35,
    1.4, 1.4, 1.4, 1.35, 1.35, 1.35, 1.35, 1.3, 1.25, 1.15, 1.15, 1.15, 1.9, 2.35, 2.0, 1.8, 1.55, 1.45, 1.45, 1.35, 1.3, 1.35,
    1.4, 1.6, 1.55, 1.55, 1.45, 1.45, 1.4, 1.4, 2.1, 2.6, 2.15, 1.95, 1.85, 1.85, 1.85, 1.85, 1.85, 1.85, 1.8, 1.75, 1.75, 1.75,
    1.75, 1.75, 1.75, 1.75, 1.55, 1.45, 1.35, 1.35, 1.3, 1.35, 1.35, 1.35, 1.5, 1.9, 1.8, 1.6, 1.9, 1.45, 2.1,
]  # fmt: skip
"""Slater's, hydrogen to radon; of noble gases and others that he has not, what programs of the field take."""
STEEP = 3
"""How often Becke's polynomial is applied."""
NEGLIGIBLE = 1e-16
"""Weights below it, in cubic bohr, are left out."""
SIDE_BOHR = 2.0
"""Of boxes, by which points are sorted: neighbours in the list are neighbours in space."""


@dataclass(frozen=True)
class Grid:
    """points_bohr (3, points) and weights (points), in cubic bohr; neighbours in the list are neighbours in space."""

    points_bohr: Array
    weights: Array

    @property
    def size(self) -> int:
        """Number of points."""
        return len(self.weights)


def make_grid(molecule: Molecule, name: str = "medium") -> Grid:
    """The grid of a molecule, one of GRIDS. UserError for another name, elements beyond radon, and a SciPy without directions."""
    if name not in GRIDS:
        raise UserError(f"grid '{name}'; allowed: {', '.join(GRIDS)}")
    numbers = [NUMBERS[each] for each in molecule.symbols]
    if max(numbers) > len(ATOM_RADII_ANGSTROM):
        raise UserError(f"grid: element {molecule.symbols[int(np.argmax(numbers))]}; allowed: H to Rn")
    around, of_directions = directions(GRIDS[name][1])
    points, weights = [], []
    for atom, number in enumerate(numbers):
        counts = GRIDS[name][0]
        r, of_radii = radii(counts[sum(number > last for last in PERIODS)])
        its = molecule.positions_bohr[atom] + (r[:, None, None] * around.T).reshape(-1, 3)
        share = becke_share(molecule, its, atom)
        points.append(its)
        weights.append((of_radii[:, None] * of_directions).ravel() * share)
    where, weight = np.concatenate(points), np.concatenate(weights)
    kept = weight > NEGLIGIBLE
    where, weight = where[kept], weight[kept]
    box = np.floor((where - where.min(axis=0)) / SIDE_BOHR).astype(np.int64)
    order = np.lexsort(box.T)
    return Grid(np.ascontiguousarray(where[order].T), np.ascontiguousarray(weight[order]))


def directions(degree: int) -> tuple[Array, Array]:
    """(3, directions) and weights, 4 pi together, that integrate polynomials of such a degree exactly.

    UserError without SciPy 1.15.
    """
    try:
        from scipy.integrate import lebedev_rule
    except ImportError:
        raise UserError("grid: this SciPy has no Lebedev rules; allowed: SciPy 1.15 or newer") from None
    found, weights = lebedev_rule(degree)
    return np.asarray(found), np.asarray(weights)


def radii(count: int) -> tuple[Array, Array]:
    """Radii and weights with r^2 in them: points of Chebyshev, x = cos(n pi / (count + 1)), mapped by M4 with alpha = 0.6."""
    angles = np.arange(1, count + 1) * math.pi / (count + 1)
    x = np.cos(angles)
    scale = (1 + x) ** 0.6 / math.log(2)
    logarithm = np.log((1 - x) / 2)
    found = -scale * logarithm
    slopes = scale * (-0.6 / (1 + x) * logarithm + 1 / (1 - x))
    return found, found**2 * slopes * np.sin(angles) * math.pi / (count + 1)


def becke_share(molecule: Molecule, points: Array, atom: int) -> Array:
    """The part of each point (points, 3) that belongs to an atom; those of all atoms are 1 together."""
    positions = molecule.positions_bohr
    count = len(positions)
    distances = np.linalg.norm(points[:, None, :] - positions, axis=2)
    cells = np.ones((count, len(points)))
    for a in range(count):
        for b in range(a):
            apart = np.linalg.norm(positions[a] - positions[b])
            mu = (distances[:, a] - distances[:, b]) / apart
            mu += _shift(molecule, a, b) * (1 - mu**2)
            for _ in range(STEEP):
                mu = 1.5 * mu - 0.5 * mu**3
            cells[a] *= 0.5 * (1 - mu)
            cells[b] *= 0.5 * (1 + mu)
    total: Array = cells.sum(axis=0)
    return np.asarray(cells[atom] / total)


def _shift(molecule: Molecule, a: int, b: int) -> float:
    """Becke's a_ij: the boundary lies where radii say."""
    first, second = (ATOM_RADII_ANGSTROM[NUMBERS[molecule.symbols[n]] - 1] / BOHR_ANGSTROM for n in (a, b))
    ratio = first / second
    shift = (ratio - 1) / (ratio + 1)
    found = shift / (shift**2 - 1)
    return max(-0.5, min(0.5, found))
