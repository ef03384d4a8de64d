"""Starting models from files: spherical harmonics, NetCDF, an earlier run; what splines lose of them; what is refused."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.io
import scipy.special
from command_line import craton
from craton import UserError
from craton._craton import EarthModel, ModelBasis
from craton.seismology.geometry.latitudes import geographic_deg
from craton.tomography.folder import RunFolder
from craton.tomography.model.export import export
from craton.tomography.model.fields import Fields, read_fields
from craton.tomography.model.harmonics import (
    KNOTS,
    Harmonics,
    expanded,
    harmonics_on_sphere,
    knot_radii_m,
    radial_splines,
    read_harmonics,
    surface_harmonics,
    write_harmonics,
)
from craton.tomography.model.harmonics_export import export_harmonics, harmonics_of
from craton.tomography.model.netcdf_model import read_netcdf
from craton.tomography.model.sphere import even_points
from craton.tomography.model.starting import read_start
from craton.tomography.model.target import make_target

MPI = pytest.importorskip("mpi4py.MPI")

from craton.tomography import start
from craton.tomography.stored.solve import solve_again

EARTH = EarthModel.by_name("prem_isotropic")


@pytest.fixture(scope="module")
def basis():
    return ModelBasis(3, np.linspace(3480e3, 6368e3, 6))


@pytest.fixture(scope="module")
def model(basis, small_config):
    return make_target(basis, small_config.target)


@pytest.fixture
def fields(basis, model):
    return Fields({"dlnVs": basis}, {"dlnVs": model}, "made for a test", EARTH, RECORD)


class RECORD:
    """What an exported file says of the run."""

    data_kind, paths, events, stations, lateral_knots, radial_knots = "synthetic", 1, 1, 1, 162, 6


# --------------------------------------------------------------------------------------------------- spherical harmonics


def scipy_harmonic(degree, order, colatitude, longitude):
    """Y_lm with (-1)^m, normalised over the sphere."""
    if hasattr(scipy.special, "sph_harm_y"):
        return scipy.special.sph_harm_y(degree, order, colatitude, longitude)
    return scipy.special.sph_harm(order, degree, longitude, colatitude)


def test_harmonics_are_those_of_scipy():
    latitude, longitude = even_points(200)
    ours = surface_harmonics(latitude, longitude, 25)
    colatitude, east = np.radians(90.0 - latitude), np.radians(longitude)
    for degree in (0, 1, 2, 7, 25):
        for order in range(degree + 1):
            theirs = scipy_harmonic(degree, order, colatitude, east)
            first = degree**2 + max(0, 2 * order - 1)
            np.testing.assert_allclose(ours[:, first], theirs.real, atol=1e-12)
            if order:
                np.testing.assert_allclose(ours[:, first + 1], theirs.imag, atol=1e-12)


def test_splines_belong_to_their_knots_and_hold_parabolas():
    np.testing.assert_allclose(radial_splines(knot_radii_m()), np.eye(21), atol=1e-12)
    radius = np.linspace(3480e3, 6346.6e3, 400)
    x = 2.0 * (radius - 3480e3) / (6346.6e3 - 3480e3) - 1.0
    np.testing.assert_allclose(radial_splines(radius) @ (3 * KNOTS**2 - KNOTS + 2)[::-1], 3 * x**2 - x + 2, atol=1e-12)
    np.testing.assert_array_equal(radial_splines(np.array([6371e3])), radial_splines(np.array([6346.6e3])))


@pytest.fixture
def some():
    return Harmonics(np.random.default_rng(1).standard_normal((21, 81)))


def test_files_are_read_back(tmp_path, some):
    write_harmonics(tmp_path / "a.sph", some)
    np.testing.assert_allclose(read_harmonics(tmp_path / "a.sph").coefficients, some.coefficients, rtol=1e-4)
    text = (tmp_path / "a.sph").read_text().splitlines()
    assert text[0].split() == ["8", "1" * 9, "24", "000" + "1" * 21]
    write_harmonics(tmp_path / "a.dat", some)  # as SPECFEM3D_GLOBE has it: no first line
    assert (tmp_path / "a.dat").read_text().splitlines() == text[1:]
    assert np.array_equal(
        read_harmonics(tmp_path / "a.dat").coefficients, read_harmonics(tmp_path / "a.sph").coefficients
    )


def test_expansion_finds_coefficients_again(some):
    latitude, longitude, weight = harmonics_on_sphere(8)
    assert weight.sum() == pytest.approx(4 * np.pi)
    found = expanded(some.sampled(latitude, longitude, knot_radii_m()), 8, 8)
    np.testing.assert_allclose(found.coefficients, some.coefficients, atol=1e-12)


def test_an_exported_model_is_what_another_reader_finds(tmp_path, fields):
    """The reader here goes by the format's description alone, term by term."""
    export_harmonics(fields, tmp_path / "model.sph", 20)
    numbers = np.array((tmp_path / "model.sph").read_text().split("\n", 1)[1].split(), float).reshape(21, 441)
    latitude, longitude = even_points(50)
    colatitude, east = np.radians(90.0 - latitude), np.radians(longitude)
    for knot in (2, 10, 20):
        total, place = np.zeros(50), 0
        for degree in range(21):
            for order in range(degree + 1):
                harmonic = scipy_harmonic(degree, order, colatitude, east)
                total += numbers[knot, place] * harmonic.real
                place += 1
                if order:
                    total += numbers[knot, place] * harmonic.imag
                    place += 1
        depth = 6371.0 - knot_radii_m()[knot] / 1e3
        expected = fields.percent("dlnVs", geographic_deg(latitude), longitude, depth) / 100.0
        assert np.abs(total - expected).max() < 0.03 * np.abs(expected).max()


def test_small_structure_is_lost_and_not_mistaken_for_large(fields):
    """A few degrees alone are those of a longer series."""
    few, many = harmonics_of(fields, 6), harmonics_of(fields, 40)
    np.testing.assert_allclose(few.coefficients, many.coefficients[:, :49], atol=2e-3 * np.abs(many.coefficients).max())


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "0 coefficients; allowed: 21 splines times (L + 1)^2"),
        (
            "1 11 24 000111\n" + "0.1 " * 80,
            "80 coefficients; allowed: 21 splines times (L + 1)^2 up to a degree L of 1",
        ),
        ("0.1 two 0.3\n", "line 1: '0.1 two 0.3'; allowed: numbers"),
        ("nan " * 21, "a coefficient is not a finite number"),
    ],
)
def test_bad_coefficients(tmp_path, text, words):
    (tmp_path / "bad.sph").write_text(text)
    with pytest.raises(UserError, match=re.escape(words)):
        read_harmonics(tmp_path / "bad.sph")


# ---------------------------------------------------------------------------------------------------------------- NetCDF


def write_classic(file, name="dvs", units="percent", change=lambda values: values, **axes):
    """NetCDF-3 of a smooth field; axes: others than the usual ones."""
    of = {
        "depth": np.linspace(50.0, 2850.0, 29),
        "latitude": np.linspace(90.0, -90.0, 37),
        "longitude": np.arange(0.0, 360.0, 5.0),
        **axes,
    }
    with scipy.io.netcdf_file(file, "w") as out:
        for axis, values in of.items():
            out.createDimension(axis, len(values))
            out.createVariable(axis, "f4", (axis,))[:] = values
        depth, latitude, longitude = np.meshgrid(*of.values(), indexing="ij")
        values = 2.0 * np.cos(np.radians(latitude)) * np.cos(np.radians(longitude)) * np.sin(np.pi * depth / 2900.0)
        variable = out.createVariable(name, "f4", tuple(of))
        variable[:] = change(values)
        variable.units = units
        variable.missing_value = np.float32(99999.0)
    return file


def test_classic_netcdf(tmp_path, basis):
    found, record = read_start(write_classic(tmp_path / "a.nc"), basis, EARTH)
    latitude, longitude = even_points(300)
    radius = np.full(300, 4900e3)
    expected = (
        0.02
        * np.cos(np.radians(geographic_deg(latitude)))
        * np.cos(np.radians(longitude))
        * np.sin(np.pi * 1471 / 2900)
    )
    np.testing.assert_allclose(basis.evaluate(found, latitude, longitude, radius), expected, atol=4e-4)
    assert record.kind == "NetCDF, dvs on 29 x 37 x 73 points, 50 to 2850 km"
    assert 0.0 < record.lost < 0.1 * record.rms and record.lost <= record.most_lost


def test_an_exported_grid_is_read_back(tmp_path, fields, basis, model):
    """dlnVs, and Vs alone: relative to the same Earth, it is the same model."""
    grid = export(fields, tmp_path / "model.nc", 3.0, 25.0)
    found, record = read_start(tmp_path / "model.nc", basis, EARTH)
    assert np.sqrt(np.mean((found - model) ** 2)) < 0.02 * np.sqrt(np.mean(model**2))
    assert record.lost < 0.03 * record.rms
    axes = {"depth": grid.depth_km, "latitude": grid.latitude_deg, "longitude": grid.longitude_deg}
    for units, scale in (("km.s-1", 1.0), ("m/s", 1000.0)):
        file = write_classic(tmp_path / "vs.nc", "vs", units, lambda _, scale=scale: scale * grid.values["vs"], **axes)
        by_speed = read_netcdf(file, EARTH)
        assert by_speed.of == "vs"
        np.testing.assert_allclose(by_speed.values, grid.values["dvs"] / 100.0, atol=2e-6)


def test_points_without_a_value_are_the_reference(tmp_path):
    def holes(values):
        values[3, 5, 7:9] = 99999.0
        return values

    found = read_netcdf(write_classic(tmp_path / "a.nc", change=holes), EARTH)
    assert found.missing == 2 and found.values[3, 31, 7] == 0.0  # latitudes are sorted


def test_water_and_fractions(tmp_path):
    """Vs = 0 is no speed; a unit of 1 is a fraction."""
    water = write_classic(
        tmp_path / "a.nc", "vs", "km/s", lambda values: np.where(values > 1.9, 0.0, 5.0 + 0.0 * values)
    )
    found = read_netcdf(water, EARTH)
    assert found.missing > 0 and np.abs(found.values).max() <= 0.5
    fractions = read_netcdf(write_classic(tmp_path / "b.nc", units="1", change=lambda values: values / 100.0), EARTH)
    assert np.abs(fractions.values).max() == pytest.approx(0.02, rel=0.01)


def test_coefficients_in_percent_are_refused(tmp_path, basis):
    write_harmonics(tmp_path / "a.sph", Harmonics(np.full((21, 9), 3.0)))
    with pytest.raises(UserError, match=r"a.sph: dlnVs reaches .*; allowed: at most 0.5"):
        read_start(tmp_path / "a.sph", basis, EARTH)


def test_averages_of_both_polarisations(tmp_path):
    first, second = (write_classic(tmp_path / f"{name}.nc", name) for name in ("dvsv", "dvsh"))
    with scipy.io.netcdf_file(second, mmap=False) as other, scipy.io.netcdf_file(first, "a") as file:
        file.createVariable("dvsh", "f4", ("depth", "latitude", "longitude"))[:] = 4.0 * other.variables["dvsh"][:]
    found = read_netcdf(first, EARTH)
    assert found.of == "dvsv and dvsh" and np.abs(found.values).max() == pytest.approx(0.04, rel=0.01)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ({"name": "qmu"}, "none of dvs, dvsv with dvsh, vs, vsv with vsh"),
        ({"change": lambda values: 1e3 * values}, "allowed: 0.5. Is it in another unit?"),
        ({"name": "vs", "change": lambda values: 5.0 + values, "units": "m/s"}, "half of dlnVs from vs is above 0.999"),
        ({"latitude": np.arange(40.0, 91.0, 5.0)}, "latitude from 40 to 90 degrees; allowed: the whole Earth"),
        ({"depth": np.linspace(-2850.0, -50.0, 29)}, "depth begins at -2850 km; allowed: depths that grow downwards"),
        ({"longitude": np.arange(0.0, 90.0, 5.0)}, "longitude from 0 to 85 degrees; allowed: once round the Earth"),
        ({"change": lambda values: 99999.0 + 0.0 * values}, "dvs has no value anywhere"),
        ({"depth": np.array([100.0])}, "depth has shape (1,); allowed: two or more different numbers"),
    ],
)
def test_bad_grids(tmp_path, written, words):
    with pytest.raises(UserError, match=re.escape(words)) as refused:
        read_netcdf(write_classic(tmp_path / "bad.nc", **written), EARTH)
    assert str(refused.value).startswith(f"{tmp_path / 'bad.nc'}: ") and "cannot be read" not in str(refused.value)


def test_files_that_are_no_netcdf(tmp_path, basis):
    (tmp_path / "bad.nc").write_text("not at all")
    with pytest.raises(UserError, match=r"bad.nc: cannot be read .*; allowed: a NetCDF file"):
        read_start(tmp_path / "bad.nc", basis, EARTH)
    with pytest.raises(
        UserError, match=r"none.sph: cannot be read .*; allowed: a text of spherical-harmonic coefficients"
    ):
        read_start(tmp_path / "none.sph", basis, EARTH)


# ------------------------------------------------------------------------------------------------------------------ runs


@pytest.fixture(scope="module")
def first_run(small_config, tmp_path_factory):
    """One iteration from the reference Earth."""
    directory = tmp_path_factory.mktemp("start") / "first"
    config = small_config.replaced("run", directory=str(directory)).replaced("inversion", max_iterations=1)
    start.run(config, MPI.COMM_SELF, report=False)
    return config


def begun_at(config, file, tmp_path, **settings):
    """A run of one iteration that begins at a file."""
    config = config.replaced("run", directory=str(tmp_path / "run")).replaced("start", file=str(file), **settings)
    return config, start.run(config, MPI.COMM_SELF, report=False)


def test_a_run_goes_on_from_another(first_run, tmp_path):
    """It begins with the misfits, the prior's too, with which the other ended."""
    earlier = RunFolder(first_run.run.directory).read_record()
    _, record = begun_at(first_run, RunFolder(first_run.run.directory).model, tmp_path)
    assert record.start is not None and "final model of a run" in record.start.kind
    assert record.start.lost < 1e-8
    there, here = earlier.iterations[-1], record.iterations[0]
    assert here.chi_data == pytest.approx(there.chi_data, rel=1e-6)
    assert here.chi_prior == pytest.approx(there.chi_prior, rel=1e-6) and here.chi_prior > 0
    assert record.iterations[1].chi < here.chi
    assert record.judgement is not None


def test_a_run_about_another_earth_is_refused(first_run, basis):
    other = EarthModel.by_name("prem")
    with pytest.raises(
        UserError, match=r"model.h5: changes from prem_isotropic; allowed: from prem, as \[earth\] model says"
    ):
        read_start(RunFolder(first_run.run.directory).model, basis, other)


def test_the_prior_may_expect_the_starting_model(first_run, tmp_path):
    """Then nothing deviates from it at first; `solve` with the run's own prior finds the run's model again."""
    model = RunFolder(first_run.run.directory).model
    config, record = begun_at(first_run, model, tmp_path, prior_mean=True)
    assert record.start is not None and record.start.prior_mean and "which the prior expects" in record.start.text
    assert record.iterations[0].chi_prior == 0.0 and record.iterations[1].chi_prior > 0.0
    again = solve_again(tmp_path / "run" / "hessian.h5", config.prior, tmp_path / "again")
    assert again.rms_difference is not None and again.rms_difference < 1e-6 * again.rms_step
    assert again.chi_prior == pytest.approx(record.iterations[1].chi_prior, rel=1e-4)


def test_a_resumed_run_reads_the_file_no_more(first_run, tmp_path):
    """All that it takes of it is in model.h5, the prior's mean too."""
    fields = read_fields(first_run.run.directory)
    export_harmonics(fields, tmp_path / "model.sph", 12)
    config = first_run.replaced("inversion", max_iterations=2)
    config, whole = begun_at(config, tmp_path / "model.sph", tmp_path, prior_mean=True)
    (tmp_path / "parts").mkdir()
    parts = config.replaced("run", directory=str(tmp_path / "parts" / "run"))

    class Killed(Exception):
        """Stands for a signal."""

    def kill(*_, **__):
        raise Killed

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("craton.tomography.inversion.driver.Inversion.accept", kill)
        with pytest.raises(Killed):
            start.run(parts, MPI.COMM_SELF, report=False)
    (tmp_path / "model.sph").write_text("another")
    record = start.resume(parts.run.directory, comm=MPI.COMM_SELF, report=False)
    assert record.start == whole.start
    assert record.iterations[-1].chi == pytest.approx(whole.iterations[-1].chi, rel=1e-5)


def test_settings_that_cannot_be(first_run):
    with pytest.raises(UserError, match=r"\[start\] prior_mean = true without a file; allowed: false"):
        first_run.replaced("start", prior_mean=True)
    matern = replace(first_run, prior=replace(first_run.prior, kind="matern", correlation_km=3000.0))
    with pytest.raises(UserError, match=r'\[start\] file = ".*" with \[prior\] kind = "matern"; allowed: prior_mean'):
        matern.replaced("start", file=__file__)


def test_splines_finer_than_the_finest(first_run):
    with pytest.raises(UserError, match=r"\[target\] finer = true with \[basis\] of level 8; allowed: at most 7"):
        first_run.replaced("basis", lateral_level=8).replaced("target", finer=True)


def test_check_reads_a_starting_model(first_run, tmp_path):
    """Of another run, which is a file of splines."""
    good = first_run.replaced("start", file=f"{first_run.run.directory}/model.h5")
    (tmp_path / "good.toml").write_text(good.replaced("run", directory=str(tmp_path / "run")).to_toml())
    ended = craton("tomography", "check", tmp_path / "good.toml")
    assert (ended.returncode, ended.stderr) == (0, "")


def test_a_bad_file_ends_the_command_in_one_line(first_run, tmp_path):
    (tmp_path / "bad.nc").write_text("not at all")
    bad = first_run.replaced("start", file=str(tmp_path / "bad.nc")).replaced("run", directory=str(tmp_path / "run"))
    (tmp_path / "bad.toml").write_text(bad.to_toml())
    ended = craton("tomography", "run", tmp_path / "bad.toml", "--ranks", "2")
    assert ended.returncode == 2
    assert "bad.nc: cannot be read" in ended.stderr and ended.stderr.count("\n") == 1


def test_export_by_the_command(first_run, tmp_path):
    ended = craton("tomography", "export", first_run.run.directory, "-o", tmp_path / "m.sph", "--degree", "8")
    assert ended.returncode == 0 and read_harmonics(tmp_path / "m.sph").degree == 8
    ended = craton("tomography", "export", first_run.run.directory, "-o", tmp_path / "m.sph", "--degree", "0")
    assert ended.returncode == 2 and "--degree 0; allowed: 1 to 200" in ended.stderr
