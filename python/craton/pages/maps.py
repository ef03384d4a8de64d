"""Draws maps of the globe and cross-sections of the mantle, one diverging colour scale. projection.py says where places are."""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.collections import LineCollection, QuadMesh
from matplotlib.path import Path
from matplotlib.transforms import Affine2D
from numpy.typing import NDArray

from craton.pages.projection import (
    EARTH_RADIUS_M,
    cells,
    coastlines,
    graticule_lines,
    outline,
    pieces_within_map,
    relative_longitude,
    robinson,
)
from craton.pages.style import INK
from craton.seismology.geometry.latitudes import geocentric_deg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from craton._craton import ModelBasis

f64 = NDArray[np.float64]

VELOCITY_COLOURS = "RdBu"
"""Red is slow, blue is fast; safe for the common kinds of colour blindness."""
COAST = "#2b2b2b"
DISCONTINUITIES_KM = (410.0, 660.0)


class Lines(Artist):
    """Lines of a map, as one mark at its centre: an SVG file with many maps of one size has their points once."""

    def __init__(self, pieces: Sequence[f64], colour: str, width: float, zorder: float) -> None:
        super().__init__()
        self._path = Path.make_compound_path(*(Path(piece) for piece in pieces))
        self._colour, self._width = colour, width
        self.set_zorder(zorder)
        self.set_in_layout(False)  # within the edge

    def draw(self, renderer: Any) -> None:
        """At the scale of its axes, in digits that maps of one size share."""
        if self.axes is None or not self.get_visible():
            return
        across, up = (float(f"{scale:.5g}") for scale in np.diag(self.axes.transData.get_matrix())[:2])
        context = renderer.new_gc()
        context.set_foreground(self._colour)
        context.set_linewidth(renderer.points_to_pixels(self._width))
        context.set_joinstyle("round")
        context.set_capstyle("round")
        context.set_snap(False)
        centre = Path([[0.0, 0.0]])
        renderer.draw_markers(context, self._path, Affine2D().scale(across, up), centre, self.axes.transData)
        context.restore()


def draw_globe(axes: Axes, centre_deg: float, coast_colour: str = COAST) -> None:
    """Coastlines, a faint graticule and the edge; the axes lose their frame."""
    graticule, shores = lines_of_globe(centre_deg)
    edge = np.asarray(outline())
    axes.add_artist(Lines(graticule, "#00000022", 0.4, 2))
    axes.add_artist(Lines(shores, coast_colour, 0.6, 3))
    axes.add_artist(Lines([np.concatenate([edge, edge[:1]])], INK, 0.8, 5))
    axes.set_aspect("equal")
    axes.set_xlim(-2.70, 2.70)
    axes.set_ylim(-1.38, 1.38)
    axes.set_axis_off()


@functools.lru_cache(maxsize=4)
def lines_of_globe(centre_deg: float) -> tuple[list[f64], list[f64]]:
    """Graticule and coastlines as projected pieces. A page has many maps with one central meridian."""
    graticule = [
        piece
        for line in graticule_lines()
        for piece in pieces_within_map(line[:, 0] + centre_deg, line[:, 1], centre_deg)
    ]
    shores = [piece for line in coastlines() for piece in pieces_within_map(line[:, 0], line[:, 1], centre_deg)]
    return graticule, shores


def field_on_map(
    axes: Axes,
    basis: ModelBasis,
    model: f64,
    depth_km: float,
    centre_deg: float,
    limit_percent: float,
    step_deg: float = 2.0,
) -> QuadMesh:
    """Fills a map with dlnVs in percent at one depth."""
    latitude, longitude = np.broadcast_arrays(*cells(centre_deg, step_deg))
    places = geocentric_deg(latitude).ravel(), longitude.ravel()
    values = basis.evaluate(model, *places, np.full(latitude.size, EARTH_RADIUS_M - 1e3 * depth_km))
    percent = 100.0 * values.reshape(latitude.shape)
    return mesh_on_map(axes, percent, step_deg, VELOCITY_COLOURS, -limit_percent, limit_percent)


def mesh_on_map(axes: Axes, values: f64, step_deg: float, colours: str, lowest: float, highest: float) -> QuadMesh:
    """Draws cells of a regular latitude-longitude grid."""
    edge_longitude = np.arange(-180.0, 180.0 + step_deg / 2, step_deg)
    edge_latitude = np.arange(-90.0, 90.0 + step_deg / 2, step_deg)
    corners = robinson(*np.meshgrid(edge_longitude, edge_latitude))
    return axes.pcolormesh(*corners, values, cmap=colours, vmin=lowest, vmax=highest, rasterized=True, zorder=1)


def draw_points(axes: Axes, latitude_deg: f64, longitude_deg: f64, centre_deg: float, **style: object) -> None:
    """Scatters points on a map."""
    x, y = robinson(relative_longitude(longitude_deg, centre_deg), np.asarray(latitude_deg))
    axes.scatter(x, y, **{"zorder": 4, **style})  # type: ignore[arg-type]


def draw_arc(axes: Axes, latitude_deg: f64, longitude_deg: f64, centre_deg: float, **style: object) -> None:
    """Draws a line of points on a map."""
    pieces = list(pieces_within_map(longitude_deg, latitude_deg, centre_deg))
    axes.add_collection(LineCollection(pieces, **{"zorder": 4, **style}), autolim=False)  # type: ignore[arg-type]


def field_on_section(
    axes: Axes,
    basis: ModelBasis,
    model: f64,
    arc: tuple[f64, f64],
    angle_deg: f64,
    limit_percent: float,
) -> QuadMesh:
    """Fills a cross-section of the mantle, drawn as the sector of the annulus that it is.

    arc: geocentric latitudes and longitudes at the angles.
    """
    bottom_m, top_m = basis.radial_knots_m[0], basis.radial_knots_m[-1]
    radius_edges = np.linspace(bottom_m, top_m, 91)
    radius = 0.5 * (radius_edges[1:] + radius_edges[:-1])
    latitude = 0.5 * (arc[0][1:] + arc[0][:-1])
    longitude = arc[1][1:] - 0.5 * relative_longitude(np.diff(arc[1]), 0.0)
    places = np.tile(latitude, len(radius)), np.tile(longitude, len(radius)), np.repeat(radius, len(latitude))
    values = basis.evaluate(model, *places)
    angle = np.radians(angle_deg)
    x, z = radius_edges[:, None] * np.sin(angle) / 1e3, radius_edges[:, None] * np.cos(angle) / 1e3
    percent = 100.0 * values.reshape(len(radius), -1)
    mesh = axes.pcolormesh(
        x, z, percent, cmap=VELOCITY_COLOURS, vmin=-limit_percent, vmax=limit_percent, rasterized=True
    )
    draw_sector(axes, angle, bottom_m, top_m)
    return mesh


def draw_sector(axes: Axes, angle: f64, bottom_m: float, top_m: float) -> None:
    """The frame of a part of the annulus between two radii, angles in radians from the vertical.

    Depths of the discontinuities stand at its sides. The axes lose their frame.
    """
    sine, cosine = np.sin(angle), np.cos(angle)
    for level in (top_m / 1e3, bottom_m / 1e3):
        axes.plot(level * sine, level * cosine, color=INK, linewidth=1.0)
    for depth_km, end, side, shift in zip(DISCONTINUITIES_KM, (0, -1), ("right", "left"), (-5, 5), strict=True):
        level = EARTH_RADIUS_M / 1e3 - depth_km
        axes.plot(level * sine, level * cosine, color=INK, linewidth=0.5, linestyle=(0, (4, 3)))
        label: dict[str, Any] = {"ha": side, "va": "top", "fontsize": 7, "color": INK}
        at = (level * sine[end], level * cosine[end])
        axes.annotate(f"{depth_km:.0f} km", at, (shift, -3), textcoords="offset points", **label)
    for end in (0, -1):
        radii = np.array([bottom_m, top_m]) / 1e3
        axes.plot(radii * sine[end], radii * cosine[end], color=INK, linewidth=1.0)
    axes.set_aspect("equal")
    axes.set_axis_off()


def rounded_limit(*fields: f64) -> float:
    """A colour limit that nearly all values stay within, rounded up to half a percent."""
    largest = max(float(np.quantile(np.abs(values), 0.995)) for values in fields)
    return max(0.5, math.ceil(200.0 * largest) / 2.0)


def velocity_bar(figure: Figure, mesh: Any, axes: Any) -> None:
    """A colour scale of dlnVs below axes."""
    bar = figure.colorbar(mesh, ax=axes, orientation="horizontal", shrink=0.45, aspect=40, pad=0.02, extend="both")
    bar.set_label("dlnVs, %    (red: slow, blue: fast)")
    bar.outline.set_visible(False)


def axis_names(azimuth_deg: float) -> dict[str, str]:
    """Names of the model's axes x, y and z, where x has that azimuth."""
    if azimuth_deg % 360 == 0:
        return {"x": "north", "y": "east", "z": "down"}
    return {"x": f"x ({azimuth_deg % 360:g}°)", "y": f"y ({(azimuth_deg + 90) % 360:g}°)", "z": "down"}


def label_axes(axes: Axes, azimuth_deg: float) -> None:
    """Labels a map in km with x up and y to the right."""
    names = axis_names(azimuth_deg)
    axes.set(xlabel=f"{names['y']}, km", ylabel=f"{names['x']}, km")
