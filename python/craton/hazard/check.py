"""`craton hazard check`: what a run computes and what it needs."""

from __future__ import annotations

import itertools
import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from craton.cli.output import facts_table
from craton.hazard.config import Config
from craton.hazard.folder import HazardFolder
from craton.hazard.pipeline.band import Band, check_periods, pulse_left
from craton.hazard.pipeline.graph import tasks_of
from craton.hazard.pipeline.wave_runs import waves_of
from craton.hazard.pipeline.work import Work
from craton.runs.process_memory import available_bytes
from craton.runs.words import counted, forecast_duration, forecast_size
from craton.seismology.wave_run.check import memory_bytes

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Findings", "examine"]

NAMED = 6
"""Sites whose places a table for people has."""


@dataclass(frozen=True)
class Findings:
    """What a run will be."""

    sites_m: dict[str, tuple[float, float]]
    """Each site's x and y on the grid."""
    sources: int
    ruptures: int
    variations: int
    cells: tuple[int, ...]
    spacing_m: float
    slowest_vs: float
    """In m/s."""
    dt_s: float
    largest_dt_s: float
    """The longest stable step."""
    steps: int
    wave_runs: int
    highest_hz: float
    """What the pulse reaches."""
    pulse_left: dict[float, float]
    """What the pulse leaves of each period, in seconds; 1 is all."""
    shortest_resolved_s: float
    longest_resolved_s: float
    """Ends of the band of periods that the waves resolve."""
    resolved: str
    """The same in words."""
    unresolved: dict[float, str]
    """Periods outside it that the configuration wants all the same, and why they are not resolved."""
    points: int
    """Of strain Green's tensors."""
    samples: int
    sample_s: float
    seismogram_s: float
    shortest_period_s: float
    """Of the measures."""
    missed_of_peak: float
    """The part of a response of that period that may be missed between two samples (Craton's docs/reciprocity.md)."""
    wave_memory_bytes: int
    """Bytes of a wave run."""
    rupture_memory_bytes: int
    """Bytes of post-processing a rupture, about."""
    disk_bytes: int
    """Bytes of tensors."""
    tasks: int
    portions: int
    """Of post-processing, for each site."""
    cores: int
    time_s: float
    """If all cores are busy, about."""
    warnings: tuple[str, ...]
    """What would keep the run from ending."""

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        by_period = {
            name: {str(period): value for period, value in getattr(self, name).items()}
            for name in ("pulse_left", "unresolved")
        }
        return asdict(self) | by_period

    def table(self) -> Table:
        """A table for a console."""
        left = ", ".join(f"{100 * part:.0f}% of {period:g} s" for period, part in self.pulse_left.items())
        period = self.shortest_period_s
        named = [f"{name} ({x:g}, {y:g}) m" for name, (x, y) in itertools.islice(self.sites_m.items(), NAMED)]
        more = len(self.sites_m) - len(named)
        rows = [
            ("sites", f"{', '.join(named)}{f' and {more} more' * (more > 0)}; {len(self.sites_m)} in all"),
            ("ruptures", f"{self.ruptures:,} of {self.sources} sources, {self.variations:,} variations"),
            (
                "grid",
                f"{' x '.join(map(str, self.cells))} cells of {self.spacing_m:g} m; vs from {self.slowest_vs:g} m/s",
            ),
            (
                "step",
                f"{self.dt_s:.6g} s, stable below {self.largest_dt_s:.6g} s; {self.steps:,} steps, "
                f"{self.wave_runs} wave runs",
            ),
            ("pulse", f"reaches {self.highest_hz:.3g} Hz; leaves {left}"),
            ("resolves", self.resolved),
            *(("hatched", f"{period:g} s: {why}") for period, why in self.unresolved.items()),
            ("tensors", f"{self.points:,} points, {self.samples:,} samples every {self.sample_s:.4g} s"),
            ("seismograms", f"{self.seismogram_s:.3g} s from the beginning of a rupture"),
            (
                "peaks",
                f"{period / self.sample_s:.3g} samples in {period:g} s: up to {100 * self.missed_of_peak:.2g}% of PSA "
                "missed between two",
            ),
            (
                "memory",
                f"{forecast_size(self.wave_memory_bytes)} of a wave run; about "
                f"{forecast_size(self.rupture_memory_bytes)} of a rupture",
            ),
            *(("warning", text) for text in self.warnings),
            ("disk", f"{forecast_size(self.disk_bytes)} of tensors"),
            ("tasks", f"{self.tasks}, in {self.portions} portions of post-processing of each site"),
            ("time", f"about {forecast_duration(self.time_s)} on {counted(self.cores, 'core')}, if all are busy"),
        ]
        return facts_table(rows, "What the run does")


def examine(config: Config) -> Findings:
    """What a run does and needs. Computes nothing. UserError for what would keep it from working."""
    band = check_periods(config)
    work = Work.of(config)
    waves, tasks = waves_of(work), tasks_of(work, HazardFolder(config.run.directory))
    cores = config.run.all_cores
    config.run.runs_on.check(tasks, cores)
    points, samples = len(work.points_m), waves.steps // config.green.every
    anelastic = config.ground.attenuation is not None
    largest = max(len(one.surface) for one in work.forecast.ruptures)
    directions = len(config.green.directions)
    tensors = 4 * 6 * directions * samples
    core_s = sum(task.cost * (1 if task.kind != "waves" else 1 + anelastic) for task in tasks)
    wave_bytes = round(sum(memory_bytes(box, waves.setup.config, anelastic) for box in waves.boxes))
    sample_s, shortest_s = config.green.every * waves.dt_s, min(config.measures.periods_s)
    return Findings(
        sites_m={
            site.name: (float(x), float(y)) for site, (x, y, _) in zip(config.all_sites, work.position_m, strict=True)
        },
        sources=len(set(work.forecast.sources)),
        ruptures=len(work.forecast.ruptures),
        variations=sum(work.counts),
        cells=tuple(config.ground.cells),
        spacing_m=work.grid.spacing_m,
        slowest_vs=float(waves.found.slowest_vs),
        dt_s=waves.dt_s,
        largest_dt_s=waves.setup.largest_step_s,
        steps=waves.steps,
        wave_runs=directions * len(work.position_m),
        highest_hz=waves.highest_hz,
        pulse_left=dict(
            zip(config.measures.periods_s, pulse_left(config, config.measures.periods_s).tolist(), strict=True)
        ),
        shortest_resolved_s=band.shortest_s,
        longest_resolved_s=band.longest_s,
        resolved=str(band),
        unresolved=_unresolved(config, band),
        points=points,
        samples=samples,
        sample_s=sample_s,
        seismogram_s=waves.seismogram_s,
        shortest_period_s=shortest_s,
        missed_of_peak=1 - math.cos(math.pi * min(sample_s / shortest_s, 0.5)),
        wave_memory_bytes=wave_bytes,
        rupture_memory_bytes=round(largest * tensors / 2),
        disk_bytes=round(points * tensors * len(work.position_m)),
        tasks=len(tasks),
        portions=len(work.portions),
        cores=cores,
        time_s=core_s / cores,
        warnings=_too_large(config, wave_bytes),
    )


def _too_large(config: Config, wave_bytes: int) -> tuple[str, ...]:
    """A line where this machine, if the jobs run here, has not the memory of one wave run."""
    room = available_bytes()
    if config.run.engine != "local" or not 0 < room < wave_bytes:
        return ()
    return (
        f"memory does not suffice: a wave run needs {forecast_size(wave_bytes)}, and this machine has {forecast_size(room)} "
        "free; a larger [grid] spacing_m, or a smaller grid",
    )


def _unresolved(config: Config, band: Band) -> dict[float, str]:
    """Periods that are wanted although they are outside the band, and why they are."""
    return {period: why for period in config.measures.periods_s if (why := band.why_not(period))}
