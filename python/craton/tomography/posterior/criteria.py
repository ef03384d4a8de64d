"""The criteria by which a prior's strength is chosen (see strength.py), and what trials of strengths have found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

f64 = NDArray[np.float64]


@dataclass(frozen=True)
class Trial:
    """The solution under one strength."""

    strength: float
    """Standard deviation of dlnVs; of a strength that varies with depth, the largest."""
    chi_data: float
    chi_prior: float
    model_norm: float
    """u . C_m^-1 u of u = m - m^p in the norm of the prior of strength 1: what the L-curve draws."""
    resolved: float
    """trace R: parameters that the data determine."""
    log_evidence: float
    """But for a constant."""
    generalised: float
    """Generalised cross-validation."""
    left_out: float | None = None
    """2 chi_data per sample of the folds that were left out, each under the model of the others."""


@dataclass(frozen=True)
class Choice:
    """What one criterion says."""

    criterion: str
    strength: float | None
    """None where it says nothing."""
    remark: str = ""


@dataclass(frozen=True)
class StrengthSummary:
    """The content of strength.json."""

    prior: dict[str, Any]
    samples: int
    trials: list[Trial]
    choices: list[Choice]
    recommended: float | None


def judged(trials: Sequence[Trial]) -> list[Choice]:
    """What each criterion chooses; the recommended one first."""
    strengths = np.array([trial.strength for trial in trials])
    values = {"evidence": [-trial.log_evidence for trial in trials]}
    left_out = [trial.left_out for trial in trials if trial.left_out is not None]
    if left_out:
        values["cross-validation"] = left_out
    values["generalised cross-validation"] = [trial.generalised for trial in trials]
    by_value = [smallest(criterion, strengths, np.array(found)) for criterion, found in values.items()]
    return [*by_value, corner(strengths, [trial.chi_data for trial in trials], [trial.model_norm for trial in trials])]


def smallest(criterion: str, strengths: f64, values: f64) -> Choice:
    """The minimum, of the parabola through the lowest value and its neighbours in ln strength."""
    lowest = int(np.argmin(values))
    if lowest in (0, len(values) - 1):
        return Choice(criterion, float(strengths[lowest]), "at the end of the list: a longer one is wanted")
    x = np.log(strengths[lowest - 1 : lowest + 2])
    y = values[lowest - 1 : lowest + 2]
    a, b, _ = np.polyfit(x - x[1], y - y[1], 2)
    place = x[1] - b / (2.0 * a) if a > 0.0 else x[1]
    return Choice(criterion, float(np.exp(np.clip(place, x[0], x[2]))))


def corner(strengths: f64, chi_data: Sequence[float], model_norm: Sequence[float]) -> Choice:
    """Where the L-curve (ln |residual|^2, ln |model|^2) bends most, of the strengths tried but the first and the last."""
    if len(strengths) < 5 or min(*chi_data, *model_norm) <= 0.0:
        return Choice("L-curve", None, "needs at least 5 strengths and a model that is not 0")
    t, x, y = np.log(strengths), np.log(chi_data), np.log(model_norm)
    dx, dy = np.gradient(x, t), np.gradient(y, t)
    ddx, ddy = np.gradient(dx, t), np.gradient(dy, t)
    curvature = (dy * ddx - dx * ddy) / np.maximum((dx**2 + dy**2) ** 1.5, 1e-300)  # positive at a corner
    best = 1 + int(np.argmax(curvature[1:-1]))
    if not curvature[best] > 0.0:
        return Choice("L-curve", None, "no corner within the list")
    at_end = best in (1, len(strengths) - 2)
    return Choice("L-curve", float(strengths[best]), "beside the end of the list" if at_end else "")
