"""What a change of the ground in the absorbing sides counts for: there kernels have complex volumes.

In a perfectly matched layer waves go on in stretched coordinates, dx becomes s_x dx (Chew & Weedon 1994), and lose a little more at
the rate l (Meza-Fajardo & Papageorgiou 2008). The strains of wave runs come from stresses, so they are strains in those
coordinates. A kernel integrates them over s_x s_y s_z (1 + l / iw) dx dy dz:

    s = 1 + d / (a + iw),    d = d0 u^power,    a = shift (1 - u),    l = ratio d0 u^multi_axial_power

along each axis. u grows from 0 to 1 within the layer (absorbing_layers.hpp). A sponge has l alone. Ground that goes on as it is
beyond the box of knots acts on waves inside as if it had no end.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from craton import _craton
from craton.regional.config import Config
from craton.regional.wave_runs import Steady

__all__ = ["complex_volumes"]

f64 = NDArray[np.float64]


def complex_volumes(config: Config, steady: Steady, points_m: f64, frequencies_hz: f64) -> NDArray[np.complex64]:
    """(point, frequency): by which volumes about points (n, 3) are multiplied; 1 outside of the absorbing sides."""
    boundary = config.boundary
    if not boundary.layer_cells:
        return np.ones((len(points_m), len(frequencies_hz)), np.complex64)
    known = _craton.WaveAbsorbing()
    angular = 2j * np.pi * frequencies_hz
    found, loss = np.ones((len(points_m), len(frequencies_hz)), np.complex128), np.zeros(len(points_m))
    width = boundary.layer_cells * config.grid.spacing_m
    most = -(known.power + 1) * steady.sides.speed_m_s * math.log(known.reflection) / (2 * width)
    for depth in _depths(config, points_m):
        if boundary.absorbing == "pml":
            damping = most * depth**known.power
            shift = steady.sides.shift_per_s * (1.0 - depth)
            found *= 1.0 + damping[:, None] / (shift[:, None] + angular)
            loss += boundary.multi_axial_ratio * most * depth**boundary.multi_axial_power
        elif boundary.absorbing == "sponge":
            loss += (known.sponge_alpha * depth * boundary.layer_cells) ** 2 / steady.dt_s
    return np.asarray(found * (1.0 + loss[:, None] / angular), np.complex64)


def _depths(config: Config, points_m: f64) -> list[f64]:
    """How deep points lie in the layers across x, y and z: 0 before them, 1 at the grid's side."""
    low, high = (np.asarray(corner) for corner in config.inner_m)
    width = config.boundary.layer_cells * config.grid.spacing_m
    return [np.maximum(np.maximum(low[d] - points_m[:, d], points_m[:, d] - high[d]), 0.0) / width for d in range(3)]
