"""The configuration of `craton hazard run CONFIG`: what may be written in it, its defaults, and what is allowed.

The ground and its waves are described as for `craton waves run` ([grid], [time], [media], [attenuation], [boundary]); faults and
files of ruptures as forecast/config.py has them. `craton hazard template` prints all of it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from craton.hazard.forecast.config import FaultConfig, ForecastConfig, ModelConfig, VariationsConfig
from craton.hazard.motion.slip_rates import SHAPES
from craton.seismology.wave_run import config as waves
from craton.seismology.wave_run.config_tables import (
    AttenuationConfig,
    BoundaryConfig,
    GridConfig,
    MediaConfig,
    TimeConfig,
    listed,
    parts,
)
from craton.settings import (
    REQUIRED,
    Configuration,
    Reader,
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

__all__ = ["SCHEDULES", "Config", "SiteConfig", "SiteGridConfig", "load_config", "template", "waves_config"]

SCHEDULES = ("pipeline", "sequential")
SHAKING = ("rotd50", "rotd100", "geometric_mean")
GROUND = ("grid", "time", "media", "attenuation", "boundary")
"""Tables of craton.waves."""


def _list(low: float, high: float, unit: str, *, empty: bool, open_ends: bool = False, growing: bool = False) -> Reader:
    """Numbers in a range."""
    between = f"numbers above {low:g} and below {high:g}" if open_ends else f"numbers in [{low:g}, {high:g}]"
    allowed = f"a list of {between} {unit}".rstrip() + ", each above the one before" * growing + ", or []" * empty
    numbers = listed(finite, allowed)

    def read(value: Any) -> tuple[float, ...]:
        found: tuple[float, ...] = numbers(value)
        inside = all(low < item < high if open_ends else low <= item <= high for item in found)
        sorted_up = all(a < b for a, b in pairwise(found)) or not growing
        if not (inside and sorted_up and (found or empty)):
            raise ValueError(allowed)
        return found

    return read


def _place(*counts: int) -> Reader:
    return listed(finite, f"a list of {' or '.join(map(str, counts))} finite numbers", (*counts, 0))


def _some_text(value: Any) -> str:
    if not value:
        raise ValueError
    return text(value)


def _directions(value: Any) -> str:
    if value not in ("xy", "xyz"):
        raise ValueError('"xy" (horizontal motion) or "xyz"')
    return str(value)


@dataclass(frozen=True)
class RunConfig:
    """Where results go, and how the work is shared out."""

    directory: str = directory_setting()
    engine: str = setting("local", choice(*ENGINES), "local: processes of this machine; parsl: where parsl_config says")
    parsl_config: str = setting(
        "", text, "Python file with config = parsl.Config(...), as Parsl's documentation has it", path="input"
    )
    cores: int = setting(0, integer(0, 10**7), "that jobs may use together; 0: all of the machine or the engine")
    jobs: int = setting(
        0, integer(0, 10**7), "at the same time, at most; 0: 5 on this machine, as many as there are cores on an engine"
    )
    schedule: str = setting("pipeline", choice(*SCHEDULES), "pipeline: across sites; sequential: phase after phase")
    ranks: int = setting(1, integer(1, 10**6), "of each wave run")
    decomposition: tuple[int, ...] = setting(
        (), parts, "[px, py, pz] bricks of a wave run; [] takes what has the least area between them"
    )
    threads: int = setting(0, integer(0, 1024), "of each rank; 0: 1 in a pipeline, all cores in a sequence")
    checkpoint_s: float = setting(300.0, number(0, 1e7, "s"), "s between checkpoints of a wave run; 0: none")
    variations_per_task: int = setting(
        0, integer(0, 10**9), "of post-processing; 0: a quarter of a site's, and 1,000 at least"
    )
    memory_mb: float = setting(1024.0, number(1, 1e7, "MB"), "MB that a rupture's tensors may take")

    @cached_property
    def runs_on(self) -> Engine:
        """What runs the jobs. UserError where it is asked for something and cannot be used."""
        return Engine(self.engine, self.parsl_config)

    @property
    def all_cores(self) -> int:
        """Cores that jobs may use together."""
        return self.cores or self.runs_on.cores

    @property
    def most_jobs(self) -> int:
        """Jobs at the same time."""
        return self.jobs or self.runs_on.jobs

    @property
    def rank_threads(self) -> int:
        """Threads of each rank of a wave run."""
        if self.threads or self.schedule == "pipeline":
            return self.threads or 1
        return max(1, min(self.all_cores, self.runs_on.task_cores) // self.ranks)


@dataclass(frozen=True)
class GreenConfig:
    """Strain Green's tensors: forces at the site, strains at the subfaults."""

    highest_hz: float = setting(
        0.0,
        number(0, 1e4, "Hz"),
        "Hz; that the grid carries: seismograms are right to 5 % up to half of it; or give sigma_s",
    )
    sigma_s: float = setting(0.0, number(0, 1e4, "s"), "s; a gaussian pulse instead of the flat one")
    directions: str = setting("xy", _directions, '"xy" (horizontal motion) or "xyz"')
    force_N: float = setting(1e15, number(1, 1e30, "N"), "N")
    every: int = setting(4, integer(1, 10**6), "steps between samples")


@dataclass(frozen=True)
class SiteConfig:
    """A place whose hazard is wanted; any number of tables [[site]]."""

    name: str = setting(REQUIRED, folder_name, "name")
    position_m: tuple[float, ...] = setting((), _place(2, 3), "m; [x, y] on the surface or [x, y, z], or lon_lat")
    lon_lat: tuple[float, ...] = setting((), _place(2), "degrees")
    vs30_m_s: float = setting(0.0, number(0, 1e4, "m/s"), "m/s; for ground-motion models; 0: vs of the ground there")


@dataclass(frozen=True)
class SiteGridConfig:
    """Sites of a map, on a rectangular grid: each has its wave runs and its curves, and no section of its own in the report."""

    from_m: tuple[float, ...] = setting(REQUIRED, _place(2), "m; [x, y] of the first corner")
    to_m: tuple[float, ...] = setting(REQUIRED, _place(2), "m; [x, y] of the opposite corner, above the first in both")
    counts: tuple[int, ...] = setting(
        REQUIRED, listed(integer(2, 10**4), "a list of 2 whole numbers from 2 on", (2,)), "of sites along x and along y"
    )
    name: str = setting("map", folder_name, "of the sites: map-0-0, map-0-1, ...: along x, along y")

    def sites(self) -> tuple[SiteConfig, ...]:
        """All of them, y fastest."""
        (x0, y0), (x1, y1), (nx, ny) = self.from_m, self.to_m, self.counts
        return tuple(
            SiteConfig(f"{self.name}-{i}-{j}", (x0 + i * (x1 - x0) / (nx - 1), y0 + j * (y1 - y0) / (ny - 1)))
            for i in range(nx)
            for j in range(ny)
        )


@dataclass(frozen=True)
class MeasuresConfig:
    """What is taken from each seismogram."""

    periods_s: tuple[float, ...] = setting(
        (2.0, 3.0, 5.0, 10.0), _list(1e-3, 1e4, "s", empty=False, growing=True), "s; of response spectra"
    )
    unresolved_periods_s: tuple[float, ...] = setting(
        (),
        _list(1e-3, 1e4, "s", empty=True, growing=True),
        "s; those of periods_s that are wanted although the waves do not resolve them: hatched wherever they are shown",
    )
    damping: float = setting(0.05, number(0, 0.99), "of the oscillators, as a part of critical")
    slip_rate: str = setting("liu", choice(*SHAPES), "shape of each subfault's slip rate")
    shaking: str = setting("rotd50", choice(*SHAKING), "of the two horizontal components, for curves and maps")


@dataclass(frozen=True)
class HazardConfig:
    """Curves, maps, disaggregation; [forecast] years has the time span."""

    levels_g: tuple[float, ...] = setting(
        (), _list(1e-9, 1e3, "g", empty=True, growing=True), "g; [] is 51 levels from 1e-4 to 10, ten per decade"
    )
    probabilities: tuple[float, ...] = setting(
        (0.02,),
        _list(0, 1, "", empty=False, open_ends=True),
        "in the time span: of maps; of the first of them, disaggregation",
    )
    period_s: float = setting(
        0.0, number(0, 1e4, "s"), "s; that is disaggregated and drawn first; 0: the first of [measures]"
    )
    models: tuple[str, ...] = setting(
        (),
        listed(_some_text, "a list of names, or []"),
        'ground-motion models beside the curves, as ["BooreAtkinson2008"]; needs OpenQuake\'s hazardlib',
    )
    magnitude_width: float = setting(0.2, number(1e-3, 10), "of a bin of disaggregation")
    distance_width_km: float = setting(5.0, number(1e-3, 1e4, "km"), "km; of a bin of disaggregation")


@dataclass(frozen=True, kw_only=True, repr=False)
class Config(Configuration):
    """A whole configuration, checked. Paths in it are absolute."""

    tables = {
        "run": RunConfig,
        "green": GreenConfig,
        "forecast": ForecastConfig,
        "variations": VariationsConfig,
        "measures": MeasuresConfig,
        "hazard": HazardConfig,
        "site_grid": SiteGridConfig,
        **{name: waves.TABLES[name] for name in GROUND},
    }
    listed = {"site": SiteConfig, "fault": FaultConfig, "model": ModelConfig}
    optional = ("attenuation", "site_grid")

    run: RunConfig
    green: GreenConfig
    forecast: ForecastConfig
    variations: VariationsConfig
    measures: MeasuresConfig
    hazard: HazardConfig
    site_grid: SiteGridConfig | None
    grid: GridConfig
    time: TimeConfig
    media: MediaConfig
    attenuation: AttenuationConfig | None
    boundary: BoundaryConfig
    sites: tuple[SiteConfig, ...]
    """Those of [[site]], each of which has a section of the report."""
    faults: tuple[FaultConfig, ...]
    models: tuple[ModelConfig, ...]

    @cached_property
    def ground(self) -> waves.Config:
        """The configuration of a wave run without sources. UserError for what it would refuse."""
        return waves.Config.build(self._ground_tables(), self.path)

    def _ground_tables(self) -> dict[str, Any]:
        return {name: table for name, table in self.to_dict().items() if name in GROUND}

    @cached_property
    def all_sites(self) -> tuple[SiteConfig, ...]:
        """Those of [[site]], then those of [site_grid]."""
        return self.sites + (self.site_grid.sites() if self.site_grid is not None else ())

    @property
    def periods_s(self) -> tuple[float, ...]:
        """All periods; the one that is disaggregated and drawn first is the first."""
        first = self.hazard.period_s or self.measures.periods_s[0]
        return (first, *(period for period in self.measures.periods_s if period != first))

    def check(self) -> None:
        """Refuses tables that do not go together. UserError."""
        if self.grid.coarser_below_m:
            raise self.wrong("[grid] coarser_below_m in a hazard study; allowed: 0, cells that are all alike")
        origin = self.ground.grid.origin_lon_lat
        if not self.all_sites:
            raise self.wrong("no [[site]] and no [site_grid]; allowed: one site or more")
        grid = self.site_grid
        if grid is not None and not all(a < b for a, b in zip(grid.from_m, grid.to_m, strict=True)):
            raise self.wrong(
                f"[site_grid] to_m = {list(grid.to_m)}; allowed: above from_m = {list(grid.from_m)} along x and along y"
            )
        if not self.faults and not self.models:
            raise self.wrong("no [[fault]] and no [[model]]; allowed: one or more of either")
        seen = {site.name for site in self.all_sites[len(self.sites) :]}
        for at, site in enumerate(self.sites, 1):
            if site.name in seen:
                raise self.wrong(f'[[site]] {at} name = "{site.name}" again; allowed: a name of its own for each')
            seen.add(site.name)
            if bool(site.position_m) == bool(site.lon_lat):
                what = "both" if site.lon_lat else "neither"
                raise self.wrong(f"[[site]] {at} {what} of position_m and lon_lat; allowed: one of them")
        if (self.green.highest_hz > 0) == (self.green.sigma_s > 0):
            what = "both" if self.green.sigma_s else "neither"
            raise self.wrong(f"[green] {what} of highest_hz and sigma_s; allowed: one of them above 0")
        if not origin:
            raise self.wrong(
                "[grid] origin_lon_lat = []; allowed: [longitude, latitude], because curves are of places on the Earth"
            )
        periods = ", ".join(f"{p:g}" for p in self.measures.periods_s)
        for period in self.measures.unresolved_periods_s:
            if period not in self.measures.periods_s:
                raise self.wrong(
                    f"[measures] unresolved_periods_s has {period:g}; allowed: some of periods_s: {periods}"
                )
        first = self.hazard.period_s
        if first and first not in self.measures.periods_s:
            raise self.wrong(f"[hazard] period_s = {first:g}; allowed: one of [measures] periods_s: {periods}")


def load_config(path: str | os.PathLike[str], *, directory: Path | None = None, **run: Any) -> Config:
    """Reads and checks a configuration file. UserError names the key, the value and what is allowed.

    directory, run: settings of [run] instead of the file's; None leaves one as it is.
    """
    path = Path(path)
    config = Config.build(read_toml(path, "craton hazard template"), path)
    given = {name: value for name, value in run.items() if value is not None}
    if directory is not None:
        given["directory"] = str(directory)
    return config.replaced("run", **given) if given else config


def waves_config(
    config: Config,
    position_m: tuple[float, float, float],
    direction: str,
    points: Path | None,
    pulse: Path | None,
    **run: Any,
) -> waves.Config:
    """The run of a force at a site, as craton waves is given it.

    points: the file of the subfaults' places; pulse: that of the force's time function (pulses.py), where it is the flat one. Both
    must be there. run: settings of [run].
    """
    source: dict[str, Any] = {
        "mode": f"force_{direction}",
        "position_m": list(position_m),
        "force_N": [config.green.force_N],
    }
    if config.green.sigma_s:
        source |= {"time_function": "gaussian", "sigma_s": config.green.sigma_s}
    else:
        source |= {"time_function": "file", "time_file": str(pulse)}
    tables = config._ground_tables()
    # all wave runs have one step, whatever paths begin at their sites
    tables["time"] = tables["time"] | {"path_error": 0.0}
    raw = tables | {
        "sgt": {"points": str(points) if points else "", "every": config.green.every},
        "checkpoint": {"every_s": config.run.checkpoint_s},
        "run": run,
        "source": [source],
    }
    return waves.Config.build(raw, config.path)


def template() -> str:
    """A commented TOML file with every table, key and default."""
    heading = (
        "Hazard of sites. Look at it with: craton hazard check THIS_FILE; start it with: craton hazard run THIS_FILE"
    )
    examples = {
        "green.highest_hz": 0.5,
        "measures.periods_s": [4.0, 5.0, 10.0],
        "grid.size_km": [40.0, 30.0, 16.0],
        "grid.spacing_m": 500.0,
        "grid.origin_lon_lat": [-118.0, 34.0],
        "time.duration_s": 40.0,
        "site_grid.from_m": [12000.0, 11000.0],
        "site_grid.to_m": [28000.0, 19000.0],
        "site_grid.counts": [5, 3],
        "site.name": "A",
        "site.position_m": [20000.0, 12000.0],
        "fault.name": "north",
        "fault.trace_m": [[10000.0, 22000.0], [30000.0, 22000.0]],
        "fault.upper_depth_km": 1.0,
        "fault.lower_depth_km": 9.0,
        "fault.rake_deg": 0.0,
        "fault.slip_rate_mm_yr": 5.0,
    }
    tables = {**Config.tables, **{f"[{name}]": table for name, table in Config.listed.items()}}
    # a file of ruptures needs a file, and a map many runs: shown, but not read
    blocks = template_of(heading, tables, examples).split("\n\n")
    return "\n\n".join(
        "\n".join(f"# {line}" if line and not line.startswith("#") else line for line in block.split("\n"))
        if "\n[site_grid]" in block or "\n[[model]]" in block
        else block
        for block in blocks
    )
