"""Ellipticity and rotation along paths: against Earths of other radii, published corrections, and lengths of geodesics."""

from __future__ import annotations

import numpy as np
import pytest
from craton import UserError, _craton
from craton.tomography.config.load import theory_settings
from craton.tomography.theory.figure import ROTATION_RAD_S, figure_effects

MOMENT = np.array([[0.0, 0.0, 0.0, 1e20, 0.7e20, 0.5e20]])
STRONG = np.array([[0.0, 0.0, 0.0, 1e20, -0.6e20, 0.5e20]])
"""S leaves along all of PATHS."""


@pytest.fixture(scope="module")
def settings(small_config):
    config = small_config.replaced("earth", ellipticity=True, rotation=True)
    return theory_settings(config.to_dict(), "here")


@pytest.fixture(scope="module")
def earth():
    return _craton.EarthModel.prem_isotropic()


def path_of(forward, event, station, depth_m=15e3, interval_s=2.0, samples=2000, component="T", moment=MOMENT):
    place = [np.array([value]) for value in (*event, depth_m)]
    one = np.zeros(1, int)
    return _craton.PathSet(
        forward, *place, moment, np.zeros(1), *(np.array([value]) for value in station), one, one, np.zeros(1), interval_s,
        np.array([samples]), component=[component],
    )[0]  # fmt: skip


def catalogues(earth, settings):
    shortest = settings.modes.shortest_period_s
    options = {"dispersion": settings.earth.dispersion, "attenuation": settings.earth.attenuation}
    toroidal = _craton.ModeCatalogue.solve(
        earth, shortest, order=settings.modes.order, element_km=settings.modes.element_km, **options
    )
    return toroidal, _craton.SpheroidalCatalogue.solve(earth, shortest, gravity="none", **options)


@pytest.fixture(scope="module")
def modes(earth, settings):
    return catalogues(earth, settings)


@pytest.mark.long
def test_rates_are_those_of_an_earth_stretched_by_a_third(earth, settings, modes):
    """As it is below the equator."""
    rates = figure_effects(earth, settings, *modes)
    stretched = catalogues(earth.stretched(1.0 / 3.0), settings)
    for name, ours, theirs in zip(("toroidal", "spheroidal"), modes, stretched, strict=True):
        there = dict(zip(zip(theirs.n, theirs.l, strict=True), theirs.period_s, strict=True))
        found = [there.get(key) for key in zip(ours.n, ours.l, strict=True)]
        both = [number for number, period in enumerate(found) if period is not None]
        expected = np.array([2.0 * np.pi / found[number] - 2.0 * np.pi / ours.period_s[number] for number in both])
        apart = (
            np.abs(rates[f"{name}_stretch"][both] / 3.0 - expected) * np.asarray(ours.period_s)[both] / (2.0 * np.pi)
        )
        assert len(both) > 0.98 * len(found) and np.quantile(apart, 0.98) < 2e-5, name
        assert np.all(np.abs(expected) < 3e-3 * 2.0 * np.pi / np.asarray(ours.period_s)[both])


def test_the_wave_goes_with_them(earth, settings, modes):
    """A path along the equator has the frequencies of its Earth; one over the pole is slower by nothing of the rotation."""
    toroidal, spheroidal = modes
    basis = _craton.ModelBasis(1, np.linspace(3480e3, 6368e3, 4))
    rates = figure_effects(earth, settings, toroidal, spheroidal)
    lists = {name: values.tolist() for name, values in rates.items()}
    periods = settings.data.filter_periods_s
    by = {
        name: _craton.ForwardProblem(
            toroidal, basis, periods, "pava", spheroidal, True, {key: lists[key] for key in keys}
        )
        for name, keys in {
            "neither": [],
            "figure": ["toroidal_stretch", "spheroidal_stretch"],
            "turn": ["toroidal_turn", "spheroidal_turn"],
            "both": list(lists),
        }.items()
    }
    zero = np.zeros(basis.size)

    def seismogram(kind, station, component="Z"):
        return np.asarray(by[kind].seismogram(path_of(by[kind], (0.0, 0.0), station, component=component), zero))

    east, pole = (0.0, 90.0), (80.0, 0.0)
    assert not np.allclose(seismogram("figure", east), seismogram("neither", east), rtol=0, atol=1e-9)
    one, other = seismogram("turn", pole), seismogram("neither", pole)
    assert np.abs(one - other).max() < 1e-9 * np.abs(other).max()
    # g depends on a frequency through its phase alone: an Earth whose frequencies are those of the shift
    shift = rates["spheroidal_stretch"] / 3.0 + rates["spheroidal_turn"]
    arrays = spheroidal.arrays()
    moved = _craton.SpheroidalCatalogue.from_arrays(earth, {**arrays, "omega_rad_s": arrays["omega_rad_s"] + shift})
    again = _craton.ForwardProblem(toroidal, basis, periods, "pava", moved, False)
    theirs = np.asarray(again.seismogram(path_of(again, (0.0, 0.0), east, component="Z"), zero))
    mine = seismogram("both", east)
    assert mine @ theirs / np.sqrt((mine @ mine) * (theirs @ theirs)) > 0.9999
    west = seismogram("turn", (0.0, -90.0)), seismogram("neither", (0.0, -90.0))
    assert shift_s(*west, 2.0) < -0.1 and shift_s(seismogram("turn", east), seismogram("neither", east), 2.0) > 0.1


def shift_s(later, earlier, interval_s):
    """By how many seconds one trace is later than another, where they are most alike."""
    fine, size = 16, 8 * len(later)
    product = np.fft.rfft(later, size) * np.conj(np.fft.rfft(earlier, size))
    alike = np.fft.irfft(product, size * fine)
    top = int(np.argmax(alike))
    left, middle, right = (alike[(top + step) % len(alike)] for step in (-1, 0, 1))
    place = (top if top < len(alike) // 2 else top - len(alike)) + 0.5 * (left - right) / (left - 2.0 * middle + right)
    return place * interval_s / fine


PATHS = [((0.0, 0.0), (0.0, 70.0)), ((60.0, 20.0), (-10.0, 40.0)), ((-5.0, -150.0), (55.0, -120.0)), ((45.0, 0.0), (50.0, 100.0)),
         ((80.0, 0.0), (20.0, 180.0))]  # fmt: skip


@pytest.mark.parametrize("path", range(5))
def test_surface_waves_take_longer_geodesics(earth, settings, path, capsys):
    """Love waves of 90 to 110 s: by as much as the geodesic on the ellipsoid is longer than the arc on the sphere, to a tenth.

    Layers are thicker as well where the Earth is stretched, which makes the waves somewhat slower still.
    """
    geodetics = pytest.importorskip("obspy.geodetics")
    modes = _craton.ModeCatalogue.solve(earth, 70.0)
    config = settings.__class__(**{**vars(settings), "modes": settings.modes.__class__(shortest_period_s=70.0)})
    rates = figure_effects(earth, config, modes, None)["toroidal_stretch"].tolist()
    basis = _craton.ModelBasis(1, np.linspace(3480e3, 6368e3, 4))
    periods, zero = (130.0, 110.0, 90.0, 75.0), np.zeros(basis.size)
    event, station = PATHS[path]
    traces = []
    for figure in ({}, {"toroidal_stretch": rates}):
        forward = _craton.ForwardProblem(modes, basis, periods, "pava", None, False, figure)
        one = path_of(forward, event, station)
        traces.append(np.asarray(forward.seismogram(one, zero)))
    arrival_s = one.distance_rad * 6371.0 / 4.4
    window = np.exp(-(((2.0 * np.arange(len(traces[0])) - arrival_s) / 300.0) ** 2))
    found = shift_s(traces[1] * window, traces[0] * window, 2.0)
    longer_km = geodetics.gps2dist_azimuth(*event, *station)[0] / 1e3 - one.distance_rad * 6371.0
    expected = longer_km / 4.53
    with capsys.disabled():
        print(f"\n{event} to {station}: later by {found:.3f} s; geodesic longer by {expected:.3f} s", end="")
    assert abs(found - expected) < 0.1 * abs(expected)


S_LATER_S = {
    6e5: (1.276, -0.104, -0.422, -0.584, -0.425),
    15e3: (1.450, -0.454, -0.211, -0.589, -0.798),
}
"""Of S along PATHS in PREM, by the earthquake's depth in m, from EllipticiPy 1.0.1 (Russell et al. 2022)."""


def test_body_waves_see_their_own_depths(earth, settings, capsys):
    """S waves of 32 to 90 s from deep and shallow earthquakes, against published corrections of travel times."""
    shortest_s = 30.0
    modes = _craton.ModeCatalogue.solve(earth, shortest_s)
    config = settings.__class__(**{**vars(settings), "modes": settings.modes.__class__(shortest_period_s=shortest_s)})
    rates = figure_effects(earth, config, modes, None)["toroidal_stretch"].tolist()
    basis = _craton.ModelBasis(1, np.linspace(3480e3, 6368e3, 4))
    sphere, figure = (
        _craton.ForwardProblem(modes, basis, (90.0, 70.0, 40.0, 32.0), "pava", None, False, lists)
        for lists in ({}, {"toroidal_stretch": rates})
    )
    arrivals_s = {6e5: (1115.6, 1133.3, 1054.9, 1030.0, 1224.7), 15e3: (1220.5, 1238.8, 1157.7, 1131.9, 1333.4)}
    for depth_m, expected_s in S_LATER_S.items():
        for place, expected, arrival_s in zip(PATHS, expected_s, arrivals_s[depth_m], strict=True):
            on_sphere, on_figure = (
                np.asarray(
                    each.seismogram(path_of(each, *place, depth_m, 1.0, 2000, moment=STRONG), np.zeros(basis.size))
                )
                for each in (sphere, figure)
            )
            window = np.exp(-(((np.arange(2000) - arrival_s) / 45.0) ** 2))
            found = shift_s(on_figure * window, on_sphere * window, 1.0)
            with capsys.disabled():
                print(f"\n{place}, {depth_m / 1e3:g} km: S later by {found:.3f} s; published {expected:.3f} s", end="")
            assert abs(found - expected) < 0.06


def test_effects_are_only_what_is_asked_for(earth, small_config, modes):
    nothing = theory_settings(small_config.to_dict(), "here")
    assert figure_effects(earth, nothing, *modes) == {}
    turning = theory_settings(small_config.replaced("earth", rotation=True).to_dict(), "here")
    rates = figure_effects(earth, turning, modes[0], None)
    assert list(rates) == ["toroidal_turn"]
    np.testing.assert_allclose(
        rates["toroidal_turn"], -ROTATION_RAD_S * (modes[0].l + 0.5) / (modes[0].l * (modes[0].l + 1.0))
    )


def test_wrong_rates(modes):
    basis = _craton.ModelBasis(1, np.linspace(3480e3, 6368e3, 4))
    with pytest.raises(UserError, match="figure: 'tides' is unknown; allowed: stretch, turn or crust"):
        _craton.ForwardProblem(modes[0], basis, (800.0, 500.0, 180.0, 150.0), figure={"tides": [1.0]})
    with pytest.raises(UserError, match=r"figure: rates of 3 modes; allowed: none, or one for each of the catalogue's"):
        _craton.ForwardProblem(modes[0], basis, (800.0, 500.0, 180.0, 150.0), figure={"toroidal_turn": [1.0, 2.0, 3.0]})
