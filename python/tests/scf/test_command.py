"""`craton scf`: the table, the files, and what is said of wrong input."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from command_line import craton
from craton.commands.main import invoke
from craton.errors import UserError
from scf_molecules import WATER, needs_chemistry

pytestmark = needs_chemistry

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "scf"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """With water.xyz in it; the commands run there."""
    (tmp_path / "water.xyz").write_text(WATER)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_help():
    done = craton("scf", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("--basis", "--multiplicity", "--density-by", "--restart", "examples/scf/water.xyz", "exit code is 3"):
        assert word in " ".join(done.stdout.split())
    assert "scf" in craton().stdout


def test_a_run_and_its_files(folder):
    done = craton(
        *("scf", "water.xyz", "--basis", "6-31g*", "--checkpoint", "w.h5", "--molden", "w.molden", "--json", "w.json"),
        *("--cube", "homo", "--cube", "density", "--picture", "w.png", "--orbital", "homo-1", "--conv-tol", "1e-10"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads((folder / "w.json").read_text())
    assert found["converged"] and found["energy_hartree"] == pytest.approx(-76.0090, abs=1e-2)
    rows = re.findall(r"^ +(\d+) +(-\d+\.\d{10}) ", done.stdout, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, len(found["iterations"]) + 1))
    assert float(rows[-1][1]) == pytest.approx(found["energy_hartree"], abs=1e-9)
    for word in ("H2O, charge 0", "18 functions", "HOMO", "dipole", "Mulliken", "O1 -", "seconds: ", "converged after"):
        assert word in done.stdout
    for name in ("w.h5", "w.molden", "w.json", "water.homo.cube", "water.density.cube", "w.png"):
        assert (folder / name).stat().st_size > 0
        assert name in done.stdout
    assert len(list(folder.iterdir())) == 7


def test_open_shells_are_unrestricted(folder):
    done = craton("scf", EXAMPLES / "oxygen.xyz", "--basis", "sto-3g", "--multiplicity", "3", "--cube", "homo:down")
    assert (done.returncode, done.stderr) == (0, "")
    assert "UHF/sto-3g" in done.stdout
    assert re.search(r"<S\^2> 2\.00\d+", done.stdout)
    assert (folder / "oxygen.homo-down.cube").exists()


def test_every_example_is_a_molecule():
    from craton.scf import Molecule

    formulas = {path.name: Molecule.from_xyz(path).formula for path in EXAMPLES.glob("*.xyz")}
    small = {"water.xyz": "H2O", "benzene.xyz": "C6H6", "oxygen.xyz": "O2"}
    assert formulas == small | {"graphene.xyz": "C24H12", "water8.xyz": "H16O8"}


def test_not_converged_is_a_code_and_a_checkpoint(folder):
    command = ("scf", "water.xyz", "--basis", "6-31g", "--checkpoint", "w.h5")
    done = craton(*command, "--max-cycle", "3")
    assert done.returncode == 3
    assert re.fullmatch(r"craton: not converged after 3 iterations: .*; w.h5 has the state.*\n", done.stderr)
    assert "NOT converged after 3 iterations" in done.stdout
    before = (folder / "w.h5").read_bytes()
    again = craton(*command)
    assert again.returncode == 2
    assert "--checkpoint w.h5: is there already; allowed: another file, --restart w.h5 to go on from it" in again.stderr
    assert (folder / "w.h5").read_bytes() == before
    done = craton(*command, "--restart", "w.h5")
    assert (done.returncode, done.stderr) == (0, "")
    assert "from RHF/6-31g after 3 iterations" in done.stdout
    done = craton("scf", "water.xyz", "--basis", "cc-pvdz", "--restart", "w.h5")
    assert (done.returncode, done.stderr) == (0, "")
    assert "projected" in done.stdout


BAD = {
    "two": ("two\n\nH 0 0 0", "line 1: 'two'"),
    "few": ("3\n\nH 0 0 0\nH 0 0 1", "2 lines of atoms; allowed: 3"),
    "element": ("2\n\nH 0 0 0\nXx 0 0 1", "line 4: element 'Xx'"),
    "number": ("2\n\nH 0 0 0\nH 0 one 1", "line 4: 'H 0 one 1'"),
    "near": (
        "3\n\nO 0 0 0\nH 0 0 1\nH 0 0 1.05",
        "atoms 2 (H) and 3 (H) are 0.05 Angstrom apart; allowed: more than 0.1",
    ),
    "binary": ("\x00\x00\x00", "line 1"),
}


@pytest.mark.parametrize("what", BAD)
def test_broken_molecules(folder, what):
    text, said = BAD[what]
    (folder / "bad.xyz").write_text(text)
    with pytest.raises(UserError) as raised:
        invoke(["scf", "bad.xyz", "--basis", "sto-3g"])
    assert "bad.xyz" in str(raised.value) and said in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none.xyz", "--basis", "sto-3g"], ["none.xyz", "No such file"]),
        (["water.xyz"], ["--basis", "scf --help"]),
        (["water.xyz", "--basis", "cc-pvdx"], ["'cc-pvdx'", "does not exist", "did you mean", "cc-pVDZ"]),
        (
            ["water.xyz", "--basis", "sto-3g", "--charge", "1", "--method", "rhf"],
            ["RHF: 9 electrons (charge 1)", "UHF"],
        ),
        (["water.xyz", "--basis", "sto-3g", "--charge", "10"], ["leaves 0 electrons", "at most 9"]),
        (["water.xyz", "--basis", "sto-3g", "--charge", "x"], ["'x'", "a whole number"]),
        (
            ["water.xyz", "--basis", "sto-3g", "--multiplicity", "2"],
            ["multiplicity 2 of 10 electrons", "1, 3, 5, 7 ... 11"],
        ),
        (
            ["water.xyz", "--basis", "sto-3g", "--multiplicity", "3", "--method", "rhf"],
            ["RHF: multiplicity 3", "allowed: 1, or UHF"],
        ),
        (["water.xyz", "--basis", "sto-3g", "--cube", "homer"], ["orbital 'homer'"]),
        (["water.xyz", "--basis", "sto-3g", "--cube", "homo:left"], ["allowed after the colon: up or down"]),
        (["water.xyz", "--basis", "sto-3g", "--cube", "spin"], ["--cube spin", "uhf"]),
        (
            ["water.xyz", "--basis", "sto-3g", "--picture", "w.png", "--orbital", "lumo+9"],
            ["number 15; allowed: 1 to 7"],
        ),
        (["water.xyz", "--basis", "sto-3g", "--picture", "no/w.png"], ["--picture no/w.png", "no such folder"]),
        (
            ["water.xyz", "--basis", "sto-3g", "--load-balance", "no/w.png"],
            ["--load-balance no/w.png", "no such folder"],
        ),
        (
            ["water.xyz", "--basis", "sto-3g", "--load-balance", "w.png"],
            ["--load-balance w.png", "allowed: with --ranks"],
        ),
        (["water.xyz", "--basis", "sto-3g", "--checkpoint", "no/w.h5"], ["--checkpoint no/w.h5", "no such folder"]),
        (["water.xyz", "--basis", "sto-3g", "--restart", "no.h5"], ["no.h5", "no such file"]),
        (["water.xyz", "--basis", "sto-3g", "--restart", "water.xyz"], ["water.xyz", "not whole or not one"]),
        (["water.xyz", "--basis", "sto-3g", "--library", "no.so"], ["no.so", "allowed: the file of libcint"]),
        (["water.xyz", "--basis", "sto-3g", "--density-by", "magic"], ["'magic'", "diagonalisation, canonical, sp2"]),
        (["water.xyz", "--basis", "sto-3g", "--damping", "2"], ["damp = 2.0", "less than 1"]),
        (["water.xyz", "--basis", "sto-3g", "--conv-tol", "0"], ["conv_tol = 0.0"]),
        (["water.xyz", "--basis", "sto-3g", "--threshold", "0"], ["threshold"]),
    ],
)
def test_wrong_command_lines(folder, arguments, said):
    with pytest.raises(UserError) as raised:
        invoke(["scf", *arguments])
    assert all(part in str(raised.value) for part in said)
    assert [path.name for path in folder.iterdir()] == ["water.xyz"]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["water.xyz", "--basis", "cc-pvdx"], "basis set 'cc-pvdx'"),
        (["bad.xyz", "--basis", "sto-3g"], "bad.xyz, line 4: element 'Xx'"),
        (["water.xyz", "--basis", "sto-3g", "--method", "rhf", "--charge", "-1"], "RHF: 11 electrons (charge -1)"),
    ],
)
def test_wrong_input_is_one_line_and_code_2(folder, arguments, said):
    (folder / "bad.xyz").write_text(BAD["element"][0])
    done = craton("scf", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("craton: error: ") and done.stderr.count("\n") == 1
    assert said in done.stderr


def test_no_library(folder):
    done = craton("scf", "water.xyz", "--basis", "sto-3g", CRATON_LIBCINT=str(folder / "none.so"))
    assert done.returncode == 2
    assert "none.so" in done.stderr and done.stderr.count("\n") == 1
