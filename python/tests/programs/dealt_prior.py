"""The Gaussian prior dealt over ranks beside the one that each rank has whole; rank 0 prints what differs by how much, as JSON.

With one correlation length, with lengths that vary with depth, and with sums of one order, of which it prints a digest too.
"""

from __future__ import annotations

import hashlib
import json

import numpy as np
from craton import SymmetricMatrix, World
from craton._craton import ModelBasis
from craton._launch import main_guard
from craton.errors import UserError
from craton.tomography.config.prior import PriorConfig
from craton.tomography.model.sphere import even_points, unit_vectors
from craton.tomography.model.splines import splines_at_knots
from craton.tomography.prior import make
from craton.tomography.prior.distributed import DistributedSeparable, distributed_lateral
from craton.tomography.prior.distributed_in_one_order import OrderedLateral, ordered, ordered_lateral
from craton.tomography.prior.distributed_layers import DistributedLayered, distributed_root
from craton.tomography.prior.gaussian import gaussian_prior
from craton.tomography.prior.lateral import LateralCovariance
from mpi4py import MPI

ONE = PriorConfig(correlation_km=1500.0, correlation_depth_km=500.0, nugget=1e-2)
BY_DEPTH = PriorConfig(
    correlation_km=((0.0, 1000.0), (700.0, 1500.0), (2000.0, 1500.0), (2891.0, 2000.0)),
    correlation_depth_km=500.0,
    nugget=1e-2,
)


def apart(ours: np.ndarray, expected: np.ndarray) -> float:
    """Relative to the largest."""
    return float(np.abs(ours - expected).max() / np.abs(expected).max())


def compared(basis: ModelBasis, config: PriorConfig, world: World, comm: MPI.Comm, in_one_order: bool = False):
    """What differs, and the dealt prior."""
    whole = gaussian_prior(basis, config).strengthened(2.0)
    dealt = make.gaussian_of(basis, config, world, comm, in_one_order=in_one_order).strengthened(2.0)
    part, theirs = dealt.parts[0], whole.parts[0]
    vector = np.random.default_rng(3).standard_normal(basis.size)
    systems = [SymmetricMatrix(world, basis.size + 7, dtype="float64", block=16) for _ in range(2)]
    for prior, system in zip((whole, dealt), systems, strict=True):
        prior.add_to(system)
    elements = []
    for prior in (whole, dealt):
        own = np.zeros((basis.size, basis.size))
        for held in systems[0].triangle:
            for rows, cols, some in prior.parts[0].own_elements(held):
                assert not own[np.ix_(held.rows[rows], held.cols[cols])].any(), "each element once"
                own[np.ix_(held.rows[rows], held.cols[cols])] = some
        elements.append(own)
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
    }
    return found, dealt


with main_guard():
    comm = MPI.COMM_WORLD
    world = World(comm)
    make.KNOTS_ON_EACH_NODE = 10
    basis = ModelBasis(3, np.linspace(3480e3, 6368e3, 5))
    found, shares = {}, {}

    def share(elements: int) -> float:
        """The largest rank's part of so many elements, in all lateral knots squared."""
        return comm.allreduce(elements, MPI.MAX) / basis.n_lateral**2

    found["one length"], dealt = compared(basis, ONE, world, comm)
    part = dealt.parts[0]
    assert isinstance(part, DistributedSeparable)
    shares["one length"] = share(part.lateral.inverse.packed.local.size)

    found["by depth"], dealt = compared(basis, BY_DEPTH, world, comm)
    part = dealt.parts[0]
    assert isinstance(part, DistributedLayered)
    assert len(part.roots) == 4, "lengths of 1000, 1500 and 2000 km at five knots, and one between"
    shares["by depth"] = share(sum(root.inverse.packed.local.size for root in part.roots)) / len(part.roots)

    found["in one order"], dealt = compared(basis, ONE, world, comm, in_one_order=True)
    part = dealt.parts[0]
    assert isinstance(part, DistributedSeparable) and isinstance(part.lateral, OrderedLateral)
    shares["in one order"] = share(part.lateral.inverse.packed.local.size)

    knots = unit_vectors(*even_points(300))
    lateral = ordered(LateralCovariance(knots, 2000.0, 1e-3), world, comm, 2)
    inverse = lateral.inverse.gather()
    bits = np.triu(inverse).tobytes(), lateral.times(inverse[:, :3]).tobytes()
    told = []
    for failing in (distributed_lateral, ordered_lateral, distributed_root):
        for correlation_km, nugget in ((20000.0, 1e-13), (20000.0, 1e-30)):
            try:
                failing(basis, correlation_km, nugget, world, comm)
            except UserError as problem:
                told.append(str(problem))
    if comm.rank == 0:
        digests = [hashlib.sha256(some).hexdigest() for some in bits]
        print(json.dumps({"found": found, "shares": shares, "told": told, "bits": digests}))
