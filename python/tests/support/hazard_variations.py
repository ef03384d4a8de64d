"""A variation of a rupture, drawn at random."""

from __future__ import annotations

import numpy as np
from craton.hazard import Variation


def variation_of(count, number, rupture=0, longest=12.0):
    random = np.random.default_rng((rupture, number))
    return Variation(
        rupture,
        number,
        2 * random.random(count),
        longest * random.random(count),
        0.6 + 3 * random.random(count),
        int(random.integers(count)),
        number,
    )
