"""Hazard on a grid whose x axis does not point north: the same as on one whose does, with everything turned."""

from __future__ import annotations

from dataclasses import replace

import h5py
import numpy as np
import pytest
from craton.errors import UserError
from craton.hazard.config import load_config
from craton.hazard.forecast.faults import simple_fault
from craton.hazard.forecast.rupture import Rupture
from craton.hazard.forecast.surfaces import surface_of_nodes
from craton.hazard.motion.green_tensors import GreenTensors
from craton.hazard.motion.seismograms import seismograms
from craton.hazard.pipeline.work import Work
from craton.pages.maps import axis_names
from hazard_config import write_config
from hazard_pipeline import run_here
from hazard_runs import made_up
from hazard_variations import variation_of

AZIMUTH = 47.0
TURNED = ("origin_lon_lat = [10.0, 45.0]", f"origin_lon_lat = [10.0, 45.0]\nazimuth_deg = {AZIMUTH}")


def in_degrees(folder):
    """Sites and faults of the turned grid by longitude and latitude, at the same x and y."""
    grid = Work.of(load_config(write_config(folder, TURNED))).grid
    changes = [TURNED]

    def lon_lat(x, y):
        lon, lat = grid.lon_lat(x, y)
        return f"[{float(lon)!r}, {float(lat)!r}]"

    for x, y in ((9000.0, 9000.0), (20000.0, 12000.0)):
        changes.append((f"position_m = [{x}, {y}]", f"lon_lat = {lon_lat(x, y)}"))
    for (a, b), (c, d) in (((8000.0, 16000.0), (20000.0, 18000.0)), ((8000.0, 12000.0), (16000.0, 13000.0))):
        text = f"trace_m = [[{a}, {b}], [{c}, {d}]]"
        changes.append((text, f"trace_lon_lat = [{lon_lat(a, b)}, {lon_lat(c, d)}]"))
    return changes


def test_a_turned_run_has_the_same_curves(tmp_path):
    """All of a run, from degrees to curves: where everything is turned together, nothing changes."""
    (tmp_path / "turned").mkdir()
    one = run_here(write_config(tmp_path), tmp_path / "north")
    other = run_here(write_config(tmp_path / "turned", *in_degrees(tmp_path)), tmp_path / "turned" / "run")
    strikes = [results.work.forecast.ruptures[0].surface.strike for results in (one, other)]
    assert np.allclose(strikes[1] - strikes[0], AZIMUTH, atol=1e-4)
    for site in "AB":
        values = []
        for results in (one, other):
            with h5py.File(results.folder.finished(site)) as file:
                values.append((file["measures/psa"][()], file["rupture/largest/velocity_m_s"][()]))
        (psa, velocity), (turned_psa, turned_velocity) = values
        print(f"{site}: PSA {np.abs(turned_psa / psa - 1).max():.1e}")
        np.testing.assert_allclose(turned_psa, psa, rtol=1e-4)
        np.testing.assert_allclose(turned_velocity, velocity, atol=1e-4 * np.abs(velocity).max())
    for a, b in zip(one.all_curves(), other.all_curves(), strict=True):
        np.testing.assert_allclose(b.probability, a.probability, rtol=1e-9)
    # sites lie elsewhere on the Earth: round the grid's corner
    assert one.sites[0].longitude_deg != pytest.approx(other.sites[0].longitude_deg, abs=1e-3)
    page = other.folder.report.read_text()
    assert len(page) > 1000


def test_a_turned_surface_has_the_same_seismograms(tmp_path):
    folders = [tmp_path / name for name in ("north", "turned")]
    velocities = []
    for folder, azimuth in zip(folders, (0.0, AZIMUTH), strict=True):
        folder.mkdir()
        paths, _, position = made_up(folder, azimuth_deg=azimuth)
        green = GreenTensors.open(paths)
        nodes = np.stack([position[:3], position[:3] + [0.0, 300.0, 900.0]])
        nodes[:, :, 0] = 1000.0 * np.arange(3)
        surface = surface_of_nodes(nodes, 30.0, azimuth)
        rupture = Rupture("turned", 0, 6.0, 0.1, surface)
        velocities.append(next(seismograms(green, rupture, [variation_of(2, 1)], reach_m=1e5)))
        elsewhere = replace(rupture, surface=replace(surface, azimuth_deg=azimuth + 1))
        with pytest.raises(UserError, match=rf"rupture 0 of 'turned': its x axis .* {azimuth + 1:g} degrees; allowed"):
            next(seismograms(green, elsewhere, [variation_of(2, 1)], reach_m=1e5))
    assert np.abs(velocities[0]).max() > 0
    np.testing.assert_allclose(velocities[1], velocities[0], rtol=1e-4, atol=1e-6 * np.abs(velocities[0]).max())


def test_axes_are_called_what_they_are():
    assert axis_names(0.0) == axis_names(360.0) == {"x": "north", "y": "east", "z": "down"}
    assert axis_names(300.0) == {"x": "x (300°)", "y": "y (30°)", "z": "down"}


def test_faults_in_metres_turn_with_the_grid(tmp_path):
    """A strike from north is the trace's own azimuth."""
    work = Work.of(load_config(write_config(tmp_path, TURNED)))
    north = work.forecast.ruptures[0].surface
    assert np.allclose(north.strike, AZIMUTH + np.degrees(np.arctan2(2, 12)))
    with pytest.raises(UserError, match="azimuth_deg = 400"):
        replace(north, azimuth_deg=400.0)
    alone = simple_fault(
        "f", trace_m=[[0, 0], [1e4, 0]], upper_depth_m=0, lower_depth_m=5e3, dip_deg=90, rake_deg=0, place=work.grid
    )
    assert np.allclose(alone.surface(1e3).strike, AZIMUTH)
