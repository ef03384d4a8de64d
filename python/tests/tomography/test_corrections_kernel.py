"""Derivatives by earthquakes and stations as the compiled kernels make them."""

from __future__ import annotations

import numpy as np
import pytest
from craton import _craton
from mode_paths import EVENTS, FILTER_S, KNOTS_M, PATHS, STATIONS

MOMENT_NM = np.array([1.6e20, 1.1e20])
ALL = dict.fromkeys(("origin_time", "centroid", "moment_tensor", "station_time", "station_gain"), True)
RADIUS_KM = 6371.0


@pytest.fixture(scope="module", params=["pava", "nact"])
def forward(request):
    modes = _craton.ModeCatalogue.solve(_craton.EarthModel.prem_isotropic(), 150.0)
    return _craton.ForwardProblem(modes, _craton.ModelBasis(2, KNOTS_M), FILTER_S, request.param)


@pytest.fixture(scope="module")
def model(forward):
    return np.random.default_rng(3).normal(0.0, 0.01, forward.basis.size)


def made(forward, **changes):
    return _craton.PathSet(forward, *{**EVENTS, **STATIONS, **PATHS}.values(), **changes)


def moved(forward, path, north_km=0.0, east_km=0.0, down_km=0.0, later_s=0.0, tensor=0.0, gain=1.0):
    """The seismogram of a path whose earthquake is another: by the textbook's formulas, from a path set of its own."""
    event = PATHS["event"][path]
    changed = {name: np.array(values) for name, values in EVENTS.items()}
    geographic, flat = np.radians(changed["event_latitude_deg"][event]), (1.0 - 1.0 / 298.257) ** 2
    latitude = np.arctan(flat * np.tan(geographic)) + north_km / RADIUS_KM
    changed["event_latitude_deg"][event] = np.degrees(np.arctan(np.tan(latitude) / flat))
    changed["event_longitude_deg"][event] += np.degrees(east_km / RADIUS_KM / np.cos(latitude))
    changed["event_depth_m"][event] += 1e3 * down_km
    changed["moment_tensor_Nm"][event] += tensor
    paths = {**PATHS, "t_first_s": PATHS["t_first_s"] - later_s}
    several = _craton.PathSet(
        forward, *{**changed, **STATIONS, **paths}.values(), gain=np.full(len(PATHS["event"]), gain)
    )
    return lambda model: np.asarray(forward.seismogram(several[path], model))


def test_derivatives_are_those_of_other_earthquakes(forward, model):
    paths = made(forward)
    unknown = _craton.Corrections(paths, MOMENT_NM, **ALL)
    assert len(unknown) == 2 * 9 + 3 * 2
    path, step = 4, 1e-2
    found, which = unknown.derivatives(forward, paths, path, model)
    assert which.tolist() == [*range(9, 18), 20, 21]
    ways = [{"later_s": 1.0}, {"north_km": 1.0}, {"east_km": 1.0}, {"down_km": 1.0}]
    ways += [{"tensor": MOMENT_NM[1] * change} for change in _craton.tensor_changes()]
    ways += [{"later_s": 1.0}, {"gain": 1.0}]
    for column, way in zip(found.T, ways, strict=True):
        name, size = next(iter(way.items()))
        middle = 1.0 if name == "gain" else 0.0
        ahead, behind = (moved(forward, path, **{name: middle + sign * step * size})(model) for sign in (1.0, -1.0))
        wanted = (ahead - behind) / (2.0 * step)
        np.testing.assert_allclose(column, wanted, rtol=0, atol=3e-4 * np.abs(wanted).max(), err_msg=name)


def test_a_tensor_of_the_changes_has_their_moment():
    for change in _craton.tensor_changes():
        assert np.isclose(0.5 * np.sum(change[:3] ** 2) + np.sum(change[3:] ** 2), 1.0)
        assert np.isclose(change[:3].sum(), 0.0)


def test_only_what_is_used_has_unknowns(forward, model):
    few = {**PATHS, "event": np.ones(6, int), "station": np.array([2, 2, 2, 0, 0, 0])}
    paths = _craton.PathSet(forward, *{**EVENTS, **STATIONS, **few}.values())
    unknown = _craton.Corrections(paths, MOMENT_NM, centroid=True, station_time=True)
    assert (len(unknown), unknown.events.tolist(), unknown.stations.tolist()) == (5, [1], [0, 2])
    assert unknown.derivatives(forward, paths, 0, model)[1].tolist() == [0, 1, 2, 4]


def test_an_earthquake_at_the_surface_moves_down(forward, model):
    shallow = {**EVENTS, "event_depth_m": np.array([0.0, 0.0])}
    paths = _craton.PathSet(forward, *{**shallow, **STATIONS, **PATHS}.values())
    unknown = _craton.Corrections(paths, MOMENT_NM, centroid=True)
    found = unknown.derivatives(forward, paths, 0, model)[0][:, 2]
    deeper = {**shallow, "event_depth_m": np.array([100.0, 0.0])}
    other = _craton.PathSet(forward, *{**deeper, **STATIONS, **PATHS}.values())
    expected = 10.0 * (
        np.asarray(forward.seismogram(other[0], model)) - np.asarray(forward.seismogram(paths[0], model))
    )
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-3 * np.abs(expected).max())


def test_paths_of_others_are_refused(forward, model):
    few = {**PATHS, "event": np.zeros(6, int), "station": np.array([0, 0, 0, 2, 2, 2])}
    unknown = _craton.Corrections(
        _craton.PathSet(forward, *{**EVENTS, **STATIONS, **few}.values()), MOMENT_NM, origin_time=True
    )
    with pytest.raises(_craton.UserError, match="a path with event 1, of which they have none"):
        unknown.derivatives(forward, made(forward), 3, model)


def test_gain_multiplies(forward, model):
    gain = np.linspace(0.5, 2.0, 6)
    plain, louder = made(forward), made(forward, gain=gain)
    for path in range(5):
        one, other = (np.asarray(forward.seismogram(each[path], model)) for each in (plain, louder))
        np.testing.assert_allclose(other, gain[path] * one, rtol=1e-9, atol=1e-12 * np.abs(one).max())


@pytest.mark.parametrize(
    ("moments", "words"), [([1e20], "1 events"), ([1e20, 0.0], "event 1 is 0"), ([np.nan, 1.0], "event 0 is nan")]
)
def test_wrong_moments(forward, moments, words):
    with pytest.raises(_craton.UserError, match=words):
        _craton.Corrections(made(forward), np.array(moments), origin_time=True)


def test_a_gain_must_be_positive(forward):
    with pytest.raises(_craton.UserError, match=r"path 1 \(event 0, station 1\): gain is 0; allowed: above 0"):
        made(forward, gain=np.array([1.0, 0.0, 1.0, 1.0, 1.0, 1.0]))
