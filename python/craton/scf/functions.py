"""Values of Gaussian functions, orbitals and densities at points."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from craton.scf.basis_sets import PlacedShell, function_count
from craton.scf.molecule import Molecule

Array = NDArray[np.float64]

POINTS_AT_ONCE = 4096
NEGLIGIBLE = 1e-17
"""A primitive's exponential below this is 0."""


def primitive_norm(momentum: int, exponent: float | Array) -> Array:
    """What r^l exp(-a r^2) is multiplied with so that its square, times r^2, integrates to 1."""
    power = momentum + 1.5
    return np.sqrt(2 * (2 * np.asarray(exponent)) ** power / math.gamma(power))


def normalised_contractions(shell: PlacedShell) -> Array:
    """(contractions, primitives): coefficients of normalised primitives in functions of norm 1, or whose radial parts have it."""
    momentum = shell.momentum
    a, rows = np.array(shell.exponents), np.array(shell.contractions)
    norms = primitive_norm(momentum, a)
    overlap = np.outer(norms, norms) / primitive_norm(momentum, (a[:, None] + a) / 2) ** 2
    squares: Array = np.einsum("cp,pq,cq->c", rows, overlap, rows)
    return rows / np.sqrt(squares)[:, None]


def values(molecule: Molecule, shells: list[PlacedShell], points_bohr: Array) -> Array:
    """(points, n): every function at every point (points, 3), in bohr^-3/2."""
    found = np.zeros((len(points_bohr), sum(function_count(shell) for shell in shells)))
    first = 0
    angular: dict[tuple[int, int], tuple[Array, Array]] = {}
    for shell in shells:
        atom, momentum, exponents = shell.atom, shell.momentum, shell.exponents
        if (atom, momentum) not in angular:
            away = points_bohr - molecule.positions_bohr[atom]
            angular[atom, momentum] = np.sum(away**2, axis=1), angular_values(momentum, away, shell.cartesian)
        square, of_angles = angular[atom, momentum]
        near = np.flatnonzero(min(exponents) * square < -math.log(NEGLIGIBLE))
        count = function_count(shell)
        if len(near):
            coefficients = normalised_contractions(shell) * primitive_norm(momentum, np.array(exponents))
            radial = np.exp(-np.outer(square[near], exponents)) @ coefficients.T
            part = radial[:, :, None] * of_angles[near][:, None, :]
            found[near, first : first + count] = part.reshape(len(near), count)
        first += count
    return found


def orbital_values(molecule: Molecule, shells: list[PlacedShell], coefficients: Array, points_bohr: Array) -> Array:
    """An orbital at points (..., 3)."""
    flat = points_bohr.reshape(-1, 3)
    parts = [values(molecule, shells, flat[part]) @ coefficients for part in _parts(len(flat))]
    return np.concatenate(parts).reshape(points_bohr.shape[:-1])


def summed_squares(molecule: Molecule, shells: list[PlacedShell], coefficients: Array, points_bohr: Array) -> Array:
    """Sum of the squares of several orbitals, the columns of coefficients, at points (..., 3), in bohr^-3."""
    flat = points_bohr.reshape(-1, 3)
    parts = [np.square(values(molecule, shells, flat[part]) @ coefficients).sum(axis=1) for part in _parts(len(flat))]
    return np.concatenate(parts).reshape(points_bohr.shape[:-1])


def _parts(count: int) -> Iterator[slice]:
    return (slice(first, first + POINTS_AT_ONCE) for first in range(0, count, POINTS_AT_ONCE))


def cartesian_powers(momentum: int) -> list[tuple[int, int, int]]:
    """Of x, y and z in the Cartesian functions of an angular momentum, in their order."""
    return [(i, j, momentum - i - j) for i in range(momentum, -1, -1) for j in range(momentum - i, -1, -1)]


def cartesian_norms(momentum: int) -> Array:
    """Of the Cartesian functions of an angular momentum whose radial part has norm 1."""
    if momentum < 2:
        return np.ones(2 * momentum + 1)
    odd = [math.prod(range(1, 2 * n, 2)) for n in range(momentum + 1)]  # (2n - 1)!!
    squares = [
        odd[i] * odd[j] * odd[k] / (odd[momentum] * (2 * momentum + 1)) for i, j, k in cartesian_powers(momentum)
    ]
    return np.sqrt(4 * math.pi * np.array(squares))


def harmonics_of_powers(momentum: int) -> Array:
    """(Cartesian functions, 2 l + 1): the real solid harmonics as sums of Cartesian functions."""
    points = np.random.default_rng(momentum).normal(size=(64, 3))  # any of them: both are polynomials of degree l
    wanted, given = harmonics(momentum, points), angular_values(momentum, points, True)
    return np.asarray(np.linalg.lstsq(given, wanted, rcond=None)[0])


def angular_values(momentum: int, away: Array, cartesian: bool) -> Array:
    """(points, functions): the angular parts of a contraction's functions, with powers of the distance."""
    if momentum < 2 or not cartesian:
        return harmonics(momentum, away)
    x, y, z = away.T
    return np.stack([x**i * y**j * z**k for i, j, k in cartesian_powers(momentum)], axis=1)


def harmonics(momentum: int, away: Array) -> Array:
    """(points, 2 l + 1): real solid harmonics r^l Y_lm, normalised on the sphere, m = -l ... l, but x, y, z for l = 1.

    By the recurrences of T. Helgaker, P. Jorgensen and J. Olsen, Molecular Electronic-Structure Theory, 6.4.70 to 6.4.73.
    """
    x, y, z = away.T
    square = x * x + y * y + z * z
    known = {(0, 0): np.ones(len(away))}
    for n in range(momentum):
        ends = math.sqrt((2 if n == 0 else 1) * (2 * n + 1) / (2 * n + 2))
        cosine, sine = known[n, n], known[n, -n] if n else np.zeros(len(away))
        known[n + 1, n + 1] = ends * (x * cosine - y * sine)
        known[n + 1, -n - 1] = ends * (y * cosine + x * sine)
        for m in range(-n, n + 1):
            below = math.sqrt((n + m) * (n - m)) * square * known[n - 1, m] if abs(m) < n else 0.0
            known[n + 1, m] = ((2 * n + 1) * z * known[n, m] - below) / math.sqrt((n + m + 1) * (n - m + 1))
    order = [1, -1, 0] if momentum == 1 else range(-momentum, momentum + 1)
    return math.sqrt((2 * momentum + 1) / (4 * math.pi)) * np.stack([known[momentum, m] for m in order], axis=1)
