"""Horizontal motion of both types of modes in the inversion's own sums."""

from __future__ import annotations

import numpy as np
import pytest
from craton import UserError, _craton
from craton.tomography.config.load import as_it_was, theory_settings
from mode_paths import EVENTS, FILTER_S, KNOTS_M, STATIONS

PATHS = {
    "event": np.repeat([0, 1], 9),
    "station": np.tile(np.repeat([0, 1, 2], 3), 2),
    "t_first_s": np.full(18, 300.0),
    "sample_interval_s": 12.5,
    "samples": np.full(18, 160),
}


@pytest.fixture(scope="module")
def modes():
    earth = _craton.EarthModel.prem_isotropic()
    return _craton.ModeCatalogue.solve(earth, 150.0), _craton.SpheroidalCatalogue.solve(earth, 150.0)


def problem(modes, theory="pava", complete=True):
    toroidal, spheroidal = modes
    return _craton.ForwardProblem(toroidal, _craton.ModelBasis(2, KNOTS_M, 2), FILTER_S, theory, spheroidal, complete)


def paths_of(forward):
    return _craton.PathSet(forward, *{**EVENTS, **STATIONS, **PATHS}.values(), component=list("ZRT") * 6)


def test_it_is_that_of_complete_sums(modes):
    forward, toroidal_and_spheroidal = problem(modes), problem(modes, complete=False)
    assert forward.complete and not toroidal_and_spheroidal.complete
    zero = np.zeros(forward.basis.size)
    mine, main = (
        each.seismograms(paths_of(each), 0, 18, zero).reshape(2, 3, 3, -1)
        for each in (forward, toroidal_and_spheroidal)
    )
    sums = _craton.ModeSynthetics(*reversed(modes), filter_periods_s=FILTER_S)
    event = [values for values in EVENTS.values()]
    for number in range(2):
        theirs = sums.seismograms(
            event[0][number], event[1][number], event[2][number], event[3][number], *STATIONS.values(), 300.0, 12.5, 160,
            half_duration_s=event[4][number],
        )  # fmt: skip
        np.testing.assert_allclose(mine[number], theirs, rtol=0, atol=1e-11 * np.abs(theirs).max())
        assert np.array_equal(mine[number, :, 0], main[number, :, 0])
        for component in (1, 2):
            assert np.linalg.norm(mine[number, :, component] - main[number, :, component]) > 3e-3 * np.linalg.norm(
                theirs
            )


@pytest.mark.parametrize("theory", ["pava", "nact"])
def test_derivatives_have_it_too(modes, theory):
    forward = problem(modes, theory)
    paths, random, step = paths_of(forward), np.random.default_rng(1), 1e-4
    model, direction = (random.normal(0.0, size, forward.basis.size) for size in (0.01, 1.0))
    for path in (1, 2, 16):
        panel, touched = forward.panel(paths[path], model)
        ahead, behind = (
            np.asarray(forward.seismogram(paths[path], model + sign * step * direction)) for sign in (1, -1)
        )
        wanted = (ahead - behind) / (2.0 * step)
        np.testing.assert_allclose(panel @ direction[touched], wanted, rtol=0, atol=2e-4 * np.abs(wanted).max())


def test_it_needs_spheroidal_modes(modes):
    with pytest.raises(UserError, match="complete motion without spheroidal modes; allowed: a catalogue"):
        _craton.ForwardProblem(modes[0], _craton.ModelBasis(1, KNOTS_M), FILTER_S, complete=True)


@pytest.mark.parametrize(
    ("complete", "components", "is_so"),
    [("auto", "T", False), ("auto", "ZT", True), ("always", "T", True), ("never", "ZRT", False)],
)
def test_the_configuration_asks_for_it(small_config, complete, components, is_so):
    assert small_config.replaced("theory", complete=complete).theory.is_complete(components) == is_so


def test_runs_of_before_did_not_have_it(small_config):
    stored = small_config.replaced("data", components="ZT").to_dict()
    assert theory_settings(stored, "here").theory.is_complete("ZT")
    del stored["theory"]["complete"]
    assert as_it_was(stored)["theory"]["complete"] == "never"
    assert as_it_was({"theory": {}})["theory"]["complete"] == "auto"  # transverse motion alone: both mean the same
    assert not theory_settings(stored, "here").theory.is_complete("ZT")


def test_runs_of_before_compared_waveforms(small_config):
    stored = small_config.to_dict()
    assert as_it_was(stored)["inversion"]["first_misfit"] == "arrival_time"
    del stored["inversion"]["first_misfit"]
    assert as_it_was(stored)["inversion"]["first_misfit"] == "waveform"


def test_a_setting_that_is_wrong(small_config):
    with pytest.raises(UserError, match=r"\[theory\] complete = \"yes\"; allowed: .*auto.*always.*never"):
        small_config.replaced("theory", complete="yes")
