"""Restricted open-shell Hartree-Fock: electrons of both spins share orbitals, some of which have one electron only."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton.scf.iteration.orthonormal import OrthonormalFunctions
from craton.scf.iteration.spins import UHF
from craton.scf.iteration.steering import Steering


class ROHF(UHF):
    """Restricted open-shell Hartree-Fock of a high spin: the open orbitals' electrons all have spin up.

    Settings and results are as HartreeFock has them: mo_energy and mo_occ (orbitals), of which mo_occ is 2, 1 or 0, mo_coeff (n,
    orbitals), make_rdm1() (2, n, n). <S^2> is that of the spin, exactly. Orbital energies are those of the Fock matrix that the
    iterations use (M. F. Guest and V. R. Saunders, Mol. Phys. 28, 819, 1974): the mean of both spins', but between closed and
    open orbitals that of spin down, between open and virtual ones that of spin up. Total energies do not depend on that choice.
    """

    def _effective(
        self, focks: list[Any], projectors: Sequence[Any], functions: OrthonormalFunctions
    ) -> tuple[list[Any], list[Any]]:
        """One Fock matrix of both spins; its error has the derivative by rotations of the orbitals into each other.

        With projectors C on closed, O on open, V on virtual orbitals, and half the difference D of up and down, it is their mean
        and O D V + V D O - C D O - O D C.
        """
        algebra = self.engine.algebra
        (up, down), (both, closed) = focks, projectors
        with algebra.work(up, 4) as [half, opened, left, right]:
            algebra.combine(half, [(0.5, up), (-0.5, down)])
            algebra.combine(opened, [(1.0, both), (-1.0, closed)])
            mean = down
            algebra.combine(mean, [(0.5, up)], keep=0.5)
            # O D (V - C), with V = 1 - both, and its transpose
            algebra.combine(left, [(-1.0, both), (-1.0, closed)], identity=1.0)
            algebra.product(half, left, right)
            algebra.product(opened, right, left)
            algebra.transpose(left, right)
            algebra.combine(mean, [(1.0, left), (1.0, right)], keep=1.0)
        algebra.give(up)
        error, more = (functions.error(mean, each) for each in projectors)
        algebra.combine(error, [(1.0, more)], keep=1.0)
        algebra.give(more)
        return [mean], [error]

    def _steered(
        self, steering: Steering, cycle: int, focks: list[Any], errors: list[Any], projectors: Sequence[Any]
    ) -> list[Any]:
        """Open orbitals are raised by half the shift."""
        algebra = self.engine.algebra
        both, closed = projectors
        with algebra.work(both) as [mean]:
            algebra.combine(mean, [(0.5, both), (0.5, closed)])
            return steering.steered(cycle, focks, errors, [mean])

    def _set_orbitals(self, focks: Sequence[Any], orthogonal: Any) -> None:
        algebra = self.engine.algebra
        found: tuple[Any, Any] = algebra.eigh(focks[0])
        self.mo_energy, vectors = found
        self.mo_coeff = algebra.take(orthogonal)  # and never given back
        algebra.product(orthogonal, vectors, self.mo_coeff)
        algebra.give(vectors)
        number = np.arange(len(self.mo_energy))
        self.mo_occ = np.sum([np.where(number < occupied, 1.0, 0.0) for occupied in self._occupied], axis=0)

    def _filled_orbitals(self) -> Iterator[tuple[Any, NDArray[np.float64]]]:
        for least in (1, 2):
            yield self.mo_coeff, np.where(self.mo_occ >= least, 1.0, 0.0)

    def _split(self, shown: Any) -> list[Any]:
        return [shown]

    def spin_square(self) -> tuple[float, float]:
        """<S^2> of the determinant and its multiplicity: those of the spin."""
        spin = (self._occupied[0] - self._occupied[1]) / 2
        return spin * (spin + 1), 2 * spin + 1
