"""The recovered model: maps beside the input, a cross-section, more depths, profiles, correlation with the input."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from numpy.typing import NDArray

from craton.pages import maps
from craton.pages.figures import new_figure
from craton.pages.maps import place_text, rounded_limit, velocity_bar
from craton.pages.page import Picture, Section
from craton.pages.style import ACCENT, INK, MUTED, drawing
from craton.seismology.geometry.latitudes import geographic_deg
from craton.tomography.folder import CoverageCorrelation
from craton.tomography.report.drawing import Arc, arc_through, map_gallery, profile
from craton.tomography.results import Results

f64 = NDArray[np.float64]

GALLERY_DEPTHS_KM = (50.0, 150.0, 250.0, 400.0, 550.0, 700.0, 900.0, 1300.0, 1700.0, 2100.0, 2500.0, 2850.0)
SECTION_HALF_ANGLE_DEG = 60.0


def model_sections(results: Results) -> list[Section]:
    """Maps and a cross-section; depths and profiles."""
    side_by_side = results.target is not None
    what = "Input (left) and output (right)" if side_by_side else "The recovered model"
    first = Section(
        "Model",
        [
            Picture(
                model_maps(results),
                f"{what}: dlnVs relative to {results.record.config['earth']['model']}, one colour scale throughout. "
                "Coastlines: Natural Earth.",
            ),
            Picture(section_figure(results), section_caption(results)),
        ],
        "model",
        "Model",
    )
    pictures = [
        Picture(
            gallery_figure(results),
            f"The recovered model at {len(GALLERY_DEPTHS_KM)} depths, one colour scale. Any other depth: "
            "craton tomography slice; any great circle: craton tomography section.",
        ),
        Picture(
            profiles_figure(results),
            f"The recovered model below {results.plume['name']} and 90° east of there; right, beside the reference Earth's "
            "speed. Dotted: 410 and 660 km.",
            narrow=results.basis.parameters == 1,
        ),
    ]
    if results.record.correlation is not None:
        pictures.append(correlation_picture(results.record.correlation))
    return [first, Section("Depth slices and profiles", pictures, "depths", "Depths")]


def correlation_picture(found: CoverageCorrelation) -> Picture:
    """By depth."""
    return Picture(
        correlation_figure(found),
        f"Correlation of the output with the input (filtered to the same basis) at the {found.knots} lateral knots "
        f"whose path coverage is above the median: {found.overall:.3f} over all depths together, from "
        f"{found.depth_km[0]:.0f} to {found.depth_km[-1]:.0f} km; {found.all_knots:.3f} at all knots. "
        "It is low at depths where the input itself is close to zero.",
        narrow=True,
    )


def sampled_limit(results: Results) -> float:
    """One limit for every map and section of the report."""
    latitude, longitude = np.asarray(results.basis.latitude_deg), np.asarray(results.basis.longitude_deg)
    return rounded_limit(
        *(
            results.basis.evaluate(
                model, latitude, longitude, np.full(len(latitude), maps.EARTH_RADIUS_M - 1e3 * depth)
            )
            for _, model in results.shown
            for depth in results.map_depths_km
        )
    )


@drawing
def model_maps(results: Results) -> Figure:
    """Rows of depths, input beside output."""
    depths, shown, limit = results.map_depths_km, results.shown, sampled_limit(results)
    figure = new_figure(4.9 * len(shown) + 0.2, 2.45 * len(depths) + 0.6)
    axes = np.atleast_2d(figure.subplots(len(depths), len(shown), squeeze=False))
    for row, depth in enumerate(depths):
        for column, (name, model) in enumerate(shown):
            mesh = maps.field_on_map(axes[row, column], results.basis, model, depth, results.centre_deg, limit)
            maps.draw_globe(axes[row, column], results.centre_deg)
            axes[row, column].set_title(f"{name}, {depth:.0f} km", loc="left", pad=2.0)
    velocity_bar(figure, mesh, axes)
    return figure


@drawing
def section_figure(results: Results) -> Figure:
    """The mantle along a great circle through the plume."""
    plume, shown, limit = results.plume, results.shown, sampled_limit(results)
    arc = section_arc(plume)
    figure = new_figure(10.0, 2.75)
    places = figure.subplots(1, 1 + len(shown), width_ratios=(*(1.0 for _ in shown), 0.55))
    axes, locator = places[:-1], places[-1]
    for place, (name, model) in zip(axes, shown, strict=True):
        mesh = maps.field_on_section(
            place, results.basis, model, (arc.latitude_deg, arc.longitude_deg), arc.angle_deg, limit
        )
        place.set_title(f"{name}: through {plume['name']}")
    maps.draw_globe(locator, results.centre_deg, coast_colour=MUTED)
    on_map = geographic_deg(arc.latitude_deg), arc.longitude_deg
    maps.draw_arc(locator, *on_map, results.centre_deg, colors=ACCENT, linewidths=2.0)
    star(locator, results)
    locator.set_title("where it lies")
    velocity_bar(figure, mesh, axes)
    return figure


def section_arc(plume: dict[str, Any]) -> Arc:
    """The great circle of the cross-section."""
    place = float(plume["latitude"]), float(plume["longitude"])
    return arc_through(place, section_azimuth(plume), SECTION_HALF_ANGLE_DEG)


def section_caption(results: Results) -> str:
    """Where the cross-section lies."""
    plume, half = results.plume, SECTION_HALF_ANGLE_DEG
    arc = section_arc(plume)
    chosen = [0, len(arc.angle_deg) // 2, -1]
    latitude, longitude = geographic_deg(arc.latitude_deg)[chosen], arc.longitude_deg[chosen]
    start, middle, end = (place_text(*place) for place in zip(latitude, longitude, strict=True))
    what = "Input and output" if results.target is not None else "The recovered model"
    return (
        f"{what} from the core to the surface along the great circle through {plume['name']} ({middle}), {half:.0f}° to "
        f"either side: from {start} to {end}, left to right, in the azimuth {section_azimuth(plume):.0f}° at the middle."
    )


def section_azimuth(plume: dict[str, Any]) -> float:
    """A direction that is not along the checkerboard's own lines."""
    return 60.0 if plume["latitude"] >= 0.0 else 120.0


def star(axes: Axes, results: Results) -> None:
    """Where the cross-section goes through."""
    plume = results.plume
    maps.draw_points(
        axes, np.array([plume["latitude"]]), np.array([plume["longitude"]]), results.centre_deg,
        marker="*", s=110, c="#ffd34d", edgecolors=INK, linewidths=0.8, zorder=6,
    )  # fmt: skip


@drawing
def gallery_figure(results: Results) -> Figure:
    """The recovered model at many depths, on one colour scale."""
    bottom_m, top_m = results.basis.radial_knots_m[0], results.basis.radial_knots_m[-1]
    depths = [depth for depth in GALLERY_DEPTHS_KM if bottom_m <= maps.EARTH_RADIUS_M - 1e3 * depth <= top_m]
    fields = results.fields
    cells = maps.cells(results.centre_deg, 2.0)
    values = {name: [fields.percent(name, *cells, np.float64(depth)) for depth in depths] for name in fields.parameters}
    return map_gallery(values, depths, "", results.centre_deg, 3)


@drawing
def profiles_figure(results: Results) -> Figure:
    """The recovered model against depth below the place of the cross-section, and a quarter of the way round from there."""
    plume, fields = results.plume, results.fields
    there = (float(plume["latitude"]), float(maps.relative_longitude(plume["longitude"], 0.0)))
    other = (there[0], float(maps.relative_longitude(np.float64(there[1] + 90.0), 0.0)))
    return profile(fields, [there, other]).figure


@drawing
def correlation_figure(found: CoverageCorrelation) -> Figure:
    """Correlation with the target by depth."""
    figure = new_figure(4.8, 3.6)
    axes = figure.subplots()
    axes.plot(found.by_depth, found.depth_km, "o-", color=ACCENT)
    axes.set(title="output against input, upper half of coverage", xlabel="correlation of dlnVs", ylabel="depth, km")
    axes.set_xlim(min(0.5, min(found.by_depth) - 0.05), 1.03)
    axes.invert_yaxis()
    return figure
