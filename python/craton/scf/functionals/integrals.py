"""Exchange-correlation energies and matrices of densities, integrated over a grid."""

from __future__ import annotations

import math
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from craton._craton import FunctionValues, GaussianBasis
from craton.scf.basis_sets import PlacedShell
from craton.scf.functionals.grid import Grid
from craton.scf.functionals.libxc import Functional
from craton.scf.functions import primitive_norm
from craton.scf.molecule import Molecule

__all__ = ["Integrated", "Integrator", "reaches"]

Array = NDArray[np.float64]

POINTS_AT_ONCE = 2048
NEGLIGIBLE = 1e-12
"""Values of functions below it, in bohr^-3/2, are taken for 0."""


@dataclass(frozen=True)
class Integrated:
    """Energy in hartree, electrons, and the matrix of each density (n, n), in hartree."""

    energy: float
    electrons: float
    matrices: list[Array]


class Integrator:
    """The points of one part of a grid, and the shells that reach them. Any thread; not collective."""

    def __init__(
        self,
        molecule: Molecule,
        shells: list[PlacedShell],
        basis: GaussianBasis,
        grid: Grid,
        part: int = 0,
        parts: int = 1,
        threads: int = 1,
    ) -> None:
        """Part of parts: blocks of points are dealt out in turn; the parts' results add up to the whole."""
        self._values, self._grid, self._threads = FunctionValues(basis), grid, threads
        first = np.asarray(basis.first_function)
        self._first, self._size = first, int(first[-1])
        self._blocks = [
            slice(begin, min(begin + POINTS_AT_ONCE, grid.size))
            for begin in range(part * POINTS_AT_ONCE, grid.size, parts * POINTS_AT_ONCE)
        ]
        reach = reaches(shells)
        atoms = np.array([shell[0] for shell in shells])
        self._shells: list[list[int]] = []
        self._functions: list[NDArray[np.int64]] = []
        for block in self._blocks:
            points = grid.points_bohr[:, block]
            low, high = points.min(axis=1), points.max(axis=1)
            outside = np.maximum(0, np.maximum(low - molecule.positions_bohr, molecule.positions_bohr - high))
            near = np.flatnonzero(np.linalg.norm(outside, axis=1)[atoms] < reach).tolist()
            self._shells.append(near)
            numbers = [np.arange(first[s], first[s + 1]) for s in near]
            self._functions.append(np.concatenate(numbers) if numbers else np.zeros(0, np.int64))

    def integrated(self, densities: Sequence[Array], functional: Functional) -> Integrated:
        """densities: (n, n) symmetric, one of both spins or one for each, as the functional has them."""
        matrices = [np.zeros((self._size, self._size)) for _ in densities]
        energy = electrons = 0.0
        with ThreadPoolExecutor(self._threads) as pool:
            for n, found in enumerate(
                pool.map(lambda n: self._of_block(n, densities, functional), range(len(self._blocks)))
            ):
                energy, electrons = energy + found.energy, electrons + found.electrons
                inside = np.ix_(self._functions[n], self._functions[n])
                for matrix, part in zip(matrices, found.matrices, strict=True):
                    matrix[inside] += part
        for matrix in matrices:
            matrix += matrix.T.copy()
        return Integrated(energy, electrons, matrices)

    def _of_block(self, n: int, densities: Sequence[Array], functional: Functional) -> Integrated:
        """Matrices of the functions that reach the block, to which their transposes are to be added."""
        block, numbers = self._blocks[n], self._functions[n]
        weights = self._grid.weights[block]
        values = self._values.at(
            np.ascontiguousarray(self._grid.points_bohr[:, block]), self._shells[n], functional.needs_gradients
        )
        inside = np.ix_(numbers, numbers)
        spins = len(densities)
        density = np.zeros((len(weights), spins))
        slopes = np.zeros((spins, 3, len(weights)))
        for s, whole in enumerate(densities):
            met = whole[inside] @ values[0]
            density[:, s] = np.einsum("ip,ip->p", values[0], met)
            if functional.needs_gradients:
                slopes[s] = 2 * np.einsum("xip,ip->xp", values[1:], met)
        gradients = None
        if functional.needs_gradients:
            pairs = [(0, 0)] if spins == 1 else [(0, 0), (0, 1), (1, 1)]
            gradients = np.stack([np.einsum("xp,xp->p", slopes[a], slopes[b]) for a, b in pairs], axis=1)
        found = functional.values(np.maximum(density, 0), gradients)
        total = density.sum(axis=1)
        matrices = []
        for s in range(spins):
            half = (0.5 * weights * found.by_density[:, s]) * values[0]
            if found.by_gradients is not None:
                own, other = (0, None) if spins == 1 else (2 * s, 1)
                along = 2 * found.by_gradients[:, own] * slopes[s]
                if other is not None:
                    along = along + found.by_gradients[:, other] * slopes[1 - s]
                half += np.einsum("xp,xip->ip", weights * along, values[1:])
            matrices.append(values[0] @ half.T)
        return Integrated(float(np.dot(weights * total, found.energy)), float(np.dot(weights, total)), matrices)


def reaches(shells: list[PlacedShell]) -> Array:
    """Distances in bohr beyond which no function of a shell is above NEGLIGIBLE."""
    found = []
    for shell in shells:
        momentum, a = shell.momentum, np.array(shell.exponents)
        largest = np.abs(np.array(shell.contractions)).max(axis=0) * primitive_norm(momentum, a)
        far = math.sqrt(-math.log(NEGLIGIBLE) / a.min())
        for _ in range(20):  # r^l grows: the distance where the sum of all primitives' sizes falls below, from outside
            at = np.exp(-a * far**2) @ largest * max(far, 1.0) ** momentum * math.sqrt(2 * momentum + 1)
            if at < NEGLIGIBLE:
                break
            far *= 1.05
        found.append(far)
    return np.array(found)
