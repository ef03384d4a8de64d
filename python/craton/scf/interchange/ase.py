"""The Atomic Simulation Environment: molecules from and to Atoms, and a calculator for its optimisers and dynamics.

Source: A. H. Larsen et al., J. Phys. Condens. Matter 29, 273002 (2017). Needs the package ase.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from craton.errors import UserError
from craton.scf.iteration.hartree_fock import HartreeFock
from craton.scf.iteration.kohn_sham import RKS, UKS
from craton.scf.iteration.restricted_open import ROHF
from craton.scf.iteration.spins import RHF, UHF
from craton.scf.molecule import BOHR_ANGSTROM, Molecule

try:
    from ase import Atoms
    from ase.calculators.calculator import Calculator, all_changes
except ImportError:
    raise UserError("ASE: the package ase is not installed; allowed: pip install 'craton[chemistry]'") from None

if TYPE_CHECKING:
    from craton._craton import World

__all__ = ["HARTREE_EV", "CratonCalculator", "from_atoms", "to_atoms"]

HARTREE_EV = 27.21138505
"""One hartree in electronvolts, as CODATA 2010 has it, as BOHR_ANGSTROM."""
METHODS: dict[str, type[HartreeFock]] = {"rhf": RHF, "uhf": UHF, "rohf": ROHF, "rks": RKS, "uks": UKS}


def from_atoms(atoms: Any, charge: int = 0, multiplicity: int | None = None) -> Molecule:
    """A molecule of ase.Atoms, of whose cell nothing is taken. UserError as Molecule, and for periodic ones."""
    if np.any(atoms.pbc):
        raise UserError(f"ASE: atoms are periodic along {atoms.pbc.tolist()}; allowed: pbc = False, a molecule")
    symbols = tuple(atoms.get_chemical_symbols())
    if not symbols or "X" in symbols:
        raise UserError(
            f"ASE: {len(symbols)} atoms, {symbols.count('X')} of them dummies; allowed: elements, at least one"
        )
    return Molecule(symbols, atoms.get_positions() / BOHR_ANGSTROM, charge, multiplicity)


def to_atoms(molecule: Molecule) -> Any:
    """ase.Atoms of a molecule, with charges and multiplicity left out: ASE has none of a whole."""
    return Atoms(symbols=list(molecule.symbols), positions=molecule.positions_bohr * BOHR_ANGSTROM)


class CratonCalculator(Calculator):
    """Hartree-Fock as a calculator of ASE: energy and forces, dipole and Mulliken charges; with `xc` a functional, without forces.

        atoms.calc = CratonCalculator("cc-pvdz")
        BFGS(atoms).run(fmax=0.01)

    A geometry begins with the density of the one before. With `world` its members are collective.
    """

    implemented_properties = ["energy", "forces", "dipole", "charges"]

    def __init__(
        self,
        basis: Any,
        method: str = "",
        *,
        charge: int = 0,
        multiplicity: int | None = None,
        cartesian: bool = False,
        world: World | None = None,
        calculated: Callable[[HartreeFock], None] | None = None,
        **settings: object,
    ) -> None:
        """basis, cartesian, settings: as HartreeFock, or KohnSham.

        method: rhf, uhf, rohf, rks or uks; "": rhf where the multiplicity is 1, else uhf, and with the setting xc rks or uks.

        calculated: called after each geometry. UserError for another method; what else is wrong is said with the first atoms.
        """
        super().__init__()  # type: ignore[no-untyped-call]
        if method not in ("", *METHODS):
            raise UserError(f"calculator: method '{method}'; allowed: {', '.join(METHODS)}")
        self._basis, self._method, self._charge, self._multiplicity = basis, method, charge, multiplicity
        self._cartesian = cartesian
        self._world, self._settings, self._calculated = world, {"conv_tol_grad": 1e-6} | settings, calculated
        self.calculation: HartreeFock | None = None
        """Of the last geometry."""

    @classmethod
    def of(cls, calculation: HartreeFock, calculated: Callable[[HartreeFock], None] | None = None) -> CratonCalculator:
        """One of the same kind and settings, whose first density is the calculation's where it has run."""
        molecule = calculation.molecule
        settings = {name: getattr(calculation, name) for name in calculation.SETTINGS}
        made = cls(
            calculation._given_basis,
            calculation.method.lower(),
            charge=molecule.charge,
            multiplicity=molecule.multiplicity,
            cartesian=calculation.cartesian,
            world=calculation._world,
            calculated=calculated,
            **settings,
        )
        made.calculation = calculation
        return made

    def calculate(
        self, atoms: Any = None, properties: Any = ("energy",), system_changes: Any = tuple(all_changes)
    ) -> None:
        """What ASE calls. UserError where the iterations do not converge."""
        super().calculate(atoms, properties, system_changes)  # type: ignore[no-untyped-call]
        if system_changes or self.calculation is None or not self.calculation.converged:
            self._run()
        found = self.calculation
        assert found is not None
        self.results["energy"] = found.e_tot * HARTREE_EV
        if "forces" in properties:
            self.results["forces"] = -found.gradient() * (HARTREE_EV / BOHR_ANGSTROM)
        if "dipole" in properties:
            from craton.scf.properties import DEBYE

            self.results["dipole"] = found.dipole_debye() * (BOHR_ANGSTROM / DEBYE)
        if "charges" in properties:
            self.results["charges"] = found.mulliken_charges()

    def _run(self) -> None:
        molecule, before = from_atoms(self.atoms, self._charge, self._multiplicity), self.calculation
        positions = molecule.positions_bohr
        if self._world is not None:  # what rounding made of them on rank 0
            positions = self._world.sum(positions if self._world.rank == 0 else np.zeros_like(positions))
        density = None
        if before is not None and before.molecule.symbols == molecule.symbols:
            if before.converged and np.array_equal(before.molecule.positions_bohr, positions):
                return
            made = before.moved(positions)
            density = before.whole_rdm1() if before.mo_coeff is not None else None
        else:
            made = self._first(molecule)
        made.kernel(density)
        if not made.converged:
            raise UserError(
                f"{made.method}: not converged after {len(made.iterations)} iterations; allowed: settings with which it does, "
                "such as max_cycle, level_shift or damp"
            )
        self.calculation = made
        if self._calculated is not None:
            self._calculated(made)

    def _first(self, molecule: Molecule) -> HartreeFock:
        method = ("r" if molecule.multiplicity == 1 else "u") + ("ks" if "xc" in self._settings else "hf")
        method = self._method or method
        made = METHODS[method](molecule, self._basis, cartesian=self._cartesian, world=self._world)
        for name, value in self._settings.items():
            if name not in made.SETTINGS:
                raise UserError(f"calculator: setting '{name}'; allowed: {', '.join(made.SETTINGS)}")
            setattr(made, name, value)
        return made
