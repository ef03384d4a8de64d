"""The configuration of `craton waves run CONFIG`. `craton waves template` prints all of it.

config_tables has the settings, config_checks what they must be together. What a configuration names is made by setup.py.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from craton.errors import UserError
from craton.seismology.wave_run.config_checks import check_grid, check_media, check_source
from craton.seismology.wave_run.config_tables import (
    AttenuationConfig,
    BoundaryConfig,
    CheckpointConfig,
    GridConfig,
    MediaConfig,
    MovieConfig,
    ReceiversConfig,
    RunConfig,
    SgtConfig,
    SnapshotsConfig,
    SourceConfig,
    TimeConfig,
)
from craton.settings import check_keys, read_table, read_toml, table_to_toml, toml_value

__all__ = ["SAFETY", "STABILITY", "TABLES", "Config", "build", "load_config", "template"]

STABILITY = 6 / (7 * math.sqrt(3)) / (1 + 2**-10)
"""vp dt / h must stay below it: the scheme's limit in three dimensions, 1 / (sqrt(3) (c1 - c2)) with c1 = 9/8, c2 = -1/24,
for media of which some are rounded up by 2^-10."""
SAFETY = 0.95
"""Of that limit, the step that is chosen where none is given."""


@dataclass(frozen=True)
class Config:
    """A whole configuration, checked. Paths in it are absolute."""

    run: RunConfig
    grid: GridConfig
    time: TimeConfig
    media: MediaConfig
    attenuation: AttenuationConfig | None
    boundary: BoundaryConfig
    receivers: ReceiversConfig
    sgt: SgtConfig
    snapshots: SnapshotsConfig
    movie: MovieConfig
    checkpoint: CheckpointConfig
    sources: tuple[SourceConfig, ...]
    path: Path = Path("config.toml")

    @property
    def cells(self) -> tuple[int, int, int]:
        """Along x, y and z."""
        return self.grid.cells

    @property
    def size_m(self) -> tuple[float, ...]:
        """Along x, y and z."""
        return self.grid.extent_m

    def wrong(self, message: str) -> UserError:
        """Of this file."""
        return UserError(f"{self.path}: {message}")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, as a TOML file holds them."""
        tables = {name: getattr(self, name) for name in TABLES}
        plain: dict[str, Any] = {name: dataclasses.asdict(table) for name, table in tables.items() if table is not None}
        return plain | {"source": [dataclasses.asdict(source) for source in self.sources]}

    def to_toml(self, leave_out: Sequence[str] = ()) -> str:
        """With every default written out, but for some tables; load_config reads it back, from any folder."""
        tables = ((name, getattr(self, name)) for name in TABLES if name not in leave_out)
        written = [table_to_toml(name, table) for name, table in tables if table is not None]
        return "\n".join([*written, *(table_to_toml("[source]", source) for source in self.sources)])

    def replaced(self, table: str, **values: Any) -> Config:
        """A copy with some settings of one table replaced, checked as if they had been written in the file."""
        raw = self.to_dict()
        raw.setdefault(table, {}).update(values)
        return build(raw, self.path)


TABLES: dict[str, type] = {
    "run": RunConfig,
    "grid": GridConfig,
    "time": TimeConfig,
    "media": MediaConfig,
    "attenuation": AttenuationConfig,
    "boundary": BoundaryConfig,
    "receivers": ReceiversConfig,
    "sgt": SgtConfig,
    "snapshots": SnapshotsConfig,
    "movie": MovieConfig,
    "checkpoint": CheckpointConfig,
}


def load_config(path: str | os.PathLike[str], **run: Any) -> Config:
    """Reads and checks a configuration file. UserError names the key, the value and what is allowed.

    run: settings of [run] that replace the file's, such as threads and directory; None leaves the file's.
    """
    path = Path(path)
    config = build(read_toml(path, "craton waves template"), path)
    given = {name: str(value) if name == "directory" else value for name, value in run.items() if value is not None}
    return config.replaced("run", **given) if given else config


def build(raw: Mapping[str, Any], path: Path) -> Config:
    """From what a TOML file holds."""
    check_keys(raw, {**TABLES, "source": SourceConfig}, f"{path}: unknown table", brackets=True)
    folder, where = path.absolute().parent, str(path)
    tables: dict[str, Any] = {
        name: None
        if name == "attenuation" and name not in raw
        else read_table(table, name, raw.get(name, {}), where, folder)
        for name, table in TABLES.items()
    }
    listed = raw.get("source", [])
    if not isinstance(listed, list):
        raise UserError(f"{path}: [source] is one table; allowed: [[source]], in double brackets, for each source")
    sources = tuple(
        read_table(SourceConfig, f"[[source]] {at}", one, where, folder) for at, one in enumerate(listed, 1)
    )
    config = Config(**tables, sources=sources, path=path)
    if not config.run.directory:
        default = dataclasses.replace(config.run, directory=str(Path.cwd() / f"{path.stem}-run"))
        config = dataclasses.replace(config, run=default)
    check_grid(config.grid, config.boundary, config.run, config.wrong)
    check_media(config.media, config.attenuation, config.wrong)
    for at, source in enumerate(config.sources, 1):
        check_source(source, config.grid, config.boundary, partial(_wrong_source, config, at))
    return config


def _wrong_source(config: Config, at: int, line: str) -> UserError:
    return config.wrong(f"[[source]] {at} {line}")


def template() -> str:
    """A commented TOML file with every table, key and default."""
    lines = [
        "# A run of the wave solver. Look at it with: craton waves check THIS_FILE; start it with: craton waves run THIS_FILE",
        "",
    ]
    examples = {"spacing_m": 100.0, "duration_s": 10.0, "size_km": [12.0, 12.0, 6.0]}
    at_source = {"position_m": [6000.0, 6000.0, 2000.0], "moment_Nm": [0.0, 0.0, 0.0, 1e18, 0.0, 0.0]} | {
        "time_function": "gaussian",
        "sigma_s": 0.2,
    }
    for name, table in [*TABLES.items(), ("source", SourceConfig)]:
        source = table is SourceConfig
        lines += [f"# {' '.join((table.__doc__ or '').split())}", f"[[{name}]]" if source else f"[{name}]"]
        given = at_source if source else examples if name in ("grid", "time") else {}
        for item in dataclasses.fields(table):
            value = given.get(item.name, item.default)
            lines.append(f"{f'{item.name} = {toml_value(value)}':<44} # {item.metadata['help']}")
        lines.append("")
    return "\n".join(lines)
