"""When the iteration ends, and why."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from craton.tomography.config.tables import InversionConfig
    from craton.tomography.folder import IterationRecord


def reason_to_stop(done: Sequence[IterationRecord], period_s: float, settings: InversionConfig) -> str:
    """Why no further iteration is made; "" where one is. done: the models' misfits; period_s: of the next iteration.

    Iterations of long periods alone do not count, and end nothing.
    """
    if period_s:
        return ""
    of_all = [entry for entry in done[1:] if not entry.period_s]
    others = (
        len(of_all) > 1 and of_all[-1].left_out < of_all[-2].left_out
    )  # windows that have come back are still to be fitted
    if of_all and of_all[-1].fall < settings.tolerance and not others:
        return f"the misfit fell by less than {100 * settings.tolerance:g}%"
    most = settings.max_iterations
    if len(of_all) >= most:
        return f"all {most} iterations allowed were used up" if most > 1 else "one iteration was allowed"
    return ""


def no_step_helps(chi: float, totals: Sequence[float], lengths: Sequence[float]) -> str:
    """Why the run ends where no length of the step lowers the misfit. totals: the misfits of the lengths tried."""
    whole = "the whole step" if lengths[0] == 1.0 else f"{lengths[0]:g} of the step"
    return (
        f"no fraction of the Gauss-Newton step lowers the misfit: it is {chi:.6g} without, {totals[0]:.6g} with "
        f"{whole}, {totals[-1]:.6g} with {lengths[-1]:g} of it; a smaller [prior] strength, [inversion] damping or "
        "longer periods make smaller steps"
    )
