"""The recovered model: maps beside the input, a cross-section, more depths, profiles, correlation with the input."""

from __future__ import annotations

from typing import Any

import numpy as np
from matplotlib.figure import Figure

from craton.pages import maps, projection
from craton.pages.figures import new_figure
from craton.pages.maps import velocity_bar
from craton.pages.page import Picture, Section
from craton.pages.style import ACCENT, INK, drawing
from craton.runs.words import counted, place_text, range_text
from craton.tomography.folder import CoverageCorrelation
from craton.tomography.model.fields import Fields
from craton.tomography.model.pictures import common_limit, models_figure
from craton.tomography.report.drawing import Arc, Place, arc_through, map_gallery, profile
from craton.tomography.results import Results

GALLERY_DEPTHS_KM = (50.0, 150.0, 250.0, 400.0, 550.0, 700.0, 900.0, 1300.0, 1700.0, 2100.0, 2500.0, 2850.0)
SECTION_HALF_ANGLE_DEG = 60.0
SEEN_STEP_DEG = 6.0
"""Of the points of a map whose least and largest values its description has."""
SEEN_DEPTHS = 30
"""Of a profile, the same."""


def model_sections(results: Results) -> list[Section]:
    """Maps and a cross-section; depths and profiles."""
    what = "The recovered model" if results.target is None else "Input (left) and output (right)"
    about_maps = (
        f"{what}: dlnVs relative to {results.record.config['earth']['model']}, one colour scale throughout. Coastlines: Natural "
        "Earth."
    )
    about_gallery = (
        f"The recovered model at {len(GALLERY_DEPTHS_KM)} depths, one colour scale. Any other depth: craton tomography slice; any "
        "great circle: craton tomography section."
    )
    about_profiles = (
        f"The recovered model below {results.plume['name']} and 90° east of there; right, beside the reference Earth's speed. "
        "Dotted: 410 and 660 km."
    )
    first = [
        Picture(model_maps(results), about_maps, seen_maps(results)),
        Picture(section_figure(results), section_caption(results), seen_section(results)),
    ]
    narrow = results.basis.parameters == 1
    pictures = [
        Picture(gallery_figure(results), about_gallery, seen_gallery(results)),
        Picture(profiles_figure(results), about_profiles, seen_profiles(results), narrow=narrow),
    ]
    found = results.record.correlation
    if found is not None:
        text = (
            f"Correlation of the output with the input (filtered to the same basis) at the {found.knots} lateral knots "
            f"whose path coverage is above the median: {found.overall:.3f} over all depths together, from "
            f"{found.depth_km[0]:.0f} to {found.depth_km[-1]:.0f} km; {found.all_knots:.3f} at all knots. "
            "It is low at depths where the input itself is close to zero."
        )
        least = f"{min(found.by_depth):.2f} to {max(found.by_depth):.2f}"
        pictures.append(
            Picture(correlation_figure(found), text, f"A line over depth: correlations of {least}.", narrow=True)
        )
    depths = Section("Depth slices and profiles", pictures, "depths", "Depths")
    return [Section("Model", first, "model", "Model"), depths]


def seen_maps(results: Results) -> str:
    """What the maps show, for readers who do not see them."""
    depths_km, cells = results.map_depths_km, projection.cells(results.centre_deg, SEEN_STEP_DEG)
    percent = [results.fields.percent("dlnVs", *cells, depth) for depth in depths_km]
    return (
        f"World maps at depths of {', '.join(f'{depth:g}' for depth in depths_km)} km, red where S waves are slow and blue where "
        f"they are fast: dlnVs of the recovered model {range_text(percent, '%', 2)}."
    )


def seen_section(results: Results) -> str:
    """What the cross-section shows."""
    arc, depth_km = section_arc(results.plume), np.linspace(*results.fields.depth_range_km, SEEN_DEPTHS)
    latitude, longitude = np.array(arc.places(*range(len(arc.angle_deg)))).T
    percent = results.fields.percent("dlnVs", latitude[:, None], longitude[:, None], depth_km)
    return (
        f"A slice of the mantle through {results.plume['name']}, from the core to the surface, in the same colours: dlnVs "
        f"{range_text(percent, '%', 2)}; beside it a small world map with its line."
    )


def seen_gallery(results: Results) -> str:
    """At which depths the model is strong."""
    depths_km, cells = gallery_depths_km(results.fields), projection.cells(results.centre_deg, SEEN_STEP_DEG)
    strength = [float(np.std(results.fields.percent("dlnVs", *cells, depth))) for depth in depths_km]
    most, least = (f"{depths_km[int(which(strength))]:g} km" for which in (np.argmax, np.argmin))
    return (
        f"World maps of each parameter at {counted(len(depths_km), 'depth')} from {depths_km[0]:g} to {depths_km[-1]:g} km; dlnVs "
        f"varies most at {most} and least at {least}."
    )


def seen_profiles(results: Results) -> str:
    """What the profiles show."""
    depth_km = np.linspace(*results.fields.depth_range_km, SEEN_DEPTHS)
    lines = [
        f"{range_text(results.fields.percent('dlnVs', *place, depth_km), '%', 2)} below {place_text(*place)}"
        for place in profile_places(results.plume)
    ]
    return f"Two lines over depth: dlnVs {' and '.join(lines)}."


def sampled_limit(results: Results) -> float:
    """One limit for every map and section of the report, percent."""
    return common_limit(results.basis, [model for _, model in results.shown], results.map_depths_km)


def model_maps(results: Results) -> Figure:
    """Rows of depths, input beside output."""
    depths_km, limit = results.map_depths_km, sampled_limit(results)
    return models_figure(results.basis, results.shown, depths_km, results.centre_deg, limit, width=4.9)


@drawing
def section_figure(results: Results) -> Figure:
    """The mantle along a great circle through the plume."""
    plume, shown, limit = results.plume, results.shown, sampled_limit(results)
    arc = section_arc(plume)
    figure = new_figure(10.0, 2.75)
    places = figure.subplots(1, 1 + len(shown), width_ratios=(*(1.0 for _ in shown), 0.55))
    axes, locator = places[:-1], places[-1]
    for place, (name, model) in zip(axes, shown, strict=True):
        mesh = arc.draw(place, results.basis, model, limit)
        place.set_title(f"{name}: through {plume['name']}")
    arc.locate(locator, results.centre_deg)
    maps.draw_points(
        locator, np.array([plume["latitude"]]), np.array([plume["longitude"]]), results.centre_deg,
        marker="*", s=110, c="#ffd34d", edgecolors=INK, linewidths=0.8, zorder=6,
    )  # fmt: skip
    locator.set_title("where it lies")
    velocity_bar(figure, mesh, axes)
    return figure


def section_arc(plume: dict[str, Any]) -> Arc:
    """The great circle of the cross-section."""
    place = float(plume["latitude"]), float(plume["longitude"])
    return arc_through(place, section_azimuth(plume), SECTION_HALF_ANGLE_DEG)


def section_caption(results: Results) -> str:
    """Where the cross-section lies, in a sentence."""
    plume, half = results.plume, SECTION_HALF_ANGLE_DEG
    arc = section_arc(plume)
    start, middle, end = (place_text(*place) for place in arc.places(0, len(arc.angle_deg) // 2, -1))
    what = "Input and output" if results.target is not None else "The recovered model"
    return (
        f"{what} from the core to the surface along the great circle through {plume['name']} ({middle}), {half:.0f}° to "
        f"either side: from {start} to {end}, left to right, in the azimuth {section_azimuth(plume):.0f}° at the middle."
    )


def section_azimuth(plume: dict[str, Any]) -> float:
    """A direction that is not along the checkerboard's own lines."""
    return 60.0 if plume["latitude"] >= 0.0 else 120.0


def gallery_figure(results: Results) -> Figure:
    """The recovered model at many depths, on one colour scale."""
    fields = results.fields
    depths = gallery_depths_km(fields)
    cells = projection.cells(results.centre_deg, 2.0)
    values = {name: [fields.percent(name, *cells, depth) for depth in depths] for name in fields.parameters}
    return map_gallery(values, depths, "", results.centre_deg, 3)


def gallery_depths_km(fields: Fields) -> list[float]:
    """Those that lie in the model."""
    top_km, bottom_km = fields.depth_range_km
    return [depth for depth in GALLERY_DEPTHS_KM if top_km <= depth <= bottom_km]


def profile_places(plume: dict[str, Any]) -> list[Place]:
    """The place of the cross-section, and a quarter of the way round from there."""
    there = (float(plume["latitude"]), float(projection.relative_longitude(plume["longitude"], 0.0)))
    return [there, (there[0], float(projection.relative_longitude(np.float64(there[1] + 90.0), 0.0)))]


def profiles_figure(results: Results) -> Figure:
    """The recovered model against depth below the place of the cross-section, and a quarter of the way round from there."""
    return profile(results.fields, profile_places(results.plume)).figure


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
