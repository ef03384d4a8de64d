"""Whether the energy of converged orbitals is a minimum: the lowest curvature by rotations of occupied into virtual orbitals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.sparse.linalg import LinearOperator, eigsh

from craton.errors import UserError
from craton.scf.engines.local import LocalEngine
from craton.scf.iteration.hartree_fock import HartreeFock
from craton.scf.iteration.kohn_sham import KohnSham
from craton.scf.iteration.restricted_open import ROHF
from craton.scf.iteration.spins import RHF

__all__ = ["Stability", "stability"]

Matrix = NDArray[np.float64]

UNSTABLE = -1e-5
"""Curvatures below it, in hartree, are no rounding."""
TURNS = (0.2, 0.4, 0.6, 0.8)
"""Lengths of rotations, in radian, along a direction in which the energy falls: the lowest is taken. From nearby, iterations may go
back to where the curvature was found."""
ACCURACY = 1e-4
"""Of the curvature, as a part of it."""


@dataclass(frozen=True)
class Stability:
    """Lowest curvatures, in hartree per square radian; negative: the energy falls along that rotation."""

    internal: float
    """among orbitals of the same kind"""
    external: float | None
    """of RHF into UHF, where the spins turn apart; None of UHF"""
    begin: Matrix | None
    """a density beyond the steepest fall, None where there is none: (n, n) for RHF.kernel, (2, n, n) for UHF.kernel"""

    @property
    def stable(self) -> bool:
        """A minimum."""
        return self.begin is None


def stability(calculation: HartreeFock) -> Stability:
    """The curvatures at a converged calculation's orbitals, which are real.

    Where the energy falls, UHF(...).kernel(found.begin) (RHF where the internal one is lower) goes on from there. Needs some tens
    of Fock builds. UserError of ROHF, of a calculation over a world, and where it has not converged. Source: R. Seeger and J. A.
    Pople, J. Chem. Phys. 66, 3045 (1977).
    """
    if isinstance(calculation, ROHF | KohnSham):
        raise UserError(f"stability: of {calculation.method}; allowed: of RHF and UHF")
    if calculation._world is not None:
        raise UserError("stability: of a calculation over a world; allowed: without a world")
    if not calculation.converged:
        raise UserError("stability: the calculation has not converged; allowed: after a run() that does")
    spaces = [
        _Space(
            coefficients[:, occupations > 0],
            coefficients[:, occupations == 0],
            energies[occupations > 0],
            energies[occupations == 0],
        )
        for coefficients, occupations, energies in zip(
            *map(calculation._split, (calculation.mo_coeff, calculation.mo_occ, calculation.mo_energy)), strict=True
        )
    ]
    if all(each.size == 0 for each in spaces):  # nothing may turn
        return Stability(np.inf, np.inf if isinstance(calculation, RHF) else None, None)

    engine = calculation.engine
    assert isinstance(engine, LocalEngine)
    response = engine.build

    if not isinstance(calculation, RHF):
        internal, turns = _lowest(spaces, lambda d: _unrestricted(response, d))
        if internal >= UNSTABLE:
            return Stability(internal, None, None)
        ways = [np.stack([each.turned(a * turn) for each, turn in zip(spaces, turns, strict=True)]) for a in TURNS]
        return Stability(internal, None, _lowest_of(ways, calculation))
    [space] = spaces
    internal, [along] = _lowest(spaces, lambda d: _both_alike(response, d))
    external, [apart] = _lowest(spaces, lambda d: _apart(response, d))
    begin = None
    if min(internal, external) < UNSTABLE:
        ways = [
            2 * space.turned(a * along)
            if internal < external
            else np.stack([space.turned(a * apart), space.turned(-a * apart)])
            for a in TURNS
        ]
        begin = _lowest_of(ways, calculation)
    return Stability(internal, external, begin)


def _lowest_of(densities: Sequence[Matrix], calculation: HartreeFock) -> Matrix:
    engine = calculation.engine
    assert isinstance(engine, LocalEngine)
    core = engine.core()

    def energy(density: Matrix) -> float:
        """Without the nuclei's."""
        spins = list(density) if density.ndim == 3 else [density / 2, density / 2]
        coulomb, exchange = engine.build(spins)
        repelled = sum(float(np.vdot(each, coulomb - of)) for each, of in zip(spins, exchange, strict=True))
        return float(np.vdot(np.sum(spins, axis=0), core)) + repelled / 2

    return min(densities, key=energy)


Responses = Callable[[Sequence[Matrix]], list[Matrix]]
Build = Callable[[Sequence[Matrix]], tuple[Matrix, list[Matrix]]]


def _both_alike(build: Build, densities: Sequence[Matrix]) -> list[Matrix]:
    coulomb, [exchange] = build(densities)
    return [2 * coulomb - exchange]


def _apart(build: Build, densities: Sequence[Matrix]) -> list[Matrix]:
    _, [exchange] = build(densities)
    return [-exchange]


def _unrestricted(build: Build, densities: Sequence[Matrix]) -> list[Matrix]:
    coulomb, exchange = build(densities)
    return [coulomb - each for each in exchange]


@dataclass(frozen=True)
class _Space:
    """Orbitals of one spin and their energies."""

    occupied: Matrix
    virtual: Matrix
    occupied_energy: Matrix
    virtual_energy: Matrix

    @property
    def size(self) -> int:
        return int(self.occupied.shape[1] * self.virtual.shape[1])

    @property
    def gaps(self) -> Matrix:
        return np.subtract.outer(self.virtual_energy, self.occupied_energy)

    def density(self, turn: Matrix) -> Matrix:
        """The change of the density."""
        half = self.virtual @ turn @ self.occupied.T
        return half + half.T

    def among(self, matrix: Matrix) -> Matrix:
        return self.virtual.T @ matrix @ self.occupied

    def turned(self, turn: Matrix) -> Matrix:
        """The density of occupied orbitals that are turned, one electron in each."""
        count = self.occupied.shape[1]
        both = np.hstack([self.occupied, self.virtual])
        angles = np.zeros((both.shape[1],) * 2)
        angles[count:, :count], angles[:count, count:] = turn, -turn.T
        new = (both @ scipy.linalg.expm(angles))[:, :count]
        return np.asarray(new @ new.T)


def _lowest(spaces: Sequence[_Space], respond: Responses) -> tuple[float, list[Matrix]]:
    """The least eigenvalue of the orbitals' Hessian, and its direction for each spin, of length 1 together."""
    sizes = [each.size for each in spaces]
    cuts = np.cumsum(sizes)[:-1]

    def parts(vector: Matrix) -> list[Matrix]:
        return [part.reshape(each.gaps.shape) for part, each in zip(np.split(vector, cuts), spaces, strict=True)]

    def apply(vector: Matrix) -> Matrix:
        turns = parts(vector.ravel())
        changes = [each.density(turn) for each, turn in zip(spaces, turns, strict=True)]
        found = [
            each.gaps * turn + each.among(response)
            for each, turn, response in zip(spaces, turns, respond(changes), strict=True)
        ]
        return np.concatenate([each.ravel() for each in found])

    size = sum(sizes)
    if size < 3:  # too few for Lanczos
        values, vectors = np.linalg.eigh(np.array([apply(unit) for unit in np.eye(size)]))
    else:
        gaps = np.concatenate([each.gaps.ravel() for each in spaces])
        start = 1 / np.maximum(gaps, 0.1)  # the softest rotations, of any sign: no symmetry hides one
        start *= np.random.default_rng(1).uniform(0.5, 1.0, size) * np.random.default_rng(2).choice([-1, 1], size)
        operator = LinearOperator((size, size), matvec=apply, dtype=np.float64)
        values, vectors = eigsh(operator, k=1, which="SA", v0=start, tol=ACCURACY)
    return float(values[0]), parts(vectors[:, 0])
