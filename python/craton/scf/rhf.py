"""Restricted Hartree-Fock of closed shells."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from craton._craton import FockBuilder, GaussianBasis
from craton.errors import UserError
from craton.scf.basis_sets import Shell, make_basis
from craton.scf.diis import DIIS
from craton.scf.integrals import open_libcint
from craton.scf.molecule import Molecule

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Iteration:
    """One line of the table of iterations: total energy in hartree, its change, the norm of the orbital gradient, quartets of
    shells of which integrals were computed, wall time of J and K."""

    number: int
    energy: float
    change: float
    gradient: float
    quartets: int
    fock_s: float


class RHF:
    """Restricted Hartree-Fock, in the manner of PySCF: make it, set what should differ, run() or kernel(), look at the results.

    Settings: conv_tol (hartree), conv_tol_grad (sqrt(conv_tol) where None), max_cycle, diis_space, direct_scf_tol (of integrals,
    hartree), threads, linear_dependence (eigenvalues of the overlap below it are left out), callback (called with each Iteration).
    Results: converged, e_tot, mo_energy, mo_coeff, mo_occ, iterations, make_rdm1().
    Energies in hartree; matrices n x n over the functions of `basis`, orbitals in the columns of mo_coeff.
    """

    def __init__(self, molecule: Molecule, basis: str | dict[str, list[Shell]]) -> None:
        """UserError for an odd number of electrons, and as make_basis."""
        if molecule.electrons < 2 or molecule.electrons % 2:
            raise UserError(
                f"RHF: {molecule.electrons} electrons (charge {molecule.charge}); allowed: an even number, at least 2"
            )
        self.molecule = molecule
        self.basis: GaussianBasis = make_basis(molecule, basis)
        self.conv_tol = 1e-9
        self.conv_tol_grad: float | None = None
        self.max_cycle = 50
        self.diis_space = 8
        self.direct_scf_tol = 1e-12
        self.linear_dependence = 1e-8
        self.threads = 1
        self.callback: Callable[[Iteration], None] | None = None

        self.converged = False
        self.e_tot = 0.0
        self.mo_energy: Matrix | None = None
        self.mo_coeff: Matrix | None = None
        self.mo_occ: Matrix | None = None
        self.iterations: list[Iteration] = []

        self._library = open_libcint()
        self._builder: FockBuilder | None = None

    # ------------------------------------------------------------------------------------------------- matrices

    def get_ovlp(self) -> Matrix:
        """Overlap."""
        return self._library.overlap(self.basis)

    def get_hcore(self) -> Matrix:
        """Kinetic energy and attraction by the nuclei."""
        return self._library.kinetic(self.basis) + self._library.nuclear_attraction(self.basis)

    def get_jk(self, density: Matrix) -> tuple[Matrix, Matrix]:
        """Coulomb and exchange matrix of a symmetric density; integrals are screened with direct_scf_tol."""
        coulomb, exchange = self._fock_builder().build(np.ascontiguousarray(density, dtype=np.float64)[None])
        return coulomb, exchange[0]

    def get_veff(self, density: Matrix) -> Matrix:
        """J - K / 2."""
        coulomb, exchange = self.get_jk(density)
        return coulomb - exchange / 2

    def make_rdm1(self) -> Matrix:
        """Density matrix; its trace with the overlap is the number of electrons."""
        self._need_orbitals()
        return _density(self.mo_coeff, self.mo_occ)

    def dipole_debye(self) -> Matrix:
        """Dipole moment about the origin, x, y, z, in debye."""
        positions = self._library.position(self.basis)
        electrons = np.einsum("xij,ij->x", positions, self.make_rdm1())
        debye = 2.541746473  # e bohr
        return debye * (self.molecule.charges @ self.molecule.positions_bohr - electrons)

    # ----------------------------------------------------------------------------------------------- iterations

    def run(self, **settings: object) -> RHF:
        """Sets the given settings, iterates, returns itself. Not converging is no error: `converged` says so."""
        for name, value in settings.items():
            if name not in vars(self) or name.startswith("_"):
                raise UserError(
                    f"RHF: setting '{name}'; allowed: {', '.join(k for k in vars(self) if not k.startswith('_'))}"
                )
            setattr(self, name, value)
        self.kernel()
        return self

    def kernel(self, dm0: Matrix | None = None) -> float:
        """Iterates from a density, or from the core guess; returns the total energy."""
        self._builder = None  # settings may have changed
        self.iterations, self.converged = [], False
        overlap, core = self.get_ovlp(), self.get_hcore()
        orthogonal = self._orthogonal(overlap)
        if dm0 is None:
            self._set_orbitals(core, orthogonal)
            dm0 = self.make_rdm1()
        density = np.array(dm0, dtype=np.float64)
        built_for, repulsion = np.zeros_like(density), np.zeros_like(density)
        diis = DIIS(self.diis_space)
        for cycle in range(1, self.max_cycle + 1):
            started = time.perf_counter()
            # J and K are linear: the change of the density needs fewer integrals than the density
            repulsion = repulsion + self.get_veff(density - built_for)
            built_for = density
            fock_s = time.perf_counter() - started
            fock = core + repulsion
            energy = float(np.vdot(density, core) + np.vdot(density, repulsion) / 2) + self.basis.nuclear_repulsion
            product = fock @ density @ overlap
            error = orthogonal.T @ (product - product.T) @ orthogonal
            if self._note(cycle, energy, float(np.linalg.norm(error)), fock_s):
                self._set_orbitals(fock, orthogonal)
                break
            self._set_orbitals(diis.update(fock, error), orthogonal)
            density = self.make_rdm1()
        return self.e_tot

    def _note(self, cycle: int, energy: float, gradient: float, fock_s: float) -> bool:
        """Records an iteration; whether it is the last."""
        change = energy - self.e_tot if self.iterations else np.inf
        quartets = self._fock_builder().counts["quartets"]
        self.iterations.append(Iteration(cycle, energy, change, gradient, quartets, fock_s))
        self.e_tot = energy
        if self.callback is not None:
            self.callback(self.iterations[-1])
        allowed = np.sqrt(self.conv_tol) if self.conv_tol_grad is None else self.conv_tol_grad
        self.converged = bool(abs(change) < self.conv_tol and gradient < allowed)
        return self.converged

    def _fock_builder(self) -> FockBuilder:
        if self._builder is None:
            self._builder = FockBuilder(self._library, self.basis, self.direct_scf_tol, self.threads)
        return self._builder

    def _orthogonal(self, overlap: Matrix) -> Matrix:
        """Columns that are orthonormal in the overlap, near dependence left out."""
        values, vectors = scipy.linalg.eigh(overlap)
        kept = values > self.linear_dependence
        if 2 * kept.sum() < self.molecule.electrons:
            raise UserError(
                f"RHF: {kept.sum()} independent functions for {self.molecule.electrons} electrons; allowed: at least half as many"
            )
        return vectors[:, kept] / np.sqrt(values[kept])

    def _set_orbitals(self, fock: Matrix, orthogonal: Matrix) -> None:
        self.mo_energy, vectors = scipy.linalg.eigh(orthogonal.T @ fock @ orthogonal)
        self.mo_coeff = orthogonal @ vectors
        self.mo_occ = np.where(np.arange(len(self.mo_energy)) < self.molecule.electrons // 2, 2.0, 0.0)

    def _need_orbitals(self) -> None:
        if self.mo_coeff is None:
            raise UserError("RHF: there are no orbitals; allowed: after run() or kernel()")


def _density(coefficients: Matrix, occupations: Matrix) -> Matrix:
    density = (coefficients * occupations) @ coefficients.T
    return (density + density.T) / 2  # symmetric to the last bit
