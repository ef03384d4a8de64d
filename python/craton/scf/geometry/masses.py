"""Masses of atoms."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.scf.molecule import NUMBERS

__all__ = ["ELECTRON_MASSES_PER_U", "masses_of"]

ELECTRON_MASSES_PER_U = 1822.88848621
"""Of CODATA 2014."""

STANDARD_WEIGHTS = [
    1.008, 4.002602, 6.94, 9.0121831, 10.81, 12.011, 14.007, 15.999, 18.9984032, 20.1797, 22.9897693, 24.305,
    26.9815385, 28.085, 30.973762, 32.06, 35.45, 39.948, 39.0983, 40.078, 44.955908, 47.867, 50.9415, 51.9961,
    54.938044, 55.845, 58.933194, 58.6934, 63.546, 65.38, 69.723, 72.63, 74.921595, 78.971, 79.904, 83.798, 85.4678,
    87.62, 88.90584, 91.224, 92.90637, 95.95, 97.90721, 101.07, 102.9055, 106.42, 107.8682, 112.414, 114.818, 118.71,
    121.76, 127.6, 126.90447, 131.293, 132.905452, 137.327, 138.90547, 140.116, 140.90766, 144.242, 144.91276, 150.36,
    151.964, 157.25, 158.92535, 162.5, 164.93033, 167.259, 168.93422, 173.054, 174.9668, 178.49, 180.94788, 183.84,
    186.207, 190.23, 192.217, 195.084, 196.966569, 200.592, 204.38, 207.2, 208.9804, 208.98243, 209.98715, 222.01758,
    223.01974, 226.02541, 227.02775, 232.0377, 231.03588, 238.02891, 237.04817, 244.06421, 243.06138, 247.07035,
    247.07031, 251.07959, 252.083, 257.09511, 258.09843, 259.101, 262.11,
]  # fmt: skip
"""Standard atomic weights by atomic number, hydrogen to lawrencium; of elements without one, the longest-lived isotope's.

Source: J. Meija et al., Pure Appl. Chem. 88, 265 (2016).
"""


def masses_of(symbols: Sequence[str]) -> NDArray[np.float64]:
    """Masses in u of atoms as they occur in nature. UserError beyond lawrencium."""
    beyond = [each for each in symbols if NUMBERS[each] > len(STANDARD_WEIGHTS)]
    if beyond:
        raise UserError(f"masses: {beyond[0]}; allowed: H to Lr")
    return np.array([STANDARD_WEIGHTS[NUMBERS[each] - 1] for each in symbols])
