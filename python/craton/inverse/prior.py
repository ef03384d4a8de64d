"""What the inversion asks of a prior, and a prior that is known by its inverse."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from craton import SymmetricMatrix
from craton.inverse.blocks import ParameterBlock
from craton.inverse.normal_equations import NormalEquations
from craton.inverse.parts import Independent, PriorPart

f64 = NDArray[np.float64]


@dataclass(frozen=True)
class Step:
    """A solution of equation 2 under a prior."""

    model: f64
    """dm"""
    weights: f64
    """C_m^-1 (m + dm - m^p): the gradient of the prior's misfit at the model stepped to."""


class AnyPrior(Protocol):
    """What the inversion asks of a prior."""

    @property
    def mean(self) -> f64:
        """m^p."""

    @property
    def blocks(self) -> tuple[ParameterBlock, ...]:
        """What the model is made up of."""

    def step(self, equations: NormalEquations, gradient: f64, model: f64) -> Step:
        """Collective: dm of equation 2."""

    def with_corrections(self, part: Independent) -> AnyPrior:
        """The same prior, and independent unknowns behind its own, which are expected to be 0."""


def misfit(deviation: f64, weights: f64) -> float:
    """The second half of equation 1 of a deviation u = m - m^p: u . w / 2, with w = C_m^-1 u."""
    return 0.5 * float(np.sum(deviation * weights))  # in one order, whatever threads a BLAS would take


@dataclass(frozen=True)
class Prior:
    """C_m^-1, one part for each parameter block and nothing between them, and the prior mean."""

    parts: tuple[PriorPart, ...]
    mean: f64
    scale: float = 1.0
    """What the parts' C_m^-1 are multiplied by: 1 / f^2 makes all strengths f times as large."""

    @property
    def blocks(self) -> tuple[ParameterBlock, ...]:
        """What the model is made up of."""
        return tuple(part.block for part in self.parts)

    @property
    def log_determinant(self) -> float:
        """The natural logarithm of det C_m^-1."""
        return sum(part.log_determinant for part in self.parts) + len(self.mean) * float(np.log(self.scale))

    def strengthened(self, factor: float) -> Prior:
        """The same prior with all strengths `factor` times as large."""
        return replace(self, scale=self.scale / factor**2)

    def with_corrections(self, part: Independent) -> Prior:
        """The same prior, and the part's unknowns behind its own."""
        mean = np.concatenate([self.mean, np.zeros(part.block.size)])
        return replace(self, parts=(*self.parts, part), mean=mean)

    def step(self, equations: NormalEquations, gradient: f64, model: f64) -> Step:
        """Collective: dm of equation 2."""
        right_hand_side = gradient - self.precision_times(model - self.mean)
        found = equations.factored(self.add_to, self.precision_times).solve(right_hand_side)
        return Step(found, self.precision_times(model + found - self.mean))

    def add_to(self, system: SymmetricMatrix) -> None:
        """Adds C_m^-1. Call it on every rank: local, but collective where C_m^-1 is dealt over them."""
        for part in self.parts:
            part.add_to(system, self.scale)

    def precision_times(self, model: f64) -> f64:
        """C_m^-1 model. Collective where the prior is dense or dealt over ranks."""
        return self.scale * np.concatenate([part.precision_times(model[part.block.within]) for part in self.parts])

    def covariance_times(self, model: f64) -> f64:
        """C_m model. Collective where the prior is dense or dealt over ranks."""
        return np.concatenate([part.covariance_times(model[part.block.within]) for part in self.parts]) / self.scale
