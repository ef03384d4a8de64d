"""Figures of HPGMG-FV's test problems, on as many ranks as the job has; started by test_multigrid_published.py.

mpiexec -n 2 python multigrid_figures.py '[["fv4", "gsrb", 64, 16, "morton"], ...]'
"""

import json
import sys

import craton
from craton import _craton
from craton._launch import main_guard
from mpi4py import MPI

with main_guard():
    comm = MPI.COMM_WORLD
    world = craton.World(comm)
    for operator, smoother, cells, box, order in json.loads(sys.argv[1]):
        solver = _craton.MultigridSolver(world, (cells // box,) * 3, box, order, operator, smoother, 0.0, 1.0)
        solver.f_cycle()
        residual = solver.relative_residual()
        error, seen = solver.richardson()
        del solver  # before the next one takes memory
        if comm.rank == 0:
            print(json.dumps([operator, smoother, cells, box, order, residual, error, seen]), flush=True)
