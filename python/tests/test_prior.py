"""The prior covariance: positive definite, as strong as asked for, and its inverse is one."""

import numpy as np
import pytest
from craton import UserError
from craton._craton import ModelBasis
from craton.tomography.config import PriorConfig
from craton.tomography.prior import (
    EARTH_RADIUS_KM,
    even_points,
    gaussian_prior,
    inverse_covariances,
    misfit,
    unit_vectors,
)

KNOTS_M = np.linspace(3480e3, 6368e3, 7)


@pytest.fixture(scope="module")
def basis():
    return ModelBasis(3, KNOTS_M)


def pointwise_deviation(basis, config):
    """Prior standard deviation of dlnVs at points, by dense algebra on the whole covariance."""
    lateral, radial = inverse_covariances(basis, config)
    covariance = np.kron(np.linalg.inv(lateral), np.linalg.inv(radial))
    latitude, longitude = even_points(60)
    radius = np.resize(np.linspace(3600e3, 6300e3, 12), 60)
    rows = np.stack([basis.evaluate(unit, latitude, longitude, radius) for unit in np.eye(basis.size)], axis=1)
    return np.sqrt(np.einsum("pi,ij,pj->p", rows, covariance, rows))


@pytest.mark.parametrize("correlation_km", [300.0, 1000.0, 3000.0])
def test_strength_is_the_deviation_of_the_field(basis, correlation_km):
    config = PriorConfig(correlation_km=correlation_km, correlation_depth_km=400.0, strength=0.03)
    deviation = pointwise_deviation(basis, config)
    assert np.sqrt(np.mean(deviation**2)) == pytest.approx(0.03, rel=0.1)


def test_strength_may_vary_with_depth(basis):
    config = PriorConfig(
        strength=((0.0, 0.05), (800.0, 0.05), (1200.0, 0.01), (2891.0, 0.01)), correlation_depth_km=300.0
    )
    shallow = PriorConfig(strength=0.05, correlation_depth_km=300.0)
    ratio = pointwise_deviation(basis, config) / pointwise_deviation(basis, shallow)
    assert ratio.max() > 2.5 * ratio.min()


def test_inverse_of_the_textbook_covariance(basis):
    """C_lateral^-1 times the covariance of the module's equation is a multiple of the identity."""
    config = PriorConfig(correlation_km=1500.0, nugget=1e-2)
    lateral, radial = inverse_covariances(basis, config)
    knots = unit_vectors(np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg))
    chord_km = EARTH_RADIUS_KM * np.linalg.norm(knots[:, None] - knots[None, :], axis=2)
    product = lateral @ (np.exp(-(chord_km**2) / (2 * 1500.0**2)) + 1e-2 * np.eye(len(knots)))
    np.testing.assert_allclose(product / product[0, 0], np.eye(len(knots)), atol=1e-8)
    for inverse in (lateral, radial):
        assert np.array_equal(inverse, inverse.T)
        assert np.linalg.eigvalsh(inverse)[0] > 0


def test_gaussian_of_the_arc_is_not_positive_definite():
    """Why distances are chords: the same covariance with great-circle distances has a negative eigenvalue."""
    knots = unit_vectors(*even_points(400))
    arc = np.arccos(np.clip(knots @ knots.T, -1, 1))
    chord = np.linalg.norm(knots[:, None] - knots[None, :], axis=2)
    assert np.linalg.eigvalsh(np.exp(-(arc**2) / 2))[0] < -1e-6
    assert np.linalg.eigvalsh(np.exp(-(chord**2) / 2))[0] > -1e-10


def test_precision_times_is_the_kronecker_product(basis):
    prior = gaussian_prior(basis, PriorConfig())
    model = np.random.default_rng(1).standard_normal(basis.size)
    direct = np.kron(prior.lateral_inverse, prior.radial_inverse) @ model
    np.testing.assert_allclose(prior.precision_times(model), direct, rtol=1e-9, atol=1e-9 * np.abs(direct).max())
    assert misfit(model, prior.precision_times(model)) == pytest.approx(0.5 * model @ direct)


def test_singular_covariance_is_the_users_fault(basis):
    with pytest.raises(UserError, match=r"correlation_km = 20000.*nugget = 1e-14.*enlarge the nugget"):
        gaussian_prior(basis, PriorConfig(correlation_km=20000.0, nugget=1e-14))
