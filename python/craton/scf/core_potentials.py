"""Effective core potentials: what the inner electrons of heavy atoms are to the outer ones.

V = U(r) + sum over l and m of D_l(r) |lm><lm| around a nucleus, of Gaussians times powers of the distance (M. Krauss and W. J.
Stevens, Annu. Rev. Phys. Chem. 35, 357, 1984). Matrix elements are integrated numerically, over shells of Lebedev's directions
around the nucleus: the potential ends before the next one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton._craton import FunctionValues, GaussianBasis
from craton.errors import UserError
from craton.foreign_text import quoted
from craton.scf.basis_sets import element_of
from craton.scf.functionals.grid import directions, radii
from craton.scf.functions import harmonics
from craton.scf.molecule import Molecule

__all__ = ["CorePotential", "CorePotentials", "core_potentials_of", "with_cores"]

Array = NDArray[np.float64]

RADII, DEGREE = 160, 47
"""Shells of points, and the degree that directions integrate exactly."""
RADII_AT_ONCE = 16
NEGLIGIBLE = 1e-18
"""Hartree times the weight of a shell, below which it is left out."""


@dataclass(frozen=True)
class CorePotential:
    """Of an element: the electrons that it stands for, the local part, and what is added for s, p, d ... below it.

    Parts are (powers of r, exponents, coefficients): sum of c r^(n - 2) exp(-a r^2), in hartree and bohr.
    """

    electrons: int
    local: tuple[Array, Array, Array]
    added: list[tuple[Array, Array, Array]]

    @staticmethod
    def at(part: tuple[Array, Array, Array], r: Array) -> Array:
        """A part at distances."""
        powers, exponents, coefficients = part
        terms = coefficients * r[:, None] ** (powers - 2) * np.exp(-exponents * r[:, None] ** 2)
        return np.asarray(terms.sum(axis=1))


def core_potentials_of(name: str, symbols: frozenset[str]) -> dict[str, CorePotential]:
    """Of those elements that have one in a basis set of the Basis Set Exchange. UserError as shells_of, and for other kinds."""
    found = {}
    for symbol in sorted(symbols):
        element = element_of(name, symbol)
        if "ecp_potentials" not in element:
            continue
        parts = {}
        for each in element["ecp_potentials"]:
            if each["ecp_type"] != "scalar_ecp" or len(each["angular_momentum"]) != 1 or len(each["coefficients"]) != 1:
                raise UserError(
                    f"basis set {quoted(name)}, element {symbol}: a core potential of another kind; allowed: scalar ones"
                )
            numbers = (each["r_exponents"], each["gaussian_exponents"], each["coefficients"][0])
            parts[each["angular_momentum"][0]] = tuple(np.array(some, dtype=np.float64) for some in numbers)
        highest = max(parts)
        local: Any = parts[highest]
        added: list[Any] = [parts.get(momentum, (np.zeros(0),) * 3) for momentum in range(highest)]
        found[symbol] = CorePotential(int(element["ecp_electrons"]), local, added)
    return found


def with_cores(molecule: Molecule, potentials: Mapping[str, CorePotential]) -> Molecule:
    """The molecule with the nuclei's charges that outer electrons see."""
    if not potentials:
        return molecule
    cores = tuple(potentials[each].electrons if each in potentials else 0 for each in molecule.symbols)
    return replace(molecule, core_electrons=cores)


class CorePotentials:
    """Of a molecule's atoms, over a basis. Immutable; not collective."""

    def __init__(self, molecule: Molecule, basis: GaussianBasis, potentials: Mapping[str, CorePotential]) -> None:
        self._values, self._first = FunctionValues(basis), np.asarray(basis.first_function)
        self._atoms = [
            (atom, molecule.positions_bohr[atom], potentials[symbol])
            for atom, symbol in enumerate(molecule.symbols)
            if symbol in potentials
        ]

    def block(self, rows: tuple[int, int], columns: tuple[int, int]) -> Array:
        """Functions of the shells from rows[0] to rows[1] (exclusive) by those of columns, in hartree."""
        some = sorted({*range(*rows), *range(*columns)})
        places = np.cumsum([0, *(self._first[s + 1] - self._first[s] for s in some)])
        where = {s: np.arange(places[n], places[n + 1]) for n, s in enumerate(some)}
        above, beside = (
            np.concatenate([np.zeros(0, np.int64), *(where[s] for s in range(*each))]) for each in (rows, columns)
        )
        found = np.zeros((len(above), len(beside)))
        for piece in self._pieces(some, False):
            values = piece.values[0]
            found += (values[above] * piece.local) @ values[beside].T
            for weights, angular in zip(piece.added, piece.angular(values), strict=True):
                found += np.einsum("imr,r,jmr->ij", angular[above], weights, angular[beside], optimize=True)
        return found

    def gradient(self, density: Array, atoms_of_functions: NDArray[np.int64], atoms: int) -> Array:
        """The derivative of the sum of density times matrix by the nuclei's positions, (atoms, 3), in hartree per bohr.

        density: (n, n), symmetric.
        """
        found = np.zeros((atoms, 3))
        shells = list(range(len(self._first) - 1))
        for piece in self._pieces(shells, True):
            values, slopes = piece.values[0], piece.values[1:]
            by_function = np.einsum("xip,p,ip->ix", slopes, piece.local, density @ values, optimize=True)
            turned = [piece.angular(each) for each in slopes]
            for momentum, (weights, angular) in enumerate(zip(piece.added, piece.angular(values), strict=True)):
                met = np.tensordot(density, angular, axes=1)
                for x in range(3):
                    by_function[:, x] += np.einsum("imr,r,imr->i", turned[x][momentum], weights, met, optimize=True)
            np.add.at(found, atoms_of_functions, -2 * by_function)
            found[piece.atom] += 2 * by_function.sum(axis=0)
        return found

    def _pieces(self, shells: list[int], derivatives: bool) -> Iterator[_Piece]:
        around, of_directions = directions(DEGREE)
        for atom, centre, potential in self._atoms:
            r, of_r = radii(RADII)
            local = potential.at(potential.local, r) * of_r
            added = [potential.at(each, r) * of_r for each in potential.added]
            kept = np.abs([local, *added]).max(axis=0) > NEGLIGIBLE
            r, local, added = r[kept], local[kept], [each[kept] for each in added]
            on_sphere = [harmonics(momentum, around.T).T * of_directions for momentum in range(len(added))]
            for first in range(0, len(r), RADII_AT_ONCE):
                part = slice(first, first + RADII_AT_ONCE)
                points = centre + (r[part, None, None] * around.T).reshape(-1, 3)
                values = self._values.at(np.ascontiguousarray(points.T), shells, derivatives)
                weights = (local[part, None] * of_directions).ravel()
                yield _Piece(atom, values, weights, [each[part] for each in added], on_sphere)


@dataclass(frozen=True)
class _Piece:
    """Some shells of points around an atom."""

    atom: int
    values: Array
    """(1 or 4, functions, points)"""
    local: Array
    """(points): the local part with the points' weights"""
    added: list[Array]
    """(radii) of each l: what is added, with the radii's weights"""
    on_sphere: list[Array]
    """(2 l + 1, directions) of each l: harmonics with the directions' weights"""

    def angular(self, values: Array) -> list[Array]:
        """(functions, 2 l + 1, radii) of each l: the part of values (functions, points) that is a harmonic."""
        by_radius = values.reshape(len(values), -1, self.on_sphere[0].shape[1] if self.on_sphere else 1)
        return [np.einsum("ird,md->imr", by_radius, each, optimize=True) for each in self.on_sphere]
