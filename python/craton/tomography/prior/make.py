"""The prior that a configuration names."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from mpi4py import MPI
from numpy.typing import NDArray
from rich.console import Console

from craton import SymmetricMatrix
from craton._craton import ModelBasis, World
from craton.arrays.node_memory import made_once_per_node
from craton.inverse.blocks import ParameterBlock
from craton.inverse.parts import Independent
from craton.inverse.prior import AnyPrior, Prior
from craton.tomography.config.prior import PriorConfig
from craton.tomography.prior.distributed import DistributedLateral, distributed_lateral
from craton.tomography.prior.distributed_in_one_order import ordered_lateral
from craton.tomography.prior.distributed_layers import DistributedRoot, distributed_root
from craton.tomography.prior.gaussian import gaussian_prior
from craton.tomography.prior.matern import MaternPrior
from craton.tomography.prior.matern_dense import dense_matern_prior

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
    in_one_order: bool = False,
) -> AnyPrior:
    """Collective: the prior that the configuration names.

    console: where rank 0 shows progress. threads: of each rank. mean: m^p; None for the reference Earth, 0. in_one_order:
    C_m^-1 must not depend on the number of ranks (in_one_order.py).
    """
    if config.kind == "matern":
        return MaternPrior(basis, config, world, comm, console, threads, mean)
    return around(gaussian_of(basis, config, world, comm, threads, in_one_order), mean)


def with_corrections(prior: AnyPrior, precision: f64) -> AnyPrior:
    """The same prior with further unknowns behind its own, expected to be 0. precision: diagonal of their C_m^-1."""
    if not len(precision):
        return prior
    return prior.with_corrections(
        Independent(ParameterBlock("corrections", len(prior.mean), len(precision), 1), precision)
    )


def gaussian_of(
    basis: ModelBasis,
    config: PriorConfig,
    world: World,
    comm: MPI.Comm,
    threads: int = 1,
    in_one_order: bool = False,
) -> Prior:
    """Collective: the Gaussian prior, whole on each node or dealt over the ranks."""
    deal = DealtOverRanks(world, comm, threads, in_one_order)
    return gaussian_prior(basis, config, made_once_per_node(world, comm), deal)


@dataclass(frozen=True)
class DealtOverRanks:
    """As Dealing says. What parameters with the same lateral knots have in common is made once."""

    world: World
    comm: MPI.Comm
    threads: int
    in_one_order: bool
    made: dict[tuple[str, int, float, float], Any] = field(default_factory=dict)

    def deals(self, basis: ModelBasis, *, one_length: bool) -> bool:
        """Many knots are."""
        return is_dealt(basis.n_lateral, one_length, self.in_one_order)

    def inverse(self, basis: ModelBasis, correlation_km: float, nugget: float) -> DistributedLateral:
        """C_lateral^-1."""
        of = (basis, correlation_km, nugget, self.world, self.comm)
        make = functools.partial(ordered_lateral, threads=self.threads) if self.in_one_order else distributed_lateral
        found: DistributedLateral = self._once("inverse", basis, correlation_km, nugget, lambda: make(*of))
        return found

    def root(self, basis: ModelBasis, correlation_km: float, nugget: float) -> DistributedRoot:
        """The symmetric square root of C_lateral."""
        of = (basis, correlation_km, nugget, self.world, self.comm)
        found: DistributedRoot = self._once("root", basis, correlation_km, nugget, lambda: distributed_root(*of))
        return found

    def _once(self, what: str, basis: ModelBasis, correlation_km: float, nugget: float, make: Callable[[], Any]) -> Any:
        key = (what, basis.n_lateral, correlation_km, nugget)
        if key not in self.made:
            self.made[key] = make()
        return self.made[key]


def is_dealt(lateral: int, one_length: bool, in_one_order: bool) -> bool:
    """Whether a Gaussian prior is dealt over the ranks, or each node has it whole.

    one_length: one lateral correlation length serves all depths. Several take eigenvectors, which sum in an order that follows from
    the ranks.
    """
    return lateral > KNOTS_ON_EACH_NODE and (one_length or not in_one_order)


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
