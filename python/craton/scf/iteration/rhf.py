"""Restricted Hartree-Fock of closed shells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from craton.errors import UserError
from craton.scf.iteration.hartree_fock import HartreeFock


class RHF(HartreeFock):
    """Restricted Hartree-Fock (C. C. J. Roothaan, Rev. Mod. Phys. 23, 69, 1951), in the manner of PySCF; settings and results as
    HartreeFock has them. mo_energy and mo_occ (orbitals), mo_coeff (n, orbitals), make_rdm1() (n, n). UserError for an odd
    number of electrons and a multiplicity other than 1.
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
