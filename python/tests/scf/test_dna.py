"""The double helix that examples/scf/make_dna.py builds: every atom has its bonds."""

import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scf_molecules import needs_chemistry

PROGRAM = Path(__file__).resolve().parents[3] / "examples" / "scf" / "make_dna.py"
RADII = {"C": 0.76, "N": 0.71, "O": 0.66, "P": 1.07, "H": 0.31}
"""Covalent, Angstrom."""
VALENCES = {"C": {3, 4}, "N": {2, 3}, "O": {1, 2}, "P": {4}, "H": {1}}


@pytest.mark.parametrize(
    ("sequence", "formula"),
    [("ATGCA", {"C": 98, "H": 125, "N": 37, "O": 56, "P": 8}), ("G", {"C": 19, "H": 26, "N": 8, "O": 8})],
)
def test_every_atom_has_its_bonds(sequence, formula):
    symbols, positions = runpy.run_path(str(PROGRAM))["double_helix"](sequence)
    assert Counter(symbols) == formula
    apart = np.linalg.norm(positions[:, None] - positions, axis=2) + 9 * np.eye(len(symbols))
    assert apart.min() > 0.9
    reach = np.array([RADII[each] for each in symbols])
    bonds = (apart < 1.25 * (reach[:, None] + reach)).sum(axis=1)
    assert all(count in VALENCES[symbol] for symbol, count in zip(symbols, bonds, strict=True))


@needs_chemistry
def test_the_file_is_a_molecule_with_closed_shells(tmp_path):
    from craton.scf import Molecule, make_basis

    done = subprocess.run([sys.executable, str(PROGRAM), "atgca"], capture_output=True, text=True, check=True)
    (tmp_path / "dna.xyz").write_text(done.stdout)
    molecule = Molecule.from_xyz(tmp_path / "dna.xyz")
    assert (molecule.electrons, molecule.multiplicity) == (1540, 1)
    assert make_basis(molecule, "cc-pvdz").size == 3443
    wrong = subprocess.run([sys.executable, str(PROGRAM), "ATX"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 1
    assert "sequence 'ATX'; allowed: letters A, C, G, T" in wrong.stderr
