"""Priors on knots beside dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("mpi4py.MPI")

from craton import SymmetricMatrix, World
from craton.inverse.blocks import ParameterBlock
from craton.regional.config import load_config
from craton.regional.matern import Matern, difference_matrix
from craton.regional.prior import prior_of
from craton.regional.study import Study
from mpi4py import MPI
from regional_config import written


def study(tmp_path, kind: str) -> Study:
    return Study(
        load_config(written(tmp_path, ("length_m = 4000.0", f'length_m = [4000.0, 5000.0, 3000.0]\nkind = "{kind}"')))
    )


def dense(of: Study) -> np.ndarray:
    """The Gaussian C_m by its formula."""
    at = of.knots.position_m / np.asarray(of.config.prior.length_m)
    apart = at[:, None, :] - at[None, :, :]
    nugget, same = of.config.prior.nugget, apart == 0
    return 0.05**2 * np.prod((np.exp(-0.5 * apart**2) + nugget * same) / (1 + nugget), axis=2)


@pytest.mark.parametrize("kind", ["gaussian", "matern"])
def test_products_are_those_of_inverse_matrices(kind, tmp_path):
    of = study(tmp_path, kind)
    prior, random = prior_of(of), np.random.default_rng(1)
    v = random.standard_normal(of.unknowns)
    assert np.allclose(prior.precision_times(prior.covariance_times(v)), v, rtol=1e-8, atol=1e-8)
    covariance = np.stack([prior.covariance_times(row) for row in np.eye(of.unknowns)])
    assert np.allclose(np.sqrt(np.diag(covariance)), 0.05)  # every knot, also at the sides
    assert np.isclose(prior.log_determinant, -np.linalg.slogdet(covariance)[1])
    system = SymmetricMatrix(World(MPI.COMM_SELF), of.unknowns)
    prior.add_to(system)
    system.commit()
    found = np.triu(np.linalg.inv(covariance))
    whole = np.zeros((of.unknowns, of.unknowns))
    for part in system.triangle:
        block = np.where(part.taken(), part.local, 0.0)
        whole[np.ix_(part.rows, part.cols)] += block
    assert np.allclose(np.triu(whole + whole.T - np.diag(np.diag(whole))), found, atol=1e-6 * np.abs(found).max())


def test_the_gaussian_one_is_its_formula(tmp_path):
    of = study(tmp_path, "gaussian")
    covariance = np.stack([prior_of(of).covariance_times(row) for row in np.eye(of.unknowns)])
    assert np.allclose(covariance, dense(of), atol=1e-9)


def test_the_matern_one_falls_as_an_exponential():
    """In a box of 8 lengths, of knots 0.4 of a length apart: from its middle outwards."""
    axes_m = [np.linspace(0.0, 8.0 * length, 21) for length in (4000.0, 5000.0, 3000.0)]
    axes = tuple(difference_matrix(at, length) for at, length in zip(axes_m, (4000.0, 5000.0, 3000.0), strict=True))
    prior = Matern(ParameterBlock("dlnvs", 0, 21 * 21, 21), axes, 2.0)
    middle = np.zeros((21, 21, 21))
    middle[10, 10, 10] = 1.0
    found = prior.covariance_times(middle.ravel()).reshape(middle.shape)
    assert np.isclose(found[10, 10, 10], 4.0)
    for row in (found[10:, 10, 10], found[10, 10:, 10], found[10, 10, 10:]):
        apart = np.abs(row[:8] / 4.0 - np.exp(-0.4 * np.arange(8)))
        print(np.round(apart, 3))
        assert apart.max() < 0.1
