"""Molden files: geometry, basis set and orbitals, for programs that draw them.

Source: G. Schaftenaar and J. H. Noordik, J. Comput.-Aided Mol. Des. 14, 123, 2000;
https://www.theochem.ru.nl/molden/molden_format.html.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from craton.errors import UserError
from craton.scf.basis_sets import PlacedShell, is_cartesian
from craton.scf.files.function_order import norms, other_order
from craton.scf.functions import normalised_contractions
from craton.scf.molecule import NUMBERS

if TYPE_CHECKING:
    from craton.scf.files.orbitals import Orbitals

LARGEST_MOMENTUM = 4
"""Of the format."""


def write_molden(calculation: Orbitals, path: str | Path) -> None:
    """All orbitals of a calculation.

    UserError for functions beyond g, which the format has not, and a file that cannot be written.
    """
    from craton.runs.files import replaced

    largest = max(shell[1] for shell in calculation.shells)
    if largest > LARGEST_MOMENTUM:
        raise UserError(
            f"molden file {path}: the basis has functions of angular momentum {largest}; allowed: up to {LARGEST_MOMENTUM} (g)"
        )
    text = "\n".join([*_header(calculation), *_basis(calculation.shells), *_orbitals(calculation)])
    with replaced(Path(path).absolute()) as aside:
        aside.write_text(text + "\n")


def _header(calculation: Orbitals) -> list[str]:
    molecule = calculation.molecule
    lines = ["[Molden Format]", "[Title]", f" {molecule.formula} {calculation.basis_name}, by Craton", "[Atoms] AU"]
    for number, (symbol, at) in enumerate(zip(molecule.symbols, molecule.positions_bohr, strict=True), start=1):
        lines.append(f"{symbol:2} {number:5} {NUMBERS[symbol]:4} " + " ".join(f"{x:20.14f}" for x in at))
    return lines


def _basis(shells: list[PlacedShell]) -> list[str]:
    """A shell of the format is one contraction."""
    lines, atom = ["[GTO]"], -1
    for shell in shells:
        if shell[0] != atom:
            lines += ([""] if atom >= 0 else []) + [f"{shell[0] + 1} 0"]
            atom = shell[0]
        for row in normalised_contractions(shell):
            used = np.flatnonzero(row)
            lines.append(f" {'spdfg'[shell[1]]} {len(used)} 1.00")
            lines += [f" {shell[2][p]:24.16e} {row[p]:24.16e}" for p in used]
    return [*lines, "", *(("[6D]", "[10F]", "[15G]") if is_cartesian(shells) else ("[5D]", "[7F]", "[9G]"))]


def _orbitals(calculation: Orbitals) -> list[str]:
    order, scale = other_order(calculation.shells), norms(calculation.shells)[:, None]
    energies, occupations = np.atleast_2d(calculation.mo_energy), np.atleast_2d(calculation.mo_occ)
    lines = ["[MO]"]
    for spin, name in enumerate(("Alpha", "Beta")[: len(energies)]):
        for n, (energy, occupation) in enumerate(zip(energies[spin], occupations[spin], strict=True)):
            coefficients = (calculation.orbitals(n, n + 1, spin) * scale)[order, 0]
            lines += [" Sym= A", f" Ene= {energy:.12f}", f" Spin= {name}", f" Occup= {occupation:.6f}"]
            lines += [f"{k:5} {c:22.15e}" for k, c in enumerate(coefficients, start=1)]
    return lines
