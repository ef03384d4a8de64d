"""A rupture and a variation of it, drawn at random."""

from __future__ import annotations

import numpy as np
from craton.hazard import Rupture, Surface, Variation


def rupture_at(position, rows, columns, number=0, source="somewhere"):
    count = rows * columns
    random = np.random.default_rng(count)
    return Rupture(
        source,
        number,
        6.5,
        0.01,
        Surface(
            position,
            random.uniform(0, 360, count),
            random.uniform(10, 90, count),
            random.uniform(-180, 180, count),
            random.uniform(1e6, 4e6, count),
            rows,
            columns,
        ),
    )


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
