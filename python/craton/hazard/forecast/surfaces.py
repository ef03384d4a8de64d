"""Surfaces of faults cut into subfaults: from a grid of nodes, parts of them, their nodes again, and how far away they are.

A surface of r x c subfaults has (r + 1) x (c + 1) nodes. Rows go down dip, columns along strike; the fault dips to the right of its
strike (Aki and Richards 2002).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from craton.errors import UserError
from craton.hazard.forecast.rupture import Array, Surface

__all__ = [
    "joined",
    "joyner_boore_distance",
    "nodes_of",
    "part",
    "rupture_distance",
    "spacings",
    "surface_of_nodes",
    "unfolded",
]

FIELDS = ("positions", "strike", "dip", "rake", "area")
"""Of a Surface, with a value for each subfault."""
FLAT = 1e-9
"""Horizontal part of a unit normal, below which a patch has no strike of its own."""


def surface_of_nodes(nodes: ArrayLike, rake_deg: ArrayLike, azimuth_deg: float = 0.0) -> Surface:
    """The surface between nodes (rows + 1, columns + 1, 3) m.

    rake_deg: one, or one of each subfault; azimuth_deg: of the x axis, clockwise from north. Each subfault lies in the middle of
    its four nodes, with the area of the two triangles' vector sum and the strike and dip of its normal. UserError for a patch
    without area and for one that is turned over (dips to the left of its strike).
    """
    n = np.asarray(nodes, float)
    if n.ndim != 3 or n.shape[2] != 3 or min(n.shape[:2]) < 2 or not np.isfinite(n).all():
        raise UserError(f"nodes of a fault of shape {n.shape}; allowed: (rows + 1, columns + 1, 3) finite numbers")
    normal = np.cross(n[:-1, 1:] - n[1:, :-1], n[1:, 1:] - n[:-1, :-1]).reshape(-1, 3) / 2
    area = np.linalg.norm(normal, axis=1)
    if not np.all(area > 0):
        raise UserError("a fault has a patch without area; allowed: nodes that lie apart")
    normal /= area[:, None]
    if np.any(normal[:, 2] < -FLAT):
        raise UserError(
            "a fault has a patch that dips to the left of its strike; allowed: rows down dip, columns along strike"
        )
    along = (n[:-1, 1:] - n[:-1, :-1] + n[1:, 1:] - n[1:, :-1]).reshape(-1, 3)
    steep = np.hypot(normal[:, 0], normal[:, 1]) > FLAT
    down_dip = np.arctan2(-normal[:, 1], -normal[:, 0])
    strike = np.where(steep, down_dip - np.pi / 2, np.arctan2(along[:, 1], along[:, 0]))
    rows, columns = n.shape[0] - 1, n.shape[1] - 1
    return Surface(
        positions=((n[:-1, :-1] + n[:-1, 1:] + n[1:, :-1] + n[1:, 1:]) / 4).reshape(-1, 3),
        strike=(np.degrees(strike) + azimuth_deg) % 360,
        dip=np.degrees(np.arccos(np.clip(normal[:, 2], 0, 1))),
        rake=np.array(np.broadcast_to(np.asarray(rake_deg, float), (rows * columns,))),
        area=area,
        rows=rows,
        columns=columns,
        azimuth_deg=azimuth_deg,
    )


def part(surface: Surface, rows: slice, columns: slice) -> Surface:
    """The subfaults of a surface in some rows and columns."""
    grid = np.arange(surface.rows * surface.columns).reshape(surface.rows, surface.columns)[rows, columns]
    values: dict[str, Any] = {name: getattr(surface, name)[grid.ravel()] for name in FIELDS}
    return replace(surface, **values, rows=grid.shape[0], columns=grid.shape[1])


def joined(surfaces: list[Surface]) -> Surface:
    """Surfaces of as many rows each, one after the other along strike."""
    rows = surfaces[0].rows
    if len({one.azimuth_deg for one in surfaces}) > 1:
        raise UserError("segments of a fault along different axes; allowed: one azimuth_deg of all")
    if any(one.rows != rows for one in surfaces):
        raise UserError(
            f"segments of {', '.join(str(one.rows) for one in surfaces)} rows; allowed: as many rows in each segment of a fault"
        )

    def side_by_side(name: str) -> Array:
        blocks = [getattr(one, name) for one in surfaces]
        whole = np.concatenate([values.reshape(rows, -1, *values.shape[1:]) for values in blocks], axis=1)
        return whole.reshape(-1, *whole.shape[2:])

    return Surface(
        **{name: side_by_side(name) for name in FIELDS},
        rows=rows,
        columns=sum(one.columns for one in surfaces),
        azimuth_deg=surfaces[0].azimuth_deg,
    )


def spacings(surface: Surface) -> tuple[float, float]:
    """Mean distances between rows and between columns, m; of a single row or column, what makes the mean area of it."""
    grid = surface.positions.reshape(surface.rows, surface.columns, 3)
    mean_area = float(surface.area.mean())
    down = float(np.linalg.norm(np.diff(grid, axis=0), axis=2).mean()) if surface.rows > 1 else 0.0
    along = float(np.linalg.norm(np.diff(grid, axis=1), axis=2).mean()) if surface.columns > 1 else 0.0
    down = down or (mean_area / along if along else np.sqrt(mean_area))
    return down, along or mean_area / down


def unfolded(positions: Array, rows: int, columns: int) -> tuple[Array, Array]:
    """Distances over the surface from the first subfault: (columns,) m along strike, (rows,) m down dip; means of all."""
    grid = positions.reshape(rows, columns, 3)
    along, down = np.zeros(columns), np.zeros(rows)
    along[1:] = np.cumsum(np.linalg.norm(np.diff(grid, axis=1), axis=2).mean(axis=0))
    down[1:] = np.cumsum(np.linalg.norm(np.diff(grid, axis=0), axis=2).mean(axis=1))
    return along, down


def nodes_of(surface: Surface) -> Array:
    """Nodes (rows + 1, columns + 1, 3) m of a surface: of a plane cut evenly, exactly.

    The middles of subfaults are carried on beyond the edges in straight lines, then averaged in fours.
    """
    down, along = spacings(surface)
    strike, dip = np.radians(surface.strike_from_x), np.radians(surface.dip)
    shape = (surface.rows, surface.columns, 3)
    ahead = np.stack([np.cos(strike), np.sin(strike), np.zeros_like(strike)], axis=1).reshape(shape) * along
    below = np.stack([-np.cos(dip) * np.sin(strike), np.cos(dip) * np.cos(strike), np.sin(dip)], axis=1).reshape(shape)
    wide = _carried_on(surface.positions.reshape(shape), ahead, 1)
    below = np.concatenate([below[:, :1], below, below[:, -1:]], axis=1) * down
    whole = _carried_on(wide, below, 0)
    return (whole[:-1, :-1] + whole[:-1, 1:] + whole[1:, :-1] + whole[1:, 1:]) / 4


def _carried_on(values: Array, step: Array, axis: int) -> Array:
    """One more at both ends of an axis: as the last two go on, or by `step` where there is one alone."""
    values, step = np.moveaxis(values, axis, 0), np.moveaxis(step, axis, 0)
    if len(values) > 1:
        first, last = 2 * values[:1] - values[1:2], 2 * values[-1:] - values[-2:-1]
    else:
        first, last = values - step, values + step
    return np.moveaxis(np.concatenate([first, values, last]), 0, axis)


def rupture_distance(surface: Surface, sites_m: ArrayLike) -> Array:
    """Distances (sites,) m to the nearest node or middle of a subfault. sites_m: (sites, 3), or (sites, 2) at the surface.

    They are too large by less than s^2 / (4 d) at a distance d from subfaults of side s.
    """
    return _nearest(surface, sites_m, 3)


def joyner_boore_distance(surface: Surface, sites_m: ArrayLike) -> Array:
    """Distances (sites,) m to the nearest of those points, seen from above."""
    return _nearest(surface, sites_m, 2)


def _nearest(surface: Surface, sites_m: ArrayLike, dimensions: int) -> Array:
    sites = np.atleast_2d(np.asarray(sites_m, float))
    at = np.zeros((len(sites), 3))
    at[:, : sites.shape[1]] = sites
    points = np.concatenate([nodes_of(surface).reshape(-1, 3), surface.positions])[:, :dimensions]
    return np.array([np.sqrt(((points - one[:dimensions]) ** 2).sum(axis=1).min()) for one in at])
