"""The periods that the waves of a run resolve. Results of others are refused, or hatched where the configuration wants them.

A period is within the band where all three hold:

pulse        it leaves LEFT of a motion of that period (motion/pulses.py)
grid         the slowest S wave of that period is POINTS cells long
seismogram   it is as long as the period at least
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton.errors import UserError
from craton.hazard.config import Config
from craton.hazard.motion.pulses import flat_pulse, flat_spectrum, gaussian_spectrum, left_until
from craton.seismology.sources.source_time import LEVEL, source_time
from craton.seismology.wave_run.setup import grid_of, medium_of

__all__ = ["LEFT", "POINTS", "Band", "band_of", "check_periods", "pulse_left"]

LEFT = 0.95
"""Of a motion: what the pulse takes from it is 5 % at most."""
POINTS = 5.0
"""Cells in the slowest S wave, below which the scheme is not trusted ([grid] points_per_wavelength by default)."""


@dataclass(frozen=True)
class Band:
    """Ends, in s: of the pulse and of the grid below, of seismograms above."""

    pulse_s: float
    grid_s: float
    """0 where [grid] points_per_wavelength at the pulse's highest frequency is enough"""
    longest_s: float
    left: Callable[[float], float]
    """what the pulse leaves of a period"""

    @property
    def shortest_s(self) -> float:
        """The shortest period that is resolved."""
        return max(self.pulse_s, self.grid_s)

    def why_not(self, period_s: float) -> str:
        """Why a period is not resolved; "" where it is."""
        if period_s > self.longest_s:
            return f"seismograms last {self.longest_s:.3g} s"
        if period_s < self.pulse_s:
            return f"the pulse leaves {100 * self.left(period_s):.0f} % of it"
        if period_s < self.grid_s:
            return f"its slowest S wave is {POINTS * period_s / self.grid_s:.2g} cells long"
        return ""

    def __str__(self) -> str:
        if self.shortest_s > self.longest_s:
            return f"no period: {self.shortest_s:.3g} s or more would be, but seismograms last {self.longest_s:.3g} s"
        return f"periods of {self.shortest_s:.3g} to {self.longest_s:.3g} s"


def band_of(config: Config) -> Band:
    """The band of a run's waves. The ground is read only where the check of each wave run does not cover it."""
    green, grid = config.green, config.ground.grid
    if green.sigma_s:
        highest_hz = math.sqrt(-2 * math.log(LEVEL)) / (2 * math.pi * green.sigma_s)
        pulse = source_time("gaussian", green.sigma_s, None).pulse_s
        middle_s = pulse[1] if pulse is not None else 0.0
        longest_hz = math.sqrt(-2 * math.log(LEFT)) / (2 * math.pi * green.sigma_s)
    else:
        highest_hz, middle_s = green.highest_hz, 0.5 * float(flat_pulse(green.highest_hz)[0][-1])
        longest_hz = left_until(LEFT) * green.highest_hz
    pulse_s, grid_s = 1 / longest_hz, 0.0
    # no source has shorter waves than so many cells: at the pulse's end they are longer by the ratio of the frequencies
    if grid.points_per_wavelength * highest_hz * pulse_s < POINTS:
        placed = grid_of(config.ground)
        slowest = medium_of(config.ground, placed).range(placed).slowest_vs
        grid_s = POINTS * grid.spacing_m / slowest if math.isfinite(slowest) else 0.0
    return Band(
        pulse_s, grid_s, config.ground.time.duration_s - middle_s, lambda period: float(pulse_left(config, period))
    )


def pulse_left(config: Config, periods_s: ArrayLike) -> NDArray[np.float64]:
    """What the pulse leaves of motions of these periods; 1 is all."""
    frequency = 1 / np.asarray(periods_s, float)
    if config.green.sigma_s:
        return gaussian_spectrum(frequency, config.green.sigma_s)
    return flat_spectrum(frequency, config.green.highest_hz)


def check_periods(config: Config) -> Band:
    """The band. UserError for a period outside it that the configuration does not explicitly want."""
    band = band_of(config)
    duration_s = config.ground.time.duration_s
    middle_s = duration_s - band.longest_s
    if band.longest_s <= 0:
        least_s = middle_s + max(config.measures.periods_s)
        raise UserError(
            f"{config.path}: [time] duration_s = {duration_s:g}: the pulse has its middle at {middle_s:.3g} s, from which "
            f"seismograms begin; allowed: at least {_rounded_up(least_s):g} s, for the longest of [measures] periods_s"
        )
    for period in config.measures.periods_s:
        reason = band.why_not(period)
        if reason and period not in config.measures.unresolved_periods_s:
            longer = (
                f"[time] duration_s of at least {_rounded_up(middle_s + period):g} s, "
                if period > band.longest_s
                else ""
            )
            raise UserError(
                f"{config.path}: [measures] periods_s: the waves do not resolve {period:g} s, because {reason}; allowed: {band}, "
                f"{longer}or unresolved_periods_s = [{period:g}] to have it computed and hatched"
            )
    return band


def _rounded_up(time_s: float) -> float:
    """To tenths of a second."""
    return math.ceil(10 * time_s) / 10
