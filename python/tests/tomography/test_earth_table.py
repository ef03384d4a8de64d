"""A reference Earth from a table: read as it is, refused where it is wrong, and the Earth of a whole run."""

from __future__ import annotations

import dataclasses
import json
import shutil
from pathlib import Path

import command_line
import numpy as np
import pytest
from craton import UserError
from craton._craton import EarthModel, ModeCatalogue
from craton.tomography.folder import RunFolder
from craton.tomography.model.earth_table import earth_by_name_or_file, read_earth
from interrupted_inversion import run_one_iteration

MPI = pytest.importorskip("mpi4py.MPI")

from craton.tomography import start


@pytest.fixture
def tables():
    """TauP's models, as ObsPy brings them."""
    obspy = pytest.importorskip("obspy")
    return Path(obspy.__file__).parent / "taup" / "data"


def deck_of(earth: EarthModel, per_layer: int = 24) -> str:
    """An Earth as mineos reads it."""
    edges = [0.0, *np.asarray(earth.discontinuities_m), earth.surface_radius_m]
    rows = []
    for bottom, top in zip(edges[:-1], edges[1:], strict=True):
        for radius in np.linspace(bottom, top, per_layer).tolist():
            at_top = bool(radius > 0.5 * (bottom + top))
            density, vp, vs, q_mu = earth.evaluate(radius, at_top)
            q = q_mu if np.isfinite(q_mu) and vs > 0 else 0.0
            rows.append(f"{radius:.9g} {density:.10g} {vp:.10g} {vs:.10g} 57823 {q:.10g} {vp:.10g} {vs:.10g} 1")
    return "\n".join(["PREM", "0 1. 1", f"{len(rows)} 1 2", *rows]) + "\n"


@pytest.mark.long
def test_a_deck_of_prem_has_its_modes(tmp_path):
    """Frequencies, Q and group velocities beside those of the polynomials."""
    prem = EarthModel.by_name("prem_isotropic")
    (tmp_path / "prem.deck").write_text(deck_of(prem))
    table = read_earth(tmp_path / "prem.deck")
    assert table.name.startswith("prem.deck:") and table.cmb_radius_m == prem.cmb_radius_m
    ours, theirs = (ModeCatalogue.solve(earth, 200.0).arrays() for earth in (table, prem))
    assert set(ours) == set(theirs) and len(ours["omega_rad_s"]) == len(theirs["omega_rad_s"])
    np.testing.assert_allclose(ours["omega_rad_s"], theirs["omega_rad_s"], rtol=2e-5)
    np.testing.assert_allclose(ours["q"], theirs["q"], rtol=1e-3)
    np.testing.assert_allclose(ours["group_velocity_m_s"], theirs["group_velocity_m_s"], rtol=1e-3)


def test_taup_s_prem_is_ours(tables):
    found, prem = read_earth(tables / "prem.nd"), EarthModel.by_name("prem_isotropic")
    for radius_m in (1e6, 2.5e6, 3.6e6, 4.7e6, 5.65e6, 5.9e6, 6.1e6, 6.34e6):
        np.testing.assert_allclose(found.evaluate(radius_m)[:3], prem.evaluate(radius_m)[:3], rtol=3e-3)
    assert found.evaluate(4e6)[3] == pytest.approx(312.0, rel=0.01)


def test_tables_without_q_take_prem_s(tables):
    found = read_earth(tables / "ak135.tvel")
    assert found.cmb_radius_m == pytest.approx(6371e3 - 2891.5e3) and found.surface_radius_m == 6371e3
    assert found.evaluate(6371e3 - 200e3)[2] == pytest.approx(4509.0, rel=2e-3)
    assert found.evaluate(4e6)[3] == pytest.approx(312.0) and found.evaluate(6371e3 - 150e3)[3] == pytest.approx(80.0)
    assert found.evaluate(2e6)[2] == 0.0
    for name in ("iasp91.tvel", "1066a.nd", "ak135f_no_mud.nd", "herrin.nd", "jb.nd"):
        assert read_earth(tables / name).name.startswith(f"{name}:")


ND = """0 6 3.5 2.8 1000 400
100 8 4.5 3.3 1000 200
mantle
2891 13 7 5.5 1000 300
outer-core
2891 8 0 9.9 0 0
6371 11 0 13 0 0
"""


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (
            "a.nd",
            ND.replace("13 7 5.5", "13 seven 5.5"),
            r"a.nd: line 4: '2891 13 seven 5.5 1000 300'; allowed: 4 or 6 numbers",
        ),
        ("a.nd", ND.replace("8 4.5 3.3 1000 200", "8 4.5"), r"line 2: '100 8 4.5'; allowed: 4 or 6 numbers"),
        ("a.nd", ND.replace("100 8", "nan 8"), r"line 2: 'nan 8"),
        ("a.nd", ND.replace("100 8", "3000 8"), "allowed: rows from the centre up"),
        ("a.nd", "\n".join(ND.splitlines()[:2]), "solid above a fluid"),
        ("a.nd", ND.replace("13 7 5.5", "13 7 -5.5"), r"density = -5500 kg/m\^3; allowed: 0 to"),
        (
            "a.nd",
            ND.replace("13 7 5.5", "1e308 7 5.5"),
            r"a.nd: line \d+: Vp = inf m/s; allowed: 0 to 100000. Is it in another unit",
        ),
        ("a.nd", ND.replace("13 7 5.5", "13000 7000 5.5"), r"a.nd: line 4: Vp = 1.3e\+07 m/s; allowed: 0 to 100000"),
        ("a.nd", ND.replace("13 7 5.5", "13 1e308 5.5"), r"a.nd: line 4: Vs = inf m/s; allowed: 0 to 100000"),
        ("a.nd", ND.replace("13 7 5.5", "13 -7 5.5"), r"a.nd: line \d+: Vs = -7000 m/s; allowed: 0 to 100000"),
        (
            "a.nd",
            ND.replace("1000 200", "1000 1e-320"),
            r"a.nd: line \d+: Q of shear = .*e-321; allowed: 0, or 1 and more",
        ),
        (
            "a.nd",
            ND.replace("13 7 5.5", "13 7 5500"),
            r"a.nd: line \d+: density = 5.5e\+06 kg/m\^3; allowed: 0 to 100000",
        ),
        ("a.nd", "0 6 3.5 2.8\n", "1 rows; allowed: at least two"),
        ("a.tvel", "title\n", "0 rows"),
        ("a.deck", "title\n0 1 1\n", "2 lines; allowed: a table of the Earth"),
        (
            "a.deck",
            deck_of(EarthModel.prem_iso_light(), 2).replace("0 1. 1", "0 200. 1"),
            "period of 200 s; allowed: 1 s",
        ),
        ("a.deck", deck_of(EarthModel.prem_iso_light(), 2).replace("0 1. 1", "0 1. 0"), "ifdeck = 0; allowed: 1"),
        ("a.deck", deck_of(EarthModel.prem_iso_light(), 2) + "1 2 3\n", "rows are told"),
    ],
)
@pytest.mark.filterwarnings("error")  # another line on the terminal
def test_tables_that_are_wrong(tmp_path, name, text, words):
    (tmp_path / name).write_text(text)
    with pytest.raises(UserError, match=words):
        read_earth(tmp_path / name)


def test_files_that_are_no_table(tmp_path):
    with pytest.raises(UserError, match=r"gone.nd: No such file"):
        read_earth(tmp_path / "gone.nd")
    (tmp_path / "binary.nd").write_bytes(bytes(range(128, 256)))
    with pytest.raises(UserError, match="not text"):
        read_earth(tmp_path / "binary.nd")
    with pytest.raises(UserError, match=r"'preem' is unknown; allowed: prem_isotropic, .*, or the file of a table"):
        earth_by_name_or_file("preem")


def test_a_run_in_another_earth(small_config, tmp_path):
    """Data, modes, maps and Vs are of the table; a table that changes is not gone on with."""
    table = tmp_path / "own.nd"
    table.write_text(ND)
    config = small_config.replaced("run", directory=str(tmp_path / "run")).replaced("earth", file=str(table))
    config = config.replaced("paths", maximum=40).replaced("inversion", max_iterations=2)
    config = dataclasses.replace(config, path=tmp_path / "case.toml")
    run_one_iteration(config)
    table.write_text(ND.replace("8 4.5 3.3", "8 4.6 3.3"))
    with pytest.raises(UserError, match=r"own.nd: the reference Earth is own.nd:.*, and the run began with own.nd:"):
        start.resume(tmp_path / "run", None, MPI.COMM_SELF)
    table.write_text(ND)
    record = start.resume(tmp_path / "run", None, MPI.COMM_SELF, report=False)
    assert record.finished and record.earth == read_earth(table).name
    assert record.iterations[-1].variance_reduction > 0.9
    done = command_line.craton(
        "tomography", "profile", str(tmp_path / "run"), "--at", "0,0", "--json", "-o", str(tmp_path / "profile.png")
    )
    assert done.returncode == 0, done.stderr
    assert "vs_km_s" in done.stdout or json.loads(done.stdout)
    shutil.rmtree(RunFolder(tmp_path / "run").path)


def test_modes_of_a_table(tmp_path):
    (tmp_path / "own.nd").write_text(ND)
    done = command_line.craton(
        "tomography",
        "modes",
        "--model",
        str(tmp_path / "own.nd"),
        "--shortest-period",
        "500",
        "--cache",
        str(tmp_path),
        "--json",
    )
    assert done.returncode == 0, done.stderr
    assert len(json.loads(done.stdout)["modes"]) > 10
