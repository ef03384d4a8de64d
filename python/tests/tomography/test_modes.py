"""Free oscillations from Python: periods against an independent code's table, listing, cache, excitation, kernels, errors."""

import csv
import os
from pathlib import Path

import numpy as np
import pytest
from craton import _craton
from craton.commands.main import app
from craton.tomography.theory.mode_table import diagram, rows_of
from craton.tomography.theory.modes import spheroidal_catalogue, toroidal_catalogue
from typer.testing import CliRunner

SHARED = Path(os.environ.get("CRATON_SHARED", Path(__file__).resolve().parents[3].parent / "shared"))
TABLE = SHARED / "facts" / "prem_isotropic_modes.csv"


@pytest.fixture(scope="module")
def earth():
    return _craton.EarthModel.prem_isotropic_ocean()


def by_name(modes):
    return dict(zip(zip(modes.n.tolist(), modes.l.tolist(), strict=True), modes.period_s, strict=True))


@pytest.mark.parametrize(
    ("column", "dispersion"), [("period_elastic_1s_model_s", False), ("period_dispersion_corrected_s", True)]
)
@pytest.mark.parametrize(
    ("letter", "kind", "bar"), [("S", _craton.SpheroidalCatalogue, 1e-6), ("T", _craton.ModeCatalogue, 1e-4)]
)
def test_periods_against_an_independent_code(earth, letter, kind, bar, column, dispersion, record_property):
    """PREM with its ocean; the toroidal modes do not feel it."""
    if not TABLE.is_file():
        pytest.skip(f"the reference table is not at {TABLE} (set CRATON_SHARED)")
    with TABLE.open() as stream:
        rows = [row for row in csv.DictReader(stream) if row["type"] == letter]
    own = by_name(kind.solve(earth, 75.0, dispersion=dispersion))
    errors = [abs(own[int(row["n"]), int(row["l"])] / float(row[column]) - 1) for row in rows]
    print(f"{letter}: {len(errors)} periods, largest relative error {max(errors):.2e}")
    record_property("largest_relative_error", float(max(errors)))
    assert len(errors) > 30
    assert max(errors) < bar


@pytest.fixture(scope="module")
def modes():
    return _craton.SpheroidalCatalogue.solve(_craton.EarthModel.prem(), 200.0)


def test_anisotropic_prem_has_the_published_frequencies(modes):
    """PREM's own frequencies in mHz, which papers on single modes quote beside the observed ones; to 1e-4 mHz."""
    own = by_name(modes)
    for name, frequency in {(0, 0): 0.8143, (0, 2): 0.3093, (0, 3): 0.4686, (2, 1): 0.4040, (1, 2): 0.6799}.items():
        assert 1e3 / own[name] == pytest.approx(frequency, abs=1e-4)


def test_catalogue_from_python(modes):
    assert len(modes) == modes.n.size == modes.l.size == modes.q.size == modes.group_velocity_km_s.size
    assert modes.n.dtype == np.int64
    assert np.all(modes.group_velocity_km_s[modes.l == 0] == 0)
    radii = np.array([0.0, 1000e3, 3480e3, 6000e3, 6371e3])
    values = modes.eigenfunction(3, radii)
    assert values.shape == (5, 6)
    long = int(np.argmax(modes.period_s))  # 0S2 moves the core-mantle boundary
    below = modes.eigenfunction(long, np.array([3480e3]), below=True)[0]
    above = modes.eigenfunction(long, np.array([3480e3]))[0]
    assert below[0] == pytest.approx(above[0], rel=1e-12, abs=0)
    assert abs(below[2] - above[2]) > 0.1 * abs(above[2])
    kernel = modes.pair_kernel(30, 31, radii)
    assert kernel.shape == (5, 5)
    np.testing.assert_allclose(modes.pair_kernel(31, 30, radii), kernel, rtol=1e-9)  # but for rounding of sums
    scalars = modes.scalars(100e3)
    surface = modes.eigenfunction(30, np.array([6368e3]), below=True)[0]
    assert scalars["vertical"][30] == pytest.approx(surface[0])
    source = modes.eigenfunction(30, np.array([6271e3]))[0]
    assert scalars["strain_rr"][30] == pytest.approx(source[1])
    assert np.any(modes.scalars(100e3, seismometer=True)["vertical"] != scalars["vertical"])


def test_arrays_round_trip(modes):
    arrays = {name: np.array(values) for name, values in modes.arrays().items()}
    again = _craton.SpheroidalCatalogue.from_arrays(_craton.EarthModel.prem(), arrays)
    assert np.array_equal(again.eigenfunction(12, np.array([6.2e6])), modes.eigenfunction(12, np.array([6.2e6])))
    for name in arrays:
        with pytest.raises(_craton.UserError, match=name):
            _craton.SpheroidalCatalogue.from_arrays(
                _craton.EarthModel.prem(), {k: v for k, v in arrays.items() if k != name}
            )
    with pytest.raises(_craton.UserError, match="contradict"):
        _craton.SpheroidalCatalogue.from_arrays(_craton.EarthModel.prem(), {**arrays, "q": arrays["q"][1:]})
    with pytest.raises(_craton.UserError, match="prem_isotropic"):
        _craton.SpheroidalCatalogue.from_arrays(_craton.EarthModel.prem_isotropic(), arrays)


def test_a_diagonal_kernel_integrates_to_the_elastic_energy():
    """Without gravity w^2 is the strain energy."""
    earth = _craton.EarthModel.prem()
    free = _craton.SpheroidalCatalogue.solve(earth, 400.0, dispersion=False, gravity="none")
    points, weights = np.polynomial.legendre.leggauss(6)
    ends = np.concatenate([[0.0], earth.discontinuities_m, [earth.surface_radius_m]])
    ends = np.unique(np.concatenate([np.linspace(a, b, 9) for a, b in zip(ends[:-1], ends[1:], strict=True)]))
    half = np.diff(ends)[:, None] / 2
    radii = (ends[:-1, None] + half * (1 + points)).ravel()
    moduli = np.array([earth.love_Pa(r) for r in radii])
    for mode in (1, 8, 20):
        energy = (half * weights).ravel() @ np.sum(free.pair_kernel(mode, mode, radii) * moduli, axis=1)
        assert energy == pytest.approx((2 * np.pi / free.period_s[mode]) ** 2, rel=1e-4)


def test_cache(earth, tmp_path):
    notes = []
    first = spheroidal_catalogue(earth, 900.0, tmp_path, notes.append)
    (file,) = tmp_path.glob("spheroidal-*.npz")
    assert np.array_equal(spheroidal_catalogue(earth, 900.0, tmp_path, notes.append).period_s, first.period_s)
    assert not notes
    file.write_bytes(file.read_bytes()[:1000])
    assert np.array_equal(spheroidal_catalogue(earth, 900.0, tmp_path, notes.append).period_s, first.period_s)
    assert "damaged" in notes.pop()
    assert len(toroidal_catalogue(earth, 900.0, tmp_path, notes.append)) == 5
    assert len(list(tmp_path.glob("toroidal-*.npz"))) == 1
    assert len(spheroidal_catalogue(earth, 900.0, tmp_path, notes.append, dispersion=False)) > 0
    assert len(list(tmp_path.glob("*.npz"))) == 3


def test_rows_and_diagram(modes):
    earth = _craton.EarthModel.prem()
    rows = rows_of(modes, earth)
    assert rows[0].name == "0S0"
    assert np.isnan(rows[0].phase_velocity_km_s)
    row = next(row for row in rows if row.name == "0S20")
    assert row.phase_velocity_km_s == pytest.approx(2 * np.pi * 6368 / (row.period_s * 20.5))
    figure = diagram(rows + rows_of(_craton.ModeCatalogue.solve(earth, 200.0), earth), "title")
    assert [axes.get_title(loc="left") for axes in figure.axes if axes.get_title(loc="left")] == [
        "spheroidal",
        "toroidal",
    ]


def test_command(tmp_path):
    def run(*arguments):
        return CliRunner().invoke(app, ["tomography", "modes", "--cache", str(tmp_path), *arguments])

    listed = run("--shortest-period", "1000", "--model", "prem_isotropic_ocean")
    assert listed.exit_code == 0, listed.output
    assert "0S2" in listed.output
    assert "3233.47" in listed.output
    assert "0T2" in listed.output
    file, picture = tmp_path / "modes.csv", tmp_path / "modes.png"
    written = run("--shortest-period", "600", "--kind", "toroidal", "--csv", str(file), "--picture", str(picture))
    assert written.exit_code == 0, written.output
    with file.open() as stream:
        rows = list(csv.DictReader(stream))
    assert {row["type"] for row in rows} == {"T"}
    assert all(float(row["period_s"]) > 600 for row in rows)
    assert picture.stat().st_size > 1000
    elastic = run("--shortest-period", "2000", "--kind", "spheroidal", "--elastic", "--model", "prem_isotropic_ocean")
    assert "3217.008" in elastic.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "iasp91"], "iasp91.*allowed: prem_isotropic"),
        (["--shortest-period", "5"], "5 s is out of range; allowed: 10 to 2000 s"),
        (["--shortest-period", "1000", "--csv", "/nowhere/at/all.csv"], "/nowhere/at/all.csv: cannot be written"),
        (["--shortest-period", "1000", "--picture", "/nowhere/at/all.png"], "/nowhere/at/all.png: cannot be written"),
    ],
)
def test_errors_of_the_command(arguments, message, tmp_path):
    with pytest.raises(_craton.UserError, match=message):
        CliRunner().invoke(app, ["tomography", "modes", "--cache", str(tmp_path), *arguments], catch_exceptions=False)


def test_synthetics_errors(modes):
    toroidal = _craton.ModeCatalogue.solve(_craton.EarthModel.prem(), 200.0)
    synthetics = _craton.ModeSynthetics(modes, toroidal)
    one, moment = np.array([10.0]), np.ones(6)
    assert synthetics.seismograms(0.0, 0.0, 10e3, moment, one, one, 0.0, 10.0, 7).shape == (1, 3, 7)
    with pytest.raises(_craton.UserError, match="5 components"):
        synthetics.seismograms(0.0, 0.0, 10e3, moment[1:], one, one, 0.0, 10.0, 7)
    with pytest.raises(_craton.UserError, match="-1 samples"):
        synthetics.seismograms(0.0, 0.0, 10e3, moment, one, one, 0.0, 10.0, -1)
    with pytest.raises(_craton.UserError, match="depth -1 m"):
        synthetics.seismograms(0.0, 0.0, -1.0, moment, one, one, 0.0, 10.0, 7)
    with pytest.raises(_craton.UserError, match="200 s or more"):
        _craton.ModeSynthetics(modes, toroidal, (800.0, 500.0, 180.0, 150.0))
    other = _craton.ModeCatalogue.solve(_craton.EarthModel.prem_isotropic(), 500.0)
    with pytest.raises(_craton.UserError, match="modes of one Earth"):
        _craton.ModeSynthetics(modes, other)
    with pytest.raises(_craton.UserError, match="gravity 'half'.*full, cowling, none"):
        _craton.SpheroidalCatalogue.solve(_craton.EarthModel.prem(), 500.0, gravity="half")
