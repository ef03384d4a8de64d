"""The two kinds of Hartree-Fock: orbitals that electrons of both spins share, or orbitals for each spin."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from craton.errors import UserError
from craton.scf.iteration.hartree_fock import HartreeFock


class RHF(HartreeFock):
    """Restricted Hartree-Fock in the manner of PySCF; settings and results as HartreeFock has them.

    mo_energy and mo_occ (orbitals), mo_coeff (n, orbitals), make_rdm1() (n, n). UserError for an odd number of electrons and a
    multiplicity other than 1. Source: C. C. J. Roothaan, Rev. Mod. Phys. 23, 69 (1951).
    """

    def _occupations(self) -> tuple[tuple[int, ...], float]:
        electrons = self.molecule.electrons
        if electrons < 2 or electrons % 2:
            raise UserError(
                f"RHF: {electrons} electrons (charge {self.molecule.charge}); allowed: an even number, at least 2, or UHF"
            )
        if self.molecule.multiplicity != 1:
            raise UserError(f"RHF: multiplicity {self.molecule.multiplicity}; allowed: 1, or UHF")
        return (electrons // 2,), 2.0

    def _shown(self, channels: Sequence[Any]) -> Any:
        return channels[0]

    def _split(self, shown: Any) -> list[Any]:
        return [shown]

    def _channels(self, density: Any) -> list[Any]:
        return [self._checked(density)]


class UHF(HartreeFock):
    """Unrestricted Hartree-Fock: orbitals of their own for electrons of each spin, as many as the molecule's multiplicity says.

    Settings and results are as HartreeFock has them, arrays with the spin first: mo_energy (2, orbitals), mo_coeff (2, n,
    orbitals), make_rdm1() (2, n, n). Source: J. A. Pople and R. K. Nesbet, J. Chem. Phys. 22, 571 (1954).
    """

    _gradient_part = 1 / 30

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
        """<S^2> of the determinant, and the multiplicity that it would belong to; higher where other spins are mixed in.

        A. Szabo and N. S. Ostlund, Modern Quantum Chemistry, equation 2.271.
        """
        algebra = self.engine.algebra
        overlap: Any = self.get_ovlp()
        more, fewer = self._occupied
        # tr(D S D' S), of densities that are symmetric
        first, second = self._matrices(2)
        up, down = self._orbital_densities()
        algebra.product(overlap, up, first)
        algebra.product(down, overlap, second)
        [shared] = algebra.inner([(first, second)])
        square = ((more - fewer) / 2) ** 2 + (more + fewer) / 2 - shared
        return square, float(np.sqrt(4 * square + 1))
