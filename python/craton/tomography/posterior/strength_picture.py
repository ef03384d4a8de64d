"""The picture of `craton tomography strength`: the criteria by strength, and the L-curve."""

from __future__ import annotations

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from craton.pages.figures import new_figure
from craton.pages.style import ACCENT, MUTED, SECOND, drawing
from craton.tomography.posterior.criteria import Choice, StrengthSummary

f64 = NDArray[np.float64]


@drawing
def strength_figure(summary: StrengthSummary) -> Figure:
    """Four panels: evidence, cross-validations, the L-curve, and misfit and resolved parameters."""
    trials = summary.trials
    strengths = np.array([trial.strength for trial in trials])
    choices = {choice.criterion: choice for choice in summary.choices}
    figure = new_figure(9.6, 6.4)
    (one, two), (three, four) = figure.subplots(2, 2)
    evidence = np.array([trial.log_evidence for trial in trials])
    by_strength(one, strengths, evidence - evidence.max(), "ln evidence, from the best", choices["evidence"])
    one.set_yscale("symlog", linthresh=10.0)
    one.set_ylim(top=1.0)
    generalised = np.array([trial.generalised for trial in trials])
    by_strength(
        two, strengths, generalised, "misfit per sample", choices["generalised cross-validation"], "generalised"
    )
    if "cross-validation" in choices:
        left_out = np.array([trial.left_out for trial in trials], dtype=float)
        by_strength(
            two, strengths, left_out, "misfit per sample", choices["cross-validation"], "folds left out", SECOND
        )
    l_curve(three, summary, choices["L-curve"])
    four.semilogx(strengths, [trial.chi_data for trial in trials], "o-", color=ACCENT, markersize=4.0)
    four.axhline(summary.samples / 2, color=MUTED, linestyle=":", linewidth=1.0)
    four.set_ylabel("chi_data (dotted: noise alone)")
    beside = four.twinx()
    beside.semilogx(strengths, [trial.resolved for trial in trials], "s--", color=SECOND, markersize=4.0)
    beside.set_ylabel("parameters resolved", color=SECOND)
    four.set_xlabel("prior strength")
    for axes, title in (
        (one, "evidence"),
        (two, "cross-validation"),
        (three, "L-curve"),
        (four, "misfit, resolution"),
    ):
        axes.set_title(title, loc="left")
    return figure


def by_strength(
    axes: Axes,
    strengths: f64,
    values: f64,
    label: str,
    choice: Choice,
    name: str = "",
    colour: str = ACCENT,
) -> None:
    """A criterion, and a line where it chooses."""
    best = "" if choice.strength is None else f"{choice.strength:.3g}"
    axes.plot(strengths, values, "o-", color=colour, markersize=4.0, label=f"{name}: {best}" if name else best)
    if choice.strength is not None:
        axes.axvline(choice.strength, color=colour, linestyle=":", linewidth=1.0)
    axes.legend()
    axes.set_xscale("log")
    axes.set_xlabel("prior strength")
    axes.set_ylabel(label)


def l_curve(axes: Axes, summary: StrengthSummary, choice: Choice) -> None:
    """Misfit against the model's norm, a strength at each point."""
    x, y = ([getattr(trial, name) for trial in summary.trials] for name in ("chi_data", "model_norm"))
    axes.semilogy(x, y, "o-", color=ACCENT, markersize=4.0)
    for trial in summary.trials:
        chosen = trial.strength == choice.strength
        axes.annotate(
            f"{trial.strength:.2g}",
            (trial.chi_data, trial.model_norm),
            xytext=(4, 3),
            textcoords="offset points",
            fontsize=7.0,
            color=SECOND if chosen else MUTED,
            weight="bold" if chosen else "normal",
        )
    axes.set_xlabel("chi_data")
    axes.set_ylabel("model norm, prior of strength 1")
