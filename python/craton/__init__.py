"""A PGAS library on MPI: many ranks add to one distributed array at once, and any rank reads any part of it.

    from mpi4py import MPI
    import craton
    world = craton.World(MPI.COMM_WORLD)
    matrix = craton.ConvergentMatrix(world, 8192, 8192)
    matrix.update_symmetric(block, indices)
    matrix.commit()

Importing the package loads the compiled extension but does not start MPI; the first use of World does. The applications are
`craton.tomography`, `craton.waves`, `craton.hazard`, `craton.multigrid` and `craton.scf`, each loaded when it is first used;
`craton.regional` has kernels of regional waveforms.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

# First: what the rest imports is the extension that this loads.
from craton._extension import (
    build_info,
    check_mpi,
    end_all_ranks_on_uncaught_exceptions,
    extension,
    openblas_core,
)

# isort: split
from craton import linalg
from craton.arrays.convergent_matrix import ConvergentMatrix
from craton.arrays.convergent_vector import ConvergentVector
from craton.arrays.dist_array import DistArray
from craton.arrays.matrix import Matrix
from craton.arrays.reproducible_matrix import ReproducibleMatrix
from craton.arrays.segment import Segment
from craton.arrays.symmetric_matrix import SymmetricMatrix
from craton.errors import UserError
from craton.linalg import Cholesky

if TYPE_CHECKING:
    from craton._craton import BlockCyclic, Checkpoint, Counter, NeighbourSync, ProgressThread, WorkQueue, World

__all__ = [
    "BlockCyclic",
    "Checkpoint",
    "Cholesky",
    "ConvergentMatrix",
    "ConvergentVector",
    "Counter",
    "DistArray",
    "Matrix",
    "NeighbourSync",
    "ProgressThread",
    "ReproducibleMatrix",
    "Segment",
    "SymmetricMatrix",
    "UserError",
    "WorkQueue",
    "World",
    "__version__",
    "build_info",
    "check_mpi",
    "linalg",
    "openblas_core",
]

__version__: str = build_info()["version"]

# The extension's own classes that a program begins with: MPI is known to be the right one before they are used.
_AFTER_MPI = ("BlockCyclic", "Checkpoint", "Counter", "NeighbourSync", "ProgressThread", "WorkQueue", "World")


_PACKAGES = ("arrays", "hazard", "multigrid", "regional", "scf", "tasks", "tomography", "waves")


def __getattr__(name: str) -> Any:
    if name in _PACKAGES:
        return importlib.import_module(f"craton.{name}")
    if name not in _AFTER_MPI:
        raise AttributeError(f"module 'craton' has no attribute {name!r}")
    check_mpi()
    end_all_ranks_on_uncaught_exceptions()
    value = getattr(extension, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_PACKAGES, *(name for name in globals() if name.startswith("__"))})
