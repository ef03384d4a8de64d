"""The prior covariance: positive definite, as strong as asked for, and its inverse is one."""

import craton
import numpy as np
import pytest
import scipy.linalg
from craton import UserError
from craton._craton import ModelBasis
from craton.inverse.prior import misfit
from craton.tomography.config.prior import PriorConfig
from craton.tomography.model.sphere import EARTH_RADIUS_KM, even_points, unit_vectors
from craton.tomography.model.splines import lateral_matrix
from craton.tomography.prior.gaussian import gaussian_prior, gaussian_priors, lateral_covariance
from mpi4py import MPI

KNOTS_M = np.linspace(3480e3, 6368e3, 7)


@pytest.fixture(scope="module")
def basis():
    return ModelBasis(3, KNOTS_M)


def covariance_of(prior):
    """C_m whole, column by column."""
    return np.stack([prior.covariance_times(unit) for unit in np.eye(len(prior.mean))], axis=1)


def pointwise_deviation(basis, config):
    """Prior standard deviation of dlnVs at points: of each point's row of the basis with the covariance on both sides."""
    prior = gaussian_prior(basis, config)
    latitude, longitude = even_points(60)
    radius = np.resize(np.linspace(3600e3, 6300e3, 12), 60)
    rows = np.stack([basis.evaluate(unit, latitude, longitude, radius) for unit in np.eye(basis.size)], axis=1)
    return np.sqrt([row @ prior.covariance_times(row) for row in rows])


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
    part = gaussian_prior(basis, config).parts[0]
    lateral, radial = part.lateral_inverse, part.radial_inverse
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
    direct = np.kron(prior.parts[0].lateral_inverse, prior.parts[0].radial_inverse) @ model
    np.testing.assert_allclose(prior.precision_times(model), direct, rtol=1e-9, atol=1e-9 * np.abs(direct).max())
    assert misfit(model, prior.precision_times(model)) == pytest.approx(0.5 * model @ direct)


def test_singular_covariance_is_the_users_fault(basis):
    with pytest.raises(UserError, match=r"correlation_km = 20000.*nugget = 1e-14.*enlarge the nugget"):
        gaussian_prior(basis, PriorConfig(correlation_km=20000.0, nugget=1e-14))


# --------------------------------------------------------------------------------------- lengths by depth, several parameters

BY_DEPTH = PriorConfig(
    correlation_km=((0.0, 900.0), (2891.0, 2500.0)),
    correlation_depth_km=((100.0, 200.0), (2000.0, 700.0)),
    strength=((0.0, 0.05), (2891.0, 0.01)),
    nugget=1e-2,
)


def test_lengths_may_vary_with_depth(basis):
    """Each layer has the covariance of its own length, layers correlate as the radial kernel says, and all of it is positive."""
    prior = gaussian_prior(basis, BY_DEPTH)
    covariance = covariance_of(prior).reshape(basis.n_lateral, basis.n_radial, basis.n_lateral, basis.n_radial)
    depths_km = EARTH_RADIUS_KM - KNOTS_M / 1e3
    lengths_km = 900.0 + (2500.0 - 900.0) * depths_km / 2891.0
    radial = np.empty((basis.n_radial, basis.n_radial))
    for i in range(basis.n_radial):
        lateral = lateral_covariance(basis, lengths_km[i], 1e-2)
        layer = covariance[:, i, :, i]
        radial[i, i] = layer[0, 0] / lateral[0, 0]
        np.testing.assert_allclose(layer, radial[i, i] * lateral, atol=1e-9 * layer.max())
    length_km = np.interp(depths_km, (100.0, 2000.0), (200.0, 700.0))
    sigma = np.interp(depths_km, (0.0, 2891.0), (0.05, 0.01))
    i, j = 2, 5
    squares = length_km[i] ** 2 + length_km[j] ** 2
    kernel = np.sqrt(2 * length_km[i] * length_km[j] / squares) * np.exp(
        -((depths_km[i] - depths_km[j]) ** 2) / squares
    )
    expected = kernel / (1 + 1e-2) * np.sqrt(radial[i, i] * radial[j, j])
    assert sigma[i] / sigma[j] == pytest.approx(np.sqrt(radial[i, i] / radial[j, j]))
    roots = [scipy.linalg.sqrtm(lateral_covariance(basis, lengths_km[k], 1e-2)).real for k in (i, j)]
    np.testing.assert_allclose(covariance[:, i, :, j], expected * roots[0] @ roots[1], atol=1e-9 * radial.max())
    whole = covariance.reshape(basis.size, basis.size)
    assert np.linalg.eigvalsh(0.5 * (whole + whole.T))[0] > 0
    np.testing.assert_allclose(prior.log_determinant, -np.linalg.slogdet(whole)[1], rtol=1e-9)


def test_one_length_at_all_depths_is_the_separable_prior(basis):
    one = gaussian_prior(basis, PriorConfig())
    pairs = gaussian_prior(basis, PriorConfig(correlation_km=((0.0, 1000.0),), correlation_depth_km=((0.0, 400.0),)))
    model = np.random.default_rng(4).standard_normal(basis.size)
    assert np.array_equal(pairs.precision_times(model), one.precision_times(model))


def test_the_layered_form_agrees_with_the_separable_one(basis):
    """Lengths that differ by nothing that matters."""
    nearly = PriorConfig(correlation_km=((0.0, 1000.0), (2891.0, 1000.0 + 1e-6)))
    model = np.random.default_rng(4).standard_normal(basis.size)
    for times in ("precision_times", "covariance_times"):
        one, other = (getattr(gaussian_prior(basis, config), times)(model) for config in (PriorConfig(), nearly))
        np.testing.assert_allclose(one, other, atol=1e-6 * np.abs(one).max())


@pytest.mark.parametrize("config", [PriorConfig(), BY_DEPTH], ids=["separable", "layered"])
def test_parts_agree_with_each_other(basis, config):
    """Products with C_m and its inverse, the elements that a matrix gets, the determinant, the deviation at knots."""
    world = craton.World(MPI.COMM_SELF)
    prior = gaussian_priors([("dlnVs", basis, config), ("dlnxi", ModelBasis(1, KNOTS_M), config)]).strengthened(0.5)
    n = len(prior.mean)
    assert [(block.name, block.offset) for block in prior.blocks] == [("dlnVs", 0), ("dlnxi", basis.size)]
    system = craton.SymmetricMatrix(world, n, dtype="float64", block=8)
    prior.add_to(system)
    system.commit()
    precision = system.gather()
    assert not precision[: basis.size, basis.size :].any()
    model = np.random.default_rng(4).standard_normal(n)
    np.testing.assert_allclose(prior.precision_times(model), precision @ model, atol=1e-8 * np.abs(precision).max())
    np.testing.assert_allclose(prior.covariance_times(precision @ model), model, atol=1e-7)
    assert prior.log_determinant == pytest.approx(np.linalg.slogdet(precision)[1])
    for part in prior.parts:
        own = np.zeros((n, n))
        for held in system.triangle:
            for rows, cols, elements in part.own_elements(held):
                at = held.rows[rows], held.cols[cols]
                own[np.ix_(*at)] = elements
                own[np.ix_(*at[::-1])] = elements.T
        within = part.block.within
        np.testing.assert_allclose(
            prior.scale * own[within, within], precision[within, within], atol=1e-9 * np.abs(precision).max()
        )
        knots = basis if part.block.lateral == basis.n_lateral else ModelBasis(1, KNOTS_M)
        lateral = lateral_matrix(knots, np.asarray(knots.latitude_deg), np.asarray(knots.longitude_deg))
        radial = knots.radial_values(np.asarray(knots.radial_knots_m))
        rows = np.kron(lateral.toarray(), radial)
        covariance = np.linalg.inv(own[within, within])
        expected = np.sqrt(np.einsum("pi,ij,pj->p", rows, covariance, rows)).reshape(
            part.block.lateral, part.block.radial
        )
        np.testing.assert_allclose(part.knot_deviation(lateral, radial), expected, rtol=1e-6)
