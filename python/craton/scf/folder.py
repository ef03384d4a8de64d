"""The folder of a Hartree-Fock run, and its record."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from craton.runs.folder import RunFile, RunFolder
from craton.runs.iterative import IterativeRecord

__all__ = ["IterationRow", "ScfFolder", "ScfRecord"]


@dataclass(frozen=True)
class IterationRow:
    """An iteration, as record.json has it."""

    number: int
    energy_hartree: float
    change_hartree: float | None
    """None for the first of a session."""
    gradient: float
    """Norm of the orbital gradient."""
    quartets: int
    """Shell quartets whose integrals were computed."""
    fock_s: float
    """Wall clock of J and K."""


@dataclass(kw_only=True, repr=False)
class ScfRecord(IterativeRecord):
    """What a calculation found: hartree, debye, elementary charges."""

    molecule: str
    """Sum formula."""
    symbols: list[str]
    charge: int
    multiplicity: int
    electrons: int = 0
    """Without those for which core potentials stand."""
    method: str
    """RHF, UHF, ROHF, RKS or UKS."""
    basis: str
    functions: int
    functional: str = ""
    """Of RKS and UKS."""
    electrons_on_grid: float | None = None
    """What the density integrates to."""
    energy_hartree: float
    homo_hartree: float | None
    lumo_hartree: float | None
    """None where the basis has no virtual orbital."""
    orbital_energies_hartree: list[float] | list[list[float]]
    """UHF: a list for each spin."""
    dipole_debye: list[float]
    mulliken_charges: list[float]
    iterations: list[IterationRow]
    left_out: int = 0
    """Combinations of functions that nearly depend on others: so many orbitals less than functions."""
    spin_square: float | None = None
    """<S^2> of UHF and ROHF."""
    geometry: list[GeometryRow] | None = None
    """Of an optimisation."""
    optimised: bool | None = None
    """Whether its forces are small enough."""
    positions_angstrom: list[list[float]] | None = None
    """Of the last geometry."""
    vibrations: list[VibrationRow] | None = None
    zero_point_hartree: float | None = None
    balance: list[dict[str, float]] | None = None
    """Tasks and seconds of each rank, over all builds of J and K, where matrices are over ranks."""

    @property
    def told(self) -> dict[str, str]:
        """Energy and method."""
        return {
            "energy": f"{self.energy_hartree:.10f} hartree",
            "calculation": f"{self.molecule}, {self.method}/{self.basis}",
        }


@dataclass
class GeometryRow:
    """A geometry on the way to the least energy."""

    number: int
    energy_hartree: float
    force_hartree_per_bohr: float
    """The largest on an atom."""


@dataclass
class VibrationRow:
    """A normal mode; a negative frequency is an imaginary one."""

    frequency_cm1: float
    intensity_km_mol: float


class ScfFolder(RunFolder[ScfRecord]):
    """Files of a run; cube files are named after what is in them."""

    app, record_type = "scf", ScfRecord

    orbitals = RunFile("orbitals.h5")
    molden = RunFile("orbitals.molden")
    optimised = RunFile("optimised.xyz")
    balance = RunFile("load_balance.h5")
    molecule = RunFile("molecule.xyz", "input")
    checkpoint = RunFile("checkpoint.h5", "working")

    def more_results(self) -> list[Path]:
        """Cube files."""
        return sorted(self.path.glob("*.cube"))

    def cube(self, what: str) -> Path:
        """The file of "homo", "density", "homo:down"."""
        return self.path / f"{what.replace(':', '-')}.cube"
