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

__all__ = ["Place", "first_line", "load_parsl_config", "place_for", "places_of"]

MOST_BLOCKS = 1000
"""Counted, of an executor that may grow without a limit."""


@dataclass(frozen=True)
class Place:
    """An executor, as tasks see it: its workers, or nodes that the ranks of a task share."""

    executor: str
    """its label"""
    cores: int
    """that a task may have: those of a worker, or of all nodes of a block"""
    count: int
    """workers, or blocks, once all are there"""
    nodes: int = 0
    """of a block that tasks of several ranks share; 0: a task is one process on one node, and what that starts there"""
    tasks: int = 1
    """of several ranks in a block at the same time"""
    launcher: str = ""
    """that starts them"""

    @property
    def all_cores(self) -> int:
        """Cores of all tasks together."""
        return self.cores * self.count

    def nodes_for(self, task: Task) -> dict[str, int | str]:
        """What Parsl is told of a task of several ranks: as few nodes as hold them, and its threads."""
        rank_cores = task.cores // task.ranks
        per_node = max(1, min(task.ranks, self.cores // self.nodes // rank_cores))
        found = {"num_nodes": -(-task.ranks // per_node), "num_ranks": task.ranks, "ranks_per_node": per_node}
        threads = {"srun": f"--cpus-per-task={rank_cores}", "aprun": f"-d {rank_cores}"}
        return found | ({"launcher_options": threads[self.launcher]} if self.launcher in threads else {})

    def holds(self, task: Task) -> bool:
        """Whether the task could begin here. UserError where tasks like this one would stop the executor."""
        if not self.nodes:
            return self.cores >= task.cores
        if task.ranks == 1 or task.module or task.cores // task.ranks > self.cores // self.nodes:
            return False
        wanted = int(self.nodes_for(task)["num_nodes"])
        # Parsl 2026.10 loses results where tasks wait for nodes of their block
        if wanted <= self.nodes < wanted * self.tasks:
            raise UserError(
                f"{task.name}: takes {wanted} nodes of executor '{self.executor}', which begins {self.tasks} tasks on "
                f"{self.nodes} nodes; allowed: max_workers_per_block={self.nodes // wanted}"
            )
        return wanted <= self.nodes


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
            f"{where}: {first_line(error)}; allowed: Python that runs, with config = parsl.Config(...)"
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
    fit = [one for one in places if one.holds(task)]
    if not fit:
        offered = ", ".join(f"{one.cores} ({one.executor}{', several ranks' if one.nodes else ''})" for one in places)
        raise UserError(
            f"{task.name}: needs {task.cores} cores for {task.ranks} ranks; allowed: what executors have for a task, {offered}, or "
            "fewer ranks or threads"
        )
    return min(fit, key=lambda one: (one.nodes > 0, one.cores))


def _of_workers(executor: Any, file: Path) -> Place:
    provider = executor.provider
    limits = [executor.max_workers_per_node]
    if node_cores := _node_cores(executor):
        limits.append(max(1, int(node_cores / executor.cores_per_worker)))
    if executor.available_accelerators:
        limits.append(len(executor.available_accelerators))
    if executor.mem_per_worker and getattr(provider, "mem_per_node", None):
        limits.append(max(1, int(provider.mem_per_node / executor.mem_per_worker)))
    workers = min(limits)
    if workers == float("inf"):
        raise UserError(
            f"{file}: executor '{executor.label}' does not tell how many workers a node has; allowed: max_workers_per_node=N, or a "
            "provider with cores_per_node=N"
        )
    pools = _blocks(executor) * (1 if _starts_one_pool(provider) else provider.nodes_per_block)
    return Place(executor.label, max(1, int(executor.cores_per_worker)), int(workers) * pools)


def _of_nodes(executor: Any, file: Path) -> Place:
    cores, nodes = _node_cores(executor), executor.provider.nodes_per_block
    if not cores:
        raise UserError(
            f"{file}: executor '{executor.label}' does not tell how many cores a node has; allowed: a provider with "
            "cores_per_node=N"
        )
    tasks = executor.max_workers_per_block
    return Place(executor.label, cores * nodes, _blocks(executor), nodes, tasks, executor.mpi_launcher)


def _blocks(executor: Any) -> int:
    return max(1, int(min(executor.provider.max_blocks, MOST_BLOCKS)))


def _starts_one_pool(provider: Any) -> bool:
    """On the first node of a block."""
    from parsl.launchers import SimpleLauncher, SingleNodeLauncher

    return isinstance(getattr(provider, "launcher", None), (SimpleLauncher, SingleNodeLauncher))


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


def first_line(error: BaseException) -> str:
    """What it is and the first line of what it says."""
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__
