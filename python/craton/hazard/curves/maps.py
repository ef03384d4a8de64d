"""Hazard maps: the level that is exceeded with a probability, at each site, and between sites by interpolation."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from craton.errors import UserError
from craton.hazard.curves.curves import HazardCurve
from craton.hazard.forecast.rupture import Array

__all__ = ["HazardMap", "hazard_map"]

KINDS = {"linear": "LinearNDInterpolator", "cubic": "CloughTocher2DInterpolator"}
"""Of scipy.interpolate."""


@dataclass(frozen=True, eq=False)
class HazardMap:
    """The map of one measure and one probability in one time span."""

    measure: str
    probability: float
    years: float
    sites_m: Array
    """(n, 2): x, y"""
    values: Array
    """(n,): the level; 0 where it is below the curve's first, NaN where it is above its last"""
    note: str = ""
    """that of the curves"""

    def at(self, x: ArrayLike, y: ArrayLike, *, kind: str = "linear") -> Array:
        """Levels between the sites, over Delaunay's triangles: linear, or cubic and smooth (Clough and Tocher; never below 0).

        NaN outside the sites' convex hull, where nothing is known. Sites without a value are left out. UserError for fewer than
        three sites, or sites on a line.
        """
        if kind not in KINDS:
            raise UserError(f"interpolation '{kind}'; allowed: {', '.join(KINDS)}")
        known = np.isfinite(self.values)
        if known.sum() < 3:
            raise UserError(f"a map of {known.sum()} sites with a value; allowed: three or more")
        try:
            between = getattr(scipy.interpolate, KINDS[kind])(self.sites_m[known], self.values[known])
        except scipy.spatial.QhullError:
            raise UserError("a map of sites on one line; allowed: sites that span an area") from None
        return np.asarray(np.maximum(between(np.asarray(x, float), np.asarray(y, float)), 0))


def hazard_map(curves: Sequence[HazardCurve], sites_m: ArrayLike, probability: float) -> HazardMap:
    """The map of curves of one measure and one time span, one for each site (n, 2) or (n, 3)."""
    at = np.asarray(sites_m, float)
    if not curves or at.ndim != 2 or at.shape[1] not in (2, 3) or len(at) != len(curves):
        raise UserError(f"{len(curves)} curves and sites of shape {at.shape}; allowed: x and y of each curve's site")
    first = curves[0]
    for one in curves:
        if one.measure != first.measure or not math.isclose(one.years, first.years):
            raise UserError(
                f"curves of {first.measure} in {first.years:g} years and of {one.measure} in {one.years:g}; allowed: of one "
                "measure and time span"
            )
    values = np.array([one.level_at(probability) for one in curves])
    return HazardMap(first.measure, float(probability), first.years, at[:, :2].copy(), values, first.note)
