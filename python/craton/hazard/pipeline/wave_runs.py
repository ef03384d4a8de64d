"""What all wave runs of a hazard run have in common, and whether they can be computed at all."""

from __future__ import annotations

import math
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from craton.hazard.config import waves_config
from craton.hazard.motion.pulses import flat_text
from craton.hazard.pipeline.work import Work
from craton.seismology.geometry.grid import Box
from craton.seismology.ground.media import Range
from craton.seismology.wave_run.check import check_sources
from craton.seismology.wave_run.setup import Setup

__all__ = ["Waves", "waves_of"]


@dataclass(frozen=True)
class Waves:
    """What all wave runs of a work have in common."""

    setup: Setup
    found: Range
    """velocities of the ground"""
    highest_hz: float
    """that the pulse reaches"""
    dt_s: float
    boxes: list[Box]
    """of the ranks"""

    @property
    def steps(self) -> int:
        """Steps of each wave run."""
        return self.setup.steps(self.dt_s)

    @property
    def seismogram_s(self) -> float:
        """Length of seismograms: what of a wave run is left after the middle of its pulse."""
        (force,) = self.setup.points
        pulse = force.time_function.pulse_s
        return self.setup.config.time.duration_s - (pulse[1] if pulse is not None else 0.0)


def waves_of(work: Work) -> Waves:
    """What all wave runs have in common. Writes nothing that stays.

    UserError for what each would refuse: a pulse that the grid does not carry, a step that is unstable, bricks that cannot be cut.
    """
    config = work.config
    with tempfile.TemporaryDirectory(prefix="craton-hazard-") as own:
        pulse = Path(own) / "pulse.txt"
        pulse.write_text(flat_text(config.green.highest_hz or 1.0), encoding="utf-8")
        bricks = list(config.run.decomposition)
        made = waves_config(config, work.position_m[0], config.green.directions[0], None, pulse, decomposition=bricks)
        setup = Setup(made)
        found = setup.range
        key, slower = ("sigma_s", "a longer sigma_s") if config.green.sigma_s else ("highest_hz", "a lower highest_hz")
        highest_hz = check_sources(setup, f"[green] {key} = {getattr(config.green, key):g}", slower)
    waves = Waves(setup, found, highest_hz, setup.step_s(), setup.boxes(config.run.ranks))
    if config.green.every > waves.steps:
        raise config.wrong(
            f"[green] every = {config.green.every}, but a wave run has {waves.steps} steps; allowed: at most that"
        )
    _check_duration(work, waves)
    return waves


def _check_duration(work: Work, waves: Waves) -> None:
    """UserError where seismograms end before S waves from all of a rupture can have come, even if it broke at once.

    They run in ground of the largest vp, and of the largest vs that it can have with that (lambda = 0).
    """
    ends_s, fastest = waves.seismogram_s, waves.found.fastest_vp / math.sqrt(2)
    for site, at in zip(work.config.all_sites, work.position_m, strict=True):
        for rupture in work.forecast.ruptures:
            distance = float(np.linalg.norm(rupture.surface.positions - at, axis=1).max())
            if distance / fastest > ends_s:
                raise work.config.wrong(
                    f"[time] duration_s = {work.config.ground.time.duration_s:g}: seismograms end {ends_s:.3g} s after a rupture "
                    f"begins, and S waves from {1e-3 * distance:.3g} km away, as of {rupture.name}, take "
                    f"{distance / fastest:.3g} s to site {site.name} at least; allowed: longer than that, and than ruptures take"
                )
