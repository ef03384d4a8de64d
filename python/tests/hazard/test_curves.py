"""Curves, disaggregation, maps and their files, beside what a few ruptures give by hand."""

from __future__ import annotations

import math

import h5py
import numpy as np
import pytest
from craton.hazard.curves.curves import HazardCurve, combined, exceedance, hazard_curve, levels_g, rupture_exceedances
from craton.hazard.curves.disaggregation import EPSILON_EDGES, disaggregate, distances_to, epsilons
from craton.hazard.curves.export import (
    read_openquake_curves,
    write_curves_csv,
    write_hdf5,
    write_maps_csv,
    write_openquake_curves,
    write_openquake_map,
)
from craton.hazard.curves.maps import hazard_map
from hazard_curves import AT, SITES, curves_of, forecast_of


def test_levels_are_51_ten_in_a_decade():
    levels = levels_g()
    assert len(levels) == 51 and levels[0] == pytest.approx(1e-4) and levels[-1] == 10
    assert np.allclose(levels[10:], 10 * levels[:-10])


def test_two_ruptures_by_hand():
    """P = 1 - (1 - P1)^(1 - F1) (1 - P2)^(1 - F2) in 50 years."""
    forecast = forecast_of(0.01, 0.002)
    curve = hazard_curve(
        forecast, [0, 1, 0, 0, 1, 0], [0.1, 0.5, 0.2, 0.3, 0.1, 0.4], years=50, levels=[0.05, 0.1, 0.25, 0.4, 0.45, 0.6]
    )
    p1, p2 = 1 - math.exp(-0.5), 1 - math.exp(-0.1)
    above = [(1, 1), (0.75, 0.5), (0.5, 0.5), (0, 0.5), (0, 0.5), (0, 0)]
    by_hand = [1 - (1 - p1) ** a * (1 - p2) ** b for a, b in above]
    assert curve.probability == pytest.approx(by_hand, rel=1e-14)
    assert curve.annual_rates() == pytest.approx([0.01 * a + 0.002 * b for a, b in above])


def test_exceedance_is_above_not_at():
    assert exceedance([1.0, 2.0, 2.0, 3.0], [0.5, 1.0, 2.0, 3.0]).tolist() == [1.0, 0.75, 0.25, 0.0]


def test_the_order_of_ruptures_does_not_matter_to_the_last_bit():
    generator = np.random.default_rng(1)
    above = generator.random((3000, 8))
    rates = 10 ** generator.uniform(-9, -1, 3000)
    first = combined(above, rates, 30.0)
    for _ in range(5):
        order = generator.permutation(3000)
        assert combined(above[order], rates[order], 30.0).tobytes() == first.tobytes()


def test_rare_ruptures_keep_their_digits():
    assert combined([[1.0]], [1e-18], 1.0)[0] == pytest.approx(1e-18, rel=1e-12)


def test_variations_in_any_order_go_to_their_ruptures():
    generator = np.random.default_rng(2)
    owner, values = generator.integers(0, 20, 500), generator.random(500)
    found = rupture_exceedances(owner, values, 20, levels_g())
    for rupture in range(20):
        mine = values[owner == rupture]
        assert found[rupture] == pytest.approx([(mine > level).mean() for level in levels_g()])


def test_a_curve_is_read_both_ways():
    curve = HazardCurve("A", "SA(3.0)", 1.0, np.array([0.1, 0.2, 0.4, 0.8]), np.array([0.5, 0.3, 0.3, 0.1]))
    assert curve.probability_at(0.15) == pytest.approx(0.4)
    assert curve.level_at(0.4) == pytest.approx(0.15) and curve.level_at(0.2) == pytest.approx(0.6)
    assert curve.level_at(0.3) == pytest.approx(0.4)
    assert curve.level_at(0.6) == 0 and math.isnan(curve.level_at(0.05))


def test_shares_are_those_of_the_rates():
    forecast = forecast_of(0.01, 0.002, 0.004, sources="aab", magnitudes=(6.1, 6.75, 6.8))
    found = disaggregate(forecast, [0.2, 0.5, 1.0], [4e3, 12e3, 14e3], 0.3, magnitude_width=0.5, distance_width_m=10e3)
    assert found.annual_rate == pytest.approx(0.002 + 0.001 + 0.004)
    assert found.ruptures == pytest.approx([2 / 7, 1 / 7, 4 / 7]) and found.largest_rupture() == 2
    assert found.magnitude_edges == pytest.approx([6.0, 6.5, 7.0]) and found.distance_edges_m == pytest.approx(
        [0, 1e4, 2e4]
    )
    assert found.by_magnitude_distance() == pytest.approx(np.array([[2 / 7, 0], [0, 5 / 7]]))
    assert found.by_source() == pytest.approx({"b": 4 / 7, "a": 3 / 7}) and next(iter(found.by_source())) == "b"
    assert found.mean_magnitude == pytest.approx((2 * 6.1 + 6.75 + 4 * 6.8) / 7)


def test_shares_add_up_to_one():
    generator = np.random.default_rng(4)
    rates = 10 ** generator.uniform(-8, -2, 400)
    forecast = forecast_of(*rates, magnitudes=tuple(generator.uniform(5, 8, 400)), sources="abcd" * 100)
    found = disaggregate(forecast, generator.random(400), generator.uniform(0, 150e3, 400), 0.1)
    assert abs(found.shares.sum() - 1) < 1e-14 and abs(found.ruptures.sum() - 1) < 1e-14
    assert abs(sum(found.by_source().values()) - 1) < 1e-14


def test_epsilon_is_that_of_the_variations():
    """Of two ruptures by hand: deviations of ln(shaking) from the mean of the rupture's own variations."""
    forecast = forecast_of(0.01, 0.004, magnitudes=(6.1, 6.8))
    owner = np.array([0, 0, 0, 0, 1, 1])
    shaking = np.exp(np.array([0.0, 1.0, 2.0, 5.0, 3.0, 3.0]))
    level = float(np.exp(1.5))
    ln = np.log(shaking[:4])
    by_hand = (ln - ln.mean()) / ln.std()
    assert epsilons(owner, shaking, 2) == pytest.approx([*by_hand, 0.0, 0.0])
    found = disaggregate(
        forecast,
        [0.5, 1.0],
        [4e3, 12e3],
        level,
        magnitude_width=0.5,
        distance_width_m=10e3,
        variations=(owner, shaking),
    )
    # 0.005 and 0.004 per year; the first one's two variations have epsilon 0 and 1.60
    assert by_hand[2:] == pytest.approx([0.0, 1.6036], abs=1e-4)
    assert found.epsilon_shares.shape == (2, 2, len(EPSILON_EDGES) - 1)
    assert found.by_epsilon() == pytest.approx([0, 0, 0, 2.5 / 9 + 4 / 9, 0, 2.5 / 9, 0])
    assert found.epsilon_shares.sum(axis=2) == pytest.approx(found.by_magnitude_distance())
    assert found.mean_epsilon == pytest.approx((2.5 * 1.6036) / 9, abs=1e-4) and found.filled_bins == 3
    assert [one[2:4] for one in found.epsilon_bins()] == [(0.0, 0.5), (1.0, 2.0), (0.0, 0.5)]


def test_shaking_of_none_is_below_all():
    found = epsilons([0, 0, 0, 1], [0.0, 1.0, np.exp(2.0), 0.0], 2)
    assert found == pytest.approx([-np.inf, -1.0, 1.0, -np.inf])


def test_distances_to_a_site_are_those_of_the_surfaces():
    assert distances_to(forecast_of(0.1, 0.2), [70e3, 95e3]) == pytest.approx([5e3, 5e3])


def test_a_map_goes_through_its_sites_and_no_further():
    found = hazard_map(curves_of(0.5, 0.3, 0.8, 0.4), AT, 0.1)
    assert found.at(*AT.T) == pytest.approx(found.values)
    assert found.at([11e3, -1.0], [0.0, 5e3]) == pytest.approx([np.nan, np.nan], nan_ok=True)
    for kind in ("linear", "cubic"):
        inside = found.at(2e3, 2e3, kind=kind)
        assert found.values.min() * 0.9 < inside < found.values.max() * 1.1
    assert found.values[0] == pytest.approx(0.05 * math.sqrt(0.5 / 0.1 - 1), rel=0.01)  # the curve solved for its level


def test_a_map_is_linear_between_three_sites():
    curves = curves_of(0.5, 0.3, 0.8, 0.4)[:3]
    found = hazard_map(curves, AT[:3], 0.1)
    w = np.array([0.5, 0.2, 0.3])
    assert found.at(*(w @ AT[:3])) == pytest.approx(w @ found.values)


def test_curves_come_back_from_openquakes_form(tmp_path):
    curves = curves_of(0.5, 0.3, 0.8, 0.4) + curves_of(0.4, 0.2, 0.7, 0.3, measure="PGA")
    paths = write_openquake_curves(tmp_path, SITES, curves, calculation=1)
    assert [path.name for path in paths] == ["hazard_curve-mean-SA(3.0)_1.csv", "hazard_curve-mean-PGA_1.csv"]
    lines = paths[0].read_text().splitlines()
    assert lines[0].startswith("#" + "," * 53 + '"generated_by=') and lines[0].endswith("imt='SA(3.0)'\"")
    assert "kind='mean', investigation_time=50.0" in lines[0]
    assert lines[1].startswith("lon,lat,depth,poe-0.0001000,poe-0.0001259,") and lines[1].endswith("poe-10.0000000")
    assert lines[2].startswith("-118.00000,34.00000,0.00000,4.999980E-01,")
    sites, found = read_openquake_curves(paths[1])
    assert [(site.longitude_deg, site.latitude_deg) for site in sites] == [
        (s.longitude_deg, s.latitude_deg) for s in SITES
    ]
    for one, back in zip(curves[4:], found, strict=True):
        assert (back.measure, back.years) == ("PGA", 50.0)
        assert back.probability == pytest.approx(one.probability, rel=1e-6)
        assert back.levels == pytest.approx(one.levels, abs=5e-8)


def test_maps_are_written_in_openquakes_form(tmp_path):
    maps = [hazard_map(curves_of(0.5, 0.3, 0.8, 0.4), AT, p) for p in (0.1, 0.02)]
    path = write_openquake_map(tmp_path, SITES, maps)
    lines = path.read_text().splitlines()
    assert path.name == "hazard_map-mean.csv" and lines[1] == "lon,lat,SA(3.0)-0.1,SA(3.0)-0.02"
    assert lines[0].startswith('#,,,"generated_by=') and len(lines) == 6
    assert [float(word) for word in lines[3].split(",")] == pytest.approx(
        [-118.1, 34.25, maps[0].values[1], maps[1].values[1]], rel=1e-6
    )


def test_files_of_our_own_hold_every_digit(tmp_path):
    curves = curves_of(0.5, 0.3, 0.8, 0.4)
    maps = [hazard_map(curves, AT, 0.1)]
    rows = write_curves_csv(tmp_path / "curves.csv", SITES, curves).read_text().splitlines()
    assert rows[0] == "measure,years,site,longitude_deg,latitude_deg,level,probability" and len(rows) == 1 + 4 * 51
    assert float(rows[1 + 51 + 20].split(",")[-1]) == curves[1].probability[20]
    table = write_maps_csv(tmp_path / "maps.csv", SITES, maps).read_text().splitlines()
    assert table[0].endswith("SA(3.0) of 0.1 in 50 years") and float(table[2].split(",")[-1]) == maps[0].values[1]
    with h5py.File(write_hdf5(tmp_path / "hazard.h5", SITES, curves, maps), "r") as file:
        assert file["sites/name"].asstr()[:].tolist() == ["A", "B", "C", "D"]
        group = file["curves/SA(3.0)"]
        assert group.attrs["years"] == 50 and np.array_equal(group["levels"], levels_g())
        assert np.array_equal(group["probability"], [one.probability for one in curves])
        assert np.array_equal(file["maps/SA(3.0)/0/value"], maps[0].values)
        assert file["maps/SA(3.0)/0"].attrs["probability"] == 0.1
    assert not list(tmp_path.glob("*.partial"))
