"""Full geometric multigrid on boxes:  a u - b div(beta grad u) = f  on a structured grid of cubic cells.

    from mpi4py import MPI
    import craton
    from craton import multigrid

    world = craton.World(MPI.COMM_WORLD)
    solver = multigrid.Solver(world, cells=64, box=16, boundary="dirichlet")
    solution = solver.solve(f)            # f[i, j, k] of the whole grid, or of this rank's boxes
    solution.u, solution.residuals

Names are loaded when they are first used, so that asking for help does not start MPI.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from craton.multigrid.benchmark import Figures, run
    from craton.multigrid.files import Problem, read_field, read_problem, write_field
    from craton.multigrid.solver import Solution, Solver, faces_of_cells

__all__ = [
    "Figures",
    "Problem",
    "Solution",
    "Solver",
    "faces_of_cells",
    "read_field",
    "read_problem",
    "run",
    "write_field",
]

HOMES = {
    "Figures": "benchmark",
    "run": "benchmark",
    "Problem": "files",
    "read_field": "files",
    "read_problem": "files",
    "write_field": "files",
    "Solution": "solver",
    "Solver": "solver",
    "faces_of_cells": "solver",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'craton.multigrid' has no attribute {name!r}")
    return getattr(importlib.import_module(f"craton.multigrid.{HOMES[name]}"), name)
