"""Memory of a prior with many lateral knots, of each rank: mpiexec -n RANKS python prior_memory.py FORM [LEVEL].

FORM: "one-length", "by-depth" (three lateral lengths: one knot lies between), "in-one-order" or "matern". Prints what the process
of the largest rank has grown by when the prior is made, and at its peak meanwhile, and what knots^2 elements of float64 are. Set
CRATON_RANKS_PER_NODE=1, so that ranks share no memory and each one's is its own.
"""

from __future__ import annotations

import ctypes
import sys

import numpy as np
from craton import World
from craton._craton import ModelBasis
from craton._launch import main_guard
from craton.runs.process_memory import peak_bytes, reset_peak, resident_bytes
from craton.tomography.config.prior import PriorConfig
from craton.tomography.prior.make import make_prior
from mpi4py import MPI

FORMS = {
    "one-length": PriorConfig(correlation_km=1000.0, nugget=0.01),
    "by-depth": PriorConfig(correlation_km=((0.0, 800.0), (900.0, 800.0), (1900.0, 1200.0)), nugget=0.01),
    "in-one-order": PriorConfig(correlation_km=1000.0, nugget=0.01),
    "matern": PriorConfig(kind="matern", correlation_km=2000.0),
}

with main_guard():
    comm = MPI.COMM_WORLD
    world = World(comm)
    form, level = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 5
    basis = ModelBasis(level, np.linspace(3480e3, 6368e3, 4))
    # What libraries take at their first call is not the prior's.
    make_prior(
        ModelBasis(2, np.linspace(3480e3, 6368e3, 4)), FORMS[form], world, comm, in_one_order=form == "in-one-order"
    )
    before = resident_bytes()
    reset_peak()
    prior = make_prior(basis, FORMS[form], world, comm, in_one_order=form == "in-one-order")
    peak = peak_bytes()
    ctypes.CDLL(None).malloc_trim(0)  # the C library keeps some of what was freed
    grown = [comm.allreduce(found - before, MPI.MAX) / 2**20 for found in (resident_bytes(), peak)]
    if comm.rank == 0:
        square = 8 * basis.n_lateral**2 / 2**20
        print(
            f"{form}, {basis.n_lateral} lateral knots on {comm.size} ranks: kept {grown[0]:.0f} MiB, peak {grown[1]:.0f} MiB; "
            f"knots^2 is {square:.0f} MiB"
        )
