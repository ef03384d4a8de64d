"""A whole configuration: read, checked, written, and printed with all its defaults."""

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
    check_keys,
    read_table,
    read_toml,
    table_to_toml,
    toml_value,
)
from craton.tomography.config.prior import PriorConfig, check_grid, prior_from_dict, with_whole_prior
from craton.tomography.config.tables import (
    AssemblyConfig,
    BasisConfig,
    DataConfig,
    EarthConfig,
    EventsConfig,
    InversionConfig,
    ModesConfig,
    PathsConfig,
    ReportConfig,
    RunConfig,
    StationsConfig,
    TargetConfig,
    TheoryConfig,
)

BARE_KIND = re.compile(r"^(\s*kind\s*=\s*)([A-Za-z_]\w*)\s*$")
"""On the command line kind=matern needs no quotes, which a shell would take away."""


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
        return config_of(raw, self.source)


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
    return config_of(read_toml(source, "craton tomography template"), source)


def config_from_dict(values: Mapping[str, Any], source: str | os.PathLike[str]) -> Config:
    """The inverse of Config.to_dict, checked; `source` is what error messages name."""
    return config_of(values, Path(source))


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
    tables = with_whole_prior(read_toml(source, "craton tomography template"))
    check_keys(tables, TABLES, f"{source}: unknown table", brackets=True)
    if "prior" not in tables:
        raise UserError(f"{source}: no [prior] table; allowed: a TOML file with a [prior] table, or key=value pairs")
    return prior_from_dict(tables["prior"], str(source))


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


def config_of(raw: Mapping[str, Any], source: Path) -> Config:
    check_keys(raw, TABLES, f"{source}: unknown table", brackets=True)
    folder = source.absolute().parent
    raw, tables = with_whole_prior(raw), dict[str, Any]()
    for name, table in TABLES.items():
        if name == "target" and name not in raw:
            tables[name] = None
        else:
            tables[name] = read_table(table, name, raw.get(name, {}), str(source), folder)
    config = Config(**tables, source=source)
    if not config.run.directory:
        default = dataclasses.replace(config.run, directory=str(Path.cwd() / f"{source.stem}-run"))
        config = dataclasses.replace(config, run=default)
    check_together(config)
    return config


def check_together(config: Config) -> None:
    """What no single setting can be wrong about alone."""

    def wrong(text: str) -> UserError:
        return UserError(f"{config.source}: {text}")

    check_grid(config.prior, str(config.source))
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
