"""The target: the pattern it should be, and a projection that is one."""

import dataclasses

import numpy as np
import pytest
from craton._craton import ModelBasis
from craton.tomography.config.tables import TargetConfig
from craton.tomography.model.sphere import even_points
from craton.tomography.model.target import (
    checkerboard,
    finer_basis,
    make_target,
    project,
    projected,
    sampled_target,
)

CONFIG = TargetConfig()
MANTLE_M = (3480e3, 6368e3)


@pytest.fixture(scope="module")
def basis():
    return ModelBasis(4, np.linspace(*MANTLE_M, 10))


def test_checkerboard_is_a_spherical_harmonic_of_its_degree():
    """A sum over the sphere against every real zonal harmonic of another degree vanishes; its largest value is 1."""
    latitude, longitude = even_points(20000)
    pattern = checkerboard(latitude, longitude, 8)
    assert np.max(np.abs(pattern)) == pytest.approx(1.0, abs=0.01)
    # Laplace's operator by finite differences: -l (l + 1) times the pattern
    step = 0.5
    near = [checkerboard(*rotated(latitude, longitude, azimuth, step), 8) for azimuth in (0.0, 90.0, 180.0, 270.0)]
    laplacian = (sum(near) - 4 * pattern) / np.radians(step) ** 2
    strong = np.abs(pattern) > 0.3
    np.testing.assert_allclose(laplacian[strong] / pattern[strong], -8 * 9, rtol=0.02)


def rotated(latitude, longitude, azimuth_deg, step_deg):
    """Points at a small distance along an azimuth."""
    lat, az, angle = np.radians(latitude), np.radians(azimuth_deg), np.radians(step_deg)
    sine = np.sin(lat) * np.cos(angle) + np.cos(lat) * np.sin(angle) * np.cos(az)
    east = np.sin(az) * np.sin(angle) * np.cos(lat)
    return np.degrees(np.arcsin(sine)), longitude + np.degrees(np.arctan2(east, np.cos(angle) - np.sin(lat) * sine))


def test_sign_changes_with_depth():
    config = dataclasses.replace(CONFIG, plume_amplitude=0.0)
    latitude, longitude = even_points(2000)
    strongest = int(np.argmax(checkerboard(latitude, longitude, 8)))
    radius = np.linspace(*MANTLE_M, 201)
    profile = sampled_target(config, latitude[[strongest]], longitude[[strongest]], radius, MANTLE_M)[0]
    assert np.count_nonzero(np.diff(np.sign(profile))) == config.checkerboard_depth_nodes


def test_plume_falls_to_one_over_e_at_its_radius():
    config = dataclasses.replace(CONFIG, checkerboard_amplitude=0.0)
    radius_m = np.array([5000e3])
    angle = np.degrees(np.arcsin(config.plume_radius_km * 1e3 / radius_m[0]))
    geocentric = np.degrees(np.arctan((1 - 1 / 298.257223563) ** 2 * np.tan(np.radians(config.plume_latitude_deg))))
    latitude = geocentric + np.array([0.0, -angle])
    longitude = np.full(2, config.plume_longitude_deg)
    axis, edge = sampled_target(config, latitude, longitude, radius_m, MANTLE_M)[:, 0]
    assert axis == pytest.approx(config.plume_amplitude)
    assert edge == pytest.approx(config.plume_amplitude / np.e)
    antipode = sampled_target(config, -latitude[:1], longitude[:1] + 180.0, radius_m, MANTLE_M)
    assert antipode[0, 0] == 0.0


def test_projection_finds_a_model_of_the_basis_again(basis):
    model = np.random.default_rng(3).standard_normal(basis.size)
    latitude, longitude = even_points(12 * basis.n_lateral)
    radius = np.linspace(*MANTLE_M, 101)
    offsets, knots, values = basis.lateral_weights(latitude, longitude)
    lateral = np.zeros((len(latitude), basis.n_lateral))
    lateral[np.repeat(np.arange(len(latitude)), np.diff(offsets)), knots] = values
    field = lateral @ model.reshape(basis.n_lateral, -1) @ basis.radial_values(radius).T
    np.testing.assert_allclose(project(basis, field, latitude, longitude, radius), model, atol=1e-8)


def test_filtered_target_resembles_the_target(basis):
    latitude, longitude = even_points(3001)
    model = make_target(basis, CONFIG)
    for depth_m in (200e3, 1500e3, 2600e3):
        radius = 6371e3 - depth_m
        ours = basis.evaluate(model, latitude, longitude, np.full(3001, radius))
        theirs = sampled_target(CONFIG, latitude, longitude, np.array([radius]), MANTLE_M)[:, 0]
        assert np.corrcoef(ours, theirs)[0, 1] > 0.97


def test_target_is_the_same_every_time(basis):
    assert np.array_equal(make_target(basis, CONFIG), make_target(basis, CONFIG))


def test_a_finer_basis_holds_more(basis):
    """Twice as many knots each way; what it holds of the target is nearer to the target, and its projection is the target's own."""
    fine = finer_basis(basis)
    assert (fine.n_lateral, fine.n_radial) == (2562, 19)
    latitude, longitude = even_points(3001)
    radius_m = 6371e3 - 1500e3
    theirs = sampled_target(CONFIG, latitude, longitude, np.array([radius_m]), MANTLE_M)[:, 0]
    models = {"coarse": (basis, make_target(basis, CONFIG)), "fine": (fine, make_target(fine, CONFIG))}
    lost = {
        name: np.std(splines.evaluate(model, latitude, longitude, np.full(3001, radius_m)) - theirs)
        for name, (splines, model) in models.items()
    }
    assert lost["fine"] < 0.5 * lost["coarse"]
    back = projected(fine, models["fine"][1], basis)
    np.testing.assert_allclose(back, models["coarse"][1], atol=0.03 * np.abs(back).max())
