"""`craton regional check`: what an inversion computes and what it needs."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from craton.cli.output import facts_table
from craton.regional.assembly import SECONDS_PER_PRODUCT
from craton.regional.config import Config
from craton.regional.prior import prior_of
from craton.regional.study import Study
from craton.regional.wave_runs import disk_bytes, most_runs, receiver_force
from craton.runs.process_memory import available_bytes
from craton.runs.words import counted, forecast_duration, forecast_size
from craton.seismology.sources.source_time import check_frequency
from craton.seismology.wave_run.check import check_sources, memory_of_ranks
from craton.seismology.wave_run.started import predicted_s

if TYPE_CHECKING:
    from rich.table import Table

__all__ = ["Findings", "check_waves", "examine"]

PROCESS_BYTES = 130_000_000
"""Of a rank that has begun, about."""
SPECTRA_COST = 1.3
"""A run with spectra over one without, about."""
VP_PER_VS = 3**0.5
SIDES_PER_WAVELENGTH = 8
"""Of S waves at the filter's f2, at most: in the example, panels of some deep knots were 5 to 7 % off with 11, 1.2 % with 7."""


def check_waves(study: Study) -> None:
    """UserError for what the wave runs would refuse: frequencies that the grid does not carry, a step that is unstable."""
    config, setup = study.config, study.setup
    check_sources(setup)
    slowest, h = setup.least_resolved
    if config.grid.points_per_wavelength:
        force = receiver_force(config, config.data.components[0])
        where = (
            f"{config.path}: the stations' forces, as [data] filter_hz up to {config.data.filter_hz[3]:g} Hz wants them"
        )
        check_frequency(
            force.time_function.highest_frequency_hz, slowest, h, config.grid.points_per_wavelength, where, "a lower f4"
        )
    setup.step_s()
    if config.is_synthetic and (wrong := study.wrong_ground(None)):
        raise config.wrong(
            f"[[perturbation]] or [target]: waves cannot run in this ground: {wrong}; allowed: smaller changes, or a smaller "
            "[time] dt_s"
        )
    study.spectra_plan()
    study.pairings  # noqa: B018 - refuses a run that ends before the waves arrive


@dataclass(frozen=True)
class Findings:
    """What a run will be."""

    events: int
    stations: int
    windows: int
    samples: int
    window_s: tuple[float, float]
    """The shortest and the longest."""
    cells: tuple[int, ...]
    spacing_m: float
    slowest_vs: float
    dt_s: float
    steps: int
    parameters: tuple[str, ...]
    knots: tuple[int, ...]
    unknowns: int
    hessian_bytes: int
    wave_runs: int
    """Of an iteration whose first step is taken."""
    wave_memory_bytes: int
    """Of a wave run."""
    step_memory_bytes: int
    """Of a rank that assembles, about."""
    disk_bytes: int
    """Of spectra at a time."""
    spectra: str
    cores: int
    time_s: float
    """Of an iteration, if all cores are busy, about."""
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Plain values, for JSON."""
        return asdict(self)

    def table(self) -> Table:
        """A table for a console."""
        rows = [
            (
                "data",
                f"{self.windows:,} windows of {self.events} earthquakes at {self.stations} stations, {self.samples:,} samples",
            ),
            ("windows", f"{self.window_s[0]:.3g} to {self.window_s[1]:.3g} s long"),
            (
                "grid",
                f"{' x '.join(map(str, self.cells))} cells of {self.spacing_m:g} m; vs from {self.slowest_vs:g} m/s",
            ),
            ("step", f"{self.dt_s:.6g} s, {self.steps:,} steps"),
            (
                "model",
                f"{', '.join(self.parameters)} at {' x '.join(map(str, self.knots))} knots: {self.unknowns:,} unknowns",
            ),
            ("spectra", self.spectra),
            ("wave runs", f"{self.wave_runs} an iteration, if its first step is taken"),
            (
                "memory",
                f"{forecast_size(self.wave_memory_bytes)} of a wave run; about {forecast_size(self.step_memory_bytes)} of each "
                f"rank that assembles, {forecast_size(self.hessian_bytes)} of Hessian in all",
            ),
            ("disk", f"{forecast_size(self.disk_bytes)} of spectra at a time"),
            *(("note", text) for text in self.notes),
            ("time", f"about {forecast_duration(self.time_s)} an iteration on {counted(self.cores, 'core')}"),
        ]
        return facts_table(rows, "What the run does")


def examine(config: Config) -> Findings:
    """What a run does and needs. Computes nothing. UserError for what would keep it from working."""
    study = Study(config)
    check_waves(study)
    prior_of(study)
    plan, cores, ranks = study.spectra_plan(), config.run.all_cores, config.run.ranks_of_step
    lengths = [one.window.last_s - one.window.first_s for one in study.pairings]
    wave_bytes = sum(memory_of_ranks(study.setup, config.run.ranks, config.attenuation is not None, plan))
    runs, products = (
        most_runs(config, len(study.receivers)),
        len(study.pairings) * len(study.lattice) * len(study.frequencies_hz),
    )
    each = SPECTRA_COST * predicted_s(config.grid.cells, study.steps, config.run.ranks)
    hessian = 8 * study.unknowns * (study.unknowns + 1) // 2
    values = 8 * (6 + 3 * ("rho" in config.changed)) * len(study.lattice) * len(study.frequencies_hz)
    held = min(len(config.events), max(1, int(config.run.memory_mb * 2**20 / values)))
    read = 3 + (config.model.bits == 16)  # of a file: what it has, and what becomes of it
    copies = 2.5 + 2 * config.inversion.keep_hessian
    return Findings(
        events=len(config.events),
        stations=len(study.receivers),
        windows=len(study.pairings),
        samples=study.samples,
        window_s=(min(lengths), max(lengths)),
        cells=tuple(config.grid.cells),
        spacing_m=config.grid.spacing_m,
        slowest_vs=float(study.setup.range.slowest_vs),
        dt_s=study.dt_s,
        steps=study.steps,
        parameters=config.model.parameters,
        knots=study.knots.counts,
        unknowns=study.unknowns,
        hessian_bytes=hessian,
        wave_runs=runs,
        wave_memory_bytes=wave_bytes,
        step_memory_bytes=math.ceil(
            (held + read) * values + copies * hessian / ranks + _prior_bytes(study) + PROCESS_BYTES
        ),
        disk_bytes=disk_bytes(config, len(study.receivers), plan.file_bytes),
        spectra=plan.text,
        cores=cores,
        time_s=(runs * each + SECONDS_PER_PRODUCT * products) / cores,
        notes=tuple(_notes(study, wave_bytes)),
    )


def _prior_bytes(study: Study) -> int:
    """Of a rank: the Gaussian prior's lateral matrices."""
    x, y, _ = study.knots.counts
    return 8 * (x * y) ** 2 * (1 + len(study.config.model.parameters)) * (study.config.prior.kind == "gaussian")


def _notes(study: Study, wave_bytes: int) -> list[str]:
    """What is worth knowing before."""
    config, found = study.config, []
    latest = max(one.window.reach_s for one in study.pairings)
    if latest > config.time.duration_s:
        found.append(
            f"the filter brings forward what comes up to {latest:.3g} s, and runs end at {config.time.duration_s:g} s: where waves "
            "still arrive then, let [time] duration_s be longer"
        )
    if config.boundary.absorbing != "none":
        width_m = config.boundary.layer_cells * config.grid.spacing_m
        longest_m = study.ground_range.fastest_vp / VP_PER_VS / config.data.filter_hz[1]
        if width_m < longest_m / SIDES_PER_WAVELENGTH:
            cells = math.ceil(longest_m / SIDES_PER_WAVELENGTH / config.grid.spacing_m)
            found.append(
                f"the absorbing sides are {width_m / 1e3:.3g} km wide, and S waves up to {longest_m / 1e3:.3g} km long: some come "
                f"back; [boundary] width_cells = {cells} would do"
            )
    dropped = len(config.events) * len(study.receivers) * len(config.data.components) - len(study.pairings)
    if dropped:
        found.append(f"{dropped} windows have less than a period before the run's end, and are left out")
    room, together = (
        available_bytes(),
        wave_bytes * (config.run.all_cores // (config.run.ranks * config.run.threads) or 1),
    )
    if config.run.engine == "local" and 0 < room < together:
        found.append(
            f"memory does not suffice: wave runs need {forecast_size(together)} together, and this machine has "
            f"{forecast_size(room)} free; fewer [run] cores, a larger [grid] spacing_m or [model] coarsen"
        )
    return found
