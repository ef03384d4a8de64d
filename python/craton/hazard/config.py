"""The configuration of `craton hazard run CONFIG`: what may be written in it, its defaults, and what is allowed.

The ground and its waves are described as for `craton waves run` ([grid], [time], [media], [attenuation], [boundary]); faults and
files of ruptures as forecast_config.py has them. `craton hazard template` prints all of it.
"""

from __future__ import annotations

import dataclasses
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from craton._launch import usable_cores
from craton.errors import UserError
from craton.hazard.forecast.config import FaultConfig, ForecastConfig, ModelConfig, VariationsConfig
from craton.hazard.motion.slip_rates import SHAPES
from craton.seismology.wave_run import config as waves
from craton.seismology.wave_run.config_tables import parts
from craton.settings import (
    Reader,
    check_keys,
    choice,
    finite,
    integer,
    number,
    read_table,
    read_toml,
    setting,
    table_to_toml,
    text,
    toml_value,
)

__all__ = ["SCHEDULES", "Config", "SiteConfig", "load_config", "template", "waves_config"]

SCHEDULES = ("pipeline", "sequential")
SHAKING = ("rotd50", "rotd100", "geometric_mean")
GROUND = ("grid", "time", "media", "attenuation", "boundary")
"""Tables of craton.waves."""


def _list(low: float, high: float, unit: str, *, empty: bool, open_ends: bool = False, growing: bool = False) -> Reader:
    """Numbers in a range."""
    between = f"numbers above {low:g} and below {high:g}" if open_ends else f"numbers in [{low:g}, {high:g}]"
    allowed = f"a list of {between} {unit}".rstrip() + ", each above the one before" * growing + ", or []" * empty

    def read(value: Any) -> tuple[float, ...]:
        if not isinstance(value, list | tuple) or not (value or empty):
            raise ValueError(allowed)
        try:
            found = tuple(finite(item) for item in value)
        except ValueError:
            raise ValueError(allowed) from None
        if not all(low < item < high if open_ends else low <= item <= high for item in found):
            raise ValueError(allowed)
        if growing and any(a >= b for a, b in zip(found, found[1:], strict=False)):
            raise ValueError(allowed)
        return found

    return read


def _place(count: tuple[int, ...]) -> Reader:
    allowed = f"a list of {' or '.join(map(str, count))} finite numbers"

    def read(value: Any) -> tuple[float, ...]:
        if not isinstance(value, list | tuple) or (len(value) not in count and value):
            raise ValueError(allowed)
        try:
            return tuple(finite(item) for item in value)
        except ValueError:
            raise ValueError(allowed) from None

    return read


def _name(value: Any) -> str:
    if not isinstance(value, str) or not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,60}", value):
        raise ValueError("a name of letters, digits, '.', '_' and '-', because a folder is called so")
    return value


def _names(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list | tuple) or not all(isinstance(name, str) and name for name in value):
        raise ValueError("a list of names, or []")
    return tuple(value)


def _directions(value: Any) -> str:
    if value not in ("xy", "xyz"):
        raise ValueError('"xy" (horizontal motion) or "xyz"')
    return str(value)


@dataclass(frozen=True)
class RunConfig:
    """Where results go, and how the work is shared out."""

    directory: str = setting(
        "",
        text,
        'folder of the results, relative to where you start craton; "" is <name of this file>-run',
        path="output",
    )
    cores: int = setting(0, integer(0, 10**5), "that jobs may use together; 0: all that this process may use")
    jobs: int = setting(5, integer(1, 10**4), "at the same time, at most")
    schedule: str = setting("pipeline", choice(*SCHEDULES), "pipeline: across sites; sequential: phase after phase")
    ranks: int = setting(1, integer(1, 10**6), "of each wave run")
    decomposition: tuple[int, ...] = setting(
        (), parts, "[px, py, pz] bricks of a wave run; [] takes what has the least area between them"
    )
    threads: int = setting(0, integer(0, 1024), "of each rank; 0: 1 in a pipeline, all cores in a sequence")
    checkpoint_s: float = setting(300.0, number(0, 1e7, "s"), "s between checkpoints of a wave run; 0: none")
    variations_per_task: int = setting(0, integer(0, 10**9), "of post-processing; 0: a quarter of a site's")
    memory_mb: float = setting(1024.0, number(1, 1e7, "MB"), "MB that a rupture's tensors may take")

    @property
    def all_cores(self) -> int:
        """That jobs may use together."""
        return self.cores or usable_cores()

    @property
    def rank_threads(self) -> int:
        """Of each rank of a wave run."""
        return self.threads or (max(1, self.all_cores // self.ranks) if self.schedule == "sequential" else 1)


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

    name: str = setting("<required>", _name, "name")
    position_m: tuple[float, ...] = setting((), _place((2, 3)), "m; [x, y] on the surface or [x, y, z], or lon_lat")
    lon_lat: tuple[float, ...] = setting((), _place((2,)), "degrees")
    vs30_m_s: float = setting(0.0, number(0, 1e4, "m/s"), "m/s; for ground-motion models; 0: vs of the ground there")


@dataclass(frozen=True)
class MeasuresConfig:
    """What is taken from each seismogram."""

    periods_s: tuple[float, ...] = setting(
        (2.0, 3.0, 5.0, 10.0), _list(1e-3, 1e4, "s", empty=False, growing=True), "s; of response spectra"
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
        (), _names, 'ground-motion models beside the curves, as ["BooreAtkinson2008"]; needs OpenQuake\'s hazardlib'
    )
    magnitude_width: float = setting(0.2, number(1e-3, 10), "of a bin of disaggregation")
    distance_width_km: float = setting(5.0, number(1e-3, 1e4, "km"), "km; of a bin of disaggregation")


@dataclass(frozen=True)
class Config:
    """A whole configuration, checked. Paths in it are absolute."""

    run: RunConfig
    green: GreenConfig
    forecast: ForecastConfig
    variations: VariationsConfig
    measures: MeasuresConfig
    hazard: HazardConfig
    ground: waves.Config
    """[grid], [time], [media], [attenuation] and [boundary], without sources"""
    sites: tuple[SiteConfig, ...]
    faults: tuple[FaultConfig, ...]
    models: tuple[ModelConfig, ...]
    path: Path = Path("config.toml")

    def wrong(self, message: str) -> UserError:
        """An error that begins with the file's name."""
        return UserError(f"{self.path}: {message}")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as a TOML file holds them."""
        plain: dict[str, Any] = {name: dataclasses.asdict(getattr(self, name)) for name in OWN}
        known = self.ground.to_dict()
        plain |= {name: known[name] for name in GROUND if name in known}
        return plain | {name: [dataclasses.asdict(one) for one in getattr(self, f"{name}s")] for name in LISTED}

    def to_toml(self, *, run: bool = True) -> str:
        """With every default written out; load_config reads it back, from any folder. run: with [run], on which no result
        depends.
        """
        tables: list[tuple[str, Any]] = [(name, getattr(self, name)) for name in OWN if run or name != "run"]
        tables += [(name, getattr(self.ground, name)) for name in GROUND]
        written = [table_to_toml(name, table) for name, table in tables if table is not None]
        return "\n".join(
            [*written, *(table_to_toml(f"[{name}]", one) for name in LISTED for one in getattr(self, f"{name}s"))]
        )

    def replaced(self, table: str, **values: Any) -> Config:
        """A copy with some settings of one table replaced, checked as if they had been written in the file."""
        raw = self.to_dict()
        raw.setdefault(table, {}).update(values)
        return build(raw, self.path)

    @property
    def periods_s(self) -> tuple[float, ...]:
        """The one that is disaggregated and drawn first."""
        first = self.hazard.period_s or self.measures.periods_s[0]
        return (first, *(period for period in self.measures.periods_s if period != first))


OWN: dict[str, type] = {
    "run": RunConfig,
    "green": GreenConfig,
    "forecast": ForecastConfig,
    "variations": VariationsConfig,
    "measures": MeasuresConfig,
    "hazard": HazardConfig,
}
LISTED: dict[str, type] = {"site": SiteConfig, "fault": FaultConfig, "model": ModelConfig}


def load_config(path: str | os.PathLike[str], *, directory: Path | None = None, **run: Any) -> Config:
    """Reads and checks a configuration file. UserError names the key, the value and what is allowed.

    directory, run: settings of [run] instead of the file's; None leaves one as it is.
    """
    path = Path(path)
    config = build(read_toml(path, "craton hazard template"), path)
    given = {name: value for name, value in run.items() if value is not None}
    if directory is not None:
        given["directory"] = str(directory)
    return config.replaced("run", **given) if given else config


def build(raw: Mapping[str, Any], path: Path) -> Config:
    """From what a TOML file holds."""
    known = {**OWN, **{name: waves.TABLES[name] for name in GROUND}, **LISTED}
    check_keys(raw, known, f"{path}: unknown table", brackets=True)
    folder, where = path.absolute().parent, str(path)
    tables: dict[str, Any] = {
        name: read_table(table, name, raw.get(name, {}), where, folder) for name, table in OWN.items()
    }
    for name, table in LISTED.items():
        listed = raw.get(name, [])
        if not isinstance(listed, list):
            raise UserError(f"{path}: [{name}] is one table; allowed: [[{name}]], in double brackets, for each {name}")
        tables[f"{name}s"] = tuple(
            read_table(table, f"[[{name}]] {at}", one, where, folder) for at, one in enumerate(listed, 1)
        )
    ground = waves.build({name: raw[name] for name in GROUND if name in raw}, path)
    config = Config(**tables, ground=ground, path=path)
    if not config.run.directory:
        default = dataclasses.replace(config.run, directory=str(Path.cwd() / f"{path.stem}-run"))
        config = dataclasses.replace(config, run=default)
    _check(config)
    return config


def _check(config: Config) -> None:
    if not config.sites:
        raise config.wrong("no [[site]]; allowed: one or more")
    if not config.faults and not config.models:
        raise config.wrong("no [[fault]] and no [[model]]; allowed: one or more of either")
    seen: set[str] = set()
    for at, site in enumerate(config.sites, 1):
        if site.name in seen:
            raise config.wrong(f'[[site]] {at} name = "{site.name}" again; allowed: a name of its own for each')
        seen.add(site.name)
        if bool(site.position_m) == bool(site.lon_lat):
            what = "both" if site.lon_lat else "neither"
            raise config.wrong(f"[[site]] {at} {what} of position_m and lon_lat; allowed: one of them")
    if (config.green.highest_hz > 0) == (config.green.sigma_s > 0):
        what = "both" if config.green.sigma_s else "neither"
        raise config.wrong(f"[green] {what} of highest_hz and sigma_s; allowed: one of them above 0")
    grid = config.ground.grid
    if not grid.origin_lon_lat:
        raise config.wrong(
            "[grid] origin_lon_lat = []; allowed: [longitude, latitude], because curves are of places on the Earth"
        )
    if config.hazard.period_s and config.hazard.period_s not in config.measures.periods_s:
        periods = ", ".join(f"{p:g}" for p in config.measures.periods_s)
        raise config.wrong(
            f"[hazard] period_s = {config.hazard.period_s:g}; allowed: one of [measures] periods_s: {periods}"
        )


def waves_config(
    config: Config,
    position_m: tuple[float, float, float],
    direction: str,
    points: Path | None,
    pulse: Path | None,
    **run: Any,
) -> waves.Config:
    """Of the run of a force at a site: what craton waves is given. points: the file of the subfaults' places, pulse: of the force's
    time function (pulses.py), where it is the flat one; both must be there.
    """
    known = config.ground.to_dict()
    raw: dict[str, Any] = {name: known[name] for name in GROUND if name in known}
    raw["sgt"] = {"points": str(points) if points else "", "every": config.green.every}
    raw["checkpoint"] = {"every_s": config.run.checkpoint_s}
    raw["run"] = run
    raw["source"] = [
        {
            "mode": f"force_{direction}",
            "position_m": list(position_m),
            "force_N": [config.green.force_N],
        }
        | (
            {"time_function": "gaussian", "sigma_s": config.green.sigma_s}
            if config.green.sigma_s
            else {"time_function": "file", "time_file": str(pulse)}
        )
    ]
    return waves.build(raw, config.path)


def template() -> str:
    """A commented TOML file with every table, key and default."""
    lines = [
        "# Hazard of sites. Look at it with: craton hazard check THIS_FILE; start it with: craton hazard run THIS_FILE",
        "",
    ]
    for name, table in {**OWN, **{name: waves.TABLES[name] for name in GROUND}, **LISTED}.items():
        lines += [f"# {' '.join((table.__doc__ or '').split())}", f"[[{name}]]" if name in LISTED else f"[{name}]"]
        for item in dataclasses.fields(table):
            value = EXAMPLES.get((name, item.name), item.default)
            lines.append(f"{f'{item.name} = {toml_value(value)}':<44} # {item.metadata['help']}")
        lines.append("")
    whole = "\n".join(lines)
    # a file of ruptures needs a file: shown, but not read
    head, _, models = whole.partition("[[model]]")
    return head + "\n".join(f"# {line}" if line else line for line in f"[[model]]{models}".split("\n"))


EXAMPLES: dict[tuple[str, str], Any] = {
    ("green", "highest_hz"): 0.5,
    ("grid", "size_km"): [40.0, 30.0, 16.0],
    ("grid", "spacing_m"): 500.0,
    ("grid", "origin_lon_lat"): [-118.0, 34.0],
    ("time", "duration_s"): 40.0,
    ("site", "name"): "A",
    ("site", "position_m"): [20000.0, 12000.0],
    ("fault", "name"): "north",
    ("fault", "trace_m"): [[10000.0, 22000.0], [30000.0, 22000.0]],
    ("fault", "upper_depth_km"): 1.0,
    ("fault", "lower_depth_km"): 9.0,
    ("fault", "rake_deg"): 0.0,
    ("fault", "slip_rate_mm_yr"): 5.0,
}
