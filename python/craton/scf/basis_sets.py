"""Basis sets by the names of the Basis Set Exchange."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from craton._craton import GaussianBasis
from craton.errors import UserError
from craton.foreign_text import quoted
from craton.scf.molecule import NUMBERS, Molecule

Shell = tuple[int, list[float], list[list[float]]]
"""l, exponents, contractions."""
NAMES_TOLD = 4


class PlacedShell(NamedTuple):
    """A shell at an atom of a molecule."""

    atom: int
    momentum: int
    exponents: list[float]
    contractions: list[list[float]]
    cartesian: bool = False
    """Whether its functions are x^i y^j z^k instead of spherical; s and p are the same either way."""


def shells_of(name: str, symbols: set[str] | frozenset[str]) -> dict[str, list[Shell]]:
    """The shells of each element, by angular momentum.

    UserError for a name or element that the Basis Set Exchange has not. Effective core potentials: core_potentials.py.
    """
    found = {}
    for symbol in sorted(symbols):
        element = element_of(name, symbol)
        if "electron_shells" not in element:
            raise UserError(
                f"basis set {quoted(name)}, element {symbol}: has no shells; allowed: basis sets of orbitals"
            )
        found[symbol] = [shell for each in element["electron_shells"] for shell in _shells(each)]
        found[symbol].sort(key=lambda shell: shell[0])
    return found


def element_of(name: str, symbol: str) -> dict[str, Any]:
    """What the Basis Set Exchange has of an element. UserError as shells_of."""
    try:
        import basis_set_exchange as exchange
    except ImportError:
        raise UserError(
            f"basis set {quoted(name)}: the package basis_set_exchange is not installed; allowed: pip install 'craton[chemistry]'"
        ) from None
    try:
        number = NUMBERS[symbol]
        # general contractions lose primitives that are functions by themselves: the space is the same, the integrals fewer
        whole = exchange.get_basis(name, elements=[number], uncontract_spdf=True, optimize_general=True)
    except KeyError as error:  # of the name or of the element: the message says which
        raise UserError(
            f"basis set {quoted(name)}, element {symbol}: {quoted(str(error.args[0]), 120)}; "
            f"{_near(exchange, name)}allowed: names and elements of basissetexchange.org"
        ) from None
    found: dict[str, Any] = whole["elements"][str(number)]
    return found


FITTING = {"cc-pvtz": "cc-pvtz-jkfit", "cc-pvqz": "cc-pvqz-jkfit"}
"""Auxiliary sets that were made for a basis set, for some elements."""
FITTED_ELEMENTS = frozenset(["H", "B", "C", "N", "O", "F", "Al", "Si", "P", "S", "Cl", "Ga", "Ge", "As", "Se", "Br"])
FITTING_ANY = "def2-universal-jkfit"
"""The one for all others. Source: F. Weigend, J. Comput. Chem. 29, 167 (2008)."""


def fitting_name(basis: str, symbols: Iterable[str]) -> str:
    """The auxiliary set that fits densities in a basis set of this name best, of those that the Basis Set Exchange has."""
    return FITTING.get(basis.lower(), FITTING_ANY) if FITTED_ELEMENTS.issuperset(symbols) else FITTING_ANY


def _near(exchange: Any, name: str) -> str:
    """Names that were perhaps meant; nothing where the name is known."""
    known = {each.lower(): each for each in exchange.get_all_basis_names()}
    if name.lower() in known:
        return ""
    near = difflib.get_close_matches(name.lower(), known, n=NAMES_TOLD, cutoff=0.5)
    return f"did you mean {', '.join(known[each] for each in near)}? " if near else ""


def _shells(printed: dict[str, Any]) -> list[Shell]:
    """A shell as the exchange prints it, cut into shells that share no primitives."""
    (momentum,) = printed["angular_momentum"]
    exponents = np.array(printed["exponents"], dtype=np.float64)
    groups: list[tuple[NDArray[np.bool_], list[NDArray[np.float64]]]] = []  # primitives in use, contractions
    for row in np.array(printed["coefficients"], dtype=np.float64):
        used, rows = row != 0, [row]
        for group in [each for each in groups if np.any(each[0] & used)]:
            used, rows = used | group[0], group[1] + rows
            groups = [each for each in groups if each is not group]
        groups.append((used, rows))
    return [(momentum, exponents[used].tolist(), [row[used].tolist() for row in rows]) for used, rows in groups]


def placed_shells(
    molecule: Molecule, basis: str | dict[str, list[Shell]], cartesian: bool = False
) -> list[PlacedShell]:
    """The shells of the molecule, atom by atom, in the order of its functions.

    Each contraction has 2 l + 1 functions, m = -l ... l, but x, y, z for l = 1; Cartesian: (l + 1) (l + 2) / 2, from l = 2 on xx,
    xy, xz, yy, yz, zz and so on. `basis`: a name, or shells for each element. UserError as shells_of.
    """
    by_element = shells_of(basis, frozenset(molecule.symbols)) if isinstance(basis, str) else basis
    missing = set(molecule.symbols) - set(by_element)
    if missing:
        raise UserError(f"basis: no shells for {min(missing)}; allowed: shells for every element of the molecule")
    return [
        PlacedShell(atom, *shell, cartesian)
        for atom, symbol in enumerate(molecule.symbols)
        for shell in by_element[symbol]
    ]


def make_basis(molecule: Molecule, basis: str | dict[str, list[Shell]], cartesian: bool = False) -> GaussianBasis:
    """The molecule's functions, atom by atom, spherical or Cartesian.

    `basis`: a name, or shells for each element. UserError as shells_of and GaussianBasis.
    """
    return basis_of_shells(molecule, placed_shells(molecule, basis, cartesian))


def basis_of_shells(molecule: Molecule, shells: list[PlacedShell]) -> GaussianBasis:
    """The functions of such shells, all spherical or all Cartesian, at the molecule's atoms. UserError as GaussianBasis."""
    plain = [(each.atom, each.momentum, each.exponents, each.contractions) for each in shells]
    return GaussianBasis(molecule.charges, np.ascontiguousarray(molecule.positions_bohr), plain, is_cartesian(shells))


def is_cartesian(shells: list[PlacedShell]) -> bool:
    """Whether a basis of such shells is Cartesian."""
    return any(each.cartesian for each in shells)


def atoms_of_functions(shells: list[PlacedShell]) -> NDArray[np.int64]:
    """The atom of each function."""
    return np.repeat([shell[0] for shell in shells], [function_count(shell) for shell in shells])


def function_count(shell: PlacedShell) -> int:
    """Functions of a shell."""
    return angular_parts(shell.momentum, shell.cartesian) * len(shell.contractions)


def angular_parts(momentum: int, cartesian: bool) -> int:
    """Functions of a contraction: 2 l + 1, or of Cartesian ones (l + 1) (l + 2) / 2."""
    return (momentum + 1) * (momentum + 2) // 2 if cartesian else 2 * momentum + 1
