"""The groups of requirements that pyproject.toml states. Of the standard library alone: a new .venv has nothing else."""

import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent


def pyproject() -> dict[str, Any]:
    """The tables of pyproject.toml."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def requirements(tables: dict[str, Any], group: str) -> list[str]:
    """The requirements of one group.

    `build-system` and `project` are those tables' own, `installers`, `without-dependencies` and `supply-chain` those of
    [tool.craton]; any other word is an optional-dependency group. Raises KeyError for a group that is not there.
    """
    if group == "build-system":
        return tables["build-system"]["requires"]
    if group == "project":
        return tables["project"]["dependencies"]
    if group in ("installers", "without-dependencies", "supply-chain"):
        return tables["tool"]["craton"][group]
    return tables["project"]["optional-dependencies"][group]
