"""`craton scf check CONFIG`: electrons, functions and memory of a run; nothing is computed."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from craton.cli.output import facts_table
from craton.runs.words import counted, size_text
from craton.scf.config import Config
from craton.scf.iteration.spins import RHF
from craton.scf.setup import made_calculation, read_start

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Findings", "examine"]

MATRICES = 12
"""n x n that an iteration keeps, beside 2 for each Fock matrix of DIIS (docs/scf.md)."""
LARGEST_MEMORY = 256 << 30
"""Bytes of a rank above which `check` warns."""


@dataclass(frozen=True)
class Findings:
    """What a run will be."""

    molecule: str
    atoms: int
    charge: int
    multiplicity: int
    electrons: int
    method: str
    basis: str
    functions: int
    shells: int
    ranks: int
    threads: int
    fitted_by: str
    """The auxiliary set with df, in words; "" without."""
    start: str
    """The guess or the checkpoint, in words."""
    memory_of_rank: int
    """Bytes of matrices, and of fitted integrals with df."""
    shell_quartets: int
    """Shell quartets of the first iteration, before any is left out; 0 with df."""
    shortest_angstrom: float | None
    """Between two nuclei; None of an atom alone."""
    optimisation_gradients: int
    """Of an optimisation, at most; each comes with the energy of a geometry. 0 without one."""
    vibration_gradients: int
    """Of vibrations; 0 without them."""
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def table(self) -> Table:
        """A table for a console."""
        rows = (
            ("molecule", f"{self.molecule}, {counted(self.atoms, 'atom')}, {counted(self.electrons, 'electron')}"),
            *(
                [("nearest nuclei", f"{self.shortest_angstrom:.3f} Angstrom apart")]
                if self.shortest_angstrom is not None
                else []
            ),
            ("charge, multiplicity", f"{self.charge}, {self.multiplicity}"),
            ("method", f"{self.method}/{self.basis}"),
            ("basis", f"{counted(self.functions, 'function')} in {counted(self.shells, 'shell')}"),
            *([("densities", f"fitted by {self.fitted_by}")] if self.fitted_by else []),
            ("begins with", self.start),
            *([] if self.fitted_by else [("shell quartets", f"at most {self.shell_quartets:.3g} in an iteration")]),
            *(
                [
                    (
                        "geometry",
                        f"at most {counted(self.optimisation_gradients, 'geometry step')}, each iterations and a gradient",
                    )
                ]
                if self.optimisation_gradients
                else []
            ),
            *(
                [
                    (
                        "vibrations",
                        f"{counted(self.vibration_gradients, 'gradient')}, 6 of each atom, each with iterations",
                    )
                ]
                if self.vibration_gradients
                else []
            ),
            ("ranks", f"{self.ranks} of {counted(self.threads, 'thread')}"),
            (
                "memory",
                f"about {size_text(self.memory_of_rank)} of matrices{' and fitted integrals' if self.fitted_by else ''} per rank",
            ),
            *(("note", warning) for warning in self.warnings),
        )
        return facts_table(rows)


def examine(config: Config, ranks: int = 0) -> Findings:
    """What `run` would do on so many ranks; 0: as the configuration says. Not collective. UserError for what `run` refuses."""
    made = made_calculation(config, None)
    start = read_start(config, made.molecule, whole=False)
    count, n = ranks or config.run.ranks or 1, made.basis.size
    spins = 1 if isinstance(made, RHF) else 2
    memory = spins * (MATRICES + 2 * made.diis_space) * 8 * n * n // count
    if count == 1:
        memory += (1 + spins) * 8 * n * n * config.run.threads  # each thread's J and K
    auxiliary = made.auxiliary()
    if auxiliary is not None:
        memory += 8 * n * (n + 1) // 2 * auxiliary.size // count + (0 if count == 1 else spins * 3 * 8 * n * n)
        memory += 8 * (3 * auxiliary.size**2 + config.run.threads * (3 * n * n + 768 * n + 256 * auxiliary.size))
    pairs = made.basis.shell_count * (made.basis.shell_count + 1) // 2
    warnings = []
    if memory > LARGEST_MEMORY:
        warnings.append(f"{size_text(memory)} per rank: more ranks share the matrices")
    if count > n:
        warnings.append(f"{count} ranks for {n} functions: some have no part of a matrix")
    molecule = made.molecule
    if molecule.odd_distance:
        warnings.append(molecule.odd_distance)
    assert molecule.multiplicity is not None
    return Findings(
        molecule=molecule.formula,
        atoms=len(molecule.symbols),
        charge=molecule.charge,
        multiplicity=molecule.multiplicity,
        electrons=molecule.electrons,
        method=made.method,
        basis=made.basis_title,
        functions=n,
        shells=made.basis.shell_count,
        ranks=count,
        threads=config.run.threads,
        fitted_by="" if auxiliary is None else f"{made.auxbasis_name}, {counted(auxiliary.size, 'function')}",
        start=f"guess {made.init_guess}"
        if start is None
        else f"{start.method}/{start.basis_name}, {config.method.start}",
        memory_of_rank=memory,
        shell_quartets=0 if auxiliary is not None else pairs * (pairs + 1) // 2,
        shortest_angstrom=molecule.shortest_angstrom,
        optimisation_gradients=config.geometry.steps if config.geometry.optimise else 0,
        vibration_gradients=6 * len(molecule.symbols) if config.geometry.frequencies else 0,
        warnings=tuple(warnings),
    )
