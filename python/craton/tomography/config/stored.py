"""Settings of a run that has ended, from the configuration in its files."""

from __future__ import annotations

import pathlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from craton.settings import read_table
from craton.tomography.config.tables import DataConfig, EarthConfig, ModesConfig, TheoryConfig


@dataclass(frozen=True)
class TheorySettings:
    """What a forward problem depends on, beside the basis."""

    earth: EarthConfig
    modes: ModesConfig
    data: DataConfig
    theory: TheoryConfig


def theory_settings(config: Mapping[str, Any], where: str) -> TheorySettings:
    """From the configuration of a run, as hessian.h5 and record.json hold it; what is missing has its default.
    `where`: of both, for errors. UserError for what is not allowed.
    """

    def settings(table: Any, name: str) -> Any:
        return read_table(table, name, config.get(name, {}), where, pathlib.Path.cwd())

    data = read_table(DataConfig, "data", dict(config.get("data", {}), file=""), where, pathlib.Path.cwd())
    theory = settings(TheoryConfig, "theory")
    return TheorySettings(settings(EarthConfig, "earth"), settings(ModesConfig, "modes"), data, theory)
