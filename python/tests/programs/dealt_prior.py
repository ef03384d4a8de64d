"""The Gaussian prior dealt over ranks beside the one that each rank has whole; rank 0 prints what differs by how much, as JSON."""

from __future__ import annotations

import json

import numpy as np
from craton import SymmetricMatrix, World
from craton._craton import ModelBasis
from craton._launch import main_guard
from craton.errors import UserError
from craton.tomography.config.prior import PriorConfig
from craton.tomography.prior.distributed import DistributedSeparable, distributed_lateral
from craton.tomography.prior.gaussian import gaussian_prior
from craton.tomography.prior.parts import splines_at_knots
from mpi4py import MPI

with main_guard():
    comm = MPI.COMM_WORLD
    world = World(comm)
    basis = ModelBasis(3, np.linspace(3480e3, 6368e3, 5))
    config = PriorConfig(correlation_km=1500.0, correlation_depth_km=500.0, nugget=1e-2)

    def deal(basis: ModelBasis, correlation_km: float, nugget: float):
        return distributed_lateral(basis, correlation_km, nugget, world, comm)

    whole, dealt = (
        gaussian_prior(basis, config).strengthened(2.0),
        gaussian_prior(basis, config, deal=deal).strengthened(2.0),
    )
    part, theirs = dealt.parts[0], whole.parts[0]
    assert isinstance(part, DistributedSeparable)

    def apart(ours: np.ndarray, expected: np.ndarray) -> float:
        return float(np.abs(ours - expected).max() / np.abs(expected).max())

    vector = np.random.default_rng(3).standard_normal(basis.size)
    systems = [SymmetricMatrix(world, basis.size + 7, dtype="float64", block=16) for _ in range(2)]
    for prior, system in zip((whole, dealt), systems, strict=True):
        prior.add_to(system)
    elements = []
    for prior in (whole, dealt):
        found = [piece[2].ravel() for held in systems[0].triangle for piece in prior.parts[0].own_elements(held)]
        elements.append(np.concatenate([np.zeros(1), *found]))
    world.barrier()
    lateral, radial = splines_at_knots(basis)
    found = {
        "precision": apart(dealt.precision_times(vector), whole.precision_times(vector)),
        "covariance": apart(dealt.covariance_times(vector), whole.covariance_times(vector)),
        "there and back": apart(dealt.covariance_times(dealt.precision_times(vector)), vector),
        "determinant": abs(dealt.log_determinant / whole.log_determinant - 1.0),
        "system": apart(systems[1].gather(), systems[0].gather()),
        "elements": comm.allreduce(float(np.abs(elements[1] - elements[0]).max()), MPI.MAX)
        / np.abs(systems[0].gather()).max(),
        "deviation": apart(part.knot_deviation(lateral, radial), theirs.knot_deviation(lateral, radial)),
        "share": comm.allreduce(part.lateral.inverse.packed.local.size, MPI.MAX) / basis.n_lateral**2,
    }
    told = []
    for correlation_km, nugget in ((20000.0, 1e-13), (20000.0, 1e-30)):
        try:
            distributed_lateral(basis, correlation_km, nugget, world, comm)
        except UserError as problem:
            told.append(str(problem))
    if comm.rank == 0:
        print(json.dumps({"found": found, "told": told}))
