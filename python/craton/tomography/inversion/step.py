"""One step of the iteration: equation 2 is solved, and the length sought at which the misfit of equation 1 falls.

    (H + C_m^-1) dm = G^T C_d^-1 (d - g(m^i)) - C_m^-1 (m^i - m^p),    H = G^T C_d^-1 G,    m^(i+1) = m^i + s dm

Equation 2 of French et al. (2015) in its symmetric positive-definite form. The step length s is 1, or less where [inversion]
step_percent bounds the step, and is halved while the misfit would rise.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton.inverse.normal_equations import NormalEquations
from craton.inverse.prior import AnyPrior, Step, misfit
from craton.runs.agreement import on_root
from craton.tomography.inversion.forward import CorrectedTooFar
from craton.tomography.inversion.persistence import FoundStep
from craton.tomography.inversion.stopping import no_step_helps
from craton.tomography.inversion.stored_hessian import StoredHessian
from craton.tomography.model.knots import largest_at_knots
from craton.tomography.prior.in_one_order import EquationsInOneOrder

if TYPE_CHECKING:
    from craton import SymmetricMatrix
    from craton._craton import ModelBasis
    from craton.tomography.data.corrections import Corrections
    from craton.tomography.inversion.context import RunContext
    from craton.tomography.inversion.forward import Synthetics
    from craton.tomography.inversion.hessian_file import Linearised
    from craton.tomography.inversion.persistence import RunFiles, State

f64 = NDArray[np.float64]


@dataclass
class Accepted:
    """The model that a step leads to."""

    length: float
    """Of the step; 0 where no fraction of it lowers the misfit."""
    model: f64
    weights: f64
    """C_m^-1 (m - m^p) there."""
    chi_data: float
    why_not: str = ""
    """Where the length is 0."""


class StepSearch:
    """Finds steps and their lengths. All calls are collective."""

    def __init__(
        self,
        run: RunContext,
        files: RunFiles,
        basis: ModelBasis,
        prior: AnyPrior,
        synthetics: Synthetics,
        corrections: Corrections,
    ) -> None:
        self.run, self.files, self.corrections = run, files, corrections
        self.basis, self.prior, self.synthetics = basis, prior, synthetics

    def solve(self, hessian: SymmetricMatrix, at: Linearised, state: State) -> FoundStep:
        """The step from the latest model. The Hessian is left as it is, but in place it is only in hessian.h5 then."""
        run, settings = self.run, self.run.config.inversion
        run.enter("step", len(state.models))
        before_s = run.phases.seconds["factorise"]
        stored = StoredHessian(run.place.hessian, run.comm).times if settings.in_place else None
        kind = EquationsInOneOrder if settings.reproducible else NormalEquations
        equations = kind(
            hessian,
            run.comm,
            settings.solve_precision,
            settings.damping,
            run.say,
            stored,
            damped=self.basis.size,
            threads=run.threads,
            when_factored=lambda: run.phases.look_at_shared("factorise"),
        )
        with run.phases("factorise"):
            step = self.prior.step(equations, at.gradient, state.latest)
        longest = on_root(run.comm, lambda: self.longest_length(step))
        solve_s = run.phases.seconds["factorise"] - before_s
        chi = at.chi_data + misfit(state.latest - self.prior.mean, state.prior_weights)
        found = FoundStep(step, longest, at.assemble_s, solve_s, chi, solved_in=equations.told)
        self.files.save_step(found, state)
        return found

    def longest_length(self, step: Step) -> float:
        """The length of a step that changes dlnVs at no knot by more than [inversion] step_percent; at most 1."""
        limit = self.run.config.inversion.step_percent / 100.0
        if not limit:
            return 1.0
        largest = largest_at_knots(self.basis, step.model[: self.basis.size])
        if largest <= limit:
            return 1.0
        self.run.say(
            f"the step changes dlnVs by up to {100 * largest:.3g}%; [inversion] step_percent = {100 * limit:g} "
            f"shortens it to {limit / largest:.3g} of that"
        )
        return limit / largest

    def line_search(self, found: FoundStep, state: State) -> Accepted:
        """The first of the lengths longest, longest / 2, ... at which the misfit is smaller than at the latest model."""
        settings, chi = self.run.config.inversion, found.chi
        self.run.enter("line search", len(state.models))
        lengths, totals = list[float](), list[float]()
        for halving in range(settings.step_halvings + 1):
            length = found.longest * 0.5**halving
            model = state.latest + length * found.step.model
            weights = state.prior_weights + length * (found.step.weights - state.prior_weights)
            model, weights = self.bounded(model, weights)
            if halving == len(found.tried):
                self.try_length(found, model, state)
            lengths.append(length)
            totals.append(found.tried[halving] + misfit(model - self.prior.mean, weights))
            if totals[-1] < chi:
                return Accepted(length, model, weights, found.tried[halving])
        why_not = no_step_helps(chi, totals, lengths)
        return Accepted(0.0, state.latest, state.prior_weights, float("nan"), why_not)

    def bounded(self, model: f64, weights: f64) -> tuple[f64, f64]:
        """A model with earthquakes no higher than the ground, and C_m^-1 (m - m^p) of it."""
        structure, values = np.split(model, [self.basis.size])
        within = self.corrections.bounded(values)
        changed = self.corrections.precision * (within - values)
        return np.concatenate([structure, within]), weights + np.concatenate([np.zeros(len(structure)), changed])

    def try_length(self, found: FoundStep, model: f64, state: State) -> None:
        """Adds the misfit of one more length, kept in step.h5."""
        run = self.run
        before_s = run.phases.seconds["misfit"]
        with run.phases("misfit"):
            try:
                chi_data = self.synthetics.chi_data(model)
            except CorrectedTooFar as problem:
                run.say(f"the step is too long: {problem}")
                chi_data = float("inf")
        found.tried.append(run.comm.bcast(chi_data))
        found.misfit_s += run.phases.seconds["misfit"] - before_s
        self.files.save_step(found, state)
