"""Harmonic vibrations, from differences of gradients."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.scf.geometry.masses import ELECTRON_MASSES_PER_U, masses_of
from craton.scf.iteration.hartree_fock import HartreeFock
from craton.scf.properties import DEBYE

__all__ = ["Vibrations", "modes_of", "vibrations"]

Vector = NDArray[np.float64]

WAVENUMBER = 219474.6313705
"""One hartree in 1/cm (CODATA 2010)."""
KM_PER_MOL = 974.8801
"""One (e^2 / u) in km/mol: N_A pi / (3 c^2 4 pi eps0), of squared derivatives of the dipole by mass-weighted coordinates."""
STRAIGHT = 1e-4
"""Of the largest moment of inertia: the least one of a molecule whose atoms lie on a line is below it."""


@dataclass(frozen=True)
class Vibrations:
    """Modes of a molecule, the slowest first; translations and rotations are taken out."""

    frequencies_cm1: Vector
    """(modes); imaginary ones, of a geometry that is no minimum, as negative numbers"""
    modes: NDArray[np.float64]
    """(modes, atoms, 3): displacements, each of length 1"""
    intensities_km_mol: Vector
    """(modes): infrared absorption"""
    hessian: NDArray[np.float64]
    """(3 atoms, 3 atoms), in hartree per square bohr"""

    @property
    def zero_point_hartree(self) -> float:
        """Half the sum of the frequencies that are real."""
        return float(self.frequencies_cm1[self.frequencies_cm1 > 0].sum()) / (2 * WAVENUMBER)


def vibrations(
    calculation: HartreeFock, *, step_bohr: float = 5e-3, callback: Callable[[int, int], None] | None = None
) -> Vibrations:
    """Harmonic frequencies at a calculation's geometry, which should be a minimum. Collective over a world.

    Second derivatives are central differences of gradients, 6 for each atom; each begins with the density in the middle, and its
    orbital gradient is 1e-7 at most. callback: gradients that are done, and of how many. UserError as gradient().
    """
    if not 0 < step_bohr < 0.1:
        raise UserError(f"vibrations: steps of {step_bohr} bohr; allowed: above 0, below 0.1")
    if not calculation.converged:
        raise UserError("vibrations: the calculation has not converged; allowed: after a run() that does")
    molecule = calculation.molecule
    positions, density = molecule.positions_bohr, calculation.whole_rdm1()
    count = positions.size
    slopes, dipoles = np.zeros((2, count, count)), np.zeros((2, count, 3))
    for coordinate in range(count):
        for side, sign in enumerate((1, -1)):
            moved = positions.copy()
            moved.flat[coordinate] += sign * step_bohr
            found = calculation.moved(moved)
            found.conv_tol, found.conv_tol_grad = min(found.conv_tol, 1e-10), min(found.conv_tol_grad or np.inf, 1e-7)
            found.checkpoint = None
            found.kernel(density)
            slopes[side, coordinate] = found.gradient().ravel()
            dipoles[side, coordinate] = found.dipole_debye() / DEBYE
            if callback is not None:
                callback(2 * coordinate + side + 1, 2 * count)
    hessian = (slopes[0] - slopes[1]) / (2 * step_bohr)
    dipole_slopes = (dipoles[0] - dipoles[1]) / (2 * step_bohr)
    return modes_of(positions, masses_of(molecule.symbols), (hessian + hessian.T) / 2, dipole_slopes)


def modes_of(positions_bohr: Vector, masses_u: Vector, hessian: Vector, dipole_slopes: Vector) -> Vibrations:
    """Normal modes of second derivatives (3 atoms, 3 atoms).

    dipole_slopes: derivatives of the dipole, (3 atoms, 3), in e. Source: E. B. Wilson, J. C. Decius and P. C. Cross, Molecular
    Vibrations (1955), sections 2-2 and 7-9.
    """
    masses = np.repeat(masses_u * ELECTRON_MASSES_PER_U, 3)
    inside = np.linalg.qr(_rigid(positions_bohr, masses_u), mode="complete")[0]
    inside = inside[:, _rigid(positions_bohr, masses_u).shape[1] :]
    weighted = hessian / np.sqrt(np.outer(masses, masses))
    values, vectors = np.linalg.eigh(inside.T @ weighted @ inside)
    modes = (inside @ vectors) / np.sqrt(masses)[:, None]
    charges = dipole_slopes.T @ modes * math.sqrt(ELECTRON_MASSES_PER_U)  # by coordinates weighted with u
    return Vibrations(
        np.sign(values) * np.sqrt(np.abs(values)) * WAVENUMBER,
        (modes / np.linalg.norm(modes, axis=0)).T.reshape(len(values), -1, 3),
        KM_PER_MOL * np.sum(charges**2, axis=0),
        hessian,
    )


def _rigid(positions_bohr: Vector, masses_u: Vector) -> Vector:
    """Translations and rotations, mass weighted, orthonormal, in columns: six; five of a molecule on a line, three of an atom."""
    roots = np.sqrt(masses_u)
    centred = positions_bohr - masses_u @ positions_bohr / masses_u.sum()
    inertia = np.einsum("a,abc->bc", masses_u, [np.dot(x, x) * np.eye(3) - np.outer(x, x) for x in centred])
    moments, axes = np.linalg.eigh(inertia)
    motions = [np.repeat(roots, 3) * np.tile(along, len(roots)) for along in np.eye(3)]
    motions += [
        (roots[:, None] * np.cross(axis, centred)).ravel()
        for moment, axis in zip(moments, axes.T, strict=True)
        if moment > STRAIGHT * moments[-1] and moment > 0
    ]
    return np.linalg.qr(np.array(motions).T)[0]
