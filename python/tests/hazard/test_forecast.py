"""Forecasts: faults expanded into ruptures, and forecasts read from files."""

from __future__ import annotations

import math
import re
from pathlib import Path

import numpy as np
import pytest
from craton.hazard.forecast.config import (
    VariationsConfig,
    variation_rules,
)
from craton.hazard.forecast.faults import Floating, fault_ruptures, simple_fault, whole_surface_ruptures
from craton.hazard.forecast.forecast import Forecast, annual_rate
from craton.hazard.forecast.magnitude_area import RELATIONS, relation
from craton.hazard.forecast.magnitude_frequency import characteristic, gutenberg_richter, youngs_coppersmith
from craton.hazard.forecast.nrml import read_nrml
from craton.hazard.forecast.srf_ruptures import read_srf_rupture, read_srf_ruptures
from craton.hazard.forecast.surfaces import joyner_boore_distance, nodes_of, part, rupture_distance, surface_of_nodes
from craton.hazard.forecast.tables import read_opensha_rupture, read_table
from craton.settings import read_table as read_settings
from hazard_faults import CHARACTERISTIC_SOURCE, PLACE, PLANAR_SOURCE, SIMPLE_SOURCE, TURNED, nrml, straight
from hazard_forecasts import FAULT, OPENSHA, TABLE, configured, srf_of


def test_a_vertical_fault_along_x_is_cut_evenly():
    surface = straight().surface(1000.0)
    assert (surface.rows, surface.columns) == (12, 40)
    assert np.allclose(surface.area, 1e6) and np.allclose(surface.strike % 360, 0) and np.allclose(surface.dip, 90)
    assert np.allclose(surface.positions[0], [50.5e3, 100e3, 500])
    assert np.allclose(surface.positions[40], [50.5e3, 100e3, 1500])  # the second row


@pytest.mark.parametrize("azimuth", [0.0, 37.0, 200.0])
@pytest.mark.parametrize("dip", [20.0, 45.0, 80.0])
def test_a_fault_dips_to_the_right_of_its_trace(azimuth, dip):
    """Strike, dip and area against the definition."""
    a, d = math.radians(azimuth), math.radians(dip)
    end = np.array([math.cos(a), math.sin(a)]) * 20e3
    fault = simple_fault("f", trace_m=[[0, 0], end], upper_depth_m=2e3, lower_depth_m=10e3, dip_deg=dip, rake_deg=90.0)
    surface = fault.surface(1000.0)
    assert np.allclose(surface.strike, azimuth) and np.allclose(surface.dip, dip)
    assert math.isclose(surface.area.sum(), 20e3 * 8e3 / math.sin(d))
    right = np.array([-math.sin(a), math.cos(a)])
    assert np.allclose(surface.positions[:, :2] @ right, surface.positions[:, 2] / math.tan(d))


def test_nodes_are_found_again_from_the_middles():
    nodes = straight(dip_deg=35.0).nodes(2000.0)
    surface = surface_of_nodes(nodes, 90.0)
    assert np.allclose(nodes_of(surface), nodes, atol=1e-6)
    row = part(surface, slice(0, 1), slice(0, surface.columns))
    assert np.allclose(nodes_of(row), nodes[:2], atol=1e-6)
    one = part(surface, slice(2, 3), slice(4, 5))
    assert np.allclose(nodes_of(one)[0, 1] - nodes_of(one)[0, 0], [math.sqrt(surface.area[0]), 0, 0], atol=1e-6)


def test_a_bent_trace_keeps_its_length_and_strikes():
    fault = simple_fault(
        "bent",
        trace_m=[[0, 0], [10e3, 0], [10e3 + 6e3, 8e3]],
        upper_depth_m=0,
        lower_depth_m=5e3,
        dip_deg=90,
        rake_deg=0,
    )
    surface = fault.surface(1000.0)
    assert surface.columns == 20 and np.allclose(surface.area, 1e6)
    strike = surface.strike.reshape(5, 20)
    assert np.allclose(strike[:, :10] % 360, 0) and np.allclose(strike[:, 10:], math.degrees(math.atan2(8, 6)))


def test_distances_are_those_of_the_plane():
    surface = straight(dip_deg=45.0, top_m=3e3, bottom_m=9e3).surface(200.0)
    beside = [[70e3, 90e3], [70e3, 106e3], [40e3, 103e3]]  # left of the trace, above it, beyond its end
    near = rupture_distance(surface, beside)
    assert near[0] == pytest.approx(math.hypot(13e3, 3e3), rel=1e-4)
    assert near[1] == pytest.approx(6e3 / math.sqrt(2), rel=1e-3)
    assert joyner_boore_distance(surface, beside) == pytest.approx([13e3, 0, 10e3], abs=150)


def test_moment_rates_balance():
    """What ruptures release is rigidity x area x slip rate, whatever the shape."""
    fault = straight(bottom_m=15e3)
    rate = fault.moment_rate_Nm(12.0, 3e10)
    assert rate == pytest.approx(3e10 * 40e3 * 15e3 * 0.012)
    shapes = {
        "characteristic": characteristic(7.0, rate),
        "about one": characteristic(7.0, rate, sigma=0.12),
        "truncated": gutenberg_richter(0.9, 6.0, 7.2, moment_rate_Nm=rate),
        "youngs_coppersmith": youngs_coppersmith(0.8, 6.0, 7.0, rate),
    }
    for name, shape in shapes.items():
        released = sum(r.annual_rate * 10 ** (1.5 * r.magnitude + 9.1) for r in fault_ruptures(fault, shape))
        assert released == pytest.approx(rate, rel=1e-12), name


def test_rates_follow_gutenberg_and_richter():
    found = gutenberg_richter(0.9, 5.5, 7.5, a_value=3.2)
    assert np.allclose(found.magnitudes, 5.55 + 0.1 * np.arange(20))
    assert found.annual_rates.sum() == pytest.approx(10 ** (3.2 - 0.9 * 5.5) - 10 ** (3.2 - 0.9 * 7.5))
    assert np.allclose(found.annual_rates[1:] / found.annual_rates[:-1], 10**-0.09)


def test_youngs_and_coppersmith_box_is_as_high_as_the_exponential_below():
    found = youngs_coppersmith(1.0, 5.0, 7.25, 1e17, bin_width=0.05)
    density = found.annual_rates / 0.05
    box = density[found.magnitudes > 7.0]
    assert np.allclose(box, box[0])
    below = density[np.abs(found.magnitudes - 6.0) < 0.05]  # either side of 6.0, one below the box's lower end
    assert below.min() < box[0] < below.max()
    assert np.sqrt(below.prod()) == pytest.approx(box[0], rel=1e-3)


def test_areas_are_the_published_ones():
    assert relation("WC1994").area_km2(7.0, 180) == pytest.approx(10**2.88)
    assert relation("WC1994").area_km2(7.0, 90) == pytest.approx(10**2.87)
    assert relation("WC1994").area_km2(7.0, -90) == pytest.approx(10**2.87)
    assert relation("WC1994").magnitude(1000.0, 0) == pytest.approx(3.98 + 3.06)
    assert relation("HanksBakun2008").magnitude(537.0, 0) == pytest.approx(6.71, abs=0.005)
    for name in RELATIONS.keys() - {"WC1994"}:
        for magnitude in (5.5, 6.5, 7.5):
            assert RELATIONS[name].magnitude(RELATIONS[name].area_km2(magnitude, 10), 10) == pytest.approx(magnitude)


def test_ruptures_float_over_all_of_the_fault():
    fault = straight(60e3, bottom_m=15e3)
    floating = Floating(spacing_m=1000.0, aspect_ratio=2.0, relation="PeerMSR")
    found = fault_ruptures(fault, gutenberg_richter(1.0, 6.0, 6.2, a_value=3, bin_width=0.2), floating)
    first = found[0].surface
    assert first.area.sum() == pytest.approx(10 ** (6.1 - 4) * 1e6, rel=0.06)  # sides are whole subfaults
    assert (first.rows, first.columns) == (8, 16)
    assert len(found) == (15 - 8 + 1) * (60 - 16 + 1) and [one.number for one in found] == list(range(len(found)))
    assert sum(one.annual_rate for one in found) == pytest.approx(1e-3 - 10**-3.2)
    assert len({one.annual_rate for one in found}) == 1
    covered = {tuple(np.round(at)) for one in found for at in one.surface.positions}
    assert len(covered) == 15 * 60
    coarse = fault_ruptures(
        fault, gutenberg_richter(1.0, 6.0, 6.2, a_value=3, bin_width=0.2), Floating(1000.0, 10e3, 2.0, "PeerMSR")
    )
    ends = {one.surface.positions[:, 0].max() for one in coarse}
    assert len(coarse) == 2 * 6 and max(ends) == pytest.approx(109.5e3)  # the last position ends with the fault


def test_a_rupture_too_large_for_the_fault_takes_all_of_it():
    fault = straight()
    (found,) = fault_ruptures(fault, characteristic(8.5, fault.moment_rate_Nm(10)))
    assert found.surface.area.sum() == pytest.approx(40e3 * 12e3)
    (wide,) = whole_surface_ruptures("s", fault.surface(2000.0), characteristic(7.0, 1e17))
    assert wide.annual_rate == pytest.approx(1e17 / 10**19.6)


def test_probabilities_are_those_of_a_poisson_process():
    fault = straight()
    forecast = Forecast(tuple(whole_surface_ruptures("s", fault.surface(2000.0), characteristic(7.0, 1e17))))
    rate = forecast.annual_rates[0]
    assert forecast.probabilities(50)[0] == pytest.approx(1 - math.exp(-50 * rate))
    assert annual_rate(1 - math.exp(-50 * rate), 50) == pytest.approx(rate)


def test_an_openquake_model_is_expanded(tmp_path):
    path = tmp_path / "model.xml"
    path.write_text(nrml(SIMPLE_SOURCE, CHARACTERISTIC_SOURCE, PLANAR_SOURCE))
    forecast = read_nrml(path, PLACE, floating=Floating(spacing_m=2000.0))
    of = {name: [one for one in forecast.ruptures if one.source == name] for name in "123"}
    assert sorted({round(one.magnitude, 6) for one in of["1"]}) == [6.05, 6.15, 6.25, 6.35, 6.45, 6.55]
    total = sum(one.annual_rate for one in of["1"])
    assert total == pytest.approx(10 ** (3 - 0.9 * 6.0) - 10 ** (3 - 0.9 * 6.6))
    assert [(one.magnitude, one.annual_rate) for one in of["2"]] == [(6.9, 0.005), (7.1, 0.001)]
    assert [(round(one.magnitude, 9), one.annual_rate) for one in of["3"]] == [(6.5, 0.002), (6.7, 0.001)]
    assert {float(one.surface.rake[0]) for one in of["1"]} == {90.0}
    whole = of["1"][-1].surface
    assert whole.positions[:, 2].min() >= 1000 and whole.positions[:, 2].max() <= 12000
    plane = of["3"][0].surface
    east = PLACE.x_y(-117.8, 34.1)[1] - PLACE.x_y(-117.9, 34.1)[1]
    assert plane.dip == pytest.approx(np.full(len(plane), math.degrees(math.atan2(8e3, float(east)))), abs=0.1)
    assert plane.strike % 360 == pytest.approx(plane.strike[0] % 360, abs=0.2)
    assert forecast.outside(PLACE.size_m) == ()


def test_positions_turn_with_the_grid(tmp_path):
    """The same ground, and strikes from north, wherever the x axis points."""
    path = tmp_path / "model.xml"
    path.write_text(nrml(CHARACTERISTIC_SOURCE))
    straight_up, turned = (read_nrml(path, place).ruptures[0].surface for place in (PLACE, TURNED))
    for place, surface in ((PLACE, straight_up), (TURNED, turned)):
        lon, lat = place.lon_lat(surface.positions[:, 0], surface.positions[:, 1])
        assert np.allclose(lon, -118.4, atol=1e-5) and lat.min() > 33.9 and lat.max() < 34.2
    assert (straight_up.azimuth_deg, turned.azimuth_deg) == (0, 30)
    assert np.allclose(turned.strike, straight_up.strike, atol=1e-6)
    assert np.allclose(turned.strike_from_x, straight_up.strike - 30, atol=1e-6)
    # nodes lie where they lay, carried on beyond the edges along the strike
    for surface in (straight_up, turned, part(turned, slice(0, 1), slice(0, 1))):
        again = surface_of_nodes(nodes_of(surface), surface.rake, surface.azimuth_deg)
        assert np.allclose(again.positions, surface.positions, atol=1e-6)
        assert np.allclose(again.strike, surface.strike, atol=1e-6)


def test_a_table_of_probabilities_is_read(tmp_path):
    path = tmp_path / "ruptures.csv"
    path.write_text(TABLE)
    forecast = read_table(path, PLACE, years=5.0, spacing_m=2000.0)
    assert [(one.source, one.number, one.magnitude) for one in forecast.ruptures] == [
        ("a", 0, 6.8),
        ("a", 1, 7.1),
        ("b", 0, 6.5),
    ]
    assert forecast.probabilities(5.0) == pytest.approx([0.01, 0, 0.5])
    assert forecast.ruptures[2].surface.positions[:, 2].min() > 2000


def test_a_table_of_rates_in_metres_needs_no_place(tmp_path):
    path = tmp_path / "r.csv"
    path.write_text(
        "rupture,magnitude,annual_rate,rake,dip,upper_depth_km,lower_depth_km,trace_m\n7,6.8,0.002,0,90,0,8,0 0; 10000 0\n"
    )
    (one,) = read_table(path, spacing_m=1000.0).ruptures
    assert (one.source, one.number, one.annual_rate, len(one.surface)) == ("r", 7, 0.002, 80)


def test_a_rupture_of_opensha_is_read(tmp_path):
    path = tmp_path / "0_1.txt"
    path.write_text(OPENSHA)
    one = read_opensha_rupture(path, TURNED, source="0", number=1, years=50)
    assert (one.name, one.magnitude, one.surface.rows, one.surface.columns) == ("rupture 1 of '0'", 6.05, 2, 3)
    assert one.annual_rate == pytest.approx(-math.log(0.98) / 50)
    assert np.allclose((one.surface.strike + 180) % 360, 180.0, atol=0.01) and np.allclose(one.surface.area, 1e6)
    assert one.surface.azimuth_deg == 30
    assert one.surface.positions[3, 2] == 1500


def test_a_rupture_model_keeps_its_own_slip(tmp_path):
    path = tmp_path / "fault.srf"
    subfaults = srf_of(path)
    rupture, variation = read_srf_rupture(path, PLACE, source="fault", annual_rate=0.001, index=4)
    assert (rupture.surface.rows, rupture.surface.columns, variation.rupture) == (2, 5, 4)
    x = rupture.surface.positions[:, 0].reshape(2, 5)
    assert np.all(np.diff(x, axis=1) > 900) and np.allclose(x[0], x[1], atol=1)
    order = [0, 1, 2, 6, 7, 3, 4, 5, 8, 9]  # rows of both segments side by side
    slip = np.array([math.hypot(*subfaults[i].slips_m[:2]) for i in order])
    assert np.allclose(variation.slip, slip) and np.allclose(variation.onset, 0.1 * np.array(order))
    assert np.allclose(variation.rise, 2.0) and variation.hypocentre == 0
    assert np.allclose(rupture.surface.rake, 170 + math.degrees(math.atan(0.1)))
    moment = 2700 * 3000**2 * 1e6 * slip.sum()
    assert 10 ** (1.5 * rupture.magnitude + 9.1) == pytest.approx(moment)


def test_forecasts_add_up(tmp_path):
    path = tmp_path / "fault.srf"
    srf_of(path)
    own = read_srf_ruptures([("s", path, 0.001), ("s", path, 0.002), ("t", path, 0.003)], PLACE)
    assert [one.name for one in own.ruptures] == ["rupture 0 of 's'", "rupture 1 of 's'", "rupture 0 of 't'"]
    fault = Forecast(tuple(whole_surface_ruptures("f", straight().surface(4000.0), characteristic(7.0, 1e17))))
    both = fault + own
    assert [one.rupture for one in both.variations] == [1, 2, 3]
    less = both.without([0, 2])
    assert [one.annual_rate for one in less.ruptures] == [0.001, 0.003] and [
        one.rupture for one in less.variations
    ] == [0, 1]
    assert both.outside((200e3, 200e3, 9e3)) == (0,) and both.outside((200e3, 200e3, 50e3)) == ()


def test_a_configuration_names_faults_and_files(tmp_path):
    (tmp_path / "model.xml").write_text(nrml(SIMPLE_SOURCE))
    (tmp_path / "ruptures.csv").write_text(TABLE.replace("a,", "c,"))
    (tmp_path / "0_1.txt").write_text(OPENSHA)
    srf_of(tmp_path / "fault.srf")
    faults = [
        {**FAULT, "slip_rate_mm_yr": 5.0},
        {**FAULT, "name": "gr", "slip_rate_mm_yr": 2.0, "frequency": "gutenberg_richter", "smallest": 6.5},
        {**FAULT, "name": "yc", "annual_rate": 0.02, "frequency": "youngs_coppersmith", "magnitude": 7.0},
    ]
    kinds = {"nrml": "model.xml", "table": "ruptures.csv", "opensha": "0_1.txt", "srf": "fault.srf"}
    models = [{"kind": kind, "file": name, "annual_rate": 0.001} for kind, name in kinds.items()]
    models.append({"kind": "srf", "file": "fault.srf", "annual_rate": 0.002})
    whole = configured(tmp_path, faults, models, subfault_m=2000.0, years=10.0, step_m=6000.0)
    assert tuple(dict.fromkeys(whole.sources)) == ("a", "gr", "yc", "1", "c", "b", "0_1", "fault")
    first = whole.ruptures[0]
    assert first.magnitude == pytest.approx(3.98 + 1.02 * math.log10(480))
    assert first.annual_rate * 10 ** (1.5 * first.magnitude + 9.1) == pytest.approx(3e10 * 480e6 * 0.005)
    assert sum(one.annual_rate for one in whole.ruptures if one.source == "yc") == pytest.approx(0.02)
    largest = max(one.magnitude for one in whole.ruptures if one.source == "gr")
    assert largest < first.magnitude < largest + 0.1
    of_table = [one for one in whole.ruptures if one.source == "c"]
    assert of_table[0].annual_rate == pytest.approx(-math.log(0.99) / 10)
    last = whole.ruptures[-2:]
    assert [(one.number, one.annual_rate) for one in last] == [(0, 0.001), (1, 0.002)]
    assert [whole.ruptures[one.rupture].name for one in whole.variations] == [one.name for one in last]


def test_a_configuration_names_rules(tmp_path):
    table = {"slips": 3, "strike_spacing_km": 10.0, "seed": 4, "vs_m_s": 3200.0, "rise_times": "somerville_1999"}
    rules = variation_rules(read_settings(VariationsConfig, "variations", table, "c.toml", tmp_path))
    assert (rules.slips, rules.strike_spacing_m, rules.seed, rules.vs_m_s) == (3, 10e3, 4, 3200.0)
    assert rules.rise_times == "somerville_1999" and rules.dip_spacing_m == 20e3


def test_the_snippet_of_the_page_runs():
    page = Path(__file__).resolve().parents[3] / "docs" / "hazard_forecast.md"
    if not page.exists():
        pytest.skip("the documentation is not beside the tests")
    [snippet] = re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.DOTALL | re.MULTILINE)
    exec(compile(snippet, page.name, "exec"), found := {})
    assert 0 < found["curve"].level_at(0.02) < 10
