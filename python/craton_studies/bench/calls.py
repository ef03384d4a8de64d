"""What one call from Python costs: a block added to a distributed array, beside NumPy's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from craton import ConvergentMatrix, DistArray, World

from craton_studies.bench.registry import Measurement, Option, Run, benchmark

SIDE = 16
"""Of a block."""
MOST_US = 5.0
"""That += may take."""


@benchmark(
    "calls",
    "one call from Python: += of 16 x 16 elements to a DistArray, and update() of a ConvergentMatrix, beside NumPy",
    limit="NumPy's own +=",
    options={"calls": Option(20_000, "in a row, of each kind")},
)
def calls(run: Run) -> Iterator[Measurement]:
    """Microseconds of a call, on elements that the rank owns. NumPy does the same to an array of its own."""
    count, world = run.options["calls"], World(run.comm)
    block, rows = np.ones((SIDE, SIDE)), np.arange(SIDE)
    first = SIDE * run.comm.rank
    array = DistArray(world, (SIDE * run.comm.size, SIDE), tiles=(SIDE, SIDE), grid=(run.comm.size, 1))
    matrix = ConvergentMatrix(world, SIDE * run.comm.size, SIDE, block=SIDE, grid=(run.comm.size, 1))
    plain = np.zeros((SIDE * run.comm.size, SIDE))

    def each_us(call: Callable[[], None]) -> list[float]:
        def many() -> None:
            for _ in range(count):
                call()

        return [1e6 * seconds / count for seconds in run.seconds(many)]

    def add_to_array() -> None:
        array[first : first + SIDE, 0:SIDE] += block

    def add_to_plain() -> None:
        plain[first : first + SIDE, 0:SIDE] += block

    def add_by_indices() -> None:
        plain[np.ix_(first + rows, rows)] += block

    added, numpy = each_us(add_to_array), each_us(add_to_plain)
    updated, indexed = each_us(lambda: matrix.update(block, first + rows, rows)), each_us(add_by_indices)
    array.sync()
    matrix.commit()
    yield Measurement("+= of 16 x 16", added, "us", [MOST_US], "5 us", target=1.0, less_is_better=True)
    yield Measurement("+= beside NumPy", added, "us", numpy, less_is_better=True)
    yield Measurement("update of 16 x 16", updated, "us", indexed, "NumPy's += with np.ix_", less_is_better=True)
