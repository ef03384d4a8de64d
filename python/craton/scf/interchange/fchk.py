"""Formatted checkpoint files: geometry, basis set, orbitals and densities, as Gaussian and many programs that draw them have it.

Source: the format's description in Gaussian's manual (https://gaussian.com/interfacing).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.foreign_text import quoted, whole_number
from craton.scf.basis_sets import PlacedShell, function_count, is_cartesian
from craton.scf.files.checkpoint import Checkpoint
from craton.scf.files.function_order import norms, other_order
from craton.scf.functions import normalised_contractions
from craton.scf.iteration.hartree_fock import HartreeFock
from craton.scf.molecule import NUMBERS, SYMBOLS, Molecule
from craton.scf.properties import DEBYE

__all__ = ["read_fchk", "write_fchk"]

PER_LINE = {"R": 5, "I": 6}
LARGEST_MOMENTUM = 6
LARGEST_BYTES = 1 << 31
"""Of a file that is read whole."""
ALLOWED = "a formatted checkpoint file (formchk of Gaussian, or write_fchk)"

Matrix = NDArray[np.float64]


def write_fchk(calculation: HartreeFock, path: str | Path) -> None:
    """All orbitals and the density of a calculation that has run. UserError for a file that cannot be written. Not over a world."""
    from craton.runs.files import replaced

    if calculation._world is not None:
        raise UserError(f"{path}: of a calculation over a world; allowed: without a world")
    calculation._need_orbitals()
    text = "\n".join([*_head(calculation), *_basis(calculation), *_results(calculation)])
    with replaced(Path(path).absolute()) as aside:
        aside.write_text(text + "\n")


def _scalar(name: str, value: float) -> str:
    if isinstance(value, int):
        return f"{name:<40}   I     {value:12d}"
    return f"{name:<40}   R     {value:22.15E}"


def _array(name: str, values: Any) -> Iterator[str]:
    flat = np.ravel(values)
    kind = "I" if flat.dtype.kind in "iu" else "R"
    yield f"{name:<40}   {kind}   N={len(flat):12d}"
    form = "{:12d}" if kind == "I" else "{:16.8E}"
    for first in range(0, len(flat), PER_LINE[kind]):
        yield "".join(form.format(each) for each in flat[first : first + PER_LINE[kind]].tolist())


def _head(calculation: HartreeFock) -> Iterator[str]:
    molecule, (up, down) = calculation.molecule, calculation.occupied
    yield f"{molecule.formula}, by Craton"
    yield f"{'SP':<10}{calculation.method:<30}{calculation.basis_name:<30}"
    yield _scalar("Number of atoms", len(molecule.symbols))
    yield _scalar("Charge", molecule.charge)
    yield _scalar("Multiplicity", int(molecule.multiplicity or 1))
    yield _scalar("Number of electrons", molecule.electrons)
    yield _scalar("Number of alpha electrons", up)
    yield _scalar("Number of beta electrons", down)
    yield _scalar("Number of basis functions", calculation.basis.size)
    yield _scalar("Number of independent functions", calculation.basis.size - calculation.left_out)
    yield from _array("Atomic numbers", [NUMBERS[each] for each in molecule.symbols])
    yield from _array("Nuclear charges", molecule.charges)
    yield from _array("Current cartesian coordinates", molecule.positions_bohr)


def _basis(calculation: HartreeFock) -> Iterator[str]:
    """A shell of the format is one contraction; pure functions beyond p have negative types, Cartesian ones positive."""
    cartesian = is_cartesian(calculation.shells)
    kinds, lengths, atoms = [], [], []
    exponents: list[float] = []
    coefficients: list[float] = []
    for shell in calculation.shells:
        for row in normalised_contractions(shell):
            used = np.flatnonzero(row)
            kinds.append(shell.momentum if shell.momentum < 2 or cartesian else -shell.momentum)
            lengths.append(len(used))
            atoms.append(shell[0] + 1)
            exponents += [shell[2][p] for p in used]
            coefficients += row[used].tolist()
    yield _scalar("Number of contracted shells", len(kinds))
    yield _scalar("Number of primitive shells", len(exponents))
    yield _scalar("Pure/Cartesian d shells", int(cartesian))
    yield _scalar("Pure/Cartesian f shells", int(cartesian))
    yield _scalar("Highest angular momentum", max(map(abs, kinds)))
    yield _scalar("Largest degree of contraction", max(lengths))
    yield from _array("Shell types", kinds)
    yield from _array("Number of primitives per shell", lengths)
    yield from _array("Shell to atom map", atoms)
    yield from _array("Primitive exponents", exponents)
    yield from _array("Contraction coefficients", coefficients)
    yield from _array("Coordinates of each shell", calculation.molecule.positions_bohr[np.array(atoms) - 1])


def _results(calculation: HartreeFock) -> Iterator[str]:
    order, scale = other_order(calculation.shells, backwards=True), norms(calculation.shells)
    yield _scalar("SCF Energy", float(calculation.e_tot))
    yield _scalar("Total Energy", float(calculation.e_tot))
    energies = np.atleast_2d(calculation.mo_energy)
    for spin, name in enumerate(("Alpha", "Beta")[: len(energies)]):
        yield from _array(f"{name} Orbital Energies", energies[spin])
        yield from _array(
            f"{name} MO coefficients", (calculation.orbitals(0, energies.shape[1], spin) * scale[:, None])[order].T
        )
    density = calculation.make_rdm1() * np.outer(scale, scale)
    below = np.tril_indices(calculation.basis.size)
    if density.ndim == 3:
        yield from _array("Total SCF Density", density.sum(axis=0)[np.ix_(order, order)][below])
        yield from _array("Spin SCF Density", (density[0] - density[1])[np.ix_(order, order)][below])
    else:
        yield from _array("Total SCF Density", density[np.ix_(order, order)][below])
    yield from _array("Dipole Moment", calculation.dipole_debye() / DEBYE)
    yield from _array("Mulliken Charges", calculation.mulliken_charges())


def read_fchk(path: str | Path) -> Checkpoint:
    """A molecule, its shells and densities, with which HartreeFock.kernel begins, also in another basis set.

    HartreeFock needs `cartesian` where the file's functions are. UserError for a file that is none, of both kinds of functions, sp
    shells, or of a method whose density is not that of the orbitals.
    """
    try:
        if Path(path).stat().st_size > LARGEST_BYTES:
            raise ValueError(f"it is larger than {LARGEST_BYTES} bytes")
        lines = Path(path).read_text(encoding="ascii").splitlines()
        return _checkpoint(_fields(lines))
    except UserError as error:
        raise UserError(f"{path}: {error}") from None
    except (OSError, ValueError, IndexError, OverflowError) as error:
        raise UserError(f"{path}: {quoted(str(error), 120)}; allowed: {ALLOWED}") from None


def _fields(lines: Sequence[str]) -> dict[str, Any]:
    found: dict[str, Any] = {}
    n = 2
    while n < len(lines):
        line = lines[n]
        n += 1
        name, kind = line[:40].strip(), line[43:44]
        if kind not in PER_LINE:
            continue  # text, or logical values
        if line[47:49] != "N=":
            found[name] = int(line[49:]) if kind == "I" else float(line[49:])
            continue
        count, per_line = whole_number(line[49:].strip()), PER_LINE[kind]
        if count is None or count > per_line * (len(lines) - n):
            raise ValueError(f"'{name}' has {line[49:].strip()[:20]} numbers, of which the file has no room")
        last = n - (-count // per_line)
        words = " ".join(lines[n:last]).split()
        if len(words) != count:
            raise ValueError(f"'{name}' has {len(words)} numbers in place of {count}")
        found[name] = np.array(words, dtype=np.int64 if kind == "I" else np.float64)
        n = last
    return found


def _checkpoint(fields: dict[str, Any]) -> Checkpoint:
    def of(name: str) -> Any:
        if name not in fields:
            raise ValueError(f"it has no '{name}'")
        if not np.all(np.isfinite(fields[name])):
            raise ValueError(f"'{name}' is not finite")
        return fields[name]

    numbers = of("Atomic numbers")
    if not np.all((numbers >= 1) & (numbers <= len(SYMBOLS))):
        raise ValueError("atomic numbers that no element has")
    symbols = tuple(SYMBOLS[each - 1] for each in numbers)
    molecule = Molecule(
        symbols,
        of("Current cartesian coordinates").reshape(len(symbols), 3),
        int(of("Charge")),
        int(of("Multiplicity")),
    )
    shells = _shells(of, len(symbols))
    size = sum(function_count(each) for each in shells)
    if size != of("Number of basis functions"):
        raise ValueError(f"{of('Number of basis functions')} functions, but shells of {size}")
    total = _unpacked(of("Total SCF Density"), size, shells)
    densities = [total]
    if "Spin SCF Density" in fields:
        spin = _unpacked(of("Spin SCF Density"), size, shells)
        densities = [(total + spin) / 2, (total - spin) / 2]
    energy = float(fields.get("SCF Energy", fields.get("Total Energy", 0.0)))
    method = "UHF" if len(densities) > 1 else "RHF"
    return Checkpoint(molecule, method, "of its own", shells, densities, np.zeros((0, 6)), energy, True, {})


def _shells(of: Any, atoms: int) -> list[PlacedShell]:
    found: list[PlacedShell] = []
    kinds, lengths, at = of("Shell types"), of("Number of primitives per shell"), of("Shell to atom map")
    exponents, coefficients = of("Primitive exponents"), of("Contraction coefficients")
    if not len(kinds) == len(lengths) == len(at) or lengths.min() < 1 or lengths.sum() != len(exponents) != 0:
        raise ValueError("shells, their primitives and exponents of different numbers")
    if len(exponents) != len(coefficients) or not np.all((at >= 1) & (at <= atoms)):
        raise ValueError("shells of no atom, or without coefficients")
    first = 0
    for kind, length, atom in zip(kinds.tolist(), lengths.tolist(), at.tolist(), strict=True):
        if kind == -1 or abs(kind) > LARGEST_MOMENTUM:
            raise UserError(f"a shell of type {kind}; allowed: s, p and others up to l = {LARGEST_MOMENTUM}, no sp")
        if kind > 1 and kinds.min() < -1:
            raise UserError("some shells are pure, some Cartesian; allowed: all of one kind")
        part = slice(first, first + length)
        contractions = [coefficients[part].tolist()]
        found.append(PlacedShell(atom - 1, abs(kind), exponents[part].tolist(), contractions, bool(kinds.max() > 1)))
        first += length
    if [each.atom for each in found] != sorted(each.atom for each in found):
        raise UserError("shells are not in the order of their atoms; allowed: atom by atom")
    return found


def _unpacked(below: Matrix, size: int, shells: list[PlacedShell]) -> Matrix:
    if len(below) != size * (size + 1) // 2:
        raise ValueError(f"a density of {len(below)} numbers for {size} functions")
    matrix = np.zeros((size, size))
    matrix[np.tril_indices(size)] = below
    matrix += np.tril(matrix, -1).T
    place, scale = np.argsort(other_order(shells, backwards=True)), norms(shells)
    return np.asarray(matrix[np.ix_(place, place)] / np.outer(scale, scale))
