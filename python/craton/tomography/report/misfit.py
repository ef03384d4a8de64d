"""Misfit and variance reduction, iteration by iteration."""

from __future__ import annotations

from matplotlib.figure import Figure

from craton.pages.figures import new_figure
from craton.pages.page import Picture, Section, Table, Text
from craton.pages.style import ACCENT, MUTED, SECOND, drawing
from craton.tomography.data.emphasis import COMPARED
from craton.tomography.folder import RunRecord
from craton.tomography.results import Results


def misfit_section(results: Results) -> Section:
    """The curve of each, and the table."""
    about = (
        "Misfit of equation 1 on a logarithmic scale, and variance reduction, per iteration. The noise ceiling is the "
        "variance reduction of a model that leaves exactly the noise, 1 − N / Σ(d/σ)² with N independent samples."
    )
    meaning = (
        "Variance reduction is relative to the data, 1 − ‖d − g(m)‖² / ‖d‖²; residual reduction is relative to the "
        "starting model, 1 − ‖d − g(m)‖² / ‖d − g(m⁰)‖². Both are weighted by the data's uncertainty."
    )
    done = results.record.iterations
    seen = (
        f"Left: the misfit of the data falls from {done[0].chi_data:.4g} to {done[-1].chi_data:.4g}. Right: the variance "
        f"reduction rises from {100 * done[0].variance_reduction:.1f}% to {100 * done[-1].variance_reduction:.1f}%."
    )
    blocks = [Picture(misfit_figure(results), about, seen), iteration_table(results.record), Text(meaning, muted=True)]
    return Section("Misfit per iteration", blocks, "misfit", "Misfit")


@drawing
def misfit_figure(results: Results) -> Figure:
    """Equation 1 and the variance reduction, per iteration."""
    iterations = results.record.iterations
    index = [entry.iteration for entry in iterations]
    figure = new_figure(10.0, 3.0)
    left, right = figure.subplots(1, 2)
    left.semilogy(index, [entry.chi_data for entry in iterations], "o-", color=ACCENT, label="data")
    positive = [(entry.iteration, entry.chi_prior) for entry in iterations if entry.chi_prior > 0]
    if positive:
        left.semilogy(*zip(*positive, strict=True), "s--", color=SECOND, label="prior")
    left.axhline(
        0.5 * (results.record.independent_samples or results.record.samples),
        color=MUTED,
        linewidth=0.9,
        linestyle=":",
        label="expected of pure noise, N/2",
    )
    left.legend(fontsize=8)
    left.set(title="misfit (equation 1)", xlabel="iteration")
    reduction = [100 * entry.variance_reduction for entry in iterations]
    right.plot(index, reduction, "o-", color=ACCENT)
    for place, value in zip(index, reduction, strict=True):
        right.annotate(
            f"{value:.1f}", (place, value), xytext=(0, 6), textcoords="offset points", ha="center", fontsize=8
        )
    ceiling = 100 * results.noise_ceiling
    if ceiling > 0.0:
        label = f"noise ceiling, {ceiling:.1f}: what is left is noise"
        right.axhline(ceiling, color=MUTED, linewidth=0.9, linestyle=":", label=label)
        right.legend(fontsize=8, loc="lower right")
    right.set(title="variance reduction, %", xlabel="iteration", ylim=(min(0.0, *reduction) - 2.0, 112.0))
    for axes in (left, right):
        axes.set_xticks(index)
    return figure


def iteration_table(record: RunRecord) -> Table:
    """A row for each model."""
    of_all = ["iteration", "χ data", "χ prior", "variance reduction", "residual reduction"]
    of_steps = ["step", "assemble, s", "solve, s", "paths/s"]
    staged = any(one.period_s or one.left_out for one in record.iterations)
    if staged:
        of_steps += ["fitted periods", "windows left out"]
    rows = []
    for one in record.iterations:
        reductions = f"{100 * one.variance_reduction:.2f}%", f"{100 * one.residual_reduction:.2f}%"
        step = [f"{one.step_length:g}", f"{one.assemble_s:.2f}", f"{one.solve_s:.2f}", f"{one.paths_per_s:.0f}"]
        if staged:
            periods = f"{COMPARED[one.misfit]} beyond {one.period_s:.0f} s" if one.period_s else "all"
            step += [periods, str(one.left_out)]
        row = [str(one.iteration), f"{one.chi_data:.6g}", f"{one.chi_prior:.6g}", *reductions]
        rows.append(row + (step if one.iteration else [""] * len(step)))
    return Table([*of_all, *of_steps], rows)
