"""Unrestricted Hartree-Fock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from craton.errors import UserError
from craton.scf.iteration.hartree_fock import HartreeFock


class UHF(HartreeFock):
    """Unrestricted Hartree-Fock (J. A. Pople and R. K. Nesbet, J. Chem. Phys. 22, 571, 1954): orbitals of their own for
    electrons of each spin, as many as the molecule's multiplicity says; settings and results as HartreeFock has them, arrays
    with the spin first: mo_energy (2, orbitals), mo_coeff (2, n, orbitals), make_rdm1() (2, n, n).
    """

    def _occupations(self) -> tuple[tuple[int, ...], float]:
        return self.molecule.electrons_of_spins, 1.0

    def _shown(self, channels: Sequence[Any]) -> Any:
        return np.stack(channels) if isinstance(channels[0], np.ndarray) else list(channels)

    def _split(self, shown: Any) -> list[Any]:
        return list(shown)

    def _channels(self, density: Any) -> list[Any]:
        """One density for both spins is divided between them as their electrons are."""
        if getattr(density, "ndim", 3) == 2:
            whole = self._checked(density)
            return [each / sum(self._occupied) * whole for each in self._occupied]
        if len(density) != 2:
            size, shape = self.basis.size, " x ".join(map(str, np.shape(density)))
            raise UserError(f"densities are {shape}; allowed: 2 x {size} x {size}")
        return [self._checked(each) for each in density]

    def spin_square(self) -> tuple[float, float]:
        """<S^2> of the determinant, and the multiplicity that it would belong to (A. Szabo and N. S. Ostlund, Modern Quantum
        Chemistry, equation 2.271): higher than the molecule's where other spins are mixed in.
        """
        overlap, algebra = self.get_ovlp(), self.engine.algebra
        more, fewer = self._occupied
        # tr(D S D' S), of densities that are symmetric
        first, second = (self.engine.matrix() for _ in range(2))
        up, down = self._orbital_densities()
        algebra.product(overlap, up, first)
        algebra.product(down, overlap, second)
        [shared] = algebra.inner([(first, second)])
        square = ((more - fewer) / 2) ** 2 + (more + fewer) / 2 - shared
        return square, float(np.sqrt(4 * square + 1))
