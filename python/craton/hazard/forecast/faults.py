"""Simple faults, expanded into ruptures: a trace, extruded down dip, over which ruptures of each magnitude float.

The trace lies at z = 0, as in NRML; the fault begins where the plane through it reaches the upper depth. All of a bent trace is
moved down dip in one direction, to the right of the line from its first to its last point. The surface is cut evenly into
subfaults with sides near to the one wished for; or, as OpenQuake does it, into subfaults of exactly that side, so many as come
nearest to the fault's length and width ("exactly").

A rupture of magnitude M has the area of a magnitude-area relation, at most the fault's. It is a rectangle of a given aspect ratio
(length over width), longer where the fault is not wide enough. Ruptures float: they stand everywhere that they fit, `step_m`
apart along strike and down dip, and share the magnitude's rate evenly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from craton.errors import UserError
from craton.hazard.forecast.magnitude_area import MagnitudeArea, relation
from craton.hazard.forecast.magnitude_frequency import MagnitudeFrequency
from craton.hazard.forecast.rupture import Array, Rupture, Surface
from craton.hazard.forecast.surfaces import part, surface_of_nodes
from craton.seismology.geometry.grid import Grid

__all__ = ["RIGIDITY_PA", "Floating", "SimpleFault", "fault_ruptures", "simple_fault", "whole_surface_ruptures"]

RIGIDITY_PA = 3.0e10
CUTS = ("evenly", "exactly")
MOST_SUBFAULTS = 10**7
LONGEST_M = 5e6
"""The rupture of Sumatra in 2004, the longest known, was 1300 km long."""


@dataclass(frozen=True)
class SimpleFault:
    """A trace, extruded down dip. Make it with simple_fault, which checks."""

    name: str
    trace_m: Array
    """(points, 2): the model's x and y"""
    upper_depth_m: float
    lower_depth_m: float
    dip_deg: float
    rake_deg: float
    azimuth_deg: float = 0.0
    """of the model's x axis, clockwise from north"""

    @property
    def length_m(self) -> float:
        """Along the trace."""
        return float(np.linalg.norm(np.diff(self.trace_m, axis=0), axis=1).sum())

    @property
    def width_m(self) -> float:
        """Down the dip."""
        return (self.lower_depth_m - self.upper_depth_m) / math.sin(math.radians(self.dip_deg))

    def nodes(self, spacing_m: float, cut: str = "evenly") -> Array:
        """Nodes (rows + 1, columns + 1, 3) m of subfaults with sides of about spacing_m, or (cut "exactly") of it."""
        if not (math.isfinite(spacing_m) and spacing_m > 0):
            raise UserError(f"fault '{self.name}': subfaults of {spacing_m:g} m; allowed: above 0")
        columns = max(1, round(self.length_m / spacing_m))
        rows = max(1, round(self.width_m / spacing_m))
        if rows * columns > MOST_SUBFAULTS:
            raise UserError(
                f"fault '{self.name}': {rows} x {columns} subfaults of {spacing_m:g} m; allowed: {MOST_SUBFAULTS} at most"
            )
        if cut == "exactly":
            top = _walked(self.trace_m, spacing_m)
            lower_m = self.upper_depth_m + rows * spacing_m * math.sin(math.radians(self.dip_deg))
        else:
            legs = np.linalg.norm(np.diff(self.trace_m, axis=0), axis=1)
            at = np.concatenate([[0.0], np.cumsum(legs)])
            wanted = np.linspace(0, at[-1], columns + 1)
            top = np.column_stack([np.interp(wanted, at, self.trace_m[:, d]) for d in (0, 1)])
            lower_m = self.lower_depth_m
        x, y = self.trace_m[-1] - self.trace_m[0]
        right = np.array([-y, x]) / math.hypot(x, y)
        depth = np.linspace(self.upper_depth_m, lower_m, rows + 1)
        dip = math.radians(self.dip_deg)
        sideways = depth * (math.cos(dip) / math.sin(dip))
        out = np.empty((rows + 1, len(top), 3))
        out[..., :2] = top[None] + sideways[:, None, None] * right
        out[..., 2] = depth[:, None]
        return out

    def surface(self, spacing_m: float, cut: str = "evenly") -> Surface:
        """All of the fault, in subfaults with sides of about spacing_m, or (cut "exactly") of it."""
        return surface_of_nodes(self.nodes(spacing_m, cut), self.rake_deg, self.azimuth_deg)

    def moment_rate_Nm(self, slip_rate_mm_yr: float, rigidity_Pa: float = RIGIDITY_PA) -> float:
        """Moment rate in N m per year: rigidity x length x width x slip rate."""
        for what, value in (("slip rate in mm a year", slip_rate_mm_yr), ("rigidity in Pa", rigidity_Pa)):
            if not (math.isfinite(value) and value >= 0):
                raise UserError(f"fault '{self.name}': {what} {value:g}; allowed: 0 or more")
        return rigidity_Pa * self.length_m * self.width_m * slip_rate_mm_yr * 1e-3


def simple_fault(
    name: str,
    *,
    upper_depth_m: float,
    lower_depth_m: float,
    dip_deg: float,
    rake_deg: float,
    trace_m: ArrayLike | None = None,
    trace_lon_lat: ArrayLike | None = None,
    place: Grid | None = None,
) -> SimpleFault:
    """A fault of a trace in metres of the model, or in degrees with the model's place on the Earth.

    place: without it the x axis points north. UserError for what cannot be.
    """

    def wrong(what: str, allowed: str) -> UserError:
        return UserError(f"fault '{name}': {what}; allowed: {allowed}")

    if (trace_m is None) == (trace_lon_lat is None):
        raise wrong("a trace in metres and one in degrees, or neither", "one of them")
    trace = np.asarray(trace_lon_lat if trace_m is None else trace_m, float)
    if trace.ndim != 2 or trace.shape[1] != 2 or len(trace) < 2 or not np.isfinite(trace).all():
        raise wrong(f"a trace of shape {trace.shape}", "two or more points of two finite numbers")
    if trace_m is None:
        if place is None:
            raise wrong("a trace in degrees, and the model has no place on the Earth", "a trace in metres, or a place")
        if np.any(np.abs(trace[:, 1]) > 90) or np.any(np.abs(trace[:, 0]) > 360):
            raise wrong("a trace with a point that is no longitude and latitude", "degrees, longitude first")
        trace = np.column_stack(place.x_y(trace[:, 0], trace[:, 1]))
    if np.any(np.linalg.norm(np.diff(trace, axis=0), axis=1) == 0):
        raise wrong("a trace with the same point twice in a row", "points that lie apart")
    length_m = float(np.linalg.norm(np.diff(trace, axis=0), axis=1).sum())
    if length_m > LONGEST_M:
        raise wrong(
            f"a trace of {length_m / 1e3:.0f} km", f"{LONGEST_M / 1e3:g} km at most, for its ruptures fill memory"
        )
    if not 0 < dip_deg <= 90:
        raise wrong(f"dip = {dip_deg:g} degrees", "above 0, to 90")
    if not (math.isfinite(lower_depth_m) and 0 <= upper_depth_m < lower_depth_m):
        raise wrong(f"depths from {upper_depth_m:g} to {lower_depth_m:g} m", "0 or more, the upper one first")
    if not -360 <= rake_deg <= 360:
        raise wrong(f"rake = {rake_deg:g} degrees", "-360 to 360")
    ahead = trace[-1] - trace[0]
    if np.any(np.diff(trace, axis=0) @ ahead <= 0):
        raise wrong("a trace that turns back on itself", "each leg within 90 degrees of the line from end to end")
    azimuth = 0.0 if place is None else place.azimuth_deg
    return SimpleFault(
        name, trace, float(upper_depth_m), float(lower_depth_m), float(dip_deg), float(rake_deg), azimuth
    )


@dataclass(frozen=True)
class Floating:
    """How ruptures are placed."""

    spacing_m: float = 1000.0
    """side of a subfault, about"""
    step_m: float = 0.0
    """between neighbouring positions, in whole subfaults; 0: one subfault"""
    aspect_ratio: float = 1.0
    """length over width"""
    relation: str = "WC1994"
    cut: str = "evenly"
    """evenly: subfaults are parts of the fault; exactly: their sides are spacing_m, and the fault is what they make together"""


def _walked(trace_m: Array, step_m: float) -> Array:
    """Points (n, 2) along a trace, each step_m from the one before in a straight line, as OpenQuake resamples a trace.

    The last one is that nearest to the trace's end, within it or beyond. At a bend a step leads from leg to leg.
    """
    found, leg, legs = [trace_m[0]], 0, len(trace_m) - 1
    while True:
        at = found[-1]
        # the first leg whose end is a step away or more
        while leg < legs and np.linalg.norm(trace_m[leg + 1] - at) < step_m * (1 - 1e-4):
            leg += 1
        if leg == legs:
            break
        along = trace_m[leg + 1] - trace_m[leg]
        away = trace_m[leg] - at
        # |away + t along| = step, the larger t
        a, b, c = along @ along, away @ along, away @ away - step_m**2
        found.append(trace_m[leg] + (-b + math.sqrt(max(b * b - a * c, 0.0))) / a * along)
    if len(found) < 2 or np.linalg.norm(trace_m[-1] - found[-1]) > 0.5 * step_m:
        along = trace_m[-1] - trace_m[-2]
        found.append(found[-1] + step_m * along / np.linalg.norm(along))
    return np.array(found)


def fault_ruptures(
    fault: SimpleFault, frequency: MagnitudeFrequency, floating: Floating | None = None
) -> list[Rupture]:
    """Ruptures of each magnitude in turn, floating from the top down and along strike; numbered from 0.

    Magnitudes whose rate is 0 are left out.
    """
    floating = floating or Floating()
    scaling = relation(floating.relation)
    if not (math.isfinite(floating.aspect_ratio) and floating.aspect_ratio > 0):
        raise UserError(f"fault '{fault.name}': aspect ratio {floating.aspect_ratio:g}; allowed: above 0")
    if not (math.isfinite(floating.step_m) and floating.step_m >= 0):
        raise UserError(f"fault '{fault.name}': a step of {floating.step_m:g} m; allowed: 0 or more")
    if floating.cut not in CUTS:
        raise UserError(f"fault '{fault.name}': cut = '{floating.cut}'; allowed: {', '.join(CUTS)}")
    whole = fault.surface(floating.spacing_m, floating.cut)
    sides = fault.width_m / whole.rows, fault.length_m / whole.columns
    if floating.cut == "exactly":
        sides = floating.spacing_m, floating.spacing_m
    found: list[Rupture] = []
    for magnitude, rate in zip(frequency.magnitudes, frequency.annual_rates, strict=True):
        if not rate > 0:
            continue
        rows, columns = _rectangle(fault, whole, sides, float(magnitude), floating.aspect_ratio, scaling)
        places = [
            (row, column)
            for row in _starts(whole.rows, rows, _whole_steps(floating.step_m, sides[0]))
            for column in _starts(whole.columns, columns, _whole_steps(floating.step_m, sides[1]))
        ]
        for row, column in places:
            cut = part(whole, slice(row, row + rows), slice(column, column + columns))
            found.append(Rupture(fault.name, len(found), float(magnitude), float(rate) / len(places), cut))
    return found


def whole_surface_ruptures(source: str, surface: Surface, frequency: MagnitudeFrequency) -> list[Rupture]:
    """Ruptures of a characteristic fault: each magnitude breaks all of the surface, however large it is."""
    pairs = [(float(m), float(r)) for m, r in zip(frequency.magnitudes, frequency.annual_rates, strict=True) if r > 0]
    return [Rupture(source, number, m, r, surface) for number, (m, r) in enumerate(pairs)]


def _rectangle(
    fault: SimpleFault,
    whole: Surface,
    sides_m: tuple[float, float],
    magnitude: float,
    aspect: float,
    scaling: MagnitudeArea,
) -> tuple[int, int]:
    """Rows and columns of a rupture. sides_m: of a subfault, down dip and along strike."""
    area = scaling.area_km2(magnitude, fault.rake_deg) * 1e6
    most = whole.rows * sides_m[0], whole.columns * sides_m[1]
    width = min(math.sqrt(area / aspect), most[0])
    length = min(area / width, most[1])
    width = min(area / length, most[0])
    rows, columns = round(width / sides_m[0]), round(length / sides_m[1])
    return min(max(rows, 1), whole.rows), min(max(columns, 1), whole.columns)


def _whole_steps(step_m: float, side_m: float) -> int:
    return max(1, round(step_m / side_m))


def _starts(cells: int, size: int, step: int) -> Sequence[int]:
    """0, step, ... as long as `size` fits; the last position ends with the fault."""
    starts = list(range(0, cells - size + 1, step))
    if starts[-1] != cells - size:
        starts.append(cells - size)
    return starts
