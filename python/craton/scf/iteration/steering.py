"""Damping, DIIS, level shift: from the Fock matrices of an iteration to those whose orbitals come next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from craton.scf.iteration.diis import DIIS


class Steering:
    """Keeps what it needs of the iterations before. All matrices are among orthonormal functions."""

    def __init__(
        self, algebra: Any, weight: float, *, diis_space: int, diis_start: int, damp: float, level_shift: float
    ) -> None:
        """weight: electrons in an occupied orbital. The others as settings of HartreeFock."""
        self._algebra, self._weight = algebra, weight
        self._room, self._start, self._damp, self._shift = diis_space, diis_start, damp, level_shift
        self._diis = DIIS(diis_space, algebra)
        self._before: list[Any] = []
        self._kept: list[Any] = []

    def steered(self, cycle: int, focks: list[Any], errors: list[Any], inner: Sequence[Any]) -> list[Any]:
        """Steered Fock matrices, in work arrays. Takes the given ones and their errors over, unchanged until the next call."""
        algebra = self._algebra
        found = [algebra.take(each) for each in focks]
        if self._room and cycle >= self._start:
            self._diis.update(focks, errors, found)
        else:
            damp = self._damp if self._before else 0.0
            for to, fock, before in zip(found, focks, self._before or focks, strict=True):
                algebra.combine(to, [(1 - damp, fock), (damp, before)])
            algebra.give(*self._kept)
            self._kept = [*focks, *errors]
        if self._damp:
            self._remember(found)
        if self._shift:
            # 1 - P is the identity on what is orthogonal to all occupied orbitals, 0 on them
            for fock, projector in zip(found, inner, strict=True):
                algebra.combine(fock, [(-self._shift / self._weight, projector)], keep=1.0, identity=self._shift)
        return found

    def _remember(self, focks: Sequence[Any]) -> None:
        self._before = self._before or [self._algebra.take(each) for each in focks]
        for kept, fock in zip(self._before, focks, strict=True):
            self._algebra.combine(kept, [(1.0, fock)])
