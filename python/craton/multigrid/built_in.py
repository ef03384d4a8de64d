"""Problems that need no file: constant coefficients, a right-hand side by name."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from craton import _craton
from craton.multigrid.config import Config
from craton.multigrid.files import Problem, boundary_of, read_problem
from craton.solvers.multigrid.boundary import BoundaryValues, Side
from craton.solvers.multigrid.solver import Solver
from craton.solvers.multigrid.values import Field

__all__ = ["BuiltInProblem", "problem_of"]

WIDTH = 0.06
"""Standard deviation of a charge's Gaussian, over the length of each dimension."""
POINTS = 4
"""Gauss points along each dimension, where f is averages over cells."""


@dataclass(frozen=True)
class BuiltInProblem:
    """A problem without a file: f is a sum of products of functions of one dimension."""

    path: Path
    """The configuration."""
    cells: tuple[int, int, int]
    boundary: tuple[Side, Side, Side]
    right_hand_side_name: str
    operator: str
    a: float
    b: float
    beta: float
    boundary_values: BoundaryValues = None
    spacing: tuple[float, float, float] | None = None
    """Sides of a cell; None: cubes, and the longest dimension has length 1."""

    def solver(self, world: _craton.World, box: int, *, operator: str | None = None, **settings: Any) -> Solver:
        """Collective: as Problem.solver."""
        return Solver(
            world,
            self.cells,
            box,
            beta=self.beta,
            a=self.a,
            b=self.b,
            boundary=self.boundary,
            spacing=self.spacing,
            operator=operator or self.operator,  # type: ignore[arg-type]
            **settings,
        )

    def right_hand_side(self, solver: Solver, operator: str = "") -> Field:
        """The right-hand side f of this rank's boxes: at the centres of cells for 7pt, averages over cells for the others."""
        averages = (operator or self.operator) != "7pt"
        found = np.zeros(solver.own_shape)
        for profiles in self._terms(averages):
            for own, of_box in zip(found, solver.box_slices(), strict=True):
                x, y, z = (each[part] for each, part in zip(profiles, of_box, strict=True))
                own[: len(x), : len(y), : len(z)] += x[:, None, None] * y[None, :, None] * z[None, None, :]
        return found

    def _terms(self, averages: bool) -> list[list[Field]]:
        """Products of an array of each dimension."""
        if self.right_hand_side_name == "constant":
            return [[np.ones(n) for n in self.cells]]
        if self.right_hand_side_name == "sines":
            return [[_profile(lambda x: np.sin(2 * np.pi * x), n, averages) for n in self.cells]]
        terms = []
        for sign, at in ((1.0, 0.25), (-1.0, 0.75)):
            centres = (at, 0.5, 0.5)
            profiles = [
                _profile(lambda x, c=c: np.exp(-(((x - c) / WIDTH) ** 2) / 2), n, averages)
                for n, c in zip(self.cells, centres, strict=True)
            ]
            terms.append([sign * profiles[0], *profiles[1:]])
        return terms


def _profile(function: Any, n: int, averages: bool) -> Field:
    """A function of [0, 1] at the centres of n cells, or its averages over them."""
    points, weights = np.polynomial.legendre.leggauss(POINTS) if averages else (np.zeros(1), np.full(1, 2.0))
    x = (np.arange(n)[:, None] + 0.5 + points / 2) / n
    found: Field = function(x) @ weights / 2
    return found


def problem_of(config: Config) -> Problem | BuiltInProblem:
    """What a configuration asks for. Not collective. UserError for a file or a boundary that is wrong."""
    ours = config.problem
    if ours.file:
        return read_problem(ours.file)
    boundary = boundary_of(config.path, ours.boundary, "[problem] boundary")
    return BuiltInProblem(
        config.path,
        ours.cells,
        boundary,
        ours.right_hand_side,
        config.solver.operator or "7pt",
        ours.a,
        ours.b,
        ours.beta,
        spacing=ours.spacing if any(ours.spacing) else None,
    )
