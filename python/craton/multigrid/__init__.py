"""Full geometric multigrid on boxes:  a u - b div(beta grad u) = f  on a structured grid of equal cells.

    from mpi4py import MPI
    import craton
    from craton import multigrid

    world = craton.World(MPI.COMM_WORLD)
    solver = multigrid.Solver(world, cells=64, box=16, boundary="dirichlet")
    solution = solver.solve(f)            # f[i, j, k] of the whole grid, or of this rank's boxes
    solution.u, solution.residuals

    record = multigrid.run(multigrid.load_config("charges.toml"))    # as `craton multigrid run`; record.figures()
    multigrid.MultigridFolder("charges-run").read_record().residuals    # of a run of `craton multigrid`

Names are loaded when they are first used, so that asking for help does not start MPI.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from craton.lazy import lazy_names

if TYPE_CHECKING:
    from craton.multigrid.config import Config, load_config
    from craton.multigrid.files import Problem, read_field, read_problem, write_field
    from craton.multigrid.folder import MultigridFolder, MultigridRecord
    from craton.multigrid.report import figures, write_report
    from craton.multigrid.start import resume, run
    from craton.solvers.multigrid import Solution, Solver, faces_of_cells

__all__ = [
    "Config",
    "MultigridFolder",
    "MultigridRecord",
    "Problem",
    "Solution",
    "Solver",
    "faces_of_cells",
    "figures",
    "load_config",
    "read_field",
    "read_problem",
    "resume",
    "run",
    "write_field",
    "write_report",
]

_, __getattr__, __dir__ = lazy_names(__name__)
