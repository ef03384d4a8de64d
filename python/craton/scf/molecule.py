"""Molecules: elements, positions, charge and multiplicity, from XYZ files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from craton.errors import UserError
from craton.foreign_text import quoted, whole_number

BOHR_ANGSTROM = 0.52917721092
"""One bohr in Angstrom, as CODATA 2010 has it and as published energies to all digits assume."""

NEAREST_ANGSTROM = 0.1
"""Atoms nearer to each other are a slip: the shortest bond, of H2, has 0.74."""
SHORT_ANGSTROM, LONG_ANGSTROM = 0.4, 6.0
"""The shortest distance of a molecule is between them, or its unit may be another one; bonds have 0.74 (H2) to 5 (Cs2)."""
FARTHEST_ANGSTROM = 1e6
"""From the origin: a tenth of a millimetre, far beyond any molecule, and squares of it are exact enough."""

SYMBOLS = [
    "H", "He",
    "Li", "Be", "B", "C", "N", "O", "F", "Ne",
    "Na", "Mg", "Al", "Si", "P", "S", "Cl", "Ar",
    "K", "Ca", "Sc", "Ti", "V", "Cr", "Mn", "Fe", "Co", "Ni", "Cu", "Zn", "Ga", "Ge", "As", "Se", "Br", "Kr",
    "Rb", "Sr", "Y", "Zr", "Nb", "Mo", "Tc", "Ru", "Rh", "Pd", "Ag", "Cd", "In", "Sn", "Sb", "Te", "I", "Xe",
    "Cs", "Ba", "La", "Ce", "Pr", "Nd", "Pm", "Sm", "Eu", "Gd", "Tb", "Dy", "Ho", "Er", "Tm", "Yb",
    "Lu", "Hf", "Ta", "W", "Re", "Os", "Ir", "Pt", "Au", "Hg", "Tl", "Pb", "Bi", "Po", "At", "Rn",
    "Fr", "Ra", "Ac", "Th", "Pa", "U", "Np", "Pu", "Am", "Cm", "Bk", "Cf", "Es", "Fm", "Md", "No",
    "Lr", "Rf", "Db", "Sg", "Bh", "Hs", "Mt", "Ds", "Rg", "Cn", "Nh", "Fl", "Mc", "Lv", "Ts", "Og",
]  # fmt: skip
"""Elements by atomic number."""
NUMBERS = {symbol: number for number, symbol in enumerate(SYMBOLS, start=1)}


@dataclass(frozen=True)
class Molecule:
    """Nuclei in their order, the total charge, and the multiplicity 2 S + 1; None: the lowest, 1 or 2.

    UserError for atoms nearer than 0.1 Angstrom, and where electrons and multiplicity do not fit.
    """

    symbols: tuple[str, ...]
    positions_bohr: NDArray[np.float64]
    charge: int = 0
    multiplicity: int | None = None
    core_electrons: tuple[int, ...] = ()
    """Of each atom, for which a potential stands; (): none of any."""

    def __post_init__(self) -> None:
        _check_distances(self.symbols, self.positions_bohr, "molecule")
        electrons, charge = self.electrons, self.charge
        if electrons < 1:
            most = electrons + charge - 1
            raise UserError(
                f"molecule: charge {charge} leaves {electrons} electrons; allowed: a charge of at most {most}"
            )
        if self.multiplicity is None:
            object.__setattr__(self, "multiplicity", 1 + electrons % 2)
        elif self.multiplicity not in range(1 + electrons % 2, electrons + 2, 2):
            first = 1 + electrons % 2
            raise UserError(
                f"molecule: multiplicity {self.multiplicity} of {electrons} electrons (charge {charge}); "
                f"allowed: {', '.join(map(str, range(first, electrons + 2, 2)[:4]))}"
                + (f" ... {electrons + 1}" if electrons > first + 5 else "")
            )

    @classmethod
    def from_xyz(cls, path: str | Path, charge: int = 0, multiplicity: int | None = None) -> Molecule:
        """Reads an XYZ file: the number of atoms, a comment, then symbol and x, y, z in Angstrom per line.

        UserError for anything else.
        """
        try:
            text = Path(path).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(f"molecule {path}: {error}; allowed: a readable XYZ file") from None
        return cls.from_xyz_text(text, charge, origin=str(path), multiplicity=multiplicity)

    @classmethod
    def from_xyz_text(
        cls, text: str, charge: int = 0, origin: str = "text", multiplicity: int | None = None
    ) -> Molecule:
        """Reads the text of an XYZ file, as from_xyz; `origin` is what errors call it."""
        lines = text.splitlines()
        first = lines[0].strip() if lines else ""
        count = whole_number(first)
        if count is None:
            raise UserError(f"molecule {origin}, line 1: {quoted(first)}; allowed: the number of atoms")
        read = [
            _atom(line, f"{origin}, line {number}") for number, line in enumerate(lines[2:], start=3) if line.strip()
        ]
        if count < 1 or len(read) != count:
            raise UserError(
                f"molecule {origin}: {len(read)} lines of atoms; allowed: {count}, as line 1 says, and at least 1"
            )
        symbols = tuple(symbol for symbol, _ in read)
        positions = np.array([at for _, at in read]) / BOHR_ANGSTROM
        _check_distances(symbols, positions, f"molecule {origin}")
        return cls(symbols, positions, charge, multiplicity)

    def write_xyz(self, path: str | Path, comment: str = "") -> None:
        """An XYZ file, in Angstrom. UserError where it cannot be written."""
        from craton.runs.files import write_text

        positions = self.positions_bohr * BOHR_ANGSTROM
        lines = [f"{s:2} " + " ".join(f"{x:17.10f}" for x in at) for s, at in zip(self.symbols, positions, strict=True)]
        write_text(Path(path), "\n".join([str(len(lines)), " ".join(comment.split()), *lines]) + "\n")

    @property
    def charges(self) -> NDArray[np.float64]:
        """Charges of the nuclei, in e, less those of core electrons."""
        whole = np.array([NUMBERS[symbol] for symbol in self.symbols], dtype=np.float64)
        return whole - self.core_electrons if self.core_electrons else whole

    @property
    def electrons(self) -> int:
        """Number of electrons, without core electrons: the nuclei's charges, less the molecule's."""
        return int(self.charges.sum()) - self.charge

    @property
    def electrons_of_spins(self) -> tuple[int, int]:
        """Electrons of spin up and down; up are never fewer."""
        assert self.multiplicity is not None
        unpaired = self.multiplicity - 1
        return (self.electrons + unpaired) // 2, (self.electrons - unpaired) // 2

    @property
    def shortest_angstrom(self) -> float | None:
        """Distance of the two nuclei that are nearest to each other; None of an atom alone."""
        if len(self.symbols) < 2:
            return None
        apart, _ = cKDTree(self.positions_bohr).query(self.positions_bohr, k=[2])
        return float(BOHR_ANGSTROM * apart.min())

    @property
    def odd_distance(self) -> str:
        """A line where the shortest distance is none of a bond, as when positions are not in Angstrom; "" where it may be one."""
        shortest = self.shortest_angstrom
        if shortest is None or SHORT_ANGSTROM <= shortest <= LONG_ANGSTROM:
            return ""
        what = "the nearest two nuclei are" if shortest < SHORT_ANGSTROM else "no two nuclei are nearer than"
        return f"{what} {shortest:.3g} Angstrom{' apart' * (shortest < SHORT_ANGSTROM)}: XYZ has Angstrom, not pm or nm"

    @property
    def formula(self) -> str:
        """Sum formula in Hill's order: carbon, hydrogen, then by the alphabet."""
        counts = {symbol: self.symbols.count(symbol) for symbol in sorted(set(self.symbols))}
        first = [symbol for symbol in ("C", "H") if symbol in counts] if "C" in counts else []
        order = first + [symbol for symbol in counts if symbol not in first]
        return "".join(symbol + (str(counts[symbol]) if counts[symbol] > 1 else "") for symbol in order)


def _check_distances(symbols: tuple[str, ...], positions_bohr: NDArray[np.float64], what: str) -> None:
    for a, b in sorted(cKDTree(positions_bohr).query_pairs(NEAREST_ANGSTROM / BOHR_ANGSTROM)):
        apart = BOHR_ANGSTROM * np.linalg.norm(positions_bohr[a] - positions_bohr[b])
        raise UserError(
            f"{what}: atoms {a + 1} ({symbols[a]}) and {b + 1} ({symbols[b]}) are {apart:.3g} Angstrom apart; "
            f"allowed: more than {NEAREST_ANGSTROM:g}"
        )


def _atom(line: str, where: str) -> tuple[str, list[float]]:
    words = line.split()
    symbol = words[0].capitalize()
    if symbol not in NUMBERS:
        raise UserError(f"molecule {where}: element {quoted(words[0])}; allowed: H to Og")
    try:
        position = [float(word) for word in words[1:4]]
    except ValueError:
        position = []
    if len(position) != 3 or not np.all(np.isfinite(position)):
        raise UserError(f"molecule {where}: {quoted(line)}; allowed: symbol, x, y, z in Angstrom")
    if max(map(abs, position)) > FARTHEST_ANGSTROM:
        raise UserError(f"molecule {where}: {quoted(line)}; allowed: x, y, z of up to {FARTHEST_ANGSTROM:g} Angstrom")
    return symbol, position
