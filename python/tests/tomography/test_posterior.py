"""The posterior of 504 parameters on 1 to 4 ranks (programs/posterior_case.py) against dense linear algebra."""

import sys
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
from craton._launch import run_under_mpi
from craton.inverse.posterior import correlation_of
from craton.tomography.config.prior import PriorConfig
from craton.tomography.config.values import at_depth
from craton.tomography.model.sphere import unit_vectors
from craton.tomography.model.splines import lateral_matrix
from craton.tomography.posterior.rows import column_rows, field_rows, knot_rows
from scipy.spatial.distance import cdist

PROGRAMS = Path(__file__).resolve().parents[1] / "programs"
sys.path.insert(0, str(PROGRAMS))

import posterior_case as case

CLOSE = {"rtol": 0, "atol": 1e-5}
"""Of what is divided by its largest element: the accuracy that is promised for variances."""


@pytest.fixture(scope="module", params=[(1, None), (2, None), (3, None), (4, None), (4, 2)], ids=str)
def found(request, tmp_path_factory):
    folder, (ranks, ranks_per_node) = tmp_path_factory.mktemp("posterior"), request.param
    program = PROGRAMS / "posterior_case.py"
    assert (
        run_under_mpi([str(program), str(folder)], ranks, ranks_per_node=ranks_per_node, program=[sys.executable]) == 0
    )
    with np.load(folder / "found.npz") as stored:
        return {name: stored[name] for name in stored.files}


def dense_precision(prior):
    return np.stack([prior.precision_times(unit) for unit in np.eye(len(prior.mean))], axis=1)


@pytest.fixture(scope="module")
def dense():
    """H, C_m^-1 and A^-1 whole."""
    prior = case.priors()
    hessian, gradient, model = case.problem(len(prior.mean))
    precision = dense_precision(prior)
    return hessian, precision, np.linalg.inv(hessian + precision), gradient, model


def near(one, other, tolerance=1e-7):
    np.testing.assert_allclose(one, other, rtol=0, atol=tolerance * np.abs(other).max())


def test_mean_and_misfit(found, dense):
    hessian, precision, covariance, gradient, model = dense
    step = covariance @ (gradient - precision @ model)
    near(found["mean"], model + step)
    near(found["log_determinant"], np.linalg.slogdet(hessian + precision)[1])
    mean = model + step
    chi = [case.CHI - gradient @ step + 0.5 * step @ hessian @ step, 0.5 * mean @ precision @ mean]
    evidence = -sum(chi) - 0.5 * (np.linalg.slogdet(hessian + precision)[1] - np.linalg.slogdet(precision)[1])
    np.testing.assert_allclose(found["chi"], [*chi, evidence], rtol=1e-7)


def test_variance_of_coefficients_and_of_the_field(found, dense):
    """What is promised: 1e-5."""
    covariance, (one, other), (vs, xi) = dense[2], case.bases(), case.priors().blocks
    np.testing.assert_allclose(found["variance"], np.diag(covariance), rtol=1e-5)
    rows = np.concatenate([knot_rows(block, basis, 504).toarray() for block, basis in ((vs, one), (xi, other))])
    np.testing.assert_allclose(found["knot_variance"], np.einsum("pi,ij,pj->p", rows, covariance, rows), rtol=1e-5)
    fields = one.evaluate(np.eye(504)[7][:420], np.repeat(one.latitude_deg, 10), np.repeat(one.longitude_deg, 10),
                          np.tile(one.radial_knots_m, 42))  # fmt: skip
    np.testing.assert_allclose(rows[:420, 7], fields, atol=1e-12)


def test_covariance_with_a_point(found, dense):
    covariance, (one, other), (vs, xi) = dense[2], case.bases(), case.priors().blocks
    at = (np.array([20.0]), np.array([-150.0]), np.array([6.1e6]))
    row = field_rows(vs, one, 504, *at).toarray()[0]
    near(found["covariance"], covariance @ row)
    near(found["covariance_after"], covariance @ row)
    near(found["between"], [row @ covariance @ field_rows(xi, other, 504, *at).toarray()[0]])


def test_resolution(found, dense):
    hessian, precision, covariance, _, model = dense
    resolution = covariance @ hessian
    row = field_rows(
        case.priors().blocks[0], case.bases()[0], 504, *map(np.array, ([20.0], [-150.0], [6.1e6]))
    ).toarray()[0]
    near(found["resolution_row"], row @ resolution)
    near(found["spread"], resolution @ model)
    near(found["null_space"], model - resolution @ model)
    near(found["seen_of_null_space"], hessian @ (model - resolution @ model))
    near(found["resolution_diagonal"], np.diag(resolution))


def test_trace_of_the_resolution_is_the_sum_over_eigenvalues(found, dense):
    """Lambda / (lambda + 1) of H w = lambda C_m^-1 w; 150 combinations are seen at all."""
    hessian, precision = dense[:2]
    eigenvalues = np.maximum(scipy.linalg.eigh(hessian, precision, eigvals_only=True), 0.0)
    trace = found["resolution_diagonal"].sum()
    assert trace == pytest.approx(np.sum(eigenvalues / (eigenvalues + 1.0)), rel=1e-7)
    assert 10.0 < trace < 150.0


def test_samples_have_the_posterior_covariance(found, dense):
    """Elements of the sample covariance of n draws scatter by sqrt((C_ij^2 + C_ii C_jj) / n)."""
    covariance, draws = dense[2], found["samples"]
    assert draws.shape == (504, 1000)
    deviation = np.sqrt(np.diag(covariance))
    assert np.abs(draws.mean(axis=1) / deviation).max() < 5.0 / np.sqrt(1000)
    scatter = np.sqrt((covariance**2 + np.outer(deviation, deviation) ** 2) / 1000)
    error = (draws @ draws.T / 1000 - covariance) / scatter
    assert 0.9 < np.sqrt(np.mean(error**2)) < 1.1
    assert np.abs(error).max() < 6.0


def test_samples_do_not_depend_on_the_ranks(found, dense):
    """Each draw is U^-1 of its own stream of numbers, U the one upper triangular factor."""
    upper = scipy.linalg.cholesky(dense[0] + dense[1])
    noise = np.stack([np.random.default_rng([case.SEED, 3, k]).standard_normal(504) for k in range(1000)], axis=1)
    near(found["samples"], scipy.linalg.solve_triangular(upper, noise))


def test_trade_off(found, dense):
    (one, other), (vs, xi) = case.bases(), case.priors().blocks
    rows = column_rows([(vs, one), (xi, other)], 504, 20.0, -150.0).toarray()
    assert rows.shape == (17, 504)
    near(found["trade_off"], rows @ dense[2] @ rows.T)
    correlation = correlation_of(found["trade_off"])
    np.testing.assert_allclose(np.diag(correlation), 1.0)
    assert 0.0 < np.abs(correlation[:10, 10:]).max() < 1.0


def test_the_dense_matern_prior(found):
    """C_m = T^-1 s E s T^-T, and the posterior under twice its strength."""
    basis = case.bases()[0]
    lateral = lateral_matrix(basis, np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg)).toarray()
    to_coefficients = np.linalg.inv(np.kron(lateral, basis.radial_values(np.asarray(basis.radial_knots_m))))
    directions = unit_vectors(np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg))
    points_km = (directions[:, None, :] * case.KNOTS_M[None, :, None] / 1e3).reshape(-1, 3)
    covariance = at_depth(PriorConfig().strength, 0.0) ** 2 * np.exp(-cdist(points_km, points_km) / 3000.0)
    covariance = to_coefficients @ covariance @ to_coefficients.T
    vector = np.random.default_rng(1).standard_normal(basis.size)
    near(found["matern_covariance"], covariance @ vector)
    near(found["matern_precision"], np.linalg.solve(covariance, vector))
    near(found["matern_prior_log_determinant"], -np.linalg.slogdet(covariance)[1])
    hessian, gradient, model = case.problem(basis.size)
    precision = np.linalg.inv(4.0 * covariance)
    posterior = np.linalg.inv(hessian + precision)
    near(found["matern_mean"], model + posterior @ (gradient - precision @ model))
    np.testing.assert_allclose(found["matern_variance"], np.diag(posterior), rtol=1e-5)
    near(found["matern_resolution_diagonal"], np.diag(posterior @ hessian))
