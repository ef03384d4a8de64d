"""Unrestricted Hartree-Fock."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from craton.errors import UserError
from craton.scf.hartree_fock import HartreeFock, Matrix


class UHF(HartreeFock):
    """Unrestricted Hartree-Fock (J. A. Pople and R. K. Nesbet, J. Chem. Phys. 22, 571, 1954): orbitals of their own for
    electrons of each spin, as many as the molecule's multiplicity says; settings and results as HartreeFock has them, arrays
    with the spin first: mo_energy (2, orbitals), mo_coeff (2, n, orbitals), make_rdm1() (2, n, n)."""

    def _occupations(self) -> tuple[tuple[int, ...], float]:
        return self.molecule.electrons_of_spins, 1.0

    def _shown(self, channels: Sequence[Any]) -> Any:
        return np.stack(channels)

    def _channels(self, density: Matrix) -> list[Matrix]:
        """One density for both spins is divided between them as their electrons are."""
        size, found = self.basis.size, np.array(density, dtype=np.float64)
        if found.shape == (size, size):
            return [each / sum(self._occupied) * found for each in self._occupied]
        if found.shape != (2, size, size):
            shape = " x ".join(map(str, found.shape))
            raise UserError(f"densities are {shape}; allowed: 2 x {size} x {size}")
        return [found[0], found[1]]

    def spin_square(self) -> tuple[float, float]:
        """<S^2> of the determinant, and the multiplicity that it would belong to (A. Szabo and N. S. Ostlund, Modern Quantum
        Chemistry, equation 2.271): higher than the molecule's where other spins are mixed in."""
        up, down = self._orbital_densities()
        overlap = self.get_ovlp()
        (more, fewer), shared = self._occupied, np.vdot(up @ overlap, (down @ overlap).T)
        square = ((more - fewer) / 2) ** 2 + (more + fewer) / 2 - float(shared)
        return square, float(np.sqrt(4 * square + 1))
