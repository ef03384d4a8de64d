"""Panels: how the filtered samples of a window change with the unknowns, from the spectra of two wave runs.

One run has the earthquake, the other a force at the station along the component that is recorded (reciprocity). Their transforms
are multiplied and summed at the knots by apps/regional/kernels/born.hpp, and put together to samples.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from craton import _craton
from craton.errors import UserError

if TYPE_CHECKING:
    from craton.regional.knots import Knots
    from craton.regional.windows import Window
    from craton.seismology.wave_run.results import Spectra

__all__ = ["PARAMETERS", "KnotWeights", "Pair", "panel"]

f32 = NDArray[np.float32]
f64 = NDArray[np.float64]
i32 = NDArray[np.int32]

PARAMETERS = ("vp", "vs", "rho")
NONE = np.zeros((0, 3, 0), np.complex64)


@dataclass(frozen=True)
class Pair:
    """Spectra of an earthquake's run and of a receiver's, at the same points and frequencies."""

    source: Spectra
    receiver: Spectra
    force: NDArray[np.complex128]
    """The receiver's force, N s, at each frequency."""
    source_velocity: Spectra | None = None
    receiver_velocity: Spectra | None = None
    """For kernels of density."""

    def __post_init__(self) -> None:
        others = [one for one in (self.receiver, self.source_velocity, self.receiver_velocity) if one is not None]
        for one in others:
            wrong = [what for what, alike in self._compared(one).items() if not alike]
            if wrong:
                raise UserError(
                    f"spectra of other {wrong[0]} than the source's; allowed: runs with the same [grid], [media] and [spectra]"
                )
        if self.force.shape != self.frequencies_hz.shape:
            raise UserError(
                f"a force at {len(self.force)} frequencies; allowed: at {len(self.frequencies_hz)}, those of the spectra"
            )

    def _compared(self, other: Spectra) -> dict[str, bool]:
        """What another run has in common with the source's."""
        frequencies = self.source.frequencies_hz, other.frequencies_hz
        return {
            "points": np.array_equal(other.position_m, self.source.position_m),
            "frequencies": frequencies[0].shape == frequencies[1].shape and np.allclose(*frequencies),
            "ground": np.array_equal(other.moduli, self.source.moduli),
        }

    @property
    def frequencies_hz(self) -> f64:
        """Of all spectra."""
        return self.source.frequencies_hz


@dataclass(frozen=True)
class KnotWeights:
    """Which knots a change at each point of a lattice comes from: rows of a sparse matrix, times the points' volumes, m^3."""

    first: NDArray[np.int64]
    knot: i32
    weight: f32
    knots: int
    """how many there are"""

    @staticmethod
    def of(spectra: Spectra, knots: Knots) -> KnotWeights:
        """Of the points of a run's spectra; the same for all pairs of runs with these points."""
        values = knots.values(spectra.position_m).multiply(volumes_m3(spectra)[:, None]).tocsr()
        rows = values.indptr.astype(np.int64), values.indices.astype(np.int32), values.data.astype(np.float32)
        return KnotWeights(*rows, len(knots))


def volumes_m3(spectra: Spectra) -> f64:
    """What each point stands for: half way to its neighbours, and as far outwards at the ends."""
    grid = spectra.position_m.reshape(*spectra.counts, 3)
    x, y, z = (_widths(np.moveaxis(grid, axis, 0)[:, 0, 0, axis]) for axis in range(3))
    return (x[:, None, None] * y[None, :, None] * z[None, None, :]).ravel()


def panel(
    pair: Pair, weights: KnotWeights, touched: i32, window: Window, parameters: Sequence[str], velocity: bool = True
) -> f64:
    """(sample, parameter x touched knot): derivatives of a window by dln vp, dln vs, dln rho at knots, knots fastest.

    Of velocity in m/s, else of displacement in m. Not collective; any thread. UserError for an unknown parameter, for density
    without velocities, and for weights of other points.
    """
    wrong = [name for name in parameters if name not in PARAMETERS]
    if wrong or not parameters:
        raise UserError(
            f"parameters {', '.join(parameters) or 'none'}; allowed: one or more of {', '.join(PARAMETERS)}"
        )
    moving = [pair.source_velocity, pair.receiver_velocity]
    if "rho" in parameters and None in moving:
        raise UserError(
            'parameter rho without spectra of velocity; allowed: runs with [spectra] fields = ["strain", "velocity"]'
        )
    places = np.full(weights.knots, -1, np.int32)
    places[touched] = np.arange(len(touched), dtype=np.int32)
    of_velocity = [NONE if one is None else one.values for one in moving]
    sums = _craton.born_kernels(
        pair.source.values,
        pair.receiver.values,
        np.ascontiguousarray(pair.source.moduli),
        weights.first,
        weights.knot,
        weights.weight,
        places,
        len(touched),
        list(parameters),
        *of_velocity,
    )
    factor = (2j * np.pi * pair.frequencies_hz if velocity else 1.0) / pair.force
    columns = sums.reshape(-1, sums.shape[-1]).view(np.float32)
    return np.asarray(window.synthesis(pair.frequencies_hz, factor) @ columns.T)


def _widths(axis: f64) -> f64:
    """Of the cells about coordinates."""
    if len(axis) == 1:
        raise UserError("one plane of points; allowed: two or more along each axis")
    middles = 0.5 * (axis[1:] + axis[:-1])
    ends = np.concatenate([[axis[0] - (middles[0] - axis[0])], middles, [axis[-1] + (axis[-1] - middles[-1])]])
    return np.diff(ends)
