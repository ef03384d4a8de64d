"""Windows, knots and forces by themselves."""

from __future__ import annotations

import numpy as np
import pytest
from craton import UserError
from craton.regional.forces import force_spectrum
from craton.regional.knots import Knots
from craton.regional.windows import Band, Window, filtered
from craton.seismology.sources.point_sources import point_source
from craton.seismology.sources.source_time import source_time

BAND = Band(0.1, 0.2, 0.5, 0.7)
FREQUENCIES_HZ = np.arange(6, 44) / 60.0
AXES_M = (np.linspace(1000.0, 13000.0, 25), np.linspace(0.0, 9000.0, 19), np.linspace(100.0, 8100.0, 17))


def test_the_filter_passes_its_band_without_a_shift():
    assert np.allclose(BAND.gain([0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.6, 0.7, 1.0]), [0, 0, 0.5, 1, 1, 1, 0.5, 0, 0])
    times_s = np.arange(0, 30, 0.05)
    within = np.exp(-(((times_s - 14) / 4) ** 2)) * np.cos(2 * np.pi * 0.35 * (times_s - 14))
    beyond = np.exp(-(((times_s - 14) / 4) ** 2)) * np.cos(2 * np.pi * 1.2 * (times_s - 14))
    window = Window(5.0, 25.0, 0.5, BAND)
    found = filtered([within, within + beyond], 0.0, 0.05, FREQUENCIES_HZ, window)
    right = np.interp(window.times_s, times_s, within)
    assert found.shape == (2, 41) and np.abs(found - right).max() < 5e-3


@pytest.mark.parametrize("corners", [(0.2, 0.1, 0.5, 0.7), (0.0, 0.2, 0.5, 0.7), (0.1, 0.2, 0.5, 0.5)])
def test_a_filter_has_increasing_corners(corners):
    with pytest.raises(UserError, match="allowed: four increasing frequencies above 0"):
        Band(*corners)


@pytest.mark.parametrize("frequencies", [FREQUENCIES_HZ[5:], FREQUENCIES_HZ[:-5], np.delete(FREQUENCIES_HZ, 9), [0.3]])
def test_frequencies_cover_the_filter_evenly(frequencies):
    with pytest.raises(UserError, match="allowed: evenly spaced ones over the whole filter, 0.1 to 0.7 Hz"):
        Window(0.0, 1.0, 0.5, BAND).synthesis(np.asarray(frequencies))


@pytest.mark.parametrize("wrong", [(1.0, 0.5, 0.1), (0.0, 1.0, 0.0), (0.0, np.inf, 0.1), (0.0, 1.0, np.nan)])
def test_a_window_has_samples(wrong):
    with pytest.raises(UserError, match="allowed: finite times, the first no later than the last, and a step above 0"):
        Window(*wrong, BAND)
    assert Window(1.0, 1.0, 0.5, BAND).times_s.tolist() == [1.0]
    assert Window(1.0, 4.0, 0.5, BAND).reach_s == pytest.approx(4.0 + 20.0)  # two periods of 0.1 Hz


def test_knots_are_hats_that_vanish_on_all_faces_but_the_top():
    knots = Knots.over(AXES_M, 3000.0)
    assert knots.counts == (3, 2, 3) and len(knots) == 18
    assert np.allclose(knots.values(knots.position_m).toarray(), np.eye(18))
    ones = np.ones(len(knots))
    inside = [[7000.0, 4500.0, 2000.0], [5000.0, 3500.0, 100.0], [7000.0, 4500.0, 0.0]]
    assert np.allclose(knots.field(ones, inside), 1.0)
    faces = [[1000.0, 4500.0, 2000.0], [7000.0, 9000.0, 2000.0], [7000.0, 4500.0, 8100.0], [0.0, -5.0, 9000.0]]
    assert np.allclose(knots.field(ones, faces), 0.0)
    assert np.allclose(knots.field(ones, [[2500.0, 4500.0, 2000.0]]), 0.5)
    x = knots.field(knots.position_m[:, 0], [[6100.0, 4000.0, 1500.0]])
    assert np.allclose(x, 6100.0)


def test_knots_of_free_sides_go_on_outwards():
    knots = Knots.over(AXES_M, 3000.0, free=True)
    assert knots.counts == (5, 4, 4) and len(knots) == 80
    assert np.allclose(knots.values(knots.position_m).toarray(), np.eye(80))
    ones, anywhere = np.ones(len(knots)), np.random.default_rng(3).uniform(-2000.0, 15000.0, (50, 3))
    assert np.allclose(knots.field(ones, anywhere), 1.0)
    depth = knots.field(knots.position_m[:, 2], [[0.0, 20000.0, 9000.0], [-5.0, 3000.0, 5000.0]])
    assert np.allclose(depth, [8100.0, 5000.0])
    inside = Knots.over(AXES_M, 3000.0)
    within = np.all((knots.position_m > [1000, 0, 0]) & (knots.position_m < [13000, 9000, 8100]), axis=1)
    assert np.array_equal(knots.position_m[within], inside.position_m)
    some = np.random.default_rng(4).uniform(-1, 1, len(inside))
    padded = np.zeros(len(knots))
    padded[within] = some
    assert np.allclose(knots.field(padded, anywhere), inside.field(some, anywhere))


def test_knots_without_room_are_refused():
    with pytest.raises(UserError, match="knots 9000 m apart in a box that is less than two of that wide"):
        Knots.over(AXES_M, 9000.0)
    with pytest.raises(UserError, match="knots 0 m apart; allowed: more than 0 m"):
        Knots.over(AXES_M, 0.0)


def test_only_knots_that_waves_have_met_are_touched():
    knots = Knots.over(AXES_M, 1000.0)
    source, receiver = np.array([4000.0, 3000.0, 3000.0]), np.array([7000.0, 6000.0, 0.0])
    path = np.linalg.norm(knots.position_m - source, axis=1) + np.linalg.norm(knots.position_m - receiver, axis=1)
    few = knots.within_reach(source, receiver, 1.5, 4000.0)
    assert 0 < len(few) < len(knots)
    assert set(np.flatnonzero(path <= 6000.0)) <= set(few)
    assert (path[few] <= 6000.0 + 2 * np.sqrt(3) * 1000.0 + 1e-6).all()
    assert np.array_equal(knots.within_reach(source, receiver, 100.0, 4000.0), np.arange(len(knots)))


def test_a_force_is_known_by_axis_and_spectrum():
    gaussian = source_time("gaussian", 0.35, None)
    axis, found = force_spectrum(point_source("force_y", (0, 0, 0), 2e12, gaussian), 0.02, 500, FREQUENCIES_HZ)
    width_hz = 1 / (2 * np.pi * 0.35)
    right = 2e12 * 0.35 * np.sqrt(2 * np.pi) * np.exp(-0.5 * (FREQUENCIES_HZ / width_hz) ** 2)
    right = right * np.exp(-2j * np.pi * FREQUENCIES_HZ * 6 * 0.35)
    assert axis == 1 and np.abs(found - right).max() < 1e-6 * np.abs(right).max()


def test_other_sources_and_long_pulses_are_refused():
    gaussian, long = source_time("gaussian", 0.35, None), source_time("gaussian", 2.5, None)
    for wrong in (
        point_source("moment_rate", (0, 0, 0), [1, 0, 0, 0, 0, 0], gaussian),
        point_source("force_xyz", (0, 0, 0), [1, 1, 0], gaussian),
    ):
        with pytest.raises(UserError, match="allowed: a force along x, y or z"):
            force_spectrum(wrong, 0.02, 500, FREQUENCIES_HZ)
    late = point_source("force_x", (0, 0, 0), 1, gaussian, start_s=100.0)
    for wrong in (point_source("force_x", (0, 0, 0), 1, long), late):
        with pytest.raises(UserError, match="allowed: a shorter time function, within the run, with 1e-4"):
            force_spectrum(wrong, 0.02, 2000, FREQUENCIES_HZ)
