"""Size and number of cells of the Matern prior's grid. Starts no MPI, so that settings can be checked without it."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from craton.errors import UserError
from craton.tomography.config.values import EARTH_RADIUS_KM

f64 = NDArray[np.float64]

CELLS_TO_CHOOSE_FROM = (32, 48, 64, 80, 96, 128, 160, 192)
FEWEST, MOST, MULTIPLE = 32, 192, 16
MARGIN = 4.0
"""Correlation lengths between the Earth and its nearest periodic image: a correlation of exp(-4) = 0.02 for antipodes at most."""
COARSEST = 0.5
"""Largest cell in correlation lengths: what is between two points of a distance of a cell or more is then right to 4% of it."""
NEAREST = 1.1
"""Largest cell in distances of the closest points."""
FINE = 0.125
"""Cells of so many correlation lengths are fine enough whatever the distance of the points."""


def side_of_grid_km(correlation_km: float) -> float:
    """Side of the cubic grid, with the Earth in its middle, in km."""
    return 2.0 * EARTH_RADIUS_KM + MARGIN * correlation_km


def closest_km(points_km: f64) -> float:
    """Least distance of two points, in km. points_km: Cartesian, shape (points, 3)."""
    from scipy.spatial import cKDTree

    return float(cKDTree(points_km).query(points_km, k=2)[0][:, 1].min())


def cells_needed(points_km: f64, correlation_km: float) -> int:
    """The fewest cells along a side, of CELLS_TO_CHOOSE_FROM, that are short enough; at most its last.

    Short enough: at most half the correlation length, and at most 1.1 times the distance of the closest points. An eighth of the
    correlation length is short enough for any points.
    """
    wanted_km = min(COARSEST * correlation_km, max(NEAREST * closest_km(points_km), FINE * correlation_km))
    side_km = side_of_grid_km(correlation_km)
    return next((cells for cells in CELLS_TO_CHOOSE_FROM if side_km <= cells * wanted_km), MOST)


def check_resolution(cells: int, correlation_km: float) -> None:
    """UserError where the cells are too many, too large, or not a number that multigrid takes. cells: 0 for those chosen."""
    cells, side_km = cells or MOST, side_of_grid_km(correlation_km)
    if side_km > MOST * COARSEST * correlation_km * (1.0 + 1e-12):
        least_km = 2.0 * EARTH_RADIUS_KM / (MOST * COARSEST - MARGIN)
        raise UserError(
            f'[prior] correlation_km = {correlation_km:g} with kind = "matern" needs a grid of more than {MOST} cells along each '
            f"side (two in a correlation length); allowed: {math.ceil(least_km)} km or more"
        )
    if cells % MULTIPLE or not FEWEST <= cells <= MOST:
        raise UserError(
            f"[prior] cells = {cells}; allowed: 0 (chosen for you), or a multiple of {MULTIPLE} from {FEWEST} to {MOST}"
        )
    if side_km > cells * COARSEST * correlation_km * (1.0 + 1e-12):
        enough = MULTIPLE * math.ceil(side_km / (COARSEST * correlation_km) / MULTIPLE)
        raise UserError(
            f"[prior] cells = {cells} makes cells of {side_km / cells:.0f} km, which do not resolve correlation_km = "
            f"{correlation_km:g}; allowed: {enough} or more cells, two in a correlation length"
        )


def box_side(cells: int, ranks: int) -> int:
    """The longest side of a box, in cells, that leaves a box for each rank. UserError where none does."""
    for side in (32, 16, 8, 4):
        if cells % side == 0 and (cells // side) ** 3 >= ranks:
            return side
    raise UserError(
        f"[prior] cells = {cells} make {(cells // 4) ** 3} boxes of 4 x 4 x 4 cells for {ranks} ranks; "
        "allowed: at least one box per rank: fewer ranks, or more cells"
    )
