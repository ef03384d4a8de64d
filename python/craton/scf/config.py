"""The configuration of `craton scf run CONFIG`: what may be written in it, its defaults, and what is allowed.

`craton scf template` prints all of it. An XYZ file is a configuration too: of its molecule, with options for the rest.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from craton.errors import UserError
from craton.scf.iteration.settings import DENSITY_BY, GUESSES
from craton.settings import (
    REQUIRED,
    Reader,
    boolean,
    check_keys,
    choice,
    integer,
    number,
    read_table,
    read_toml,
    setting,
    table_to_toml,
    text,
    toml_value,
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
    kind: str = setting(
        "", choice("", "rhf", "uhf"), '"rhf" restricted, "uhf" unrestricted; "": restricted where the multiplicity is 1'
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
    threshold: float = setting(1e-12, _positive(1.0, "hartree"), "hartree; integrals that matter less are left out")
    linear_dependence: float = setting(1e-8, _positive(1.0), "eigenvalues of the overlap below it are left out")


@dataclass(frozen=True)
class ConvergenceConfig:
    """When iterations end, and what helps them to. If they do not converge: level_shift = 0.3, or
    damping = 0.5 and diis_start = 6.
    """

    energy: float = setting(1e-9, _positive(1.0, "hartree"), "hartree; converged where the energy changes by less")
    gradient: float = setting(0.0, number(0, 1.0), "norm of the orbital gradient to reach; 0: the root of energy")
    iterations: int = setting(50, integer(1, 10**6), "at most")
    level_shift: float = setting(0.0, number(0, 100, "hartree"), "hartree; raises virtual orbitals while it iterates")
    damping: float = setting(0.0, number(0, 0.99), "part of the last Fock matrix that is kept until DIIS starts")
    diis_space: int = setting(8, integer(0, 100), "Fock matrices that DIIS combines; 0: no DIIS")
    diis_start: int = setting(1, integer(1, 10**6), "the first iteration with DIIS")


@dataclass(frozen=True)
class OutputConfig:
    """Files beside record.json and orbitals.h5. Orbitals: "homo", "lumo", "homo-1", "lumo+1", or a number from 1 on; with ":down"
    of spin down.
    """

    pictures: tuple[str, ...] = setting(("homo",), _names, "orbitals that the report shows")
    cubes: tuple[str, ...] = setting((), _names, 'orbitals, "density" or "spin", each in a cube file')
    cube_spacing_bohr: float = setting(0.2, _positive(10.0, "bohr"), "bohr between points of cube files")
    molden: bool = setting(False, boolean, "orbitals.molden: geometry, basis and orbitals for other programs")


@dataclass(frozen=True)
class RunConfig:
    """Where results go, and how the work is shared out."""

    directory: str = setting(
        "",
        text,
        'folder of the results, relative to where you start craton; "" is <name of this file>-run',
        path="output",
    )
    ranks: int = setting(0, integer(0, 10**6), "processes, if --ranks does not say; 0: one")
    threads: int = setting(1, integer(1, 1024), "of each rank; they compute integrals")
    checkpoint_every_s: float = setting(
        10.0, number(0, 1e7, "s"), "s of wall clock between checkpoints, which `resume` goes on from"
    )
    library: str = setting("", text, 'file of libcint; "": $CRATON_LIBCINT, else the one that is found', path="input")


TABLES: dict[str, type] = {
    "molecule": MoleculeConfig,
    "method": MethodConfig,
    "convergence": ConvergenceConfig,
    "output": OutputConfig,
    "run": RunConfig,
}
EXAMPLES = {"file": "water.xyz", "basis": "cc-pvdz"}


@dataclass(frozen=True)
class Config:
    """A whole configuration, checked. Paths in it are absolute."""

    molecule: MoleculeConfig
    method: MethodConfig
    convergence: ConvergenceConfig
    output: OutputConfig
    run: RunConfig
    path: Path = Path("config.toml")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as a TOML file holds them."""
        return {name: dataclasses.asdict(getattr(self, name)) for name in TABLES}

    def to_toml(self) -> str:
        """With every default written out; load_config reads it back, from any folder."""
        return "\n".join(table_to_toml(name, getattr(self, name)) for name in TABLES)

    def replaced(self, table: str, **values: Any) -> Config:
        """A copy with some settings of a table replaced, checked as if the file had them. UserError for a wrong one."""
        raw = self.to_dict()
        raw[table].update(values)
        return build(raw, self.path)


def load_config(path: str | os.PathLike[str], options: Mapping[tuple[str, str], Any] | None = None) -> Config:
    """Reads and checks a TOML file, or an XYZ file, which is the configuration of its molecule. Not collective.

    options: (table, key) -> value: what the command line says instead of the file; None says nothing. UserError names the key, the
    value and what is allowed.
    """
    path = Path(path)
    if path.suffix.lower() == ".xyz":
        raw: dict[str, Any] = {"molecule": {"file": str(path.absolute())}}
    else:
        raw = read_toml(path, "craton scf template")
    for (table, key), value in (options or {}).items():
        if value is not None and isinstance(raw.setdefault(table, {}), dict):
            raw[table][key] = str(Path(value).absolute()) if isinstance(value, Path) else value
    return build(raw, path)


def build(raw: Mapping[str, Any], path: Path) -> Config:
    """From what a TOML file holds. UserError as load_config."""
    check_keys(raw, TABLES, f"{path}: unknown table", brackets=True)
    folder, where = path.absolute().parent, str(path)
    if path.suffix.lower() == ".xyz" and "basis" not in raw.get("method", {}):
        raise UserError(f"{path}: no basis set; allowed: --basis NAME with an XYZ file, such as --basis cc-pvdz")
    config = Config(
        **{name: read_table(table, name, raw.get(name, {}), where, folder) for name, table in TABLES.items()}, path=path
    )
    if not config.run.directory:
        default = dataclasses.replace(config.run, directory=str(Path.cwd() / f"{path.stem}-run"))
        config = dataclasses.replace(config, run=default)
    return config


def template() -> str:
    """A commented TOML file with every table, key and default."""
    lines = [
        "# A Hartree-Fock calculation. Look at it with: craton scf check THIS_FILE; start it with: craton scf run THIS_FILE",
        "",
    ]
    for name, table in TABLES.items():
        lines += [f"# {' '.join((table.__doc__ or '').split())}", f"[{name}]"]
        for item in dataclasses.fields(table):
            value = EXAMPLES.get(item.name, item.default)
            lines.append(f"{f'{item.name} = {toml_value(value)}':<36} # {item.metadata['help']}")
        lines.append("")
    return "\n".join(lines)
