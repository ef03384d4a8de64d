"""Densities to begin an iteration with: from atoms, from the core, or from a checkpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from craton._craton import IntegralLibrary
from craton.errors import UserError
from craton.scf.basis_sets import PlacedShell
from craton.scf.files.checkpoint import Checkpoint
from craton.scf.iteration.guess import atomic_densities
from craton.scf.iteration.orthonormal import OrthonormalFunctions
from craton.scf.molecule import Molecule


class Beginning:
    """Makes a density for each spin. occupied: orbitals of each; weight: electrons in each of them."""

    def __init__(
        self,
        engine: Any,
        molecule: Molecule,
        shells: list[PlacedShell],
        occupied: Sequence[int],
        weight: float,
        functions: OrthonormalFunctions,
    ) -> None:
        self._engine, self._molecule, self._shells = engine, molecule, shells
        self._occupied, self._weight, self._functions = occupied, weight, functions

    def from_atoms(self, library: IntegralLibrary, overlap: Any) -> list[Any]:
        """Atomic densities side by side, scaled to the electrons of each spin."""
        engine, algebra = self._engine, self._engine.algebra
        total = engine.block_diagonal(atomic_densities(self._molecule, self._shells, library))
        [neutral] = algebra.inner([(total, overlap)])
        found = [engine.matrix() for _ in self._occupied]
        for density, occupied in zip(found, self._occupied, strict=True):
            algebra.combine(density, [(self._weight * occupied / neutral, total)])
        return found

    def from_core(self, core: Any) -> list[Any]:
        """Of the orbitals of one electron alone."""
        return self._lowest([self._functions.inside(core)] * len(self._occupied))

    def from_checkpoint(self, found: Checkpoint) -> list[Any]:
        """As it was left; projected where the molecule, its basis, charge or multiplicity are others.

        UserError for a checkpoint of other atoms.
        """
        engine, algebra = self._engine, self._engine.algebra
        spins = len(self._occupied)
        if found.is_of(self._molecule, self._shells) and spins == len(found.densities):
            return [engine.taken(each) for each in found.densities]
        _check_atoms(found, self._molecule)
        stored = [engine.taken_as_stored(each) for each in found.densities]
        if len(stored) > spins:
            algebra.combine(stored[0], [(1.0, stored[1])], keep=1.0)
        elif len(stored) < spins:
            algebra.combine(stored[0], [], keep=0.5)
        # the old functions go with their nuclei; X^T S of an old orbital's least-squares fit among the new ones is X^T <new|old>
        across = engine.overlap_with(self._molecule, self._shells, found.shells)
        orthogonal = self._functions.matrix
        fit = algebra.take(across, (across.shape[1], orthogonal.shape[1]))
        algebra.product(across, orthogonal, fit, transpose_a=True)
        seen = [self._functions.inside(each, fit) for each in stored[:spins]]
        for each in seen:
            algebra.combine(each, [], keep=-1.0)
        # the orbitals that are most occupied, so that it is a density of so many electrons
        return self._lowest(seen * (spins // len(seen)))

    def _lowest(self, inside: Sequence[Any]) -> list[Any]:
        """Densities of the lowest eigenvectors of matrices among orthonormal functions."""
        algebra = self._engine.algebra
        projectors = [algebra.take(each) for each in inside]
        found = [self._engine.matrix() for _ in inside]
        self._functions.fill(inside, self._occupied, self._weight, "diagonalisation", projectors, found)
        algebra.give(*projectors)
        return found


def _check_atoms(found: Checkpoint, molecule: Molecule) -> None:
    if found.molecule.symbols != molecule.symbols:
        raise UserError(
            f"checkpoint: of {found.molecule.formula}, but the molecule is {molecule.formula}; allowed: one of the same atoms "
            "in the same order"
        )
