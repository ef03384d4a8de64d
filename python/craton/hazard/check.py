"""`craton hazard check`: what a run computes and what it needs."""

from __future__ import annotations

import math

import numpy as np

from craton.hazard.config import Config
from craton.hazard.folder import HazardFolder
from craton.hazard.motion.pulses import flat_spectrum
from craton.hazard.pipeline.graph import tasks_of
from craton.hazard.pipeline.wave_runs import waves_of
from craton.hazard.pipeline.work import Work
from craton.runs.words import counted
from craton.seismology.wave_run.check import memory_bytes
from craton.seismology.wave_run.setup import largest_step_s
from craton.tasks import check_cores

__all__ = ["examine"]


def examine(config: Config) -> list[tuple[str, str]]:
    """What a run does and needs, as label and text. Computes nothing. UserError for what would keep it from working."""
    work = Work.of(config)
    waves, tasks = waves_of(work), tasks_of(work, HazardFolder(config.run.directory))
    cores = config.run.all_cores
    check_cores(tasks, cores)
    dt_s, steps, points = waves.dt_s, waves.steps, len(work.points_m)
    samples = steps // config.green.every
    anelastic = config.ground.attenuation is not None
    memory = sum(memory_bytes(box, waves.setup.config, anelastic) for box in waves.boxes)
    largest = max(len(one.surface) for one in work.forecast.ruptures)
    directions = len(config.green.directions)
    tensors = 4 * 6 * directions * samples
    core_s = sum(task.cost * (1 if task.kind != "waves" else 1 + anelastic) for task in tasks)
    sites = [f"{site.name} ({x:g}, {y:g}) m" for site, (x, y, _) in zip(config.sites, work.position_m, strict=True)]
    return [
        ("sites", ", ".join(sites)),
        (
            "ruptures",
            f"{len(work.forecast.ruptures):,} of {len(set(work.forecast.sources))} sources, {sum(work.counts):,} variations",
        ),
        (
            "grid",
            f"{' x '.join(map(str, config.ground.cells))} cells of {work.grid.spacing_m:g} m; "
            f"vs from {waves.found.slowest_vs:g} m/s",
        ),
        (
            "step",
            f"{dt_s:.6g} s, stable below {largest_step_s(waves.setup.config, waves.found):.6g} s; {steps:,} steps, "
            f"{directions * len(work.position_m)} wave runs",
        ),
        ("pulse", f"reaches {waves.highest_hz:.3g} Hz; leaves {_left(config)}"),
        ("tensors", f"{points:,} points, {samples:,} samples every {config.green.every * dt_s:.4g} s"),
        ("seismograms", f"{waves.seismogram_s:.3g} s from the beginning of a rupture"),
        ("peaks", _between_samples(config.green.every * dt_s, min(config.measures.periods_s))),
        (
            "memory",
            f"{memory / 2**20:.0f} MiB of a wave run; about {largest * tensors / 2 / 2**20:.0f} MiB of a rupture",
        ),
        ("disk", f"{points * tensors * len(work.position_m) / 2**20:.0f} MiB of tensors"),
        ("tasks", f"{len(tasks)}, in {len(work.portions)} portions of post-processing of each site"),
        ("time", f"about {core_s / cores:.0f} s on {counted(cores, 'core')}, if all are busy"),
    ]


def _between_samples(dt_s: float, period_s: float) -> str:
    """How much of a response's peak may be missed between two samples (intensity.py)."""
    missed = 1 - math.cos(math.pi * min(dt_s / period_s, 0.5))
    return f"{period_s / dt_s:.3g} samples in {period_s:g} s: up to {100 * missed:.2g}% of PSA missed between two"


def _left(config: Config) -> str:
    """What the pulse leaves of each period."""
    frequency = 1 / np.array(config.measures.periods_s)
    if config.green.sigma_s:
        part = np.exp(-0.5 * (2 * np.pi * frequency * config.green.sigma_s) ** 2)
    else:
        part = flat_spectrum(frequency, config.green.highest_hz)
    return ", ".join(
        f"{100 * p:.0f}% of {period:g} s" for p, period in zip(part, config.measures.periods_s, strict=True)
    )
