"""The configuration of `craton waves run CONFIG`. `craton waves template` prints all of it.

config_tables has the settings, config_checks what they must be together. What a configuration names is made by setup.py.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from craton.errors import UserError
from craton.seismology.wave_run.config_checks import check_grid, check_media, check_source
from craton.seismology.wave_run.config_tables import (
    TABLES,
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
from craton.settings import Configuration, read_toml, template_of

__all__ = ["SAFETY", "STABILITY", "TABLES", "Config", "build", "load_config", "template"]

STABILITY = 6 / (7 * math.sqrt(3)) / (1 + 2**-10)
"""vp dt / h must stay below it: the scheme's limit in three dimensions, 1 / (sqrt(3) (c1 - c2)) with c1 = 9/8, c2 = -1/24,
for media of which some are rounded up by 2^-10."""
SAFETY = 0.95
"""Of that limit, the step that is chosen where none is given."""


@dataclass(frozen=True, kw_only=True)
class Config(Configuration):
    """A whole configuration, checked. Paths in it are absolute."""

    tables = TABLES
    listed = {"source": SourceConfig}
    optional = ("attenuation",)

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

    @property
    def cells(self) -> tuple[int, int, int]:
        """Along x, y and z."""
        return self.grid.cells

    def check(self) -> None:
        """Refuses tables that do not go together. UserError."""
        check_grid(self.grid, self.boundary, self.run, self.wrong)
        check_media(self.media, self.attenuation, self.wrong)
        for at, source in enumerate(self.sources, 1):
            check_source(source, self.grid, self.boundary, partial(self._wrong_source, at))

    def _wrong_source(self, at: int, line: str) -> UserError:
        return self.wrong(f"[[source]] {at} {line}")


build = Config.build


def load_config(path: str | os.PathLike[str], **run: Any) -> Config:
    """Reads and checks a configuration file. UserError names the key, the value and what is allowed.

    run: settings of [run] that replace the file's, such as threads and directory; None leaves the file's.
    """
    path = Path(path)
    config = build(read_toml(path, "craton waves template"), path)
    given = {name: str(value) if name == "directory" else value for name, value in run.items() if value is not None}
    return config.replaced("run", **given) if given else config


def template() -> str:
    """A commented TOML file with every table, key and default."""
    heading = "A run of the wave solver. Look at it with: craton waves check THIS_FILE; start it with: craton waves run THIS_FILE"
    examples = {
        "grid.spacing_m": 100.0,
        "grid.size_km": [12.0, 12.0, 6.0],
        "time.duration_s": 10.0,
        "source.position_m": [6000.0, 6000.0, 2000.0],
        "source.moment_Nm": [0.0, 0.0, 0.0, 1e18, 0.0, 0.0],
        "source.time_function": "gaussian",
        "source.sigma_s": 0.2,
    }
    return template_of(heading, {**TABLES, "[source]": SourceConfig}, examples)
