"""`craton scf`: its verbs, the files of a run, and what is said of wrong input."""

from __future__ import annotations

import importlib.util
import json
import re
import signal
import subprocess
import sys
from pathlib import Path

import h5py
import numpy as np
import pytest
from command_line import craton
from craton.commands.main import invoke
from craton.errors import UserError
from helpers import environment_without_mpi
from scf_molecules import WATER, needs_chemistry

pytestmark = needs_chemistry
needs_ase = pytest.mark.skipif(
    not importlib.util.find_spec("ase"), reason="the package ase is not installed (pip install craton[chemistry])"
)

EXAMPLES = Path(__file__).resolve().parents[3] / "examples" / "scf"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """With water.xyz in it; the commands run there."""
    (tmp_path / "water.xyz").write_text(WATER)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def configured(folder: Path, name: str = "my.toml", **tables: str) -> str:
    """A configuration of water in 6-31g; each table's lines may be given."""
    lines = {"molecule": 'file = "water.xyz"', "method": 'basis = "6-31g"'} | tables
    (folder / name).write_text("".join(f"[{table}]\n{text}\n" for table, text in lines.items()))
    return name


def test_help():
    done = craton("scf", "--help")
    assert (done.returncode, done.stderr) == (0, "")
    for word in ("template", "check", "run", "resume", "status", "report", "craton scf run water.toml"):
        assert word in " ".join(done.stdout.split())
    done = craton("scf", "run", "--help")
    for word in ("--basis", "--multiplicity", "--start", "water.xyz", "exit code is 3"):
        assert word in " ".join(done.stdout.split())
    assert "scf" in craton().stdout


def test_the_template_is_a_configuration(folder):
    done = craton("scf", "template")
    assert (done.returncode, done.stderr) == (0, "")
    (folder / "t.toml").write_text(done.stdout)
    from craton.scf.config import TABLES, load_config

    loaded = load_config(folder / "t.toml")
    assert loaded.to_dict()["molecule"]["file"] == str(folder / "water.xyz")
    (folder / "again.toml").write_text(loaded.to_toml())
    again = load_config(folder / "again.toml")
    assert again.to_dict() == loaded.to_dict()
    assert all(f"[{name}]" in done.stdout for name in TABLES)
    assert all("#" in line for line in done.stdout.splitlines() if " = " in line and not line.startswith("#"))


def test_a_run_and_its_files(folder):
    configured(
        folder,
        "w.toml",
        method='basis = "6-31g*"',
        convergence="energy = 1e-10",
        output='molden = true\ncubes = ["homo", "density"]\ncube_spacing_bohr = 0.5\npictures = ["homo-1", "lumo"]',
    )
    done = craton("scf", "run", "w.toml")
    assert (done.returncode, done.stderr) == (0, "")
    run = folder / "w-run"
    found = json.loads((run / "record.json").read_text())
    assert found["converged"] and found["energy_hartree"] == pytest.approx(-76.0090, abs=1e-2)
    rows = re.findall(r"^ +(\d+) +(-\d+\.\d{10}) ", done.stdout, re.MULTILINE)
    assert [int(number) for number, _ in rows] == list(range(1, len(found["iterations"]) + 1))
    assert float(rows[-1][1]) == pytest.approx(found["energy_hartree"], abs=1e-9)
    for word in ("H2O, charge 0", "18 functions", "HOMO", "dipole", "Mulliken", "O1 -", "seconds: ", "converged after"):
        assert word in done.stdout
    results = {"orbitals.h5", "orbitals.molden", "homo.cube", "density.cube", "record.json", "report.html"}
    for name in results:
        assert (run / name).stat().st_size > 0
        assert name in done.stdout
    assert {path.name for path in run.iterdir()} == results | {"config.toml", "molecule.xyz"}
    assert found["finished"] and found["app"] == "scf" and found["stopped_because"].startswith("converged after")

    report = (run / "report.html").read_text()
    for word in ("H2O by Hartree-Fock", f"{found['energy_hartree']:.8f} hartree", "eV", "LUMO", "Mulliken", "debye"):
        assert word in report
    assert report.count("<img") == 4  # convergence, orbital energies, two orbitals
    homo, lumo = (27.211386 * found[f"{name}_hartree"] for name in ("homo", "lumo"))
    assert f"the highest occupied at {homo:.2f} eV and the lowest virtual at {lumo:.2f} eV" in report
    assert "around the 3 atoms of H2O: orbital homo-1." in report
    (run / "report.html").unlink()
    done = craton("scf", "report", run)
    assert (done.returncode, done.stdout) == (0, f"{run / 'report.html'}\n")
    assert (run / "report.html").read_text() == report

    said = json.loads(craton("scf", "status", run, "--json").stdout)
    assert said["state"] == "finished" and said["rows"]["calculation"] == "H2O, RHF/6-31g*"
    again = craton("scf", "run", "w.toml")
    assert again.returncode == 2
    assert "orbitals.h5 is there already; allowed: another folder, or --overwrite" in again.stderr
    over = craton("scf", "w.toml", "--overwrite", "--no-report", "--json", "--basis", "sto-3g")
    assert over.returncode == 0
    assert json.loads(over.stdout)["basis"] == "sto-3g" and "converged after" in over.stderr
    assert not (run / "report.html").exists()


@needs_ase
@pytest.mark.parametrize("ranks", [[], ["--ranks", 2]])
def test_a_geometry_and_its_vibrations(folder, ranks):
    from craton.scf import RHF, Molecule

    configured(folder, "w.toml", method='basis = "sto-3g"')
    done = craton("scf", "run", "w.toml", "--optimise", "--frequencies", *ranks)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads((folder / "w-run" / "record.json").read_text())
    assert found["optimised"] and found["geometry"][-1]["force_hartree_per_bohr"] < 1e-4
    assert found["geometry"][-1]["energy_hartree"] == pytest.approx(found["energy_hartree"], abs=1e-8)
    assert [each["frequency_cm1"] for each in found["vibrations"]] == pytest.approx(
        [2169.9, 4139.8, 4390.7], abs=5
    )  # pyscf 2.14
    assert re.search(r"geometry optimised after \d+ steps: largest force .* hartree/bohr", done.stdout)
    assert "vibrations (1/cm): " in done.stdout and "zero-point energy 0.02" in done.stdout
    last = Molecule.from_xyz(folder / "w-run" / "optimised.xyz")
    again = RHF(last, "sto-3g").run(conv_tol_grad=1e-6)
    assert again.e_tot == pytest.approx(found["energy_hartree"], abs=1e-8)
    assert np.linalg.norm(again.gradient(), axis=1).max() < 1.1e-4
    report = (folder / "w-run" / "report.html").read_text()
    for word in ("Infrared spectrum", "largest force (hartree/bohr)", "Zero-point energy"):
        assert word in report


@needs_ase
def test_a_geometry_that_is_not_reached_is_a_code(folder):
    configured(folder, "w.toml", method='basis = "sto-3g"', geometry="optimise = true\nsteps = 1")
    done = craton("scf", "run", "w.toml")
    assert done.returncode == 3
    assert "geometry not optimised after 1 steps: the largest force is" in done.stderr
    found = json.loads((folder / "w-run" / "record.json").read_text())
    assert found["converged"] and found["optimised"] is False
    assert "Not optimised:" in (folder / "w-run" / "report.html").read_text()


KILLED_IN_GEOMETRY = """
import os, signal, sys
from craton.scf.geometry import optimisation
made = optimisation.Step
def killed(number, energy, force):
    if number == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return made(number, energy, force)
optimisation.Step = killed
from craton.commands.main import invoke
invoke(sys.argv[1:])
"""


@needs_ase
def test_a_killed_optimisation_goes_on_where_it_was(folder):
    configured(folder, method='basis = "sto-3g"', geometry="optimise = true\nforce = 1e-5")
    command = [sys.executable, "-c", KILLED_IN_GEOMETRY, "scf", "run", "my.toml"]
    killed = subprocess.run(command, env=environment_without_mpi(), capture_output=True, timeout=120, check=False)
    assert killed.returncode == -signal.SIGKILL
    said = json.loads(craton("scf", "status", "my-run", "--json").stdout)
    assert (said["state"], said["phase"], said["unit"]) == ("interrupted", "geometry", "geometries")
    resumed = craton("scf", "resume", "my-run")
    assert (resumed.returncode, resumed.stderr) == (0, "")
    assert "going on from the last geometry that was saved" in resumed.stdout
    found = json.loads((folder / "my-run" / "record.json").read_text())
    assert found["optimised"]
    whole = craton("scf", "run", "my.toml", "--directory", "whole")
    assert whole.returncode == 0
    undisturbed = json.loads((folder / "whole" / "record.json").read_text())
    assert found["energy_hartree"] == pytest.approx(undisturbed["energy_hartree"], abs=1e-8)
    assert found["geometry"][0]["energy_hartree"] < undisturbed["geometry"][0]["energy_hartree"] - 1e-5


def test_restricted_open_shells_by_command(folder):
    (folder / "oh.xyz").write_text("2\n\nO 0 0 0\nH 0 0 0.97\n")
    configured(
        folder,
        "oh.toml",
        molecule='file = "oh.xyz"',
        method='basis = "6-31g"\nkind = "rohf"',
        output='cubes = ["spin"]\nmolden = true',
    )
    done = craton("scf", "run", "oh.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert "ROHF/6-31g" in done.stdout and "<S^2> 0.750000" in done.stdout
    found = json.loads((folder / "oh-run" / "record.json").read_text())
    assert found["method"] == "ROHF" and found["spin_square"] == 0.75
    spin = (folder / "oh-run" / "spin.cube").read_text()
    values = np.array(" ".join(spin.splitlines()[8:]).split(), dtype=float)
    assert values.sum() * 0.2**3 == pytest.approx(1, abs=0.02)  # one electron without a partner


def test_a_density_functional_by_command(folder):
    done = craton("scf", "run", "water.xyz", "--basis", "sto-3g", "--xc", "b3lyp")
    assert (done.returncode, done.stderr) == (0, "")
    assert "RKS b3lyp/sto-3g" in done.stdout
    assert re.search(r"b3lyp: the density integrates to 10\.0000\d\d electrons", done.stdout)
    found = json.loads((folder / "water-run" / "record.json").read_text())
    assert (found["method"], found["functional"]) == ("RKS", "b3lyp")
    assert found["energy_hartree"] == pytest.approx(-75.31, abs=0.02)
    assert "H2O by b3lyp" in (folder / "water-run" / "report.html").read_text()
    for options, said in (
        (["--xc", "nothing"], "'nothing' is not in libxc; allowed: lda"),
        (["--xc", "pbe", "--method", "rohf"], "kind = rohf with xc = pbe; allowed: rhf or uhf"),
        (["--xc", "pbe", "--optimise"], 'xc = pbe; allowed: xc = "", for gradients'),
    ):
        wrong = craton("scf", "run", "water.xyz", "--basis", "sto-3g", "--directory", "wrong", *options)
        assert wrong.returncode == 2
        assert said in wrong.stderr
        assert len(wrong.stderr.splitlines()) == 1


def test_the_files_of_a_stored_run_are_those_of_the_calculation(folder):
    """Orbitals that are read from orbitals.h5 make the same files as those in memory."""
    from craton.scf import UHF, Molecule, write_cube, write_molden
    from craton.scf.files.orbitals import StoredOrbitals

    calculation = UHF(Molecule.from_xyz("water.xyz", 1), "sto-3g").run(checkpoint="o.h5")
    stored = StoredOrbitals("o.h5")
    for name, found in (("a", calculation), ("b", stored)):
        write_molden(found, f"{name}.molden")
        write_cube(found, f"{name}.cube", "homo", spin=1, spacing_bohr=1.0)
        write_cube(found, f"{name}.density", "spin", spacing_bohr=1.0)
    for kind in ("molden", "cube", "density"):
        assert Path(f"a.{kind}").read_bytes() == Path(f"b.{kind}").read_bytes()
    with h5py.File("o.h5", "r+") as file:
        del file["mo_coeff"]
    with pytest.raises(UserError, match=r"o\.h5: no orbitals; allowed: a checkpoint"):
        StoredOrbitals("o.h5")


def test_names_of_the_package():
    """All are seen before they are loaded; none starts MPI or loads SciPy until it is used."""
    program = (
        "import sys\nfrom craton import scf\nassert set(scf.__all__) <= set(dir(scf))\n"
        "assert not {'scipy', 'mpi4py.MPI', 'matplotlib'} & set(sys.modules)\n"
        "assert all(getattr(scf, name) is not None for name in scf.__all__)\n"
    )
    command = [sys.executable, "-c", program]
    done = subprocess.run(
        command, env=environment_without_mpi(), capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    from craton import scf

    with pytest.raises(AttributeError, match="has no attribute 'RHX'; its names: .*RHF"):
        scf.RHX  # noqa: B018


def test_open_shells_are_unrestricted(folder):
    done = craton(
        *("scf", "run", EXAMPLES / "oxygen.xyz", "--basis", "sto-3g", "--multiplicity", "3", "--directory", "o2"),
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "UHF/sto-3g" in done.stdout
    assert re.search(r"<S\^2> 2\.00\d+", done.stdout)
    report = (folder / "o2" / "report.html").read_text()
    assert "8 up" in report and "8 down" in report and "&lt;S^2&gt;" in report


def test_every_example_is_a_molecule():
    from craton.scf import Molecule

    formulas = {path.name: Molecule.from_xyz(path).formula for path in EXAMPLES.glob("*.xyz")}
    small = {"water.xyz": "H2O", "benzene.xyz": "C6H6", "oxygen.xyz": "O2"}
    assert formulas == small | {"graphene.xyz": "C24H12", "water8.xyz": "H16O8"}


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.toml")), ids=lambda path: path.stem)
def test_examples(example, folder):
    done = craton("scf", "run", example, "--directory", "there", "--basis", "sto-3g", seconds=200)
    assert (done.returncode, done.stderr) == (0, "")
    assert (folder / "there" / "report.html").stat().st_size > 10_000
    assert craton("scf", "check", example).returncode == 0


def test_check(folder):
    done = craton("scf", "check", "water.xyz", "--basis", "cc-pvdz", "--charge", "1", "--ranks", "2", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert (found["method"], found["electrons"], found["functions"], found["multiplicity"]) == ("UHF", 9, 24, 2)
    assert found["memory_of_rank"] == 2 * 28 * 8 * 24**2 // 2
    table = craton("scf", "check", "water.xyz", "--basis", "cc-pvdz", "--ranks", "30").stdout
    assert "24 functions in 11 shells" in table and "30 ranks for 24 functions" in table
    assert [path.name for path in folder.iterdir()] == ["water.xyz"]


def test_check_counts_gradients(folder):
    """The words of a run's command line, with what they cost."""
    words = ("water.xyz", "--basis", "sto-3g", "--optimise", "--frequencies", "--tolerance", "1e-8", "--threads", "2")
    found = json.loads(craton("scf", "check", *words, "--json").stdout)
    assert (found["optimisation_gradients"], found["vibration_gradients"], found["threads"]) == (200, 18, 2)
    shown = craton("scf", "check", *words).stdout
    assert "18 gradients, 6 of each atom" in shown and "at most 200 geometry steps" in shown
    shown = craton("scf", "check", "water.xyz", "--basis", "sto-3g").stdout
    assert "gradient" not in shown and "note" not in shown


@pytest.mark.parametrize(
    ("scale", "note"), [(100.0, "no two nuclei are nearer than"), (0.3, "the nearest two nuclei are")]
)
def test_positions_in_another_unit_are_noted(folder, scale, note):
    """Picometres, and what is too short for any bond: by `check`, and by `run` before it computes."""
    from craton.scf.molecule import Molecule

    water = Molecule.from_xyz("water.xyz")
    shortest = water.shortest_angstrom
    assert shortest == pytest.approx(0.96, abs=0.02) and water.odd_distance == ""
    assert f"{shortest:.3f} Angstrom apart" in craton("scf", "check", "water.xyz", "--basis", "sto-3g").stdout
    Molecule(water.symbols, scale * water.positions_bohr).write_xyz("other.xyz")
    words = ("other.xyz", "--basis", "sto-3g")
    [warning] = json.loads(craton("scf", "check", *words, "--json").stdout)["warnings"]
    assert warning.startswith(f"{note} {scale * shortest:.3g} Angstrom")
    assert warning.endswith(": XYZ has Angstrom, not pm or nm")
    assert f"note: {warning}" in " ".join(craton("scf", "run", *words, "--no-report").stdout.split())


def test_atoms_alone_have_no_distance(folder):
    from craton.scf.molecule import Molecule

    atom = Molecule.from_xyz_text("1\n\nHe 0 0 0")
    assert atom.shortest_angstrom is None and atom.odd_distance == ""


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["chek", "water.xyz", "--basis", "sto-3g"], "Did you mean 'check'"),
        (["rnu", "water.xyz"], "Did you mean 'run'"),
        (["chek.xyz", "--basis", "sto-3g"], "chek.xyz: no such file"),
    ],
)
def test_a_verb_with_a_slip_is_no_short_form(folder, words, said):
    with pytest.raises(UserError) as raised:
        invoke(["scf", *words])
    assert said in str(raised.value)


def test_files_of_other_formats(folder):
    (folder / "m.mol").write_text("\n  made\n\n  1  0  0\n")
    with pytest.raises(UserError, match="m.mol: not valid TOML: .*; allowed: .*, or XYZ whose name ends in .xyz"):
        invoke(["scf", "check", "m.mol"])


def test_a_fitted_run(folder):
    configured(folder, method='basis = "cc-pvtz"\ndf = true')
    found = json.loads(craton("scf", "check", "my.toml", "--json").stdout)
    assert (found["fitted_by"], found["shell_quartets"]) == ("cc-pvtz-jkfit, 139 functions", 0)
    assert found["memory_of_rank"] > 8 * 139 * 58 * 59 // 2
    assert "fitted by cc-pvtz-jkfit, 139 functions" in craton("scf", "check", "my.toml").stdout
    done = [craton("scf", "run", "my.toml", "--ranks", ranks, "--overwrite", "--json") for ranks in ("1", "3")]
    assert [each.returncode for each in done] == [0, 0]
    alone, together = (json.loads(each.stdout)["energy_hartree"] for each in done)
    assert together == pytest.approx(alone, abs=1e-9)
    assert not (folder / "my-run" / "load_balance.h5").exists()


def test_not_converged_is_a_code_and_a_run_to_go_on_with(folder):
    configured(folder, convergence="iterations = 3")
    done = craton("scf", "run", "my.toml")
    assert done.returncode == 3
    assert re.fullmatch(
        r"craton: not converged after 3 iterations: .*`craton scf resume .*my-run` goes on.*\n", done.stderr
    )
    assert "NOT converged after 3 iterations" in done.stdout
    run = folder / "my-run"
    assert "Not converged:" in (run / "report.html").read_text()
    assert not json.loads((run / "record.json").read_text())["finished"]
    status = craton("scf", "status", run).stdout
    assert "failed" in status and "not converged after 3 iterations" in status and "craton scf resume" in status
    before = (run / "checkpoint.h5").read_bytes()
    again = craton("scf", "run", "my.toml")
    assert again.returncode == 2
    assert "holds a run that has not finished; allowed: `craton scf resume" in again.stderr
    assert (run / "checkpoint.h5").read_bytes() == before
    (folder / "water.xyz").unlink()  # the run has a copy of its own
    done = craton("scf", "resume", "my-run", "--iterations", "20")
    assert (done.returncode, done.stderr) == (0, "")
    assert "from RHF/6-31g after 3 iterations" in done.stdout
    record = json.loads((run / "record.json").read_text())
    numbers = [each["number"] for each in record["iterations"]]
    assert numbers == list(range(1, len(numbers) + 1)) and len(numbers) > 4
    assert record["finished"] and len(record["sessions"]) == 2
    assert not (run / "checkpoint.h5").exists() and not (run / "progress.json").exists()
    done = craton("scf", "resume", "my-run")
    assert done.returncode == 0 and "its run has finished" in done.stdout
    (folder / "water.xyz").write_text(WATER)
    done = craton("scf", "run", "water.xyz", "--basis", "cc-pvdz", "--start", "my-run/orbitals.h5", "--no-report")
    assert (done.returncode, done.stderr) == (0, "")
    assert "projected" in done.stdout


KILLED = """
import os, signal, sys
from craton.scf.iteration.hartree_fock import HartreeFock
save = HartreeFock._save
def killed(self, densities):
    save(self, densities)
    if len(self.iterations) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
HartreeFock._save = killed
from craton.commands.main import invoke
invoke(sys.argv[1:])
"""


def test_a_killed_run_is_resumed(folder):
    configured(folder, run="checkpoint_every_s = 0.0")
    command = [sys.executable, "-c", KILLED, "scf", "run", "my.toml"]
    killed = subprocess.run(command, env=environment_without_mpi(), capture_output=True, timeout=120, check=False)
    assert killed.returncode == -signal.SIGKILL
    said = json.loads(craton("scf", "status", "my-run", "--json").stdout)
    assert said["state"] == "interrupted" and said["phase"] == "iterations"
    assert re.fullmatch(r"-\d+\.\d{10} hartree", said["rows"]["energy"])
    done = craton("scf", "resume", "my-run", "--no-report")
    assert (done.returncode, done.stderr) == (0, "")
    assert "from RHF/6-31g after 4 iterations" in done.stdout and re.search(r"^ +5 +-7", done.stdout, re.MULTILINE)
    found = json.loads((folder / "my-run" / "record.json").read_text())
    from craton.scf import RHF, Molecule

    assert found["energy_hartree"] == pytest.approx(RHF(Molecule.from_xyz("water.xyz"), "6-31g").run().e_tot, abs=1e-8)


def test_records_are_picklable_and_read_back(folder):
    import pickle

    from craton.scf.folder import ScfFolder, ScfRecord

    assert craton("scf", "run", "water.xyz", "--basis", "sto-3g", "--no-report").returncode == 0
    record = ScfFolder(folder / "water-run").read_record()
    assert pickle.loads(pickle.dumps(record)) == record
    assert ScfRecord.from_dict(record.to_dict()) == record
    assert record.iterations[0].change_hartree is None and record.iterations[1].change_hartree < 0


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
        invoke(["scf", "check", "bad.xyz", "--basis", "sto-3g"])
    assert "bad.xyz" in str(raised.value) and said in str(raised.value)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["none.xyz", "--basis", "sto-3g"],
            ["none.xyz: no such file; allowed: a TOML file, or XYZ whose name ends in .xyz"],
        ),
        (["O 0 0 0"], ["O 0 0 0: no such file; allowed: a TOML file (", "), or XYZ whose name ends in .xyz"]),
        (["none.toml"], ["none.toml: no such file", "craton scf template > my.toml"]),
        (["water.xyz"], ["water.xyz: no basis set", "--basis"]),
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
        (["water.xyz", "--basis", "sto-3g", "--start", "no.h5"], ["no.h5", "no such file"]),
        (["water.xyz", "--basis", "sto-3g", "--start", "water.xyz"], ["water.xyz", "not whole or not one"]),
    ],
)
def test_wrong_command_lines(folder, arguments, said):
    with pytest.raises(UserError) as raised:
        invoke(["scf", "check", *arguments])
    assert all(part in str(raised.value) for part in said)
    assert [path.name for path in folder.iterdir()] == ["water.xyz"]


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"output": 'cubes = ["homer"]'}, ["my.toml: [output] cubes: orbital 'homer'"]),
        ({"output": 'cubes = ["homo:left"]'}, ["allowed after the colon: up or down"]),
        ({"output": 'cubes = ["spin"]'}, ['cubes has "spin"', "in UHF"]),
        ({"output": 'pictures = ["lumo+9"]'}, ["[output] pictures: ", "number 15; allowed: 1 to 13"]),
        ({"output": 'pictures = "homo"'}, ["[output] pictures", "a list of names in quotes"]),
        ({"output": "molden = 1"}, ["[output] molden = 1; allowed: true or false"]),
        ({"output": "cube_spacing_bohr = 0"}, ["cube_spacing_bohr = 0; allowed: a number above 0, at most 10 bohr"]),
        ({"method": ""}, ["[method] basis is missing"]),
        ({"method": 'basis = "sto-3g"\ndensity_by = "magic"'}, ["density_by", '"canonical" or "sp2"']),
        ({"method": 'basis = "sto-3g"\nguess = "magic"'}, ["guess", '"sad" or "core"']),
        ({"method": 'basis = "sto-3g"\nkind = "ghf"'}, ["kind", '"rhf" or "uhf"']),
        ({"method": 'basis = "sto-3g"\ndf = 1'}, ["[method] df = 1; allowed: true or false"]),
        (
            {"method": 'basis = "sto-3g"\ndf = true\nauxiliary = "nosuch"'},
            ["basis set 'nosuch'", "allowed: names and elements of basissetexchange.org"],
        ),
        ({"method": 'basis = "sto-3g"\nthreshold = 0'}, ["threshold = 0; allowed: a number above 0"]),
        ({"molecule": 'file = "no.xyz"'}, ["[molecule] file", "no such file"]),
        ({"convergence": "damping = 2"}, ["damping = 2; allowed: a number in [0, 0.99]"]),
        ({"convergence": "energy = 0.0"}, ["energy = 0.0; allowed: a number above 0"]),
        ({"convergence": "iterations = 0"}, ["iterations = 0; allowed: a whole number"]),
        ({"convergence": "level_shfit = 0.1"}, ["unknown key 'level_shfit'; did you mean 'level_shift'?"]),
        ({"convergance": "energy = 1e-9"}, ["unknown table [convergance]; did you mean [convergence]?"]),
        ({"run": 'library = "water.xyz"'}, ["water.xyz", "allowed: the file of libcint"]),
        ({"run": "threads = 0"}, ["threads = 0; allowed: a whole number"]),
    ],
)
def test_wrong_configurations(folder, tables, said):
    configured(folder, **tables)
    with pytest.raises(UserError) as raised:
        invoke(["scf", "check", "my.toml"])
    assert all(part in str(raised.value) for part in said)
    assert sorted(path.name for path in folder.iterdir()) == ["my.toml", "water.xyz"]


def test_a_start_of_other_atoms(folder):
    from craton.scf import RHF, Molecule

    RHF(Molecule.from_xyz_text("2\n\nH 0 0 0\nH 0 0 0.74"), "sto-3g").run(checkpoint="h2.h5")
    with pytest.raises(
        UserError, match=r"\[method\] start = .*h2.h5: .*of H2, but the molecule is H2O; allowed: one of the same atoms"
    ):
        invoke(["scf", "check", "water.xyz", "--basis", "sto-3g", "--start", "h2.h5"])


@pytest.mark.parametrize("verb", ["run", "resume"])
def test_ranks_of_another_launcher(folder, monkeypatch, verb):
    """Mpirun has started three."""
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "3")
    with pytest.raises(
        UserError, match=r"--ranks 2, but this job was started with 3 ranks; allowed: --ranks 3, or none"
    ):
        invoke(["scf", verb, "any", "--ranks", "2"])


@pytest.mark.parametrize("verb", ["status", "report", "resume"])
def test_folders_without_a_run(folder, verb):
    with pytest.raises(UserError, match="none"):
        invoke(["scf", verb, "none"])
    (folder / "empty").mkdir()
    with pytest.raises(UserError, match="empty"):
        invoke(["scf", verb, "empty"])


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
    done = craton("scf", "run", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("craton: error: ") and done.stderr.count("\n") == 1
    assert said in done.stderr


def test_no_library(folder):
    done = craton("scf", "run", "water.xyz", "--basis", "sto-3g", CRATON_LIBCINT=str(folder / "none.so"))
    assert done.returncode == 2
    assert "none.so" in done.stderr and done.stderr.count("\n") == 1


def test_hostile_names_in_a_report(folder):
    """A name is shown as it is written, wherever it comes from."""
    name = "<script>alert(1)</script>$x$"
    from craton.scf.folder import ScfFolder
    from craton.scf.report import write_report

    (folder / "w.xyz").write_text(WATER)
    assert craton("scf", "run", "w.xyz", "--basis", "sto-3g", "--no-report").returncode == 0
    place = ScfFolder(folder / "w-run")
    record = place.read_record()
    record.title = record.command = record.molecule = record.basis = record.stopped_because = name
    record.symbols[0] = "O"
    place.write_record(record)
    text = write_report(place.path).read_text()
    assert "<script>alert" not in text and "&lt;script&gt;alert" in text
