"""What a calculation leaves on disk to go on from: an HDF5 file.

attributes    identity, method, basis, charge, multiplicity, converged, energy_hartree
datasets      symbols, positions_bohr, shells (JSON: atom, l, exponents, contractions, whether Cartesian), densities (spins, n, n),
              iterations (number, energy, change, gradient, quartets, seconds of J and K),
              mo_energy, mo_coeff, mo_occ once there are orbitals
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import h5py
import numpy as np
from numpy.typing import NDArray

from craton.runs.checkpoints import Identity, opened_checkpoint, written_checkpoint
from craton.runs.hdf5_files import opened_hdf5
from craton.scf.basis_sets import PlacedShell, function_count
from craton.scf.molecule import Molecule

Matrix = NDArray[np.float64]
NumberedRows = Iterable[tuple[NDArray[np.int64], Matrix]]
Rows = Callable[[Any, bool], NumberedRows]

IDENTITY: Identity = {"app": "scf", "version": 1}
"""Identity of every checkpoint: see craton.runs.checkpoints. Molecule and functions are compared when it is used."""
SAME_BOHR = 1e-8
"""Positions nearer than this are the same."""
ORBITALS = ("mo_energy", "mo_coeff", "mo_occ")
ALLOWED = "a checkpoint of craton scf: checkpoint.h5 or orbitals.h5 of a run"


@dataclass(frozen=True)
class StoredMatrix:
    """A density in a file."""

    path: str
    spin: int
    shape: tuple[int, int]

    def __getitem__(self, rows: NDArray[np.int64]) -> Matrix:
        """Ascending rows."""
        with opened_hdf5(self.path, ALLOWED) as file:
            return np.asarray(file["densities"][self.spin, rows, :])


@dataclass(frozen=True)
class Checkpoint:
    """A molecule, its functions, the density of each spin (one of all electrons if restricted), and how far the iterations were."""

    molecule: Molecule
    method: str
    basis_name: str
    shells: list[PlacedShell]
    densities: list[Any]
    iterations: Matrix
    energy: float
    converged: bool
    orbitals: dict[str, Any]

    def write(self, path: Path, rows: Rows | None = None) -> None:
        """Aside, then renamed: what was at `path` stays until the new file is whole. UserError where it cannot be written.

        rows: of matrices that are not whole here. It yields some of one's rows at a time, with their ascending numbers; its second
        argument says whether columns are functions too.
        """
        size = sum(function_count(each) for each in self.shells)
        room = 8 * len(self.densities) * size**2
        with written_checkpoint(path, IDENTITY, room) as file:
            file.attrs["method"], file.attrs["basis"] = self.method, self.basis_name
            file.attrs["charge"], file.attrs["multiplicity"] = self.molecule.charge, self.molecule.multiplicity
            file.attrs["converged"], file.attrs["energy_hartree"] = self.converged, self.energy
            file["symbols"], file["shells"] = json.dumps(self.molecule.symbols), json.dumps(self.shells)
            file["positions_bohr"], file["iterations"] = self.molecule.positions_bohr, self.iterations
            for name, value in self.orbitals.items():
                if isinstance(value, np.ndarray):
                    file[name] = value
            if rows is None:
                file["densities"] = np.stack(self.densities)
                return
            stored = file.create_dataset("densities", (len(self.densities), size, size), np.float64)
            _fill(stored, self.densities, lambda each: rows(each, True))
            if (coefficients := self.orbitals.get("mo_coeff")) is not None:
                channels = coefficients if isinstance(coefficients, list) else [coefficients]
                shape = ((2,) if len(channels) > 1 else ()) + tuple(channels[0].shape)
                stored = file.create_dataset("mo_coeff", shape, np.float64)
                _fill(stored, channels, lambda each: rows(each, False))

    @classmethod
    def read(cls, path: str | Path, whole: bool = True) -> Self:
        """UserError where there is none, or none that is whole.

        Not `whole`: densities stay in the file, of which the ranks of a world read their rows.
        """
        with opened_checkpoint(Path(path), IDENTITY, ALLOWED) as file:
            return cls._from(file, str(path), whole)

    @classmethod
    def _from(cls, file: h5py.File, path: str, whole: bool) -> Self:
        symbols = tuple(json.loads(file["symbols"].asstr()[()]))
        charge, multiplicity = int(file.attrs["charge"]), int(file.attrs["multiplicity"])
        shells = [PlacedShell(*each) for each in json.loads(file["shells"].asstr()[()])]
        densities, size = file["densities"], sum(function_count(each) for each in shells)
        if densities.shape not in ((1, size, size), (2, size, size)):
            raise ValueError(f"densities of shape {densities.shape} for {size} functions")
        if whole and not np.all(np.isfinite(densities[()])):
            raise ValueError("densities that are not finite")
        return cls(
            Molecule(symbols, file["positions_bohr"][()], charge, multiplicity),
            str(file.attrs["method"]),
            str(file.attrs["basis"]),
            shells,
            list(densities[()])
            if whole
            else [StoredMatrix(path, spin, (size, size)) for spin in range(len(densities))],
            file["iterations"][()],
            float(file.attrs["energy_hartree"]),
            bool(file.attrs["converged"]),
            {name: file[name][()] for name in ORBITALS if whole and name in file},
        )

    def is_of(self, molecule: Molecule, shells: list[PlacedShell]) -> bool:
        """Whether its densities can be taken as they are."""
        mine = self.molecule
        return (
            mine.symbols == molecule.symbols
            and (mine.charge, mine.multiplicity) == (molecule.charge, molecule.multiplicity)
            and np.allclose(mine.positions_bohr, molecule.positions_bohr, rtol=0, atol=SAME_BOHR)
            and json.loads(json.dumps(self.shells)) == json.loads(json.dumps(shells))
        )


def _fill(stored: h5py.Dataset, channels: Sequence[Any], rows: Callable[[Any], NumberedRows]) -> None:
    """A dataset, of (channels, n, m) or of one channel alone (n, m)."""
    for at, channel in enumerate(channels):
        for numbers, block in rows(channel):
            stored[(at, numbers) if stored.ndim == 3 else numbers] = block
