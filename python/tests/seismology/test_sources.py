"""Point sources: series in time, moment tensors, places on the Earth, catalogues' events."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from craton.errors import UserError
from craton.seismology.geometry.grid import Grid
from craton.seismology.geometry.projection import PROJECTIONS, projection_about
from craton.seismology.sources.point_sources import (
    MODES,
    PointSources,
    box_metres,
    catalogue_point,
    double_couple,
    from_r_theta_phi,
    moment_of_magnitude,
    point_source,
    read_catalogue_event,
)
from craton.seismology.sources.source_time import (
    KINDS,
    LEVEL,
    Brune,
    Gaussian,
    Ricker,
    Step,
    Table,
    Triangle,
    check_frequency,
    read_series,
    source_time,
)

CMTSOLUTION = """ PDE 2003  9 25 19 50  6.36  41.8150  143.9100  27.0 0.0 8.1 HOKKAIDO, JAPAN REGION
event name:     200309251950A
time shift:     33.3
half duration:  33.5
latitude:      42.2100
longitude:    143.8400
depth:         28.2400
Mrr:       1.620000e+28
Mtt:      -6.080000e+27
Mpp:      -1.010000e+28
Mrt:       1.690000e+28
Mrp:       1.910000e+28
Mtp:      -3.310000e+27
"""


def quad(function, end: float) -> float:
    t = (np.arange(200000) + 0.5) * end / 200000
    return float(np.sum(function(t)) * end / 200000)


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "ricker"])
def test_moment_rates_have_unit_integral(kind):
    function = source_time(kind, 0.7)
    assert quad(function.rate, function.end_s * 1.5) == pytest.approx(1, abs=2e-6)
    assert np.all(function.rate(np.linspace(-2, 0, 100, endpoint=False)) == 0)
    assert function.history(np.linspace(0, function.end_s, 100001)).max() == pytest.approx(1, rel=1e-6)


def test_rickers_rate_is_the_derivative_of_its_history():
    function, t, e = Ricker(2.0), np.linspace(0.1, 1.4, 200), 1e-5
    difference = (function.history(t + e) - function.history(t - e)) / (2 * e)
    np.testing.assert_allclose(function.rate(t), difference, atol=1e-6 * np.abs(difference).max())
    assert abs(quad(function.rate, function.end_s)) < 1e-7


def test_steps_rate_is_the_derivative_of_its_history():
    function, t, e = Step(0.8), np.linspace(0.05, 1.0, 50), 1e-6
    difference = (function.history(t + e) - function.history(t - e)) / (2 * e)
    np.testing.assert_allclose(function.rate(t), difference, atol=1e-6)
    assert function.history(np.array([5.0]))[0] == 1


def test_highest_frequencies_are_those_of_the_known_spectra():
    # exp(-(2 pi f sigma)^2 / 2) and 1 / (1 + (2 pi f T)^2) fall to LEVEL there
    assert Gaussian(0.12).highest_frequency_hz == pytest.approx(
        math.sqrt(-2 * math.log(LEVEL)) / (2 * math.pi * 0.12), rel=0.02
    )
    assert Brune(0.1).highest_frequency_hz == pytest.approx(math.sqrt(1 / LEVEL - 1) / (2 * math.pi * 0.1), rel=0.02)
    # of a triangle of 1 s it is sinc(f / 2)^2, whose side lobes are below LEVEL; frequencies are looked at 1/16 Hz apart
    highest = Triangle(1.0).highest_frequency_hz
    assert np.sinc((highest - 1 / 16) / 2) ** 2 > LEVEL > np.sinc(highest / 2) ** 2


def test_a_series_from_a_file_keeps_its_moment_in_steps_of_any_length(tmp_path):
    path = tmp_path / "series.txt"
    path.write_text("# time rate\n0 0\n0.01, 40\n0.02 10  # a peak\n0.5 0\n")
    function = read_series(path)
    assert quad(function.rate, 0.5) == pytest.approx(1, rel=1e-4)
    for dt in (0.003, 0.05, 0.3):
        middles = (np.arange(math.ceil(0.6 / dt)) + 0.5) * dt
        assert np.sum(function.rate_in_steps(middles, dt)) * dt == pytest.approx(1, rel=1e-12)
    fine = quad(lambda t: function.rate(0.03 + t), 0.05) / 0.05
    assert function.rate_in_steps([0.055], 0.05)[0] == pytest.approx(fine, rel=1e-6)


def test_means_of_a_table_are_differences_of_a_running_sum_of_trapezoids_to_the_last_bit():
    rates = np.random.default_rng(3).random(65)
    found = Table(tuple(np.arange(65) / 64), tuple(rates.tolist())).rate_in_steps((np.arange(64) + 0.5) / 64, 1 / 64)
    sums = np.concatenate([[0], np.cumsum(0.5 * (rates[1:] + rates[:-1]) / 64)])
    assert found.tolist() == ((sums[1:] - sums[:-1]) * 64).tolist()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 1\nnan 2\n", r"series.txt:2: 'nan 2'; allowed: a finite time"),
        ("0 1\n0 2\n", r"series.txt:2: time 0 s; allowed: .*above the row before"),
        ("-1 1\n0 2\n", r"series.txt:1: time -1 s; allowed: 0 or more"),
        ("0 1 3\n", r"series.txt:1: '0 1 3'"),
        ("0 1\n", r"1 samples; allowed: two or more"),
        ("0 1\n1 -1\n", r"integral is 0; allowed"),
    ],
)
def test_wrong_series(tmp_path, text, message):
    path = tmp_path / "series.txt"
    path.write_text(text)
    with pytest.raises(UserError, match=message):
        read_series(path)


def test_wrong_time_functions():
    with pytest.raises(UserError, match="sigma_s = 0; allowed: above 0"):
        source_time("gaussian", 0)
    with pytest.raises(UserError, match="centre_s = 1; allowed: of gaussian and ricker"):
        source_time("brune", 1.0, 1.0)


def test_a_source_too_fast_for_the_grid_is_refused():
    check_frequency(4.0, 2000, 100, 5)
    with pytest.raises(UserError, match=r"reaches 4.1 Hz .* 100 m cells carry 4 Hz at 5 points .* cells of 97.6 m"):
        check_frequency(4.1, 2000, 100, 5)


def test_double_couples_are_those_of_aki_and_richards():
    """Box 4.4, eq. 1, component by component."""
    random = np.random.default_rng(2)
    for _ in range(20):
        strike, dip, rake = random.uniform((0, 0, -180), (360, 90, 180))
        f, d, r = np.radians([strike, dip, rake])
        s, c = np.sin, np.cos
        expected = [
            -(s(d) * c(r) * s(2 * f) + s(2 * d) * s(r) * s(f) ** 2),
            s(d) * c(r) * s(2 * f) - s(2 * d) * s(r) * c(f) ** 2,
            s(2 * d) * s(r),
            s(d) * c(r) * c(2 * f) + 0.5 * s(2 * d) * s(r) * s(2 * f),
            -(c(d) * c(r) * c(f) + c(2 * d) * s(r) * s(f)),
            -(c(d) * c(r) * s(f) - c(2 * d) * s(r) * c(f)),
        ]
        np.testing.assert_allclose(double_couple(strike, dip, rake), expected, atol=1e-14)


def test_tensors_turn_with_the_grid():
    # in a grid whose x axis points 30 degrees east of north, a strike of 30 degrees is along x
    grid = Grid((10, 10, 10), 1.0, None, azimuth_deg=30)
    north = float(grid.north_deg(0, 0))
    np.testing.assert_allclose(double_couple(30, 90, 0, north), double_couple(0, 90, 0), atol=1e-15)
    # r, theta, phi are up, south, east: Mtp of a north-south strike-slip fault is -Mxy
    np.testing.assert_allclose(from_r_theta_phi([0, 0, 0, 0, 0, -1.0]), [0, 0, 0, 1, 0, 0], atol=1e-15)
    # turned by 90 degrees (x to the east): what was north, south is along -y now
    np.testing.assert_allclose(from_r_theta_phi([1.0, 2, 3, 4, 5, 6], -90), [3, 2, 1, 6, -5, -4], atol=1e-14)


def test_modes_are_the_papers_eight():
    assert sorted(number for number in MODES.values() if number is not None) == [-2, -1, 1, 2, 3, 4, 5, 6]
    g = Gaussian(0.1)
    assert point_source("force_y", (1, 2, 3), 5.0, g).tensor == (0, 5, 0)
    assert point_source("force_xyz", (1, 2, 3), [5, 6, 7], g).tensor == (5, 6, 7)
    # a stress is the moment of the other sign of that component
    assert point_source("stress_xz", (1, 2, 3), 5.0, g).tensor == (0, 0, 0, 0, -5, 0)
    assert point_source("stress_yz", (1, 2, 3), 5.0, g).tensor == (0, 0, 0, 0, 0, -5)
    assert point_source("stress_zz", (1, 2, 3), 5.0, g).tensor == (0, 0, -5, 0, 0, 0)
    assert {point_source(mode, (1, 2, 0), 5.0, g).kind for mode, n in MODES.items() if n in (4, 5, 6)} == {"moment"}
    # the ground lies behind the surface z = 0 with normal -z: stress F / h^2 on it pulls with -F
    assert point_source("traction_xz", (1, 2, 0), 5.0, g).tensor == (-5, 0, 0)
    assert point_source("traction_yz", (1, 2, 0), 5.0, g).tensor == (0, -5, 0)
    assert point_source("traction_zz", (1, 2, 0), 5.0, g).tensor == (0, 0, -5)
    for mode, position, amplitude, message in (
        ("traction_zz", (1, 2, 3), 5.0, "at z = 3 m; allowed: on the free surface"),
        ("stress_zz", (1, 2, 3), [5.0, 1.0], "stress_zz with .*; allowed: 1 finite number, not"),
        ("force_w", (1, 2, 3), 5.0, "mode = 'force_w'; allowed: moment_rate, force_x"),
        ("moment_rate", (1, 2, 3), [1, 2, 3], "allowed: 6 finite numbers"),
        ("force_x", (1, 2, 3), math.nan, "allowed: 1 finite number, not"),
        ("force_x", (1, 2, 3), 0.0, "not all 0"),
    ):
        with pytest.raises(UserError, match=message):
            point_source(mode, position, amplitude, g)


def test_series_are_taken_at_the_middle_of_what_they_act_in():
    g, dt = Gaussian(0.1), 0.02
    moment = point_source("moment_rate", (1, 2, 3), [1, 0, 0, 0, 0, 0], g, start_s=0.1)
    force = point_source("force_x", (1, 2, 3), 1.0, g)
    moments, forces = PointSources.of([moment, force])
    assert moments.pattern.shape == (1, 6) and forces.pattern.shape == (1, 3)
    np.testing.assert_allclose(moments.rates(30, 3, dt)[0], g.rate(np.array([30.5, 31.5, 32.5]) * dt - 0.1), rtol=1e-6)
    np.testing.assert_allclose(forces.rates(30, 3, dt)[0], g.history(np.array([30, 31, 32]) * dt), rtol=1e-6)


def test_bricks_take_the_sources_that_reach_into_them():
    from craton.seismology.geometry.grid import bricks

    grid = Grid((20, 10, 10), 2.0)
    boxes = list(bricks(grid.cells, (2, 1, 1)))
    points = [point_source("force_x", (x, 5, 0), 1.0, Gaussian(0.1)) for x in (0, 17, 19.5, 22, 40)]
    found = [[p.position_m[0] for p in PointSources.of(points, *box_metres(box, grid, 1))[1].points] for box in boxes]
    assert found == [[0, 17, 19.5], [19.5, 22, 40]]


def test_a_source_outside_the_grid_is_refused():
    grid = Grid((10, 10, 10), 100.0)
    grid.check_inside(np.array([[1000.0, 0, 0]]), str)
    for at in ((1001, 0, 0), (5, -1, 0), (5, 5, -0.1), (5, 5, math.nan)):
        with pytest.raises(UserError, match=r"outside the grid; allowed: x in \[0, 1000\]"):
            grid.check_inside(np.array([at], float), str)


def test_distance_and_azimuth_from_the_origin_are_the_geodesics():
    geodesic = pytest.importorskip("geographiclib.geodesic").Geodesic.WGS84
    plane = projection_about("azimuthal_equidistant", -118.0, 34.0)
    for lon, lat in ((-117.0, 35.0), (-119.5, 33.2), (-118.0, 34.5), (-100.0, 50.0), (-118, 33.9)):
        east, north = plane.forward(lon, lat)
        line = geodesic.Inverse(34.0, -118.0, lat, lon)
        assert math.hypot(east, north) == pytest.approx(line["s12"], abs=1e-3)
        assert math.degrees(math.atan2(east, north)) == pytest.approx(line["azi1"], abs=1e-8)


def test_transverse_mercator_is_conformal_and_true_along_its_meridian():
    """Which, being symmetric about it, defines it."""
    plane = projection_about("transverse_mercator", 10.0, 45.0)
    a, f = 6378137.0, 1 / 298.257223563
    e2 = f * (2 - f)
    latitude = np.radians(45 + (np.arange(20000) + 0.5) * 3 / 20000)
    arc = np.sum(a * (1 - e2) / (1 - e2 * np.sin(latitude) ** 2) ** 1.5) * np.radians(3) / 20000
    east, north = plane.forward(10.0, 48.0)
    assert abs(east) < 1e-9 and north == pytest.approx(arc, abs=1e-4)
    lon, lat, step = 13.0, 47.0, 1e-5
    radius = math.sqrt(1 - e2 * math.sin(math.radians(lat)) ** 2)
    meridian, parallel = a * (1 - e2) / radius**3, a / radius * math.cos(math.radians(lat))

    def slope(d_lon: float, d_lat: float, metres: float) -> np.ndarray:
        ahead = np.array(plane.forward(lon + d_lon, lat + d_lat)) - np.array(plane.forward(lon - d_lon, lat - d_lat))
        return ahead / (2 * math.radians(d_lon + d_lat) * metres)

    along_east, along_north = slope(step, 0, parallel), slope(0, step, meridian)
    np.testing.assert_allclose(along_east, [along_north[1], -along_north[0]], atol=1e-7)
    assert plane.north_deg(lon, lat) == pytest.approx(math.degrees(math.atan2(*along_north)), abs=1e-6)


@pytest.mark.parametrize("name", PROJECTIONS)
def test_places_come_back(name):
    grid = Grid((10, 10, 10), 100.0, projection_about(name, -118.0, 34.0), 37.0, (200.0, 300.0))
    lon, lat = np.meshgrid(np.linspace(-120, -116, 5), np.linspace(33, 36, 4))
    x, y = grid.x_y(lon, lat)
    back = grid.lon_lat(x, y)
    np.testing.assert_allclose(back[0], lon, atol=1e-9)
    np.testing.assert_allclose(back[1], lat, atol=1e-9)
    assert np.allclose(grid.x_y(-118.0, 34.0), (200, 300), atol=1e-6)
    # 1 km north of the origin, in a grid turned by 37 degrees
    _, north = grid.projection.forward(-118.0, 34.01)
    x, y = grid.x_y(-118.0, 34.01)
    assert x - 200 == pytest.approx(north * math.cos(math.radians(37)), abs=1e-6)
    assert y - 300 == pytest.approx(-north * math.sin(math.radians(37)), abs=1e-6)
    assert float(grid.north_deg(200, 300)) == pytest.approx(-37, abs=1e-6)


def test_a_grid_without_a_place_takes_no_degrees():
    with pytest.raises(UserError, match=r"no place on the Earth; allowed: .*origin_lon_lat"):
        Grid((10, 10, 10), 100.0).x_y(10, 20)


def test_magnitudes():
    assert moment_of_magnitude(6.0) == pytest.approx(1.2589e18, rel=1e-4)


@pytest.mark.parametrize("kind", ["CMTSOLUTION", "QUAKEML"])
def test_events_of_catalogues(tmp_path, kind):
    obspy = pytest.importorskip("obspy")
    path = tmp_path / "CMTSOLUTION"
    path.write_text(CMTSOLUTION)
    if kind == "QUAKEML":
        obspy.read_events(str(path)).write(str(tmp_path / "event.xml"), format="QUAKEML")
        path = tmp_path / "event.xml"
    event = read_catalogue_event(path)
    assert (event.longitude_deg, event.latitude_deg, event.depth_m) == pytest.approx((143.84, 42.21, 28240))
    assert event.half_duration_s == pytest.approx(33.5)
    grid = Grid((100, 100, 100), 1000.0, projection_about("azimuthal_equidistant", 143.84, 42.21), 0.0, (5e4, 5e4))
    point = catalogue_point(event, grid, None)
    assert point.position_m == pytest.approx((5e4, 5e4, 28240), abs=1e-3)
    assert point.time_function == Triangle(67.0)
    # dyn cm to N m; x north is -theta, y east is phi, z down is -r
    assert point.tensor == pytest.approx((-6.08e20, -1.01e21, 1.62e21, 3.31e20, 1.69e21, -1.91e21), rel=1e-6)


def test_files_without_an_event(tmp_path: Path):
    pytest.importorskip("obspy")
    path = tmp_path / "event.xml"
    path.write_text("nothing of the kind")
    for name in (path, tmp_path / "none.xml"):
        with pytest.raises(UserError, match=r"allowed: CMTSOLUTION, QuakeML") as caught:
            read_catalogue_event(name)
        assert "\n" not in str(caught.value)
