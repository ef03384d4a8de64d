"""The configuration of a tomography run: what may be written in demo.toml, its defaults, and what is allowed.

`craton tomography template` prints all of it.
"""

from __future__ import annotations

import dataclasses
import math
import os
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from craton.errors import UserError
from craton.settings import (
    REQUIRED,
    Reader,
    boolean,
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
from craton.tomography.prior.matern_grid import check_resolution

__all__ = [
    "AssemblyConfig",
    "BasisConfig",
    "Config",
    "DataConfig",
    "EarthConfig",
    "TheoryConfig",
    "EventsConfig",
    "InversionConfig",
    "ModesConfig",
    "PathsConfig",
    "PriorConfig",
    "ReportConfig",
    "RunConfig",
    "StationsConfig",
    "TargetConfig",
    "check_ranks",
    "config_from_dict",
    "load_config",
    "load_prior",
    "prior_from_dict",
    "template",
]

CMB_DEPTH_KM = 2891.0
SMALLEST = 1e-6
"""Of a strength or an amplitude: its square must stay well above rounding, in float32 too."""

BARE_KIND = re.compile(r"^(\s*kind\s*=\s*)([A-Za-z_]\w*)\s*$")
"""On the command line kind=matern needs no quotes, which a shell would take away."""


def _amplitude(high: float) -> Reader:
    """Of either sign, or none."""
    allowed = f"0, or a number of size {SMALLEST:g} to {high:g} and either sign"

    def read(value: Any) -> float:
        try:
            number = finite(value)
        except ValueError:
            raise ValueError(allowed) from None
        if number and not SMALLEST <= abs(number) <= high:
            raise ValueError(allowed)
        return number

    return read


def _none_or(low: float, high: float, unit: str) -> Reader:
    """0 switches it off."""
    one = number(low, high, unit)

    def read(value: Any) -> float:
        try:
            return 0.0 if finite(value) == 0.0 else float(one(value))
        except ValueError:
            raise ValueError(f"0, or a number in [{low:g}, {high:g}] {unit}") from None

    return read


def _filter_periods(value: Any) -> tuple[float, float, float, float]:
    allowed = "four decreasing periods in seconds, [T1, T2, T3, T4] with 100000 >= T1 > T2 > T3 > T4 > 0"
    if not isinstance(value, list | tuple) or len(value) != 4:
        raise ValueError(allowed)
    try:
        periods = tuple(finite(item) for item in value)
    except ValueError:
        raise ValueError(allowed) from None
    if not 1e5 >= periods[0] > periods[1] > periods[2] > periods[3] > 0:
        raise ValueError(allowed)
    return periods  # type: ignore[return-value]


def _knot_depths(value: Any) -> tuple[float, ...]:
    allowed = (
        f"increasing depths in km, at least four and 1 km apart, from 0 (surface) to {CMB_DEPTH_KM:g} (core), "
        "or [] for even knots"
    )
    if not isinstance(value, list | tuple):
        raise ValueError(allowed)
    try:
        depths = tuple(finite(item) for item in value)
    except ValueError:
        raise ValueError(allowed) from None
    increasing = all(upper + 1 <= lower for upper, lower in zip(depths, depths[1:], strict=False))
    if depths and (len(depths) < 4 or not increasing or depths[0] != 0 or depths[-1] != CMB_DEPTH_KM):
        raise ValueError(allowed)
    return depths


Profile = float | tuple[tuple[float, float], ...]
"""A number for all depths, or [depth_km, value] pairs."""


def _profile(what: str, low: float, high: float, unit: str = "") -> Reader:
    """One number, or a list of pairs of depth and number."""
    allowed = (
        f"a number in [{low:g}, {high:g}] {unit}".rstrip() + f", or a list of [depth_km, {what}] pairs with increasing "
        f"depths in [0, {CMB_DEPTH_KM:g}] km"
    )
    one = number(low, high)

    def read(value: Any) -> Profile:
        try:
            if not isinstance(value, list | tuple):
                return float(one(value))
            pairs = tuple((number(0, CMB_DEPTH_KM)(depth), one(item)) for depth, item in value)
        except (TypeError, ValueError):
            raise ValueError(allowed) from None
        if not pairs or any(upper[0] >= lower[0] for upper, lower in zip(pairs, pairs[1:], strict=False)):
            raise ValueError(allowed)
        return pairs

    return read


def at_depth(profile: Profile, depth_km: float) -> float:
    """Linear between the pairs, constant beyond their ends."""
    if isinstance(profile, float | int):
        return float(profile)
    if depth_km <= profile[0][0]:
        return profile[0][1]
    for (upper, at_upper), (lower, at_lower) in zip(profile, profile[1:], strict=False):
        if depth_km <= lower:
            return at_upper + (at_lower - at_upper) * (depth_km - upper) / (lower - upper)
    return profile[-1][1]


def multiplied(profile: Profile, factor: float) -> Profile:
    """The same profile, stronger or weaker at all depths."""
    if isinstance(profile, float | int):
        return float(profile) * factor
    return tuple((depth, factor * value) for depth, value in profile)


@dataclass(frozen=True)
class RunConfig:
    """Where the results go."""

    directory: str = setting(
        "",
        text,
        'folder of the results, relative to where you start craton; "" is <name of this file>-run',
        path="output",
    )
    seed: int = setting(2015, integer(0, 2**31 - 1), "seed of everything random: the noise, and the choice of paths")


@dataclass(frozen=True)
class EarthConfig:
    """The spherically symmetric reference Earth."""

    model: str = setting(
        "prem_isotropic",
        choice("prem_isotropic", "prem_iso_light", "prem"),
        "prem_isotropic, prem_iso_light (no crust and ocean), or prem (anisotropic)",
    )
    dispersion: bool = setting(True, boolean, "velocities at each mode's own frequency (physical dispersion)")
    attenuation: bool = setting(True, boolean, "seismograms decay with each mode's quality factor")


@dataclass(frozen=True)
class TheoryConfig:
    """What structure does to seismograms."""

    kind: str = setting(
        "pava",
        choice("pava", "nact", "nact_in_plane"),
        "pava: each mode's frequency shifts by the average along the path; nact: overtones couple as well, which sees "
        "structure in the great circle's plane and somewhat beside it, and takes a hundred times as long; nact_in_plane: "
        "without what is beside it, in two thirds of that time",
    )


@dataclass(frozen=True)
class ModesConfig:
    """The toroidal modes that the seismograms are summed from; they are computed once and kept in the cache."""

    shortest_period_s: float = setting(
        80.0, number(5, 1000, "s"), "seconds; halving it makes about four times as many modes"
    )
    element_km: float = setting(80.0, number(1, 500, "km"), "km; thickness of the radial finite elements")
    order: int = setting(3, integer(2, 8), "polynomial order of the radial finite elements")
    cache: str = setting("", text, 'folder of computed mode catalogues; "" is ~/.cache/craton', path="output")


@dataclass(frozen=True)
class BasisConfig:
    """The model: spherical splines on a subdivided icosahedron times cubic B-splines in radius."""

    lateral_level: int = setting(
        4, integer(1, 8), "level L has 10 * 4^(L-1) + 2 knots: 1: 12, 2: 42, 3: 162, 4: 642, 5: 2562, 6: 10242"
    )
    radial: int = setting(10, integer(4, 100), "number of B-splines between the core and the surface")
    radial_depths_km: tuple[float, ...] = setting(
        (), _knot_depths, f"km; knot depths from 0 to {CMB_DEPTH_KM:g} instead of even ones; [] uses `radial`"
    )
    xi: bool = setting(False, boolean, "radial anisotropy xi = (Vsh / Vsv)^2 as well, as dlnxi: twice as many unknowns")


@dataclass(frozen=True)
class EventsConfig:
    """Earthquakes: a CSV table of places and moment tensors (its header explains the columns)."""

    file: str = setting(REQUIRED, text, "CSV file, relative to this file's folder", path="input")
    maximum: int = setting(0, integer(0, 10**6), "use only the first so many; 0 uses all")


@dataclass(frozen=True)
class StationsConfig:
    """Stations: a CSV table of places."""

    file: str = setting(REQUIRED, text, "CSV file, relative to this file's folder", path="input")
    maximum: int = setting(0, integer(0, 10**6), "use only the first so many; 0 uses all")


@dataclass(frozen=True)
class PathsConfig:
    """Which event-station pairs are used."""

    min_distance_deg: float = setting(25.0, number(0, 180, "degrees"), "degrees")
    max_distance_deg: float = setting(
        155.0, number(0, 180, "degrees"), "degrees; minor-arc theory fails near the antipode"
    )
    maximum: int = setting(0, integer(0, 10**9), "take a random subset of so many paths (by run.seed); 0 takes all")


@dataclass(frozen=True)
class DataConfig:
    """Seismograms: made from the target model, or read from a file; filter and time windows."""

    kind: str = setting(
        "synthetic", choice("synthetic", "file"), '"synthetic" makes data from [target]; "file" reads them'
    )
    file: str = setting(
        "",
        text,
        "HDF5 file with the observed samples (data.h5 of a run), relative to this file's folder",
        path="input",
    )
    noise: float = setting(0.05, number(1e-4, 10), "noise's standard deviation as a fraction of each trace's rms")
    filter_periods_s: tuple[float, float, float, float] = setting(
        (400.0, 250.0, 100.0, 80.0), _filter_periods, "seconds; cosine taper T1..T2, pass T2..T3, taper T3..T4"
    )
    components: str = setting(
        "T",
        choice("T", "Z", "R", "ZR", "ZT", "RT", "ZRT"),
        "Z (up), R (away from the source), T (transverse), a window for each; of the windows in a file, those",
    )
    sample_interval_s: float = setting(10.0, number(0.1, 200, "s"), "seconds")
    fastest_km_s: float = setting(9.0, number(0.5, 50, "km/s"), "km/s; the window opens at distance / fastest - pad")
    slowest_km_s: float = setting(3.4, number(0.5, 50, "km/s"), "km/s; the window closes at distance / slowest + pad")
    pad_s: float = setting(100.0, number(0, 10000, "s"), "seconds")
    correlation_s: float = setting(
        0.0, number(0, 10000, "s"), "seconds over which the noise's correlation falls to 1/e; 0: independent samples"
    )


@dataclass(frozen=True)
class TargetConfig:
    """The Earth that synthetic data are made from: a checkerboard plus one cylinder of slow (or fast) rock."""

    checkerboard_degree: int = setting(
        8, integer(1, 60), "spherical-harmonic degree: cells are about 20000 km / degree wide"
    )
    checkerboard_amplitude: float = setting(
        0.02, _amplitude(0.2), "largest dlnVs of the checkerboard (0.02 is 2%); 0 for none"
    )
    checkerboard_depth_nodes: int = setting(
        2, integer(0, 20), "how often the pattern changes sign between surface and core"
    )
    plume_latitude_deg: float = setting(19.4, number(-90, 90, "degrees"), "degrees north, geographic")
    plume_longitude_deg: float = setting(-155.3, number(-180, 360, "degrees"), "degrees east")
    plume_radius_km: float = setting(
        800.0, number(10, 5000, "km"), "km; distance from the axis at which the anomaly has fallen to 1/e"
    )
    plume_amplitude: float = setting(-0.03, _amplitude(0.2), "dlnVs on the axis (-0.03 is 3% slow); 0 for none")
    plume_name: str = setting("Hawaii", text, "the plume's name on the maps")


@dataclass(frozen=True)
class PriorConfig:
    """What is believed before the data: how strong the Earth's structure is, and over what distance it is alike."""

    kind: str = setting(
        "gaussian", choice("gaussian", "matern"), '"gaussian", or "matern": the same in all directions, rougher'
    )
    correlation_km: Profile = setting(
        1000.0,
        _profile("length", 1, 20000, "km"),
        "km; distance over which structure is alike: laterally (gaussian; or [depth_km, length] pairs), or in every direction "
        "(matern)",
    )
    correlation_depth_km: Profile = setting(
        400.0, _profile("length", 1, 3000, "km"), "km; the same in depth (gaussian only; or [depth_km, length] pairs)"
    )
    strength: Profile = setting(
        0.03,
        _profile("strength", SMALLEST, 1),
        "standard deviation of dlnVs (0.03 is 3%), or a list of [depth_km, strength] pairs",
    )
    xi_strength: Profile = setting(
        0.02, _profile("strength", SMALLEST, 1), "the same of dlnxi, where [basis] xi is true (gaussian only)"
    )
    nugget: float = setting(
        1e-3, number(1e-12, 1), "uncorrelated part of the variance; keeps C_m invertible (gaussian only)"
    )
    cells: int = setting(
        0,
        integer(0, 10**4),
        "cells along each side of the grid (matern only): a multiple of 16; 0 takes what is needed",
    )

    def strength_at(self, depth_km: float) -> float:
        """Standard deviation of dlnVs at a depth: linear between the pairs, constant beyond their ends."""
        return at_depth(self.strength, depth_km)

    @property
    def one_length_km(self) -> float:
        """The correlation length of a prior that knows no other than one for all depths (matern)."""
        assert isinstance(self.correlation_km, float | int)
        return float(self.correlation_km)

    def to_toml(self) -> str:
        return table_to_toml("prior", self)

    def to_dict(self) -> dict[str, Any]:
        return dataclasses.asdict(self)


@dataclass(frozen=True)
class InversionConfig:
    """The Gauss-Newton iterations."""

    max_iterations: int = setting(4, integer(1, 100), "stop after so many")
    tolerance: float = setting(0.01, number(0, 1), "stop when the misfit falls by less than this fraction")
    precision: str = setting("float32", choice("float32", "float64"), "of the Hessian's elements")
    solve_precision: str = setting("float64", choice("float32", "float64"), "of the Cholesky factorisation")
    block: int = setting(64, integer(1, 4096), "rows and columns of a block of the distributed Hessian")
    damping: float = setting(0.0, number(0, 1e6), "added to the diagonal, as a fraction of its mean; 0 for none")
    step_percent: float = setting(
        0.0,
        _none_or(0.001, 1000, "%"),
        "%; bound on the largest change of dlnVs at a knot in one iteration: a longer step is shortened; 0 for none",
    )
    step_halvings: int = setting(
        4, integer(0, 30), "how often a step is halved that would raise the misfit, before the run ends"
    )
    keep_hessians: str = setting(
        "last",
        choice("last", "all", "none"),
        '"last"; "all": those before as hessian-1.h5, hessian-2.h5, ...; "none": dropped when its model is found',
    )


@dataclass(frozen=True)
class AssemblyConfig:
    """How the work is shared out."""

    subset: int = setting(16, integer(1, 100000), "paths handed out at a time")
    threads: int = setting(1, integer(1, 1024), "worker threads of each rank")
    compress: float = setting(
        1e-4,
        number(0, 0.1),
        "kind = nact: what is below this part of a panel's norm may be left out of its product, where that saves time; "
        "0: nothing",
    )
    checkpoint_minutes: float = setting(
        10.0,
        _none_or(1e-4, 1e5, "minutes"),
        "minutes of assembly between checkpoints, which `craton tomography resume` goes on from; 0 for none",
    )


@dataclass(frozen=True)
class ReportConfig:
    """What is computed at the end, for the report."""

    resolution: bool = setting(
        False,
        boolean,
        "resolution and standard deviations, as by `craton tomography posterior`; takes about as long as three steps' "
        "factorisations",
    )


@dataclass(frozen=True)
class Config:
    """A whole configuration, checked. Paths in it are absolute."""

    run: RunConfig
    earth: EarthConfig
    theory: TheoryConfig
    modes: ModesConfig
    basis: BasisConfig
    events: EventsConfig
    stations: StationsConfig
    paths: PathsConfig
    data: DataConfig
    target: TargetConfig | None
    prior: PriorConfig
    inversion: InversionConfig
    assembly: AssemblyConfig
    report: ReportConfig
    source: Path = Path("config.toml")

    def to_dict(self) -> dict[str, Any]:
        """Tables of plain values, without `source`: what a TOML or JSON file holds."""
        tables = {name: getattr(self, name) for name in TABLES}
        return {name: dataclasses.asdict(table) for name, table in tables.items() if table is not None}

    def to_toml(self) -> str:
        """The same configuration with every default written out; load_config reads it back, from any folder."""
        tables = ((name, getattr(self, name)) for name in TABLES)
        return "\n".join(table_to_toml(name, table) for name, table in tables if table is not None)

    def replaced(self, table: str, **values: Any) -> Config:
        """A copy with some settings of one table replaced, checked as if they had been written in the file."""
        raw = self.to_dict()
        raw.setdefault(table, {}).update(values)
        return _build(raw, self.source)


TABLES: dict[str, type] = {
    "run": RunConfig,
    "earth": EarthConfig,
    "theory": TheoryConfig,
    "modes": ModesConfig,
    "basis": BasisConfig,
    "events": EventsConfig,
    "stations": StationsConfig,
    "paths": PathsConfig,
    "data": DataConfig,
    "target": TargetConfig,
    "prior": PriorConfig,
    "inversion": InversionConfig,
    "assembly": AssemblyConfig,
    "report": ReportConfig,
}


def load_config(path: str | os.PathLike[str]) -> Config:
    """Reads and checks a configuration file. UserError names the key, the value and what is allowed."""
    source = Path(path)
    return _build(read_toml(source, "craton tomography template"), source)


def config_from_dict(values: Mapping[str, Any], source: str | os.PathLike[str]) -> Config:
    """The inverse of Config.to_dict, checked; `source` is what error messages name."""
    return _build(values, Path(source))


def process_grid(ranks: int) -> tuple[int, int]:
    """Rows and columns of ranks, over which a matrix is dealt: the most square grid, no more rows than columns."""
    rows = next(rows for rows in range(math.isqrt(ranks), 0, -1) if ranks % rows == 0)
    return rows, ranks // rows


def check_ranks(config: Config, ranks: int) -> None:
    """Each rank must own a block of the Hessian, whose blocks lie on the process grid."""
    knots = 10 * 4 ** (config.basis.lateral_level - 1) + 2
    unknowns = knots * (len(config.basis.radial_depths_km) or config.basis.radial)
    rows, columns = process_grid(ranks)
    block = config.inversion.block
    blocks = -(-unknowns // block)
    if columns > blocks:
        largest = (unknowns - 1) // (columns - 1)
        cure = f"a block of at most {largest}, or fewer ranks" if largest else "fewer ranks"
        raise UserError(
            f"{config.source}: [inversion] block = {block}: more ranks than blocks, because {unknowns} unknowns make "
            f"{blocks} x {blocks} of them for a grid of {rows} x {columns} ranks; allowed: {cure}"
        )


def load_prior(spec: str, base: PriorConfig | None = None) -> PriorConfig:
    """A prior from a TOML file with a [prior] table, or from inline settings such as "strength=0.05,nugget=0.01".

    Settings that are not named keep the values of `base` (for a file: the defaults).
    """
    if "=" in spec:
        # commas also separate the items of a list, so only those before `key =` end a setting
        lines = re.split(r",\s*(?=[A-Za-z_]\w*\s*=)", spec)
        lines = [BARE_KIND.sub(r'\1"\2"', line) for line in lines]
        try:
            values = tomllib.loads("\n".join(lines))
        except (ValueError, RecursionError) as error:
            raise UserError(
                f"--prior {spec!r}: {error}; allowed: key=value pairs separated by commas, or a TOML file"
            ) from None
        kept = (base or PriorConfig()).to_dict()
        return prior_from_dict({**kept, **values}, f"--prior {spec!r}")
    if not spec.strip():
        raise UserError("--prior '': says nothing; allowed: key=value pairs separated by commas, or a TOML file")
    source = Path(spec)
    tables = _with_whole_prior(read_toml(source, "craton tomography template"))
    check_keys(tables, TABLES, f"{source}: unknown table", brackets=True)
    if "prior" not in tables:
        raise UserError(f"{source}: no [prior] table; allowed: a TOML file with a [prior] table, or key=value pairs")
    return prior_from_dict(tables["prior"], str(source))


def prior_from_dict(values: Mapping[str, Any], where: str) -> PriorConfig:
    """The inverse of PriorConfig.to_dict, checked."""
    prior = read_table(PriorConfig, "prior", values, where, Path.cwd())
    _check_grid(prior, where)
    return prior


def template() -> str:
    """A commented TOML file with every table, key and default."""
    lines = ["# A tomography run of Craton. Start it with: craton tomography run THIS_FILE --ranks 4", ""]
    for name, table in TABLES.items():
        lines += [f"# {table.__doc__}", f"[{name}]"]
        for item in dataclasses.fields(table):
            default = f"{name}.csv" if item.default == REQUIRED else item.default
            lines.append(f"{f'{item.name} = {toml_value(default)}':<44} # {item.metadata['help']}")
        lines.append("")
    return "\n".join(lines)


def _build(raw: Mapping[str, Any], source: Path) -> Config:
    check_keys(raw, TABLES, f"{source}: unknown table", brackets=True)
    folder = source.absolute().parent
    raw, tables = _with_whole_prior(raw), dict[str, Any]()
    for name, table in TABLES.items():
        if name == "target" and name not in raw:
            tables[name] = None
        else:
            tables[name] = read_table(table, name, raw.get(name, {}), str(source), folder)
    config = Config(**tables, source=source)
    if not config.run.directory:
        default = dataclasses.replace(config.run, directory=str(Path.cwd() / f"{source.stem}-run"))
        config = dataclasses.replace(config, run=default)
    _check_together(config)
    return config


def _with_whole_prior(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """prior = "matern" is short for a table [prior] with nothing but its kind."""
    return {**raw, "prior": {"kind": raw["prior"]}} if isinstance(raw.get("prior"), str) else raw


def _check_grid(prior: PriorConfig, where: str) -> None:
    """Of a Matern prior: that its grid can resolve the correlation length."""
    if prior.kind == "matern":
        if not isinstance(prior.correlation_km, float | int):
            raise UserError(
                f'{where}: [prior] correlation_km varies with depth and kind = "matern"; allowed: one number, or '
                'kind = "gaussian"'
            )
        try:
            check_resolution(prior.cells, prior.one_length_km)
        except UserError as error:
            raise UserError(f"{where}: {error}") from None


def _check_together(config: Config) -> None:
    """What no single setting can be wrong about alone."""

    def wrong(text: str) -> UserError:
        return UserError(f"{config.source}: {text}")

    _check_grid(config.prior, str(config.source))
    paths, data, modes = config.paths, config.data, config.modes
    if paths.min_distance_deg >= paths.max_distance_deg:
        raise wrong(
            f"[paths] min_distance_deg = {paths.min_distance_deg:g}; "
            f"allowed: less than max_distance_deg = {paths.max_distance_deg:g}"
        )
    if data.slowest_km_s >= data.fastest_km_s:
        raise wrong(
            f"[data] slowest_km_s = {data.slowest_km_s:g}; allowed: less than fastest_km_s = {data.fastest_km_s:g}"
        )
    if data.filter_periods_s[3] < modes.shortest_period_s:
        raise wrong(
            f"[data] filter_periods_s ends at {data.filter_periods_s[3]:g} s; allowed: not below "
            f"[modes] shortest_period_s = {modes.shortest_period_s:g} s, because shorter modes are not computed"
        )
    if 2 * data.sample_interval_s > data.filter_periods_s[3]:
        raise wrong(
            f"[data] sample_interval_s = {data.sample_interval_s:g}; allowed: at most half of the shortest period "
            f"let through, {data.filter_periods_s[3] / 2:g} s"
        )
    if config.report.resolution and config.inversion.keep_hessians == "none":
        raise wrong(
            '[report] resolution = true; allowed: false, because [inversion] keep_hessians = "none" keeps no Hessian '
            "that it could come from"
        )
    if data.kind == "file" and not data.file:
        raise wrong('[data] file is missing; allowed: an HDF5 file, because kind = "file"')
    if data.kind == "synthetic" and config.target is None:
        raise wrong('the table [target] is missing; allowed: a [target] table, because [data] kind = "synthetic"')
