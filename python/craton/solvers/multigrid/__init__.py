"""Full geometric multigrid on grids of boxes: `Solver`, what it finds, and faces of coefficients that are given in cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

from craton.lazy import lazy_names

if TYPE_CHECKING:
    from craton.solvers.multigrid.faces import faces_of_cells
    from craton.solvers.multigrid.solver import Solution, Solver

__all__ = ["Solution", "Solver", "faces_of_cells"]

_, __getattr__, __dir__ = lazy_names(__name__)
