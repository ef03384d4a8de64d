"""The order of spherical functions in files of other programs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from craton.scf.basis_sets import PlacedShell


def other_order(shells: list[PlacedShell]) -> NDArray[np.int64]:
    """The number of each function that Molden and formatted checkpoint files list: a contraction is m = 0, 1, -1, 2, -2 ...

    Ours is m = -l ... l; p functions are x, y, z in both.
    """
    found, first = [], 0
    for _, momentum, _, contractions in shells:
        for _ in contractions:
            found.append(_of_contraction(first, momentum))
            first += 2 * momentum + 1
    return np.concatenate(found)


def _of_contraction(first: int, momentum: int) -> NDArray[np.int64]:
    if momentum == 1:
        return first + np.arange(3)
    return first + momentum + np.array([0, *(sign * m for m in range(1, momentum + 1) for sign in (1, -1))])
