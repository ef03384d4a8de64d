"""Densities to begin with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from craton._craton import FockBuilder, IntegralLibrary
from craton.scf.basis_sets import PlacedShell, basis_of_shells, function_count, is_cartesian
from craton.scf.core_potentials import CorePotential, CorePotentials
from craton.scf.functions import harmonics_of_powers
from craton.scf.iteration.diis import DIIS
from craton.scf.molecule import NUMBERS, Molecule

Matrix = NDArray[np.float64]

FILLING = [
    "1s", "2s", "2p", "3s", "3p", "4s", "3d", "4p", "5s", "4d", "5p", "6s", "4f", "5d", "6p", "7s", "5f", "6d", "7p"
]  # fmt: skip
"""Madelung's order; where atoms depart from it (chromium, copper) a guess does not mind."""
ATOM_CYCLES = 60
ATOM_GRADIENT = 1e-6
ATOM_THRESHOLD = 1e-12


def electrons_by_momentum(number: int, core: int = 0) -> list[int]:
    """How many electrons of the neutral atom are in s, p, d and f orbitals, those of a core not counted."""
    inner = _filled(core, sorted(FILLING))  # a core is whole shells: 3d belongs to it before 4s
    return [max(0, all_of - of_core) for all_of, of_core in zip(_filled(number, FILLING), inner, strict=True)]


def _filled(electrons: int, order: list[str]) -> list[int]:
    found, left = [0, 0, 0, 0], electrons
    for subshell in order:
        momentum = "spdf".index(subshell[1])
        taken = min(left, 2 * (2 * momentum + 1))
        found[momentum] += taken
        left -= taken
    return found


def atomic_densities(
    molecule: Molecule,
    shells: list[PlacedShell],
    library: IntegralLibrary,
    potentials: Mapping[str, CorePotential] | None = None,
) -> list[Matrix]:
    """Densities of atoms alone, for a superposition of atomic densities.

    Each atom is neutral, its open shells filled evenly in all directions and spins, in the molecule's own functions of that atom
    (J. H. Van Lenthe et al., J. Comput. Chem. 27, 926, 2006). Where functions are Cartesian it is the spherical ones among them.
    """
    of_atom: list[list[PlacedShell]] = [[] for _ in molecule.symbols]
    for shell in shells:
        of_atom[shell.atom].append(shell._replace(atom=0, cartesian=False))
    known: dict[str, Matrix] = {}
    for symbol, its in zip(molecule.symbols, of_atom, strict=True):
        if symbol not in known:
            known[symbol] = _Atom(symbol, its, library, potentials or {}).density()
    if is_cartesian(shells):
        among = {symbol: _among_powers(its) for symbol, its in zip(molecule.symbols, of_atom, strict=True)}
        known = {symbol: among[symbol] @ density @ among[symbol].T for symbol, density in known.items()}
    return [known[symbol] for symbol in molecule.symbols]


def _among_powers(shells: list[PlacedShell]) -> Matrix:
    """An atom's spherical functions as sums of its Cartesian ones: (Cartesian, spherical)."""
    return np.asarray(
        scipy.linalg.block_diag(*(harmonics_of_powers(each.momentum) for each in shells for _ in each.contractions))
    )


class _Atom:
    """A spherically averaged atom: one block of radial functions for each angular momentum."""

    def __init__(
        self,
        symbol: str,
        shells: list[PlacedShell],
        library: IntegralLibrary,
        potentials: Mapping[str, CorePotential],
    ) -> None:
        number, core = NUMBERS[symbol], potentials[symbol].electrons if symbol in potentials else 0
        alone = Molecule((symbol,), np.zeros((1, 3)), core_electrons=(core,))
        basis = basis_of_shells(alone, shells)
        self._builder = FockBuilder(library, basis, ATOM_THRESHOLD, 1)
        self._size = basis.size
        self._functions = _radial_functions(shells)
        electrons = electrons_by_momentum(number, core)
        self._electrons = [electrons[each] if each < 4 else 0 for each in self._functions]
        self._overlap = self._blocks(library.overlap(basis))
        self._core_matrix = library.kinetic(basis) + library.nuclear_attraction(basis)
        if core:
            every = (0, basis.shell_count)
            self._core_matrix += CorePotentials(alone, basis, potentials).block(every, every)

    def density(self) -> Matrix:
        """After DIIS on all blocks at once, from the core guess. Restricted, with fractional occupations; hydrogen's is exact."""
        diis = DIIS()
        blocks = self._occupied(self._blocks(self._core_matrix))
        if sum(self._electrons) == 1:  # repels nobody
            return self._whole(blocks)
        for _ in range(ATOM_CYCLES):
            density = self._whole(blocks)
            coulomb, exchange = self._builder.build(density[None])
            focks = self._blocks(self._core_matrix + coulomb - exchange[0] / 2)
            errors = [self._error(f, d, s) for f, d, s in zip(focks, blocks, self._overlap, strict=True)]
            if max((float(np.abs(each).max()) for each in errors), default=0.0) < ATOM_GRADIENT:
                break
            blocks = self._occupied(diis.update(focks, errors))
        return self._whole(blocks)

    @staticmethod
    def _error(fock: Matrix, density: Matrix, overlap: Matrix) -> Matrix:
        product = fock @ density @ overlap
        return product - product.T

    def _blocks(self, matrix: Matrix) -> list[Matrix]:
        """The mean over m of a matrix of all functions, for each angular momentum."""
        return [
            np.mean([matrix[np.ix_(column, column)] for column in each.T], axis=0) for each in self._functions.values()
        ]

    def _whole(self, blocks: list[Matrix]) -> Matrix:
        found = np.zeros((self._size, self._size))
        for block, each in zip(blocks, self._functions.values(), strict=True):
            for column in each.T:
                found[np.ix_(column, column)] = block
        return found

    def _occupied(self, focks: list[Matrix]) -> list[Matrix]:
        """Densities of each m: radial orbitals filled from the lowest, the last one perhaps in part."""
        found = []
        for momentum, fock, overlap, electrons in zip(
            self._functions, focks, self._overlap, self._electrons, strict=True
        ):
            coefficients = scipy.linalg.eigh(fock, overlap)[1]
            of_each_m = electrons / (2 * momentum + 1)
            occupations = np.clip(of_each_m - 2.0 * np.arange(coefficients.shape[1]), 0, 2)
            found.append((coefficients * occupations) @ coefficients.T)
        return found


def _radial_functions(shells: list[PlacedShell]) -> dict[int, NDArray[np.int64]]:
    """Numbers of an atom's functions by angular momentum: (radial functions, 2 l + 1)."""
    found: dict[int, list[Any]] = {}
    first = 0
    for shell in shells:
        count = function_count(shell)
        found.setdefault(shell[1], []).append(np.arange(first, first + count).reshape(-1, 2 * shell[1] + 1))
        first += count
    return {momentum: np.concatenate(rows) for momentum, rows in sorted(found.items())}
