"""The configuration of `craton scf run CONFIG`: what may be written in it, its defaults, and what is allowed.

`craton scf template` prints all of it. An XYZ file is a configuration too: of its molecule, with options for the rest.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from craton.errors import UserError
from craton.runs.iterative import with_options
from craton.scf.functionals.grid import GRIDS
from craton.scf.iteration import DENSITY_BY, GUESSES
from craton.settings import (
    REQUIRED,
    Configuration,
    Reader,
    boolean,
    choice,
    directory_setting,
    integer,
    number,
    read_toml,
    setting,
    template_of,
    text,
)

__all__ = ["TABLES", "Config", "load_config", "template"]


def _positive(high: float, unit: str = "") -> Reader:
    """Reads a number above 0."""
    inside = number(0.0, high, unit)

    def read(value: Any) -> float:
        try:
            found = float(inside(value))
        except ValueError:
            found = 0.0
        if found <= 0.0:
            raise ValueError(f"a number above 0, at most {high:g} {unit}".rstrip())
        return found

    return read


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple):
        raise ValueError('a list of names in quotes, such as ["homo", "lumo"], or []')
    return tuple(text(item) for item in value)


@dataclass(frozen=True)
class MoleculeConfig:
    """Atoms and electrons."""

    file: str = setting(
        REQUIRED,
        text,
        "XYZ file: number of atoms, a line of your own, then symbol and x y z in Angstrom per atom",
        path="input",
    )
    charge: int = setting(0, integer(-1000, 1000), "total charge, in elementary charges")
    multiplicity: int = setting(0, integer(0, 1000), "2 S + 1; 0: the lowest that the number of electrons allows")


@dataclass(frozen=True)
class MethodConfig:
    """What is solved, and where it begins."""

    basis: str = setting(REQUIRED, text, "basis set by its name at basissetexchange.org: sto-3g, 6-31g*, cc-pvtz")
    cartesian: bool = setting(
        False,
        boolean,
        "Cartesian functions, 6 of a d shell as Gaussian has them in 6-31g*, instead of 5 spherical ones",
    )
    kind: str = setting(
        "",
        choice("", "rhf", "uhf", "rohf"),
        '"rhf" restricted, "uhf" unrestricted, "rohf" restricted open-shell; "": rhf where the multiplicity is 1, else uhf',
    )
    guess: str = setting(
        "sad", choice(*GUESSES), '"sad": superposition of atomic densities; "core": orbitals of one electron alone'
    )
    start: str = setting(
        "",
        text,
        'orbitals.h5 or checkpoint.h5 of another run to begin with, also of another basis set or geometry; "": the guess',
        path="input",
    )
    density_by: str = setting(
        "diagonalisation",
        choice(*DENSITY_BY),
        '"diagonalisation"; "canonical" or "sp2": purification, by matrix products alone',
    )
    xc: str = setting(
        "", text, 'density functional: lda, pbe, blyp, b3lyp, pbe0 ... or names of libxc joined by +; "": Hartree-Fock'
    )
    grid: str = setting("medium", choice(*GRIDS), "of the functional's integrals")
    threshold: float = setting(1e-12, _positive(1.0, "hartree"), "hartree; integrals that matter less are left out")
    df: bool = setting(False, boolean, "fit densities by auxiliary functions: faster, some 1e-5 hartree an atom off")
    auxiliary: str = setting("", text, 'auxiliary set of df by its name; "": chosen for the basis set')
    linear_dependence: float = setting(1e-8, _positive(1.0), "eigenvalues of the overlap below it are left out")


@dataclass(frozen=True)
class ConvergenceConfig:
    """When iterations end, and what helps them to.

    If they do not converge: level_shift = 0.3, or damping = 0.5 and diis_start = 6.
    """

    energy: float = setting(1e-9, _positive(1.0, "hartree"), "hartree; converged where the energy changes by less")
    gradient: float = setting(
        0.0, number(0, 1.0), "norm of the orbital gradient to reach; 0: the root of energy, UHF / 30"
    )
    iterations: int = setting(50, integer(1, 10**6), "at most")
    level_shift: float = setting(0.0, number(0, 100, "hartree"), "hartree; raises virtual orbitals while it iterates")
    damping: float = setting(0.0, number(0, 0.99), "part of the last Fock matrix that is kept until DIIS starts")
    diis_space: int = setting(8, integer(0, 100), "Fock matrices that DIIS combines; 0: no DIIS")
    diis_start: int = setting(1, integer(1, 10**6), "the first iteration with DIIS")


@dataclass(frozen=True)
class GeometryConfig:
    """What is done with the nuclei when the first iterations have converged."""

    optimise: bool = setting(False, boolean, "move the nuclei to where the energy is least; needs the package ase")
    force: float = setting(1e-4, _positive(1.0, "hartree/bohr"), "hartree/bohr; optimised where no force is larger")
    steps: int = setting(200, integer(1, 10**6), "geometries at most")
    frequencies: bool = setting(False, boolean, "harmonic vibrations, by 6 gradients for each atom")


@dataclass(frozen=True)
class OutputConfig:
    """Files beside record.json and orbitals.h5.

    Orbitals: "homo", "lumo", "homo-1", "lumo+1", or a number from 1 on; with ":down" of spin down.
    """

    pictures: tuple[str, ...] = setting(("homo",), _names, "orbitals that the report shows")
    cubes: tuple[str, ...] = setting((), _names, 'orbitals, "density" or "spin", each in a cube file')
    cube_spacing_bohr: float = setting(0.2, _positive(10.0, "bohr"), "bohr between points of cube files")
    molden: bool = setting(False, boolean, "orbitals.molden: geometry, basis and orbitals for other programs")


@dataclass(frozen=True)
class RunConfig:
    """Where results go, and how the work is shared out."""

    directory: str = directory_setting()
    ranks: int = setting(0, integer(0, 10**6), "processes, if --ranks does not say; 0: one")
    threads: int = setting(1, integer(1, 1024), "of each rank; they compute integrals")
    integral_memory_mb: float = setting(
        -1.0,
        number(-1, 1e9, "MB"),
        "MB of each rank that keep integrals between iterations; 0: none; -1: chosen, 4000 at most",
    )
    checkpoint_every_s: float = setting(
        10.0, number(0, 1e7, "s"), "s of wall clock between checkpoints, which `resume` goes on from"
    )
    library: str = setting("", text, 'file of libcint; "": $CRATON_LIBCINT, else the one that is found', path="input")


@dataclass(frozen=True, kw_only=True, repr=False)
class Config(Configuration):
    """A whole configuration, checked. Paths in it are absolute."""

    tables = {
        "molecule": MoleculeConfig,
        "method": MethodConfig,
        "convergence": ConvergenceConfig,
        "geometry": GeometryConfig,
        "output": OutputConfig,
        "run": RunConfig,
    }
    molecule: MoleculeConfig
    method: MethodConfig
    convergence: ConvergenceConfig
    geometry: GeometryConfig
    output: OutputConfig
    run: RunConfig

    @classmethod
    def build(cls, raw: Mapping[str, Any], path: Path) -> Self:
        """Reads what a TOML file holds, as Configuration.build. UserError for an XYZ file without a basis set."""
        if path.suffix.lower() == ".xyz" and "basis" not in raw.get("method", {}):
            raise UserError(f"{path}: no basis set; allowed: --basis NAME with an XYZ file, such as --basis cc-pvdz")
        return super().build(raw, path)


TABLES = Config.tables
OR_XYZ = ", or XYZ whose name ends in .xyz"


def load_config(path: str | os.PathLike[str], options: Mapping[tuple[str, str], Any] | None = None) -> Config:
    """Reads and checks a TOML file, or an XYZ file, which is the configuration of its molecule. Not collective.

    options: (table, key) -> value: what the command line says instead of the file; None says nothing. UserError names the key, the
    value and what is allowed.
    """
    path = Path(path)
    if path.suffix.lower() == ".xyz":
        if not path.is_file():
            what = "is a folder" if path.is_dir() else "no such file"
            raise UserError(f"{path}: {what}; allowed: a TOML file{OR_XYZ}")
        raw: dict[str, Any] = {"molecule": {"file": str(path.absolute())}}
    else:
        raw = read_toml(path, "craton scf template", OR_XYZ)
    return Config.build(with_options(raw, options), path)


def template() -> str:
    """A commented TOML file with every table, key and default."""
    return template_of(
        "A Hartree-Fock calculation. Look at it with: craton scf check THIS_FILE; start it with: craton scf run THIS_FILE",
        TABLES,
        {"molecule.file": "water.xyz", "method.basis": "cc-pvdz"},
        width=36,
    )
