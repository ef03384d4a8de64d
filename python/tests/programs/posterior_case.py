"""The posterior of a problem of 504 parameters, on any number of ranks; test_posterior.py starts it and compares with NumPy.

mpiexec -n 3 python posterior_case.py FOLDER
"""

import sys
from pathlib import Path

import craton
import numpy as np
from craton._craton import ModelBasis
from craton._launch import main_guard
from craton.inverse.posterior import Posterior, trade_off
from craton.tomography.config.prior import PriorConfig
from craton.tomography.posterior.rows import column_rows, field_rows, knot_rows
from craton.tomography.prior.gaussian import gaussian_priors
from craton.tomography.prior.make import explicit_prior
from mpi4py import MPI

COMM = MPI.COMM_WORLD
KNOTS_M = np.linspace(3480e3, 6368e3, 10)
SHALLOW_KNOTS_M = np.linspace(5600e3, 6368e3, 7)
SAMPLES, SEED = 1000, 11
CHI = 1234.5


def bases():
    """Vs on 42 x 10 splines, xi on 12 x 7: 504 parameters."""
    return ModelBasis(2, KNOTS_M), ModelBasis(1, SHALLOW_KNOTS_M)


def priors():
    one, other = bases()
    by_depth = PriorConfig(correlation_km=((0.0, 2000.0), (2891.0, 4000.0)), nugget=1e-2)
    return gaussian_priors(
        [("dlnVs", one, by_depth), ("dlnxi", other, PriorConfig(strength=0.01, correlation_km=4000.0))]
    )


def problem(size):
    """A Hessian of data that see 150 combinations of the parameters, a gradient and a model."""
    random = np.random.default_rng(3)
    seen = 40.0 * random.standard_normal((150, size)) * random.uniform(0.05, 1.0, (150, 1))
    return seen.T @ seen, seen.T @ random.standard_normal(150), 0.01 * random.standard_normal(size)


def distributed(world, values):
    return craton.SymmetricMatrix.from_array(world, values, block=16)


def two_parameters(world):
    """All that a posterior can say, by name."""
    prior, (one, other) = priors(), bases()
    size = len(prior.mean)
    hessian, gradient, model = problem(size)
    posterior = Posterior(distributed(world, hessian), prior, gradient, model, COMM)
    vs, xi = prior.blocks
    at = {name: np.array([value]) for name, value in (("latitude", 20.0), ("longitude", -150.0), ("radius", 6.1e6))}
    point = field_rows(vs, one, size, *at.values())
    of_xi = field_rows(xi, other, size, *at.values())
    row = point.toarray()[0]
    draws = posterior.samples(SAMPLES, SEED)
    found = {
        "mean": posterior.mean,
        "log_determinant": posterior.log_determinant,
        "chi": np.array([posterior.chi_data(CHI), posterior.chi_prior, posterior.log_evidence(CHI)]),
        "covariance": posterior.covariance_times(row),
        "resolution_row": posterior.resolution_transposed_times(row),
        "spread": posterior.resolution_times(model),
        "null_space": posterior.null_space(model),
        "seen_of_null_space": posterior.hessian_times_null_space(model),
        "trade_off": trade_off(posterior, column_rows([(vs, one), (xi, other)], size, 20.0, -150.0)),
        "samples": draws.read_slice(range(size), range(SAMPLES)) if world.rank == 0 else None,
    }
    world.barrier()
    knots = [knot_rows(vs, one, size), knot_rows(xi, other, size)]
    found |= {
        "variance": posterior.variance(),
        "knot_variance": np.concatenate([posterior.variances(rows) for rows in knots]),
        "between": posterior.covariances(point, of_xi),
        "resolution_diagonal": posterior.resolution_diagonal(),
        "covariance_after": posterior.covariance_times(row),
    }
    return found


def matern(world):
    """The dense Matern prior and its posterior, of the first parameter alone."""
    basis = bases()[0]
    hessian, gradient, model = problem(basis.size)
    system = distributed(world, hessian)
    prior = explicit_prior(basis, PriorConfig(kind="matern", correlation_km=3000.0), system, world, COMM)
    unit = np.random.default_rng(1).standard_normal(basis.size)
    found = {
        "matern_precision": prior.precision_times(unit),
        "matern_covariance": prior.covariance_times(unit),
        "matern_prior_log_determinant": prior.log_determinant,
    }
    posterior = Posterior(system, prior.strengthened(2.0), gradient, model, COMM)
    return found | {
        "matern_mean": posterior.mean,
        "matern_variance": posterior.variance(),
        "matern_resolution_diagonal": posterior.resolution_diagonal(),
    }


if __name__ == "__main__":
    with main_guard():
        world = craton.World(COMM)
        found = two_parameters(world) | matern(world)
        if COMM.rank == 0:
            np.savez(Path(sys.argv[1]) / "found.npz", **found)
