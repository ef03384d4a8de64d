"""Sums that do not depend on their order: [inversion] reproducible = true gives the same bits on any ranks, threads and deliveries.

Every element that an update adds to the Hessian or the gradient is rounded to a multiple of a quantum first, a power of two. Sums
of multiples are exact while they stay below 2^52 quanta (Demmel & Nguyen 2013, doi:10.1109/arith.2013.9). Exact sums have no order.
Two bounds hold for the sum over any of the windows:

    |H_jk| <= max_j H_jj,      |gradient_j| <= sqrt(max_j H_jj |d - g|^2)

So the largest element of the Hessian's diagonal tells afterwards whether all sums were exact. It is estimated beforehand from a few
windows, with room to spare. Where the estimate is too small, the assembly is made again with larger quanta.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from craton._craton import ForwardProblem, PathSet
    from craton.tomography.data.observations import Observations

f64 = NDArray[np.float64]

SAMPLE = 32
"""Windows from which the diagonal is estimated."""
EXACT = "exact: the same bits on any ranks"
AS_THEY_CAME = {
    "float32": "as updates came: five runs of checkerboard.toml on 2 ranks differed by up to 1.6e-6 of the largest parameter",
    "float64": "as updates came, in float64: two runs of checkerboard.toml differed by 2.5e-9 of the largest parameter",
}
"""What the record says of sums that are rounded as they come; the manual has the figures."""

ROOM = 8.0
"""The quanta are made for so many times the estimate."""
DIGITS = 52
"""Sums below 2^DIGITS quanta are exact in double precision."""


@dataclass(frozen=True)
class Quanta:
    """Of the Hessian and of the gradient. 0 and 0: sums are rounded as they come."""

    hessian: float = 0.0
    gradient: float = 0.0

    @property
    def pair(self) -> tuple[float, float]:
        """As _craton.assemble takes them."""
        return self.hessian, self.gradient

    def hold(self, largest: float, chi_data: float) -> bool:
        """Whether all sums were exact. largest: of the Hessian's diagonal."""
        room = 2.0**DIGITS
        return largest < room * self.hessian and np.sqrt(2.0 * chi_data * largest) < room * self.gradient

    @classmethod
    def of(cls, largest: float, chi_data: float) -> Quanta:
        """For sums whose Hessian has a diagonal up to `largest`."""
        return cls(above(largest), above(float(np.sqrt(2.0 * chi_data * largest))))


def quanta_for(problem: ForwardProblem, paths: PathSet, data: Observations, model: f64, chi_data: float) -> Quanta:
    """For an assembly at a model. The same whoever computes it; not collective. chi_data: of the model."""
    windows = np.unique(np.linspace(0, len(paths) - 1, SAMPLE).astype(int))
    rho = np.zeros(len(paths)) if data.correlation is None else data.correlation
    total = 0.0
    for window in windows.tolist():
        panel, _ = problem.panel(paths[window], model)
        white = np.asarray(panel, np.float64) / data.sigma[window]
        total += float(np.max(np.sum(white * white, axis=0))) * (1.0 + rho[window]) / (1.0 - rho[window])
    largest = ROOM * total * len(paths) / len(windows)
    return Quanta.of(largest, chi_data)


def above(largest: float) -> float:
    """The quantum for sums up to `largest`; of nothing but zeros, any."""
    return float(2.0 ** (np.ceil(np.log2(largest)) - DIGITS)) if largest > 0.0 else 2.0**-DIGITS
