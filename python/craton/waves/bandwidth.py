"""Bandwidth of memory, measured before the first step: what a run's speed is a fraction of."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

__all__ = ["in_place_gb_s"]

IN_PLACE_VALUES = 2**24
"""float32, of each thread: beyond any cache."""


def in_place_gb_s(threads: int) -> float:
    """What threads of this process read from memory and write back, best of five passes over arrays that are updated in place."""
    arrays = [np.ones(IN_PLACE_VALUES, np.float32) for _ in range(threads)]
    best = 0.0
    with ThreadPoolExecutor(threads) as team:
        for _ in range(5):
            begun = time.perf_counter()
            list(team.map(lambda array: np.negative(array, out=array), arrays))
            best = max(best, 2e-9 * sum(array.nbytes for array in arrays) / (time.perf_counter() - begun))
    return best
