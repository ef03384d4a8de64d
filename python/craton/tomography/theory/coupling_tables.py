"""How large the tables are by which a theory couples modes."""

from __future__ import annotations

from collections.abc import Sequence


def coupling_bytes(columns: int, modes: Sequence[int]) -> float:
    """Bytes of mode_coupling's tables: a float for each spline in depth and each pair of modes, in tiles of 8 by 8.

    columns: splines in depth of all parameters. modes: numbers of modes of each type.
    """
    tiles = [-(-count // 8) for count in modes]
    return float(sum(4 * 64 * columns * (count * (count + 1) // 2) for count in tiles))
