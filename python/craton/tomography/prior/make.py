"""The prior that a configuration names."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from rich.console import Console

from craton import SymmetricMatrix
from craton._craton import ModelBasis, World
from craton.arrays.node_memory import made_once_per_node
from craton.tomography.config.prior import PriorConfig
from craton.tomography.model.parameters import ParameterBlock
from craton.tomography.model.splines import parts_of
from craton.tomography.prior.distributed import DistributedLateral, distributed_lateral
from craton.tomography.prior.gaussian import gaussian_prior
from craton.tomography.prior.matern import MaternPrior
from craton.tomography.prior.matern_dense import dense_matern_prior
from craton.tomography.prior.parts import Independent
from craton.tomography.prior.prior import AnyPrior, Prior

f64 = NDArray[np.float64]

KNOTS_ON_EACH_NODE = 1000
"""Of fewer lateral knots each node has the prior's inverse whole; of more the ranks share one in place."""


def make_prior(
    basis: ModelBasis,
    config: PriorConfig,
    world: World,
    comm: MPI.Comm,
    console: Console | None = None,
    threads: int = 1,
    mean: f64 | None = None,
    alone: bool = False,
) -> AnyPrior:
    """Collective: the prior that the configuration names.

    console: where rank 0 shows progress. threads: of each rank. mean: m^p; None for the reference Earth, 0. alone: C_m^-1 must
    not depend on the number of ranks (in_one_order.py), so each node makes it for itself.
    """
    if config.kind == "matern":
        return MaternPrior(basis, config, world, comm, console, threads, mean)
    return around(gaussian_of(basis, config, world, comm, alone), mean)


def with_corrections(prior: AnyPrior, precision: f64) -> AnyPrior:
    """The same prior with further unknowns behind its own, expected to be 0. precision: diagonal of their C_m^-1."""
    if not len(precision):
        return prior
    return prior.with_corrections(
        Independent(ParameterBlock("corrections", len(prior.mean), len(precision), 1), precision)
    )


def gaussian_of(basis: ModelBasis, config: PriorConfig, world: World, comm: MPI.Comm, alone: bool = False) -> Prior:
    """Collective: the Gaussian prior, whole on each node or dealt over the ranks."""
    parts = {part.n_lateral: part for part in parts_of(basis)}

    @functools.cache  # parameters mostly have the same knots
    def dealt(knots: int, correlation_km: float, nugget: float) -> DistributedLateral | None:
        if not is_dealt(knots, alone):
            return None
        return distributed_lateral(parts[knots], correlation_km, nugget, world, comm)

    share = made_once_per_node(world, comm)
    return gaussian_prior(basis, config, share, lambda part, *which: dealt(part.n_lateral, *which))


def is_dealt(lateral: int, alone: bool) -> bool:
    """Whether a Gaussian prior with one correlation length is dealt over the ranks, or each node has it whole."""
    return lateral > KNOTS_ON_EACH_NODE and not alone


def explicit_prior(
    basis: ModelBasis,
    config: PriorConfig,
    system: SymmetricMatrix,
    world: World,
    comm: MPI.Comm,
    mean: f64 | None = None,
) -> Prior:
    """Collective: the same with a C_m^-1 whose elements and determinant are known, for the posterior.

    A Matern prior takes matrices of the system's size for that (matern_dense.py).
    """
    if config.kind == "matern":
        return around(dense_matern_prior(basis, config, system), mean)
    return around(gaussian_of(basis, config, world, comm), mean)


def around(prior: Prior, mean: f64 | None) -> Prior:
    """The same prior about another model."""
    return prior if mean is None else replace(prior, mean=mean)
