"""What a calculation leaves: functions at points, molden and cube files, checkpoints and restarts, charges, pictures."""

import collections
import os
import subprocess
import sys

import h5py
import numpy as np
import pytest
from craton.errors import UserError
from helpers import environment_without_mpi
from scf_molecules import OPEN, WATER, benzene, molecule_of, needs_chemistry, of_pyscf, water

pytestmark = needs_chemistry

MPI = pytest.importorskip("mpi4py.MPI")


@pytest.fixture(scope="module")
def restricted():
    from craton.scf import RHF

    return RHF(water(), "6-31g*").run(conv_tol=1e-10)


@pytest.fixture(scope="module")
def unrestricted():
    from craton.scf import UHF

    return UHF(molecule_of(OPEN["CH2"][1], multiplicity=3), "def2-svp").run(conv_tol=1e-10)


# ------------------------------------------------------------------------------------------------------------ functions


@pytest.mark.parametrize("name", ["6-31g*", "cc-pvtz", "cc-pv5z"])  # to h functions, general contractions
def test_functions_at_points_are_pyscfs(name):
    from craton.scf import functions, placed_shells

    molecule = water()
    points = np.random.default_rng(1).uniform(-4, 4, (200, 3))
    wanted = of_pyscf(molecule, name).eval_gto("GTOval_sph", points)
    assert functions.values(molecule, placed_shells(molecule, name), points) == pytest.approx(wanted, abs=1e-11)


def test_charges_are_pyscfs(restricted, unrestricted):
    from pyscf import scf

    for found, kind in ((restricted, scf.hf.mulliken_pop), (unrestricted, scf.uhf.mulliken_pop)):
        theirs = of_pyscf(found.molecule, found.basis_name)
        _, wanted = kind(theirs, found.make_rdm1(), s=theirs.intor("int1e_ovlp"), verbose=0)
        assert found.mulliken_charges() == pytest.approx(wanted, abs=1e-9)
        assert found.mulliken_charges().sum() == pytest.approx(0, abs=1e-9)


def test_frontier_orbitals(restricted, unrestricted):
    assert restricted.frontier() == (restricted.mo_energy[4], restricted.mo_energy[5])
    energies = unrestricted.mo_energy
    assert unrestricted.frontier()[0] == max(energies[0][4], energies[1][2])
    assert restricted.orbital("homo-1")[1] == restricted.orbital("4")[1] == restricted.orbital(4)[1] == 4
    assert restricted.orbital("LUMO+2")[0].tolist() == restricted.mo_coeff[:, 7].tolist()
    assert unrestricted.orbital("homo", 1)[0].tolist() == unrestricted.mo_coeff[1][:, 2].tolist()
    for which, said in (("fomo", "orbital 'fomo'"), ("homo-5", "number 0; allowed: 1 to 18"), ("0", "allowed: 1 to")):
        with pytest.raises(UserError, match=said):
            restricted.orbital(which)


# ----------------------------------------------------------------------------------------------------------------- files


def test_molden_is_read_back_by_pyscf(restricted, unrestricted, tmp_path):
    from craton.scf import RHF, write_molden
    from pyscf.tools import molden

    with_g = RHF(molecule_of("H 0 0 0; H 0 0 0.74"), "cc-pv5z").run()
    for found in (restricted, with_g):
        write_molden(found, tmp_path / "m.molden")
        theirs, energies, coefficients, occupations, _, spins = molden.load(str(tmp_path / "m.molden"))
        assert theirs.atom_coords() == pytest.approx(found.molecule.positions_bohr, abs=1e-10)
        assert energies == pytest.approx(found.mo_energy, abs=1e-10)
        assert occupations == pytest.approx(found.mo_occ)
        assert coefficients == pytest.approx(found.mo_coeff, abs=1e-12)
        overlap = coefficients.T @ theirs.intor("int1e_ovlp") @ coefficients
        assert overlap == pytest.approx(np.eye(len(energies)), abs=1e-8)
    write_molden(unrestricted, tmp_path / "u.molden")
    _, energies, coefficients, *_ = molden.load(str(tmp_path / "u.molden"))
    assert np.asarray(coefficients) == pytest.approx(unrestricted.mo_coeff, abs=1e-12)
    assert np.asarray(energies) == pytest.approx(unrestricted.mo_energy, abs=1e-10)


def test_molden_has_no_h_functions(tmp_path):
    from craton.scf import RHF, write_molden

    calculation = RHF(water(), "cc-pv5z")
    with pytest.raises(UserError, match=r"w\.molden: .*momentum 5; allowed: up to 4"):
        write_molden(calculation, tmp_path / "w.molden")


def read_cube(path):
    """Of its own: counts, corner, values; and the number of the orbital."""
    lines = path.read_text().splitlines()
    first = lines[2].split()
    atoms, corner = int(first[0]), np.array(first[1:], float)
    counts = [int(line.split()[0]) for line in lines[3:6]]
    steps = np.array([line.split()[1:] for line in lines[3:6]], float)
    at = 6 + abs(atoms)
    orbital = None
    if atoms < 0:
        orbital, at = lines[at].split(), at + 1
    values = np.array(" ".join(lines[at:]).split(), float).reshape(counts)
    points = corner + np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), axis=-1) @ steps
    return points, values, orbital, steps


def test_cubes(restricted, unrestricted, tmp_path):
    from craton.scf import write_cube

    theirs = of_pyscf(restricted.molecule, "6-31g*")
    path = tmp_path / "w.cube"
    write_cube(restricted, path, "homo", spacing_bohr=0.5)
    points, values, orbital, _ = read_cube(path)
    wanted = theirs.eval_gto("GTOval_sph", points.reshape(-1, 3)) @ restricted.mo_coeff[:, 4]
    assert orbital == ["1", "5"]
    assert values.ravel() == pytest.approx(wanted, rel=1e-5, abs=1e-6)
    write_cube(unrestricted, path, "density", spacing_bohr=0.35)
    points, values, orbital, steps = read_cube(path)
    assert orbital is None
    there = of_pyscf(unrestricted.molecule, "def2-svp").eval_gto("GTOval_sph", points.reshape(-1, 3))
    wanted = np.einsum("pi,ij,pj->p", there, unrestricted.make_rdm1().sum(axis=0), there, optimize=True)
    assert values.ravel() == pytest.approx(wanted, rel=1e-5, abs=1e-6)
    write_cube(unrestricted, path, "spin", spacing_bohr=0.25, margin_bohr=6)
    _, values, _, steps = read_cube(path)
    assert values.sum() * np.prod(np.diag(steps)) == pytest.approx(2, abs=0.02)


def test_cubes_that_cannot_be(restricted, tmp_path):
    from craton.scf import write_cube

    with pytest.raises(UserError, match="spacing of 0.001 bohr; allowed: .*at most"):
        write_cube(restricted, tmp_path / "w.cube", "homo", spacing_bohr=0.001)
    with pytest.raises(UserError, match="density of spin of RHF is 0"):
        write_cube(restricted, tmp_path / "w.cube", "spin")
    with pytest.raises(UserError, match="no-such/w.cube: cannot be written"):
        write_cube(restricted, tmp_path / "no-such" / "w.cube", "homo", spacing_bohr=1.0)


def test_finer_fields_are_splines_in_three_dimensions():
    from craton.scf.pictures.orbital import _finer
    from scipy import ndimage

    field = np.random.default_rng(4).standard_normal((7, 6, 5))
    counts = np.array([31, 17, 9])
    assert _finer(field, counts) == pytest.approx(ndimage.zoom(field, counts / field.shape, order=3), abs=1e-5)


def test_a_picture_has_both_colours(restricted, tmp_path):
    from craton.scf import RHF, draw_orbital
    from matplotlib.image import imread

    pi = RHF(benzene(), "sto-3g").run()
    for found, which in ((pi, "homo"), (pi, "lumo"), (restricted, 5)):
        assert draw_orbital(found, tmp_path / "o.png", which).axes[0].get_title("left")
        red, _, blue, *_ = np.moveaxis(imread(tmp_path / "o.png"), 2, 0)
        shares = np.mean(red > blue + 0.25), np.mean(blue > red + 0.25)
        assert min(shares) > 0.01
        assert np.mean((red > 0.99) & (blue > 0.99)) > 0.3  # paper around it
    assert draw_orbital(pi, which="homo-1").axes[0].images  # a figure alone, as a notebook shows it
    with pytest.raises(UserError, match="o.nonesuch: cannot be written"):
        draw_orbital(pi, tmp_path / "o.nonesuch")


# ---------------------------------------------------------------------------------------------------------- checkpoints


def test_a_restart_goes_on_where_it_was(tmp_path):
    from craton.scf import RHF, UHF, Checkpoint

    path = tmp_path / "w.h5"
    for kind in (RHF, UHF):
        whole = kind(water(), "6-31g*").run(conv_tol=1e-10)
        cut = kind(water(), "6-31g*").run(conv_tol=1e-10, max_cycle=5, checkpoint=path)
        found = Checkpoint.read(path)
        assert not found.converged
        assert found.energy == cut.e_tot
        assert (found.method, found.basis_name, len(found.iterations)) == (kind.__name__, "6-31g*", 5)
        again = kind(water(), "6-31g*")
        again.conv_tol = 1e-10
        assert again.kernel(found) == pytest.approx(whole.e_tot, abs=1e-9)
        assert again.converged
        assert abs(again.iterations[0].energy - whole.e_tot) < abs(cut.e_tot - whole.e_tot)
        assert len(again.iterations) < len(whole.iterations)


def test_the_end_is_in_the_checkpoint(tmp_path):
    from craton.scf import RHF, Checkpoint

    path = tmp_path / "w.h5"
    done = RHF(water(), "sto-3g").run(checkpoint=path)
    found = Checkpoint.read(path)
    assert found.converged
    assert found.orbitals["mo_coeff"].tolist() == done.mo_coeff.tolist()
    assert found.molecule.positions_bohr.tolist() == done.molecule.positions_bohr.tolist()
    assert found.iterations[:, 1].tolist() == [each.energy for each in done.iterations]
    assert [file.name for file in tmp_path.iterdir()] == ["w.h5"]
    again = RHF(water(), "sto-3g")
    again.kernel(found)
    assert len(again.iterations) == 2


def test_another_basis_geometry_and_state_by_projection(tmp_path):
    from craton.scf import RHF, UHF, Checkpoint

    path = tmp_path / "w.h5"
    RHF(water(), "6-31g").run(checkpoint=path)
    found = Checkpoint.read(path)
    moved = molecule_of("O 0 0 0; H 0 0.79 0.59; H 0 -0.75 0.55")
    cation = molecule_of(OPEN["OH"][1], charge=-1)
    for kind, molecule, basis in ((RHF, water(), "cc-pvtz"), (RHF, moved, "6-31g"), (UHF, moved, "6-31g*")):
        plain = kind(molecule, basis).run(conv_tol=1e-10)
        calculation = kind(molecule, basis)
        calculation.conv_tol = 1e-10
        assert calculation.kernel(found) == pytest.approx(plain.e_tot, abs=1e-8)
        assert len(calculation.iterations) <= len(plain.iterations)
        assert abs(calculation.iterations[0].energy - plain.e_tot) < abs(plain.iterations[0].energy - plain.e_tot)
    charged = UHF(molecule_of("; ".join(WATER.splitlines()[2:]), charge=1), "6-31g")
    charged.kernel(found)
    assert charged.converged
    assert np.trace(charged.make_rdm1().sum(axis=0) @ charged.get_ovlp()) == pytest.approx(9, abs=1e-9)
    with pytest.raises(UserError, match="checkpoint: of H2O, but the molecule is HO; allowed: one of the same atoms"):
        RHF(cation, "6-31g").kernel(found)


def test_a_checkpoint_of_two_spins_starts_one_and_back(tmp_path):
    from craton.scf import RHF, UHF, Checkpoint

    for first, second in ((RHF, UHF), (UHF, RHF)):
        energy = first(water(), "sto-3g").run(checkpoint=tmp_path / "w.h5").e_tot
        calculation = second(water(), "sto-3g")
        assert calculation.kernel(Checkpoint.read(tmp_path / "w.h5")) == pytest.approx(energy, abs=1e-8)
        assert len(calculation.iterations) <= 3


def damaged_by(change):
    def damage(path):
        with h5py.File(path, "r+") as file:
            change(file)

    return damage


def no_number(file):
    file["densities"][0, 0, 0] = np.nan


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda path: path.unlink(), "no such file"),
        (lambda path: path.write_bytes(path.read_bytes()[:3000]), "not whole or not one"),
        (lambda path: path.write_text("energies"), "not whole or not one"),
        (damaged_by(lambda file: file.pop("densities")), "not whole or not one"),
        (damaged_by(lambda file: file.attrs.pop("identity")), "not whole or not one"),
        (
            damaged_by(lambda file: file.attrs.modify("identity", '{"app": "scf", "version": 99}')),
            "its version is 99, but",
        ),
        (damaged_by(no_number), "not finite"),
    ],
)
def test_damaged_checkpoints(tmp_path, damage, said):
    from craton.scf import RHF, Checkpoint

    path = tmp_path / "w.h5"
    RHF(water(), "sto-3g").run(checkpoint=path, max_cycle=1)
    damage(path)
    with pytest.raises(UserError, match=rf"w\.h5: .*{said}.*allowed: a checkpoint"):
        Checkpoint.read(path)


def test_a_full_disk_keeps_the_checkpoint_before(tmp_path, monkeypatch):
    from craton.runs import files as run_files
    from craton.scf import RHF

    path = tmp_path / "w.h5"
    RHF(water(), "sto-3g").run(checkpoint=path)
    before = path.read_bytes()
    usage = collections.namedtuple("usage", "total used free")
    monkeypatch.setattr(run_files.shutil, "disk_usage", lambda _: usage(10**6, 10**6 - 100, 100))
    with pytest.raises(UserError, match=r"w\.h5: needs \d+ bytes but 100 are free; allowed: a disk with room"):
        RHF(water(), "sto-3g").run(checkpoint=path)
    assert path.read_bytes() == before


def test_a_disk_that_fills_while_it_is_written(tmp_path):
    """Files may grow to a few hundred bytes here: as on a disk that had room when it was asked."""
    path = tmp_path / "w.h5"
    path.write_text("of the run before")
    program = (
        "import resource, signal\n"
        "from craton.scf import RHF, Molecule\n"
        "from craton import UserError\n"
        "import craton.runs.files\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        f"calculation = RHF(Molecule.from_xyz_text({WATER!r}), 'sto-3g')\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (500, 500))\n"
        "try:\n"
        f"    calculation.run(checkpoint={str(path)!r})\n"
        "except UserError as error:\n"
        "    print(error)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        timeout=60,
        env=environment_without_mpi(),
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "w.h5: cannot be written: File too large" in done.stdout
    assert path.read_text() == "of the run before"
    assert os.listdir(tmp_path) == ["w.h5"]


def test_a_checkpoint_in_no_folder(tmp_path):
    from craton.scf import RHF

    with pytest.raises(
        UserError,
        match="no-such/w.h5: cannot be written: No such file or directory; allowed: a file in a folder that exists",
    ):
        RHF(water(), "sto-3g").run(checkpoint=tmp_path / "no-such" / "w.h5")
