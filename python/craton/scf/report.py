"""report.html of a Hartree-Fock run: energies, orbitals, charges, who waited."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from craton.errors import UserError
from craton.pages.figures import Figures, new_figure
from craton.pages.page import (
    Block,
    Columns,
    Notice,
    Numbers,
    Page,
    Picture,
    Section,
    Table,
    Text,
    how_to_go_on,
    made_by,
    name_of,
    provenance,
    render,
    summary,
)
from craton.pages.style import ACCENT, MUTED, SECOND, drawing
from craton.runs.files import read_hdf5, write_text
from craton.runs.words import counted, range_text
from craton.scf.files.orbitals import StoredOrbitals
from craton.scf.folder import ScfFolder, ScfRecord
from craton.scf.molecule import NUMBERS
from craton.scf.pictures.load_balance import load_balance_figure
from craton.scf.pictures.orbital import orbital_figure
from craton.scf.setup import named
from craton.scf.summary import EV

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["figures", "write_report"]

LEVELS_SHOWN = 12
"""Orbitals on each side of the gap in the table; the picture has those within a range of energies."""
LOWEST_EV, HIGHEST_EV = -40.0, 20.0
"""Range of the picture of orbital energies, from the middle of the gap."""
MOST_ATOMS = 200
LINE_CM1 = 20.0
"""Width of lines in the picture of the spectrum."""


def write_report(folder: str | Path) -> Path:
    """Draws report.html from what a run has left in its folder; returns its path. Not collective.

    UserError where there is no run.
    """
    place = ScfFolder(folder)
    record = place.read_record()
    blocks: list[Block] = [
        summary(_words(record), _numbers(record)),
        _iterations(record),
        *_geometry(record),
        *_vibrations(record),
        _energies(record),
        *_pictures(place, record),
        _charges(record),
        *_balance(place, record),
        _times(record),
        _next(place, record),
        provenance(record),
    ]
    method = f"{record.method} {record.functional}".strip()
    about = (
        f"{method}/{record.basis}, {counted(record.functions, 'function')}. {made_by(record.versions, record.started)}."
    )
    by = f"by {record.functional}" if record.functional else "by Hartree-Fock"
    page = Page(record.title, f"{record.molecule} {by}", about, blocks)
    write_text(place.report, render(page))
    return place.report


def figures(folder: str | os.PathLike[str]) -> Figures:
    """convergence, energies, and the orbitals that [output] pictures names. Not collective.

    Of a run with vibrations spectrum too, of several ranks balance: who worked when. UserError where there is no run.
    """
    place = ScfFolder(folder)
    record = place.read_record()
    found = Figures(convergence=_convergence_figure(record), energies=_energies_figure(record))
    if record.vibrations:
        found["spectrum"] = _spectrum(record)
    if (balance := _balance_figure(place, record)) is not None:
        found["balance"] = balance
    wanted = record.config["output"]["pictures"]
    if wanted and place.orbitals.exists():
        stored = StoredOrbitals(place.orbitals)
        found |= {which: orbital_figure(stored, *named(which)) for which in wanted}
    return found


def _words(record: ScfRecord) -> list[Block]:
    """What was computed and how it ended."""
    words: list[Block] = []
    if not record.converged:
        words.append(Notice(f"{record.stopped_because}; what is below is of the last iteration.", "Not converged:"))
    charge = f"{record.charge:+d}" if record.charge else "0"
    spin = f"charge {charge}, multiplicity {record.multiplicity}"
    how = f"{record.method} {record.functional}".strip()
    ended = "converged" if record.converged else "did not converge"
    text = (
        f"The electrons of {record.molecule} ({counted(len(record.symbols), 'atom')}, {spin}) by {how} in {record.basis}. "
        f"The calculation {ended} after {counted(len(record.iterations), 'iteration')}, at an energy of "
        f"{record.energy_hartree:.6f} hartree."
    )
    if record.geometry is not None:
        text += f" {counted(len(record.geometry), 'step')} on the way to the lowest energy."
    if record.vibrations is not None:
        text += f" {counted(len(record.vibrations), 'vibration')} of the molecule."
    return [*words, Text(text)]


def _next(place: ScfFolder, record: ScfRecord) -> Section:
    """Commands for this folder."""
    name = name_of(place.path)
    more = [] if record.converged else [("Go on with more iterations", f"craton scf resume {name}")]
    return how_to_go_on(
        [
            *more,
            ("Draw this page again", f"craton scf report {name}"),
            ("A configuration of your own, with every key explained", "craton scf template > my.toml"),
        ]
    )


def _numbers(record: ScfRecord) -> Numbers:
    entries = [(f"{record.energy_hartree:.8f} hartree", "total energy")]
    if record.homo_hartree is not None and record.lumo_hartree is not None:
        entries.append((f"{EV * (record.lumo_hartree - record.homo_hartree):.3f} eV", "gap between HOMO and LUMO"))
    entries.append((f"{np.linalg.norm(record.dipole_debye):.4f} debye", "dipole moment"))
    if record.spin_square is not None:
        entries.append((f"{record.spin_square:.4f}", "<S^2>"))
    if record.electrons_on_grid is not None:
        entries.append((f"{record.electrons_on_grid:.5f}", "electrons on the grid"))
    if record.left_out:
        entries.append((f"{record.left_out}", "functions left out"))
    entries.append((f"{len(record.iterations)}", "iterations"))
    return Numbers(entries)


def _iterations(record: ScfRecord) -> Section:
    rows = [
        [
            str(each.number),
            f"{each.energy_hartree:.10f}",
            "" if each.change_hartree is None else f"{each.change_hartree:.2e}",
            f"{each.gradient:.2e}",
            f"{each.quartets:,}",
            f"{each.fock_s:.2f}",
        ]
        for each in record.iterations
    ]
    header = ["iteration", "energy (hartree)", "change (hartree)", "gradient", "shell quartets", "J and K (s)"]
    first, last = record.iterations[0], record.iterations[-1]
    seen = (
        f"Lines on a logarithmic scale that fall from one iteration to the next: the gradient from {first.gradient:.1e} to "
        f"{last.gradient:.1e} in {counted(len(record.iterations), 'iteration')}."
    )
    caption = "How far the energy is from the last one, and the norm of the orbital gradient, after each iteration."
    return Section(
        "Convergence",
        [Picture(_convergence_figure(record), caption, seen), Table(header, rows)],
        id="convergence",
        menu="convergence",
    )


@drawing
def _convergence_figure(record: ScfRecord) -> Figure:
    from matplotlib.ticker import MaxNLocator

    figure = new_figure(9.0, 3.0)
    axes = figure.subplots()
    numbers = [each.number for each in record.iterations]
    changes = [np.nan if each.change_hartree is None else abs(each.change_hartree) for each in record.iterations]
    axes.semilogy(
        numbers, [max(each.gradient, 1e-16) for each in record.iterations], "o-", color=ACCENT, label="gradient"
    )
    if np.any(np.isfinite(changes)):
        axes.semilogy(numbers, np.maximum(changes, 1e-16), "s--", color=SECOND, label="change of the energy (hartree)")
    axes.set(xlabel="iteration")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend()
    return figure


def _geometry(record: ScfRecord) -> list[Block]:
    if record.geometry is None:
        return []
    rows = [[str(g.number), f"{g.energy_hartree:.10f}", f"{g.force_hartree_per_bohr:.2e}"] for g in record.geometry]
    blocks: list[Block] = [Table(["geometry", "energy (hartree)", "largest force (hartree/bohr)"], rows)]
    if record.positions_angstrom is not None:
        atoms = zip(record.symbols, record.positions_angstrom, strict=True)
        where = [[f"{symbol}{n}", *(f"{x:.6f}" for x in at)] for n, (symbol, at) in enumerate(atoms, start=1)]
        blocks.append(Table(["atom", "x (Å)", "y (Å)", "z (Å)"], where[:MOST_ATOMS]))
    if record.optimised is False:
        blocks.insert(0, Notice(f"{record.stopped_because}.", "Not optimised:"))
    return [Section("Geometry", blocks, id="geometry", menu="geometry")]


def _vibrations(record: ScfRecord) -> list[Block]:
    if record.vibrations is None:
        return []
    strongest = max(record.vibrations, key=lambda v: v.intensity_km_mol)
    rows = [
        [str(n), f"{v.frequency_cm1:.1f}", f"{v.intensity_km_mol:.2f}"]
        for n, v in enumerate(record.vibrations, start=1)
    ]
    blocks: list[Block] = [
        Picture(
            _spectrum(record),
            "Infrared spectrum: harmonic frequencies as they are, lines 20 per cm wide.",
            f"Peaks of intensity at {counted(len(record.vibrations), 'mode')} "
            f"{range_text([v.frequency_cm1 for v in record.vibrations], 'per cm', 4)}, the highest at "
            f"{strongest.frequency_cm1:.0f} per cm with {strongest.intensity_km_mol:.3g} km/mol.",
        ),
        Table(["mode", "frequency (1/cm)", "infrared intensity (km/mol)"], rows),
        Text(
            f"Zero-point energy: {record.zero_point_hartree:.6f} hartree. Hartree-Fock frequencies are some 10 % too high.",
            muted=True,
        ),
    ]
    if any(v.frequency_cm1 < 0 for v in record.vibrations):
        blocks.insert(0, Notice("A negative frequency is an imaginary one: the geometry is no minimum.", "No minimum:"))
    return [Section("Vibrations", blocks, id="vibrations", menu="vibrations")]


@drawing
def _spectrum(record: ScfRecord) -> Figure:
    figure = new_figure(9.0, 3.0)
    axes = figure.subplots()
    real = [v for v in record.vibrations or () if v.frequency_cm1 > 0]
    highest = max((v.frequency_cm1 for v in real), default=1000.0)
    at = np.linspace(0, 1.1 * highest, 2000)
    lines = [v.intensity_km_mol / (1 + ((at - v.frequency_cm1) / (0.5 * LINE_CM1)) ** 2) for v in real]
    axes.plot(at, np.sum(lines, axis=0) if lines else 0 * at, color=ACCENT)
    axes.set(xlabel="frequency (1/cm)", ylabel="intensity (km/mol)", xlim=(0, at[-1]), ylim=(0, None))
    return figure


def _energies(record: ScfRecord) -> Section:
    channels = np.atleast_2d(np.array(record.orbital_energies_hartree))
    rows = []
    for spin, energies in enumerate(channels):
        name = "" if len(channels) == 1 else (" up", " down")[spin]
        occupied = _occupied(record, spin)
        first, last = max(occupied - LEVELS_SHOWN, 0), min(occupied + LEVELS_SHOWN, len(energies))
        for n in range(first, last):
            away = n - occupied
            word = f"LUMO+{away}" if away > 0 else "LUMO" if away == 0 else "HOMO" if away == -1 else f"HOMO{away + 1}"
            rows.append([f"{n + 1}{name}", word, f"{energies[n]:.6f}", f"{EV * energies[n]:.3f}"])
    blocks: list[Block] = [
        Picture(
            _energies_figure(record),
            "Orbital energies around the gap: occupied ones blue, virtual ones grey.",
            _energies_seen(record, len(channels)),
            narrow=True,
        ),
        Table(["orbital", "name", "energy (hartree)", "energy (eV)"], rows),
    ]
    return Section("Orbital energies", blocks, id="energies", menu="orbital energies")


def _energies_seen(record: ScfRecord, channels: int) -> str:
    """What the lines are at."""
    told = [
        f"the {word} at {EV * energy:.2f} eV"
        for word, energy in (("highest occupied", record.homo_hartree), ("lowest virtual", record.lumo_hartree))
        if energy is not None
    ]
    spins = "" if channels == 1 else ", a column for each spin"
    return f"Horizontal lines at energies of orbitals{spins}{': ' if told else ''}{' and '.join(told)}."


def _occupied(record: ScfRecord, spin: int) -> int:
    """Orbitals with electrons."""
    electrons = record.electrons or sum(NUMBERS[symbol] for symbol in record.symbols) - record.charge
    unpaired = record.multiplicity - 1
    return (electrons - unpaired) // 2 if spin else (electrons + unpaired) // 2


@drawing
def _energies_figure(record: ScfRecord) -> Figure:
    figure = new_figure(4.5, 4.5)
    axes = figure.subplots()
    channels = EV * np.atleast_2d(np.array(record.orbital_energies_hartree))
    ends = [each for each in (record.homo_hartree, record.lumo_hartree) if each is not None]
    middle = EV * float(np.mean(ends)) if ends else 0.0
    for spin, energies in enumerate(channels):
        full = np.arange(len(energies)) < _occupied(record, spin)
        near = (energies > middle + LOWEST_EV) & (energies < middle + HIGHEST_EV)
        for chosen, colour in ((full & near, ACCENT), (~full & near, MUTED)):
            axes.hlines(energies[chosen], spin - 0.35, spin + 0.35, color=colour, linewidth=1.2)
    axes.set(ylabel="energy (eV)")
    axes.set_xticks(range(len(channels)), ["orbitals"] if len(channels) == 1 else ["spin up", "spin down"])
    axes.set_xlim(-0.6, len(channels) - 0.4)
    return figure


def _pictures(place: ScfFolder, record: ScfRecord) -> list[Block]:
    wanted = record.config["output"]["pictures"]
    if not wanted or not place.orbitals.exists():
        return []
    try:
        stored = StoredOrbitals(place.orbitals)
    except UserError as problem:
        return [Section("Orbitals", [Text(str(problem), muted=True)])]
    caption = "Red where the orbital is positive, blue where it is negative; the sign as a whole means nothing."
    seen = f"Clouds of red and blue around the {counted(len(record.symbols), 'atom')} of {record.molecule}"
    shown = [[Picture(orbital_figure(stored, *named(which)), caption, f"{seen}: orbital {which}.")] for which in wanted]
    blocks: list[Block] = [Columns(shown)] if len(shown) > 1 else [shown[0][0]]
    return [Section("Orbitals", blocks, id="orbitals", menu="orbitals")]


def _charges(record: ScfRecord) -> Section:
    named_atoms = list(zip(record.symbols, record.mulliken_charges, strict=True))
    rows = [[f"{symbol}{n}", f"{charge:+.5f}"] for n, (symbol, charge) in enumerate(named_atoms, start=1)][:MOST_ATOMS]
    x, y, z = record.dipole_debye
    blocks: list[Block] = [
        Text(f"Dipole moment about the origin: {x:z.5f}, {y:z.5f}, {z:z.5f} debye."),
        Table(["atom", "Mulliken charge (e)"], rows),
    ]
    if len(named_atoms) > MOST_ATOMS:
        blocks.append(Text(f"The first {MOST_ATOMS} of {len(named_atoms)} atoms; record.json has all.", muted=True))
    return Section("Charges and dipole", blocks, id="charges", menu="charges")


def _balance_figure(place: ScfFolder, record: ScfRecord) -> Figure | None:
    if record.balance is None or not place.balance.exists():
        return None
    stored = read_hdf5(place.balance)
    timelines = [np.asarray(stored[f"rank_{rank}"]) for rank in range(len(record.balance))]
    by = f"{counted(record.ranks, 'rank')} of {counted(record.threads, 'thread')}"
    title = f"{record.molecule}, {record.method}/{record.basis}: J and K by {by}"
    return load_balance_figure(timelines, record.balance, record.threads, title)


def _balance(place: ScfFolder, record: ScfRecord) -> list[Block]:
    figure = _balance_figure(place, record)
    if figure is None:
        return []
    caption = "Above the longest build of J and K, task by task; below what each rank spent its time on in all builds."
    seen = f"A row of blocks of work for each thread of {counted(record.ranks, 'rank')}; below a stacked bar for each rank."
    return [Section("Who worked when", [Picture(figure, caption, seen)], id="balance", menu="load balance")]


def _times(record: ScfRecord) -> Section:
    rows = [[phase, f"{seconds:.2f}"] for phase, seconds in sorted(record.seconds.items(), key=lambda each: -each[1])]
    return Section("Time", [Text(record.time_spent()), Table(["phase", "seconds of the last session"], rows)])
