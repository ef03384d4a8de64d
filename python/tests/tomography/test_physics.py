"""The tomography part of the extension as Python sees it: shapes, types, lifetimes, errors, and physics that needs no C++."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from craton import _craton
from mode_paths import EVENTS, FILTER_S, KNOTS_M, PATHS, STATIONS


@pytest.fixture(scope="module")
def modes():
    return _craton.ModeCatalogue.solve(_craton.EarthModel.prem_isotropic(), 150.0)


@pytest.fixture(scope="module")
def forward(modes):
    return _craton.ForwardProblem(modes, _craton.ModelBasis(2, KNOTS_M), FILTER_S)


@pytest.fixture(scope="module")
def paths(forward):
    return make_paths(forward)


def make_paths(forward, **changes):
    arguments = {**EVENTS, **STATIONS, **PATHS, **changes}
    return _craton.PathSet(forward, *arguments.values())


def test_earth_model():
    earth = _craton.EarthModel.by_name("prem_isotropic")
    assert earth.name == "prem_isotropic"
    assert (earth.cmb_radius_m, earth.surface_radius_m) == (3480e3, 6368e3)
    assert 3480e3 in earth.discontinuities_m
    assert np.all(np.diff(earth.discontinuities_m) > 0)
    density, vp, vs, q = earth.evaluate(3480e3)
    assert (density, vp, vs, q) == pytest.approx((5566.45, 13716.60, 7264.66, 312), rel=1e-5)
    assert earth.evaluate(3480e3, below=True)[2] == 0
    with pytest.raises(_craton.UserError, match="iasp91.*prem_isotropic, prem_iso_light"):
        _craton.EarthModel.by_name("iasp91")
    with pytest.raises(_craton.UserError, match="6371000"):
        earth.evaluate(6371e3)


def test_modes_have_one_type_and_length(modes):
    assert len(modes) > 100
    for values, kind in (
        (modes.n, np.int64),
        (modes.l, np.int64),
        (modes.period_s, np.float64),
        (modes.q, np.float64),
        (modes.group_velocity_km_s, np.float64),
    ):
        assert values.dtype == kind
        assert values.shape == (len(modes),)
    assert modes.period_s.min() > 150
    love = (modes.n == 0) & (modes.period_s < 250)
    assert np.all((modes.group_velocity_km_s[love] > 4.2) & (modes.group_velocity_km_s[love] < 4.8))
    w, slope = modes.eigenfunction(0, KNOTS_M)
    assert w.shape == slope.shape == KNOTS_M.shape


def test_cache_round_trip_is_exact(modes, forward, paths):
    arrays = {name: np.array(values) for name, values in modes.arrays().items()}
    again = _craton.ModeCatalogue.from_arrays(_craton.EarthModel.prem_isotropic(), arrays)
    model = np.full(forward.basis.size, 0.01)
    other = _craton.ForwardProblem(again, forward.basis, FILTER_S)
    assert np.array_equal(forward.seismogram(paths[0], model), other.seismogram(paths[0], model))
    for name in arrays:
        with pytest.raises(_craton.UserError, match=name):
            _craton.ModeCatalogue.from_arrays(
                _craton.EarthModel.prem_isotropic(), {k: v for k, v in arrays.items() if k != name}
            )
    with pytest.raises(_craton.UserError, match="prem_iso_light"):
        _craton.ModeCatalogue.from_arrays(_craton.EarthModel.prem_iso_light(), arrays)
    with pytest.raises(_craton.UserError, match="contradict"):
        _craton.ModeCatalogue.from_arrays(_craton.EarthModel.prem_isotropic(), {**arrays, "q": arrays["q"][1:]})


def test_basis():
    basis = _craton.ModelBasis(3, KNOTS_M)
    assert (basis.n_lateral, basis.n_radial, basis.size) == (162, 6, 972)
    assert np.degrees(basis.spacing_rad) == pytest.approx(15.8)
    assert np.array_equal(basis.radial_knots_m, KNOTS_M)
    radii = np.linspace(3480e3, 6368e3, 50)
    assert basis.radial_values(radii).sum(axis=1) == pytest.approx(np.ones(50))
    offsets, knots, values = basis.lateral_weights(basis.latitude_deg, basis.longitude_deg)
    assert offsets[-1] == knots.size == values.size
    for a in range(basis.n_lateral):
        mine = slice(offsets[a], offsets[a + 1])
        assert dict(zip(knots[mine], values[mine], strict=True))[a] == pytest.approx(1)
    model = np.random.default_rng(0).normal(size=basis.size)
    latitude, longitude = np.array([12.0, -88.0]), np.array([300.0, -7.0])
    radius = np.array([5000e3, 6200e3])
    offsets, knots, values = basis.lateral_weights(latitude, longitude)
    radial = basis.radial_values(radius)
    profiles = model.reshape(-1, 6)
    expected = [
        sum(values[c] * radial[p] @ profiles[knots[c]] for c in range(offsets[p], offsets[p + 1])) for p in range(2)
    ]
    assert basis.evaluate(model, latitude, longitude, radius) == pytest.approx(expected)
    with pytest.raises(_craton.UserError, match="level 9"):
        _craton.ModelBasis(9, KNOTS_M)
    with pytest.raises(_craton.UserError, match="equally many"):
        basis.evaluate(model, latitude, longitude, radius[:1])
    with pytest.raises(_craton.UserError, match="longitude_deg has 1 elements; allowed: 2"):
        basis.lateral_weights(latitude, longitude[:1])


def test_paths(forward, paths):
    assert len(paths) == 6
    assert np.array_equal(np.diff(paths.offsets), PATHS["samples"])
    assert len(list(paths)) == 6
    path = paths[-6]
    assert path.k == 80
    assert np.array_equal(path.times_s, 200 + 12.5 * np.arange(80))
    assert path.distance_rad == paths.distance_rad[0]
    assert 0 <= path.azimuth_rad < 2 * np.pi
    assert np.all(np.diff(path.lateral_knots) > 0)
    assert path.lateral_weights.sum() == pytest.approx(2.14, abs=0.15)
    with pytest.raises(IndexError):
        paths[6]
    coverage = paths.coverage(forward.basis)
    assert coverage.sum() == pytest.approx(sum(p.lateral_weights.sum() for p in paths))


@pytest.mark.parametrize(
    ("name", "index", "value", "message"),
    [
        ("event_latitude_deg", 1, 91.0, r"event 1: latitude is 91; allowed: -90 to 90"),
        ("event_longitude_deg", 1, 400.0, r"event 1: longitude is 400; allowed: -180 to 360"),
        ("event_depth_m", 0, 3e6, r"event 0: depth is 3000000; allowed: 0 to 2891000 m"),
        ("moment_tensor_Nm", 1, 0.0, r"event 1: moment tensor is 0"),
        ("moment_tensor_Nm", 1, np.nan, r"event 1: moment tensor element 0 is nan"),
        ("half_duration_s", 0, -1.0, r"event 0: half duration is -1"),
        ("station_latitude_deg", 2, -95.0, r"station 2: latitude is -95"),
        ("event", 3, 2, r"path 3: event 2 is out of range; allowed: 0 to 1"),
        ("station", 3, -1, r"path 3: station -1 is out of range; allowed: 0 to 2"),
        ("samples", 4, 0, r"path 4 .*samples is 0; allowed: 1 or more"),
        ("sample_interval_s", 0, -1.0, r"path 0 .*sample interval is -1"),
        ("t_first_s", 4, np.inf, r"path 4 .*first sample is inf"),
    ],
)
def test_path_set_refuses(forward, name, index, value, message):
    array = {**EVENTS, **STATIONS, **PATHS}[name]
    if np.ndim(array) > 0:
        array = array.copy()
        array[index] = value
    else:
        array = value
    with pytest.raises(_craton.UserError, match=message):
        make_paths(forward, **{name: array})


def test_path_set_refuses_arrays_of_other_lengths(forward):
    for name, array in {**EVENTS, **STATIONS, **PATHS}.items():
        if np.ndim(array) > 0 and name not in ("event_latitude_deg", "event", "station_latitude_deg"):
            with pytest.raises(_craton.UserError, match=name):
                make_paths(forward, **{name: array[:-1]})


def test_panel_is_the_derivative(forward, paths):
    rng = np.random.default_rng(4)
    model, direction = 0.02 * rng.normal(size=forward.basis.size), rng.normal(size=forward.basis.size)
    for path in paths:
        panel, indices = forward.panel(path, model)
        assert panel.dtype == np.float32
        assert indices.dtype == np.int64
        assert panel.shape == (path.k, indices.size)
        assert np.array_equal(indices, (path.lateral_knots[:, None] * 6 + np.arange(6)).ravel())
        h = 1e-5
        difference = (
            forward.seismogram(path, model + h * direction) - forward.seismogram(path, model - h * direction)
        ) / (2 * h)
        assert np.linalg.norm(panel @ direction[indices] - difference) <= 1e-5 * np.linalg.norm(difference)


def test_threads_and_order_do_not_matter(forward, paths):
    model = 0.02 * np.random.default_rng(4).normal(size=forward.basis.size)
    alone = np.concatenate([forward.seismogram(path, model) for path in paths])
    for threads in (1, 2, 5):
        assert np.array_equal(forward.seismograms(paths, 0, 6, model, threads), alone)
    assert np.array_equal(forward.seismograms(paths, 2, 4, model), alone[paths.offsets[2] : paths.offsets[4]])
    assert forward.seismograms(paths, 3, 3, model).size == 0
    with ThreadPoolExecutor(4) as pool:
        assert np.array_equal(
            np.concatenate(list(pool.map(lambda path: forward.seismogram(path, model), paths))), alone
        )
    with pytest.raises(_craton.UserError, match="0 <= first <= last <= 6"):
        forward.seismograms(paths, 0, 7, model)
    with pytest.raises(_craton.UserError, match="threads is 0"):
        forward.seismograms(paths, 0, 6, model, 0)
    with pytest.raises(_craton.UserError, match="3 parameters; allowed: 252"):
        forward.seismograms(paths, 0, 6, np.zeros(3), 2)


def test_objects_keep_alive_what_they_need():
    def path_alone():
        modes = _craton.ModeCatalogue.solve(_craton.EarthModel.prem_iso_light(), 300.0)
        forward = _craton.ForwardProblem(modes, _craton.ModelBasis(1, KNOTS_M), (800.0, 500.0, 400.0, 300.0))
        return forward, make_paths(forward)[2]

    forward, path = path_alone()
    gc.collect()
    assert np.isfinite(forward.seismogram(path, np.zeros(forward.basis.size))).all()
    assert len(forward.modes) > 0


def test_the_filter_is_a_cosine_taper_in_frequency():
    """A wide seismogram filtered by FFT equals the narrow one, far from the ends of a long record."""
    earth = _craton.EarthModel.prem_iso_light()
    modes = _craton.ModeCatalogue.solve(earth, 150.0)
    basis = _craton.ModelBasis(1, KNOTS_M)
    # No mode lies between the l = 2 fundamental (2640 s) and 5000 s: the wide filter passes all with gain 1 up to 180 s.
    narrow = _craton.ForwardProblem(modes, basis, (900.0, 600.0, 300.0, 220.0))
    wide = _craton.ForwardProblem(modes, basis, (8000.0, 5000.0, 180.0, 150.0))
    dt, k = 20.0, 8192
    none, first = np.zeros(1), np.zeros(1, dtype=np.int64)
    one = {"event": first, "station": first, "t_first_s": none, "sample_interval_s": dt, "samples": first + k}
    model = np.zeros(basis.size)
    full = wide.seismogram(make_paths(wide, **one)[0], model)
    f = np.fft.rfftfreq(2 * k, dt)
    corners = 1 / np.array([900.0, 600.0, 300.0, 220.0])
    gain = 0.5 * (1 - np.cos(np.pi * np.interp(f, corners, [0, 1, 1, 0], left=0, right=0)))
    filtered = np.fft.irfft(np.fft.rfft(full, 2 * k) * gain, 2 * k)[:k]
    direct = narrow.seismogram(make_paths(narrow, **one)[0], model)
    inside = slice(400, 2000)
    assert np.linalg.norm(filtered[inside] - direct[inside]) < 0.01 * np.linalg.norm(direct[inside])


def test_forward_problem_errors(modes):
    basis = _craton.ModelBasis(1, KNOTS_M)
    with pytest.raises(_craton.UserError, match="decreasing"):
        _craton.ForwardProblem(modes, basis, (500.0, 800.0, 180.0, 150.0))
    with pytest.raises(_craton.UserError, match="150 s or more"):
        _craton.ForwardProblem(modes, basis, (800.0, 500.0, 180.0, 140.0))
    with pytest.raises(_craton.UserError, match="do not reach into mantle and crust"):
        _craton.ForwardProblem(modes, _craton.ModelBasis(1, KNOTS_M / 1e3), FILTER_S)
    with pytest.raises(_craton.UserError, match="order 1 is out of range"):
        _craton.ModeCatalogue.solve(_craton.EarthModel.prem_isotropic(), 200.0, order=1)
