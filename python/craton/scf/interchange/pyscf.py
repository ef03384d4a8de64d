"""PySCF: molecules and basis sets from and to Mole, and results as a mean-field object for what PySCF adds to them.

Source: Q. Sun et al., J. Chem. Phys. 153, 024109 (2020). Needs the package pyscf.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from craton.errors import UserError
from craton.scf.basis_sets import Shell
from craton.scf.core_potentials import CorePotential, core_potentials_of
from craton.scf.functions import primitive_norm
from craton.scf.iteration.hartree_fock import HartreeFock
from craton.scf.iteration.restricted_open import ROHF
from craton.scf.iteration.spins import RHF, UHF
from craton.scf.molecule import Molecule

__all__ = ["from_mean_field", "from_mole", "to_mean_field", "to_mole"]

KINDS = {"RHF": RHF, "UHF": UHF, "ROHF": ROHF}


def from_mole(mole: Any, cartesian: bool = False) -> tuple[Molecule, dict[str, list[Shell]]]:
    """A molecule and its shells, which HartreeFock takes in place of a basis set's name, of a pyscf.gto.Mole.

    cartesian: what is said to HartreeFock too. UserError where mole.cart is other, and for what Craton has not: effective core
    potentials, ghosts, different shells of one element.
    """
    for there, what in (
        (mole.has_ecp(), "effective core potentials; allowed: all-electron basis sets"),
        (mole.cart and not cartesian, "Cartesian functions; allowed: with cartesian = True here and for HartreeFock"),
        (cartesian and not mole.cart, "spherical functions; allowed: with cartesian = False here and for HartreeFock"),
        (np.any(mole.atom_charges() == 0), "atoms without a charge; allowed: nuclei"),
    ):
        if there:
            raise UserError(f"PySCF: the molecule has {what}")
    symbols = tuple(mole.atom_pure_symbol(n) for n in range(mole.natm))
    shells: dict[str, list[Shell]] = {}
    for n, symbol in enumerate(symbols):
        found = [_shell(mole, s) for s in range(mole.nbas) if mole.bas_atom(s) == n]
        if shells.setdefault(symbol, found) != found:
            raise UserError(
                f"PySCF: atoms of {symbol} have different shells; allowed: the same of every atom of an element"
            )
    return Molecule(symbols, np.array(mole.atom_coords()), int(mole.charge), int(mole.spin) + 1), shells


def _shell(mole: Any, number: int) -> Shell:
    """PySCF keeps coefficients of plain Gaussians, in functions of norm 1."""
    exponents, momentum = mole.bas_exp(number), int(mole.bas_angular(number))
    coefficients = mole._libcint_ctr_coeff(number) / primitive_norm(momentum, exponents)[:, None]
    return momentum, exponents.tolist(), coefficients.T.tolist()


def to_mole(molecule: Molecule, basis: str | dict[str, list[Shell]], cartesian: bool = False) -> Any:
    """A pyscf.gto.Mole with the same functions in the same order. UserError as placed_shells."""
    from pyscf import gto

    from craton.scf.basis_sets import shells_of

    by_element = shells_of(basis, frozenset(molecule.symbols)) if isinstance(basis, str) else basis
    printed = {
        symbol: [
            [momentum, *([exponent, *(row[p] for row in rows)] for p, exponent in enumerate(exponents))]
            for momentum, exponents, rows in shells
        ]
        for symbol, shells in by_element.items()
        if symbol in molecule.symbols
    }
    potentials = core_potentials_of(basis, frozenset(molecule.symbols)) if isinstance(basis, str) else {}
    return gto.M(
        atom=list(zip(molecule.symbols, molecule.positions_bohr.tolist(), strict=True)),
        unit="Bohr",
        basis=printed,
        cart=cartesian,
        charge=molecule.charge,
        spin=(molecule.multiplicity or 1) - 1,
        ecp={symbol: _printed(each) for symbol, each in potentials.items()},
        verbose=0,
    )


def _printed(potential: CorePotential) -> list[Any]:
    """As PySCF has it: the local part as l = -1, and a list of exponents and coefficients for each power of r from 0 to 6."""
    parts = [(-1, potential.local), *enumerate(potential.added)]
    return [
        potential.electrons,
        [
            [momentum, [[[a, c] for n, a, c in zip(*numbers, strict=True) if n == power] for power in range(7)]]
            for momentum, numbers in parts
        ],
    ]


def to_mean_field(calculation: HartreeFock) -> Any:
    """A converged pyscf.scf.RHF, UHF or ROHF with a calculation's orbitals: for correlated methods, responses, solvents.

    UserError over a world, and where there are no orbitals.
    """
    from pyscf import scf

    if calculation._world is not None:
        raise UserError("PySCF: of a calculation over a world; allowed: without a world")
    if calculation.method not in KINDS:
        raise UserError(f"PySCF: {calculation.method}; allowed: {', '.join(KINDS)}")
    calculation._need_orbitals()
    made = getattr(scf, calculation.method)(
        to_mole(calculation.molecule, calculation._given_basis, calculation.cartesian)
    )
    made.mo_coeff, made.mo_energy = np.array(calculation.mo_coeff), np.array(calculation.mo_energy)
    made.mo_occ, made.e_tot, made.converged = np.array(calculation.mo_occ), calculation.e_tot, calculation.converged
    return made


def from_mean_field(mean_field: Any) -> HartreeFock:
    """A calculation with the molecule, shells and method of a pyscf.scf.RHF, UHF or ROHF, which has not run.

    Begin with its density: calculation.kernel(mean_field.make_rdm1()). UserError as from_mole, and for other methods.
    """
    from pyscf import scf
    from pyscf.dft.rks import KohnShamDFT

    classes = {"ROHF": scf.rohf.ROHF, "UHF": scf.uhf.UHF, "RHF": scf.hf.RHF}
    kind = next((name for name, each in classes.items() if isinstance(mean_field, each)), None)
    if kind is None or isinstance(mean_field, KohnShamDFT):
        raise UserError(f"PySCF: {type(mean_field).__name__}; allowed: scf.RHF, UHF or ROHF")
    cartesian = bool(mean_field.mol.cart)
    molecule, shells = from_mole(mean_field.mol, cartesian)
    made = KINDS[kind](molecule, shells, cartesian=cartesian)
    made.conv_tol, made.max_cycle = float(mean_field.conv_tol), int(mean_field.max_cycle)
    return made
