"""What is read off a density and its orbitals."""

from __future__ import annotations

import re

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.scf.basis_sets import PlacedShell, atoms_of_functions
from craton.scf.molecule import Molecule

Vector = NDArray[np.float64]

DEBYE = 2.541746473
"""One e bohr."""


def mulliken_charges(molecule: Molecule, shells: list[PlacedShell], populations: Vector) -> Vector:
    """Mulliken's charge of each atom, in e, from the electrons of each function."""
    return molecule.charges - np.bincount(atoms_of_functions(shells), populations, minlength=len(molecule.symbols))


def orbital_number(which: str | int, occupied: int, orbitals: int) -> int:
    """The number, from 0 on, of "homo", "lumo+1", or a number from 1 on. UserError for an orbital that is not there."""
    match = re.fullmatch(r"(?i)(homo|lumo)([+-][0-9]{1,6})?|([0-9]{1,9})", str(which).strip())
    if match is None:
        raise UserError(f"orbital '{which}'; allowed: homo, lumo, homo-1, lumo+1 and so on, or a number from 1 on")
    named = match[1] is not None
    number = occupied - (match[1].lower() == "homo") + int(match[2] or 0) if named else int(match[3]) - 1
    if not 0 <= number < orbitals:
        raise UserError(
            f"orbital '{which}' would be number {number + 1}; allowed: 1 to {orbitals}, of which {occupied} are occupied"
        )
    return number
