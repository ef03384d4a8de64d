"""Rupture variations: their slip's spectrum and moment, onsets, rise times, and that each can be made again."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from craton.errors import UserError
from craton.hazard.forecast.faults import whole_surface_ruptures
from craton.hazard.forecast.magnitude_frequency import characteristic
from craton.hazard.forecast.slip import correlation_lengths_m, random_field
from craton.hazard.forecast.variations import (
    DepthProfile,
    VariationRules,
    count,
    hypocentres,
    onset_times,
    perturbed_rake,
    variation,
    variations,
)
from hazard_faults import straight
from scipy.integrate import quad
from scipy.special import gamma, kv

PROFILE = DepthProfile((0.0, 2e3, 10e3), (1500.0, 2800.0, 3500.0))


def rupture_of(magnitude: float = 7.0, spacing_m: float = 1000.0, **fault: float):
    (one,) = whole_surface_ruptures("s", straight(**fault).surface(spacing_m), characteristic(magnitude, 1e17))
    return one


@pytest.mark.parametrize("hurst", [0.5, 0.75])
def test_slip_is_correlated_as_von_karman_has_it(hurst):
    """Of many realisations, beside the correlation function in closed form: r^H K_H(r) / (2^(H - 1) Gamma(H))."""
    generator = np.random.default_rng(7)
    along, down = 8000.0, 4000.0
    fields = np.array([random_field(generator, 24, 48, (500.0, 1000.0), (along, down), hurst) for _ in range(1500)])
    assert fields.var() == pytest.approx(1, abs=0.05) and abs(fields.mean()) < 0.05
    for lag_rows, lag_columns in ((0, 2), (0, 8), (0, 16), (4, 0), (8, 0), (16, 0), (8, 8)):
        r = math.hypot(lag_columns * 1000 / along, lag_rows * 500 / down)
        expected = r**hurst * kv(hurst, r) / (2 ** (hurst - 1) * gamma(hurst))
        rows, columns = 24 - lag_rows, 48 - lag_columns
        found = (fields[:, :rows, :columns] * fields[:, lag_rows:, lag_columns:]).mean()
        assert found == pytest.approx(expected, abs=0.04), (lag_rows, lag_columns)


def test_opposite_edges_have_nothing_in_common():
    """The field's own period lies beyond the fault."""
    generator = np.random.default_rng(3)
    fields = np.array([random_field(generator, 8, 40, (1e3, 1e3), (5e3, 3e3)) for _ in range(1000)])
    assert abs((fields[:, :, 0] * fields[:, :, -1]).mean()) < 0.1


def test_correlation_lengths_grow_with_magnitude():
    assert correlation_lengths_m(7.0) == pytest.approx((10e3, 10 ** (7 / 3 + 1.5)))


@pytest.mark.parametrize("rigidity", [3.3e10, DepthProfile((0.0, 12e3), (1e10, 5e10))])
def test_slip_makes_the_magnitudes_moment(rigidity):
    rupture = rupture_of()
    rules = VariationRules(slips=3, rigidity_Pa=rigidity, seed=5)
    mu = (
        rigidity
        if isinstance(rigidity, float)
        else np.interp(rupture.surface.positions[:, 2], *((0, 12e3), (1e10, 5e10)))
    )
    for one in variations(0, rupture, rules):
        assert one.slip.min() >= 0
        assert (mu * rupture.surface.area * one.slip).sum() == pytest.approx(10 ** (1.5 * 7 + 9.1), rel=1e-12)


def test_slip_varies_as_much_as_wished():
    rupture = rupture_of()
    for wished in (0.1, 0.25):  # never cut off at 0
        slip = variation(0, rupture, 0, VariationRules(variability=wished)).slip
        assert slip.std() / slip.mean() == pytest.approx(wished)
    assert np.ptp(variation(0, rupture, 0, VariationRules(variability=0.0)).slip) == 0
    wild = variation(0, rupture, 0, VariationRules(variability=3.0)).slip
    assert wild.min() == 0 and np.isfinite(wild).all()


def test_any_variation_can_be_made_by_itself():
    rupture = rupture_of()
    rules = VariationRules(slips=3, seed=11)
    whole = list(variations(2, rupture, rules))
    assert len(whole) == count(rupture, rules) == len(hypocentres(rupture.surface, rules)) * 3
    assert [one.number for one in whole] == list(range(len(whole)))
    for number in reversed(range(len(whole))):
        again = variation(2, rupture, number, rules)
        for name in ("slip", "onset", "rise"):
            assert getattr(again, name).tobytes() == getattr(whole[number], name).tobytes()
        assert again.hypocentre == whole[number].hypocentre == hypocentres(rupture.surface, rules)[number // 3]


def test_no_two_variations_are_alike():
    """Nor of other ruptures or seeds."""
    rupture = rupture_of(spacing_m=4000.0)
    every = [VariationRules(slips=2, seed=seed) for seed in (0, 1, 2**32)]
    made = [
        variation(index, rupture, n, rules).slip.tobytes()
        for rules, index, n in itertools.product(every, (0, 1, 2), (0, 1))
    ]
    assert len(set(made)) == len(made)


def test_hypocentres_are_spread_evenly():
    surface = rupture_of(length_m=60e3, bottom_m=15e3).surface
    found = hypocentres(surface, VariationRules(strike_spacing_m=20e3, dip_spacing_m=7.5e3))
    at = surface.positions[list(found)]
    assert np.allclose(at[:3, 0] - 50e3, [10.5e3, 30.5e3, 50.5e3]) and np.allclose(at[[0, 3], 2], [3.5e3, 11.5e3])
    assert len(found) == 6
    fine = hypocentres(surface, VariationRules(strike_spacing_m=1.0, dip_spacing_m=1.0))
    assert sorted(fine) == list(range(len(surface)))


def test_fronts_spread_at_a_part_of_the_shear_velocity():
    surface = rupture_of().surface
    onset = onset_times(surface, 245, 0.8, 3500.0)
    assert onset[245] == 0 and np.argmin(onset) == 245
    far = np.linalg.norm(surface.positions - surface.positions[245], axis=1)
    assert onset == pytest.approx(far / 2800.0)


def test_fronts_pass_each_depth_at_its_velocity():
    """Beside numerical integration along the line."""
    surface = rupture_of(dip_deg=50.0).surface
    start = 8 * surface.columns + 13
    onset = onset_times(surface, start, 0.75, PROFILE)
    z0, z1 = surface.positions[start, 2], surface.positions[:, 2]
    for at in (0, 17, 100, start - 5, start + surface.columns, len(surface) - 1):
        length = np.linalg.norm(surface.positions[at] - surface.positions[start])
        kink = [(depth - z0) / (z1[at] - z0) for depth in (2e3, 10e3)] if z1[at] != z0 else []
        inside = [t for t in kink if 0 < t < 1] or None
        mean, _ = quad(
            lambda t, at=at: 1 / np.interp(z0 + t * (z1[at] - z0), PROFILE.depth_m, PROFILE.value), 0, 1, points=inside
        )
        assert onset[at] == pytest.approx(length * mean / 0.75, rel=1e-6)


def test_rise_times_go_with_the_root_of_slip():
    one = variation(0, rupture_of(), 1, VariationRules(variability=0.3, rise_times="somerville_1999"))
    assert one.rise.mean() == pytest.approx(2.03e-9 * (10 ** (1.5 * 7 + 16.1)) ** (1 / 3))
    assert np.allclose(one.rise / np.sqrt(one.slip), one.rise[0] / np.sqrt(one.slip[0]))
    wild = variation(0, rupture_of(), 1, VariationRules(variability=3.0))
    assert wild.rise.min() > 0


def test_rakes_are_drawn_about_the_ruptures():
    rupture = rupture_of(spacing_m=500.0)
    drawn = perturbed_rake(3, rupture, 15.0, seed=1).surface.rake
    off = (drawn - 180 + 180) % 360 - 180
    assert off.std() == pytest.approx(15, rel=0.1) and abs(off.mean()) < 2
    assert np.array_equal(drawn, perturbed_rake(3, rupture, 15.0, seed=1).surface.rake)
    assert np.ptp(perturbed_rake(3, rupture, 15.0, seed=1, together=True).surface.rake) == 0
    assert np.array_equal(perturbed_rake(3, rupture, 0.0, seed=1).surface.rake % 360, rupture.surface.rake % 360)


def test_slip_has_the_moment_of_the_ground_that_it_is_in():
    """With a rigidity of each subfault; the shape of slip does not depend on it."""
    rupture = rupture_of(6.8, 2000.0)
    rules = VariationRules(slips=2, seed=3)
    rigidity = np.linspace(1e10, 5e10, len(rupture.surface))
    for own, plain in zip(variations(4, rupture, rules, rigidity), variations(4, rupture, rules), strict=True):
        assert (rigidity * rupture.surface.area * own.slip).sum() == pytest.approx(10 ** (1.5 * 6.8 + 9.1))
        ratio = own.slip[plain.slip > 0] / plain.slip[plain.slip > 0]
        assert np.allclose(ratio, ratio[0]) and abs(ratio[0] - 1) > 1e-3
        assert np.array_equal(own.onset, plain.onset) and own.hypocentre == plain.hypocentre
    with pytest.raises(UserError, match=r"rigidities of shape \(3,\); allowed"):
        variation(4, rupture, 0, rules, rigidity[:3])
    with pytest.raises(UserError, match="no rigidity where it slips; allowed"):
        variation(4, rupture, 0, rules, 0 * rigidity)
