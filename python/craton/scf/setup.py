"""A calculation from its configuration, with every complaint before anything is computed."""

from __future__ import annotations

import importlib.util

import craton
from craton.errors import UserError
from craton.scf import properties
from craton.scf.config import Config
from craton.scf.files.checkpoint import Checkpoint
from craton.scf.iteration.beginning import check_start
from craton.scf.iteration.hartree_fock import HartreeFock
from craton.scf.iteration.kohn_sham import RKS, UKS, KohnSham
from craton.scf.iteration.restricted_open import ROHF
from craton.scf.iteration.spins import RHF, UHF
from craton.scf.molecule import Molecule

__all__ = ["made_calculation", "named", "read_start"]

METHODS = {"rhf": RHF, "uhf": UHF, "rohf": ROHF, "rks": RKS, "uks": UKS}


def made_calculation(config: Config, world: craton.World | None) -> HartreeFock:
    """Ready to iterate. With `world` collective. UserError for what does not fit together, also in [output]."""
    molecule = Molecule.from_xyz(config.molecule.file, config.molecule.charge, config.molecule.multiplicity or None)
    method = config.method.kind or ("rhf" if molecule.multiplicity == 1 else "uhf")
    if config.method.xc:
        if method == "rohf":
            raise UserError(f"{config.path}: [method] kind = rohf with xc = {config.method.xc}; allowed: rhf or uhf")
        method = {"rhf": "rks", "uhf": "uks"}[method]
    library, cartesian = config.run.library or None, config.method.cartesian
    made = METHODS[method](molecule, config.method.basis, cartesian=cartesian, library=library, world=world)
    if isinstance(made, KohnSham):
        made.xc, made.grid = config.method.xc, config.method.grid
    ours = config.convergence
    made.init_guess, made.density_by = config.method.guess, config.method.density_by
    made.direct_scf_tol, made.linear_dependence = config.method.threshold, config.method.linear_dependence
    made.df, made.auxbasis = config.method.df, config.method.auxiliary or None
    made.conv_tol, made.conv_tol_grad, made.max_cycle = ours.energy, ours.gradient or None, ours.iterations
    made.level_shift, made.damp = ours.level_shift, ours.damping
    made.diis_space, made.diis_start_cycle = ours.diis_space, ours.diis_start
    made.threads, made.checkpoint_every_s = config.run.threads, config.run.checkpoint_every_s
    made.integral_memory_mb = config.run.integral_memory_mb if config.run.integral_memory_mb >= 0 else None
    made.check_settings()
    _check_geometry(config, made)
    for what in config.output.cubes:
        _check_cube(config, made, what)
    for which in config.output.pictures:
        _check_orbital(config, made, "pictures", which)
    return made


def read_start(config: Config, molecule: Molecule, whole: bool) -> Checkpoint | None:
    """What [method] start names, None where it names nothing. whole: as Checkpoint.read. UserError as check_start."""
    if not config.method.start:
        return None
    found = Checkpoint.read(config.method.start, whole=whole)
    try:
        check_start(found, molecule, config.method.cartesian)
    except UserError as problem:
        raise UserError(f"{config.path}: [method] start = {config.method.start}: {problem}") from None
    return found


def named(what: str) -> tuple[str, int]:
    """A name and a spin: "homo:down". UserError for another spin."""
    name, _, spin = what.partition(":")
    if spin not in ("", "up", "down"):
        raise UserError(f"orbital '{what}'; allowed after the colon: up or down")
    return name, int(spin == "down")


def _check_geometry(config: Config, made: HartreeFock) -> None:
    """UserError for what would be told when the iterations have ended."""
    wanted = config.geometry
    if (wanted.optimise or wanted.frequencies) and made.df:
        raise UserError(f"{config.path}: [geometry] with [method] df = true; allowed: df = false, for gradients")
    if (wanted.optimise or wanted.frequencies) and isinstance(made, KohnSham):
        raise UserError(f'{config.path}: [geometry] with [method] xc = {made.xc}; allowed: xc = "", for gradients')
    if wanted.optimise and not importlib.util.find_spec("ase"):
        raise UserError(
            f"{config.path}: [geometry] optimise = true, but the package ase is not installed; "
            "allowed: pip install 'craton[chemistry]'"
        )


def _check_cube(config: Config, made: HartreeFock, what: str) -> None:
    """UserError for what will not be there when the iterations have ended."""
    name, _ = named(what)
    if name == "spin" and isinstance(made, RHF):
        raise UserError(
            f'{config.path}: [output] cubes has "spin", which is 0 everywhere in RHF; allowed: in UHF and ROHF'
        )
    if name not in ("density", "spin"):
        _check_orbital(config, made, "cubes", what)


def _check_orbital(config: Config, made: HartreeFock, key: str, which: str) -> None:
    try:
        name, spin = named(which)
        properties.orbital_number(name, made.occupied[spin], made.basis.size)
    except UserError as problem:
        raise UserError(f"{config.path}: [output] {key}: {problem}") from None
