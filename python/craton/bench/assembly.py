"""The rate at which symmetric updates are added to a distributed matrix, from the first update to the end of commit."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

import craton
from craton.bench.registry import Measurement, Run, benchmark

CELLS_NORTH, CELLS_EAST, LAYERS = 16, 32, 16
SIDE = CELLS_NORTH * CELLS_EAST * LAYERS
TOUCHED_CELLS = 64
UPDATES = 32


def great_circle_indices(generator: np.random.Generator) -> NDArray[np.int64]:
    """Rows and columns that a path touches: the cells of a latitude-longitude grid nearest to a random great circle,
    in all layers. Radial index fastest, so the indices come in runs of at least LAYERS."""
    pole = generator.normal(size=3)
    pole /= np.linalg.norm(pole)
    latitude = (np.arange(CELLS_NORTH) + 0.5) * np.pi / CELLS_NORTH - np.pi / 2
    longitude = (np.arange(CELLS_EAST) + 0.5) * 2 * np.pi / CELLS_EAST
    height = (
        np.cos(latitude)[:, None] * (pole[0] * np.cos(longitude) + pole[1] * np.sin(longitude))
        + pole[2] * np.sin(latitude)[:, None]
    )
    cells = np.sort(np.argsort(np.abs(height).ravel(), kind="stable")[:TOUCHED_CELLS])
    return (cells[:, None] * LAYERS + np.arange(LAYERS)).ravel().astype(np.int64)


@benchmark(
    "assembly",
    f"symmetric updates of {TOUCHED_CELLS * LAYERS} indices to a float32 matrix of side {SIDE}",
    limit="a += b, contiguous",
)
def assembly(run: Run) -> Iterator[Measurement]:
    """Both the update and its limit read two float32 and write one per element: 12 bytes."""
    world = craton.World(run.comm, run.ranks_per_node)
    matrix = craton.ConvergentMatrix(world, SIDE, SIDE)
    generator = np.random.default_rng([2015, run.comm.rank])
    updates = [great_circle_indices(generator) for _ in range(UPDATES)]
    side = len(updates[0])
    # small whole numbers: their sums are exact in any order
    blocks = [generator.integers(-4, 5, size=(side, side)).astype(np.float32) for _ in range(4)]

    def work() -> None:
        for number, indices in enumerate(updates):
            matrix.update_symmetric(blocks[number % len(blocks)], indices)
        matrix.commit()

    seconds = run.seconds(work, before=matrix.reset)
    elements = run.comm.size * UPDATES * side * (side + 1) // 2

    ours = np.ones(SIDE * SIDE // run.comm.size, dtype=np.float32)
    theirs = np.ones_like(ours)
    limit_seconds = run.seconds(lambda: np.add(ours, theirs, out=ours))
    yield Measurement(
        "update_symmetric + commit",
        [1e-6 * elements / time for time in seconds],
        "million elements/s",
        [1e-6 * run.comm.size * ours.size / time for time in limit_seconds],
    )
