"""Molecules and calculations from and to PySCF, QCSchema and formatted checkpoint files."""

import importlib.util
import json
from dataclasses import replace

import numpy as np
import pytest
from craton.errors import UserError
from scf_molecules import OPEN, SMALL, molecule_of, needs_chemistry, of_pyscf, water

pytestmark = needs_chemistry

OH = OPEN["OH"][1]


@pytest.mark.parametrize("basis", ["sto-3g", "cc-pvtz", "def2-svp"])
def test_a_molecule_of_pyscf_has_the_same_energy(basis):
    from craton.scf import RHF
    from craton.scf.interchange.pyscf import from_mole
    from pyscf import gto, scf

    mole = gto.M(atom=SMALL["H2CO"], basis=basis, verbose=0)  # of pyscf's own basis files
    molecule, shells = from_mole(mole)
    theirs = scf.RHF(mole)
    theirs.conv_tol = 1e-11
    found = RHF(molecule, shells).run(conv_tol=1e-11)
    assert found.e_tot == pytest.approx(theirs.kernel(), abs=1e-8)
    assert found.basis.size == mole.nao
    assert found.kernel(theirs.make_rdm1()) == pytest.approx(theirs.e_tot, abs=1e-8)
    assert len(found.iterations) <= 3  # functions are in the same order: its density is ours


@pytest.mark.parametrize(("kind", "atoms", "multiplicity"), [("RHF", SMALL["H2O"], 1), ("UHF", OH, 2), ("ROHF", OH, 2)])
def test_orbitals_go_to_pyscf_and_back(kind, atoms, multiplicity):
    from craton import scf
    from craton.scf.interchange.pyscf import from_mean_field, to_mean_field

    calculation = getattr(scf, kind)(molecule_of(atoms, multiplicity=multiplicity), "cc-pvdz").run(conv_tol=1e-10)
    theirs = to_mean_field(calculation)
    assert theirs.energy_tot() == pytest.approx(calculation.e_tot, abs=1e-8)  # by its own integrals, of our orbitals
    assert np.abs(theirs.get_grad(theirs.mo_coeff, theirs.mo_occ)).max() < 1e-4
    if kind == "RHF":
        correlated = theirs.MP2().run()
        assert -0.5 < correlated.e_corr < -0.1
    back = from_mean_field(theirs)
    assert back.method == kind
    assert back.kernel(np.array(theirs.make_rdm1())) == pytest.approx(calculation.e_tot, abs=1e-8)
    assert len(back.iterations) <= 3


def test_what_pyscf_has_and_craton_has_not():
    from craton.scf.interchange.pyscf import from_mean_field, from_mole
    from pyscf import dft, gto

    with pytest.raises(UserError, match="effective core potentials; allowed: all-electron"):
        from_mole(gto.M(atom="I 0 0 0; H 0 0 1.6", basis="lanl2dz", ecp={"I": "lanl2dz"}, verbose=0))
    with pytest.raises(UserError, match="Cartesian functions; allowed: with cartesian = True"):
        from_mole(gto.M(atom=SMALL["H2O"], basis="6-31g*", cart=True, verbose=0))
    with pytest.raises(UserError, match="without a charge; allowed: nuclei"):
        from_mole(gto.M(atom="H 0 0 0; H 0 0 0.7; ghost-H 0 0 2", basis="sto-3g", verbose=0))
    with pytest.raises(UserError, match="atoms of H have different shells"):
        from_mole(gto.M(atom="H1 0 0 0; H2 0 0 0.7", basis={"H1": "sto-3g", "H2": "6-31g"}, verbose=0))
    with pytest.raises(UserError, match="RKS; allowed: scf.RHF, UHF or ROHF"):
        from_mean_field(dft.RKS(gto.M(atom=SMALL["H2"], basis="sto-3g", verbose=0)))


def schema(driver="energy", method="HF", basis="6-31g*", keywords=None, **molecule):
    from craton.scf import Molecule

    of: Molecule = water()
    return {
        "schema_name": "qcschema_input",
        "schema_version": 1,
        "molecule": {"symbols": list(of.symbols), "geometry": of.positions_bohr.ravel().tolist()} | molecule,
        "driver": driver,
        "model": {"method": method, "basis": basis},
        "keywords": keywords or {},
    }


def test_qcschema_in_and_out(tmp_path):
    from craton.scf import RHF
    from craton.scf.qcschema import run_qcschema, run_qcschema_file

    alone = RHF(water(), "6-31g*").run(conv_tol=1e-11, conv_tol_grad=1e-6)
    energy = run_qcschema(schema())
    assert energy["success"]
    assert energy["return_result"] == pytest.approx(alone.e_tot, abs=1e-8)
    gradient = run_qcschema(schema("gradient"))
    assert np.reshape(gradient["return_result"], (3, 3)) == pytest.approx(alone.gradient(), abs=1e-6)
    assert gradient["properties"]["scf_total_energy"] == pytest.approx(alone.e_tot, abs=1e-8)
    assert gradient["properties"]["calcinfo_nbasis"] == 18
    hessian = np.reshape(run_qcschema(schema("hessian", basis="sto-3g"))["return_result"], (9, 9))
    assert np.array_equal(hessian, hessian.T)
    assert np.abs(hessian.sum(axis=0)).max() < 0.2
    cation = run_qcschema(schema(molecular_charge=1, molecular_multiplicity=2))
    assert cation["properties"]["calcinfo_nalpha"] == cation["properties"]["calcinfo_nbeta"] + 1
    failed = run_qcschema(schema(keywords={"max_cycle": 1}))
    assert not failed["success"]
    assert failed["error"]["error_type"] == "convergence_error"

    (tmp_path / "in.json").write_text(json.dumps(schema("properties")))
    found = run_qcschema_file(tmp_path / "in.json", tmp_path / "out.json")
    assert json.loads((tmp_path / "out.json").read_text()) == found
    if importlib.util.find_spec("qcelemental"):
        from qcelemental.models import AtomicResult

        AtomicResult(**energy)
        AtomicResult(**gradient)


def test_qcschema_with_a_functional():
    from craton.scf import RKS, UKS
    from craton.scf.qcschema import run_qcschema

    coarse = {"grid": "coarse"}
    energy = run_qcschema(schema(method="PBE", basis="sto-3g", keywords=coarse))
    assert energy["success"]
    alone = RKS(water(), "sto-3g").run(xc="pbe", **coarse)
    assert energy["return_result"] == pytest.approx(alone.e_tot, abs=1e-8)
    triplet = run_qcschema(schema("properties", "lda", "sto-3g", coarse, molecular_multiplicity=3))
    alone = UKS(replace(water(), multiplicity=3), "sto-3g").run(xc="lda", **coarse)
    assert triplet["properties"]["scf_total_energy"] == pytest.approx(alone.e_tot, abs=1e-7)
    named = run_qcschema(schema(method="RKS", basis="sto-3g", keywords={"xc": "gga_x_pbe + gga_c_pbe"} | coarse))
    assert named["return_result"] == pytest.approx(energy["return_result"], abs=1e-8)
    with pytest.raises(UserError, match="keyword xc beside the method .b3lyp.; allowed: one of them"):
        run_qcschema(schema(method="b3lyp", basis="sto-3g", keywords={"xc": "pbe"}))
    with pytest.raises(UserError, match="method rks without the keyword xc; allowed: xc, or a functional"):
        run_qcschema(schema(method="RKS", basis="sto-3g"))
    with pytest.raises(UserError, match="driver gradient of functional .b3lyp.; allowed: energy, properties"):
        run_qcschema(schema("gradient", "b3lyp"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"driver": "optimise"}, "driver 'optimise'; allowed: energy, gradient, hessian, properties"),
        ({"driver": 3}, "driver is '3'; allowed: a QCSchema input"),
        ({"molecule": []}, "molecule is"),
        ({"molecule": {"symbols": ["H", "H"], "geometry": [0, 0, 0]}}, "2 symbols, 3 coordinates"),
        ({"molecule": {"symbols": ["H"], "geometry": [0, 0, "x"]}}, "are no numbers"),
        ({"molecule": {"symbols": ["Xx"], "geometry": [0, 0, 0]}}, "element 'Xx'; allowed: H to Og"),
        ({"molecule": {"symbols": ["He"], "geometry": [0, 0, 0], "molecular_charge": 0.5}}, "charge 0.5"),
        ({"model": {"method": "mp2", "basis": "sto-3g"}}, "method 'mp2'; allowed: HF, RHF, UHF, ROHF, RKS, UKS, LDA"),
        ({"model": {"method": "hf"}}, "basis is"),
        ({"keywords": {"cartesian": 1}}, "keyword cartesian is '1'; allowed: true or false"),
        ({"keywords": {"callback": 1}}, "keyword 'callback'; allowed: cartesian, conv_tol"),
    ],
)
def test_what_qcschema_must_have(change, said):
    from craton.scf.qcschema import run_qcschema

    with pytest.raises(UserError) as error:
        run_qcschema(schema() | change)
    assert said in str(error.value).replace('"', "'")


@pytest.mark.parametrize("text", ["", "{", "[1, 2]", "[" * 100000])
def test_files_that_are_no_qcschema(text, tmp_path):
    from craton.scf.qcschema import run_qcschema_file

    (tmp_path / "in.json").write_text(text)
    with pytest.raises(UserError, match="QCSchema"):
        run_qcschema_file(tmp_path / "in.json", tmp_path / "out.json")
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    ("kind", "atoms", "multiplicity", "basis"), [("RHF", SMALL["H2O"], 1, "cc-pvtz"), ("UHF", OH, 2, "6-31g*")]
)
def test_formatted_checkpoint_files(kind, atoms, multiplicity, basis, tmp_path):
    from craton import scf
    from craton.scf.interchange.fchk import read_fchk, write_fchk

    molecule = molecule_of(atoms, multiplicity=multiplicity)
    calculation = getattr(scf, kind)(molecule, basis).run(conv_tol=1e-10)
    write_fchk(calculation, tmp_path / "a.fchk")
    back = read_fchk(tmp_path / "a.fchk")
    assert back.molecule.symbols == molecule.symbols
    assert back.molecule.multiplicity == multiplicity
    assert back.energy == pytest.approx(calculation.e_tot, abs=1e-10)
    again = getattr(scf, kind)(molecule, basis)
    assert again.kernel(back) == pytest.approx(calculation.e_tot, abs=1e-8)
    assert len(again.iterations) <= 4
    smaller = getattr(scf, kind)(molecule, "sto-3g")
    smaller.kernel(back)
    assert smaller.converged


def test_a_formatted_checkpoint_has_the_functions_of_the_format(tmp_path):
    """Orbitals in its order, against functions at points by pyscf: what other programs would draw."""
    from craton.scf import RHF
    from craton.scf.functions import orbital_values
    from craton.scf.interchange.fchk import _fields, write_fchk

    calculation = RHF(molecule_of(SMALL["HCN"]), "cc-pvdz").run()
    write_fchk(calculation, tmp_path / "a.fchk")
    fields = _fields((tmp_path / "a.fchk").read_text().splitlines())
    size = calculation.basis.size
    coefficients = fields["Alpha MO coefficients"].reshape(size, size)[6]
    points = np.random.default_rng(1).normal(size=(20, 3))
    mole = of_pyscf(calculation.molecule, "cc-pvdz")
    theirs, place = mole.eval_gto("GTOval_sph", points), 0
    order = []
    for shell in range(mole.nbas):  # m = 0, 1, -1, 2, -2
        momentum = mole.bas_angular(shell)
        for _ in range(mole.bas_nctr(shell)):
            inside = {0: [0], 1: [0, 1, 2], 2: [2, 3, 1, 4, 0]}[momentum]
            order += [place + k for k in inside]
            place += 2 * momentum + 1
    drawn = theirs[:, order] @ coefficients
    assert drawn == pytest.approx(
        orbital_values(calculation.molecule, calculation.shells, calculation.mo_coeff[:, 6], points), abs=1e-6
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text[: len(text) // 2], "in place of|has no room|has no"),
        (lambda text: text.replace("Shell types  ", "Shell kinds  "), "it has no 'Shell types'"),
        (lambda text: "", "it has no"),
        (lambda text: text.replace("N=         169", "N=999999999999"), "no room"),
        (
            lambda text: text.replace(
                "Number of basis functions                  I               13",
                "Number of basis functions                  I               14",
            ),
            "14 functions, but shells of 13",
        ),
    ],
)
def test_damaged_formatted_checkpoints(change, said, tmp_path):
    from craton.scf import RHF
    from craton.scf.interchange.fchk import read_fchk, write_fchk

    calculation = RHF(water(), "6-31g").run()
    write_fchk(calculation, tmp_path / "a.fchk")
    text = (tmp_path / "a.fchk").read_text()
    changed = change(text)
    assert changed != text
    (tmp_path / "a.fchk").write_text(changed)
    with pytest.raises(UserError, match=said):
        read_fchk(tmp_path / "a.fchk")
    with pytest.raises(UserError, match=r"nothing.fchk: .*; allowed: a formatted checkpoint file"):
        read_fchk(tmp_path / "nothing.fchk")
