"""Orbitals of a calculation that has ended, from orbitals.h5 of its run."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from craton.described import Described
from craton.errors import UserError
from craton.runs.hdf5_files import opened_hdf5
from craton.scf.basis_sets import PlacedShell
from craton.scf.files.checkpoint import ALLOWED, Checkpoint
from craton.scf.molecule import Molecule
from craton.scf.properties import orbital_number

__all__ = ["Orbitals", "StoredOrbitals"]

Matrix = NDArray[np.float64]


class Orbitals(Protocol):
    """What files and pictures of orbitals are made from: a HartreeFock that has run, or StoredOrbitals."""

    molecule: Molecule
    basis_name: str
    shells: list[PlacedShell]
    mo_energy: Any
    mo_occ: Any

    @property
    def method(self) -> str:
        """RHF, UHF, ROHF, RKS or UKS."""

    def orbital(self, which: str | int, spin: int = 0) -> tuple[Matrix, int]:
        """Coefficients of an orbital and its number, as HartreeFock.orbital."""

    def orbitals(self, first: int, last: int, spin: int = 0) -> Matrix:
        """Coefficients of several orbitals, as HartreeFock.orbitals."""


class StoredOrbitals(Described):
    """Orbitals in a file, of which only those asked for are read. mo_energy (hartree) and mo_occ as HartreeFock has them."""

    def __init__(self, path: str | Path) -> None:
        """UserError where there is no such file, or one of a calculation that has not ended."""
        found = Checkpoint.read(path, whole=False)
        self.molecule, self.method = found.molecule, found.method
        self.basis_name, self.shells = found.basis_name, found.shells
        self._path = Path(path)
        with opened_hdf5(path, ALLOWED) as file:
            if "mo_coeff" not in file:
                raise UserError(f"{path}: no orbitals; allowed: {ALLOWED} that has ended")
            self.mo_energy, self.mo_occ = file["mo_energy"][()], file["mo_occ"][()]

    def _facts(self) -> dict[str, object]:
        return {"molecule": self.molecule.formula, "method": f"{self.method}/{self.basis_name}", "file": self._path}

    def orbital(self, which: str | int, spin: int = 0) -> tuple[Matrix, int]:
        """Coefficients of an orbital and its number, as HartreeFock.orbital."""
        occupied = np.count_nonzero(np.atleast_2d(self.mo_occ)[self._channel(spin)])
        number = orbital_number(which, int(occupied), self.mo_energy.shape[-1])
        return self.orbitals(number, number + 1, spin)[:, 0], number + 1

    def orbitals(self, first: int, last: int, spin: int = 0) -> Matrix:
        """Coefficients of several orbitals, as HartreeFock.orbitals."""
        with opened_hdf5(self._path, ALLOWED) as file:
            stored = file["mo_coeff"]
            part = (slice(None), slice(first, last))
            return np.asarray(stored[part] if stored.ndim == 2 else stored[self._channel(spin), *part])

    def _channel(self, spin: int) -> int:
        return spin if self.mo_energy.ndim > 1 else 0
