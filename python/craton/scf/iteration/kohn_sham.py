"""Kohn-Sham density functional theory: the iteration of Hartree-Fock with a functional in place of some or all of the exchange."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.scf.functionals.grid import GRIDS, Grid, make_grid
from craton.scf.functionals.integrals import Integrator
from craton.scf.functionals.libxc import Functional
from craton.scf.iteration.hartree_fock import HartreeFock
from craton.scf.iteration.spins import RHF, UHF

__all__ = ["RKS", "UKS", "KohnSham"]


class KohnSham(HartreeFock):
    """What RKS and UKS have beyond HartreeFock's settings and results.

    Settings:

        xc                  the functional: lda, pbe, blyp, b3lyp, pbe0 ... or names of libxc joined by "+" ("b3lyp")
        grid                "coarse", "medium" or "fine", or a Grid ("medium")

    Results: electrons, the integral of the density over the grid; how far it is from the true number tells how good the grid is.

    Energies are those of hartree_fock.py with a_x K in place of K, a_x the functional's part of exact exchange, and the integral of
    the functional. Over a world each rank has whole densities while the functional is integrated, and its share of the grid.
    """

    SETTINGS = [*HartreeFock.SETTINGS, "xc", "grid"]

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self.xc = "b3lyp"
        self.grid: str | Grid = "medium"
        self.electrons = 0.0
        self._functional: Functional | None = None
        self._integrator: tuple[object, Integrator] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return super().__getstate__() | {"_functional": None, "_integrator": None}

    def check_settings(self) -> None:
        """As HartreeFock's; also for a functional that libxc has not, or Craton has not."""
        super().check_settings()
        if isinstance(self.grid, str) and self.grid not in GRIDS:
            raise UserError(f"{self.method}: grid = {self.grid}; allowed: {', '.join(GRIDS)}, or a Grid")
        self._made_functional()

    def _made_functional(self) -> Functional:
        spins = len(self._occupied)
        if self._functional is None or (self._functional.name, self._functional.spins) != (self.xc, spins):
            self._functional = Functional(self.xc, spins)
        return self._functional

    def _made_integrator(self) -> Integrator:
        key = self.grid, self.threads
        if self._integrator is None or self._integrator[0] != key:
            grid = make_grid(self.molecule, self.grid) if isinstance(self.grid, str) else self.grid
            part, parts = (0, 1) if self._world is None else (self._world.rank, self._world.size)
            self._integrator = key, Integrator(self.molecule, self.shells, self.basis, grid, part, parts, self.threads)
        return self._integrator[1]

    @property
    def _exchange_part(self) -> float:
        return self._made_functional().exact_exchange / self._weight

    def _potentials(self, densities: Sequence[Any], repulsion: Sequence[Any]) -> list[Any]:
        """What electrons do to each other: the repulsion and the functional's matrix, new ones."""
        engine: Any = self.engine
        algebra = engine.algebra
        whole = [np.ascontiguousarray(engine.whole(each)) for each in densities]
        functional, integrator = self._made_functional(), self._made_integrator()
        found = integrator.integrated(whole, functional)
        energy, electrons, matrices = found.energy, found.electrons, found.matrices
        if self._world is not None:
            energy, electrons = self._world.sum([energy, electrons]).tolist()
            matrices = [self._world.sum(each) for each in matrices]
        self.electrons = electrons
        halves = sum(float(np.vdot(a, b)) for a, b in zip(whole, matrices, strict=True)) / 2
        self._beyond = energy - halves
        made = []
        for repelled, matrix in zip(repulsion, matrices, strict=True):
            made.append(engine.taken(matrix))
            algebra.combine(made[-1], [(1.0, repelled)], keep=1.0)
        return made

    def gradient(self) -> NDArray[np.float64]:
        """There is none of density functionals yet: UserError."""
        raise UserError(f"{self.method}: no gradients of density functionals; allowed: RHF, UHF and ROHF")


class RKS(KohnSham, RHF):
    """Restricted Kohn-Sham: as RHF, with the settings of KohnSham."""


class UKS(KohnSham, UHF):
    """Unrestricted Kohn-Sham: as UHF, with the settings of KohnSham."""
