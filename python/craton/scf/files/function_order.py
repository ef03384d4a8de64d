"""The order and the norms of functions in files of other programs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from craton.scf.basis_sets import PlacedShell, angular_parts
from craton.scf.functions import cartesian_norms, cartesian_powers

CARTESIAN = {
    2: "xx yy zz xy xz yz",
    3: "xxx yyy zzz xyy xxy xxz xzz yzz yyz xyz",
    4: "xxxx yyyy zzzz xxxy xxxz yyyx yyyz zzzx zzzy xxyy xxzz yyzz xxyz yyxz zzxy",
}
"""The order of both formats; formatted checkpoints have from l = 4 on ours backwards."""
BACKWARDS_FROM = 4


def other_order(shells: list[PlacedShell], backwards: bool = False) -> NDArray[np.int64]:
    """The number of each function that Molden and formatted checkpoint files list: a contraction is m = 0, 1, -1, 2, -2 ...

    Ours is m = -l ... l; p functions are x, y, z in both. Cartesian ones: CARTESIAN; backwards: from BACKWARDS_FROM on ours from
    the last to the first.
    """
    found, first = [], 0
    for shell in shells:
        for _ in shell.contractions:
            found.append(first + _of_contraction(shell.momentum, shell.cartesian, backwards))
            first += angular_parts(shell.momentum, shell.cartesian)
    return np.concatenate(found)


def norms(shells: list[PlacedShell]) -> NDArray[np.float64]:
    """Of each function, in our order; files list coefficients of functions of norm 1."""
    return np.concatenate(
        [
            cartesian_norms(each.momentum) if each.cartesian else np.ones(2 * each.momentum + 1)
            for each in shells
            for _ in each.contractions
        ]
    )


def _of_contraction(momentum: int, cartesian: bool, backwards: bool) -> NDArray[np.int64]:
    if momentum == 1:
        return np.arange(3)
    if cartesian and momentum > 1:
        ours = ["x" * i + "y" * j + "z" * k for i, j, k in cartesian_powers(momentum)]
        if backwards and momentum >= BACKWARDS_FROM:
            return np.arange(len(ours))[::-1]
        return np.array([ours.index("".join(sorted(each))) for each in CARTESIAN[momentum].split()])
    return momentum + np.array([0, *(sign * m for m in range(1, momentum + 1) for sign in (1, -1))])
