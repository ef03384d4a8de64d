"""Pictures of a posterior: uncertainty, covariance and point spread of a place, samples, trade-offs, null-space shuttle. Each
function returns a figure of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from craton.pages import maps
from craton.pages.figures import new_figure
from craton.pages.maps import rounded_limit, velocity_bar
from craton.pages.style import ACCENT, INK, MUTED, SECOND, drawing
from craton.seismology.geometry.latitudes import geocentric_deg, geographic_deg
from craton.tomography.model.sphere import EARTH_RADIUS_KM, unit_vectors

if TYPE_CHECKING:
    from craton._craton import ModelBasis
    from craton.tomography.posterior.questions import Place

f64 = NDArray[np.float64]

CENTRE_DEG = -160.0
DEPTHS_KM = (150.0, 600.0, 1200.0, 2500.0)
STEP_DEG = 2.0
MARK: dict[str, Any] = {"marker": "x", "s": 40.0, "color": SECOND, "linewidths": 1.5, "zorder": 6}


def knot_depths_km(basis: ModelBasis) -> f64:
    """Depths of the radial knots, from the core to the surface, below 6371 km."""
    return EARTH_RADIUS_KM - np.asarray(basis.radial_knots_m) / 1e3


def shown_knots(basis: ModelBasis) -> list[int]:
    """Radial knots nearest to the depths that are shown, from the top."""
    depths = knot_depths_km(basis)
    return list(dict.fromkeys(int(np.argmin(np.abs(depths - depth))) for depth in DEPTHS_KM))


def between_knots(basis: ModelBasis, values: f64, centre_deg: float = CENTRE_DEG) -> f64:
    """Values at the lateral knots on the maps' grid, weighted by distance to the nearest three."""
    latitude, longitude = np.broadcast_arrays(*maps.cells(centre_deg, STEP_DEG))
    knots = cKDTree(unit_vectors(np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg)))
    points = unit_vectors(geocentric_deg(latitude).ravel(), longitude.ravel())
    distance, nearest = knots.query(points, k=3)
    weights = 1.0 / np.maximum(distance, 1e-6) ** 2
    found = (weights * values[nearest]).sum(axis=1) / weights.sum(axis=1)
    return np.asarray(found.reshape(latitude.shape))


@drawing
def deviation_figure(
    basis: ModelBasis, deviation: f64, before: f64, resolution: f64, name: str = "dlnVs", centre_deg: float = CENTRE_DEG
) -> Figure:
    """Standard deviation at the knots, shape (lateral, radial), as a part of what it was before the data, and the
    diagonal of the resolution. Maps of deviations have a scale each: from depth to depth they differ by far. The
    others share theirs in a column.
    """
    knots, depths = shown_knots(basis), knot_depths_km(basis)
    part = deviation / before
    most = float(np.ceil(10.0 * np.quantile(part[:, knots], 0.995)) / 10.0)
    columns = (
        (100.0 * deviation, f"σ of {name}, %", "cividis", None),
        (part, "σ after / before", "cividis", (0.0, most)),
        (resolution, "resolution", "YlGnBu", (0.0, 1.0)),
    )
    figure = new_figure(13.0, 2.3 * len(knots) + 0.3)
    axes = figure.subplots(len(knots), len(columns), squeeze=False)
    for row, knot in zip(axes, knots, strict=True):
        for place, (values, title, colours, limits) in zip(row, columns, strict=True):
            layer = values[:, knot]
            lowest, highest = limits or map(float, np.quantile(layer, (0.005, 0.995)))
            mesh = maps.mesh_on_map(place, between_knots(basis, layer, centre_deg), STEP_DEG, colours, lowest, highest)
            maps.draw_globe(place, centre_deg)
            place.set_title(f"{title}: {depths[knot]:.0f} km", loc="left", pad=2.0)
            bar = figure.colorbar(mesh, ax=place, shrink=0.7, aspect=20, pad=0.01)
            bar.outline.set_visible(False)  # type: ignore[operator]
    return figure


@drawing
def point_figure(
    basis: ModelBasis,
    place: Place,
    knot: Place,
    after: f64,
    before: f64,
    image: f64,
    resolution_row: f64,
    centre_deg: float = CENTRE_DEG,
) -> Figure:
    """after, before: covariance of the coefficients with the place, divided by its standard deviation: what is expected elsewhere
    where dlnVs there is one standard deviation too high. image: of a spike of 1 at `knot`. resolution_row: weight of each true
    coefficient.
    """
    at = [(place.latitude_deg, place.longitude_deg), (knot.latitude_deg, knot.longitude_deg)]
    figure = new_figure(13.0, 5.6)
    grid = figure.add_gridspec(2, 3)
    limit = 100.0 * float(np.abs(values_below(basis, after, place)).max())
    first = figure.add_subplot(grid[0, 0])
    mesh = maps.field_on_map(first, basis, after, place.depth_km, centre_deg, max(limit, 1e-6))
    label(figure, mesh, first, f"covariance with the place, {place.depth_km:.0f} km", "one deviation there: dlnVs, %")
    second = figure.add_subplot(grid[0, 1])
    mesh = maps.field_on_map(second, basis, 0.01 * image, knot.depth_km, centre_deg, 1.0)
    label(figure, mesh, second, f"point spread, {knot.depth_km:.0f} km", "of a spike of 1")
    third = figure.add_subplot(grid[0, 2])
    radial = int(np.argmin(np.abs(knot_depths_km(basis) - place.depth_km)))
    weights = resolution_row.reshape(-1, basis.n_lateral, basis.n_radial)[0, :, radial]
    largest = float(np.abs(weights).max()) or 1.0
    x, y = maps.robinson(
        maps.relative_longitude(np.asarray(basis.longitude_deg), centre_deg), geographic_deg(basis.latitude_deg)
    )
    dots = third.scatter(x, y, c=weights, s=14.0, cmap="PuOr", vmin=-largest, vmax=largest, zorder=4)
    label(figure, dots, third, f"resolution row, {knot_depths_km(basis)[radial]:.0f} km", "weight of each coefficient")
    for axes, (latitude, longitude) in zip((first, second, third), (at[0], at[1], at[0]), strict=True):
        maps.draw_globe(axes, centre_deg)
        maps.draw_points(axes, np.array([latitude]), np.array([longitude]), centre_deg, **MARK)
    profiles = figure.add_subplot(grid[1, 0])
    top, bottom = knot_depths_km(basis)[[-1, 0]]
    depths = np.linspace(top, bottom, 200)
    for model, name, colour in ((before, "before the data", MUTED), (after, "after", ACCENT)):
        profiles.plot(100.0 * values_below(basis, model, place, depths), depths, color=colour, label=name)
    profiles.axhline(place.depth_km, color=SECOND, linestyle=":", linewidth=1.0)
    profiles.set_xlabel("one deviation there: dlnVs, %")
    spread = figure.add_subplot(grid[1, 1])
    spread.plot(values_below(basis, image, knot, depths), depths, color=ACCENT, label="found of the spike")
    spread.axhline(knot.depth_km, color=SECOND, linestyle=":", linewidth=1.0)
    spread.set_xlabel("of a spike of 1")
    layers = figure.add_subplot(grid[1, 2])
    by_depth = resolution_row.reshape(-1, basis.n_lateral, basis.n_radial)[0].sum(axis=0)
    layers.plot(by_depth, knot_depths_km(basis), "o-", color=ACCENT, markersize=4, label="all lateral knots together")
    layers.axhline(place.depth_km, color=SECOND, linestyle=":", linewidth=1.0)
    layers.set_xlabel("weight of all coefficients of a radial knot")
    for axes in (profiles, spread, layers):
        axes.invert_yaxis()
        axes.set_ylabel("depth, km")
        axes.axvline(0.0, color=INK, linewidth=0.5)
        axes.legend()
    figure.suptitle(place.text, x=0.01, ha="left", fontsize=10.0)
    return figure


def label(figure: Figure, mesh: Any, axes: Any, title: str, text: str) -> None:
    """A title above, and a colour scale below that says what is drawn."""
    axes.set_title(title, loc="left", pad=2.0)
    bar = figure.colorbar(mesh, ax=axes, orientation="horizontal", shrink=0.6, aspect=30, pad=0.02)
    bar.set_label(text)
    bar.outline.set_visible(False)  # type: ignore[operator]


def values_below(basis: ModelBasis, model: f64, place: Place, depths_km: f64 | None = None) -> f64:
    """The field below a place."""
    knots_m = np.asarray(basis.radial_knots_m)
    depths = knot_depths_km(basis) if depths_km is None else depths_km
    radius_m = np.clip(1e3 * (EARTH_RADIUS_KM - depths), knots_m[0], knots_m[-1])
    latitude = np.full(len(depths), geocentric_deg(np.float64(place.latitude_deg)))
    return np.asarray(basis.evaluate(model, latitude, np.full(len(depths), place.longitude_deg), radius_m))


@drawing
def models_figure(basis: ModelBasis, shown: list[tuple[str, f64]], depths_km: tuple[float, ...]) -> Figure:
    """Models side by side, depths below each other, one colour scale."""
    knots_m = np.asarray(basis.radial_knots_m)
    samples = [np.concatenate([values_at(basis, model, depth) for depth in depths_km]) for _, model in shown]
    limit = rounded_limit(*samples)
    figure = new_figure(3.6 * len(shown) + 0.2, 1.9 * len(depths_km) + 0.6)
    axes = figure.subplots(len(depths_km), len(shown), squeeze=False)
    for row, depth in zip(axes, depths_km, strict=True):
        for place, (name, model) in zip(row, shown, strict=True):
            depth_km = float(np.clip(depth, EARTH_RADIUS_KM - knots_m[-1] / 1e3, EARTH_RADIUS_KM - knots_m[0] / 1e3))
            mesh = maps.field_on_map(place, basis, model, depth_km, CENTRE_DEG, limit)
            maps.draw_globe(place, CENTRE_DEG)
            place.set_title(f"{name}, {depth:.0f} km", loc="left", pad=2.0, fontsize=9.0)
    velocity_bar(figure, mesh, axes)
    return figure


def values_at(basis: ModelBasis, model: f64, depth_km: float) -> f64:
    """The field at the lateral knots."""
    knots_m = np.asarray(basis.radial_knots_m)
    radius_m = float(np.clip(1e3 * (EARTH_RADIUS_KM - depth_km), knots_m[0], knots_m[-1]))
    latitude, longitude = np.asarray(basis.latitude_deg), np.asarray(basis.longitude_deg)
    return np.asarray(basis.evaluate(model, latitude, longitude, np.full(len(latitude), radius_m)))


@drawing
def samples_figure(basis: ModelBasis, mean: f64, samples: f64) -> Figure:
    """The most probable model and a few draws, shape (draws, parameters)."""
    shown = [("mean", mean), *((f"sample {k}", np.ascontiguousarray(one)) for k, one in enumerate(samples))]
    return models_figure(basis, shown, (150.0, 1200.0, 2500.0))


@drawing
def shuttle_figure(basis: ModelBasis, given: f64, mean: f64, unseen: f64) -> Figure:
    """The given model, the most probable one, the part of their difference that the data do not see, and the sum."""
    shown = [("given", given), ("mean", mean), ("unseen part", unseen), ("mean + unseen", mean + unseen)]
    return models_figure(basis, shown, (150.0, 1200.0, 2500.0))


@drawing
def trade_off_figure(correlation: f64, labels: list[str], place: Place) -> Figure:
    """Posterior correlations of everything below a place with everything else there."""
    size = 2.4 + 0.3 * len(labels)
    figure = new_figure(size + 1.0, size)
    axes = figure.subplots()
    mesh = axes.imshow(correlation, cmap="PuOr", vmin=-1.0, vmax=1.0)
    axes.set_xticks(range(len(labels)), labels, rotation=90)
    axes.set_yticks(range(len(labels)), labels)
    axes.set_title(f"posterior correlation below {place.latitude_deg:g} N, {place.longitude_deg:g} E", loc="left")
    figure.colorbar(mesh, ax=axes, shrink=0.7).outline.set_visible(False)  # type: ignore[operator]
    return figure
