"""The configuration of `craton regional run CONFIG`: what may be written in it, its defaults, and what is allowed.

The ground, where the inversion starts, and its waves are described as for `craton waves run` ([grid], [time], [media],
[attenuation], [boundary], [receivers]). `craton regional template` prints all of it.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from craton.regional.windows import Band
from craton.seismology.wave_run import config as waves
from craton.seismology.wave_run.config_tables import (
    AttenuationConfig,
    BoundaryConfig,
    GridConfig,
    MediaConfig,
    ReceiversConfig,
    SourceConfig,
    TimeConfig,
    listed,
    numbers,
    read_bits,
    some,
    utc_time,
)
from craton.settings import (
    REQUIRED,
    Configuration,
    boolean,
    choice,
    directory_setting,
    finite,
    folder_name,
    integer,
    number,
    read_toml,
    setting,
    template_of,
    text,
)
from craton.tasks import ENGINES, Engine

__all__ = ["PerturbationConfig", "Config", "EventConfig", "load_config", "template"]

DEEPEST = 0.75
"""Of the absorbing sides' width: with free sides kernels reach so far. Beyond, waves are weak, and shorter than cells."""
GROUND = ("grid", "time", "media", "attenuation", "boundary", "receivers")
"""Tables of craton.waves."""
AXES = ("x", "y", "z")
PARAMETERS = ("vp", "vs", "rho")
LEAST_FREQUENCIES = 4
"""Within the filter, 1 / (2 duration_s) apart."""


def _filter(value: Any) -> tuple[float, ...]:
    allowed = "a list of 4 increasing frequencies above 0 Hz"
    found: tuple[float, ...] = listed(finite, allowed, (4,))(value)
    if not 0 < found[0] < found[1] < found[2] < found[3]:
        raise ValueError(allowed)
    return found


def _lengths(value: Any) -> tuple[float, ...]:
    """One number, or three, above 0."""
    allowed = "a number of m above 0, or a list of 3 of them, [x, y, z]"
    try:
        found = tuple(finite(one) for one in value) if isinstance(value, list | tuple) else (finite(value),) * 3
    except ValueError:
        raise ValueError(allowed) from None
    if len(found) != 3 or min(found) <= 0:
        raise ValueError(allowed)
    return found


@dataclass(frozen=True)
class RunConfig:
    """Where results go, and how the work is shared out."""

    directory: str = directory_setting()
    engine: str = setting("local", choice(*ENGINES), "local: processes of this machine; parsl: where parsl_config says")
    parsl_config: str = setting(
        "", text, "Python file with config = parsl.Config(...), as Parsl's documentation has it", path="input"
    )
    cores: int = setting(0, integer(0, 10**7), "that jobs may use together; 0: all of the machine or the engine")
    ranks: int = setting(1, integer(1, 10**6), "of each wave run")
    threads: int = setting(1, integer(1, 1024), "of each rank of a wave run")
    step_ranks: int = setting(0, integer(0, 10**6), "that assemble the Hessian; 0: one for each core, 64 at most")
    memory_mb: float = setting(1024.0, number(1, 1e7, "MB"), "MB of spectra that each of these keeps at a time")
    keep_spectra: bool = setting(False, boolean, "true: spectra of wave runs stay when they have served")

    @cached_property
    def runs_on(self) -> Engine:
        """What runs the jobs. UserError where it is asked for something and cannot be used."""
        return Engine(self.engine, self.parsl_config)

    @property
    def all_cores(self) -> int:
        """Cores that jobs may use together."""
        return self.cores or self.runs_on.cores

    @property
    def ranks_of_step(self) -> int:
        """Ranks that assemble."""
        return self.step_ranks or max(1, min(64, self.all_cores, self.runs_on.task_cores))


@dataclass(frozen=True)
class DataConfig:
    """What is compared: windows of filtered seismograms at the stations of [receivers]."""

    folder: str = setting(
        "",
        text,
        'with <event>.mseed for each [[event]], or a folder <event>/ of craton waves; "": made for [target]',
        path="folder",
    )
    filter_hz: tuple[float, ...] = setting(
        REQUIRED, _filter, "Hz; [f1, f2, f3, f4]: gain 1 from f2 to f3, 0 outside f1 to f4, no phase"
    )
    motion: str = setting("velocity", choice("velocity", "displacement"), "that is compared: velocity or displacement")
    measure: str = setting(
        "waveform",
        choice("waveform", "cross_correlation", "gsdf"),
        "of windows: their samples, or travel times and amplitudes, of all or at measured_hz (gsdf)",
    )
    measured_hz: tuple[float, ...] = setting(
        (),
        listed(number(1e-6, 1e4, "Hz"), "a list of frequencies above 0 Hz, or []"),
        "Hz; of gsdf; []: three from f2 to f3",
    )
    measured_width: float = setting(
        0.15, number(1e-3, 2), "standard deviation of a Gaussian about each, as a part of it"
    )
    delay_floor_s: float = setting(
        0.0, number(0, 1e6, "s"), "s; added in squares to a travel time's standard deviation"
    )
    amplitude_floor: float = setting(0.0, number(0, 100), "the same of ln of an amplitude")
    components: tuple[str, ...] = setting(AXES, some(AXES), "of x (north), y (east) and z (down)")
    fastest_m_s: float = setting(
        0.0, number(0, 1e5, "m/s"), "m/s; a window begins before_s before waves of this speed; 0: the fastest P waves"
    )
    slowest_m_s: float = setting(
        0.0, number(0, 1e5, "m/s"), "m/s; it ends after_s after waves of this speed; 0: 0.8 of the slowest S waves"
    )
    before_s: float = setting(0.0, number(0, 1e6, "s"), "s; 0: half a period of the middle of the filter")
    after_s: float = setting(0.0, number(0, 1e6, "s"), "s; 0: two such periods")
    sample_s: float = setting(0.0, number(0, 1e6, "s"), "s between samples; 0: 1 / (2 f4)")
    noise: float = setting(
        0.05, number(1e-6, 1e3), "standard deviation of the data, as a part of the root mean square of their window"
    )
    noise_floor: float = setting(
        0.2, number(0, 1e3), "quieter windows count as so much of the root mean square of all windows of their event"
    )
    seed: int = setting(1, integer(0, 2**31), "of the noise that is added to data made for [target]")


@dataclass(frozen=True)
class ModelConfig:
    """What is sought: changes of the ground of [media], as parts of it, at knots between which they are linear."""

    parameters: tuple[str, ...] = setting(("vs",), some(PARAMETERS), "that are sought: vp, vs, rho")
    vp_per_vs: float = setting(0.6, number(-10, 10), "dln vp / dln vs, where vs is sought and vp is not")
    rho_per_vs: float = setting(0.0, number(-10, 10), "dln rho / dln vs, where vs is sought and rho is not")
    spacing_m: tuple[float, ...] = setting(REQUIRED, _lengths, "m between knots: a number, or [x, y, z]")
    low_m: tuple[float, ...] = setting(
        (), numbers(3, 0, within=(0, 1e9), unit="m"), "m; corner of the box of knots; []: all but the absorbing sides"
    )
    high_m: tuple[float, ...] = setting((), numbers(3, 0, within=(0, 1e9), unit="m"), "m; its other corner")
    sides: str = setting(
        "fixed",
        choice("fixed", "free"),
        "fixed: no change on the sides and the bottom of the box; free: some, which goes on beyond",
    )
    mask_m: float = setting(
        0.0, number(0, 1e7, "m"), "m from source and station within which a seismogram says nothing; 0: 3 cells"
    )
    coarsen: int = setting(1, integer(1, 100), "kernels take every so many cells along each side")
    bits: int = setting(16, read_bits, "of a number of the spectra on disk: 16 or 32")


@dataclass(frozen=True)
class PriorConfig:
    """What is expected before the data are seen: changes about 0, alike over some length."""

    kind: str = setting(
        "gaussian",
        choice("gaussian", "matern"),
        "gaussian: exp(-r^2 / (2 length^2)), smooth; matern: exp(-r / length), which lets edges be",
    )
    strength: float = setting(0.05, number(1e-6, 10), "standard deviation of dln vs, and of others without their own")
    vp_strength: float = setting(0.0, number(0, 10), "of dln vp; 0: strength")
    rho_strength: float = setting(0.0, number(0, 10), "of dln rho; 0: strength")
    length_m: tuple[float, ...] = setting(REQUIRED, _lengths, "m; correlation length: a number, or [x, y, z]")
    nugget: float = setting(
        0.01, number(1e-8, 10), "gaussian: part of the variance along each axis that is not correlated"
    )


@dataclass(frozen=True)
class CorrectionsConfig:
    """What is not known of earthquakes and stations: standard deviations of unknowns that are sought with the ground; 0: none."""

    event_time_s: float = setting(0.0, number(0, 1e4, "s"), "s; of origin times")
    event_amplitude: float = setting(0.0, number(0, 10), "of ln of moments")
    station_time_s: float = setting(0.0, number(0, 1e4, "s"), "s; of stations' delays")
    station_amplitude: float = setting(0.0, number(0, 10), "of ln of stations' amplification")


@dataclass(frozen=True)
class ErrorsConfig(CorrectionsConfig):
    """Standard deviations of errors that data made for a target get: as if a catalogue were wrong; 0: none."""


@dataclass(frozen=True)
class InversionConfig:
    """Gauss-Newton steps."""

    iterations: int = setting(6, integer(1, 1000), "at most")
    step_halvings: int = setting(3, integer(0, 20), "of a step that does not lower the misfit, at most")
    predicted_by: str = setting(
        "events",
        choice("events", "stations"),
        "what a model predicts: by runs of its earthquakes, or of forces at stations, where these are fewer (reciprocity)",
    )
    smallest_fall: float = setting(
        0.02, number(0, 1), "ends after an iteration that lowers the misfit by a smaller part"
    )
    solve_precision: str = setting(
        "refined", choice("refined", "float64", "float32"), "of the factor; refined: float32, and steps to float64"
    )
    keep_hessian: bool = setting(False, boolean, "true: hessian.h5 beside each step")


@dataclass(frozen=True)
class EventConfig(SourceConfig):
    """An earthquake; any number of tables [[event]]."""

    name: str = setting(REQUIRED, folder_name, "name")
    time_utc: str = setting(
        "", utc_time, 'UTC of the middle of its moment rate, as in "2019-07-06T03:19:53.04"; for records in files'
    )


@dataclass(frozen=True)
class PerturbationConfig:
    """A change of the ground that makes synthetic data, beside that of [media] or [target]; any number of tables."""

    centre_m: tuple[float, ...] = setting(REQUIRED, numbers(3, within=(-1e9, 1e9), unit="m"), "m; [x, y, z]")
    radius_m: tuple[float, ...] = setting(REQUIRED, _lengths, "m; exp(-(r / radius)^2): a number, or [x, y, z]")
    dlnvs: float = setting(0.0, number(-0.9, 3), "at the centre, as a part: -0.05 is 5 % slower")
    dlnvp: float = setting(
        0.0, number(-0.9, 3), "as a part; where both this and dlnrho are 0, as [model] has it for vs"
    )
    dlnrho: float = setting(0.0, number(-0.9, 3), "as a part")


@dataclass(frozen=True, kw_only=True, repr=False)
class Config(Configuration):
    """A whole configuration, checked. Paths in it are absolute."""

    tables = {
        "run": RunConfig,
        "data": DataConfig,
        "model": ModelConfig,
        "prior": PriorConfig,
        "corrections": CorrectionsConfig,
        "inversion": InversionConfig,
        "errors": ErrorsConfig,
        "target": MediaConfig,
        **{name: waves.TABLES[name] for name in GROUND},
    }
    listed = {"event": EventConfig, "perturbation": PerturbationConfig}
    optional = ("target", "attenuation")

    run: RunConfig
    data: DataConfig
    model: ModelConfig
    prior: PriorConfig
    corrections: CorrectionsConfig
    inversion: InversionConfig
    errors: ErrorsConfig
    target: MediaConfig | None
    grid: GridConfig
    time: TimeConfig
    media: MediaConfig
    attenuation: AttenuationConfig | None
    boundary: BoundaryConfig
    receivers: ReceiversConfig
    events: tuple[EventConfig, ...]
    perturbations: tuple[PerturbationConfig, ...]

    @cached_property
    def ground(self) -> waves.Config:
        """The configuration of a wave run with all earthquakes, for what it checks. UserError for what it would refuse."""
        return waves.Config.build(self.wave_tables() | {"source": [source_of(one) for one in self.events]}, self.path)

    def wave_tables(self) -> dict[str, Any]:
        """The tables that all wave runs have in common."""
        return {name: table for name, table in self.to_dict().items() if name in GROUND}

    @property
    def band(self) -> Band:
        """The filter."""
        return Band(*self.data.filter_hz)

    @property
    def is_synthetic(self) -> bool:
        """Whether data are made for a target."""
        return not self.data.folder

    @property
    def scaling(self) -> dict[str, dict[str, float]]:
        """For each sought parameter, what of vp, vs and rho it changes."""
        given, found = self.model, {name: {name: 1.0} for name in self.model.parameters}
        for name, ratio in (("vp", given.vp_per_vs), ("rho", given.rho_per_vs)):
            if "vs" in found and name not in found and ratio:
                found["vs"][name] = ratio
        return found

    @property
    def changed(self) -> tuple[str, ...]:
        """Those of vp, vs and rho that change."""
        all_changed = {name for one in self.scaling.values() for name in one}
        return tuple(name for name in PARAMETERS if name in all_changed)

    def strength(self, parameter: str) -> float:
        """Standard deviation of a parameter's change, as a part."""
        given = {"vp": self.prior.vp_strength, "rho": self.prior.rho_strength}.get(parameter, 0.0)
        return given or self.prior.strength

    def check(self) -> None:
        """Refuses tables that do not go together. UserError."""
        if not self.events:
            raise self.wrong("no [[event]]; allowed: one earthquake or more")
        if not self.receivers.file and not self.receivers.stations:
            raise self.wrong("[receivers] has no stations; allowed: stations, or a file of them")
        seen = set[str]()
        for at, event in enumerate(self.events, 1):
            if event.name in seen:
                raise self.wrong(f'[[event]] {at} name = "{event.name}" again; allowed: a name of its own for each')
            seen.add(event.name)
            if event.fault_file:
                raise self.wrong(f"[[event]] {at} fault_file; allowed: a source at a point")
            if event.mode.startswith(("force", "traction")):
                raise self.wrong(f'[[event]] {at} mode = "{event.mode}"; allowed: moment_rate, or a stress')
        if self.grid.coarser_below_m:
            raise self.wrong("[grid] coarser_below_m in an inversion; allowed: 0, cells that are all alike")
        if self.media.read == "partitioned":
            raise self.wrong('[media] read = "partitioned" in an inversion; allowed: "parallel" or "serial"')
        for name, of in (("[target]", self.target is not None), ("[[perturbation]]", bool(self.perturbations))):
            if of and not self.is_synthetic:
                raise self.wrong(f"{name} with [data] folder; allowed: one of them, a target makes the data")
        if self.is_synthetic and not self.perturbations and self.target is None:
            raise self.wrong(
                "no data; allowed: [data] folder, or [[perturbation]] or [target], for which data are made"
            )
        longest_s = 0.5 / self.data.filter_hz[3]
        if self.data.sample_s > longest_s * (1 + 1e-9):
            raise self.wrong(
                f"[data] sample_s = {self.data.sample_s:g} s, too seldom for {self.data.filter_hz[3]:g} Hz; allowed: up to "
                f"{longest_s:.4g} s, or 0"
            )

        for frequency in self.data.measured_hz:
            if not self.data.filter_hz[0] < frequency < self.data.filter_hz[3]:
                raise self.wrong(
                    f"[data] measured_hz has {frequency:g}; allowed: within the filter, {self.data.filter_hz[0]:g} to "
                    f"{self.data.filter_hz[3]:g} Hz"
                )
        (f1, _, _, f4), duration_s = self.data.filter_hz, self.time.duration_s
        if 2 * duration_s * (f4 - f1) < LEAST_FREQUENCIES:
            raise self.wrong(
                f"[time] duration_s = {duration_s:g}: too short for the filter, {f1:g} to {f4:g} Hz; allowed: "
                f"{0.5 * LEAST_FREQUENCIES / (f4 - f1):.3g} s or more"
            )
        low, high = self.inner_m
        for name in ("low_m", "high_m"):
            at = getattr(self.model, name)
            if any(one < a or one > b for one, a, b in zip(at, low, high, strict=False)):
                raise self.wrong(
                    f"[model] {name} = {list(at)}; allowed: without the absorbing sides, {list(low)} to {list(high)} m"
                )
        least = 2 * self.model.coarsen * self.grid.spacing_m
        for axis, a, b in zip(AXES, *self.box_m, strict=True):
            if b - a < least - 1e-6:
                raise self.wrong(
                    f"[model] a box of {b - a:g} m along {axis}, from low_m to high_m; allowed: {least:g} m or more, two points of "
                    f"coarsen = {self.model.coarsen} cells"
                )
        if not self.is_synthetic and any(getattr(self.errors, item.name) for item in fields(self.errors)):
            raise self.wrong(
                "[errors] with [data] folder; allowed: one of them, data of a folder have errors of their own"
            )
        if self.data.measured_hz and self.data.measure != "gsdf":
            raise self.wrong(f'[data] measured_hz with measure = "{self.data.measure}"; allowed: with measure = "gsdf"')

    @property
    def inner_m(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Corners of the grid without its absorbing sides."""
        h, boundary = self.grid.spacing_m, self.boundary
        edge = h * boundary.layer_cells * (boundary.absorbing != "none")
        x, y, z = (h * n for n in self.grid.cells)
        return (edge, edge, edge * (boundary.top == "absorbing")), (x - edge, y - edge, z - edge)

    @property
    def summed_m(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Corners of what kernels are summed over: the box of knots, or with free sides the grid without the outermost cells."""
        if self.model.sides == "fixed":
            return self.box_m
        h, (low, high) = self.grid.spacing_m, self.inner_m
        into = h * math.floor(DEEPEST * self.boundary.layer_cells)
        x, y, z = (min(at + into, h * n) for at, n in zip(high, self.grid.cells, strict=True))
        return (max(0.0, low[0] - into), max(0.0, low[1] - into), max(0.0, low[2] - into)), (x, y, z)

    @property
    def box_m(self) -> tuple[tuple[float, ...], tuple[float, ...]]:
        """Corners of the box of knots."""
        low, high = self.inner_m
        return self.model.low_m or low, self.model.high_m or high

    @property
    def sample_s(self) -> float:
        """Seconds between samples of windows."""
        return self.data.sample_s or 0.5 / self.data.filter_hz[3]


def source_of(event: EventConfig) -> dict[str, Any]:
    """The table [[source]] of an earthquake's wave run."""
    return {item.name: getattr(event, item.name) for item in fields(SourceConfig)}


def load_config(path: str | os.PathLike[str], *, directory: Path | None = None, **run: Any) -> Config:
    """Reads and checks a configuration file. UserError names the key, the value and what is allowed.

    directory, run: settings of [run] instead of the file's; None leaves one as it is.
    """
    path = Path(path)
    config = Config.build(read_toml(path, "craton regional template"), path)
    given = {name: value for name, value in run.items() if value is not None}
    if directory is not None:
        given["directory"] = str(directory)
    return config.replaced("run", **given) if given else config


def template() -> str:
    """A commented TOML file with every table, key and default."""
    heading = "A regional inversion. Look at it with: craton regional check THIS_FILE; start it with: craton regional run THIS_FILE"
    examples = {
        "data.filter_hz": [0.06, 0.1, 0.3, 0.4],
        "model.spacing_m": [2500.0, 2500.0, 2000.0],
        "prior.length_m": [4000.0, 4000.0, 3000.0],
        "grid.size_km": [24.0, 24.0, 12.0],
        "grid.spacing_m": 400.0,
        "time.duration_s": 30.0,
        "receivers.stations": [["A", 7000.0, 8000.0], ["B", 16000.0, 15000.0]],
        "event.name": "one",
        "event.position_m": [12000.0, 9000.0, 6000.0],
        "event.moment_Nm": [0.0, 0.0, 0.0, 1e17, 0.0, 0.0],
        "event.time_function": "gaussian",
        "event.sigma_s": 0.7,
        "perturbation.centre_m": [12000.0, 13000.0, 3000.0],
        "perturbation.radius_m": [3000.0, 3000.0, 2500.0],
        "perturbation.dlnvs": -0.08,
    }
    tables = {**Config.tables, **{f"[{name}]": table for name, table in Config.listed.items()}}
    return template_of(heading, tables, examples, commented=("target", "attenuation"))
