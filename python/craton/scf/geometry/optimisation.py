"""Geometries where the energy is least, by an optimiser of ASE."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from craton.errors import UserError
from craton.scf.iteration.hartree_fock import HartreeFock
from craton.scf.molecule import BOHR_ANGSTROM

__all__ = ["Optimised", "Step", "optimise"]


@dataclass(frozen=True)
class Step:
    """One geometry: its energy in hartree, and the largest force on an atom in hartree per bohr."""

    number: int
    energy: float
    force: float


@dataclass(frozen=True)
class Optimised:
    """The last calculation, the steps to it, and whether its forces are small enough."""

    calculation: HartreeFock
    steps: list[Step]
    converged: bool


def optimise(
    calculation: HartreeFock,
    *,
    force: float = 1e-4,
    max_steps: int = 200,
    callback: Callable[[Step], None] | None = None,
) -> Optimised:
    """Moves the nuclei until no force is above `force`, in hartree per bohr. Collective over a world.

    Quasi-Newton steps (BFGS) in Cartesian coordinates, from the calculation's geometry; its settings hold for every geometry, but
    conv_tol_grad is a thousandth of sqrt(force) at most. Each begins with the density before. Not to get there is no error. The
    given calculation is left as it was. UserError as gradient(), for iterations that do not converge, and without ASE.
    """
    if not force > 0:
        raise UserError(f"optimise: force {force}; allowed: a positive number of hartree per bohr")
    if max_steps < 1:
        raise UserError(f"optimise: {max_steps} steps; allowed: at least 1")
    from craton.scf.interchange.ase import HARTREE_EV, CratonCalculator, to_atoms  # says what to install

    from ase.optimize import BFGS  # isort: skip

    per_ev = BOHR_ANGSTROM / HARTREE_EV
    begun = calculation.moved(calculation.molecule.positions_bohr)
    begun.conv_tol_grad = min(begun.conv_tol_grad or np.inf, 1e-3 * force**0.5)
    begun.kernel(calculation.whole_rdm1() if calculation.mo_coeff is not None else None)
    atoms = to_atoms(begun.molecule)
    atoms.calc = CratonCalculator.of(begun)
    steps: list[Step] = []
    optimiser = BFGS(atoms, logfile=None)
    for converged in optimiser.irun(fmax=force / per_ev, steps=max_steps):  # type: ignore[no-untyped-call]
        largest = float(np.linalg.norm(atoms.get_forces(), axis=1).max()) * per_ev
        steps.append(Step(len(steps), atoms.calc.calculation.e_tot, largest))
        if callback is not None:
            callback(steps[-1])
        if converged:
            break
    return Optimised(atoms.calc.calculation, steps, steps[-1].force < force)
