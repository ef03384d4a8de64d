"""`craton multigrid solve`: a problem from a file to a file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import craton
from craton.errors import UserError
from craton.multigrid.files import Problem, read_problem, write_field

if TYPE_CHECKING:
    from mpi4py import MPI


def planned(path: Path, output: Path | None, overwrite: bool) -> tuple[Problem, Path]:
    """The problem, and the file of its solution. UserError for what cannot be read or written. Not collective."""
    problem = read_problem(path)
    target = output or path.with_suffix(".solution.h5")
    _check_target(path, target, overwrite)
    return problem, target


def solve(
    comm: MPI.Comm,
    problem: Problem,
    target: Path,
    box: int,
    *,
    operator: str | None,
    tolerance: float,
    most: int,
    method: Any,
    ranks_per_node: int,
    **settings: Any,
) -> None:
    """Collective. UserError on every rank for what is wrong, or when the tolerance is not reached, once u is written."""

    def say(line: str) -> None:
        if comm.rank == 0:
            print(line, flush=True)

    world = craton.World(comm, ranks_per_node)
    solver = problem.solver(world, box, operator=operator, **settings)
    say(
        f"{problem.path}: {' x '.join(map(str, solver.cells))} cells, boxes of {box}^3, {operator or problem.operator}, "
        f"{comm.size} rank{'s' if comm.size > 1 else ''}"
    )
    begun = time.perf_counter()
    what = "cycle" if method == "cycles" else "step"
    solution = solver.solve(
        problem.right_hand_side(solver),
        boundary_values=problem.boundary_values,
        tolerance=tolerance,
        most=most,
        method=method,
        progress=lambda step, residual: say(
            f"  {f'{what} {step}' if step else 'F-cycle':10} residual {residual:.3e}  {time.perf_counter() - begun:.2f} s"
        ),
    )
    facts = {
        "residuals": solution.residuals,
        "converged": solution.converged,
        "tolerance": tolerance,
        "operator": operator or problem.operator,
        "method": method,
        "box": box,
    }
    write_field(target, "u", solver, solution.u, facts | settings)
    say(f"{target}: u")
    if not solution.converged:
        steps = f"{solution.cycles} {what}{'' if solution.cycles == 1 else 's'}"
        raise UserError(
            f"multigrid: residual {solution.residuals[-1]:.3g} after {steps}; allowed: {tolerance:g}; what was "
            f"found is in {target} (--most takes more of them, --method cg copes with jumps of beta)"
        )


def _check_target(path: Path, target: Path, overwrite: bool) -> None:
    if not target.absolute().parent.is_dir():
        raise UserError(f"{target}: no such folder {target.absolute().parent}; allowed: a file in a folder that exists")
    if target.exists() and path.samefile(target):
        raise UserError(f"{target}: is the problem itself; allowed: another file for the solution")
    if target.exists() and not overwrite:
        raise UserError(f"{target}: exists; allowed: --overwrite, or another --output")
