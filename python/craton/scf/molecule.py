"""Molecules: elements, positions and charge, from XYZ files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError

BOHR_ANGSTROM = 0.52917721092
"""One bohr in Angstrom, as CODATA 2010 has it and as published energies to all digits assume."""

SYMBOLS = (
    "H He Li Be B C N O F Ne Na Mg Al Si P S Cl Ar K Ca Sc Ti V Cr Mn Fe Co Ni Cu Zn Ga Ge As Se Br Kr "
    "Rb Sr Y Zr Nb Mo Tc Ru Rh Pd Ag Cd In Sn Sb Te I Xe "
    "Cs Ba La Ce Pr Nd Pm Sm Eu Gd Tb Dy Ho Er Tm Yb Lu Hf Ta W Re Os Ir Pt Au Hg Tl Pb Bi Po At Rn "
    "Fr Ra Ac Th Pa U Np Pu Am Cm Bk Cf Es Fm Md No Lr Rf Db Sg Bh Hs Mt Ds Rg Cn Nh Fl Mc Lv Ts Og"
).split()
NUMBERS = {symbol: number for number, symbol in enumerate(SYMBOLS, start=1)}


@dataclass(frozen=True)
class Molecule:
    """Nuclei in their order, and the total charge."""

    symbols: tuple[str, ...]
    positions_bohr: NDArray[np.float64]
    charge: int = 0

    @classmethod
    def from_xyz(cls, path: str | Path, charge: int = 0) -> Molecule:
        """Reads an XYZ file: the number of atoms, a comment, then symbol and x, y, z in Angstrom per line.
        UserError for anything else."""
        try:
            text = Path(path).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"molecule {path}: {error}; allowed: a readable XYZ file") from None
        return cls.from_xyz_text(text, charge, origin=str(path))

    @classmethod
    def from_xyz_text(cls, text: str, charge: int = 0, origin: str = "text") -> Molecule:
        """As from_xyz; `origin` is what messages call the text."""
        lines = text.splitlines()
        try:
            count = int(lines[0])
        except (IndexError, ValueError):
            first = lines[0].strip() if lines else ""
            raise UserError(f"molecule {origin}, line 1: '{first}'; allowed: the number of atoms") from None
        atoms = [line for line in lines[2:] if line.strip()]
        if count < 1 or len(atoms) != count:
            raise UserError(
                f"molecule {origin}: {len(atoms)} lines of atoms; allowed: {count}, as line 1 says, and at least 1"
            )
        read = [
            _atom(line, f"{origin}, line {number}") for number, line in enumerate(lines[2:], start=3) if line.strip()
        ]
        return cls(tuple(symbol for symbol, _ in read), np.array([at for _, at in read]) / BOHR_ANGSTROM, charge)

    @property
    def charges(self) -> NDArray[np.float64]:
        """Of the nuclei."""
        return np.array([NUMBERS[symbol] for symbol in self.symbols], dtype=np.float64)

    @property
    def electrons(self) -> int:
        return int(self.charges.sum()) - self.charge


def _atom(line: str, where: str) -> tuple[str, list[float]]:
    words = line.split()
    symbol = words[0].capitalize()
    if symbol not in NUMBERS:
        raise UserError(f"molecule {where}: element '{words[0]}'; allowed: H to Og")
    try:
        position = [float(word) for word in words[1:4]]
    except ValueError:
        position = []
    if len(position) != 3 or not np.all(np.isfinite(position)):
        raise UserError(f"molecule {where}: '{line.strip()}'; allowed: symbol, x, y, z in Angstrom")
    return symbol, position
