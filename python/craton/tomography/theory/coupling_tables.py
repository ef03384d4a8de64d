"""How large the tables are by which a theory couples modes: which modes a filter passes, and bytes of their pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from craton._craton import ModeCatalogue, SpheroidalCatalogue


def modes_within(filter_periods_s: Sequence[float], modes: ModeCatalogue | SpheroidalCatalogue) -> int:
    """Number of a catalogue's modes that a filter T1 to T4 passes."""
    longest_s, _, _, shortest_s = filter_periods_s
    period_s = np.asarray(modes.period_s)
    return int(np.count_nonzero((period_s < longest_s) & (period_s > shortest_s)))


def coupling_bytes(columns: int, modes: Sequence[int]) -> float:
    """Bytes of mode_coupling's tables: for each pair of modes and each spline in depth a float in two orders.

    A tenth is added for what completes rows of 16. Pairs whose degrees are so far apart that wide splines do not couple them have
    none. columns: splines in depth of all parameters. modes: numbers of modes of each type.
    """
    return 1.1 * sum(2 * 4 * columns * (count * (count + 1) // 2) for count in modes)
