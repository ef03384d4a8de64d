"""A crust from a grid: frequencies below it against those of Earths with that crust, and grids that are not right."""

from __future__ import annotations

from dataclasses import replace

import h5netcdf
import numpy as np
import pytest
from craton import UserError, _craton
from craton.seismology.geometry.latitudes import geographic_deg
from craton.tomography.config.load import theory_settings
from craton.tomography.data.catalogue import read_events, read_stations
from craton.tomography.data.paths import build_paths, geocentric_vectors
from craton.tomography.folder import RunFolder
from craton.tomography.stored.run import read_data, read_problem
from craton.tomography.theory import crust
from craton.tomography.theory.crust import Crusts, earth_with_crust, mean_crust_vs_km_s, moho_m, on_crust, read_crust
from interrupted_inversion import run_one_iteration
from mode_paths import EVENTS, STATIONS

MPI = pytest.importorskip("mpi4py.MPI")

from craton.tomography import start


def moho_km(latitude, longitude):
    """A continent of 45 km, and oceans of 12."""
    return 12.0 + 33.0 * np.exp(-(((latitude - 30.0) / 40.0) ** 2) - ((longitude - 60.0) / 50.0) ** 2)


def write_text(file, step=10.0, vs=None, moho=moho_km):
    lines = ["# longitude latitude moho vs"]
    for latitude in np.arange(-90.0 + step / 2, 90.0, step):
        for longitude in np.arange(step / 2 - 180.0, 180.0, step):
            row = [longitude, latitude, float(moho(latitude, longitude))] + ([] if vs is None else [vs])
            lines.append(" ".join(f"{value:.6f}" for value in row))
    file.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def earth():
    return _craton.EarthModel.prem_isotropic()


def test_an_earth_with_another_crust(earth):
    assert moho_m(earth) == 6346.6e3
    same = earth_with_crust(earth, 24.4)
    for radius in (1000e3, 4000e3, 6200e3, 6340e3, 6350e3, 6360e3, 6368e3):
        np.testing.assert_allclose(same.evaluate(radius)[:3], earth.evaluate(radius)[:3], rtol=1e-4)
    thick = earth_with_crust(earth, 60.0, 0.05)
    assert thick.solid_surface_radius_m == earth.solid_surface_radius_m and moho_m(thick) == 6311e3
    assert thick.evaluate(6312e3)[2] == pytest.approx(earth.evaluate(6347e3)[2] * np.exp(0.05), rel=1e-3)
    assert thick.evaluate(6312e3)[0] == pytest.approx(earth.evaluate(6347e3)[0], rel=1e-3)
    thin = earth_with_crust(earth, 8.0)
    assert thin.evaluate(6355e3)[2] == pytest.approx(earth.evaluate(6346.6e3, below=True)[2], rel=1e-3)
    with pytest.raises(UserError, match="a Moho at 3 km; allowed: at least 1 km below"):
        earth_with_crust(earth, 3.0)
    with pytest.raises(UserError, match="has no Moho; allowed: one with a crust"):
        moho_m(_craton.EarthModel.prem_iso_light())


@pytest.mark.parametrize(
    ("kind", "shortest_s", "has_vs"),
    [
        ("toroidal", 115.0, False),
        *(pytest.param(*case, True, marks=pytest.mark.long) for case in (("toroidal", 50.0), ("spheroidal", 120.0))),
    ],
)
def test_frequencies_are_those_of_the_local_earth(earth, small_config, tmp_path, kind, shortest_s, has_vs):
    """To 1e-4, below crusts that no mode was solved for."""
    config = small_config.replaced("modes", shortest_period_s=shortest_s, element_km=40.0)
    settings = theory_settings(config.to_dict(), "here")
    vs = mean_crust_vs_km_s(earth)
    make = _craton.ModeCatalogue if kind == "toroidal" else _craton.SpheroidalCatalogue
    options = {"order": settings.modes.order, "element_km": 40.0} if kind == "toroidal" else {}

    def solved(of, shortest):
        return make.solve(of, shortest, dispersion=True, attenuation=True, **options)

    modes = solved(earth, shortest_s)
    crusts = Crusts(read_crust(write_text(tmp_path / "grid.txt", vs=vs if has_vs else None)), earth)
    rates = crust.crust_rates(crusts, settings, modes, lambda _: None)
    reference = solved(earth_with_crust(earth, 24.4), 0.8 * shortest_s)
    names = crust.names_of(modes)
    ours = dict(zip(names, 2 * np.pi / np.asarray(modes.period_s), strict=True))
    largest = 0.0
    for depth, change in ((11.7, 0.0), (37.0, 0.05 * has_vs), (55.0, -0.07 * has_vs)):
        one = Crusts(
            read_crust(
                write_text(
                    tmp_path / "one.txt", vs=vs * np.exp(change) if has_vs else None, moho=lambda *_, depth=depth: depth
                )
            ),
            earth,
        )
        shift = rates @ one.parts_of_places(np.array([10.0]), np.array([20.0]))[0]
        local = solved(earth_with_crust(earth, depth, change), 0.8 * shortest_s)
        there, before = (dict(zip(crust.names_of(each), each.period_s, strict=True)) for each in (local, reference))
        found = np.array([shift[number] / ours[name] for number, name in enumerate(names)])
        expected = np.array([before[name] / there[name] - 1.0 if name in there else np.nan for name in names])
        apart = np.abs(found - expected)
        largest = max(largest, float(np.nanmax(np.abs(expected))))
        assert np.nanquantile(apart, 0.99) < 1e-4, (depth, np.nanmax(apart))
    assert largest > 0.003


def test_paths_have_the_mean_of_their_places(earth, small_config, tmp_path):
    crusts = Crusts(read_crust(write_text(tmp_path / "grid.txt")), earth)
    table = build_paths(small_config, read_events(small_config.events.file), read_stations(small_config.stations.file))
    some = table.rows(np.arange(20))
    parts = crusts.parts_of_paths(some)
    assert parts.shape == (20, len(crust.DEPTHS_KM))
    np.testing.assert_allclose(parts.sum(axis=1), 1.0, rtol=1e-12)
    everywhere = Crusts(read_crust(write_text(tmp_path / "flat.txt", moho=lambda *_: 33.0)), earth)
    np.testing.assert_allclose(
        everywhere.parts_of_paths(some),
        np.tile(everywhere.parts_of_places(np.zeros(1), np.zeros(1)), (20, 1)),
        atol=1e-12,
    )
    found = parts @ np.array(crust.DEPTHS_KM)
    forward = [crusts.grid.at(np.array([lat]), np.array([lon]))[0][0] for lat, lon in ((30.0, 60.0), (-60.0, -120.0))]
    assert forward[0] == pytest.approx(moho_km(30.0, 60.0), abs=1.5) and forward[1] == pytest.approx(12.0, abs=0.1)
    assert 11.99 <= found.min() < found.max() <= 45.0
    # along a great circle by other means, and the rest of it
    path = some.rows(np.array([3]))
    long_way = replace(path, arc=("major",))
    source, receiver = (
        geocentric_vectors(of.latitude_deg[[row]], of.longitude_deg[[row]])[0]
        for of, row in ((path.events, path.event[0]), (path.stations, path.station[0]))
    )
    axis = np.cross(source, receiver) / np.linalg.norm(np.cross(source, receiver))
    turns = np.radians(np.arange(0.05, 360.0, 0.1))
    circle = np.cos(turns)[:, None] * source + np.sin(turns)[:, None] * np.cross(axis, source)
    latitude = geographic_deg(np.degrees(np.arcsin(circle[:, 2])))
    along = crusts.parts_of_places(latitude, np.degrees(np.arctan2(circle[:, 1], circle[:, 0])))
    on_minor = turns < np.arccos(source @ receiver)
    np.testing.assert_allclose(crusts.parts_of_paths(path)[0], along[on_minor].mean(axis=0), atol=5e-3)
    np.testing.assert_allclose(crusts.parts_of_paths(long_way)[0], along[~on_minor].mean(axis=0), atol=5e-3)
    assert on_crust(some, None) is some and on_crust(some, crusts).rows(np.arange(3)).crust.shape == (3, 10)


def test_an_inversion_on_it(small_config, tmp_path):
    """Its data are of that crust; without it they do not fit. A resumed run wants the same grid."""
    grid = write_text(tmp_path / "grid.txt")
    config = small_config.replaced("earth", crust=str(grid)).replaced("run", directory=str(tmp_path / "run"))
    config = config.replaced("inversion", precision="float64")
    record = start.run(config, MPI.COMM_SELF, report=False)
    assert record.judgement.fit == pytest.approx(1.0, abs=0.05) and "crust of grid.txt (" in record.earth
    other = small_config.replaced("run", directory=str(tmp_path / "other"))
    other = other.replaced("data", kind="file", file=str(RunFolder(tmp_path / "run").data))
    without = start.run(other, MPI.COMM_SELF, report=False)
    assert without.iterations[0].chi_data > 1.1 * record.iterations[0].chi_data
    again = config.replaced("run", directory=str(tmp_path / "again"))
    run_one_iteration(again)
    problem = read_problem(RunFolder(tmp_path / "run").hessian, MPI.COMM_SELF)
    data = read_data(problem)
    assert data.misfit(problem.world, problem.model) == pytest.approx(problem.chi_data, rel=1e-9)
    write_text(grid, moho=lambda *_: 30.0)
    wrong = "grid.txt: the reference Earth is .*grid.txt .*and the run began with .*allowed: the same grid"
    with pytest.raises(UserError, match=wrong):
        start.resume(tmp_path / "again", None, MPI.COMM_SELF, report=False)
    with pytest.raises(UserError, match=wrong):
        read_data(problem)


@pytest.mark.long
def test_three_components_with_corrections_on_several_crusts(small_config, tmp_path):
    """Coupled branches, both types of modes, and centroids that move."""
    grid = str(write_text(tmp_path / "grid.txt", vs=3.6))
    config = small_config.replaced("earth", crust=grid, ellipticity=True, rotation=True)
    config = config.replaced("theory", kind="nact", derivatives="pava", vp_over_vs=0.5, density_over_vs=0.3)
    config = config.replaced("basis", lateral_level=2, radial=4).replaced("paths", maximum=30)
    config = config.replaced(
        "data", components="RT", filter_periods_s=(600.0, 400.0, 250.0, 200.0), sample_interval_s=20.0
    )
    config = config.replaced("modes", shortest_period_s=200.0).replaced("inversion", max_iterations=2)
    config = config.replaced("run", directory=str(tmp_path / "run")).replaced("corrections", centroid_km=10.0)
    record = start.run(config, MPI.COMM_SELF, report=False)
    assert record.finished and record.iterations[-1].chi_data < record.iterations[0].chi_data
    problem = read_problem(RunFolder(tmp_path / "run").hessian, MPI.COMM_SELF)
    data = read_data(problem)
    expected = record.iterations[problem.linearised_at].chi_data
    assert data.misfit(problem.world, problem.model) == pytest.approx(expected, rel=1e-6)


def test_counts_of_crusts_must_agree(earth):
    toroidal = _craton.ModeCatalogue.solve(earth, 200.0)
    spheroidal = _craton.SpheroidalCatalogue.solve(earth, 200.0)
    basis, band = _craton.ModelBasis(1, np.linspace(3480e3, 6368e3, 4)), (600.0, 400.0, 250.0, 200.0)
    two = {"toroidal_crust": np.zeros(2 * len(toroidal)).tolist()}
    with pytest.raises(UserError, match="crust: 2 of toroidal and 0 of spheroidal modes; allowed: as many of both"):
        _craton.ForwardProblem(toroidal, basis, band, "pava", spheroidal, figure=two)
    forward, one = _craton.ForwardProblem(toroidal, basis, band, figure=two), np.zeros(1, int)

    def paths(crusts):
        places = {**EVENTS, **STATIONS}.values()
        return _craton.PathSet(forward, *places, one, one, np.zeros(1), 20.0, np.array([50]), crust=crusts)

    for crusts, words in (
        (None, "weights of 0 crusts; allowed: 2"),
        (np.ones((1, 3)), "weights of 3 crusts; allowed: 2"),
    ):
        with pytest.raises(UserError, match=words):
            forward.seismogram(paths(crusts)[0], np.zeros(basis.size))
    with pytest.raises(UserError, match=r"crust \(rows\) has 2 elements; allowed: 1"):
        paths(np.ones((2, 2)))


def test_netcdf_is_read_as_text_is(tmp_path):
    text = read_crust(write_text(tmp_path / "grid.txt", vs=3.6))
    with h5netcdf.File(tmp_path / "grid.nc", "w") as file:
        latitude, longitude = np.arange(85.0, -90.0, -10.0), np.arange(-175.0, 180.0, 10.0)
        file.dimensions = {"latitude": 18, "longitude": 36}
        file.create_variable("latitude", ("latitude",), data=latitude)
        file.create_variable("longitude", ("longitude",), data=longitude)
        values = moho_km(latitude[:, None], longitude[None, :])
        file.create_variable("moho", ("latitude", "longitude"), data=values)
        file.create_variable("vs", ("latitude", "longitude"), data=np.full((18, 36), 3.6))
    found = read_crust(tmp_path / "grid.nc")
    np.testing.assert_allclose(found.moho_km, text.moho_km, atol=1e-5)
    np.testing.assert_allclose(found.vs_km_s, text.vs_km_s)
    np.testing.assert_allclose(found.longitude_deg, text.longitude_deg)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda lines: [], r"no point in it; allowed: lines of longitude latitude"),
        (lambda lines: [*lines[:5], "a b c"], r"grid.txt:6: 'a b c'; allowed: longitude latitude moho_depth_km"),
        (
            lambda lines: [*lines, lines[-1]],
            r"649 points of 18 latitudes and 36 longitudes; allowed: one for each pair",
        ),
        (lambda lines: lines[:-1], r"647 points of 18 latitudes and 36 longitudes; allowed: one for each pair"),
        (lambda lines: lines[: 1 + 9 * 36], r"latitudes from -85 to -5, .*allowed: the whole Earth"),
        (
            lambda lines: [*lines[:-1], "175.0 85.0 500.0"],
            r"moho = 500 at 85 N, 175 E; allowed: 3 to 120 km. Is it",
        ),
        (lambda lines: [*lines[:-1], "175.0 85.0 nan"], r"grid.txt:649: .*allowed: longitude latitude"),
        (lambda lines: [*lines[:-1], "deep " * 1000], r"grid.txt:649: '(deep ){12}'; allowed: longitude latitude"),
        (
            lambda lines: [line.replace(" 85.", " 95.").replace(" 75.", " 85.") for line in lines],
            r"latitudes from -85 to 95, .*allowed: the whole Earth",
        ),
        (
            lambda lines: [f"{0.003 * n} {-90 + 0.0015 * n} 30" for n in range(120_000)],  # 107 GiB as a grid
            r"120000 points of 120000 latitudes and 120000 longitudes; allowed: one for each pair",
        ),
    ],
)
def test_grids_that_are_wrong(tmp_path, change, words):
    file = write_text(tmp_path / "grid.txt")
    file.write_text("\n".join(change(file.read_text().splitlines())) + "\n")
    with pytest.raises(UserError, match=words):
        read_crust(file)


def test_a_grid_that_is_not_there(tmp_path):
    with pytest.raises(UserError, match=r"none.txt: No such file or directory; allowed: a grid of the crust"):
        read_crust(tmp_path / "none.txt")
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(UserError, match="not text; allowed: lines of"):
        read_crust(tmp_path / "bytes.txt")
    (tmp_path / "other.nc").write_bytes(b"nothing")
    with pytest.raises(UserError, match="other.nc"):
        read_crust(tmp_path / "other.nc")
