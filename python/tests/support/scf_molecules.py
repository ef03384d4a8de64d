"""Molecules that the tests of craton.scf share, and the same ones as pyscf makes them."""

from __future__ import annotations

import functools
import importlib.util
import json
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

needs_chemistry = pytest.mark.skipif(
    not (importlib.util.find_spec("pyscf") and importlib.util.find_spec("basis_set_exchange")),
    reason="the packages pyscf and basis_set_exchange are not installed (pip install craton[chemistry])",
)

WATER = """3
r = 0.9572 A, angle = 104.52 degrees
O      0.0000000000     0.0000000000     0.0000000000
H      0.0000000000     0.7569503273     0.5858822766
H      0.0000000000    -0.7569503273     0.5858822766
"""

# near their equilibria, Angstrom
SMALL = {
    "H2": "H 0 0 0; H 0 0 0.7414",
    "HF": "H 0 0 0; F 0 0 0.9168",
    "H2O": "O 0 0 0; H 0 0.7569503273 0.5858822766; H 0 -0.7569503273 0.5858822766",
    "NH3": "N 0 0 0; H 0 0.9377 0.3816; H 0.8121 -0.4689 0.3816; H -0.8121 -0.4689 0.3816",
    "CH4": "C 0 0 0; H 0.629 0.629 0.629; H -0.629 -0.629 0.629; H -0.629 0.629 -0.629; H 0.629 -0.629 -0.629",
    "N2": "N 0 0 0; N 0 0 1.0977",
    "CO": "C 0 0 0; O 0 0 1.1282",
    "HCN": "H 0 0 -1.0655; C 0 0 0; N 0 0 1.1532",
    "CO2": "O 0 0 -1.16; C 0 0 0; O 0 0 1.16",
    "H2CO": "O 0 0 1.2050; C 0 0 0; H 0 0.9429 -0.5876; H 0 -0.9429 -0.5876",
    "HCl": "H 0 0 0; Cl 0 0 1.2746",
    "C2H2": "H 0 0 -1.6625; C 0 0 -0.6013; C 0 0 0.6013; H 0 0 1.6625",
}
BASES = ("sto-3g", "6-31g*", "def2-svp", "cc-pvtz", "aug-cc-pvdz")
# in cc-pvdz, of pyscf 2.14, converged to 1e-10; NWChem 7.0.2 agrees to 3e-9
KNOWN = {
    "water": -76.0267986975,
    "benzene": -230.7220822541,
    "water8": -608.2980895036,
    "decane": -391.5249511496,
}
OPEN = {  # multiplicity, atoms
    "H": (2, "H 0 0 0"),
    "O2": (3, "O 0 0 0; O 0 0 1.2075"),
    "OH": (2, "O 0 0 0; H 0 0 0.9697"),
    "CH2": (3, "C 0 0 0; H 0 0.9947 0.4251; H 0 -0.9947 0.4251"),
    "NO2": (2, "N 0 0 0; O 0 1.0989 0.4653; O 0 -1.0989 0.4653"),
}


def molecule_of(atoms: str, charge: int = 0, multiplicity: int | None = None):
    """From "symbol x y z; ..."."""
    from craton.scf import Molecule

    lines = [each.strip() for each in atoms.split(";")]
    text = "\n".join([str(len(lines)), "", *lines])
    return Molecule.from_xyz_text(text, charge, multiplicity=multiplicity)


def water():
    from craton.scf import Molecule

    return Molecule.from_xyz_text(WATER)


def benzene():
    from craton.scf import Molecule

    angles = np.arange(6) * np.pi / 3
    rings = [("C", 1.39), ("H", 2.48)]
    lines = [f"{symbol} {r * np.cos(a):.10f} {r * np.sin(a):.10f} 0.0" for symbol, r in rings for a in angles]
    return Molecule.from_xyz_text("\n".join(["12", "benzene, D6h", *lines]))


def of_pyscf(molecule, name):
    """The same molecule and basis as pyscf makes them from the printed shells."""
    from craton.scf import shells_of
    from pyscf import gto

    shells = {
        symbol: [
            [momentum, *([a, *(row[p] for row in rows)] for p, a in enumerate(exponents))]
            for momentum, exponents, rows in some
        ]
        for symbol, some in shells_of(name, set(molecule.symbols)).items()
    }
    atoms = list(zip(molecule.symbols, molecule.positions_bohr.tolist(), strict=True))
    return gto.M(
        atom=atoms, unit="Bohr", basis=shells, charge=molecule.charge, spin=molecule.multiplicity - 1, verbose=0
    )


def known(name):
    """The molecule of one of the KNOWN energies."""
    from craton.scf import Molecule
    from craton_studies.bench.scf import alkane

    if name == "decane":
        return Molecule.from_xyz_text(alkane(10))
    if name == "water8":
        return Molecule.from_xyz(Path(__file__).resolve().parents[3] / "examples" / "scf" / "water8.xyz")
    return {"water": water, "benzene": benzene}[name]()


@functools.cache
def energy_of_pyscf(name, basis):
    """Of one of the SMALL molecules."""
    from pyscf import scf

    theirs = scf.RHF(of_pyscf(molecule_of(SMALL[name]), basis))
    theirs.conv_tol, theirs.conv_tol_grad = 1e-11, 1e-6
    theirs.kernel()
    assert theirs.converged
    return theirs.e_tot


def write_energies_of_pyscf(path):
    """All of SMALL in all of BASES: {basis: {molecule: hartree}}, for programs that must not each compute them again."""
    found = {basis: {name: energy_of_pyscf(name, basis) for name in SMALL} for basis in BASES}
    path.write_text(json.dumps(found, indent=1))


@contextmanager
def spread_over_ranks(spread=True):
    """Matrices of any size are diagonalised and purified by all ranks: none is left to one rank for being small."""
    from craton.scf.engines.distributed import DistributedAlgebra

    limit = DistributedAlgebra.whole_on_one_rank
    DistributedAlgebra.whole_on_one_rank = 0 if spread else limit
    try:
        yield
    finally:
        DistributedAlgebra.whole_on_one_rank = limit
