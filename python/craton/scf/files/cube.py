"""Cube files: an orbital or the density on a regular grid, in the format of Gaussian (https://gaussian.com/cubegen/)."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.scf.functions import orbital_values, summed_squares
from craton.scf.molecule import NUMBERS, Molecule

if TYPE_CHECKING:
    from craton.scf.files.orbitals import Orbitals

SPACING_BOHR = 0.2
MARGIN_BOHR = 5.0
MOST_POINTS = 50_000_000
ORBITALS_AT_ONCE = 128


def write_cube(
    calculation: Orbitals,
    path: str | Path,
    what: str | int = "density",
    *,
    spin: int = 0,
    spacing_bohr: float = SPACING_BOHR,
    margin_bohr: float = MARGIN_BOHR,
) -> None:
    """`what`: "density", "spin" (density of spin, UHF and ROHF), or an orbital as HartreeFock.orbital takes it.

    spin: of an orbital, 0 (up) or 1. On a grid with `margin_bohr` around the nuclei. UserError for what is not there, and a file
    that cannot be written.
    """
    from craton.runs.files import replaced

    molecule, shells = calculation.molecule, calculation.shells
    positions = molecule.positions_bohr
    low = positions.min(axis=0) - margin_bohr
    counts = np.ceil((positions.max(axis=0) + margin_bohr - low) / spacing_bohr).astype(int) + 1
    if not spacing_bohr > 0 or np.prod(counts, dtype=float) > MOST_POINTS:
        raise UserError(
            f"cube file {path}: a spacing of {spacing_bohr:g} bohr; allowed: a positive one that makes at most {MOST_POINTS} points"
        )
    points = low + spacing_bohr * np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), axis=-1)
    number = None
    if what in ("density", "spin"):
        data = _density(calculation, what, points, path)
    else:
        coefficients, number = calculation.orbital(what, spin)
        data = orbital_values(molecule, shells, coefficients, points)
    title = f"{molecule.formula} {calculation.basis_name}: {what}"
    with replaced(Path(path).absolute()) as aside:
        aside.write_text(_text(title, molecule, low, spacing_bohr, data, number))


def _density(
    calculation: Orbitals, what: str | int, points: NDArray[np.float64], path: str | Path
) -> NDArray[np.float64]:
    """The density from orbitals, some at a time: a density matrix would be all of them at once."""
    weights = np.atleast_2d(calculation.mo_occ)
    if what == "spin":
        if calculation.method in ("RHF", "RKS"):
            raise UserError(
                f"cube file {path}: the density of spin of {calculation.method} is 0; allowed: of UHF and ROHF"
            )
        weights = weights * [[1], [-1]] if len(weights) == 2 else np.where(weights == 1, 1.0, 0.0)
    found = np.zeros(points.shape[:-1])
    for spin, of_spin in enumerate(weights):
        cuts = [0, *(np.flatnonzero(np.diff(of_spin)) + 1), len(of_spin)]
        for begin, end in itertools.pairwise(cuts):  # orbitals of one weight
            for first in range(begin, end if of_spin[begin] else begin, ORBITALS_AT_ONCE):
                some = calculation.orbitals(first, min(first + ORBITALS_AT_ONCE, end), spin)
                found += of_spin[begin] * summed_squares(calculation.molecule, calculation.shells, some, points)
    return found


def _text(
    title: str,
    molecule: Molecule,
    low: NDArray[np.float64],
    spacing_bohr: float,
    data: NDArray[np.float64],
    orbital: int | None,
) -> str:
    """A count of atoms below 0 says that a line with the number of orbitals and which they are follows the atoms."""
    atoms = len(molecule.symbols)
    lines = [title, "by Craton; atomic units; x outermost", _row(atoms if orbital is None else -atoms, low)]
    for axis, count in enumerate(data.shape):
        lines.append(_row(count, spacing_bohr * np.eye(3)[axis]))
    for symbol, at in zip(molecule.symbols, molecule.positions_bohr, strict=True):
        lines.append(_row(NUMBERS[symbol], [float(NUMBERS[symbol]), *at]))
    if orbital is not None:
        lines.append(f"{1:5}{orbital:5}")
    for column in data.reshape(-1, data.shape[2]):
        words = [f"{value:13.5E}" for value in column]
        lines += ["".join(words[first : first + 6]) for first in range(0, len(words), 6)]
    return "\n".join(lines) + "\n"


def _row(count: int, numbers: Iterable[float]) -> str:
    return f"{count:5}" + "".join(f"{x:12.6f}" for x in numbers)
