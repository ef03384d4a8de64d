"""A calculation in words: where it begins, a line for each iteration, its results."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

import craton
from craton.cli.output import say
from craton.runs.words import counted
from craton.scf.files.checkpoint import Checkpoint
from craton.scf.folder import IterationRow, ScfRecord
from craton.scf.iteration.hartree_fock import HartreeFock, Iteration
from craton.scf.iteration.kohn_sham import KohnSham
from craton.scf.iteration.spins import UHF

if TYPE_CHECKING:
    from rich.console import Console

__all__ = ["EV", "IterationTable", "balance_lines", "introduction", "results_of", "summary"]

EV = 27.21138505
"""One hartree, CODATA 2010."""
MOST_RANKS = 64
"""Ranks of which a line is printed."""
MOST_MODES = 30
"""Modes of which frequencies are printed."""
MOST_CHARGES = 40
"""Atoms of which charges are printed; files have all."""


def introduction(calculation: HartreeFock, start: Checkpoint | None, world: craton.World | None) -> str:
    """What is computed, where it begins, by whom."""
    molecule, c = calculation.molecule, calculation
    begin = f"guess {c.init_guess}"
    if start is not None:
        begin = f"from {start.method}/{start.basis_name} after {len(start.iterations)} iterations"
        if not start.is_of(molecule, c.shells):
            begin += ", projected"
    fitted = f"densities fitted by {c.auxbasis_name}; " if c.df else ""
    if c.potentials:
        begin += f"; core potentials of {', '.join(f'{s} ({p.electrons} electrons)' for s, p in c.potentials.items())}"
    threads = counted(c.threads, "thread")
    if world is not None:
        threads = f"{counted(world.size, 'rank')} of {threads}"
    odd = f"\nnote: {molecule.odd_distance}" if molecule.odd_distance else ""
    return (
        f"{molecule.formula}, charge {molecule.charge}, multiplicity {molecule.multiplicity}, {molecule.electrons} electrons\n"
        f"{method_text(c)}/{c.basis_title}: {c.basis.size} functions in {c.basis.shell_count} shells; {fitted}{begin}; "
        f"density by {c.density_by}; {threads}{odd}"
    )


def method_text(calculation: HartreeFock) -> str:
    """RHF, or "RKS b3lyp"."""
    functional = f" {calculation.xc}" if isinstance(calculation, KohnSham) else ""
    return calculation.method + functional


class IterationTable:
    """A line for each iteration, as it ends."""

    def __init__(self, console: Console | None) -> None:
        self._console, self._begun = console, False

    def add(self, line: Iteration) -> None:
        """Prints it, and the head before the first."""
        if not self._begun:
            head = "iteration    energy (hartree)      change    gradient   quartets  J and K (s)"
            say(self._console, head, style="bold")
            self._begun = True
        change = f"{line.change:.2e}" if math.isfinite(line.change) else ""
        figures = f"{line.energy:18.10f}  {change:>10}  {line.gradient:10.2e}  {line.quartets:9}  {line.fock_s:11.3f}"
        say(self._console, f"{line.number:9}  {figures}")


def results_of(calculation: HartreeFock) -> dict[str, Any]:
    """The fields of a ScfRecord. Collective over the calculation's world."""
    c = calculation
    homo, lumo = c.frontier()
    return {
        "molecule": c.molecule.formula,
        "symbols": list(c.molecule.symbols),
        "charge": c.molecule.charge,
        "multiplicity": c.molecule.multiplicity,
        "electrons": c.molecule.electrons,
        "method": c.method,
        "basis": c.basis_title,
        "functions": c.basis.size,
        "left_out": c.left_out,
        "functional": c.xc if isinstance(c, KohnSham) else "",
        "electrons_on_grid": c.electrons if isinstance(c, KohnSham) else None,
        "converged": c.converged,
        "energy_hartree": c.e_tot,
        "homo_hartree": homo if math.isfinite(homo) else None,
        "lumo_hartree": lumo if math.isfinite(lumo) else None,
        "orbital_energies_hartree": np.asarray(c.mo_energy).tolist(),
        "dipole_debye": c.dipole_debye().tolist(),
        "mulliken_charges": c.mulliken_charges().tolist(),
        "iterations": [
            IterationRow(
                each.number,
                each.energy,
                each.change if math.isfinite(each.change) else None,
                each.gradient,
                each.quartets,
                each.fock_s,
            )
            for each in c.iterations
        ],
        "spin_square": c.spin_square()[0] if isinstance(c, UHF) else None,
        "seconds": dict(c.seconds),
    }


def summary(record: ScfRecord) -> list[str]:
    """The results in words."""
    r = record
    word = "converged" if r.converged else "NOT converged"
    lines = [f"{word} after {len(r.iterations)} iterations: {r.energy_hartree:.10f} hartree"]
    if r.left_out:
        lines.append(
            f"{r.left_out} of {counted(r.functions, 'function')} left out: so many eigenvalues of the overlap are below "
            "linear_dependence"
        )
    if r.electrons_on_grid is not None:
        lines.append(f"{r.functional}: the density integrates to {r.electrons_on_grid:.6f} electrons")
    if r.homo_hartree is not None and r.lumo_hartree is not None:
        gap = r.lumo_hartree - r.homo_hartree
        lines.append(f"HOMO {r.homo_hartree:.6f}, LUMO {r.lumo_hartree:.6f}, gap {gap:.6f} hartree = {EV * gap:.3f} eV")
    dipole = r.dipole_debye
    lines.append(f"dipole {' '.join(f'{x:z.5f}' for x in dipole)}, together {np.linalg.norm(dipole):.5f} debye")
    if r.spin_square is not None:
        lines.append(f"<S^2> {r.spin_square:.6f}, as of multiplicity {math.sqrt(4 * r.spin_square + 1):.4f}")
    if r.geometry is not None:
        last = r.geometry[-1]
        word = "optimised" if r.optimised else "NOT optimised"
        lines.append(
            f"geometry {word} after {len(r.geometry) - 1} steps: largest force {last.force_hartree_per_bohr:.2e} hartree/bohr, "
            f"energy {last.energy_hartree - r.geometry[0].energy_hartree:+.6f} hartree"
        )
    if r.vibrations is not None and r.zero_point_hartree is not None:
        imaginary = sum(each.frequency_cm1 < 0 for each in r.vibrations)
        shown = ", ".join(f"{each.frequency_cm1:.1f}" for each in r.vibrations[:MOST_MODES])
        more = f", and {len(r.vibrations) - MOST_MODES} more" if len(r.vibrations) > MOST_MODES else ""
        lines.append(f"vibrations (1/cm): {shown}{more}; zero-point energy {r.zero_point_hartree:.6f} hartree")
        if imaginary:
            lines.append(f"{imaginary} of them below 0, which means imaginary: this is no minimum")
    phases = sorted(r.seconds.items(), key=lambda each: -each[1])
    timing = "seconds: " + ", ".join(f"{phase} {seconds:.2f}" for phase, seconds in phases)
    return [*lines, *_charges(r), timing]


def _charges(record: ScfRecord) -> list[str]:
    named = zip(record.symbols, record.mulliken_charges, strict=True)
    words = [f"{symbol}{n} {charge:+.4f}" for n, (symbol, charge) in enumerate(named, start=1)][:MOST_CHARGES]
    rows = ["   ".join(words[first : first + 8]) for first in range(0, len(words), 8)]
    left = len(record.symbols) - len(words)
    return ["Mulliken charges:", *(f"  {row}" for row in rows), *([f"  and {left} more"] if left else [])]


def balance_lines(rows: Sequence[dict[str, float]]) -> list[str]:
    """Who did what of all builds of J and K, and how long each rank waited for the last."""
    lines = ["rank      tasks   of them stolen   build (s)   integrals (s)   getting, adding (s)   idle"]
    for rank, spent in enumerate(rows[:MOST_RANKS]):
        moving = spent["get_s"] + spent["accumulate_s"] + spent["queue_s"]
        tasks = spent["own_tasks"] + spent["stolen_tasks"]
        lines.append(
            f"{rank:4} {tasks:10.0f} {spent['stolen_tasks']:16.0f} {spent['build_s']:11.2f} {spent['compute_s']:15.2f} "
            f"{moving:21.2f} {spent['idle_s'] / max(spent['build_s'], 1e-9):6.1%}"
        )
    idle = sum(each["idle_s"] for each in rows) / max(sum(each["build_s"] for each in rows), 1e-9)
    lines.append(f"idle in all: {idle:.1%} of the time of J and K")
    fetched, spared = (sum(each.get(name, 0.0) for each in rows) for name in ("fetched_bytes", "spared_bytes"))
    if fetched:
        lines.append(
            f"density blocks: {fetched / 1e6:.1f} MB fetched; {spared / 1e6:.1f} MB, which screening leaves out, did not travel"
        )
    return lines
