"""The spectrum of the force of a receiver's run: kernels are divided by it."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.seismology.sources.point_sources import PointSource

__all__ = ["force_spectrum"]


def force_spectrum(
    force: PointSource, dt_s: float, steps: int, frequencies_hz: NDArray[np.float64]
) -> tuple[int, NDArray[np.complex128]]:
    """Axis (0, 1, 2) and spectrum, N s, of a force along one axis, as the solver's steps take it.

    UserError for what is no force along x, y or z, and where the spectrum vanishes at a frequency.
    """
    along = np.flatnonzero(force.tensor) if force.kind == "force" else np.array([])
    if len(along) != 1:
        raise UserError(f"a receiver's source is {force.mode} of {force.tensor}; allowed: a force along x, y or z")
    history = force.in_steps(0, steps, dt_s).astype(np.float64)
    times_s = dt_s * np.arange(steps, dtype=np.float64)
    spectrum = force.tensor[along[0]] * dt_s * (history @ np.exp(-2j * np.pi * np.outer(times_s, frequencies_hz)))
    weakest, largest = int(np.argmin(np.abs(spectrum))), np.abs(spectrum).max()
    if not np.abs(spectrum[weakest]) > 1e-4 * largest:
        raise UserError(
            f"a receiver's force has a spectrum of {np.abs(spectrum[weakest]):.3g} N s at {frequencies_hz[weakest]:g} Hz, "
            f"{largest:.3g} at most; allowed: a shorter time function, within the run, with 1e-4 of that or more over the filter"
        )
    return int(along[0]), spectrum
