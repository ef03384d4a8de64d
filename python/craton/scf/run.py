"""`craton scf`: a molecule from a file, iterations as a table, results in words and files."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import craton
from craton.errors import UserError
from craton.scf.files.checkpoint import Checkpoint, check_target
from craton.scf.files.cube import write_cube
from craton.scf.files.molden import write_molden
from craton.scf.iteration import properties
from craton.scf.iteration.hartree_fock import HartreeFock, Iteration
from craton.scf.iteration.rhf import RHF
from craton.scf.iteration.uhf import UHF
from craton.scf.molecule import Molecule
from craton.scf.pictures.load_balance import draw_load_balance
from craton.scf.pictures.orbital import draw_orbital

if TYPE_CHECKING:
    from mpi4py import MPI
    from rich.console import Console

NOT_CONVERGED = 3
"""The exit code where iterations end before they converge."""
EV = 27.21138505
"""One hartree, CODATA 2010."""
METHODS = {"rhf": RHF, "uhf": UHF}
MOST_RANKS = 64
"""Of which a line is printed."""
MOST_CHARGES = 40
"""Atoms of which charges are printed; files have all."""


@dataclass(frozen=True)
class Wanted:
    """What the command line asks for."""

    molecule: Path
    basis: str
    charge: int = 0
    multiplicity: int | None = None
    method: str | None = None
    library: Path | None = None
    settings: dict[str, Any] = field(default_factory=dict)
    checkpoint: Path | None = None
    restart: Path | None = None
    overwrite: bool = False
    molden: Path | None = None
    cubes: Sequence[str] = ()
    picture: Path | None = None
    orbital: str = "homo"
    load_balance: Path | None = None
    json_file: Path | None = None


def check(wanted: Wanted) -> None:
    """UserError for wrong input; computes nothing."""
    _prepared(wanted, None)


def run(
    wanted: Wanted, console: Console | None, comm: MPI.Comm | None = None, ranks_per_node: int = 0
) -> tuple[int, str]:
    """The exit code, and what to say on standard error where that is not 0. With `comm` collective over its ranks, of which
    rank 0 has the console and writes files. UserError for wrong input, before anything is computed where that is possible."""
    if wanted.load_balance is not None and comm is None:
        raise UserError(f"--load-balance {wanted.load_balance}: without --ranks; allowed: with --ranks N")
    world = None if comm is None else craton.World(comm, ranks_per_node)
    calculation, start = _prepared(wanted, world)
    calculation.callback = _Table(console).add
    _say(console, _introduction(calculation, start, world))
    calculation.kernel(start)
    for line in summary(calculation):
        _say(console, line)
    if comm is not None:
        _say(console, _balance(calculation, comm))
    written = _write(calculation, wanted, world)
    if comm is not None and wanted.load_balance is not None:
        _draw_balance(calculation, wanted.load_balance, comm)
        written.append(str(wanted.load_balance))
    if written:
        _say(console, f"written: {', '.join(written)}")
    if calculation.converged:
        return 0, ""
    last = calculation.iterations[-1]
    kept = f"; {wanted.checkpoint} has the state, --restart {wanted.checkpoint} goes on" if wanted.checkpoint else ""
    return NOT_CONVERGED, (
        f"not converged after {len(calculation.iterations)} iterations: the energy last changed by {last.change:.2g} hartree, "
        f"the gradient is {last.gradient:.2g}{kept}"
    )


def _say(console: Console | None, text: str, style: str | None = None) -> None:
    if console is not None:
        console.print(text, style=style, highlight=False, markup=False, soft_wrap=True)


def _prepared(wanted: Wanted, world: craton.World | None) -> tuple[HartreeFock, Checkpoint | None]:
    if wanted.checkpoint is not None:
        check_target(wanted.checkpoint, wanted.restart, wanted.overwrite)
    molecule = Molecule.from_xyz(wanted.molecule, wanted.charge, wanted.multiplicity)
    method = wanted.method or ("rhf" if molecule.multiplicity == 1 else "uhf")
    start = None if wanted.restart is None else Checkpoint.read(wanted.restart, whole=world is None)
    if start is not None and start.molecule.symbols != molecule.symbols:
        raise UserError(
            f"--restart {wanted.restart}: of {start.molecule.formula}, but {wanted.molecule} is {molecule.formula}; "
            "allowed: a checkpoint of the same atoms in the same order"
        )
    calculation = METHODS[method](molecule, wanted.basis, library=wanted.library, world=world)
    for name, value in wanted.settings.items():
        setattr(calculation, name, value)
    calculation.checkpoint = wanted.checkpoint
    calculation.check_settings()
    for what in wanted.cubes:
        _check_field(calculation, what)
    if wanted.picture is not None:
        name, spin = _named(wanted.orbital)
        properties.orbital_number(name, calculation.occupied[spin], calculation.basis.size)
    return calculation, start


def _check_field(calculation: HartreeFock, what: str) -> None:
    """UserError for what will not be there when the iterations have ended."""
    name, spin = _named(what)
    if name == "density" or (name == "spin" and isinstance(calculation, UHF)):
        return
    if name == "spin":
        raise UserError("--cube spin: with --method rhf it is 0 everywhere; allowed: with --method uhf")
    properties.orbital_number(name, calculation.occupied[spin], calculation.basis.size)


def _named(what: str) -> tuple[str, int]:
    """A name and a spin: "homo:down"."""
    name, _, spin = what.partition(":")
    if spin not in ("", "up", "down"):
        raise UserError(f"orbital '{what}'; allowed after the colon: up or down")
    return name, int(spin == "down")


def _introduction(calculation: HartreeFock, start: Checkpoint | None, world: craton.World | None) -> str:
    molecule, c = calculation.molecule, calculation
    begin = f"guess {c.init_guess}"
    if start is not None:
        begin = f"from {start.method}/{start.basis_name} after {len(start.iterations)} iterations"
        if not start.is_of(molecule, c.shells):
            begin += ", projected"
    threads = f"{c.threads} thread{'' if c.threads == 1 else 's'}"
    if world is not None:
        threads = f"{world.size} rank{'' if world.size == 1 else 's'} of {threads}"
    return (
        f"{molecule.formula}, charge {molecule.charge}, multiplicity {molecule.multiplicity}, {molecule.electrons} electrons\n"
        f"{type(c).__name__}/{c.basis_name}: {c.basis.size} functions in {c.basis.shell_count} shells; {begin}; "
        f"density by {c.density_by}; {threads}"
    )


class _Table:
    """A line for each iteration, as it ends."""

    def __init__(self, console: Console | None) -> None:
        self._console = console

    def add(self, line: Iteration) -> None:
        if line.number == 1:
            head = "iteration    energy (hartree)      change    gradient   quartets  J and K (s)"
            _say(self._console, head, style="bold")
        change = f"{line.change:.2e}" if math.isfinite(line.change) else ""
        figures = f"{line.energy:18.10f}  {change:>10}  {line.gradient:10.2e}  {line.quartets:9}  {line.fock_s:11.3f}"
        _say(self._console, f"{line.number:9}  {figures}")


def _balance(calculation: HartreeFock, comm: MPI.Comm) -> str:
    """Collective: who did what of all builds of J and K, and how long each waited for the last."""
    rows = comm.allgather(calculation.engine.spent)
    lines = ["rank      tasks   of them stolen   build (s)   integrals (s)   getting, adding (s)   idle"]
    for rank, spent in enumerate(rows[:MOST_RANKS]):
        moving = spent["get_s"] + spent["accumulate_s"] + spent["queue_s"]
        tasks = spent["own_tasks"] + spent["stolen_tasks"]
        lines.append(
            f"{rank:4} {tasks:10.0f} {spent['stolen_tasks']:16.0f} {spent['build_s']:11.2f} {spent['compute_s']:15.2f} "
            f"{moving:21.2f} {spent['idle_s'] / max(spent['build_s'], 1e-9):6.1%}"
        )
    idle = sum(each["idle_s"] for each in rows) / max(sum(each["build_s"] for each in rows), 1e-9)
    return "\n".join([*lines, f"idle in all: {idle:.1%} of the time of J and K"])


def _draw_balance(calculation: HartreeFock, path: Path, comm: MPI.Comm) -> None:
    """Collective."""
    engine = calculation.engine
    timelines, spent = comm.gather(engine.timeline), comm.gather(engine.spent)
    if timelines is None or spent is None:
        return
    c, threads = calculation, f"{calculation.threads} thread{'' if calculation.threads == 1 else 's'}"
    title = f"{c.molecule.formula}, {type(c).__name__}/{c.basis_name}: J and K by {comm.size} ranks of {threads}"
    draw_load_balance(path, timelines, spent, c.threads, title)


def summary(calculation: HartreeFock) -> list[str]:
    """The results in words."""
    homo, lumo = calculation.frontier()
    gap = lumo - homo
    word = "converged" if calculation.converged else "NOT converged"
    dipole = calculation.dipole_debye()
    lines = [
        f"{word} after {len(calculation.iterations)} iterations: {calculation.e_tot:.10f} hartree",
        f"HOMO {homo:.6f}, LUMO {lumo:.6f}, gap {gap:.6f} hartree = {EV * gap:.3f} eV" if math.isfinite(gap) else "",
        f"dipole {' '.join(f'{x:z.5f}' for x in dipole)}, together {np.linalg.norm(dipole):.5f} debye",
    ]
    if isinstance(calculation, UHF):
        square, multiplicity = calculation.spin_square()
        lines.append(f"<S^2> {square:.6f}, as of multiplicity {multiplicity:.4f}")
    lines += _charges(calculation)
    phases = sorted(calculation.seconds.items(), key=lambda each: -each[1])
    lines.append("seconds: " + ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in phases))
    return [line for line in lines if line]


def _charges(calculation: HartreeFock) -> list[str]:
    symbols, charges = calculation.molecule.symbols, calculation.mulliken_charges()
    words = [f"{s}{n} {q:+.4f}" for n, (s, q) in enumerate(zip(symbols, charges, strict=True), start=1)][:MOST_CHARGES]
    rows = ["   ".join(words[first : first + 8]) for first in range(0, len(words), 8)]
    left = len(symbols) - len(words)
    return ["Mulliken charges:", *(f"  {row}" for row in rows), *([f"  and {left} more"] if left else [])]


def _write(calculation: HartreeFock, wanted: Wanted, world: craton.World | None) -> list[str]:
    """Collective; rank 0 writes, and fetches what it needs while the others wait."""
    results = record(calculation) if wanted.json_file is not None else {}
    if world is not None:
        world.barrier()
    files = _write_files(calculation, wanted, results) if world is None or world.rank == 0 else []
    if world is not None:
        world.barrier()
    return files


def _write_files(calculation: HartreeFock, wanted: Wanted, results: dict[str, Any]) -> list[str]:
    written = []
    if wanted.checkpoint is not None:
        written.append(str(wanted.checkpoint))
    if wanted.molden is not None:
        write_molden(calculation, wanted.molden)
        written.append(str(wanted.molden))
    for what in wanted.cubes:
        name, spin = _named(what)
        path = Path(f"{wanted.molecule.stem}.{what.replace(':', '-')}.cube")
        write_cube(calculation, path, name, spin=spin)
        written.append(str(path))
    if wanted.picture is not None:
        name, spin = _named(wanted.orbital)
        draw_orbital(calculation, wanted.picture, name, spin)
        written.append(str(wanted.picture))
    if wanted.json_file is not None:
        from craton.runs.files import replaced

        with replaced(wanted.json_file.absolute()) as aside:
            aside.write_text(json.dumps(results, indent=1) + "\n")
        written.append(str(wanted.json_file))
    return written


def record(calculation: HartreeFock) -> dict[str, Any]:
    """The results as JSON takes them: hartree, debye, elementary charges, seconds."""
    homo, lumo = calculation.frontier()
    found: dict[str, Any] = {
        "molecule": calculation.molecule.formula,
        "charge": calculation.molecule.charge,
        "multiplicity": calculation.molecule.multiplicity,
        "method": type(calculation).__name__,
        "basis": calculation.basis_name,
        "functions": calculation.basis.size,
        "converged": calculation.converged,
        "energy_hartree": calculation.e_tot,
        "homo_hartree": homo if math.isfinite(homo) else None,
        "lumo_hartree": lumo if math.isfinite(lumo) else None,
        "orbital_energies_hartree": np.asarray(calculation.mo_energy).tolist(),
        "dipole_debye": calculation.dipole_debye().tolist(),
        "mulliken_charges": calculation.mulliken_charges().tolist(),
        "iterations": [
            {
                "energy_hartree": each.energy,
                "gradient": each.gradient,
                "quartets": each.quartets,
                "fock_s": each.fock_s,
            }
            for each in calculation.iterations
        ],
        "seconds": calculation.seconds,
    }
    if isinstance(calculation, UHF):
        found["spin_square"] = calculation.spin_square()[0]
    return found
