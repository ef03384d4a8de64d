"""What shakes the ground: points that each have a place, a pattern (a moment tensor or a force) and a series in time.

Eight ways to put a source in (Cui et al. 2013, section II.B; their numbers in brackets), and tractions:

    moment_rate [-1]                               stress -= dt Mdot / h^3, a symmetric tensor in N m times s(t)
    force_x [1], force_y [2], force_z [3]          velocity += dt F / (rho h^3), in N times g(t)
    force_xyz [-2]                                 all three components at once
    stress_xz [4], stress_yz [5], stress_zz [6]    stress += dt S / h^3 at the points where that stress lies, in N m times s(t)
    traction_xz, traction_yz, traction_zz          stress F / h^2 on the free surface, in N

A stress S is the moment -S of that one component. As forces (divergence of S delta) stress_xz is a pair of couples: S d/dz delta
along x and S d/dx delta along z. stress_zz is the dipole S d/dz delta along z. Forces have the history of the integral of s(t).

A traction on z = 0, whose outward normal is -z, acts as the force -F along x, y or z there: that is how it is put in, and why it
is exact however the surface is closed. A stress is not a traction: on the surface itself xz and yz are 0 and stay so.

Axes are the grid's: x, y, z (down). Strike, dip and rake, and tensors of catalogues (r up, theta south, phi east), are of true
north at the source and are turned with the grid. Moment rates act from step n to n + 1 as they are at (n + 1/2) dt, forces from
n - 1/2 to n + 1/2 as they are at n dt.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from craton.errors import UserError
from craton.seismology.files import present, read_by_obspy
from craton.seismology.geometry.grid import Box, Grid
from craton.seismology.sources.moment_tensor_events import MomentTensorEvent, moment_tensor_event, named_event
from craton.seismology.sources.source_time import SourceTime, Triangle

Array = NDArray[np.float64]

MODES: dict[str, int | None] = {
    "moment_rate": -1,
    "force_x": 1,
    "force_y": 2,
    "force_z": 3,
    "force_xyz": -2,
    "stress_xz": 4,
    "stress_yz": 5,
    "stress_zz": 6,
    "traction_xz": None,
    "traction_yz": None,
    "traction_zz": None,
}
"""With the paper's numbers, where it has them."""
COMPONENTS: dict[str, tuple[str, ...]] = {"moment": ("xx", "yy", "zz", "xy", "xz", "yz"), "force": ("x", "y", "z")}


class Source(Protocol):
    """Points of one kind on one rank."""

    @property
    def kind(self) -> str:
        """Moment or force, a key of COMPONENTS."""

    @property
    def position_m(self) -> Array:
        """(n, 3), m."""

    @property
    def pattern(self) -> Array:
        """(n, 6) in N m: xx, yy, zz, xy, xz, yz; or (n, 3) in N."""

    def rates(self, first_step: int, steps: int, dt_s: float) -> NDArray[np.float32]:
        """(n, steps): what the pattern is to be multiplied with in each step, 1/s for moments."""


@dataclass(frozen=True)
class PointSource:
    """One point. tensor: 6 or 3 numbers along the grid's axes."""

    mode: str
    position_m: tuple[float, float, float]
    tensor: tuple[float, ...]
    time_function: SourceTime
    start_s: float = 0.0

    @property
    def kind(self) -> str:
        """A key of COMPONENTS."""
        return "moment" if self.mode == "moment_rate" or self.mode.startswith("stress") else "force"

    def in_steps(self, first_step: int, steps: int, dt_s: float) -> NDArray[np.float32]:
        """(steps): means of the moment rate over steps, 1/s, or the force at their beginnings, relative to the tensor."""
        step = first_step + np.arange(steps)
        if self.kind == "moment":
            series = self.time_function.rate_in_steps((step + 0.5) * dt_s - self.start_s, dt_s)
        else:
            series = self.time_function.history_in_steps(step * dt_s - self.start_s, dt_s)
        return series.astype(np.float32)


@dataclass(frozen=True)
class PointSources:
    """Some points of one kind, as a Source."""

    kind: str
    points: tuple[PointSource, ...]

    @staticmethod
    def of(
        points: Sequence[PointSource], low: ArrayLike = -np.inf, high: ArrayLike = np.inf
    ) -> tuple[PointSources, PointSources]:
        """The moments and the forces among the points between two corners of a box, (3), m."""
        inside = [p for p in points if np.all(np.greater_equal(p.position_m, low) & np.less(p.position_m, high))]
        moments, forces = (tuple(p for p in inside if p.kind == kind) for kind in COMPONENTS)
        return PointSources("moment", moments), PointSources("force", forces)

    @property
    def position_m(self) -> Array:
        """(n, 3), m."""
        return np.array([point.position_m for point in self.points], float).reshape(-1, 3)

    @property
    def pattern(self) -> Array:
        """(n, 6) in N m, or (n, 3) in N."""
        return np.array([point.tensor for point in self.points], float).reshape(-1, len(COMPONENTS[self.kind]))

    def rates(self, first_step: int, steps: int, dt_s: float) -> NDArray[np.float32]:
        """(n, steps): what the pattern is multiplied with in each step."""
        rows = [point.in_steps(first_step, steps, dt_s) for point in self.points]
        return np.array(rows, np.float32).reshape(-1, steps)


def point_source(
    mode: str,
    position_m: Sequence[float],
    amplitude: float | Sequence[float],
    time_function: SourceTime,
    *,
    start_s: float = 0.0,
) -> PointSource:
    """A point source along the grid's axes.

    amplitude: six moments in N m, one force in N, one stress in N m, or three forces for force_xyz. UserError for an unknown mode,
    another count, or what is not finite.
    """
    if mode not in MODES:
        raise UserError(f"source: mode = '{mode}'; allowed: {', '.join(MODES)}")
    values = np.ravel(np.asarray(amplitude, float))
    count = {"moment_rate": 6, "force_xyz": 3}.get(mode, 1)
    if len(values) != count or not np.isfinite(values).all() or not values.any():
        raise UserError(
            f"source: {mode} with {values.tolist()}; allowed: {count} finite number{'s' * (count > 1)}, not all 0"
        )
    x, y, z = (float(p) for p in position_m)
    if mode.startswith("traction") and z != 0:
        raise UserError(f"source: {mode} at z = {z:g} m; allowed: on the free surface, z = 0")
    if mode in ("moment_rate", "force_xyz"):
        tensor = values
    elif mode.startswith("stress"):
        tensor = np.zeros(6)
        tensor[COMPONENTS["moment"].index(mode.partition("_")[2])] = -values[0]
    else:
        # force_x, traction_xz: the axis is the letter after the underscore
        tensor = np.zeros(3)
        tensor["xyz".index(mode.partition("_")[2][0])] = values[0] * (-1 if mode.startswith("traction") else 1)
    return PointSource(mode, (x, y, z), tuple(tensor.tolist()), time_function, start_s)


def fault_vectors(strike_deg: ArrayLike, dip_deg: ArrayLike, rake_deg: ArrayLike) -> tuple[Array, Array]:
    """Unit vectors of slip and of the fault's normal, (..., 3): north, east, down (Aki and Richards 2002, eq. 4.88, 4.89)."""
    strike, dip, rake = (np.radians(np.asarray(a, float)) for a in (strike_deg, dip_deg, rake_deg))
    slip = (
        np.cos(rake) * np.cos(strike) + np.cos(dip) * np.sin(rake) * np.sin(strike),
        np.cos(rake) * np.sin(strike) - np.cos(dip) * np.sin(rake) * np.cos(strike),
        -np.sin(rake) * np.sin(dip),
    )
    normal = (-np.sin(dip) * np.sin(strike), np.sin(dip) * np.cos(strike), -np.cos(dip))
    return np.stack(np.broadcast_arrays(*slip), -1), np.stack(np.broadcast_arrays(*normal), -1)


def double_couple(strike_deg: ArrayLike, dip_deg: ArrayLike, rake_deg: ArrayLike, north_deg: ArrayLike = 0.0) -> Array:
    """(..., 6): the moment tensor of unit moment along axes of which true north has the direction north_deg (from x towards y)."""
    slip, normal = fault_vectors(np.asarray(strike_deg) + np.asarray(north_deg), dip_deg, rake_deg)
    return _six(slip[..., :, None] * normal[..., None, :] + normal[..., :, None] * slip[..., None, :])


def from_r_theta_phi(tensor: ArrayLike, north_deg: float = 0.0) -> Array:
    """Turns rr, tt, pp, rt, rp, tp (up, south, east) to xx, yy, zz, xy, xz, yz, as `turned`."""
    rr, tt, pp, rt, rp, tp = np.asarray(tensor, float)
    return turned(np.array([tt, pp, rr, -tp, rt, -rp]), north_deg)


def turned(tensor: ArrayLike, north_deg: float) -> Array:
    """Turns a tensor from north, east, down to axes of which north has the direction north_deg (from x towards y)."""
    xx, yy, zz, xy, xz, yz = np.asarray(tensor, float)
    sine, cosine = math.sin(math.radians(north_deg)), math.cos(math.radians(north_deg))
    to_axes = np.array([[cosine, -sine, 0], [sine, cosine, 0], [0, 0, 1]])
    return _six(to_axes @ np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]]) @ to_axes.T)


def moment_of_magnitude(mw: float) -> float:
    """Seismic moment of a moment magnitude, N m (Hanks and Kanamori 1979, in the constants of IASPEI 2005)."""
    return float(10 ** (1.5 * mw + 9.1))


def magnitude_of_moment(moment_Nm: float) -> float:
    """The inverse of moment_of_magnitude."""
    return (math.log10(moment_Nm) - 9.1) / 1.5


def read_catalogue_event(path: str | os.PathLike[str]) -> MomentTensorEvent:
    """The first event of a file that ObsPy reads: CMTSOLUTION, QuakeML and others.

    UserError where there is none with a moment tensor and a place.
    """
    allowed = "CMTSOLUTION, QuakeML, or what else ObsPy reads"
    path = present(path, allowed)
    events = read_by_obspy("read_events", path, allowed)
    if not len(events):
        raise UserError(f"{path}: holds no event; allowed: an event with a moment tensor")
    try:
        return moment_tensor_event(events[0])
    except ValueError as error:
        raise UserError(f"{path}: its first event ({named_event(events[0])}): {error}") from None


def catalogue_point(
    event: MomentTensorEvent, grid: Grid, time_function: SourceTime | None, start_s: float = 0.0
) -> PointSource:
    """A catalogue's event as a point of the grid.

    Without a time function: a triangle of twice the half duration, as catalogues mean it. UserError where they give none.
    """
    if time_function is None:
        if not event.half_duration_s > 0:
            raise UserError("source: the event has no duration; allowed: a time_function for it")
        time_function = Triangle(2 * event.half_duration_s)
    x, y = (float(p) for p in grid.x_y(event.longitude_deg, event.latitude_deg))
    tensor = from_r_theta_phi(event.tensor_r_theta_phi, float(grid.north_deg(x, y)))
    return point_source(
        "moment_rate", (x, y, grid.sea_level_m + event.depth_m), tensor.tolist(), time_function, start_s=start_s
    )


def box_metres(box: Box, grid: Grid, margin_cells: int = 0) -> tuple[Array, Array]:
    """The corners of a brick's part of the grid in m, with so many cells more on each side.

    Outer bricks reach outside the grid, so that every point on its outer faces belongs to one.
    """
    first, last = np.array(box.first), np.array(box.last)
    low = np.where(first <= 0, -np.inf, (first - margin_cells) * grid.spacing_m)
    high = np.where(last >= np.array(grid.cells), np.inf, (last + margin_cells) * grid.spacing_m)
    return low, high


def _six(tensor: Array) -> Array:
    return np.stack([tensor[..., a, b] for a, b in ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))], -1)
