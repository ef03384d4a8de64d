"""What an inversion prints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from craton.runs.words import counted
from craton.tomography.data.emphasis import COMPARED

if TYPE_CHECKING:
    from rich.console import Console

from craton.tomography.folder import CoverageCorrelation, IterationRecord

TABLE_HEAD = (
    "\n iteration      chi_data     chi_prior   variance    residual   step"
    "   assemble   solve   search   paths/s\n"
    "                                         reduction   reduction              s       s        s"
)


def say(console: Console | None, text: str) -> None:
    """Prints a text as it is; nothing where the console is None, as on ranks other than 0."""
    if console is not None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)


def iteration_line(it: IterationRecord) -> str:
    """A line of the table."""
    line = f"{it.iteration:10d} {it.chi_data:13.6g} {it.chi_prior:13.6g}"
    line += f" {100 * it.variance_reduction:8.2f} % {100 * it.residual_reduction:9.2f} %"
    if it.iteration:
        line += f" {it.step_length:6.3g} {it.assemble_s:10.2f} {it.solve_s:7.2f} {it.misfit_s:8.2f}"
        line += f" {it.paths_per_s:9.0f}"
    if it.period_s:
        line += f"   {COMPARED[it.misfit]} beyond {it.period_s:.0f} s"
    if it.left_out:
        line += f"   {counted(it.left_out, 'window')} left out"
    return line


def about_recovery(found: CoverageCorrelation, data_by: str, inverted: str) -> str:
    """How well the target is found, in a sentence. data_by, inverted: the theories of the data and of the inversion, in words."""
    return (
        f"correlation of the recovered dlnVs with the filtered target: {found.overall:.3f} "
        f"at the {found.knots} lateral knots whose path coverage is in the upper half, "
        f"{found.all_knots:.3f} at all (data by {data_by}; inverted by {inverted})"
    )
