"""A graph of commands whose results are files, and the cores they run on.

    from craton.tasks import Task, run_tasks

    mesh = Task("mesh", result=mesh_h5, log=mesh_log, command=lambda: ["mesher", "a.toml"])
    solve = Task("solve", result=out_h5, log=solve_log, command=lambda: ["solver", "mesh.h5"], after=("mesh",), cores=2)
    outcome = run_tasks([mesh, solve], cores=4, jobs=8)

A task is done when its file is there, so a run that was ended in any way goes on where it was. Names are loaded when first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from craton.lazy import lazy_names

if TYPE_CHECKING:
    from craton.tasks.backend import Backend, Ended
    from craton.tasks.engine import ENGINES, Engine
    from craton.tasks.graph import Graph, Task
    from craton.tasks.local import LocalBackend
    from craton.tasks.parsl_backend import ParslBackend
    from craton.tasks.run import Outcome, TaskRecord, check_cores, run_tasks, utilisation

__all__ = [
    "ENGINES",
    "Backend",
    "Ended",
    "Engine",
    "Graph",
    "LocalBackend",
    "Outcome",
    "ParslBackend",
    "Task",
    "TaskRecord",
    "check_cores",
    "run_tasks",
    "utilisation",
]

_, __getattr__, __dir__ = lazy_names(__name__)
