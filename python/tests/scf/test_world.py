"""Hartree-Fock over several ranks is that of one process, in both deliveries, and has the energies of pyscf.

The programs are programs/scf_world.py and programs/scf_energies.py.
"""

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from command_line import craton
from craton._launch import run_under_mpi
from scf_molecules import BASES, KNOWN, SMALL, molecule_of, needs_chemistry, write_energies_of_pyscf

pytestmark = needs_chemistry

PROGRAMS = Path(__file__).parents[1] / "programs"
PARTS = 9
WAYS = ("diagonalisation", "canonical", "sp2")
JOBS = [(1, None), (2, None), (2, 1), (3, None), (3, 1), (4, None), (4, 1)]
"""Ranks, and ranks per node: one is delivery by messages alone."""


@pytest.fixture
def helpers_on_path(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1] / "support"), prepend=":")


@pytest.mark.parametrize(
    ("ranks", "ranks_per_node"),
    [(1, None), (2, 1), *(pytest.param(*more, marks=pytest.mark.long) for more in ((3, None), (4, 2)))],
)
def test_a_world_has_the_results_of_a_process(ranks, ranks_per_node, helpers_on_path, tmp_path, capfd):
    program = [str(PROGRAMS / "scf_world.py"), str(tmp_path)]
    code = run_under_mpi(program, ranks, ranks_per_node, program=[sys.executable])
    out, err = capfd.readouterr()
    assert code == 0, err
    assert out.count(": right") == PARTS


@pytest.fixture(scope="module")
def energies_of_pyscf(tmp_path_factory):
    """A file, for all jobs."""
    path = tmp_path_factory.mktemp("pyscf") / "energies.json"
    write_energies_of_pyscf(path)
    return path


def right_energies(capfd, arguments, ranks, ranks_per_node):
    """What the program has said, when it has ended well, and how many energies were right."""
    program = [str(PROGRAMS / "scf_energies.py"), *arguments]
    code = run_under_mpi(program, ranks, ranks_per_node, program=[sys.executable])
    out, err = capfd.readouterr()
    assert code == 0, out + err
    with capfd.disabled():
        print(f"\n{ranks} ranks, {ranks_per_node or ranks} to a node: {out.splitlines()[-1]}")
    return out, int(re.search(r"^(\d+) energies are right", out, re.MULTILINE)[1])


@pytest.mark.long
@pytest.mark.parametrize(("ranks", "ranks_per_node"), JOBS)
def test_energies_of_small_molecules(ranks, ranks_per_node, energies_of_pyscf, helpers_on_path, capfd):
    """By every way to a density 12 molecules in one basis, and some in each; all jobs together all 12 in all 5."""
    turn = str(JOBS.index((ranks, ranks_per_node)))
    out, count = right_energies(capfd, ["small", str(energies_of_pyscf), turn], ranks, ranks_per_node)
    assert count == len(WAYS) * (len(SMALL) + len(BASES))
    for way in WAYS:
        assert set(re.findall(rf"^(\S+) sto-3g {way} ", out, re.MULTILINE)) == set(SMALL)
        assert len(re.findall(rf"^\S+ sto-3g {way} \(all ranks\)", out, re.MULTILINE)) == 3
        assert set(re.findall(rf"^\S+ (\S+) {way} \(as sizes say\)", out, re.MULTILINE)) == set(BASES)


@pytest.mark.long
@pytest.mark.parametrize(("ranks", "ranks_per_node"), JOBS)
def test_known_energies(ranks, ranks_per_node, helpers_on_path, capfd):
    """Water and benzene on any ranks, the larger two on two."""
    names, ways = ("water", "benzene"), (WAYS[JOBS.index((ranks, ranks_per_node)) % len(WAYS)],)
    if ranks == 2:
        names, ways = tuple(KNOWN), ("diagonalisation", "sp2" if ranks_per_node else "canonical")
    out, count = right_energies(capfd, ["known", ",".join(names), ",".join(ways)], ranks, ranks_per_node)
    assert count == len(names) * len(ways), out


@pytest.mark.long
def test_the_command_on_ranks(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    atoms = SMALL["CH4"].split("; ")
    (tmp_path / "m.xyz").write_text("\n".join([str(len(atoms)), "", *atoms]) + "\n")
    (tmp_path / "m.toml").write_text(
        '[molecule]\nfile = "m.xyz"\n[method]\nbasis = "6-31g"\n[convergence]\nenergy = 1e-10\n'
        '[output]\nmolden = true\ncubes = ["density"]\ncube_spacing_bohr = 1.0\n'
    )
    done = craton("scf", "run", "m.toml", "--ranks", "2")
    assert (done.returncode, done.stderr) == (0, "")
    from craton.scf import RHF, figures

    run = tmp_path / "m-run"
    found = json.loads((run / "record.json").read_text())
    assert found["energy_hartree"] == pytest.approx(RHF(molecule_of(SMALL["CH4"]), "6-31g").run().e_tot, abs=1e-8)
    assert "2 ranks of 1 thread" in done.stdout and "idle in all" in done.stdout
    assert re.search(r"^written: .*load_balance\.h5", done.stdout, re.MULTILINE)
    results = {"orbitals.molden", "density.cube", "orbitals.h5", "load_balance.h5", "report.html"}
    assert results <= {path.name for path in run.iterdir()}
    report = (run / "report.html").read_text()
    assert "Who worked when" in report and report.count("<img") == 4  # convergence, energies, an orbital, load balance
    assert list(figures(run)) == ["convergence", "energies", "balance", "homo"]
    start = ("--start", "m-run/orbitals.h5", "--no-report")
    done = craton("scf", "run", "m.toml", "--ranks", "2", *start, "--directory", "again")
    assert (done.returncode, done.stderr) == (0, "")
    assert len(json.loads((tmp_path / "again" / "record.json").read_text())["iterations"]) <= 3
    done = craton("scf", "run", "m.xyz", "--basis", "sto-3g", "--ranks", "2", *start, "--directory", "small")
    assert (done.returncode, done.stderr) == (0, "")
    assert "projected" in done.stdout
    (tmp_path / "s.toml").write_text((tmp_path / "m.toml").read_text() + "[run]\ncheckpoint_every_s = 0.0\n")
    text = (tmp_path / "s.toml").read_text().replace("energy = 1e-10", "energy = 1e-10\niterations = 2")
    (tmp_path / "s.toml").write_text(text)
    done = craton("scf", "run", "s.toml", "--ranks", "2", "--no-report")
    assert done.returncode == 3
    assert done.stderr.startswith("craton: not converged after 2 iterations") and done.stderr.count("\n") == 1
    done = craton("scf", "resume", "s-run", "--iterations", "30", "--ranks", "3", "--no-report")
    assert (done.returncode, done.stderr) == (0, "")
    resumed = json.loads((tmp_path / "s-run" / "record.json").read_text())
    assert resumed["energy_hartree"] == pytest.approx(found["energy_hartree"], abs=1e-8)
    assert [each["ranks"] for each in resumed["sessions"]] == [2, 3]
    done = craton("scf", "run", "m.toml", "--ranks", "2", "--charge", "1", "--method", "rhf", "--overwrite")
    assert done.returncode == 2
    assert done.stderr.startswith("craton: error: RHF: 9 electrons") and done.stderr.count("\n") == 1


# ------------------------------------------------------------------------------------------------------------ load balance


def test_who_worked_when():
    from craton.scf.pictures.load_balance import busy_intervals

    tasks = np.array([[0, 0, 1.0, 2.0, 5], [3, 1, 0.0, 4.0, 5], [1, 0, 2.05, 3.0, 5], [2, 0, 0.0, 0.5, 5]])
    assert busy_intervals(tasks, 0, 0.1) == [(0.0, 0.5), (1.0, 3.0)]
    assert busy_intervals(tasks, 0, 0.01) == [(0.0, 0.5), (1.0, 2.0), (2.05, 3.0)]
    assert busy_intervals(tasks, 1, 0.1) == [(0.0, 4.0)]
    assert busy_intervals(tasks, 2, 0.1) == []


def share_of(path, colour):
    """Of the pixels, what is of about this colour."""
    from matplotlib.colors import to_rgb
    from matplotlib.image import imread

    return np.mean(np.abs(imread(path)[..., :3] - to_rgb(colour)).max(axis=2) < 0.02)


def test_a_picture_of_the_load_balance(tmp_path):
    """Who waits longer makes more of the picture the colour of waiting."""
    from craton import UserError
    from craton.pages.figures import save_picture
    from craton.scf.engines.distributed import SPENT
    from craton.scf.pictures import load_balance

    none = dict.fromkeys(SPENT, 0.0)
    busy, idle = [], []
    for end in (2.0, 6.0, 10.0):
        timelines = [np.array([[0, 0, 0.0, 10.0, 1.0]]), np.array([[1, 0, 0.0, end, 1.0]])]
        spent = [none | {"build_s": 10.0, "compute_s": last, "idle_s": 10 - last} for last in (10.0, end)]
        figure = load_balance.load_balance_figure(timelines, spent, 1, "two ranks")
        save_picture(figure, tmp_path / "b.png")
        busy.append(share_of(tmp_path / "b.png", load_balance.WORKING))
        idle.append(share_of(tmp_path / "b.png", load_balance.WAITING))
    assert 0.01 < busy[0] < busy[1] < busy[2]
    assert idle[0] > idle[1] > idle[2] and idle[0] > 0.01
    save_picture(
        load_balance.load_balance_figure([np.zeros((0, 5))] * 3, [none] * 3, 2, "no tasks at all"), tmp_path / "b.png"
    )
    with pytest.raises(UserError, match="b.nonesuch: cannot be written"):
        save_picture(load_balance.load_balance_figure(timelines, spent, 1, "two ranks"), tmp_path / "b.nonesuch")
