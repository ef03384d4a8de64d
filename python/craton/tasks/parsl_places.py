"""A Parsl configuration as a user wrote it, and the places for tasks that its executors offer.

The file is Python, as Parsl's documentation has it, with a variable `config` of type parsl.Config.
"""

from __future__ import annotations

import runpy
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from craton._launch import usable_cores
from craton.errors import UserError
from craton.tasks.graph import Task

if TYPE_CHECKING:
    from parsl import Config

__all__ = ["Place", "load_parsl_config", "place_for", "places_of"]

MOST_NODES = 100_000
"""Counted, of an executor that may grow without a limit."""


@dataclass(frozen=True)
class Place:
    """An executor, as tasks see it."""

    executor: str
    """its label"""
    cores: int
    """that a task may have: those of a worker, or of all nodes that tasks of several ranks share"""
    tasks: int
    """at the same time, once all blocks are there"""
    node_cores: int = 0
    """of a node, where tasks may have ranks on several; 0: a task is one process on one node, and what that starts there"""

    @property
    def all_cores(self) -> int:
        """Cores of all tasks together."""
        return self.cores if self.node_cores else self.cores * self.tasks


def load_parsl_config(file: Path) -> Config:
    """Runs the file and returns its `config`. UserError for a file that cannot be read or run, or without one."""
    parsl = _parsl()
    if not file.is_file():
        raise UserError(f"{file}: no such file; allowed: a Python file with a variable config = parsl.Config(...)")
    try:
        found = runpy.run_path(str(file)).get("config")
    except Exception as error:  # whatever a user's own program may raise
        lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
        line = lines[-1] if lines else getattr(error, "lineno", None)
        where = f"{file}, line {line}" if line else str(file)
        raise UserError(
            f"{where}: {_first_line(error)}; allowed: Python that runs, with config = parsl.Config(...)"
        ) from None
    if not isinstance(found, parsl.Config):
        what = "no variable config" if found is None else f"config is of type {type(found).__name__}"
        raise UserError(f"{file}: {what}; allowed: config = parsl.Config(executors=[...])")
    config: Config = found
    return config


def places_of(config: Config, file: Path) -> list[Place]:
    """What its executors offer. UserError for one of another kind, or one that does not tell how many cores a node has."""
    _parsl()
    from parsl import HighThroughputExecutor
    from parsl.executors import MPIExecutor

    found = []
    for one in config.executors:
        if isinstance(one, MPIExecutor):
            found.append(_of_nodes(one, file))
        elif isinstance(one, HighThroughputExecutor):
            found.append(_of_workers(one, file))
        else:
            raise UserError(
                f"{file}: executor '{one.label}' is a {type(one).__name__}; allowed: HighThroughputExecutor and MPIExecutor"
            )
    return found


def place_for(task: Task, places: Sequence[Place]) -> Place:
    """The place with the fewest cores that are enough, a worker before nodes that ranks share. UserError if there is none."""
    fit = [one for one in places if one.cores >= task.cores and (one.node_cores == 0 or _fits_nodes(task, one))]
    if not fit:
        offered = ", ".join(f"{one.cores} ({one.executor})" for one in places)
        raise UserError(
            f"{task.name}: needs {task.cores} cores; allowed: what a worker or all nodes of the engine have, {offered}, or fewer "
            "ranks or threads"
        )
    return min(fit, key=lambda one: (one.node_cores > 0, one.cores))


def _fits_nodes(task: Task, place: Place) -> bool:
    return task.cores // task.ranks <= place.node_cores


def _of_workers(executor: Any, file: Path) -> Place:
    cores = max(1, int(executor.cores_per_worker))
    limits = [executor.max_workers_per_node]
    node_cores = _node_cores(executor)
    if node_cores:
        limits.append(max(1, int(node_cores / executor.cores_per_worker)))
    if executor.available_accelerators:
        limits.append(len(executor.available_accelerators))
    workers = min(limits)
    if workers == float("inf"):
        raise UserError(
            f"{file}: executor '{executor.label}' does not tell how many workers a node has; allowed: max_workers_per_node=N, or a "
            "provider with cores_per_node=N"
        )
    return Place(executor.label, cores, int(workers) * _nodes(executor))


def _of_nodes(executor: Any, file: Path) -> Place:
    cores, nodes = _node_cores(executor), _nodes(executor)
    if not cores:
        raise UserError(
            f"{file}: executor '{executor.label}' does not tell how many cores a node has; allowed: a provider with "
            "cores_per_node=N"
        )
    together = executor.provider.nodes_per_block
    return Place(executor.label, cores * together, executor.max_workers_per_block * nodes // together, node_cores=cores)


def _nodes(executor: Any) -> int:
    """Of all blocks."""
    provider = executor.provider
    return max(1, int(min(provider.nodes_per_block * provider.max_blocks, MOST_NODES)))


def _node_cores(executor: Any) -> int:
    """0 where nobody tells."""
    from parsl.providers import LocalProvider

    if isinstance(executor.provider, LocalProvider):
        return usable_cores()
    return getattr(executor.provider, "cores_per_node", None) or 0


def _parsl() -> Any:
    try:
        import parsl
    except ImportError:
        raise UserError(
            "engine parsl: the package parsl is not installed; allowed: pip install 'parsl>=2026.1', or engine local"
        ) from None
    return parsl


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
