"""Where the paths go, and how much each place has seen of them."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray

from craton._craton import ModelBasis
from craton.pages import maps, projection
from craton.pages.figures import new_figure
from craton.pages.page import Picture, Section
from craton.pages.style import ACCENT, INK, MUTED, SECOND, drawing
from craton.runs.words import counted, place_text, range_text
from craton.seismology.geometry.latitudes import geocentric_deg, geographic_deg
from craton.tomography.data.paths import PathTable, geocentric_vectors
from craton.tomography.model.sphere import unit_vectors
from craton.tomography.report.drawing import angle_between, points_towards
from craton.tomography.results import Results

f64 = NDArray[np.float64]

MOST_PATHS = 300
"""That are drawn, spread evenly over the path table."""


def coverage_section(results: Results) -> Section:
    """The paths of a finished run."""
    text = (
        "Left: sum over all paths of the path-average weight of each lateral knot. Right: earthquakes, stations "
        f"and up to {MOST_PATHS} of the paths; tinted where the coverage is above its median."
    )
    paths, coverage = results.observations.paths, np.asarray(results.model["coverage"])
    most = int(np.argmax(coverage))
    where = place_text(
        float(geographic_deg(np.asarray(results.basis.latitude_deg))[most]), float(results.basis.longitude_deg[most])
    )
    seen = (
        f"Two world maps: coverage {range_text(coverage)}, most at {where}; "
        f"{counted(len(paths.event_rows), 'earthquake')}, {counted(len(paths.station_rows), 'station')} and thin lines between "
        f"them, of {counted(len(paths), 'path')}."
    )
    return Section("Path coverage", [Picture(coverage_figure(results), text, seen)], "coverage", "Coverage")


@drawing
def coverage_figure(results: Results) -> Figure:
    """How much path length each place has seen, with earthquakes and stations; the paths themselves; the upper half."""
    table = results.observations.paths
    figure = new_figure(10.0, 3.3)
    (left, right), (scale, legend) = figure.subplots(2, 2, height_ratios=(1.0, 0.06))
    step = 2.0
    latitude, longitude = np.broadcast_arrays(*projection.cells(results.centre_deg, step))
    places, coverage = (geocentric_deg(latitude).ravel(), longitude.ravel()), np.asarray(results.model["coverage"])
    knots = unit_vectors(np.asarray(results.basis.latitude_deg), np.asarray(results.basis.longitude_deg))
    nearest = np.argmax(unit_vectors(*places) @ knots.T, axis=1)
    smooth = smoothed_coverage(results.basis, coverage, *places).reshape(latitude.shape)
    mesh = maps.mesh_on_map(left, smooth, step, "YlGnBu", 0.0, float(np.quantile(smooth, 0.99)))
    maps.draw_globe(left, results.centre_deg)
    left.set_title("path coverage (sum of path-average weights)", loc="left")
    figure.colorbar(mesh, cax=scale, orientation="horizontal", extend="max").outline.set_visible(False)
    scale.set_box_aspect(0.035)
    covered = (coverage > np.median(coverage))[nearest].reshape(latitude.shape)
    maps.mesh_on_map(right, np.where(covered, 0.25, 0.0), step, "Blues", 0.0, 1.0)
    maps.draw_globe(right, results.centre_deg, coast_colour=MUTED)
    for path in np.unique(np.linspace(0, len(table) - 1, min(MOST_PATHS, len(table))).astype(int)):
        line = path_on_map(table, path)
        maps.draw_arc(right, *line, results.centre_deg, colors=INK, linewidths=0.35, alpha=0.18, zorder=3)
    events, stations = table.events, table.stations
    maps.draw_points(
        right, stations.latitude_deg[table.station_rows], stations.longitude_deg[table.station_rows],
        results.centre_deg,
        marker="^", s=14, c=ACCENT, linewidths=0.0, label=f"{len(table.station_rows)} stations",
    )  # fmt: skip
    maps.draw_points(
        right, events.latitude_deg[table.event_rows], events.longitude_deg[table.event_rows], results.centre_deg,
        marker="*", s=42, c=SECOND, edgecolors=INK, linewidths=0.4, label=f"{len(table.event_rows)} earthquakes",
    )  # fmt: skip
    legend.set_axis_off()
    legend.legend(*right.get_legend_handles_labels(), loc="upper center", ncols=2, fontsize=9)
    right.set_title("earthquakes, stations, paths (tint: upper half)", loc="left")
    return figure


def smoothed_coverage(basis: ModelBasis, coverage: f64, latitude_deg: f64, longitude_deg: f64) -> f64:
    """The knots' coverage, averaged with the splines as weights, at geocentric latitudes."""
    offsets, knots, values = basis.lateral_weights(latitude_deg, longitude_deg)
    total = np.add.reduceat(values * coverage[knots], offsets[:-1])
    return total / np.add.reduceat(values, offsets[:-1])


def path_on_map(table: PathTable, path: int) -> tuple[f64, f64]:
    """Geographic latitudes and longitudes from the event to the station, the way that the window's waves have come.

    They are along the great circle of the forward problem, which is one of geocentric latitudes.
    """
    ends = ((table.events, table.event[path]), (table.stations, table.station[path]))
    places = np.array([(names.latitude_deg[row], names.longitude_deg[row]) for names, row in ends])
    start, end = geocentric_vectors(*places.T)
    angle = angle_between(start, end) - (0.0 if table.arc[path] == "minor" else 2.0 * np.pi)
    latitude, longitude = points_towards(start, end, np.linspace(0.0, angle, 61))
    return geographic_deg(latitude), longitude
