"""Knots: what a change of the ground is made of.

A change of vp, vs or density, in parts of itself, is a sum of functions that are 1 at their own knot, fall linearly to 0 at its
neighbours along each axis, and are products along the three. Knots lie at the crossings of some coordinates. There are some on the
top of the box, from where the change goes on upwards as it is. With fixed sides there are none on the sides and the bottom, where
the change is 0; with free ones there are, and it goes on outwards.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import scipy.sparse
from numpy.typing import ArrayLike, NDArray

from craton.errors import UserError

__all__ = ["Knots"]

f64 = NDArray[np.float64]
i32 = NDArray[np.int32]


@dataclass(frozen=True)
class Knots:
    """Coordinates along x, y and z, m, increasing, with the faces of the box; knots are numbered with z fastest."""

    x_m: f64
    y_m: f64
    z_m: f64
    free: bool = False
    """Whether the change goes on beyond the sides and the bottom."""

    @staticmethod
    def over(lattice_m: tuple[f64, f64, f64], spacing_m: ArrayLike, *, free: bool = False) -> Knots:
        """Knots about spacing_m apart in the box of a lattice's points. UserError for a box without room for any.

        spacing_m: one number, or one along each axis. free: with knots on the sides and the bottom.
        """
        spacing = np.broadcast_to(np.asarray(spacing_m, np.float64), 3)
        if not (spacing > 0).all():
            raise UserError(f"knots {spacing.min():g} m apart; allowed: more than 0 m")
        x, y, z = (
            np.linspace(a[0], a[-1], max(1, round((a[-1] - a[0]) / step)) + 1)
            for a, step in zip(lattice_m, spacing, strict=True)
        )
        if min(len(x), len(y)) < 3:
            raise UserError(
                f"knots {spacing[:2].max():g} m apart in a box that is less than two of that wide; allowed: closer ones"
            )
        return Knots(x, y, z, free)

    @property
    def axes_m(self) -> tuple[f64, f64, f64]:
        """Coordinates of knots along x, y and z."""
        if self.free:
            return self.x_m, self.y_m, self.z_m
        return self.x_m[1:-1], self.y_m[1:-1], self.z_m[:-1]

    @property
    def counts(self) -> tuple[int, int, int]:
        """Along x, y and z."""
        x, y, z = self.axes_m
        return len(x), len(y), len(z)

    def __len__(self) -> int:
        return math.prod(self.counts)

    @property
    def position_m(self) -> f64:
        """(knot, 3)."""
        return np.stack(np.meshgrid(*self.axes_m, indexing="ij"), axis=-1).reshape(-1, 3)

    def values(self, points_m: ArrayLike) -> scipy.sparse.csr_matrix:
        """(point, knot): the functions at points (n, 3)."""
        points = np.asarray(points_m, np.float64).reshape(-1, 3)
        numbers, weights = np.zeros((len(points), 1), np.int64), np.ones((len(points), 1))
        side = 0 if self.free else 1
        for d, (axis, first) in enumerate(((self.x_m, side), (self.y_m, side), (self.z_m, 0))):
            below, part = _between(axis, points[:, d])
            pair, of = np.stack([below, below + 1], axis=1) - first, np.stack([1.0 - part, part], axis=1)
            of[(pair < 0) | (pair >= self.counts[d])] = 0.0  # fixed faces have no knots
            pair = np.clip(pair, 0, self.counts[d] - 1)
            numbers = (numbers[:, :, None] * self.counts[d] + pair[:, None, :]).reshape(len(points), -1)
            weights = (weights[:, :, None] * of[:, None, :]).reshape(len(points), -1)
        rows = np.repeat(np.arange(len(points)), numbers.shape[1])
        found = scipy.sparse.csr_matrix((weights.ravel(), (rows, numbers.ravel())), shape=(len(points), len(self)))
        found.eliminate_zeros()
        return found

    def field(self, coefficients: f64, points_m: ArrayLike) -> f64:
        """The change at points (n, 3) that coefficients, one for each knot, make."""
        return np.asarray(self.values(points_m) @ coefficients)

    def within_reach(self, source_m: ArrayLike, receiver_m: ArrayLike, last_s: float, fastest_m_s: float) -> i32:
        """Numbers of knots whose function a wave from source to receiver may have met by last_s: an ellipsoid, and a cell round it.

        Waves that are scattered elsewhere come later, however fast. Of a filtered window last_s is `Window.reach_s`.
        """
        margin = math.hypot(*(float(np.diff(axis).max()) for axis in (self.x_m, self.y_m, self.z_m)))
        path = sum(
            np.linalg.norm(self.position_m - np.asarray(end, np.float64), axis=1) for end in (source_m, receiver_m)
        )
        return np.flatnonzero(path - 2.0 * margin <= fastest_m_s * last_s).astype(np.int32)


def _between(axis: f64, at: f64) -> tuple[NDArray[np.int64], f64]:
    """The coordinate below each one, and the part of the way to the next; outside they are as at the ends."""
    below = np.clip(np.searchsorted(axis, at, side="right") - 1, 0, len(axis) - 2)
    return below, np.clip((at - axis[below]) / (axis[below + 1] - axis[below]), 0.0, 1.0)
