"""Gradients, restricted open shells and an optimised geometry by all ranks, against those of one process."""

import numpy as np
from craton import World
from craton.scf import RHF, ROHF, UHF
from craton.scf.geometry.optimisation import optimise
from mpi4py import MPI
from scf_molecules import OPEN, molecule_of, spread_over_ranks, water

world = World(MPI.COMM_WORLD)
settings = {"conv_tol": 1e-11, "conv_tol_grad": 1e-7}


def tell(what: str, good: bool) -> None:
    if world.rank == 0:
        print(f"{what}: {'right' if good else 'WRONG'}", flush=True)


with spread_over_ranks():
    radical = molecule_of(OPEN["OH"][1], multiplicity=2)
    for kind, molecule in ((RHF, water()), (UHF, radical), (ROHF, radical)):
        alone = kind(molecule, "6-31g*").run(**settings)
        together = kind(molecule, "6-31g*", world=world).run(**settings)
        good = abs(alone.e_tot - together.e_tot) < 1e-9 and np.abs(alone.gradient() - together.gradient()).max() < 1e-8
        tell(kind.__name__, good)
    alone = optimise(RHF(water(), "sto-3g"))
    together = optimise(RHF(water(), "sto-3g", world=world))
    moved = alone.calculation.molecule.positions_bohr - together.calculation.molecule.positions_bohr
    tell("optimised", alone.converged and together.converged and np.abs(moved).max() < 1e-6)
