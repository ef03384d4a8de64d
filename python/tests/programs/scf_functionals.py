"""Kohn-Sham energies by all ranks, against those of one process."""

import numpy as np
from craton import World
from craton.scf import RKS, UKS
from mpi4py import MPI
from scf_molecules import OPEN, molecule_of, spread_over_ranks, water

world = World(MPI.COMM_WORLD)
triplet = molecule_of(OPEN["CH2"][1], multiplicity=3)
with spread_over_ranks():
    for kind, molecule, functional in ((RKS, water(), "pbe"), (RKS, water(), "b3lyp"), (UKS, triplet, "b3lyp")):
        settings = {"xc": functional, "grid": "coarse", "conv_tol": 1e-10}
        alone = kind(molecule, "6-31g*").run(**settings)
        together = kind(molecule, "6-31g*", world=world).run(**settings)
        good = abs(alone.e_tot - together.e_tot) < 1e-9 and abs(alone.electrons - together.electrons) < 1e-9
        good = good and np.abs(np.ravel(alone.mo_energy) - np.ravel(together.mo_energy)).max() < 1e-6
        if world.rank == 0:
            print(f"{kind.__name__} {functional}: {'right' if good else 'WRONG'}", flush=True)
