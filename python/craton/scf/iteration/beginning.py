"""Densities to begin an iteration with: from atoms, from the core, or from a checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from craton._craton import IntegralLibrary
from craton.errors import UserError
from craton.scf.basis_sets import PlacedShell, is_cartesian
from craton.scf.core_potentials import CorePotential
from craton.scf.files.checkpoint import Checkpoint
from craton.scf.iteration.guess import atomic_densities
from craton.scf.iteration.orthonormal import OrthonormalFunctions
from craton.scf.molecule import Molecule


@dataclass(frozen=True)
class Beginning:
    """Makes a density for each spin."""

    engine: Any
    molecule: Molecule
    shells: list[PlacedShell]
    occupied: Sequence[int]
    """Orbitals of each spin."""
    weight: float
    """Electrons in each of them."""
    functions: OrthonormalFunctions
    potentials: Mapping[str, CorePotential] = field(default_factory=dict)

    def from_atoms(self, library: IntegralLibrary, overlap: Any) -> list[Any]:
        """Atomic densities side by side, scaled to the electrons of each spin."""
        engine, algebra = self.engine, self.engine.algebra
        total = engine.block_diagonal(atomic_densities(self.molecule, self.shells, library, self.potentials))
        [neutral] = algebra.inner([(total, overlap)])
        found = [engine.matrix() for _ in self.occupied]
        for density, occupied in zip(found, self.occupied, strict=True):
            algebra.combine(density, [(self.weight * occupied / neutral, total)])
        return found

    def from_core(self, core: Any) -> list[Any]:
        """Densities of the orbitals of one electron alone."""
        return self._lowest([self.functions.inside(core)] * len(self.occupied))

    def from_checkpoint(self, found: Checkpoint) -> list[Any]:
        """Densities of a checkpoint; projected where the molecule, its basis, charge or multiplicity are others.

        UserError for a checkpoint of other atoms, and for one of spherical functions among Cartesian ones or the reverse.
        """
        engine, algebra = self.engine, self.engine.algebra
        spins = len(self.occupied)
        if found.is_of(self.molecule, self.shells) and spins == len(found.densities):
            return [engine.taken(each) for each in found.densities]
        check_start(found, self.molecule, is_cartesian(self.shells))
        stored = [engine.taken_as_stored(each) for each in found.densities]
        if len(stored) > spins:
            algebra.combine(stored[0], [(1.0, stored[1])], keep=1.0)
        elif len(stored) < spins:
            algebra.combine(stored[0], [], keep=0.5)
        # the old functions go with their nuclei; X^T S of an old orbital's least-squares fit among the new ones is X^T <new|old>
        across = engine.overlap_with(self.molecule, self.shells, found.shells)
        orthogonal = self.functions.matrix
        fit = algebra.take(across, (across.shape[1], orthogonal.shape[1]))
        algebra.product(across, orthogonal, fit, transpose_a=True)
        seen = [self.functions.inside(each, fit) for each in stored[:spins]]
        for each in seen:
            algebra.combine(each, [], keep=-1.0)
        # the orbitals that are most occupied, so that it is a density of so many electrons
        return self._lowest(seen * (spins // len(seen)))

    def _lowest(self, inside: Sequence[Any]) -> list[Any]:
        """Densities of the lowest eigenvectors of matrices among orthonormal functions."""
        algebra = self.engine.algebra
        projectors = [algebra.take(each) for each in inside]
        found = [self.engine.matrix() for _ in inside]
        self.functions.fill(inside, self.occupied, self.weight, "diagonalisation", projectors, found)
        algebra.give(*projectors)
        return found


def check_start(found: Checkpoint, molecule: Molecule, cartesian: bool) -> None:
    """UserError for a checkpoint that cannot be projected."""
    if found.molecule.symbols != molecule.symbols:
        raise UserError(
            f"checkpoint: of {found.molecule.formula}, but the molecule is {molecule.formula}; allowed: one of the same atoms "
            "in the same order"
        )
    if is_cartesian(found.shells) != cartesian:
        kinds = ["spherical", "Cartesian"]
        raise UserError(
            f"checkpoint: of {kinds[not cartesian]} functions, but the calculation has {kinds[cartesian]} ones; "
            f"allowed: one of {kinds[cartesian]} functions"
        )
