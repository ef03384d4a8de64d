"""Times and sizes of a plan, for people."""

from __future__ import annotations

from typing import TYPE_CHECKING

from craton.tomography.plan.estimate import GIB, MIB

if TYPE_CHECKING:
    pass


def ratio(predicted: float, measured: float) -> str:
    return f"{predicted / measured:.2f}" if predicted and measured else ""


def duration(seconds: float) -> str:
    """In the unit that suits it."""
    if seconds < 120:
        return f"{seconds:.3g} s"
    return f"{seconds / 60:.3g} min" if seconds < 7200 else f"{seconds / 3600:.3g} h"


def size(count: float) -> str:
    """MiB, GiB or TiB."""
    if count < 0.995 * GIB:
        return f"{count / MIB:.3g} MiB"
    return f"{count / GIB:.3g} GiB" if count < 999 * GIB else f"{count / (1024 * GIB):.3g} TiB"
