"""Global seismic waveform tomography.

    from mpi4py import MPI
    from craton import tomography
    config = tomography.load_config("examples/global/demo.toml")
    record = tomography.run(config, MPI.COMM_WORLD)
    print(record.iterations[-1].variance_reduction)

Names are loaded when they are first used, so that reading a configuration does not start MPI.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from craton.tomography.config import Config, load_config, load_prior
    from craton.tomography.inversion import resume, run
    from craton.tomography.posterior import Posterior
    from craton.tomography.posterior_run import Questions, posterior_of_run
    from craton.tomography.report import write_report
    from craton.tomography.run_folder import RunFolder, RunRecord
    from craton.tomography.solve import solve_again, solve_all
    from craton.tomography.strength import choose_strength

__all__ = [
    "Config",
    "Posterior",
    "Questions",
    "RunFolder",
    "RunRecord",
    "choose_strength",
    "load_config",
    "load_prior",
    "posterior_of_run",
    "resume",
    "run",
    "solve_again",
    "solve_all",
    "write_report",
]

HOMES = {
    "Config": "config",
    "load_config": "config",
    "load_prior": "config",
    "resume": "inversion",
    "run": "inversion",
    "write_report": "report",
    "RunFolder": "run_folder",
    "RunRecord": "run_folder",
    "solve_again": "solve",
    "solve_all": "solve",
    "choose_strength": "strength",
    "Posterior": "posterior",
    "Questions": "posterior_run",
    "posterior_of_run": "posterior_run",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'craton.tomography' has no attribute {name!r}")
    return getattr(importlib.import_module(f"craton.tomography.{HOMES[name]}"), name)
