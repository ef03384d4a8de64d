"""A molecule with a core potential by all ranks, against one process."""

import numpy as np
from craton import World
from craton.scf import RHF
from mpi4py import MPI
from scf_molecules import molecule_of, spread_over_ranks

world = World(MPI.COMM_WORLD)
molecule = molecule_of("I 0 0 0; H 0.1 0.2 1.60")
settings = {"conv_tol": 1e-11, "conv_tol_grad": 1e-7}
with spread_over_ranks():
    alone = RHF(molecule, "def2-svp").run(**settings)
    together = RHF(molecule, "def2-svp", world=world).run(**settings)
    good = abs(alone.e_tot - together.e_tot) < 1e-9 and np.abs(alone.gradient() - together.gradient()).max() < 1e-8
    if world.rank == 0:
        print(f"HI: {'right' if good else 'WRONG'}", flush=True)
