"""What `craton bench` measures with; each is described in benchmarks/*/*.hpp. Collective over comm unless it has none."""

from typing import Any

import numpy as np
from craton._craton import World, _ConvergentMatrix_f32
from mpi4py import MPI
from numpy.typing import NDArray

f32 = NDArray[np.float32]
i64 = NDArray[np.int64]

def update(matrix_side: int, update_side: int, order: int, number: int) -> tuple[i64, f32]: ...
def expected_sum(matrix_side: int, update_side: int, order: int, updates: int) -> int: ...
def sum_of_matrix(transposed: f32) -> int: ...
def assembly(
    comm: MPI.Comm,
    matrix_side: int,
    update_side: int,
    order: int,
    updates: int,
    passes: int,
    repeats: int,
    ranks: list[int],
    peers: bool,
) -> dict[str, Any]: ...
def overlap(
    comm: MPI.Comm,
    matrix_side: int,
    update_side: int,
    periods: int,
    period_s: float,
    computing: float,
    repeats: int,
    ranks_per_node: int,
) -> dict[str, list[float]]: ...
def busy_target(
    comm: MPI.Comm,
    busy_s: float,
    updates: int,
    update_side: int,
    repeats: int,
    ranks_per_node: int,
    max_bytes_in_flight: int,
) -> dict[str, list[float]]: ...
def flood(comm: MPI.Comm, increments: int, repeats: int, ranks_per_node: int) -> dict[str, list[float]]: ...
def gram(
    comm: MPI.Comm,
    cells: int,
    cells_touched: int,
    radial_splines: int,
    samples: int,
    rank: int,
    noise: float,
    tolerance: float,
    updates: int,
    repeats: int,
    ranks_per_node: int,
) -> dict[str, list[float]]: ...
def memory(
    comm: MPI.Comm, matrix_side: int, update_side: int, updates: int, max_bytes_in_flight: int, ranks_per_node: int
) -> dict[str, list[float]]: ...
def scaling(
    comm: MPI.Comm,
    matrix_side: int,
    update_side: int,
    updates: int,
    ranks: int,
    producers: int,
    making_s: float,
    by: int,
) -> dict[str, list[float]]: ...
def add_updates(world: World, matrix: _ConvergentMatrix_f32, update_side: int, order: int, updates: int) -> None: ...
