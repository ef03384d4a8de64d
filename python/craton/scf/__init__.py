"""Hartree-Fock over Gaussian basis sets.

    from craton import scf
    molecule = scf.Molecule.from_xyz("h2o.xyz")
    calculation = scf.RHF(molecule, "cc-pvdz").run()
    calculation.e_tot, calculation.mo_energy, calculation.make_rdm1()

Coulomb and exchange matrices by all ranks of a world, from and into arrays over the ranks:

    fock = scf.DistributedFock(world, scf.open_libcint(), scf.make_basis(molecule, "cc-pvdz"), threads=2)
    density = fock.scatter(matrix)  # a craton.DistArray, in the order of fock.basis
    coulomb, [exchange] = fock.build([density])

Forces, geometries and vibrations:

    calculation.gradient()  # hartree per bohr
    found = scf.optimise(calculation)
    scf.vibrations(found.calculation).frequencies_cm1

A run with a folder, as `craton scf run`, and what it has left:

    record = scf.run(scf.load_config("water.toml"))
    record.figures()    # matplotlib Figures by name; record.write_report() draws report.html
    record = scf.ScfFolder("water-run").read_record()
    record.energy_hartree, record.mulliken_charges
    scf.orbital_figure(scf.StoredOrbitals("water-run/orbitals.h5"), "lumo")  # a matplotlib Figure

Needs the packages of the group `chemistry` (pip install 'craton[chemistry]'): basis_set_exchange for basis sets by name, and
libcint, of which pyscf brings a copy; CRATON_LIBCINT names another. All quantities are in
atomic units unless a name says otherwise. `docs/scf.md` has the equations.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from craton.lazy import lazy_names

if TYPE_CHECKING:
    from craton.scf.basis_sets import make_basis, placed_shells, shells_of
    from craton.scf.config import Config, load_config
    from craton.scf.engines.fock import DistributedFock
    from craton.scf.engines.libcint import find_libcint, open_libcint
    from craton.scf.files.checkpoint import Checkpoint
    from craton.scf.files.cube import write_cube
    from craton.scf.files.molden import write_molden
    from craton.scf.files.orbitals import StoredOrbitals
    from craton.scf.folder import ScfFolder, ScfRecord
    from craton.scf.geometry.optimisation import Optimised, optimise
    from craton.scf.geometry.vibrations import Vibrations, vibrations
    from craton.scf.iteration.diis import DIIS
    from craton.scf.iteration.hartree_fock import HartreeFock, Iteration
    from craton.scf.iteration.kohn_sham import RKS, UKS
    from craton.scf.iteration.restricted_open import ROHF
    from craton.scf.iteration.spins import RHF, UHF
    from craton.scf.iteration.stability import Stability, stability
    from craton.scf.molecule import BOHR_ANGSTROM, Molecule
    from craton.scf.pictures.orbital import draw_orbital, orbital_figure
    from craton.scf.report import figures, write_report
    from craton.scf.start import resume, run

__all__ = [
    "BOHR_ANGSTROM",
    "Checkpoint",
    "Config",
    "DIIS",
    "DistributedFock",
    "HartreeFock",
    "Iteration",
    "Molecule",
    "Optimised",
    "RHF",
    "RKS",
    "ROHF",
    "ScfFolder",
    "ScfRecord",
    "Stability",
    "StoredOrbitals",
    "UHF",
    "UKS",
    "Vibrations",
    "draw_orbital",
    "figures",
    "find_libcint",
    "load_config",
    "make_basis",
    "open_libcint",
    "optimise",
    "orbital_figure",
    "placed_shells",
    "resume",
    "run",
    "shells_of",
    "stability",
    "vibrations",
    "write_cube",
    "write_molden",
    "write_report",
]

_, __getattr__, __dir__ = lazy_names(__name__)
